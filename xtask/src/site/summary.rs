//! Tables of contents, made from the indexes of the documents.

use std::collections::{BTreeMap, BTreeSet};

use super::{Book, reference};
use crate::tidy::{links, target};

/// Returns the table of contents of a book, in the format of mdBook. `pages` are those of the book.
pub(super) fn contents(book: &Book, pages: &BTreeMap<String, String>) -> String {
    let own = |path: &str| path.strip_prefix(book.folder).unwrap_or(path).to_owned();
    let (first, index) = (own(book.first), own(book.index));
    let mut contents = Contents { pages, listed: BTreeSet::new(), text: String::new() };
    contents.add(&first, "");
    if index != first {
        contents.add(&index, "");
    }
    contents.add(reference::PAGE, "");
    contents.add_index(&index);
    contents.add_rest(book.rest);
    contents.text
}

struct Contents<'a> {
    pages: &'a BTreeMap<String, String>,
    listed: BTreeSet<String>,
    text: String,
}

impl Contents<'_> {
    /// Adds a page, unless it is listed already or belongs to another book.
    fn add(&mut self, path: &str, bullet: &str) -> bool {
        let Some(text) = self.pages.get(path) else { return false };
        let is_new = self.listed.insert(path.to_owned());
        if is_new {
            self.text.push_str(&format!("{bullet}[{}]({path})\n", title(text)));
        }
        is_new
    }

    /// Adds the headings of an index with the pages below them, and the pages of nested indexes.
    fn add_index(&mut self, index: &str) {
        let Some(text) = self.pages.get(index) else { return };
        let mut sections = text.split("\n## ");
        let introduction = sections.next().unwrap_or_default();
        for section in sections {
            let heading = section.lines().next().unwrap_or_default();
            let start = self.text.len();
            self.text.push_str(&format!("\n# {heading}\n\n"));
            if !self.add_targets(index, section) {
                self.text.truncate(start);
            }
        }
        // Pages that the introduction alone names.
        let start = self.text.len();
        self.text.push_str("\n---\n\n");
        if !self.add_targets(index, introduction) {
            self.text.truncate(start);
        }
    }

    fn add_targets(&mut self, index: &str, section: &str) -> bool {
        let mut has_added = false;
        for (_, link) in links(section) {
            let path = target(index, link);
            if self.add(&path, "- ") {
                has_added = true;
                if path.ends_with("/README.md") {
                    self.add_nested(&path);
                }
            }
        }
        has_added
    }

    /// Adds the pages in the folder of a nested index.
    fn add_nested(&mut self, index: &str) {
        let pages = self.pages;
        let folder = index.strip_suffix("README.md").unwrap_or(index);
        for (_, link) in pages.get(index).map(|text| links(text)).unwrap_or_default() {
            let path = target(index, link);
            if path.starts_with(folder) {
                self.add(&path, "  - ");
            }
        }
    }

    fn add_rest(&mut self, heading: &str) {
        let pages = self.pages;
        let start = self.text.len();
        self.text.push_str(&format!("\n# {heading}\n\n"));
        let added = pages.keys().filter(|path| self.add(path, "- ")).count();
        if added == 0 {
            self.text.truncate(start);
        }
    }
}

/// Returns the first heading of a page.
fn title(text: &str) -> &str {
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading.unwrap_or("?").trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::BOOKS;

    fn contents_of(book: &Book, pages: &[(&str, &str)]) -> String {
        let pages = pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        contents(book, &pages.collect())
    }

    #[test]
    fn index_gives_the_parts_and_pages_that_it_does_not_list_come_last() {
        let index = "# Documentation\n\nSee [the end](end.md).\n\n## How-to\n\n\
                     | [x](b.md) | [again](b.md#part) |\n\n## Nothing\n\n[z](zh/README.md)\n\n\
                     ## More\n\n[d](adr/README.md)\n";
        let pages = [
            ("README.md", "English\n\n# Project\n"),
            ("docs/README.md", index),
            ("docs/b.md", "# B\n"),
            ("docs/end.md", "# End\n"),
            ("docs/adr/README.md", "# Decisions\n\n[1](1.md) [b](../b.md) [r](../rest.md)\n"),
            ("docs/adr/1.md", "# One\n"),
            ("docs/rest.md", "# Rest\n"),
            ("api.md", "English\n\n# API reference\n"),
        ];
        let expected = "[Project](README.md)\n[Documentation](docs/README.md)\n\
                        [API reference](api.md)\n\n\
                        # How-to\n\n- [B](docs/b.md)\n\n\
                        # More\n\n- [Decisions](docs/adr/README.md)\n  - [One](docs/adr/1.md)\n\n\
                        ---\n\n- [End](docs/end.md)\n\n\
                        # Crates and files\n\n- [Rest](docs/rest.md)\n";
        assert_eq!(contents_of(&BOOKS[0], &pages), expected);
    }

    #[test]
    fn pages_of_the_other_book_are_not_listed() {
        let index = "# 文档\n\n## 教程\n\n[a](a.md)\n\n## 参考\n\n[ejob](../ejob.md)\n";
        let pages = [("README.md", index), ("a.md", "# 甲\n")];
        let expected = "[文档](README.md)\n\n# 教程\n\n- [甲](a.md)\n";
        assert_eq!(contents_of(&BOOKS[1], &pages), expected);
    }
}
