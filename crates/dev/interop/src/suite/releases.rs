//! Several releases, or parts of their checks, at the same time: the suite starts itself once for each, in a network namespace of its
//! own.
//!
//! The checks wait for fires far more than they compute, so that two take little longer than one.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use super::JavaVersion;
use crate::stage::Failure;

/// Plays the command line of this process once for each part, of a release and with some checks. Every line that one prints is shown
/// behind the name of its release. Fails with the releases that have not passed.
pub(super) fn play(parts: &[(JavaVersion, Vec<u32>)]) -> Result<(), Failure> {
    let suites = parts.iter().map(|(java, checks)| Ok((*java, start(*java, checks)?)));
    let suites: Vec<(JavaVersion, Child)> = suites.collect::<Result<_, Failure>>()?;
    let ended = thread::scope(|scope| {
        let watched: Vec<_> = suites
            .into_iter()
            .map(|(java, suite)| (java, scope.spawn(move || show(java, suite))))
            .collect();
        let join = |(java, ended): (_, thread::ScopedJoinHandle<'_, _>)| {
            (java, ended.join().expect("a thread that only copies lines does not panic"))
        };
        watched.into_iter().map(join).collect::<Vec<_>>()
    });
    let mut failed = Vec::new();
    for (java, status) in ended {
        let status = status.map_err(Failure::system(format!("wait for the suite of {java}")))?;
        if !status.success() {
            failed.push(format!("{java} has failed ({status})"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::NotPassed(failed.join("; "))) }
}

/// Starts the suite of one part. It ends with this process, and all that it has started with it.
fn start(java: JavaVersion, checks: &[u32]) -> Result<Child, Failure> {
    let program = env::current_exe().map_err(Failure::system("find the suite's own program"))?;
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .arg(program)
        .args(arguments_for(java, checks, env::args().skip(1)))
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::system(format!(
            "start the suite of {java}; `setpriv` of util-linux is needed"
        )))
}

/// Leaves out the releases, checks and parts that were asked for, and asks for those of one part.
fn arguments_for(
    java: JavaVersion,
    checks: &[u32],
    arguments: impl Iterator<Item = String>,
) -> Vec<String> {
    let mut kept = vec!["--java".to_owned(), java.to_string()];
    kept.extend(checks.iter().flat_map(|check| ["--check".to_owned(), check.to_string()]));
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--java" | "--check" | "--parts" => drop(arguments.next()),
            _ => kept.push(argument),
        }
    }
    kept
}

/// Shows what a suite prints, and returns how it ended.
fn show(java: JavaVersion, mut suite: Child) -> std::io::Result<ExitStatus> {
    let output = suite.stdout.take().expect("its output was asked for");
    for line in BufReader::new(output).lines() {
        println!("{java} | {}", line?);
    }
    suite.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_told_everything_but_the_others() {
        let rows = [
            ("--java-folder x", "--java-folder x"),
            ("--java 2.1.5 --java-folder x --java 3.0.4", "--java-folder x"),
            ("--java-folder x --check 3 --parts 2 --control", "--java-folder x --control"),
        ];
        for (line, expected) in rows {
            let words = line.split(' ').map(str::to_owned);
            let told = arguments_for(JavaVersion::V3_0_4, &[3, 5], words).join(" ");
            assert_eq!(told, format!("--java 3.0.4 --check 3 --check 5 {expected}"));
        }
    }
}
