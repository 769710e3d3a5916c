//! Lists, makes and copies folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// Returns the paths of a folder's entries, in order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = read().map_err(Error::file("read", folder))?;
    paths.sort();
    Ok(paths)
}

/// Returns the paths of all files below a folder, from that folder, in order.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        let name = Path::new(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => found.extend(files_below(&path)?.iter().map(|file| name.join(file))),
            false => found.push(name.to_owned()),
        }
    }
    Ok(found)
}

/// Makes an empty folder. What it contained is removed.
pub(crate) fn recreate(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file("remove", folder)(error));
        }
        _ => {}
    }
    fs::create_dir_all(folder).map_err(Error::file("create", folder))
}

/// Copies all files below a folder into another folder, which need not exist.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    for file in files_below(from)? {
        let (source, copy) = (from.join(&file), to.join(&file));
        create_parent(&copy)?;
        fs::copy(&source, &copy).map_err(Error::file("copy", &source))?;
    }
    Ok(())
}

/// Makes the folder that a file will be in.
pub(crate) fn create_parent(file: &Path) -> Result<(), Error> {
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent).map_err(Error::file("create", parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_files_are_listed_in_order_from_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let files = ["a/b/c", "a/d", "a.txt", "b"].map(PathBuf::from);
        for file in &files {
            create_parent(&from.join(file)).unwrap();
            fs::write(from.join(file), file.as_os_str().as_encoded_bytes()).unwrap();
        }
        copy_folder(&from, &to).unwrap();
        assert_eq!(files_below(&to).unwrap(), files);
        assert_eq!(fs::read_to_string(to.join("a/b/c")).unwrap(), "a/b/c");
    }

    #[test]
    fn recreated_folder_is_empty_and_a_failure_to_remove_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("new/folder");
        recreate(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        recreate(&folder).unwrap();
        assert_eq!(entries(&folder).unwrap(), Vec::<PathBuf>::new());
        // Below a file, the state of the folder cannot be read. That is not an absent folder.
        fs::write(folder.join("file"), "").unwrap();
        let message = recreate(&folder.join("file/below")).unwrap_err().to_string();
        assert!(message.starts_with("cannot remove "), "{message}");
    }
}
