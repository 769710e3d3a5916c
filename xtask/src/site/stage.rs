//! The pages that the site consists of: all that the indexes of the documents lead to.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

use super::{BOOKS, Book, diagrams};
use crate::Error;
use crate::folders::entries;
use crate::tidy::{file_and_anchor, is_external, links, origin, target};

/// Name of a page that lists the files of a folder without a README.
const LISTING: &str = "files.md";

/// Pages with their texts, and other files. Paths are from the root of the workspace.
#[derive(Debug)]
pub(super) struct Stage {
    pages: BTreeMap<String, String>,
    files: BTreeSet<String>,
}

impl Stage {
    /// Reads all pages and files that the first pages of the books lead to.
    pub(super) fn read(root: &Path) -> Result<Self, Error> {
        let mut stage = Self { pages: BTreeMap::new(), files: BTreeSet::new() };
        let first = BOOKS.iter().flat_map(|book| [book.first, book.index]);
        let mut queue: VecDeque<String> = first.map(str::to_owned).collect();
        while let Some(path) = queue.pop_front() {
            if !path.ends_with(".md") {
                stage.files.insert(path);
            } else if let Entry::Vacant(page) = stage.pages.entry(path) {
                let text = text_of(root, page.key())?;
                let (text, targets) = with_pages_for_folders(root, page.key(), &text);
                queue.extend(targets);
                page.insert(text);
            }
        }
        Ok(stage)
    }

    pub(super) fn files(&self) -> &BTreeSet<String> {
        &self.files
    }

    /// Returns the pages of a book by their paths in the book, ready to be rendered.
    pub(super) fn pages_of(&self, book: &Book) -> BTreeMap<String, String> {
        let translations: BTreeMap<&str, &str> = self
            .pages
            .iter()
            .filter_map(|(path, text)| Some((origin(text.lines().next()?)?.0, path.as_str())))
            .collect();
        let own = self.pages.iter().filter(|(path, _)| is_in(book, path));
        let rendered = own.map(|(path, text)| {
            let up = "../".repeat(path.matches('/').count());
            let mut text = text.clone();
            // A Chinese page names its English original itself.
            if book.folder.is_empty() {
                let translated = translations.get(path.as_str()).map(|page| ("中文", *page));
                let (label, page) = translated.unwrap_or(("中文文档", BOOKS[1].index));
                text = format!("English · [{label}]({up}{page})\n\n{text}");
            }
            text.push_str(&diagrams::scripts(&text, &up));
            (path[book.folder.len()..].to_owned(), text)
        });
        rendered.collect()
    }

    /// Returns the paths of the pages with diagrams, with the number of diagrams.
    pub(super) fn diagrams(&self) -> impl Iterator<Item = (&str, usize)> {
        let counted = self.pages.iter().map(|(path, text)| (path.as_str(), diagrams::count(text)));
        counted.filter(|(_, count)| *count > 0)
    }
}

/// Returns whether a book has the page: the one of the longest matching folder.
fn is_in(book: &Book, path: &str) -> bool {
    let matching = BOOKS.iter().filter(|book| path.starts_with(book.folder));
    matching.map(|book| book.folder).max_by_key(|folder| folder.len()) == Some(book.folder)
}

/// Returns the text of a page. A listing is made of its folder.
fn text_of(root: &Path, path: &str) -> Result<String, Error> {
    let file = root.join(path);
    let folder = match path.rsplit_once('/') {
        Some((folder, LISTING)) if !file.exists() => folder,
        _ => return fs::read_to_string(&file).map_err(Error::file("read", &file)),
    };
    let mut text = format!("# Files of `{folder}`\n\n");
    for entry in entries(&root.join(folder))? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text.push_str(&format!("- [{name}]({name})\n"));
    }
    Ok(text)
}

