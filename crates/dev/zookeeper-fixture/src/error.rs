//! Errors of servers, ensembles and proxies.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Error of a server, an ensemble or a proxy that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A four-letter command got no answer.
    #[error("the server at {address} did not answer `{word}`")]
    NoAnswer {
        /// Address of the server.
        address: SocketAddr,
        /// The four-letter command.
        word: String,
        /// The operating system's error, such as a timeout for a paused server.
        source: io::Error,
    },
    /// A four-letter command got an answer without the expected line.
    #[error("the server at {address} answered `{word}` without `{expected}`: {answer:?}")]
    UnexpectedAnswer {
        /// Address of the server.
        address: SocketAddr,
        /// The four-letter command.
        word: String,
        /// The name of the missing line.
        expected: &'static str,
        /// The whole answer.
        answer: String,
    },
    /// An ensemble cannot have this size.
    #[error("an ensemble of {n_servers} servers is not possible: valid are 2 to 9")]
    EnsembleSize {
        /// The requested number of servers.
        n_servers: usize,
    },
    /// The ensemble has no leader within the time allowed.
    #[error("no leader after {after:?}; modes by server: {modes:?}")]
    NoLeader {
        /// Duration of the wait.
        after: Duration,
        /// The last reported mode of each server; `None` for a server that did not serve.
        modes: Vec<Option<String>>,
    },
    /// An installation, an address, a folder, a process or a proxy is not in the requested state.
    #[error(transparent)]
    Shared(#[from] server_fixture::Error),
}
