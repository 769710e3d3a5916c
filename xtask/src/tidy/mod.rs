//! `cargo xtask tidy`: rules of this repository that neither the compiler nor clippy checks.

mod figures;
mod files;
mod java;
mod links;
mod pages;
mod paths;
mod plots;
mod references;
mod repository;
mod rust;
mod translations;
mod variables;
mod wording;

use std::fmt;
use std::path::Path;

use crate::{Error, workspace};
pub(crate) use links::{file_and_anchor, is_external, links, target};
pub(crate) use translations::origin;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    /// From the root of the workspace.
    file: String,
    /// From 1; 0 for the whole file.
    line: usize,
    rule: String,
    text: String,
}

impl Violation {
    fn new(file: &str, line: usize, rule: impl Into<String>, text: &str) -> Self {
        let text = text.trim().chars().take(MAX_TEXT).collect();
        Self { file: file.to_owned(), line, rule: rule.into(), text }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, text } = self;
        write!(f, "{file}:{line}: {rule}: {text}")
    }
}

/// Longest text of a violation, in characters.
const MAX_TEXT: usize = 140;

/// Checks the workspace, or only the files below the given paths. With `--figures` prints the
/// figures of the second edition instead.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    match arguments {
        [only] if only == "--figures" => {
            print!("{}", figures::table(workspace())?);
            Ok(())
        }
        paths => match paths.iter().find(|path| path.starts_with('-')) {
            Some(option) => {
                let message = format!("`tidy` takes `--figures` alone or paths, not `{option}`");
                Err(Error::Usage(message))
            }
            None => check(paths),
        },
    }
}

/// Checks the workspace, or only the files below the given paths.
pub(crate) fn check(paths: &[String]) -> Result<(), Error> {
    if let Some(missing) = paths.iter().find(|path| !workspace().join(path).exists()) {
        return Err(Error::Usage(format!("there is no file or folder `{missing}`")));
    }
    let mut violations = violations(workspace())?;
    if !paths.is_empty() {
        violations.retain(|found| paths.iter().any(|path| is_below(&found.file, path)));
    }
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        n => Err(Error::Untidy(n)),
    }
}

fn is_below(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    Path::new(file).starts_with(path)
}

/// Returns all violations of a workspace, ordered by file and line.
fn violations(root: &Path) -> Result<Vec<Violation>, Error> {
    let sources = files::sources(root)?;
    let mut violations = wording::check(&sources);
    violations.extend(repository::check(root, &sources)?);
    violations.extend(java::check(root)?);
    violations.extend(pages::check(&sources));
    violations.extend(paths::check(&sources));
    violations.extend(links::check(root, &sources));
    violations.extend(translations::check(&sources));
    violations.extend(references::check(&sources));
    violations.extend(variables::check(&sources));
    violations.extend(plots::check(root)?);
    violations.sort();
    Ok(violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_breaks_no_rule() {
        let lines: Vec<String> =
            violations(workspace()).unwrap().iter().map(Violation::to_string).collect();
        assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
    }

    #[test]
    fn paths_select_whole_folders_and_files() {
        let rows = [
            ("crates/lite/src/lib.rs", "crates/lite", true),
            ("crates/lite/src/lib.rs", "./crates/lite/", true),
            ("crates/lite/src/lib.rs", "crates/lite/src/lib.rs", true),
            ("crates/lite/src/lib.rs", "crates/li", false),
            ("README.md", "crates", false),
        ];
        for (file, path, expected) in rows {
            assert_eq!(is_below(file, path), expected, "{file} below {path}");
        }
    }

    #[test]
    fn violation_is_printed_in_one_line() {
        let violation = Violation::new("a.rs", 3, "a rule", "  // text\n");
        assert_eq!(violation.to_string(), "a.rs:3: a rule: // text");
    }
}
