//! The log of a registry that has none to read: its clients write one into the registry itself.
//!
//! Each transaction also creates a node with its operations. The registry therefore logs exactly
//! the transactions that it commits, in its own order, whatever becomes of client and reply. Each
//! session begins with an ephemeral node, whose deletion is the end of the session.
//!
//! The content of the nodes comes from the clients. A registry that stored something else would go
//! unnoticed, so the tree that the log describes is compared with the stored one at the end of a
//! run.
//!
//! In reading order: `entry` (the logged data) · `center` (writes the log) · `tree` (the nodes by
//! the log) · `reader` (reads the log).

mod center;
mod entry;
mod reader;
mod tree;

pub use center::LoggedCenter;
pub use reader::{LogReader, ReadError};

/// Node above all nodes of the log. It is no job.
const ROOT: &str = "/verify-log";
/// Node above the transactions.
const WRITES: &str = "/verify-log/writes";
/// Node above the live sessions.
const SESSIONS: &str = "/verify-log/sessions";
