//! Assignment of files to items, and the count of their lines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The number of lines of one file, by its path in the counted folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileCount {
    pub(crate) path: String,
    pub(crate) lines: u64,
}

/// Counts the lines of the files that belong to an item.
pub(crate) fn count_item(root: &Path, item: u32, total: u32) -> io::Result<Vec<FileCount>> {
    let mut counts = Vec::new();
    for file in files_below(root)? {
        let path = relative(root, &file);
        if stable_hash(&path) % u64::from(total) == u64::from(item) {
            let lines = fs::read(&file)?.iter().filter(|byte| **byte == b'\n').count() as u64;
            counts.push(FileCount { path, lines });
        }
    }
    Ok(counts)
}

/// Returns all files in ascending order, without links.
fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn relative(root: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(root).expect("every file was found below the root");
    inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Returns the FNV-1a hash. It is stable across versions, because every process must assign a file
/// to the same item.
fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
