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
    /// The registry could not be reached in time.
    #[error("no connection to etcd within the connect timeout: {cause}")]
    Unreachable {
        /// The address and the error of the last attempt.
        cause: String,
    },
    /// The servers answer, but they are not those that the center has used, or have lost writes,
    /// such as after a restored backup.
    #[error("the etcd is another one, or an older state of it: {cause}")]
    Replaced {
        /// The difference.
        cause: String,
    },
    /// The registry rejects the user or the password, demands a user, or has no users. A retry
    /// cannot succeed.
    #[error("etcd rejects the user or the password, or demands one: {cause}")]
    Credentials {
        /// The reason that the server gave.
        cause: String,
    },
    /// TLS fails with every server that answers: one side rejects the other's certificate, or the
    /// port does not use TLS.
    #[error("no TLS connection to {cause}")]
    Tls {
        /// The address of one of the servers, and the result of the handshake with it.
        cause: String,
    },
    /// The servers take too few operations in one transaction.
    #[error(
        "etcd takes {limit} operations in a transaction, at least {needed} are needed; start the \
         servers with a greater --max-txn-ops"
    )]
    MaxTxnOps {
        /// The limit of the server.
        limit: usize,
        /// The least possible limit.
        needed: usize,
    },
    /// The registry refuses access to the namespace, or another call.
    #[error(transparent)]
    Registry(#[from] Error),
}
