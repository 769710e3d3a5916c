//! Errors of opening a center.

use reg_center::Error;

use crate::OptionsError;

/// Reason why a center cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An option cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The registry could not be reached in time, or does not permit access to the namespace.
    #[error(transparent)]
    Registry(#[from] Error),
    /// No host has an address; a retry cannot succeed.
    #[error("no host of the registry can be resolved: {hosts}")]
    UnknownHosts {
        /// The hosts with the error of each.
        hosts: String,
    },
    /// The registry rejects the SASL user or password, or requires them and none were given. A
    /// retry cannot succeed.
    #[error("the registry rejects the SASL user or password, or requires them")]
    Credentials,
    /// TLS fails with every server that answers: one side rejects the other's certificate, or the
    /// port does not support TLS.
    #[error("no TLS connection to {address}: {cause}")]
    Tls {
        /// The address of one of the servers.
        address: String,
        /// The result of the handshake with that server.
        cause: String,
    },
}
