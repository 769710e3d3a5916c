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

use crate::Error;
use crate::backend::{self, Backend};
use crate::program::Programs;

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

/// Number of rounds, and the registry that they run on.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    backend: Backend,
    n_rounds: u32,
}

/// Runs the demonstration.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let Options { backend, n_rounds } = Options::parse(arguments)?;
    let built = Programs::build_as_tested("--example line_count")?;
    let program = built.path("line_count")?;
    let registry = backend.start()?;
    for n in 1..=n_rounds {
        println!("\nround {n} of {n_rounds}");
        round::run(program, &registry, n)?;
    }
    println!("\ncargo xtask demo: {n_rounds} rounds, every check passed");
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Self { backend: Backend::Zookeeper, n_rounds: 1 };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--backend" => {
                    let name = words.next();
                    options.backend = name
                        .and_then(Backend::of)
                        .ok_or_else(|| refused(word, &format!("takes {}", backend::NAMES), name))?;
                }
                "--rounds" => {
                    let number = words.next();
                    options.n_rounds = number
                        .and_then(|number| number.parse().ok())
                        .filter(|n_rounds| *n_rounds > 0)
                        .ok_or_else(|| refused(word, "takes a number from 1", number))?;
                }
                surplus => {
                    return Err(Error::Usage(format!(
                        "`demo` takes `--backend NAME` and `--rounds N` only, not `{surplus}`"
                    )));
                }
            }
        }
        Ok(options)
    }
}

fn refused(option: &str, valid: &str, found: Option<&str>) -> Error {
    let found = found.map_or_else(|| "nothing".to_owned(), |found| format!("`{found}`"));
    Error::Usage(format!("`{option}` {valid}, not {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn options_have_defaults() {
        let rows = [
            ("", Backend::Zookeeper, 1),
            ("--rounds 3", Backend::Zookeeper, 3),
            ("--backend sqlite --rounds 2", Backend::Sqlite, 2),
            ("--backend zk", Backend::Zookeeper, 1),
            ("--rounds 2 --backend postgres", Backend::Postgres, 2),
            ("--backend etcd", Backend::Etcd, 1),
        ];
        for (line, backend, n_rounds) in rows {
            assert_eq!(parse(line), Ok(Options { backend, n_rounds }), "{line}");
        }
    }

    #[test]
    fn invalid_option_is_rejected_with_the_valid_values() {
        let rows = [
            ("--rounds", "`--rounds` takes a number from 1, not nothing"),
            ("--rounds 0", "`--rounds` takes a number from 1, not `0`"),
            ("--backend", "`--backend` takes sqlite, zk, postgres or etcd, not nothing"),
            ("--backend redis", "`--backend` takes sqlite, zk, postgres or etcd, not `redis`"),
            ("3", "`demo` takes `--backend NAME` and `--rounds N` only, not `3`"),
        ];
        for (line, expected) in rows {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
