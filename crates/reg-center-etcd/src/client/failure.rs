//! Classification of failed requests: was it executed, and is the connection of any use?

use tonic::{Code, Status};

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server refused the request. It will not be executed later, and was not executed either,
    /// with the exception of [`Refusal::NoSpace`]. The connection can be used.
    Refused(Refusal, String),
    /// The request was not executed, and the connection cannot be used.
    NotSent(String),
    /// The request may have been executed, and the connection cannot be used.
    Unknown(String),
}

/// Kind of a definite refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The user does not have the permission.
    Permission,
    /// The token of the connection is not valid any more, or authentication has changed.
    Token,
    /// The server wants a user, or rejects this one or its password.
    Credentials,
    /// The lease is over.
    LeaseNotFound,
    /// The transaction has more operations than the server takes.
    TooManyOperations,
    /// The revision was compacted away.
    Compacted,
    /// The server has no space. It executes the first write that exceeds its quota, and answers as
    /// if it had not.
    NoSpace,
    /// The server has too many requests: the same request may succeed later.
    Overloaded,
    /// Any other reason.
    Other,
}

/// Parts of the messages of servers 3.4 to 3.7, by kind. Several kinds share a status code.
const REFUSALS: [(&str, Refusal); 14] = [
    ("permission denied", Refusal::Permission),
    ("invalid auth token", Refusal::Token),
    ("revision of auth store is old", Refusal::Token),
    ("authentication failed", Refusal::Credentials),
    ("authentication is not enabled", Refusal::Credentials),
    ("user name is empty", Refusal::Credentials),
    ("user name not found", Refusal::Credentials),
    ("invalid auth management", Refusal::Credentials),
    ("requested lease not found", Refusal::LeaseNotFound),
    ("too many operations in txn request", Refusal::TooManyOperations),
    ("required revision has been compacted", Refusal::Compacted),
    ("database space exceeded", Refusal::NoSpace),
    ("too many requests", Refusal::Overloaded),
    ("request is too large", Refusal::Other),
];

impl Failure {
    /// Classifies the status of a request that was handed to the connection.
    ///
    /// Only an answer of the server itself is definite, and only with a status that it gives before
    /// or instead of the execution. Everything else may have been executed: a time limit, the loss
    /// of the leader or of the connection, and an answer that cannot be decoded.
    pub(crate) fn of(status: &Status) -> Self {
        let text = describe(status);
        let Some(message) = status.message().strip_prefix("etcdserver: ") else {
            return Self::Unknown(text);
        };
        match status.code() {
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::OutOfRange => Self::Refused(refusal(message), message.to_owned()),
            // The server checks for a leader before it executes anything.
            Code::Unavailable if message == "no leader" => Self::NotSent(text),
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss => Self::Unknown(text),
        }
    }

    /// Returns the reason.
    pub(crate) fn cause(&self) -> &str {
        match self {
            Self::Refused(_, cause) | Self::NotSent(cause) | Self::Unknown(cause) => cause,
        }
    }
}

fn refusal(message: &str) -> Refusal {
    let row = REFUSALS.iter().find(|(part, _)| message.contains(part));
    row.map_or(Refusal::Other, |(_, refusal)| *refusal)
}

/// Returns the message of a status with its causes, which name the network's error.
fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = if text.is_empty() { more } else { format!("{text}: {more}") };
        }
        cause = error.source();
    }
    if text.is_empty() { status.code().description().to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_of_the_server_itself_is_definite() {
        let refused = |kind, text: &str| Failure::Refused(kind, text.to_owned());
        let unknown = |text: &str| Failure::Unknown(text.to_owned());
        let rows = [
            (
                Code::InvalidArgument,
                "etcdserver: too many operations in txn request",
                refused(Refusal::TooManyOperations, "too many operations in txn request"),
            ),
            (
                Code::InvalidArgument,
                "etcdserver: duplicate key given in txn request",
                refused(Refusal::Other, "duplicate key given in txn request"),
            ),
            (
                Code::NotFound,
                "etcdserver: requested lease not found",
                refused(Refusal::LeaseNotFound, "requested lease not found"),
            ),
            (
                Code::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
                refused(Refusal::NoSpace, "mvcc: database space exceeded"),
            ),
            (
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
                refused(Refusal::Token, "invalid auth token"),
            ),
            (
                Code::Unavailable,
                "etcdserver: no leader",
                Failure::NotSent("etcdserver: no leader".to_owned()),
            ),
            (
                Code::Unavailable,
                "etcdserver: request timed out",
                unknown("etcdserver: request timed out"),
            ),
            (
                Code::Unavailable,
                "etcdserver: request timed out, possibly due to previous leader failure",
                unknown("etcdserver: request timed out, possibly due to previous leader failure"),
            ),
            (
                Code::Unavailable,
                "etcdserver: leader changed",
                unknown("etcdserver: leader changed"),
            ),
            // Messages of the transport, not of the server.
            (Code::ResourceExhausted, "message too large", unknown("message too large")),
            (Code::OutOfRange, "decoded message too large", unknown("decoded message too large")),
            (Code::Unknown, "transport error", unknown("transport error")),
            (Code::Cancelled, "", unknown("The operation was cancelled")),
        ];
        for (code, message, expected) in rows {
            assert_eq!(Failure::of(&Status::new(code, message)), expected, "{message}");
        }
    }
}
