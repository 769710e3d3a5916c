//! `cargo xtask package`: makes publishable packages of the crates that users depend on, packs
//! them, and compiles and tests programs that use the packed files alone. With `--keep`, it keeps
//! their sources as a release.

mod consumers;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folders::{entries, recreate};
use crate::steps::{Steps, cargo, run};
use crate::{Error, releases, workspace};
pub(crate) use consumers::write_workspace;
pub(crate) use stage::Package;

/// Runs the task with its arguments.
pub(crate) fn run_task(arguments: &[String]) -> Result<(), Error> {
    match arguments {
        [] => check(),
        [only] if only == "--keep" => keep(),
        _ => {
            let found = arguments.join(" ");
            Err(Error::Usage(format!("`package` takes `--keep`, not `{found}`")))
        }
    }
}

/// Packs the crates, and keeps their sources as the release of this version.
fn keep() -> Result<(), Error> {
    let mut steps = Steps::begin();
    releases::check_unpublished(stage::VERSION)?;
    pack(&mut steps)?;
    let unpacked = folder().join("unpacked");
    steps.step("unpacking", || unpack(&packed(&folder()), &unpacked))?;
    steps.step("kept sources", || releases::write(stage::VERSION, &unpacked))?;
    steps.end("cargo xtask package --keep")
}

/// Packs the crates, and tests programs that use the packed files.
pub(crate) fn check() -> Result<(), Error> {
    let mut steps = Steps::begin();
    let packages = pack(&mut steps)?;
    let folder = folder();
    let unpacked = folder.join("unpacked");
    steps.step("unpacking", || unpack(&packed(&folder), &unpacked))?;
    steps.step("each package alone", || packages.iter().try_for_each(check_alone))?;
    steps.step("programs that use the packed files", || {
        consumers::test(&folder, &unpacked, &packages)
    })?;
    println!("packed files: {}", packed(&folder).display());
    steps.end("cargo xtask package")
}

/// Compiles a package with its default features.
///
/// Together with others, it could use features of a dependency that its own manifest lacks.
fn check_alone(package: &Package) -> Result<(), Error> {
    let staged = folder().join("workspace");
    run(cargo_in(&staged).args(["check", "--quiet", "--package", &package.name]))
}

/// Packs the crates without compiling them: a dry run of publishing them.
pub(crate) fn pack(steps: &mut Steps) -> Result<Vec<Package>, Error> {
    let (staged, packages) = stage(steps)?;
    // Files of former packs could be of packages that no longer exist.
    recreate(&packed(&folder()))?;
    // The programs of `check` compile what was packed. Cargo would build each package alone.
    let arguments = ["package", "--workspace", "--no-verify", "--allow-dirty"];
    steps.command("packing", cargo_in(&staged).args(arguments))?;
    Ok(packages)
}

/// Writes the staged workspace, and returns its folder and its packages.
pub(crate) fn stage(steps: &mut Steps) -> Result<(PathBuf, Vec<Package>), Error> {
    let staged = folder().join("workspace");
    let packages = steps.step("staged workspace", || stage::write(workspace(), &staged))?;
    Ok((staged, packages))
}

/// Returns the folder of all files that this task writes.
fn folder() -> PathBuf {
    workspace().join("target/package")
}

/// Returns the folder of the packed files.
fn packed(folder: &Path) -> PathBuf {
    folder.join("workspace/target/package")
}

/// Returns a cargo command in a workspace outside of this one, with a target folder of its own.
fn cargo_in(folder: &Path) -> Command {
    let mut command = cargo("");
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    command
}

/// Unpacks each packed file into a folder of its own, `NAME-VERSION`.
fn unpack(packed: &Path, unpacked: &Path) -> Result<(), Error> {
    recreate(unpacked)?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|end| end == "crate");
    for file in entries(packed)?.iter().filter(|path| is_package(path)) {
        run(Command::new("tar").arg("-xzf").arg(file).arg("-C").arg(unpacked))?;
    }
    Ok(())
}
