//! The worker: a process that takes part in one job, writes down what happens to it, and obeys the harness.
//!
//! In reading order: `recorder` (what it says and writes) · `job` (the job's code) · `events` (what the product tells)
//! · `inject` (faults at registry writes) · `skew` (its clock) · `life` (from start to end).

mod events;
mod inject;
mod job;
mod life;
mod recorder;
mod skew;

use std::process::ExitCode;

use reg_center_zookeeper::ConnectError;

pub(crate) use life::LEFT_IN_ORDER;

/// Why a worker could not live.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The first line on the standard input, or a later one, cannot be read.
    #[error("cannot read an order")]
    Input(#[source] std::io::Error),
    /// A line on the standard input is not what the harness says.
    #[error("order is {line:?}; valid is a JSON document of the harness")]
    Order {
        /// The line.
        line: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A file cannot be made.
    #[error("cannot open {path}")]
    File {
        /// Which.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The runtime cannot be started, or the kernel refuses what makes sure that nobody outlives the harness.
    #[error("cannot {act}")]
    System {
        /// What was attempted.
        act: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The job's configuration in the plan is not what the registry would store.
    #[error("the plan's configuration cannot be used")]
    Config(#[source] coordination::ConfigError),
    /// There is no registry.
    #[error("no session")]
    Connect(#[from] ConnectError),
    /// The scheduler does not take the job.
    #[error("no job")]
    Job(#[from] lite::Error),
}

/// Lives as the plan on the standard input says. Ends with 0 only after leaving in order.
#[must_use]
pub fn main() -> ExitCode {
    match life::live() {
        Ok(code) => code,
        Err(error) => {
            let causes =
                std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
            let text: Vec<String> = causes.map(ToString::to_string).collect();
            tracing::error!(error = text.join(": "), "worker failed");
            ExitCode::FAILURE
        }
    }
}
