//! What checks play on: hosts with their own addresses, worker processes, the registry's tree, and what happened.
//!
//! In reading order: `host` (network namespaces) · `log` (what the workers said) · `process` (one worker) · `tree` (the
//! registry's nodes) · `cast` (all of one check).

mod cast;
mod host;
mod log;
mod process;
mod tree;

use std::fmt::Display;
use std::io;
use std::time::Duration;

pub(crate) use cast::{Cast, Habits, Theatre};
pub(crate) use host::{Host, enter};
pub(crate) use log::{Entry, Log};
pub use process::Kind;
pub(crate) use process::{Start, Worker};
pub(crate) use tree::{Dealing, Nodes, Tree, now_ms, parsed};

/// How long anything that depends on sessions, elections or a new process may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Why a check could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    #[error("expected within {after:?}: {expected}\n      found: {found}")]
    Deadline { expected: String, found: String, after: Duration },
    #[error("check {check} ({title}) was to end within {after:?}")]
    Overdue { check: u32, title: &'static str, after: Duration },
    #[error("{worker} was told to {order} and answered: {error}")]
    Refused { worker: String, order: String, error: String },
    #[error("{worker} has ended with {status}; the end of its log:\n{log}")]
    Ended { worker: String, status: String, log: String },
    #[error("cannot {act}")]
    System { act: String, source: io::Error },
    #[error("`{line}` ended with {status}: {output}")]
    Command { line: String, status: std::process::ExitStatus, output: String },
    #[error(transparent)]
    Server(#[from] zookeeper_fixture::Error),
    #[error("the suite has no session")]
    Connect(#[from] reg_center_zookeeper::ConnectError),
    #[error("the registry refuses the suite")]
    Registry(#[from] reg_center::Error),
    #[error("the suite's write conflicts: {0}")]
    Conflict(String),
    #[error("{0}")]
    Unreadable(String),
    #[error("{0}")]
    NotPassed(String),
}

impl Failure {
    pub(crate) fn system(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        move |source| Self::System { act, source }
    }

    /// Adds to what was found instead of what was expected.
    pub(crate) fn after_all_found(mut self, more: &str) -> Self {
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
