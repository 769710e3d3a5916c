//! Errors of addresses, folders and proxies.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Error of an address, a folder or a proxy that is not in the requested state.
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
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
