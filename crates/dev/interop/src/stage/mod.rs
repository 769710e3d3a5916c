//! Environment of the checks: hosts with their own addresses, worker processes, the registry's
//! tree, and all events.
//!
//! In reading order: `host` (network namespaces) · `log` (events of the workers) · `process` (one
//! worker) · `tree` (the registry's nodes) · `check_env` (environment of one check).

mod check_env;
mod host;
mod log;
mod process;
mod tree;

use std::fmt::Display;
use std::io;
use std::time::Duration;

pub(crate) use check_env::{CheckEnv, TestBed, WorkerOptions};
pub(crate) use host::{Host, enter};
pub(crate) use log::{Entry, Log};
pub use process::Kind;
pub(crate) use process::{Start, Worker};
pub(crate) use tree::{Nodes, OwnerChange, Tree, now_ms, parsed};

/// Longest wait for sessions, elections or a new process on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Reason why a check could not continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    #[error("expected within {after:?}: {expected}\n      found: {found}")]
    Deadline { expected: String, found: String, after: Duration },
    #[error("check {check} ({title}) did not end within {after:?}")]
    Overdue { check: u32, title: &'static str, after: Duration },
    #[error("{worker} rejected the order {order}: {error}")]
    Refused { worker: String, order: String, error: String },
    #[error("the worker {worker} has ended with {status}; the end of its log:\n{log}")]
    Ended { worker: String, status: String, log: String },
    #[error("cannot {action}")]
    System { action: String, source: io::Error },
    #[error("`{line}` ended with {status}: {output}")]
    Command { line: String, status: std::process::ExitStatus, output: String },
    #[error(transparent)]
    Server(#[from] zookeeper_fixture::Error),
    #[error("the suite has no session with the registry")]
    Connect(#[from] reg_center_zookeeper::ConnectError),
    #[error("the registry rejected a request of the suite")]
    Registry(#[from] reg_center::Error),
    #[error("the suite's write conflicts: {0}")]
    Conflict(String),
    #[error("{0}")]
    Unreadable(String),
    #[error("{0}")]
    NotPassed(String),
}

impl Failure {
    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }

    /// Appends `more` to the found state of a missed deadline.
    pub(crate) fn with_more_found(mut self, more: &str) -> Self {
        if let Self::Deadline { found, .. } = &mut self {
            found.push('\n');
            found.push_str(more);
        }
        self
    }

    pub(crate) fn unreadable(what: impl Display) -> Self {
        Self::Unreadable(what.to_string())
    }
}
