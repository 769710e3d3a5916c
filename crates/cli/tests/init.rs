//! The project that `ejob init --rust` writes.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

#[test]
fn project_compiles_with_the_crates_of_this_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("hello");
    let init = Command::new(env!("CARGO_BIN_EXE_ejob"))
        .args(["init", "--rust", "hello"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(init.status.success(), "{init:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let path = root.join("crates/elastic-job");
    let patch = format!("\n[patch.crates-io]\nelastic-job = {{ path = {path:?} }}\n");
    let manifest = project.join("Cargo.toml");
    let mut manifest = OpenOptions::new().append(true).open(manifest).unwrap();
    manifest.write_all(patch.as_bytes()).unwrap();
    // The versions that this workspace has on disk.
    std::fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let cargo = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet"])
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("init"))
        .current_dir(&project)
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
}