/// Returns the text with a link to a page in place of each link to a folder, and the targets of all
/// its links.
fn with_pages_for_folders(root: &Path, path: &str, text: &str) -> (String, Vec<String>) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut targets = Vec::new();
    for (number, link) in links(text) {
        let (file, _) = file_and_anchor(link);
        if is_external(link) || file.is_empty() {
            continue;
        }
        let target = target(path, link);
        if !root.join(&target).is_dir() {
            targets.push(target);
            continue;
        }
        let has_readme = root.join(&target).join("README.md").exists();
        let page = if has_readme { "README.md" } else { LISTING };
        let separator = if file.ends_with('/') { "" } else { "/" };
        let line = &mut lines[number - 1];
        *line = line.replace(&format!("]({link})"), &format!("]({file}{separator}{page})"));
        targets.push(format!("{target}/{page}"));
    }
    (lines.join("\n") + "\n", targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    /// Returns the rendered pages of a book, and the copied files, of a workspace.
    fn stage_of(book: &Book, files: &[(&str, &str)]) -> (BTreeMap<String, String>, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let stage = Stage::read(root.path()).unwrap();
        (stage.pages_of(book), stage.files().iter().cloned().collect())
    }

    const FILES: [(&str, &str); 8] = [
        ("README.md", "# Project\n[a](crates/a) [b](https://example.com)\n"),
        ("crates/a/README.md", "# a\n[s](src/lib.rs) [u](units/) [h](#a)\n"),
        ("crates/a/src/lib.rs", "//! A.\n"),
        ("crates/a/units/one.service", ""),
        ("crates/a/not-linked.md", "# Not linked\n"),
        ("docs/README.md", "# Documentation\n```mermaid\ngraph\n```\n"),
        (
            "docs/zh/README.md",
            "<!-- Translation of docs/README.md, SHA-256 00 -->\n# 文档\n[a](a.md)\n",
        ),
        ("docs/zh/a.md", "# 甲\n[English](../../README.md)\n"),
    ];

    #[test]
    fn linked_pages_and_files_are_in_the_site_and_folders_become_pages() {
        let (pages, files) = stage_of(&BOOKS[0], &FILES);
        let paths: Vec<&str> = pages.keys().map(String::as_str).collect();
        let expected =
            ["README.md", "crates/a/README.md", "crates/a/units/files.md", "docs/README.md"];
        assert_eq!(paths, expected);
        assert_eq!(files, ["crates/a/src/lib.rs", "crates/a/units/one.service"]);
        assert!(pages["README.md"].contains("[a](crates/a/README.md) [b](https://example.com)"));
        let crate_page = &pages["crates/a/README.md"];
        assert!(crate_page.contains("[s](src/lib.rs) [u](units/files.md) [h](#a)"), "{crate_page}");
        assert!(pages["crates/a/units/files.md"].ends_with("\n- [one.service](one.service)\n"));
        let (pages, _) = stage_of(&BOOKS[1], &FILES);
        assert_eq!(pages.keys().collect::<Vec<_>>(), ["README.md", "a.md"]);
    }

    #[test]
    fn english_page_leads_to_its_translation_or_else_to_the_chinese_index() {
        let (pages, _) = stage_of(&BOOKS[0], &FILES);
        assert!(pages["docs/README.md"].starts_with("English · [中文](../docs/zh/README.md)\n"));
        let other = &pages["crates/a/README.md"];
        assert!(other.starts_with("English · [中文文档](../../docs/zh/README.md)\n"), "{other}");
    }

    #[test]
    fn each_chinese_page_leads_to_its_original() {
        let stage = Stage::read(workspace()).unwrap();
        let mut n_pages = 0;
        for (path, text) in stage.pages.iter().filter(|(path, _)| is_in(&BOOKS[1], path)) {
            let (original, _) = origin(text.lines().next().unwrap()).unwrap();
            let mut targets = links(text).into_iter().map(|(_, link)| target(path, link));
            assert!(targets.any(|target| target == original), "{path} has no link to {original}");
            n_pages += 1;
        }
        assert!(n_pages > 10, "only {n_pages} Chinese pages were found");
    }

    #[test]
    fn page_with_diagrams_loads_the_scripts() {
        let (pages, _) = stage_of(&BOOKS[0], &FILES);
        let expected = "\n<script src=\"../assets/mermaid.min.js\"></script>\n\
                        <script src=\"../assets/diagrams.js\"></script>\n";
        assert!(pages["docs/README.md"].ends_with(expected));
        assert!(!pages["README.md"].contains("<script"));
    }
}
