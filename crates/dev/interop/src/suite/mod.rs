//! From the command line to the verdict.

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
use crate::stage::{Failure, Theatre, enter};

/// Plays what the command line says. Ends with 0 only if every expectation of every check was met.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verdict = CommandLine::parse(&arguments)
        .map_err(|error| error.to_string())
        .and_then(|line| play(&line).map_err(|failure| words(&failure)));
    match verdict {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("interop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(line: &CommandLine) -> Result<(), Failure> {
    let parts = line.parts();
    let [(java, _)] = parts[..] else { return releases::play(&parts) };
    enter()?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::system("start a runtime"))?;
    match runtime.block_on(play_release(java, line))? {
        0 => Ok(()),
        n_failed => Err(Failure::NotPassed(format!("{n_failed} checks failed"))),
    }
}

fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Plays the checks of one release. Returns how many failed.
async fn play_release(java: JavaVersion, line: &CommandLine) -> Result<usize, Failure> {
    let mut tally = Tally::default();
    let begin = Instant::now();
    let theatre = Theatre::open(java, &line.java_folder.join(java.folder()), line.control)?;
    println!("ElasticJob {java}");
    for round in 1..=line.rounds {
        for check in CHECKS.iter().filter(|check| line.wants(check.number)) {
            for left in (0..line.tries).rev() {
                let namespace = format!("check{}-{round}-{left}", check.number);
                let report =
                    play_one(check, java, &namespace, &theatre, line.keep.as_deref()).await;
                tally.note(check.number, java, &report, left == 0);
                if report.passed() {
                    break;
                }
            }
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    println!("{tally}{} checks in {elapsed:.0} s", tally.n_played());
    Ok(tally.n_failed())
}

/// Plays one check, prints what came of it, and returns it.
async fn play_one(
    check: &Check,
    java: JavaVersion,
    namespace: &str,
    theatre: &Theatre,
    keep: Option<&Path>,
) -> Report {
    let begin = Instant::now();
    let title = format!("check {} ({java}): {}", check.number, check.title);
    println!("  {title}");
    let mut report = Report::default();
    let played = check.play(theatre, namespace, java, &mut report).await;
    if let Err(failure) = &played {
        report.failed(&words(failure));
    }
    let kept = keep.map(|to| theatre.keep_logs(namespace, &to.join(format!("{java}-{namespace}"))));
    if let Some(Err(error)) = kept {
        report.failed(&format!("cannot keep the logs: {error}"));
    }
    let verdict = if report.passed() { "passed" } else { "FAILED" };
    println!("  {title}: {verdict} in {:.1} s", begin.elapsed().as_secs_f64());
    report
}
