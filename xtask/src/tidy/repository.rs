//! Rules for crates, modules and attributes.

use std::fs;
use std::path::{Path, PathBuf};

use super::Violation;
use super::files::{self, Source};
use crate::Error;

/// Crates whose `clippy.toml` forbids clocks, threads and the like.
const PURE: [&str; 4] = ["coordination", "reg-center", "sharding", "trigger"];

/// Attributes that need a reason.
const EXCEPTIONS: [&str; 3] = ["ignore", "allow", "expect"];

/// Checks crates, modules and attributes.
pub(super) fn check(root: &Path, sources: &[Source]) -> Result<Vec<Violation>, Error> {
    let mut found = crates_without_readme(root)?;
    found.extend(incomplete_lints(root)?);
    found.extend(sources.iter().filter(|source| is_module(source)).filter_map(undocumented));
    found.extend(sources.iter().filter(|source| source.is_rust()).flat_map(without_reason));
    Ok(found)
}

fn crates_without_readme(root: &Path) -> Result<Vec<Violation>, Error> {
    let mut crates = files::crates(root)?;
    crates.retain(|folder| !folder.join("README.md").is_file());
    let violation = |folder: &PathBuf| {
        let path = folder.strip_prefix(root).unwrap_or(folder).display().to_string();
        Violation::new(&path, 0, "crate has no README.md", "")
    };
    Ok(crates.iter().map(violation).collect())
}

/// A crate's `clippy.toml` replaces that of the workspace, so that it repeats all lines.
fn incomplete_lints(root: &Path) -> Result<Vec<Violation>, Error> {
    let path = root.join("clippy.toml");
    let base = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let mut found = Vec::new();
    for name in PURE {
        let relative = format!("crates/{name}/clippy.toml");
        let path = root.join(&relative);
        let file = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        let rule = "line of the workspace's clippy.toml is not repeated";
        let missing = missing_lines(&base, &file);
        found.extend(missing.iter().map(|line| Violation::new(&relative, 0, rule, line)));
    }
    Ok(found)
}

/// Returns whether a source is below the `src` folder of a crate.
fn is_module(source: &Source) -> bool {
    let is_in = |folder: &str| Path::new(&source.path).iter().any(|part| part == folder);
    source.is_rust() && is_in("src")
}

fn undocumented(source: &Source) -> Option<Violation> {
    let rule = "module does not begin with `//!`";
    let line = source.text.lines().next().unwrap_or_default();
    (!has_front_page(&source.text)).then(|| Violation::new(&source.path, 1, rule, line))
}

fn without_reason(source: &Source) -> Vec<Violation> {
    let found = exceptions_without_reason(&source.text).into_iter();
    let rule = "attribute has no reason";
    found.map(|(line, name)| Violation::new(&source.path, line, rule, &name)).collect()
}

/// Returns whether a source begins with module documentation.
fn has_front_page(source: &str) -> bool {
    let first = source.lines().map(str::trim).find(|line| {
        let is_setting = line.starts_with("#![") && !line.starts_with("#![doc");
        !line.is_empty() && !is_setting
    });
    first.is_some_and(|line| line.starts_with("//!") || line.starts_with("#![doc"))
}

/// Returns the exceptions without a reason in a source, with their line numbers.
fn exceptions_without_reason(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (n, line) in source.lines().enumerate() {
        let attribute =
            line.trim_start().strip_prefix("#![").or(line.trim_start().strip_prefix("#["));
        let Some(attribute) = attribute else { continue };
        let name: String =
            attribute.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !EXCEPTIONS.contains(&name.as_str()) {
            continue;
        }
        let has_reason = if name == "ignore" {
            line.contains("= \"")
        } else {
            whole_attribute(source, n).contains("reason = \"")
        };
        if !has_reason {
            found.push((n + 1, name));
        }
    }
    found
}

/// Returns the attribute that begins in this line, from 0. It can continue on the following lines.
fn whole_attribute(source: &str, line: usize) -> String {
    let mut attribute = String::new();
    for line in source.lines().skip(line) {
        let (part, is_last) = line.split_once(")]").map_or((line, false), |(part, _)| (part, true));
        attribute.push_str(part);
        if is_last {
            break;
        }
    }
    attribute
}

/// Returns the lines of `base` that `file` does not repeat.
fn missing_lines<'a>(base: &'a str, file: &str) -> Vec<&'a str> {
    let is_there = |wanted: &str| file.lines().any(|line| line.trim() == wanted);
    base.lines().map(str::trim).filter(|line| !line.is_empty() && !is_there(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_pages_are_recognised() {
        let rows = [
            ("a page", "//! A page.\nfn main() {}", true),
            ("settings before it", "#![forbid(unsafe_code)]\n\n//! A page.", true),
            ("the readme as page", "#![doc = include_str!(\"../README.md\")]\n", true),
            ("nothing", "", false),
            ("code first", "use std::fs;\n//! Too late.", false),
            ("a plain comment", "// A page.", false),
            ("an item's page", "/// An item.\nfn main() {}", false),
        ];
        for (case, source, expected) in rows {
            assert_eq!(has_front_page(source), expected, "{case}");
        }
    }

    #[test]
    fn exceptions_without_a_reason_are_found() {
        let none: &[(usize, &str)] = &[];
        let rows = [
            ("ignore without", "#[test]\n    #[ignore]\nfn x() {}", &[(2, "ignore")][..]),
            ("ignore with", "#[ignore = \"needs a disk\"]", none),
            (
                "allow without",
                "#[allow(dead_code)]\nfn x() {} // reason = \"no\"",
                &[(1, "allow")][..],
            ),
            ("allow with", "#[allow(dead_code, reason = \"used by macros\")]", none),
            (
                "expect in many lines",
                "#![expect(\n    dead_code,\n    reason = \"later\"\n)]",
                none,
            ),
            (
                "many lines without",
                "#[expect(\n    dead_code,\n)]\nreason = \"x\"",
                &[(1, "expect")][..],
            ),
            ("another attribute", "#[allowed]\n#[derive(Debug)]", none),
            ("in a text", "let text = \"#[allow(dead_code)]\";", none),
        ];
        for (case, source, expected) in rows {
            let found = exceptions_without_reason(source);
            let found: Vec<(usize, &str)> =
                found.iter().map(|(line, name)| (*line, name.as_str())).collect();
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn lines_that_are_not_repeated_are_found() {
        let base = "allow-unwrap-in-tests = true\n\nallow-print-in-tests = true\n";
        let rows = [
            (
                "all there",
                "# Pure.\nallow-print-in-tests = true\nallow-unwrap-in-tests = true\nx = 1",
                &[][..],
            ),
            (
                "one changed",
                "allow-unwrap-in-tests = false\nallow-print-in-tests = true",
                &["allow-unwrap-in-tests = true"],
            ),
            (
                "commented out",
                "# allow-unwrap-in-tests = true\nallow-print-in-tests = true",
                &["allow-unwrap-in-tests = true"],
            ),
        ];
        for (case, file, expected) in rows {
            assert_eq!(missing_lines(base, file), expected, "{case}");
        }
    }
}
