//! The user that runs servers, and the files that this user reads.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

use crate::{Error, dying_with_parent};

/// User and group of servers if this process is root. Debian gives them no rights.
const UNPRIVILEGED: u32 = 65_534;

/// Returns a command that runs a program without privileges. The kernel kills it with this process,
/// if `setpriv` of util-linux is there.
///
/// If this process is root, the program runs as the user and the group 65534, else as the user of
/// this process.
///
/// # Errors
/// [`Error::NoSetpriv`] if this process is root and `setpriv` is missing.
pub fn unprivileged(program: &Path) -> Result<Command, Error> {
    let mut command = match (dying_with_parent(), is_root()) {
        (None, true) => return Err(Error::NoSetpriv),
        (None, false) => return Ok(Command::new(program)),
        (Some(command), false) => command,
        (Some(inner), true) => {
            // The kernel forgets the signal when the user changes, so a second `setpriv` sets it.
            let mut outer = Command::new("setpriv");
            outer.arg(format!("--reuid={UNPRIVILEGED}")).arg(format!("--regid={UNPRIVILEGED}"));
            outer.arg("--clear-groups").arg(inner.get_program()).args(inner.get_args());
            outer
        }
    };
    command.arg(program);
    Ok(command)
}

/// Makes the user of [`unprivileged`] programs the owner of a file or folder.
///
/// # Errors
/// [`Error::File`].
pub fn hand_over(path: &Path) -> Result<(), Error> {
    if !is_root() {
        return Ok(());
    }
    chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED))
        .map_err(Error::file("change the owner of", path))
}

/// Writes a file that only the user of [`unprivileged`] programs can read, such as a key.
///
/// # Errors
/// [`Error::File`].
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    // Protected before it has its text.
    fs::write(path, "").map_err(Error::file("create", path))?;
    let private = Permissions::from_mode(0o600);
    fs::set_permissions(path, private).map_err(Error::file("protect", path))?;
    fs::write(path, text).map_err(Error::file("write", path))?;
    hand_over(path)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn own_user() -> u32 {
        match is_root() {
            true => UNPRIVILEGED,
            false => rustix::process::geteuid().as_raw(),
        }
    }

    #[test]
    fn program_runs_as_the_user_of_servers() {
        let output = unprivileged(Path::new("id")).unwrap().arg("-u").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), own_user().to_string());
    }

    #[test]
    fn private_file_belongs_to_the_user_of_servers_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private(&path, "s3cret").unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.mode() & 0o777), (own_user(), 0o600));
        assert_eq!(fs::read_to_string(&path).unwrap(), "s3cret");
    }
}
