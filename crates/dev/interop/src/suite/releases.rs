//! Several releases, or parts of their checks, at the same time.
//!
//! The suite starts itself once for each part, in a network namespace of its own. The checks mostly
//! wait for fires, so that two parts take little longer than one.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use super::JavaVersion;
use crate::stage::Failure;

/// Starts the suite once for each part, with the other options of this process.
///
/// Each line of output is printed after the name of its release. Fails with the names of the
/// releases that have not passed.
pub(super) fn run_parts(parts: &[(JavaVersion, Vec<u32>)]) -> Result<(), Failure> {
    let suites = parts.iter().map(|(java, checks)| Ok((*java, start(*java, checks)?)));
    let suites: Vec<(JavaVersion, Child)> = suites.collect::<Result<_, Failure>>()?;
    let ended = thread::scope(|scope| {
        let readers: Vec<_> = suites
            .into_iter()
            .map(|(java, suite)| (java, scope.spawn(move || show(java, suite))))
            .collect();
        let join = |(java, ended): (_, thread::ScopedJoinHandle<'_, _>)| {
            (java, ended.join().expect("a thread that only copies lines does not panic"))
        };
        readers.into_iter().map(join).collect::<Vec<_>>()
    });
    let mut failed = Vec::new();
    for (java, status) in ended {
        let status = status.map_err(Failure::system(format!("wait for the suite of {java}")))?;
        if !status.success() {
            failed.push(format!("the checks of {java} have failed ({status})"));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::NotPassed(failed.join("; "))) }
}

/// Starts the suite of one part. It ends with this process, together with its own child processes.
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

/// Returns `arguments` with the release and the checks of one part instead of the requested ones.
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

/// Prints the output of a suite, and returns its exit status.
fn show(java: JavaVersion, mut suite: Child) -> std::io::Result<ExitStatus> {
    let output = suite.stdout.take().expect("the output is piped");
    for line in BufReader::new(output).lines() {
        println!("{java} | {}", line?);
    }
    suite.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_gets_all_options_except_other_releases_and_checks() {
        let rows = [
            ("--java-folder x", "--java-folder x"),
            ("--java 2.1.5 --java-folder x --java 3.0.4", "--java-folder x"),
            ("--java-folder x --check 3 --parts 2 --control", "--java-folder x --control"),
        ];
        for (line, expected) in rows {
            let words = line.split(' ').map(str::to_owned);
            let passed_on = arguments_for(JavaVersion::V3_0_4, &[3, 5], words).join(" ");
            assert_eq!(passed_on, format!("--java 3.0.4 --check 3 --check 5 {expected}"));
        }
    }
}
