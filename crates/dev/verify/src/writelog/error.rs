//! Errors of the reader.

use super::reader::ARRIVAL_LIMIT;

/// Failure to read the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A node of the log has other data.
    #[error("the node {path} is no entry of the log: {reason}")]
    Entry {
        /// Path of the node.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A session ended, and the registry does not say when.
    #[error("it cannot be found at which revision the session {session} ended")]
    End {
        /// Id of the session.
        session: i64,
    },
    /// The end of a session cannot be looked up.
    #[error("the end of the session {session} cannot be looked up: {reason}")]
    Lookup {
        /// Id of the session.
        session: i64,
        /// Failure of the last attempt.
        reason: String,
    },
    /// A session began and ended in a gap of the feed.
    #[error("the session {session} has written, and the feed has not shown its begin")]
    Begin {
        /// Id of the session.
        session: i64,
    },
    /// The feed has not delivered all entries in time.
    #[error(
        "waited {ARRIVAL_LIMIT:?} for the log; {n_writes} transactions and {n_ends} ends of \
         sessions are missing"
    )]
    Behind {
        /// Number of stored transactions that were not delivered.
        n_writes: usize,
        /// Number of sessions without a node whose end was not delivered.
        n_ends: usize,
    },
    /// The registry cannot be read.
    #[error(transparent)]
    Registry(#[from] reg_center::Error),
    /// The feed has ended.
    #[error("the feed of the log has ended")]
    Ended,
}
