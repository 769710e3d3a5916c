//! Development tasks: `cargo xtask help` lists them.
#![expect(clippy::print_stdout, reason = "a task talks to the person who runs it")]

mod bench;
mod beside;
mod chaos;
mod check;
mod ci;
mod demo;
mod error;
mod fuzz;
mod interop;
mod mutants;
mod nightly;
mod program;
mod sim;
mod steps;
mod test;
mod verify;
mod zookeeper;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use error::Error;

/// A row of the table of commands.
struct Task {
    usage: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<(), Error>,
}

const TASKS: [Task; 15] = [
    Task { usage: "help", summary: "this list", run: |_| help() },
    Task {
        usage: "zookeeper",
        summary: "make sure that there is a ZooKeeper server to test with",
        run: |_| zookeeper::ensure(),
    },
    Task {
        usage: "zk",
        summary: "run a ZooKeeper server until Ctrl-C or SIGTERM",
        run: |_| zookeeper::serve(),
    },
    Task {
        usage: "test",
        summary: "all tests, the golden vectors and the quick start",
        run: |_| test::run(),
    },
    Task {
        usage: "demo [--rounds N]",
        summary: "kill a worker in the middle of an item and check the outcome",
        run: demo::run,
    },
    Task {
        usage: "verify [--backend memory|zk] [--scenario F05] [--seed N] [--nightly]",
        summary: "fault scenarios, simulated or with real processes, each judged",
        run: verify::run_scenarios,
    },
    Task {
        usage: "chaos [--minutes 9] [--seed N] [--keep DIR] [--plan] [--judge DIR]",
        summary: "random faults on real workers; every scheduled fire must be explained",
        run: chaos::run_faults,
    },
    Task {
        usage: "sim [--system] [--seeds N] [--first-seed S] [--replay SEED] [--scenario F05]",
        summary: "seeds of the pure or the system simulation, or one of them again",
        run: sim::run_seeds,
    },
    Task {
        usage: "mutants [--seeds N] [NAME...]",
        summary: "the product without one guard or rule at a time, and who notices",
        run: mutants::hunt,
    },
    Task {
        usage: "nightly [--first-seed S]",
        summary: "what takes hours: more seeds, the whole model, mutants, all scenarios, chaos",
        run: nightly::run_all,
    },
    Task { usage: "check HISTORY", summary: "judge what was recorded in a run", run: check::judge },
    Task {
        usage: "fuzz [--seconds N] [TARGET]",
        summary: "libFuzzer on one target or all; needs nightly and cargo-fuzz",
        run: fuzz::run,
    },
    Task {
        usage: "interop [--java 2.1.5] [--check N] [--rounds N]",
        summary: "Rust and the released Java ElasticJob in one namespace; Maven is fetched",
        run: interop::run_suite,
    },
    Task {
        usage: "bench [--quick] [--java FOLDER] [NAME...]",
        summary: "what coordination costs beside what ZooKeeper needs for as much, and beside Java",
        run: bench::measure,
    },
    Task {
        usage: "ci [--interop]",
        summary: "formatting, lints and documentation, with warnings denied",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error::with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Error> {
    let Some((name, rest)) = arguments.split_first() else { return help() };
    let task = TASKS.iter().find(|task| task.name() == name);
    let task = task.ok_or_else(|| Error::Usage(format!("there is no command `{name}`")))?;
    match rest {
        [surplus, ..] if !task.takes_arguments() => {
            Err(Error::Usage(format!("`{name}` takes no argument `{surplus}`")))
        }
        _ => (task.run)(rest),
    }
}

impl Task {
    fn name(&self) -> &'static str {
        self.usage.split(' ').next().unwrap_or(self.usage)
    }

    fn takes_arguments(&self) -> bool {
        self.usage.contains(' ')
    }
}

fn help() -> Result<(), Error> {
    print!("{}", list());
    Ok(())
}

/// Returns the table of commands, a line for each.
fn list() -> String {
    let line = |Task { usage, summary, .. }: &Task| format!("cargo xtask {usage:<27} {summary}\n");
    TASKS.iter().map(line).collect()
}

/// Returns the root of the workspace.
fn workspace() -> &'static Path {
    let this_crate = Path::new(env!("CARGO_MANIFEST_DIR"));
    this_crate.parent().expect("xtask lies one folder below the root of the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> String {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        dispatch(&arguments).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_command_line_is_refused_before_anything_runs() {
        let rows = [
            ("unknown", "tset", "there is no command `tset`"),
            ("a prefix is not a name", "zook", "there is no command `zook`"),
            ("surplus", "test --fast", "`test` takes no argument `--fast`"),
            ("another option", "ci --fast", "`ci` takes `--interop`, not `--fast`"),
            ("zero rounds", "demo --rounds 0", "`--rounds` takes a number from 1, not `0`"),
            ("no number", "demo --rounds", "`--rounds` takes a number from 1, not nothing"),
            ("no seed", "sim --replay", "`--replay` takes a whole number, not nothing"),
            ("no value", "sim --system 4", "or `--scenario ID` alone, not `4`"),
            ("not alone", "sim --system --scenario F05", "alone, not `--scenario`"),
            ("another option", "sim --seed 1", "or `--scenario ID` alone, not `--seed`"),
            ("no seed", "nightly --first-seed", "takes a whole number, not nothing"),
            ("no seeds", "mutants --seeds 0", "`--seeds` takes a number from 1, not `0`"),
            ("another option", "mutants --all", "takes `--seeds N` and names, not `--all`"),
            ("nothing to judge", "check", "`check` needs a file or a folder"),
            ("another option", "demo --round 1", "`demo` takes `--rounds N` only, not `--round`"),
        ];
        for (case, line, expected) in rows {
            let message = refusal(line);
            assert!(message.contains(expected), "{case}: {message}");
            assert!(message.contains("cargo xtask help"), "{case}: {message}");
        }
    }

    #[test]
    fn the_readme_shows_the_list_of_commands_as_it_is_printed() {
        let transcript = format!("```text\n$ cargo xtask help\n{}```\n", list());
        assert!(include_str!("../README.md").contains(&transcript), "expected:\n{transcript}");
    }
}
