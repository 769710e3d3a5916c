//! Pinned downloads: checked by their hash before they are at the place where they are used.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::Error;
use crate::folders::create_parent;

/// Returns the SHA-256 as 64 hexadecimal digits.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces a folder by the one that `fill` downloads to and checks. If `fill` fails, the present
/// folder stays.
pub(crate) fn folder(
    target: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    create_parent(target)?;
    let parent = target.parent().unwrap_or(target);
    let unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(parent)
        .map_err(Error::file("create a folder in", parent))?;
    fill(unfinished.path())?;
    // The rename makes the folder appear as a whole. It cannot replace a folder with files.
    let _ = fs::remove_dir_all(target);
    fs::rename(unfinished.path(), target).map_err(Error::file("create", target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders::files_below;

    #[test]
    fn digits_are_those_of_a_test_vector() {
        let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc"), sha256_of_abc);
    }

    #[test]
    fn unfinished_download_does_not_appear_at_its_target() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("new/target");
        let write = |folder: &Path, text| {
            let file = folder.join("file");
            fs::write(&file, text).map_err(Error::file("write", &file))
        };
        let truncated = |folder: &Path| {
            write(folder, "trunc")?;
            Err(Error::Site("another hash".to_owned()))
        };
        folder(&target, truncated).unwrap_err();
        assert_eq!(files_below(parent.path()).unwrap(), Vec::<std::path::PathBuf>::new());
        folder(&target, |folder| write(folder, "complete")).unwrap();
        folder(&target, truncated).unwrap_err();
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "complete");
    }
}
