//! Why an alert was not sent.

use std::error::Error;

use outbound::SecretError;

/// Why an alert was not sent. No URL, no password and no text of a secret is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlertError {
    /// A secret is not there, or is no longer what it must be.
    #[error("{channel}: {what}")]
    Setting {
        /// By which channel.
        channel: &'static str,
        /// Which setting, and what is wrong with it.
        what: String,
        /// The reference that leads nowhere, if that is it.
        #[source]
        source: Option<SecretError>,
    },
    /// There was no answer, or none in time.
    #[error("{channel}: {host} was not reached")]
    Unreachable {
        /// By which channel.
        channel: &'static str,
        /// Scheme, host and port.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server does not take it.
    #[error("{channel}: {host} answered {answer}")]
    Refused {
        /// By which channel.
        channel: &'static str,
        /// Scheme, host and port.
        host: String,
        /// The status, and what of the answer can be shown.
        answer: String,
    },
}
