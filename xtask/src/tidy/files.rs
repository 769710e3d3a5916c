//! Reads the sources that the rules are about.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::folders::entries;

/// A Rust or Markdown file.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// From the root of the workspace.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Reads all Rust and Markdown files of a workspace, ordered by path. Build folders and hidden
/// folders are left out.
pub(super) fn sources(root: &Path) -> Result<Vec<Source>, Error> {
    let mut paths = Vec::new();
    collect(root, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| read(root, path)).collect()
}

/// Reads one file.
pub(super) fn read(root: &Path, path: &Path) -> Result<Source, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let path = path.strip_prefix(root).unwrap_or(path).display().to_string();
    Ok(Source { path, text })
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns the folders of all crates of a workspace, in order.
pub(super) fn crates(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut crates = vec![root.join("xtask")];
    for parent in ["crates", "crates/dev"] {
        crates.extend(entries(&root.join(parent))?);
    }
    crates.retain(|folder| folder.join("Cargo.toml").is_file());
    crates.sort();
    Ok(crates)
}
