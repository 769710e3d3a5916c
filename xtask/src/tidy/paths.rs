//! Source files that pages name: each exists.

use super::Violation;
use super::files::Source;

/// Pages about the past. The files that they name may be gone.
const HISTORICAL: [&str; 2] = ["CHANGELOG.md", "docs/adr/"];

/// Checks the paths of Rust files in the Markdown pages.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let files: Vec<&str> =
        sources.iter().filter(|source| source.is_rust()).map(|file| file.path.as_str()).collect();
    let is_present = |source: &&Source| {
        let historical = HISTORICAL.iter().any(|page| source.path.starts_with(page));
        !source.is_rust() && !historical
    };
    sources.iter().filter(is_present).flat_map(|page| missing(page, &files)).collect()
}

fn missing(page: &Source, files: &[&str]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, number) in page.text.lines().zip(1..) {
        // The text between two back-ticks is code.
        let code = line.split('`').skip(1).step_by(2);
        for path in code.filter(|text| is_source_path(text) && !exists(text, files)) {
            found.push(Violation::new(&page.path, number, "page names a file that is gone", path));
        }
    }
    found
}

/// Returns whether a text is the path of a Rust file with at least one folder.
fn is_source_path(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    text.contains('/') && text.ends_with(".rs") && text.chars().all(is_part)
}

/// Returns whether a path, from any folder on, leads to a file. Pages leave out the first folders.
/// `operations/tests/it.rs` stands for `crates/operations/tests/it.rs`, and `duty/claim.rs` for a
/// file below `src`.
fn exists(path: &str, files: &[&str]) -> bool {
    files.iter().any(|file| match file.strip_suffix(path) {
        Some(before) => before.is_empty() || before.ends_with('/'),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn page_names_only_files_that_exist() {
        let file = source("crates/coordination/src/duty/claim.rs", "");
        let rows = [
            ("docs/a.md", "see `duty/claim.rs` and `crates/coordination/src/duty/claim.rs`", None),
            ("docs/a.md", "see `uty/claim.rs`", Some("uty/claim.rs")),
            ("crates/lite/README.md", "`x` then `duty/gone.rs`", Some("duty/gone.rs")),
            ("docs/a.md", "see `gone.rs`, `cargo test a/b.rs` and duty/gone.rs", None),
            ("docs/adr/0001.md", "see `duty/gone.rs`", None),
            ("CHANGELOG.md", "see `duty/gone.rs`", None),
        ];
        for (page, text, expected) in rows {
            let found = check(&[file.clone(), source(page, text)]);
            let texts: Vec<&str> = found.iter().map(|violation| violation.text.as_str()).collect();
            assert_eq!(texts, Vec::from_iter(expected), "{page}: {text}");
        }
    }
}
