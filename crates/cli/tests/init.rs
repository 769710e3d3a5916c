//! The projects of a new user: the one that `ejob init --rust` writes, and the one that the README
//! lets the user write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Checks that a project beside the checkout compiles.
fn compile(project: &Path) {
    // The versions that this workspace has on disk.
    fs::copy(checkout().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let cargo = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("init"))
        .current_dir(project)
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
}

#[test]
fn written_project_compiles_with_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let init = Command::new(env!("CARGO_BIN_EXE_ejob"))
        .args(["init", "--rust", "hello", "--path"])
        .arg(checkout())
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(init.status.success(), "{init:?}");
    compile(&folder.path().join("hello"));
}

#[test]
fn program_of_the_readme_compiles_with_its_dependencies() {
    let readme = fs::read_to_string(checkout().join("README.md")).unwrap();
    let section = readme.split("\n## A program\n").nth(1).unwrap();
    let block = |language: &str| {
        let text = section.split(&format!("```{language}\n")).nth(1).unwrap();
        text.split("```").next().unwrap()
    };
    let printed = "../elastic-job/crates";
    let dependencies = block("toml");
    assert!(dependencies.contains(printed), "{dependencies}");
    let crates = checkout().join("crates");
    let dependencies = dependencies.replace(printed, crates.to_str().unwrap());

    let project = tempfile::tempdir().unwrap();
    let package = "[package]\nname = \"report\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n";
    fs::write(project.path().join("Cargo.toml"), format!("{package}{dependencies}")).unwrap();
    fs::create_dir(project.path().join("src")).unwrap();
    fs::write(project.path().join("src/main.rs"), block("rust,no_run")).unwrap();
    compile(project.path());
}
