//! Kept sources of the releases: `xtask/releases/VERSION.tar.xz`, with a folder for each package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folders::{create_parent, entries};
use crate::steps::{run, stdout};
use crate::{Error, workspace};

/// Folder of the archives.
const FOLDER: &str = "xtask/releases";
/// End of an archive's name.
const EXTENSION: &str = ".tar.xz";

/// The kept sources of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) archive: PathBuf,
}

/// Returns the release with the greatest version.
pub(crate) fn last() -> Result<Release, Error> {
    last_in(&workspace().join(FOLDER))
}

fn last_in(folder: &Path) -> Result<Release, Error> {
    let mut releases = Vec::new();
    for archive in entries(folder)? {
        let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let version = name.strip_suffix(EXTENSION).unwrap_or_default();
        let Some(order) = numbers(version) else {
            let text = format!("{} is no release; valid is 0.1.0{EXTENSION}", archive.display());
            return Err(Error::Release(text));
        };
        releases.push((order, Release { version: version.to_owned(), archive }));
    }
    let last = releases.into_iter().max_by_key(|(order, _)| *order).map(|(_, release)| release);
    last.ok_or_else(|| Error::Release(format!("{} has no release", folder.display())))
}

/// Returns the three numbers of a version.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Fails if a version has a tag: the sources of a published release never change.
pub(crate) fn check_unpublished(version: &str) -> Result<(), Error> {
    let tag = format!("v{version}");
    let found = stdout(Command::new("git").args(["tag", "--list", &tag]).current_dir(workspace()))?;
    if found.trim().is_empty() {
        return Ok(());
    }
    let text = "has a tag, so that its kept sources must not change; raise the version first";
    Err(Error::Release(format!("version {version} {text}")))
}

/// Keeps the unpacked packages of a release. The same files give the same archive.
pub(crate) fn write(version: &str, unpacked: &Path) -> Result<(), Error> {
    let archive = workspace().join(FOLDER).join(format!("{version}{EXTENSION}"));
    create_parent(&archive)?;
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u=rwX,go=rX", "--format=ustar", "-cJf"]).arg(&archive);
    run(tar.arg("-C").arg(unpacked).arg("."))?;
    let size = fs::metadata(&archive).map_err(Error::file("read", &archive))?.len();
    println!("{}: {} KiB", archive.display(), size / 1024);
    Ok(())
}

impl Release {
    /// Unpacks the packages into a folder.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<(), Error> {
        run(Command::new("tar").arg("-xJf").arg(&self.archive).arg("-C").arg(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_release_is_that_with_the_greatest_version() {
        let folder = tempfile::tempdir().unwrap();
        let message = || last_in(folder.path()).unwrap_err().to_string();
        assert!(message().ends_with(" has no release"), "{}", message());
        for name in ["0.9.0.tar.xz", "0.10.0.tar.xz", "0.2.11.tar.xz"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(last_in(folder.path()).unwrap().version, "0.10.0");
        fs::write(folder.path().join("0.11.tar.xz"), "").unwrap();
        assert!(message().ends_with("0.11.tar.xz is no release; valid is 0.1.0.tar.xz"));
    }
}
