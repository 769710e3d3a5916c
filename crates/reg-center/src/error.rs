//! Errors of calls to a registry.

use crate::{NodePath, PathError, SessionId};

/// Reason why a call has no regular answer.
///
/// Three questions decide the reaction of a caller. If [`is_unknown`](Self::is_unknown), the write
/// may have happened: read before deciding anything. If [`is_session_lost`](Self::is_session_lost),
/// everything that belonged to the session is gone: register again. In all other cases nothing was
/// changed. If [`is_retryable`](Self::is_retryable), the same call can succeed later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection, and the request was not executed.
    #[error("{call}: no connection to the registry")]
    Unavailable {
        /// The attempted call, such as `commit`.
        call: &'static str,
    },
    /// The request was sent and no answer came: it may have been executed.
    #[error("{call}: outcome unknown, {cause}")]
    Unknown {
        /// The attempted call, such as `commit`.
        call: &'static str,
        /// The fault that the connection reported.
        cause: String,
    },
    /// The session that the call was bound to is over; the request was not executed.
    #[error("session {session} is lost")]
    SessionLost {
        /// The lost session.
        session: SessionId,
    },
    /// The transaction exceeds the registry's limit and was not sent.
    #[error("transaction has {size} {unit}, the registry takes at most {limit}")]
    TooLarge {
        /// The unit of the numbers: `operations` or `bytes`.
        unit: &'static str,
        /// The size of the transaction.
        size: usize,
        /// The maximum that the registry takes.
        limit: usize,
    },
    /// The credentials do not permit the call.
    #[error("not authorized for {path}")]
    NotAuthorized {
        /// The node that the call needs.
        path: NodePath,
    },
    /// The text is not a node path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The center was closed by this process.
    #[error("the registry center is closed")]
    Closed,
    /// The registry rejected the request, for a reason that the contract does not name; it was not
    /// executed.
    #[error("{call}: the registry rejected the request: {cause}")]
    Rejected {
        /// The attempted call, such as `commit`.
        call: &'static str,
        /// The reason that the registry gave.
        cause: String,
    },
}

impl Error {
    /// Returns true if the write may have happened.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    /// Returns true if the session is over.
    #[must_use]
    pub fn is_session_lost(&self) -> bool {
        matches!(self, Self::SessionLost { .. })
    }

    /// Returns true if the same call may succeed later in the same session.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Unknown { .. })
    }
}

/// The result of a call to a registry.
pub type Result<T, E = Error> = std::result::Result<T, E>;
