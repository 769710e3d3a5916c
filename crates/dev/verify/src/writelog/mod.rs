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
//! The order of the log is that of the revisions at which its nodes were created and deleted. It
//! is the order of all writes also in a registry that orders the writes of one tree only, because
//! each transaction and each end of a session writes to the tree of the log.
//!
//! In reading order: `entry` (the logged data) · `center` (writes the log) · `tree` (the nodes by
//! the log) · `seen` (the delivered part) · `gaps` (what the feed has not shown) · `error`,
//! `reader` (reads the log).

mod center;
mod entry;
mod error;
mod gaps;
mod reader;
mod seen;
mod tree;

pub use center::LoggedCenter;
pub use error::ReadError;
pub use gaps::{Deletions, LookupError};
pub use reader::LogReader;

/// Node above all nodes of the log. It is no job, and it is the only tree of the log.
const ROOT: &str = "/verify-log";
/// Node above the transactions.
const WRITES: &str = "/verify-log/writes";
/// Node above the live sessions.
const SESSIONS: &str = "/verify-log/sessions";
