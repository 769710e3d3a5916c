//! Errors of sending an alert.

use std::error::Error;

use outbound::SecretError;

/// Reason why an alert was not sent. It holds no URL path, no password and no text of a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlertError {
    /// A secret is missing, or it has become invalid since the handler was made.
    #[error("{channel}: {what}")]
    Setting {
        /// Type of the channel.
        channel: &'static str,
        /// The setting and the reason why it cannot be used.
        what: String,
        /// The reference that cannot be resolved, if that is the reason.
        #[source]
        source: Option<SecretError>,
    },
    /// The server did not answer, or not in time.
    #[error("{channel}: {host} was not reached")]
    Unreachable {
        /// Type of the channel.
        channel: &'static str,
        /// Scheme, host and port.
        host: String,
        /// Error of the connection.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server rejected the alert.
    #[error("{channel}: {host} answered {answer}")]
    Rejected {
        /// Type of the channel.
        channel: &'static str,
        /// Scheme, host and port.
        host: String,
        /// Status, and the part of the answer that can be shown.
        answer: String,
    },
}
