//! The file of a store: its creation, its permissions, and the errors of the operating system.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind};
use std::path::Path;

use super::{Fault, FaultClass};

/// Creates a missing file with permissions for its owner alone: rows hold the output of failed
/// runs. SQLite gives the write-ahead log and its index the same permissions.
pub(super) fn create(path: &Path) -> Result<(), Fault> {
    let mut options = OpenOptions::new();
    // A file that exists is not opened: closing it would release the locks of SQLite in this
    // process.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(fault("the file cannot be created", &error)),
    }
}

/// Adds the error of the operating system to SQLite's "unable to open database file".
pub(super) fn explain(path: &Path, fault: Fault) -> Fault {
    if !fault.text.contains("unable to open") {
        return fault;
    }
    match access_error(path) {
        Some(error) => Fault { text: format!("{}: {error}", fault.text), ..fault },
        None => fault,
    }
}

/// Returns the reason why an existing file cannot be read and written, without opening it.
fn access_error(path: &Path) -> Option<Error> {
    if path.is_dir() {
        return Some(Error::from(ErrorKind::IsADirectory));
    }
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(path, Access::READ_OK | Access::WRITE_OK).err().map(Error::from)
    }
    #[cfg(not(unix))]
    std::fs::metadata(path).err()
}

fn fault(message: &str, error: &Error) -> Fault {
    use ErrorKind::{NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem};
    let is_denied =
        matches!(error.kind(), NotADirectory | NotFound | PermissionDenied | ReadOnlyFilesystem);
    let class = if is_denied { FaultClass::Denied } else { FaultClass::Unreachable };
    Fault { class, text: format!("{message}: {error}") }
}
