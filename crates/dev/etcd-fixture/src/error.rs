//! Errors of servers and clusters.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Error of a server or a cluster that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No etcd was found in any of the searched places, and none could be installed.
    #[error(
        "no etcd server found\n{searched}  install one with `apt-get install etcd-server`, or let \
         ETCD_BINARY name the program of another version"
    )]
    NotInstalled {
        /// The searched places and the failed attempts to install, one a line.
        searched: String,
    },
    /// A building block that all fixtures share has failed.
    #[error(transparent)]
    Host(#[from] server_fixture::Error),
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
    /// The server's process could not be started.
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
    /// The server did not serve within the time allowed.
    #[error(
        "the server at {address} does not serve after {after:?}; the end of its log:\n{log_tail}"
    )]
    NotReady {
        /// Address at which the server should have listened.
        address: SocketAddr,
        /// Duration of the wait.
        after: Duration,
        /// The last lines of the server's log.
        log_tail: String,
    },
    /// The server did not end within the time allowed after SIGTERM; it has been killed.
    #[error("the server at {address} was killed: it did not end within {after:?} of SIGTERM")]
    NotStopped {
        /// Address of the server.
        address: SocketAddr,
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

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
