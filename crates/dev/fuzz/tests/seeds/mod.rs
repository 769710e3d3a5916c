//! Stored seeds.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the seeds of a target with their files, sorted by file name.
pub(crate) fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a folder of files").path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{} has {} seeds only", folder.display(), files.len());
    files.into_iter().map(|file| (file.clone(), fs::read(file).expect("a readable seed"))).collect()
}
