//! The Rust worker: takes part in jobs and says what happens.

mod job;
mod life;
mod voice;

use std::process::ExitCode;

/// The name of the Java workers' job class; instances of a job must agree on it.
const JOB_CLASS: &str = "ejob.interop.InteropJob";

/// Why a worker could not live, or could not carry out an order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The first line cannot be read, or an order is none.
    #[error("a line on the standard input is not what the suite says: {0}")]
    Input(String),
    /// The operating system refuses.
    #[error("cannot {act}")]
    System {
        /// What was attempted.
        act: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// There is no registry.
    #[error("no session")]
    Connect(#[from] reg_center_zookeeper::ConnectError),
    /// The job's configuration cannot be used.
    #[error("the configuration cannot be used")]
    Config(#[from] lite::InvalidConfig),
    /// The scheduler refuses.
    #[error("the scheduler refuses")]
    Job(#[from] lite::Error),
    /// The job is there but has no identity.
    #[error("the job has joined without an instance id")]
    NoInstance,
    /// It takes no part in a job.
    #[error("the worker takes no part in the job `{0}`")]
    NoJob(String),
    /// Only Java has the lifecycle API.
    #[error("a Rust worker has no call `{0}`")]
    NoCall(String),
}

/// Lives as the suite says on the standard input. Ends with 0 only after leaving in order.
#[must_use]
pub fn main() -> ExitCode {
    match life::live() {
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
