//! Development tasks: `cargo xtask help` lists them.
#![expect(clippy::print_stdout, reason = "a task prints its progress and results")]

mod backend;
mod background;
mod bench;
mod browser;
mod chaos;
mod check;
mod ci;
mod demo;
mod dependencies;
mod deploy;
mod download;
mod error;
mod etcd;
mod folders;
mod fuzz;
mod interop;
mod lint;
mod mariadb;
mod monitoring;
mod mutants;
mod nightly;
mod package;
mod plots;
mod postgres;
mod program;
mod releases;
mod semver;
mod servers;
mod sim;
mod site;
mod steps;
mod test;
mod tidy;
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

const TASKS: &[Task] = &[
    Task { usage: "help", summary: "this list", run: |_| help() },
    Task {
        usage: "zookeeper",
        summary: "find or install a ZooKeeper server for the tests",
        run: |_| zookeeper::ensure(),
    },
    Task {
        usage: "postgres",
        summary: "find or install a PostgreSQL server for the tests",
        run: |_| postgres::ensure(),
    },
    Task {
        usage: "mariadb",
        summary: "find or install a MariaDB server for the tests",
        run: |_| mariadb::ensure(),
    },
    Task {
        usage: "zk",
        summary: "run a ZooKeeper server until Ctrl-C or SIGTERM",
        run: |_| zookeeper::serve(),
    },
    Task {
        usage: "etcd [v3.5] [v3.6] [v3.7]",
        summary: "build newer etcd servers and test the registry on each; needs Go",
        run: etcd::test_versions,
    },
    Task {
        usage: "test",
        summary: "the tests without other servers than ZooKeeper, the vectors, the quick start",
        run: |_| test::run(),
    },
    Task {
        usage: "demo [--backend sqlite|zk|postgres|etcd] [--rounds N]",
        summary: "kill a worker while it runs an item and check the outcome",
        run: demo::run,
    },
    Task {
        usage: "verify [--backend memory|sqlite|postgres|etcd|zk] [--scenario F05] [--seed N] [--nightly]",
        summary: "fault scenarios, simulated or with real processes, each with a verdict",
        run: verify::run_scenarios,
    },
    Task {
        usage: "chaos [--minutes 9] [--seed N] [--keep DIR] [--plan] [--judge DIR]",
        summary: "random faults on real workers; every scheduled fire must be explained",
        run: chaos::run_faults,
    },
    Task {
        usage: "sim [--system] [--seeds N] [--first-seed S] [--replay SEED] [--scenario F05]",
        summary: "run seeds of the pure or the system simulation, or replay one",
        run: sim::run_seeds,
    },
    Task {
        usage: "mutants [--seeds N] [NAME...]",
        summary: "remove one guard or rule at a time, and report which checks fail",
        run: mutants::hunt,
    },
    Task {
        usage: "nightly [--first-seed S]",
        summary: "long checks: more seeds, the whole model, mutants, all scenarios, chaos",
        run: nightly::run_all,
    },
    Task {
        usage: "check HISTORY",
        summary: "verify the recorded history of a run",
        run: check::judge,
    },
    Task {
        usage: "fuzz [--seconds N] [TARGET]",
        summary: "run libFuzzer on one target or all; needs nightly and cargo-fuzz",
        run: fuzz::run,
    },
    Task {
        usage: "interop [--java 2.1.5] [--check N] [--rounds N]",
        summary: "run Rust and the released Java ElasticJob in one namespace; installs Maven",
        run: interop::run_suite,
    },
    Task {
        usage: "bench [--backend zk|sqlite|postgres|etcd] [--quick] [--java FOLDER] [--binaries] [NAME...]",
        summary: "cost of coordination compared with the registry alone, and with Java",
        run: bench::measure,
    },
    Task {
        usage: "browser [--pictures] [--bench OPTION...] [NAME...]",
        summary: "tests, pictures or figures of the console in a browser; installs Chromium and Node",
        run: browser::test,
    },
    Task {
        usage: "monitoring",
        summary: "metrics, dashboard and alert rules with Prometheus; installs Prometheus",
        run: |_| monitoring::test(),
    },
    Task {
        usage: "deploy [--write]",
        summary: "files of docs/deploy with the programs that use them; installs systemd; needs Go",
        run: deploy::check,
    },
    Task {
        usage: "docs",
        summary: "the documents as a site, in target/site/html; installs mdBook, Node and Chromium",
        run: |_| site::build(),
    },
    Task {
        usage: "plots",
        summary: "plots of docs/performance.md from the figures in docs/images/performance",
        run: |_| plots::draw(),
    },
    Task {
        usage: "deny",
        summary: "licences, sources and names of the dependencies; builds cargo-deny",
        run: |_| dependencies::check(),
    },
    Task {
        usage: "advisories FOLDER",
        summary: "published advisories about the dependencies; builds cargo-audit",
        run: dependencies::advisories,
    },
    Task {
        usage: "package [--keep]",
        summary: "pack the crates for a registry, and test programs that use the packed files, or keep the sources",
        run: package::run_task,
    },
    Task {
        usage: "semver",
        summary: "compare the API with that of the last release; builds cargo-semver-checks",
        run: |_| semver::check(),
    },
    Task {
        usage: "tidy [--figures] [PATH...]",
        summary: "rules for words, comments and modules; figures of the core's structure",
        run: tidy::run,
    },
    Task {
        usage: "lint",
        summary: "formatting, tidy, lints, dependencies, packages, deployment, documentation",
        run: |_| lint::run(),
    },
    Task {
        usage: "ci [--interop]",
        summary: "lint, and the tests on other servers, with Prometheus and in a browser",
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
    this_crate.parent().expect("xtask is one folder below the root of the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_error(line: &str) -> String {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        dispatch(&arguments).unwrap_err().to_string()
    }

    #[test]
    fn invalid_command_line_is_rejected_before_any_step() {
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
            ("no history", "check", "`check` needs a file or a folder"),
            ("another option", "tidy --all", "takes `--figures` alone or paths, not `--all`"),
            ("not alone", "tidy docs --figures", "alone or paths, not `--figures`"),
            ("no such folder", "tidy crates/lit", "there is no file or folder `crates/lit`"),
            ("no such registry", "bench --backend redis", "or etcd, not `redis`"),
            ("ZooKeeper only", "bench --backend etcd --java x", "`--java` needs `--backend zk`"),
            ("another option", "package --save", "`package` takes `--keep`, not `--save`"),
            ("another option", "deploy --apply", "`deploy` takes `--write`, not `--apply`"),
            ("another option", "demo --round 1", "and `--rounds N` only, not `--round`"),
        ];
        for (case, line, expected) in rows {
            let message = usage_error(line);
            assert!(message.contains(expected), "{case}: {message}");
            assert!(message.contains("cargo xtask help"), "{case}: {message}");
        }
    }

    #[test]
    fn readme_shows_the_printed_list_of_commands() {
        let transcript = format!("```text\n$ cargo xtask help\n{}```\n", list());
        assert!(include_str!("../README.md").contains(&transcript), "expected:\n{transcript}");
    }
}
