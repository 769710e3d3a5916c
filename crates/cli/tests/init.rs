//! The project that `ejob init --rust` writes.

use std::path::Path;
use std::process::Command;

#[test]
fn project_compiles_with_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("hello");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let init = Command::new(env!("CARGO_BIN_EXE_ejob"))
        .args(["init", "--rust", "hello", "--path"])
        .arg(&root)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(init.status.success(), "{init:?}");
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
