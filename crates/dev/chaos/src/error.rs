//! Everything that can end a run before its verdict.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a run has no verdict.
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
        /// The answer of the operating system.
        source: io::Error,
    },
    /// The folder of a run holds files already.
    #[error("{} is not empty; valid is a folder that is empty or missing", .0.display())]
    NotEmpty(PathBuf),
    /// The operating system refused something else.
    #[error("the operating system refused a call")]
    System(#[source] io::Error),
    /// A ZooKeeper server failed.
    #[error(transparent)]
    Zookeeper(#[from] zookeeper_fixture::Error),
    /// A variable of a script's environment cannot be used.
    #[error("the environment variable {name}: {reason}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A JSON document cannot be read or written.
    #[error("{} holds no valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A history cannot be read.
    #[error("the history {}", .path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// Why.
        source: job_history::Error,
    },
    /// The configuration of a job could not be read back.
    #[error("the configuration of job {job} could not be read: {reason}")]
    ReadBack {
        /// The job.
        job: String,
        /// The last answer.
        reason: String,
    },
    /// Items did not run although there were no faults.
    #[error("after {after:?} without faults there are no runs of: {missing}")]
    NotCalm {
        /// How long the harness waited.
        after: Duration,
        /// The items.
        missing: String,
    },
    /// A thread of the harness panicked.
    #[error("a thread of the harness panicked")]
    Thread,
    /// The evidence cannot be judged.
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
