//! The counted files: a copy of this repository's own files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, workspace};

/// Folders with build artifacts or downloads instead of sources.
const SKIPPED_FOLDERS: [&str; 2] = ["target", ".git"];

/// A folder of files and the number of lines of each, by its path in the folder.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) folder: PathBuf,
    pub(super) lines: BTreeMap<String, u64>,
}

impl Corpus {
    /// Copies the files of this repository to a new folder.
    pub(super) fn copy_to(folder: PathBuf) -> Result<Corpus, Error> {
        Corpus::copy(workspace(), folder)
    }

    fn copy(source: &Path, folder: PathBuf) -> Result<Corpus, Error> {
        let paths = match tracked_files(source) {
            Some(paths) => paths,
            // An unpacked archive has no git repository, and all of its files are sources.
            None => files_below(source)?,
        };
        let mut lines = BTreeMap::new();
        for path in paths {
            let original = source.join(&path);
            // Git also lists deleted files and links.
            if !original.is_file() || original.is_symlink() {
                continue;
            }
            let bytes = fs::read(&original).map_err(Error::file("read", &original))?;
            let copy = folder.join(&path);
            let parent = copy.parent().expect("a joined path has a parent");
            fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
            fs::write(&copy, &bytes).map_err(Error::file("write", &copy))?;
            lines.insert(path, count_lines(&bytes));
        }
        Ok(Corpus { folder, lines })
    }

    /// Returns the number of lines of all files.
    pub(super) fn total(&self) -> u64 {
        self.lines.values().sum()
    }

    /// Returns the number of lines of all files by `wc -l`.
    pub(super) fn total_by_wc(&self) -> Result<u64, Error> {
        let line = || "wc -l".to_owned();
        let mut wc = Command::new("wc");
        wc.arg("-l").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut wc = wc.spawn().map_err(|source| Error::Start { line: line(), source })?;
        let mut input = wc.stdin.take().expect("the input is piped");
        for path in self.lines.keys() {
            let path = self.folder.join(path);
            let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
            input.write_all(&bytes).map_err(|source| Error::Start { line: line(), source })?;
        }
        drop(input);
        let answer = wc.wait_with_output().and_then(|output| {
            String::from_utf8_lossy(&output.stdout).trim().parse().map_err(io::Error::other)
        });
        answer.map_err(|source| Error::Start { line: line(), source })
    }
}

/// Counts line ends, as `wc -l` does.
fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Lists tracked files and files that git would add. Returns `None` without a git repository.
fn tracked_files(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(root).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let names = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

/// Lists all files below `root` except build artifacts, by their paths in it.
fn files_below(root: &Path) -> Result<Vec<String>, Error> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let list = || fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>();
        for entry in list().map_err(Error::file("list", &folder))? {
            let path = entry.path();
            let is_skipped = SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name);
            if path.is_dir() && !path.is_symlink() && !is_skipped {
                folders.push(path);
            } else if path.is_file() {
                let inside = path.strip_prefix(root).expect("the file is below the root");
                paths.push(inside.to_string_lossy().into_owned());
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn lines_are_counted_by_their_ends() {
        let rows = [("", 0), ("no end", 0), ("one\n", 1), ("\n\n", 2), ("a\r\nb\nc", 2)];
        for (text, expected) in rows {
            assert_eq!(count_lines(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn unpacked_archive_is_copied_without_build_artifacts() {
        let (source, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(
            source.path(),
            &[("a.rs", "1\n2\n"), ("deep/er/b.md", "3\nno end"), ("target/x", "4\n")],
        );
        let corpus = Corpus::copy(source.path(), copy.path().to_owned()).unwrap();
        let expected = [("a.rs".to_owned(), 2), ("deep/er/b.md".to_owned(), 1)];
        assert_eq!(corpus.lines, BTreeMap::from(expected));
        assert_eq!(fs::read(copy.path().join("deep/er/b.md")).unwrap(), b"3\nno end");
        assert_eq!((corpus.total(), corpus.total_by_wc().unwrap()), (3, 3));
    }

    #[test]
    fn copy_of_this_repository_has_its_sources_and_no_build_artifacts() {
        let copy = tempfile::tempdir().unwrap();
        let corpus = Corpus::copy_to(copy.path().to_owned()).unwrap();
        assert!(corpus.lines.contains_key("xtask/src/demo/corpus.rs"), "{:?}", corpus.lines.keys());
        assert!(!corpus.lines.keys().any(|path| path.starts_with("target/")));
        assert_eq!(corpus.total(), corpus.total_by_wc().unwrap());
    }
}
