//! Errors of servers, ensembles and proxies.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Error of a server, an ensemble or a proxy that is not in the requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ZooKeeper was found in any of the searched places.
    #[error("no ZooKeeper server found\n{}", crate::installation::describe_search(.searched))]
    NotInstalled {
        /// The searched places and the missing files, in the order of the search.
        searched: Vec<String>,
    },
    /// There are ZooKeeper jars but no Java to run them.
    #[error(
        "no Java found to run ZooKeeper with: neither `$JAVA_HOME/bin/java` nor `java` on `$PATH` \
         is there; install one with `apt-get install default-jre-headless`"
    )]
    NoJava,
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
