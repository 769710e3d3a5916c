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
    /// The answer does not show whether the service got the alert: it is that of a gateway, or is
    /// not one of the service.
    #[error("{channel}: {host} answered {answer}, and it is unknown whether the alert arrived")]
    Unclear {
        /// Type of the channel.
        channel: &'static str,
        /// Scheme, host and port.
        host: String,
        /// Status, and the part of the answer that can be shown.
        answer: String,
    },
}

impl AlertError {
    /// Returns true if the alert may have arrived although this error was returned: the connection
    /// was made, and no answer came, or none that shows it. Sending the alert again could repeat
    /// it.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Setting { .. } | Self::Rejected { .. } => false,
            Self::Unclear { .. } => true,
            Self::Unreachable { source, .. } => {
                let http = source.downcast_ref::<reqwest::Error>();
                !(http.is_some_and(reqwest::Error::is_connect) || source.is::<NotConnected>())
            }
        }
    }
}

/// Error of a mail server to which no connection could be made.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotConnected(pub(crate) String);
