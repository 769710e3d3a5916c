//! Data of the log's nodes.

use reg_center::{Expect, Lifetime, Op, Version};
use serde::{Deserialize, Serialize};

/// A session: the data of its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoggedSession {
    /// Monotonic time before the node was sent.
    pub(super) sent_ns: u64,
    /// Name of the process in the history.
    pub(super) process: String,
}

/// A committed transaction: the data of its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LoggedTxn {
    /// Monotonic time before the transaction was sent.
    pub(super) sent_ns: u64,
    pub(super) session: i64,
    pub(super) ops: Vec<LoggedOp>,
}

/// An operation that a history shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LoggedOp {
    Create { path: String, data: String, ephemeral: bool },
    Set { path: String, data: String },
    Delete { path: String },
    Check { path: String, version: Option<i32> },
}

impl LoggedOp {
    /// Returns the logged form; `None` for a check that a node is absent, which no history shows.
    ///
    /// Data that is no text loses its invalid bytes, as in the histories of all registries.
    pub(super) fn of(op: &Op) -> Option<Self> {
        let path = op.path().as_str().to_owned();
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        Some(match op {
            Op::Create { data, lifetime, .. } => {
                Self::Create { path, data: text(data), ephemeral: *lifetime == Lifetime::Ephemeral }
            }
            Op::Put { data, .. } => Self::Set { path, data: text(data) },
            Op::Delete { .. } => Self::Delete { path },
            Op::Check { expect: Expect::Version(version), .. } => {
                Self::Check { path, version: Some(in_history(*version)) }
            }
            Op::Check { expect: Expect::Exists, .. } => Self::Check { path, version: None },
            Op::CheckAbsent { .. } => return None,
        })
    }

    /// Returns true if the operation changes a node.
    pub(super) fn writes(&self) -> bool {
        !matches!(self, Self::Check { .. })
    }
}

/// Returns a version as histories have it. No node of a run is written so often that it would not
/// fit.
pub(super) fn in_history(version: Version) -> i32 {
    i32::try_from(version.0).unwrap_or(i32::MAX)
}
