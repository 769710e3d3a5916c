//! The registry's own log: what ZooKeeper's servers have committed, in order.
//!
//! Watches coalesce, so that they are no history; the transaction logs of the servers are. In reading order: `jute`
//! (how numbers and texts are written) · `entry` (one transaction) · `folder` (the files of one server, also while it
//! writes them) · `union` (several servers) · `facts` (as records of a history).

mod entry;
mod facts;
mod folder;
mod jute;
mod union;

pub use entry::{Change, Entry, Write};
pub use facts::{Narrator, Owners};
pub use folder::LogFolder;
pub use union::Union;

/// Why a transaction log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The operating system refused.
    #[error("cannot read {path}")]
    File {
        /// Which file or folder.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file does not begin as a transaction log does.
    #[error("{path} begins with {found:?}; a transaction log begins with ZKLG and version 2")]
    Header {
        /// Which file.
        path: String,
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// An entry does not have the form of its kind.
    #[error("{path}, byte {at}: {reason}")]
    Entry {
        /// Which file.
        path: String,
        /// Where the entry begins.
        at: u64,
        /// What is wrong.
        reason: String,
    },
}
