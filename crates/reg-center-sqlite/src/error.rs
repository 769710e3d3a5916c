//! Errors of opening a registry file.

use std::path::PathBuf;

use crate::OptionsError;

/// Reason why a registry file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option is invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The file or its directory cannot be created, read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The registry file.
        path: PathBuf,
        /// The reason.
        cause: String,
    },
    /// Another program has held a lock of the file for longer than
    /// [`lock_timeout`](crate::SqliteOptions::lock_timeout).
    #[error("{}: is locked by another program; lsof or fuser shows which have it open", path.display())]
    Locked {
        /// The registry file.
        path: PathBuf,
    },
    /// The file is on a network file system, on which SQLite's locks do not work.
    #[error(
        "{}: is on a network file system ({kind}); a registry file must be on a disk of this host, \
         because the locks of SQLite do not work across hosts",
        path.display()
    )]
    NetworkFileSystem {
        /// The registry file.
        path: PathBuf,
        /// The kind of the file system, such as `nfs`.
        kind: &'static str,
    },
    /// The file is damaged, or is no SQLite database.
    #[error("{}: damaged or no registry: {cause}", path.display())]
    Damaged {
        /// The registry file.
        path: PathBuf,
        /// The fault that SQLite found.
        cause: String,
    },
    /// The file is a database of another program.
    #[error("{}: is a database of another program (application id {found:#x})", path.display())]
    OtherProgram {
        /// The registry file.
        path: PathBuf,
        /// The application id in the file.
        found: i32,
    },
    /// The file has the format of a later version of this program.
    #[error(
        "{}: has format {found}, this program knows format {known}; use the later version of the \
         program that wrote it",
        path.display()
    )]
    LaterFormat {
        /// The registry file.
        path: PathBuf,
        /// The format in the file.
        found: i32,
        /// The format that this program writes.
        known: i32,
    },
}
