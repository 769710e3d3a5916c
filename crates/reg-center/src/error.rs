//! What can go wrong between a caller and a registry.

use crate::{NodePath, PathError, SessionId};

/// Why a call has no regular answer.
///
/// What to do is told by two questions. [`is_unknown`](Self::is_unknown): did the write perhaps happen? Then read
/// before deciding anything. [`is_session_lost`](Self::is_session_lost): is everything that belonged to the session
/// gone? Then register anew. In all other cases nothing was changed; [`is_retryable`](Self::is_retryable) tells
/// whether the same call can succeed later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection, and the request was certainly not executed.
    #[error("{act}: no connection to the registry")]
    Unavailable {
        /// What was attempted.
        act: &'static str,
    },
    /// The request was sent and no answer came: it may have been executed.
    #[error("{act}: outcome unknown, {cause}")]
    Unknown {
        /// What was attempted.
        act: &'static str,
        /// What the connection reported.
        cause: String,
    },
    /// The session that the call was bound to is over; the request was not executed.
    #[error("session {session} is lost")]
    SessionLost {
        /// The session that is over.
        session: SessionId,
    },
    /// The transaction is over the registry's limit and was not sent.
    #[error("transaction has {size} {unit}, the registry takes {limit}")]
    TooLarge {
        /// What is counted: `operations` or `bytes`.
        unit: &'static str,
        /// How many the transaction has.
        size: usize,
        /// How many the registry takes.
        limit: usize,
    },
    /// The credentials do not allow it.
    #[error("not authorized for {path}")]
    NotAuthorized {
        /// The node in question.
        path: NodePath,
    },
    /// The text is no path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The centre was closed by its owner.
    #[error("the registry centre is closed")]
    Closed,
    /// The registry refused the request, for a reason that the contract does not name; it was not executed.
    #[error("{act}: the registry refused, {cause}")]
    Refused {
        /// What was attempted.
        act: &'static str,
        /// What the registry said.
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
