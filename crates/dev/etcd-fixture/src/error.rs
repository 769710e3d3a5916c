//! Errors of servers and clusters.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Error of a server or a cluster that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An installation, an address, a folder, a process or a proxy is not in the requested state.
    #[error(transparent)]
    Shared(#[from] server_fixture::Error),
    /// The server did not answer an administrative request.
    #[error("the server at {address} did not answer {request}")]
    NoAnswer {
        /// Address of the server.
        address: SocketAddr,
        /// Method and path of the request.
        request: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The server rejected an administrative request.
    #[error("the server at {address} answered {request} with {status:?}: {body}")]
    Rejected {
        /// Address of the server.
        address: SocketAddr,
        /// Method and path of the request.
        request: String,
        /// The status line of the answer.
        status: String,
        /// The text of the answer.
        body: String,
    },
    /// A cluster cannot have this size.
    #[error("a cluster of {n_servers} servers is not possible: valid are 2 to 9")]
    ClusterSize {
        /// The requested number of servers.
        n_servers: usize,
    },
    /// The cluster has no leader within the time allowed.
    #[error("no leader after {after:?}; leaders by server: {leaders:?}")]
    NoLeader {
        /// Duration of the wait.
        after: Duration,
        /// Whether each server claims to be the leader; `None` for a server that did not answer.
        leaders: Vec<Option<bool>>,
    },
}
