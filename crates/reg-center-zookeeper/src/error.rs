//! Why there is no centre.

use reg_center::Error;

use crate::OptionsError;

/// Why there is no centre.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An option cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The registry could not be reached in time, or does not let us into the namespace.
    #[error(transparent)]
    Registry(#[from] Error),
    /// None of the hosts has an address; trying again does not help.
    #[error("no host of the registry can be resolved: {hosts}")]
    UnknownHosts {
        /// The hosts with the error of each.
        hosts: String,
    },
    /// The registry does not know the user of SASL, or the password is not this user's, or it wants a user and there is none;
    /// trying again does not help.
    #[error("the registry does not accept the user or the password of SASL, or wants them")]
    Credentials,
    /// No server that answers can be spoken to by TLS: one side does not accept the other's certificate, or the port is none
    /// for TLS.
    #[error("no TLS connection to {address}: {cause}")]
    Tls {
        /// One of the servers.
        address: String,
        /// What became of the handshake with it.
        cause: String,
    },
}
