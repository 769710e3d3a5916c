//! Programs that use the packed files, as users do.

use std::fmt::{Debug, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use super::cargo_in;
use super::stage::Package;
use crate::folders::{copy_folder, recreate};
use crate::steps::run;
use crate::{Error, workspace};

/// Folder of the programs. Cargo does not see it as a part of this workspace.
const SOURCES: &str = "xtask/src/package/consumers";
/// The programs: one that needs each feature, one that needs single crates, and a service.
const PROGRAMS: [&str; 3] = ["everything", "parts", "service"];

/// Compiles and tests the programs against the unpacked packages.
pub(super) fn test(folder: &Path, unpacked: &Path, packages: &[Package]) -> Result<(), Error> {
    let consumers = folder.join("consumers");
    for program in PROGRAMS {
        let copy = consumers.join(program);
        recreate(&copy)?;
        copy_folder(&workspace().join(SOURCES).join(program), &copy)?;
    }
    let packages: Vec<_> = packages
        .iter()
        .map(|Package { name, version, .. }| (&**name, unpacked.join(format!("{name}-{version}"))))
        .collect();
    write_workspace(&consumers, &PROGRAMS, &packages)?;
    run(cargo_in(&consumers).args(["test", "--package", "parts", "--package", "service"]))?;
    // It has no tests, but compiles each package with the assets and migrations in its file.
    run(cargo_in(&consumers).args(["check", "--package", "everything"]))
}

/// Makes a folder with `members` a workspace in which the packages of a registry are replaced by
/// unpacked ones: names and folders.
pub(crate) fn write_workspace(
    folder: &Path,
    members: &[impl Debug],
    packages: &[(&str, PathBuf)],
) -> Result<(), Error> {
    let mut text = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n");
    text.push_str("\n[patch.crates-io]\n");
    for (name, path) in packages {
        writeln!(text, "{name} = {{ path = {:?} }}", path.display().to_string())
            .expect("writing to a string cannot fail");
    }
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, text).map_err(Error::file("write", &manifest))?;
    // The versions of other packages that the workspace was tested with.
    let lock = workspace().join("Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).map(drop).map_err(Error::file("copy", &lock))
}
