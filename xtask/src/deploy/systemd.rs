//! The systemd units of `docs/deploy/systemd`, with the tools of systemd.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use server_fixture::install_tools;

use crate::folders::entries;
use crate::steps::{Steps, output};
use crate::{Error, workspace};

/// Path of the program in the units.
const PROGRAM: &str = "/usr/local/bin/ejob";
/// A program that exists on every machine; the check is not about the program.
const STAND_IN: &str = "/bin/true";
/// Highest exposure of a unit by `systemd-analyze security`, in tenths.
const MAX_EXPOSURE: &str = "20";

/// Installs systemd's tools if they are missing, and checks the units.
pub(super) fn run(steps: &mut Steps) -> Result<(), Error> {
    steps.step("systemd", || match Path::new("/usr/bin/systemd-analyze").is_file() {
        true => Ok(()),
        false => Ok(install_tools(&["systemd"])?),
    })?;
    steps.step("systemd units", || {
        let folder = workspace().join("docs/deploy/systemd");
        units(&folder)?.iter().try_for_each(|unit| check_unit(unit))
    })?;
    // A check that accepts everything would pass, too.
    steps.step("refused systemd units", || WRONG_UNITS.iter().try_for_each(check_wrong_unit))
}

/// Units that are refused, each with a part of the reason.
const WRONG_UNITS: [(&str, &str); 2] = [
    ("[Service]\nExecStart=/usr/local/bin/ejob worker a\nWatchdogSecs=3\n", "WatchdogSecs"),
    ("[Service]\nExecStart=/usr/local/bin/ejob worker a\n", "UNSAFE"),
];

fn check_wrong_unit((text, expected): &(&str, &str)) -> Result<(), Error> {
    let folder =
        tempfile::tempdir().map_err(Error::file("create a folder in", &env::temp_dir()))?;
    let unit = folder.path().join("wrong.service");
    fs::write(&unit, text).map_err(Error::file("write", &unit))?;
    match check_unit(&unit) {
        Err(Error::Unit { reason, .. }) if reason.contains(expected) => Ok(()),
        Err(other) => Err(other),
        Ok(()) => {
            let reason = format!("it is accepted, but {expected} is wrong in it:\n{text}");
            Err(Error::Unit { unit, reason })
        }
    }
}

fn units(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let units = entries(folder)?;
    if units.is_empty() {
        let reason = "the folder has no unit".to_owned();
        return Err(Error::Unit { unit: folder.to_owned(), reason });
    }
    Ok(units)
}

/// Checks that systemd accepts each line of a unit, and that the unit has few rights.
fn check_unit(unit: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(unit).map_err(Error::file("read", unit))?;
    let folder = tempfile::tempdir().map_err(Error::file("create a folder for", unit))?;
    let copy = folder.path().join(unit.file_name().unwrap_or_default());
    let text = text.replace(PROGRAM, STAND_IN);
    fs::write(&copy, text).map_err(Error::file("write", &copy))?;
    let (accepted, warnings) = analyze(&["verify", "--man=no"], &copy)?;
    // A line that systemd ignores is only a warning, with exit code 0.
    let name = copy.display().to_string();
    if !accepted || warnings.lines().any(|line| line.contains(&name)) {
        return Err(Error::Unit { unit: unit.to_owned(), reason: warnings });
    }
    let protection = ["security", "--offline=yes", "--no-pager", "--threshold", MAX_EXPOSURE];
    match analyze(&protection, &copy)? {
        (true, _) => Ok(()),
        (false, reason) => Err(Error::Unit { unit: unit.to_owned(), reason }),
    }
}

/// Runs `systemd-analyze` on a unit. Returns whether it succeeded, and everything that it printed.
fn analyze(arguments: &[&str], unit: &Path) -> Result<(bool, String), Error> {
    let mut command = Command::new("systemd-analyze");
    let output = output(command.args(arguments).arg(unit))?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}
