//! Errors of opening and querying a history.

/// Error of a history. No variant holds a password: the store is named without it, and reasons are
/// masked.
///
/// | class | variants | action |
/// |---|---|---|
/// | wrong option | `InvalidOption` | correct the named option |
/// | state of the store | `Unusable`, `Newer` | repair the store, or update the program |
/// | temporary | `Unreachable`, `Unwritten` | retry: see [`is_retryable`](Self::is_retryable) |
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has an invalid value.
    #[error("{option}: {value} is not valid, it must be {expected}")]
    InvalidOption {
        /// Name of the option.
        option: &'static str,
        /// Value, in a form that shows no password.
        value: String,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// The store could not be reached in time, or is locked.
    #[error("the history store {store} cannot be reached: {reason}")]
    Unreachable {
        /// Location of the store.
        store: String,
        /// Last error of the store or of the operating system.
        reason: String,
    },
    /// The store rejects the access permanently: wrong credentials, missing rights, a file that is
    /// no database.
    #[error("the history store {store} cannot be used: {reason}")]
    Unusable {
        /// Location of the store.
        store: String,
        /// Error of the store.
        reason: String,
    },
    /// A newer program has created the tables, and their meaning may have changed.
    #[error("the history store {store} has tables of version {found}, this program knows {known}")]
    Newer {
        /// Location of the store.
        store: String,
        /// Version of its tables.
        found: i64,
        /// Newest version that this program knows.
        known: i64,
    },
    /// The deadline passed before all records were written.
    #[error("{records} records are not written to the history store {store}: {reason}")]
    Unwritten {
        /// Location of the store.
        store: String,
        /// Number of unwritten records.
        records: u64,
        /// Reason why they were not written.
        reason: String,
    },
}

impl Error {
    /// Returns true if a retry of the same call may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Unwritten { .. })
    }
}

/// Result of the calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
