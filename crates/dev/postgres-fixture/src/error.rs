//! Errors of servers.

use std::path::PathBuf;
use std::process::ExitStatus;

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
    /// PgBouncer was not found.
    #[error(
        "no PgBouncer in {}; install it with `cargo xtask postgres`, or with \
         `apt-get install pgbouncer`", searched.display()
    )]
    NoPooler {
        /// The searched place.
        searched: PathBuf,
    },
    /// This process is root, and `setpriv` is missing to start a server as another user.
    #[error("PostgreSQL does not run as root, and `setpriv` of util-linux is missing")]
    NoSetpriv,
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
    /// An address, a folder, a process or a proxy is not in the requested state.
    #[error(transparent)]
    Shared(#[from] server_fixture::Error),
}

fn searched_places(searched: &[String]) -> String {
    searched.iter().map(|place| format!("  searched {place}\n")).collect()
}
