//! What can go wrong when a history is opened or asked.

/// What went wrong. No variant holds a password: the store is named without it, and reasons are masked.
///
/// | class | variants | what to do |
/// |---|---|---|
/// | the caller's mistake | `InvalidOption` | mend the option that is named |
/// | the store's state | `Unusable`, `Newer` | mend the store or its rights, or run a newer program |
/// | may pass by itself | `Away`, `Unwritten` | [`is_retryable`](Self::is_retryable): try again |
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has a value that cannot be used.
    #[error("{option}: {value} is not valid, it must be {expected}")]
    InvalidOption {
        /// Which option.
        option: &'static str,
        /// Its value, in a form that shows no password.
        value: String,
        /// What would be valid.
        expected: &'static str,
    },
    /// The store could not be reached in time, or is locked.
    #[error("the history store {store} cannot be reached: {reason}")]
    Away {
        /// Which store.
        store: String,
        /// What it or the operating system said last.
        reason: String,
    },
    /// The store refuses, and waiting does not help: credentials, rights, a file that is no database.
    #[error("the history store {store} cannot be used: {reason}")]
    Unusable {
        /// Which store.
        store: String,
        /// What it said.
        reason: String,
    },
    /// The tables were made by a newer program, which may mean other things by them.
    #[error("the history store {store} has tables of version {found}, this program knows {known}")]
    Newer {
        /// Which store.
        store: String,
        /// The version of its tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The deadline came before everything was written.
    #[error("{records} records are not written to the history store {store}: {reason}")]
    Unwritten {
        /// Which store.
        store: String,
        /// How many.
        records: u64,
        /// What kept them from being written.
        reason: String,
    },
}

impl Error {
    /// Returns true if the same call may succeed later with nothing changed here.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Unwritten { .. })
    }
}

/// What calls of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
