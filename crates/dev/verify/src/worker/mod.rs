//! The worker: a process that takes part in one job, records its events, and executes orders of the
//! harness.
//!
//! In reading order: `recorder` (records and messages) · `job` (the job's code) · `events` (events
//! of the product) · `inject` (faults at registry writes) · `skew` (its clock) · `lifecycle` (from
//! start to exit).

mod events;
mod inject;
mod job;
mod lifecycle;
mod recorder;
mod skew;

use std::process::ExitCode;

use registry::OpenError;

pub(crate) use lifecycle::LEFT_IN_ORDER;

/// Failure of a worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// A line of the standard input cannot be read.
    #[error("cannot read an order")]
    Input(#[source] std::io::Error),
    /// A line of the standard input is not an order.
    #[error("order is {line:?}; valid is a JSON document of the harness")]
    Order {
        /// The line.
        line: String,
        /// The reason.
        source: serde_json::Error,
    },
    /// A file cannot be opened.
    #[error("cannot open {path}")]
    File {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The runtime cannot be started, or the parent death signal cannot be set.
    #[error("cannot {act}")]
    System {
        /// The attempted action.
        act: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The configuration in the plan is invalid.
    #[error("the configuration in the plan is invalid")]
    Config(#[source] coordination::ConfigError),
    /// The worker could not connect to the registry.
    #[error("cannot open a session at the registry")]
    Connect(#[from] OpenError),
    /// The scheduler rejected the job.
    #[error("cannot schedule the job")]
    Job(#[from] lite::Error),
}

/// Runs a worker by the plan on its standard input. The exit status is 0 only if it has left in
/// order.
#[must_use]
pub fn main() -> ExitCode {
    match lifecycle::run() {
        Ok(code) => code,
        Err(error) => {
            let causes =
                std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
            let text: Vec<String> = causes.map(ToString::to_string).collect();
            tracing::error!(error = text.join(": "), "the worker failed");
            ExitCode::FAILURE
        }
    }
}
