//! Errors of servers.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Error of a server that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No PostgreSQL server was found in any of the searched places.
    #[error(
        "no PostgreSQL server found\n{}install one with `cargo xtask postgres`, or with \
         `apt-get install postgresql`", searched_places(.searched)
    )]
    NotInstalled {
        /// The searched places and the missing files, in the order of the search.
        searched: Vec<String>,
    },
    /// This process is root, and `setpriv` is missing to start a server as another user.
    #[error("PostgreSQL does not run as root, and `setpriv` of util-linux is missing")]
    NoSetpriv,
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
    /// A program could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// The program and its arguments.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// A program of PostgreSQL failed.
    #[error("`{program}` ended with {status}: {output}")]
    Program {
        /// The program.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The end of its output.
        output: String,
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
    /// The server did not end within the time allowed after SIGINT; it has been killed.
    #[error("the server at {address} was killed: it did not end within {after:?} of SIGINT")]
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
    /// An address, a folder or a proxy is not in the requested state.
    #[error(transparent)]
    Shared(#[from] server_fixture::Error),
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}

fn searched_places(searched: &[String]) -> String {
    searched.iter().map(|place| format!("  searched {place}\n")).collect()
}
