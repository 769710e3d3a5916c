//! Links of the Markdown pages: each leads to a file, and to a heading if it names one. Each page
//! of the documents is in an index, once.

use std::path::Path;

use super::Violation;
use super::files::Source;

/// Folder of the documents. A page is in the index of its folder, or of the nearest folder above
/// that has one.
const DOCUMENTS: &str = "docs";

/// Checks the links of all pages, and the indexes of the documents.
pub(super) fn check(root: &Path, sources: &[Source]) -> Vec<Violation> {
    let pages: Vec<&Source> = sources.iter().filter(|source| !source.is_rust()).collect();
    let mut found: Vec<Violation> =
        pages.iter().flat_map(|page| dead(root, page, &pages)).collect();
    found.extend(pages.iter().filter_map(|page| not_listed_once(page, &pages)));
    found
}

/// Returns the links of a page that lead nowhere in the workspace.
fn dead(root: &Path, page: &Source, pages: &[&Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, link) in links(&page.text) {
        if is_external(link) {
            continue;
        }
        let (_, heading) = file_and_anchor(link);
        let target = target(&page.path, link);
        let target_page = pages.iter().find(|page| page.path == target);
        let is_heading = |page: &&&Source| anchors(&page.text).any(|anchor| anchor == heading);
        let is_file = !target.starts_with("..") && root.join(&target).exists();
        let rule = if target_page.is_none() && !is_file {
            "link leads to no file"
        } else if !heading.is_empty() && target_page.filter(is_heading).is_none() {
            "link leads to no heading"
        } else {
            continue;
        };
        found.push(Violation::new(&page.path, line, rule, link));
    }
    found
}

/// Returns the violation of a page of the documents that its index does not list exactly once.
fn not_listed_once(page: &Source, pages: &[&Source]) -> Option<Violation> {
    let (folder, name) = page.path.rsplit_once('/')?;
    let is_index = name == "README.md";
    if Path::new(folder).iter().next()? != DOCUMENTS || (is_index && folder == DOCUMENTS) {
        return None;
    }
    // An index is listed in the one above.
    let folders = Path::new(folder).ancestors().skip(usize::from(is_index));
    let mut indexes = folders.map(|folder| format!("{}/README.md", folder.display()));
    let index = indexes.find_map(|path| pages.iter().find(|page| page.path == path));
    let listed = index.map_or(0, |index| {
        let targets = links(&index.text).into_iter().map(|(_, link)| resolve(&index.path, link));
        targets.filter(|target| *target == page.path).count()
    });
    let path = index.map_or(DOCUMENTS, |index| &index.path);
    let rule = format!("page is listed {listed} times instead of once in {path}");
    (listed != 1).then(|| Violation::new(&page.path, 0, rule, ""))
}

/// Returns the lines of a page outside of code blocks, with their numbers.
pub(super) fn text_lines(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(page.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the targets of a page's links, with their lines. Links in code are none.
pub(crate) fn links(page: &str) -> Vec<(usize, &str)> {
    links_with_rest(page).into_iter().map(|(line, target, _)| (line, target)).collect()
}

/// Returns the same with the rest of the line behind each link.
pub(super) fn links_with_rest(page: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (number, line) in text_lines(page) {
        let starts = line.match_indices("](").map(|(start, mark)| start + mark.len());
        // An odd number of back-ticks before a position is inside of code.
        let starts = starts.filter(|start| line[..*start].matches('`').count() % 2 == 0);
        let targets = starts.filter_map(|start| line[start..].split_once(')'));
        found.extend(targets.map(|(target, rest)| (number, target, rest)));
    }
    found
}

/// Returns the anchors of a page's headings, as the common renderers of Markdown make them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    text_lines(page).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
    })
}

/// Returns whether a link leads to another site, or to an address of mail.
pub(crate) fn is_external(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// Splits a link into its file and its anchor. Each of them can be empty.
pub(crate) fn file_and_anchor(link: &str) -> (&str, &str) {
    link.split_once('#').unwrap_or((link, ""))
}

/// Returns the path, from the root of the workspace, of the file that a link in a page leads to.
pub(crate) fn target(page: &str, link: &str) -> String {
    resolve(page, file_and_anchor(link).0)
}

/// Returns the path, from the root of the workspace, of a link's file. An empty one is the page,
/// and one above the root begins with `..`.
fn resolve(page: &str, file: &str) -> String {
    if file.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn rules(sources: &[Source]) -> Vec<String> {
        let found = check(Path::new("/no such folder"), sources);
        found.iter().map(|found| format!("{}:{} {}", found.file, found.line, found.rule)).collect()
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let other = page("crates/a/README.md", "# A `code` word\n```\n# no heading\n```\n");
        let no_file = ["README.md:1 link leads to no file".to_owned()];
        let no_heading = ["README.md:1 link leads to no heading".to_owned()];
        let rows: [(&str, &[String]); 11] = [
            ("[a](crates/a/README.md) and [b](./crates/../crates/a/README.md)", &[]),
            ("[a](crates/a/README.md#a-code-word)", &[]),
            ("[a](https://example.com/x) `[b](gone.md)`", &[]),
            ("[a](#here) [`code`](#here)\n## Here", &[]),
            ("```text\n[a](gone.md)\n```", &[]),
            ("[a](gone.md)", &no_file),
            ("[a](../crates/a/README.md)", &no_file),
            ("[`code`](gone.md)", &no_file),
            ("[a](../crates/b/README.md)", &no_file),
            ("[a](crates/a/README.md#no-heading)", &no_heading),
            ("[a](#there)\n## Here", &no_heading),
        ];
        for (text, expected) in rows {
            assert_eq!(rules(&[other.clone(), page("README.md", text)]), expected, "{text}");
        }
    }

    #[test]
    fn each_page_of_the_documents_is_listed_once() {
        let a = || page("docs/a.md", "");
        let guide = || page("docs/how-to/b.md", "");
        let decision = || page("docs/adr/1.md", "");
        let decisions = || page("docs/adr/README.md", "[1](1.md)");
        let all = "[a](a.md) [b](how-to/b.md) [d](adr/README.md)";
        let index = |text: &str| page("docs/README.md", text);
        let nested = || page("docs/adr/how-to/1.md", "");
        let two = page("docs/adr/README.md", "[1](1.md) [h](how-to/1.md)");
        let rows: [(&str, Vec<Source>, &[&str]); 6] = [
            ("complete", vec![a(), guide(), decision(), decisions(), index(all)], &[]),
            (
                "in the nearest index",
                vec![decision(), nested(), two, index("[d](adr/README.md)")],
                &[],
            ),
            (
                "not in the nearest index",
                vec![
                    nested(),
                    decision(),
                    decisions(),
                    index("[d](adr/README.md) [h](adr/how-to/1.md)"),
                ],
                &["docs/adr/how-to/1.md:0 page is listed 0 times instead of once in \
                   docs/adr/README.md"],
            ),
            (
                "no index",
                vec![a()],
                &["docs/a.md:0 page is listed 0 times instead of once in docs"],
            ),
            (
                "twice",
                vec![a(), index("[a](a.md) [a](a.md)")],
                &["docs/a.md:0 page is listed 2 times instead of once in docs/README.md"],
            ),
            (
                "in no index of its folder",
                vec![decision(), page("docs/adr/README.md", ""), index("[d](adr/README.md)")],
                &["docs/adr/1.md:0 page is listed 0 times instead of once in docs/adr/README.md"],
            ),
        ];
        for (case, sources, expected) in rows {
            assert_eq!(rules(&sources), expected, "{case}");
        }
    }
}
