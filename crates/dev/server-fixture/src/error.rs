//! Errors of addresses, folders, processes and proxies.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Error of an address, a folder, a process or a proxy that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An action on a file or a folder failed.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// No loopback address could be reserved.
    #[error("no free address in 127.0.0.0/8 after {tried} attempts")]
    NoAddress {
        /// Number of addresses that were tried.
        tried: usize,
        /// The operating system's error for the last address.
        source: io::Error,
    },
    /// A process could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// The program and its arguments.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The server's process ended by itself.
    #[error("the server at {address} ended with {status}; the end of its log:\n{log_tail}")]
    Exited {
        /// Address of the server.
        address: SocketAddr,
        /// Exit status of its process.
        status: ExitStatus,
        /// The last lines of the server's log.
        log_tail: String,
    },
    /// The server did not reach a state within the time allowed.
    #[error(
        "the server at {address} is not {awaited} after {after:?}; the end of its log:\n{log_tail}"
    )]
    NotReady {
        /// Address of the server.
        address: SocketAddr,
        /// The awaited state.
        awaited: &'static str,
        /// Duration of the wait.
        after: Duration,
        /// The last lines of the server's log.
        log_tail: String,
    },
    /// The server did not end within the time allowed after a signal; it has been killed.
    #[error("the server at {address} was killed: it did not end within {after:?} of {by}")]
    NotStopped {
        /// Address of the server.
        address: SocketAddr,
        /// The signal.
        by: &'static str,
        /// Duration of the wait.
        after: Duration,
    },
    /// The action needs a running server, and this one was stopped or killed.
    #[error("the server at {address} is not running; start it again with `restart`")]
    NotRunning {
        /// Address at which the server listened while it ran.
        address: SocketAddr,
    },
    /// A signal could not be sent to the server's process.
    #[error("cannot {action} the server at {address}")]
    Signal {
        /// Purpose of the signal, as a verb.
        action: &'static str,
        /// Address of the server.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The proxy could not listen on its address.
    #[error("the proxy cannot listen on {address}")]
    Listen {
        /// The proxy's address.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The proxy did not reach the awaited state within the time allowed.
    #[error("the proxy did not reach {awaited} within {after:?}; its counters: {found}")]
    ProxyDeadline {
        /// The awaited state.
        awaited: String,
        /// Duration of the wait.
        after: Duration,
        /// The proxy's counters at the end of the wait.
        found: String,
    },
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
