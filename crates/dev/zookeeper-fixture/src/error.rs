//! Everything that can go wrong while a test prepares its surroundings.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Why a server, an ensemble or a proxy is not in the state that was asked for.
///
/// None of these is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends in one of them, so a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ZooKeeper was found in any of the places that were searched.
    #[error("no ZooKeeper server found\n{}", crate::installation::describe_search(.searched))]
    NotInstalled {
        /// Each place that was searched and what was missing there, in the order of the search.
        searched: Vec<String>,
    },
    /// There are ZooKeeper jars but no Java to run them.
    #[error(
        "no Java found to run ZooKeeper with: neither `$JAVA_HOME/bin/java` nor `java` on `$PATH` \
         is there; install one with `apt-get install default-jre-headless`"
    )]
    NoJava,
    /// The operating system refused an action on a file or a folder.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// What was attempted, as a verb.
        action: &'static str,
        /// The file or folder concerned.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// No loopback address could be reserved.
    #[error("no free address in 127.0.0.0/8 after {tried} attempts")]
    NoAddress {
        /// How many addresses were tried.
        tried: usize,
        /// What the operating system said about the last of them.
        source: io::Error,
    },
    /// The server's process could not be started.
    #[error("cannot start `{program}`")]
    Spawn {
        /// The program that was to be run.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The server's process ended although it was wanted.
    #[error("the server at {address} ended with {status}; the end of its log:\n{log_tail}")]
    Exited {
        /// Where the server listened.
        address: SocketAddr,
        /// How its process ended.
        status: ExitStatus,
        /// The last lines the server wrote.
        log_tail: String,
    },
    /// The server did not serve within the time allowed.
    #[error(
        "the server at {address} does not serve after {after:?}; the end of its log:\n{log_tail}"
    )]
    NotReady {
        /// Where the server should have listened.
        address: SocketAddr,
        /// How long was waited.
        after: Duration,
        /// The last lines the server wrote.
        log_tail: String,
    },
    /// The server did not end within the time allowed after SIGTERM; it has been killed.
    #[error("the server at {address} was killed: it did not end within {after:?} of SIGTERM")]
    NotStopped {
        /// Where the server listened.
        address: SocketAddr,
        /// How long was waited.
        after: Duration,
    },
    /// The action needs a running server, and this one was stopped or killed.
    #[error("the server at {address} is not running; start it again with `restart`")]
    NotRunning {
        /// Where the server listened while it ran.
        address: SocketAddr,
    },
    /// A signal could not be sent to the server's process.
    #[error("cannot {action} the server at {address}")]
    Signal {
        /// What the signal was meant to do, as a verb.
        action: &'static str,
        /// Where the server listens.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// A four-letter command got no answer.
    #[error("the server at {address} did not answer `{word}`")]
    NoAnswer {
        /// Where the server listens.
        address: SocketAddr,
        /// The four-letter command.
        word: String,
        /// What the operating system said; a time-out for a paused server.
        source: io::Error,
    },
    /// A four-letter command got an answer without the expected line.
    #[error("the server at {address} answered `{word}` without `{expected}`: {answer:?}")]
    UnexpectedAnswer {
        /// Where the server listens.
        address: SocketAddr,
        /// The four-letter command.
        word: String,
        /// The line that was looked for.
        expected: &'static str,
        /// The whole answer.
        answer: String,
    },
    /// An ensemble cannot have this size.
    #[error("an ensemble of {n_servers} servers is not possible: 2 to 9 are")]
    EnsembleSize {
        /// The number of servers that was asked for.
        n_servers: usize,
    },
    /// The ensemble has no leader within the time allowed.
    #[error("no leader after {after:?}; modes by server: {modes:?}")]
    NoLeader {
        /// How long was waited.
        after: Duration,
        /// What each server said last; `None` for one that did not serve.
        modes: Vec<Option<String>>,
    },
    /// The proxy could not listen on its address.
    #[error("the proxy cannot listen on {address}")]
    Listen {
        /// The proxy's address.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The proxy did not reach the awaited state within the time allowed.
    #[error("the proxy did not see {awaited} within {after:?}; it is at: {found}")]
    ProxyDeadline {
        /// What was waited for.
        awaited: String,
        /// How long was waited.
        after: Duration,
        /// The proxy's counters at the end of the wait.
        found: String,
    },
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
