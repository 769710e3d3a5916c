//! Rules of this repository that neither the compiler nor clippy checks.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose `clippy.toml` forbids clocks, threads and the like.
const PURE: [&str; 4] = ["coordination", "reg-center", "sharding", "trigger"];
/// Attributes that need a reason.
const EXCEPTIONS: [&str; 3] = ["ignore", "allow", "expect"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns the folders of all crates, by their paths in the workspace.
fn crates() -> Vec<PathBuf> {
    let folders = ["crates", "crates/dev"].into_iter().flat_map(|parent| {
        fs::read_dir(workspace().join(parent)).unwrap().map(|entry| entry.unwrap().path())
    });
    let mut crates: Vec<PathBuf> =
        folders.filter(|folder| folder.join("Cargo.toml").is_file()).collect();
    crates.push(workspace().join("xtask"));
    crates.sort();
    crates
}

/// Returns all Rust files below `folder`, which need not exist.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn assert_none(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{rule}:\n  {}", violations.join("\n  "));
}

fn relative(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap_or(path).display().to_string()
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
        // An attribute can continue on the following lines.
        let rest: Vec<&str> = source.lines().skip(n).collect();
        let rest = rest.join(" ");
        let attribute = rest.split_once(")]").map_or(rest.as_str(), |(attribute, _)| attribute);
        let attribute = if name == "ignore" { line } else { attribute };
        let reason = if name == "ignore" { "= \"" } else { "reason = \"" };
        if !attribute.contains(reason) {
            found.push((n + 1, name));
        }
    }
    found
}

/// Returns the lines of `base` that `file` does not repeat.
fn missing_lines<'a>(base: &'a str, file: &str) -> Vec<&'a str> {
    let is_there = |wanted: &str| file.lines().any(|line| line.trim() == wanted);
    base.lines().map(str::trim).filter(|line| !line.is_empty() && !is_there(line)).collect()
}

#[test]
fn every_crate_has_a_readme() {
    let missing = crates().into_iter().filter(|folder| !folder.join("README.md").is_file());
    let missing: Vec<String> = missing.map(|folder| relative(&folder)).collect();
    assert_none("every crate has a README.md; these crates have none", &missing);
}

#[test]
fn lints_of_a_pure_crate_include_those_of_the_workspace() {
    let base = fs::read_to_string(workspace().join("clippy.toml")).unwrap();
    let mut violations = Vec::new();
    for name in PURE {
        let path = workspace().join("crates").join(name).join("clippy.toml");
        match fs::read_to_string(&path) {
            Ok(file) => violations.extend(
                missing_lines(&base, &file)
                    .iter()
                    .map(|line| format!("{} does not repeat `{line}`", relative(&path))),
            ),
            Err(error) => violations.push(format!("{}: {error}", relative(&path))),
        }
    }
    assert_none(
        "a crate's clippy.toml replaces that of the workspace, so that it repeats all lines",
        &violations,
    );
}

#[test]
fn every_module_has_documentation() {
    let files = crates().into_iter().flat_map(|folder| rust_files(&folder.join("src")));
    let undocumented = files.filter(|file| !has_front_page(&fs::read_to_string(file).unwrap()));
    let undocumented: Vec<String> = undocumented.map(|file| relative(&file)).collect();
    assert_none("every module begins with `//!`; these modules do not", &undocumented);
}

#[test]
fn every_exception_has_a_reason() {
    let folders = ["src", "tests", "examples", "benches"];
    let folders = crates().into_iter().flat_map(|folder| folders.map(|name| folder.join(name)));
    let mut violations = Vec::new();
    for file in folders.flat_map(|folder| rust_files(&folder)) {
        let source = fs::read_to_string(&file).unwrap();
        violations.extend(
            exceptions_without_reason(&source).into_iter().map(|(line, name)| {
                format!("{}:{line}: `{name}` without a reason", relative(&file))
            }),
        );
    }
    assert_none("every `ignore`, `allow` and `expect` attribute has a reason", &violations);
}

#[test]
fn front_pages_are_recognised() {
    let rows = [
        ("a page", "//! What it is.\nfn main() {}", true),
        ("settings before it", "#![forbid(unsafe_code)]\n\n//! What it is.", true),
        ("the readme as page", "#![doc = include_str!(\"../README.md\")]\n", true),
        ("nothing", "", false),
        ("code first", "use std::fs;\n//! Too late.", false),
        ("a plain comment", "// What it is.", false),
        ("an item's page", "/// What the item is.\nfn main() {}", false),
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
        ("allow without", "#[allow(dead_code)]\nfn x() {} // reason = \"no\"", &[(1, "allow")][..]),
        ("allow with", "#[allow(dead_code, reason = \"used by macros\")]", none),
        ("expect in many lines", "#![expect(\n    dead_code,\n    reason = \"later\"\n)]", none),
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
