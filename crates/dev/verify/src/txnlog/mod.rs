//! The registry's log: the committed transactions of the ZooKeeper servers, in order.
//!
//! Watches coalesce changes, so that only the servers' transaction logs are a history. In reading
//! order: `jute` (the encoding) · `entry` (one transaction) · `folder` (the files of one server,
//! also while it writes them) · `union` (several servers) · `facts` (conversion to records of a
//! history).

mod entry;
mod facts;
mod folder;
mod jute;
mod union;

pub use entry::{Change, Entry, Write};
pub use facts::{Owners, RecordConverter};
pub use folder::LogFolder;
pub use union::Union;

/// Failure to read a transaction log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A call to the operating system failed.
    #[error("cannot read {path}")]
    File {
        /// Path of the file or folder.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file does not begin with the header of a transaction log.
    #[error("{path} begins with {found:?}; a transaction log begins with ZKLG and version 2")]
    Header {
        /// Path of the file.
        path: String,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// An entry is invalid.
    #[error("{path}, byte {at}: {reason}")]
    Entry {
        /// Path of the file.
        path: String,
        /// Position of the entry in bytes.
        at: u64,
        /// The reason.
        reason: String,
    },
}
