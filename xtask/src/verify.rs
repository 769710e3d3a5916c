//! `cargo xtask verify`: fault scenarios, on a simulated cluster or with real processes.

use crate::steps::{cargo, run};
use crate::{Error, zookeeper};

/// Builds and runs the scenarios with the runner's own arguments.
///
/// The workers are built first, because the runner starts them from its own folder.
pub(crate) fn run_scenarios(arguments: &[String]) -> Result<(), Error> {
    if needs_zookeeper(arguments) {
        zookeeper::ensure()?;
    }
    run(&mut cargo("build -p verify --bins"))?;
    run(cargo("run --quiet -p verify --bin ejob-verify --").args(arguments))
}

/// Returns whether the scenarios need ZooKeeper. Real processes are the default.
fn needs_zookeeper(arguments: &[String]) -> bool {
    let other = [["--backend", "memory"], ["--backend", "sqlite"]];
    !arguments.windows(2).any(|pair| other.iter().any(|other| pair == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_backends_need_no_zookeeper() {
        let rows = [
            ("", true),
            ("--scenario F05", true),
            ("--backend zk", true),
            ("--backend memory", false),
            ("--backend sqlite --scenario F05", false),
            ("--nightly --backend memory --seed 3", false),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(needs_zookeeper(&arguments), expected, "{line}");
        }
    }
}
