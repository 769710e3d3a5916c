//! `cargo xtask verify`: fault scenarios, on a simulated cluster or with real processes.

use crate::steps::{cargo, run};
use crate::{Error, postgres, zookeeper};

/// Tests of the harness on servers that an ordinary test run does not need.
const HARNESS: &str = "test -p verify --lib --test it -- --ignored";

/// Builds and runs the scenarios with the runner's own arguments.
///
/// The workers are built first, because the runner starts them from its own folder.
pub(crate) fn run_scenarios(arguments: &[String]) -> Result<(), Error> {
    match needed_server(arguments) {
        Some(Server::Zookeeper) => zookeeper::ensure()?,
        Some(Server::Postgres) => postgres::ensure()?,
        None => {}
    }
    run(&mut cargo("build -p verify --bins"))?;
    run(cargo("run --quiet -p verify --bin ejob-verify --").args(arguments))
}

/// Runs the tests of the harness on PostgreSQL and etcd.
pub(crate) fn test_harness() -> Result<(), Error> {
    postgres::ensure()?;
    run(&mut cargo(HARNESS))
}

/// A server that this task installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Zookeeper,
    Postgres,
}

/// Returns the server that the scenarios need and do not install themselves, as they do with etcd.
/// ZooKeeper is the default. Of several backends the last one counts.
fn needed_server(arguments: &[String]) -> Option<Server> {
    let mut names = arguments.windows(2).filter(|pair| pair[0] == "--backend");
    match names.next_back().map(|pair| pair[1].as_str()) {
        Some("memory" | "sqlite" | "etcd") => None,
        Some("postgres") => Some(Server::Postgres),
        Some(_) | None => Some(Server::Zookeeper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_need_the_server_of_their_backend() {
        let rows = [
            ("", Some(Server::Zookeeper)),
            ("--scenario F05", Some(Server::Zookeeper)),
            ("--backend zk", Some(Server::Zookeeper)),
            ("--backend memory", None),
            ("--backend sqlite --scenario F05", None),
            ("--backend postgres --scenario F05", Some(Server::Postgres)),
            ("--nightly --backend etcd --seed 3", None),
            ("--backend etcd --backend postgres", Some(Server::Postgres)),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(needed_server(&arguments), expected, "{line}");
        }
    }
}
