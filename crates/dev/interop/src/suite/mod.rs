//! The suite: command line, runs of the checks, verdict.

mod command_line;
mod releases;
mod report;
mod tally;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use command_line::CommandLine;
pub(crate) use command_line::JavaVersion;
pub(crate) use report::Report;
use tally::Tally;

use crate::checks::{CHECKS, Check};
use crate::stage::{Failure, TestBed, enter};

/// Runs the checks that the command line selects.
///
/// Exits with 0 only if every expectation of every check was met.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verdict = CommandLine::parse(&arguments)
        .map_err(|error| error.to_string())
        .and_then(|line| run_suite(&line).map_err(|failure| with_causes(&failure)));
    match verdict {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("interop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_suite(line: &CommandLine) -> Result<(), Failure> {
    let parts = line.parts();
    let [(java, _)] = parts[..] else { return releases::run_parts(&parts) };
    enter()?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::system("start a runtime"))?;
    match runtime.block_on(run_release(java, line))? {
        0 => Ok(()),
        n_failed => Err(Failure::NotPassed(format!("{n_failed} checks failed"))),
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Runs the checks of one release. Returns the number of failed checks.
async fn run_release(java: JavaVersion, line: &CommandLine) -> Result<usize, Failure> {
    let mut tally = Tally::default();
    let begin = Instant::now();
    let test_bed = TestBed::open(java, &line.java_folder.join(java.folder()), line.control)?;
    println!("ElasticJob {java}");
    for round in 1..=line.rounds {
        for check in CHECKS.iter().filter(|check| line.wants(check.number)) {
            for left in (0..line.tries).rev() {
                let namespace = format!("check{}-{round}-{left}", check.number);
                let report =
                    run_check(check, java, &namespace, &test_bed, line.keep.as_deref()).await;
                tally.note(check.number, java, &report, left == 0);
                if report.passed() {
                    break;
                }
            }
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    println!("{tally}{} checks in {elapsed:.0} s", tally.n_runs());
    Ok(tally.n_failed())
}

/// Runs one check, prints its verdict, and returns its report.
async fn run_check(
    check: &Check,
    java: JavaVersion,
    namespace: &str,
    test_bed: &TestBed,
    keep: Option<&Path>,
) -> Report {
    let begin = Instant::now();
    let title = format!("check {} ({java}): {}", check.number, check.title);
    println!("  {title}");
    let mut report = Report::default();
    let outcome = check.run(test_bed, namespace, java, &mut report).await;
    if let Err(failure) = &outcome {
        report.failed(&with_causes(failure));
    }
    let kept =
        keep.map(|to| test_bed.keep_logs(namespace, &to.join(format!("{java}-{namespace}"))));
    if let Some(Err(error)) = kept {
        report.failed(&format!("cannot keep the logs: {error}"));
    }
    let verdict = if report.passed() { "passed" } else { "FAILED" };
    println!("  {title}: {verdict} in {:.1} s", begin.elapsed().as_secs_f64());
    report
}
