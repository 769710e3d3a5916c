//! The copy of the workspace, with all sites replaced and the overlay added.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::sites::{SITES, Site};

/// Folders of the workspace that the copy does not need. Tests read pages of `docs`.
const LEFT_OUT: [&str; 2] = [".git", "target"];

/// Files of this crate that the copy also has, with their paths there.
const SHARED: [(&str, &str); 2] = [
    ("src/names.rs", "crates/coordination/src/mutant/names.rs"),
    ("src/table.rs", "crates/coordination/src/mutant/table.rs"),
];

/// An error that keeps the copy from being written.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The text of a site does not occur exactly once.
    #[error("{path} contains the text of a site {count} times, expected once:\n{text}")]
    Unmatched {
        /// Path of the file, from the root of the workspace.
        path: &'static str,
        /// Number of occurrences.
        count: usize,
        /// Text of the site.
        text: &'static str,
    },
    /// Two sites of a file overlap.
    #[error("two sites of {path} overlap at the text:\n{text}")]
    Overlapping {
        /// Path of the file, from the root of the workspace.
        path: &'static str,
        /// Text of the second site.
        text: &'static str,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write {path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

/// Writes the copy of a workspace to a folder. Files with the right content are not written again,
/// so that a build can reuse the results of an earlier one.
///
/// # Errors
/// Returns a [`CopyError`]; the copy is then incomplete.
pub fn write_copy(workspace: &Path, copy: &Path) -> Result<(), CopyError> {
    let mut files = BTreeMap::new();
    collect(workspace, workspace, &mut files)?;
    for (path, sites) in by_file() {
        let text =
            files.get(Path::new(path)).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let text = replaced(path, &text.unwrap_or_default(), &sites)?;
        files.insert(path.into(), text.into_bytes());
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (from, to) in SHARED {
        files.insert(to.into(), read(&own.join(from))?);
    }
    let mut overlay = BTreeMap::new();
    collect(&own.join("overlay"), &own.join("overlay"), &mut overlay)?;
    files.extend(overlay.into_iter().map(|(path, bytes)| (Path::new("crates").join(path), bytes)));
    remove_others(copy, copy, &files)?;
    for (path, bytes) in &files {
        let path = copy.join(path);
        if fs::read(&path).is_ok_and(|present| present == *bytes) {
            continue;
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(copy))?;
            fs::write(&path, bytes)
        };
        write().map_err(|source| CopyError::File { path: path.clone(), source })?;
    }
    Ok(())
}

/// Returns the sites by file.
pub(crate) fn by_file() -> BTreeMap<&'static str, Vec<&'static Site>> {
    let mut files: BTreeMap<&str, Vec<&Site>> = BTreeMap::new();
    for (path, sites) in SITES {
        files.entry(path).or_default().extend(*sites);
    }
    files
}

/// Returns the text of a file with its sites replaced.
pub(crate) fn replaced(
    path: &'static str,
    text: &str,
    sites: &[&'static Site],
) -> Result<String, CopyError> {
    let mut places = Vec::new();
    for Site { from, to } in sites {
        let mut found = text.match_indices(from);
        let place = found.next().filter(|_| found.next().is_none());
        let Some((start, _)) = place else {
            let count = text.matches(from).count();
            return Err(CopyError::Unmatched { path, count, text: from });
        };
        places.push((start, *from, *to));
    }
    places.sort_unstable();
    let (mut result, mut end) = (String::new(), 0);
    for (start, from, to) in places {
        let between = text.get(end..start).ok_or(CopyError::Overlapping { path, text: from })?;
        result.push_str(between);
        result.push_str(&with_full_paths(path, to));
        end = start + from.len();
    }
    result.push_str(&text[end..]);
    Ok(result)
}

/// Returns a replacement text of a file with full paths of the items that it names.
fn with_full_paths(path: &str, to: &str) -> String {
    let is_here = path.starts_with("crates/coordination/src/");
    let module = if is_here { "crate::mutant" } else { "coordination::mutant" };
    let functions = ["is", "is_unconfirmed", "without_guard"];
    let named = functions.iter().fold(to.to_owned(), |text, name| {
        text.replace(&format!("mutant::{name}("), &format!("{module}::{name}("))
    });
    named.replace("Mutant::", &format!("{module}::Mutant::"))
}

fn read(path: &Path) -> Result<Vec<u8>, CopyError> {
    fs::read(path).map_err(|source| CopyError::File { path: path.to_owned(), source })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, CopyError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    list().map_err(|source| CopyError::File { path: folder.to_owned(), source })
}

/// Reads all files below a folder, by their paths from the root.
fn collect(
    root: &Path,
    folder: &Path,
    files: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), CopyError> {
    for path in entries(folder)? {
        let below = path.strip_prefix(root).unwrap_or(&path).to_owned();
        if LEFT_OUT.iter().any(|name| below == Path::new(name)) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.insert(below, read(&path)?);
        }
    }
    Ok(())
}

/// Removes files of an earlier copy that this copy does not have.
fn remove_others(
    root: &Path,
    folder: &Path,
    files: &BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), CopyError> {
    if !folder.is_dir() {
        return Ok(());
    }
    let wanted: BTreeSet<_> = files.keys().map(PathBuf::as_path).collect();
    for path in entries(folder)? {
        if path.is_dir() {
            remove_others(root, &path, files)?;
        } else if !path.strip_prefix(root).is_ok_and(|below| wanted.contains(below)) {
            fs::remove_file(&path).map_err(|source| CopyError::File { path, source })?;
        }
    }
    Ok(())
}
