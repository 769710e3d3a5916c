//! The Rust worker: takes part in jobs and reports events.

mod job;
mod output;
mod process;

use std::process::ExitCode;

/// The name of the Java workers' job class. All instances of a job must agree on it.
const JOB_CLASS: &str = "ejob.interop.InteropJob";

/// Errors of a worker process or of one of its orders.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The first line or an order is not valid JSON of the protocol.
    #[error("a line on the standard input is no message of the suite: {0}")]
    Input(String),
    /// An operation of the operating system failed.
    #[error("cannot {action}")]
    System {
        /// The attempted operation.
        action: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The worker could not connect to the registry.
    #[error("the worker has no session with the registry")]
    Connect(#[from] reg_center_zookeeper::ConnectError),
    /// The job's configuration is invalid.
    #[error("the job's configuration is invalid")]
    Config(#[from] lite::InvalidConfig),
    /// The scheduler rejected an order.
    #[error("the scheduler rejected the order")]
    Job(#[from] lite::Error),
    /// The job has joined without an instance id.
    #[error("the job has joined without an instance id")]
    NoInstance,
    /// The worker takes no part in the job of an order.
    #[error("the worker takes no part in the job `{0}`")]
    NoJob(String),
    /// Only Java has the lifecycle API.
    #[error("a Rust worker has no lifecycle API, so it cannot call `{0}`")]
    NoCall(String),
}

/// Runs the worker by the orders on the standard input.
///
/// Exits with 0 only after an order to leave.
#[must_use]
pub fn main() -> ExitCode {
    match process::run() {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(error = causes(&error), "worker failed");
            ExitCode::FAILURE
        }
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let text: Vec<String> = causes.map(ToString::to_string).collect();
    text.join(": ")
}
