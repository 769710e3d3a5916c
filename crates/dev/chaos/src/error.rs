//! Errors that end a run before its verdict.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Failure of the harness: the run has no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or program could not be used.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// The action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder of a run holds files already.
    #[error("{} is not empty; valid is a folder that is empty or missing", .0.display())]
    NotEmpty(PathBuf),
    /// Another call to the operating system failed.
    #[error("a call to the operating system failed")]
    System(#[source] io::Error),
    /// A ZooKeeper server failed.
    #[error(transparent)]
    Zookeeper(#[from] zookeeper_fixture::Error),
    /// A variable of a script's environment is missing or invalid.
    #[error("the environment variable {name} is missing or invalid: {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// The reason.
        reason: String,
    },
    /// A JSON document cannot be read or written.
    #[error("{} is not valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The place and the cause.
        source: serde_json::Error,
    },
    /// A history cannot be read.
    #[error("cannot read the history {}", .path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: job_history::Error,
    },
    /// The configuration of a job could not be read back.
    #[error("the configuration of job {job} could not be read: {reason}")]
    ReadBack {
        /// The job.
        job: String,
        /// The last output of the command.
        reason: String,
    },
    /// Items did not run in the absence of faults.
    #[error("without faults, these did not run within {after:?}: {missing}")]
    NotCalm {
        /// The time that the harness waited.
        after: Duration,
        /// The items.
        missing: String,
    },
    /// A thread of the harness panicked.
    #[error("a thread of the harness panicked")]
    Thread,
    /// The evidence is incomplete or invalid.
    #[error("the run cannot be judged: {0}")]
    Judge(String),
}

impl Error {
    /// Returns a converter for `map_err` that names the action and the file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
