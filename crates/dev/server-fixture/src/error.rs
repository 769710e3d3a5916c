//! Errors of installations, addresses, folders, processes and proxies.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Error of an installation, an address, a folder, a process or a proxy that is not in the
/// requested state.
///
/// No error is worth a retry: a test prints the error and fails. Every wait of this crate is
/// bounded and ends with one of these errors, so that a test never hangs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server was found in any of the searched places, and none could be installed.
    #[error(
        "no {server} server found\n{}{}  install it with `apt-get install {packages}`, \
         or {alternative}",
        lines("searched", .searched),
        lines("failed to install the packages:", .attempt)
    )]
    NotInstalled {
        /// Name of the server.
        server: &'static str,
        /// The searched places and the reasons, in the order of the search.
        searched: Vec<String>,
        /// The reason why the packages could not be installed; `None` without an attempt.
        attempt: Option<String>,
        /// Debian's packages, with spaces between them.
        packages: String,
        /// Alternative to these packages.
        alternative: &'static str,
    },
    /// Debian's packages of a tool could not be installed.
    #[error("cannot install {packages}: {cause}; install them with `apt-get install {packages}`")]
    Packages {
        /// The packages, with spaces between them.
        packages: String,
        /// The reason, or the end of the output of apt.
        cause: String,
    },
    /// This process is root, and `setpriv` is missing to start a server as another user.
    #[error(
        "servers do not run as root, and `setpriv` of util-linux is missing to change the user"
    )]
    NoSetpriv,
    /// A program that prepares or queries a server failed.
    #[error("`{program}` ended with {status}: {output}")]
    Program {
        /// The program.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// Its output.
        output: String,
    },
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

/// Returns a line for each of the texts.
fn lines<'a>(label: &str, texts: impl IntoIterator<Item = &'a String>) -> String {
    texts.into_iter().map(|text| format!("  {label} {text}\n")).collect()
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
