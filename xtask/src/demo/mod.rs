//! `cargo xtask demo`: a worker is killed while it runs an item, and no result is lost or repeated.
//!
//! Several workers count the lines of this repository's own files, each file in exactly one item of
//! a sharded job. One worker is killed while it runs an item. In reading order: `corpus` (counted
//! files) · `protocol` (events of workers) · `worker` (processes) · `results` (written results) ·
//! `verdict` (checks).

mod corpus;
mod protocol;
mod results;
mod round;
mod verdict;
mod worker;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use zookeeper_fixture::Server;

use crate::program::Programs;
use crate::{Error, zookeeper};

/// Reason why the demonstration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DemoError {
    #[error("waited {after:?} for {awaited}; {found}")]
    Deadline { awaited: String, after: Duration, found: String },
    #[error("the worker {worker} ended by itself with {status}; the end of its log:\n{log_tail}")]
    WorkerEnded { worker: String, status: ExitStatus, log_tail: String },
    #[error(
        "the worker {worker} ended with {status} instead of exit status 0 after SIGTERM; the end \
         of its log:\n{log_tail}"
    )]
    WorkerFailed { worker: String, status: ExitStatus, log_tail: String },
    #[error("the worker {worker} wrote `{line}`: {reason}")]
    Protocol { worker: String, line: String, reason: String },
    #[error("{} contains {content:?}: {reason}", .path.display())]
    Result { path: PathBuf, content: String, reason: String },
    #[error("the worker had finished its item before it was killed, {n_attempts} times in a row")]
    NeverKilledInRun { n_attempts: usize },
    #[error("{} of {n_checks} checks failed: {}", .failed.len(), .failed.join("; "))]
    Checks { n_checks: usize, failed: Vec<String> },
}

/// Runs the demonstration for the number of rounds in the arguments.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let n_rounds = parse_rounds(arguments)?;
    zookeeper::ensure()?;
    let built = Programs::build_as_tested("--example line_count")?;
    let program = built.path("line_count")?;
    let server = Server::start()?;
    println!("ZooKeeper listens on {}", server.connect_string());
    for n in 1..=n_rounds {
        println!("\nround {n} of {n_rounds}");
        round::run(program, &server, n)?;
    }
    println!("\ncargo xtask demo: {n_rounds} rounds, every check passed");
    Ok(())
}

fn parse_rounds(arguments: &[String]) -> Result<u32, Error> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let refuse =
        |found: &str| Err(Error::Usage(format!("`--rounds` takes a number from 1, not {found}")));
    match words.as_slice() {
        [] => Ok(1),
        ["--rounds"] => refuse("nothing"),
        ["--rounds", number] => match number.parse() {
            Ok(n_rounds) if n_rounds > 0 => Ok(n_rounds),
            Ok(_) | Err(_) => refuse(&format!("`{number}`")),
        },
        ["--rounds", _, surplus, ..] | [surplus, ..] => {
            Err(Error::Usage(format!("`demo` takes `--rounds N` only, not `{surplus}`")))
        }
    }
}
