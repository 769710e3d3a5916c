//! `cargo xtask verify`: fault scenarios, on a simulated cluster or with real processes.

use crate::backend::Backend;
use crate::background::Background;
use crate::program::Programs;
use crate::steps::{Steps, cargo, run};
use crate::{Error, etcd, postgres, workspace};

/// Tests of the harness on servers that an ordinary test run does not need.
const HARNESS: &str = "test -p verify --lib --test it -- --ignored";

/// The runner and its workers, which the runner starts from its own folder.
const PROGRAMS: &str = "--bin ejob-verify --bin ejob-worker";

/// Scenarios that each change runs on the other registries: a worker is killed, a worker is
/// stopped, and the registry is down.
const SOME: [&str; 6] = ["--scenario", "F01", "--scenario", "F05", "--scenario", "F17"];

/// Runs some scenarios on each registry but ZooKeeper, on which `cargo xtask test` runs more.
///
/// Those of the registries run side by side, because they mostly wait for fires and sessions.
pub(crate) fn run_some(steps: &mut Steps) -> Result<(), Error> {
    let programs = steps.step("build of scenarios", || Programs::build_as_tested(PROGRAMS))?;
    let backends = [Backend::Sqlite, Backend::Postgres, Backend::Etcd];
    let start = |backend: Backend| {
        backend.ensure()?;
        let mut scenarios = programs.command("ejob-verify")?;
        scenarios.args(["--backend", backend.name()]).args(SOME).current_dir(workspace());
        Background::start(&format!("scenarios on {}", backend.name()), scenarios)
    };
    let started: Result<Vec<_>, _> = backends.into_iter().map(start).collect();
    started?.into_iter().try_for_each(|scenarios| steps.join(scenarios))
}

/// Builds and runs the scenarios with the runner's own arguments.
pub(crate) fn run_scenarios(arguments: &[String]) -> Result<(), Error> {
    if let Some(backend) = backend(arguments) {
        backend.ensure()?;
    }
    let programs = Programs::build_as_tested(PROGRAMS)?;
    run(programs.command("ejob-verify")?.args(arguments).current_dir(workspace()))
}

/// Runs the tests of the harness on PostgreSQL and etcd.
pub(crate) fn test_harness() -> Result<(), Error> {
    postgres::ensure()?;
    etcd::ensure()?;
    run(&mut cargo(HARNESS))
}

/// Returns the registry of the scenarios; `None` for the simulated one, and for a name that the
/// runner rejects. ZooKeeper is the default. Of several backends the last one counts.
fn backend(arguments: &[String]) -> Option<Backend> {
    let mut names = arguments.windows(2).filter(|pair| pair[0] == "--backend");
    names.next_back().map_or(Some(Backend::Zookeeper), |pair| Backend::of(&pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_need_the_server_of_their_backend() {
        let rows = [
            ("", Some(Backend::Zookeeper)),
            ("--scenario F05", Some(Backend::Zookeeper)),
            ("--backend zk", Some(Backend::Zookeeper)),
            ("--backend memory", None),
            ("--backend sqlite --scenario F05", Some(Backend::Sqlite)),
            ("--backend postgres --scenario F05", Some(Backend::Postgres)),
            ("--nightly --backend etcd --seed 3", Some(Backend::Etcd)),
            ("--backend etcd --backend postgres", Some(Backend::Postgres)),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(backend(&arguments), expected, "{line}");
        }
    }
}
