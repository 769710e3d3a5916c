//! `cargo xtask etcd`: tests the registry on etcd with newer servers than Debian's. Other tasks
//! find or install Debian's.

use std::path::{Path, PathBuf};
use std::process::Command;

use etcd_fixture::Installation;

use crate::steps::{Steps, cargo, run};
use crate::{Error, workspace};

/// Folders below `crates/dev/etcd-fixture/go`, each with a pinned version of the server.
const VERSIONS: [&str; 3] = ["v3.5", "v3.6", "v3.7"];
const TEST: &str = "test -p reg-center-etcd --all-features";

/// Finds an etcd server, else installs Debian's.
pub(crate) fn ensure() -> Result<(), Error> {
    println!("found {}", Installation::ensure()?);
    Ok(())
}

/// Builds each version from the Go module proxy, and runs the tests with it, even after failures.
pub(crate) fn test_versions(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::begin();
    for version in chosen(arguments)? {
        let server = server(workspace(), version);
        let test = || {
            run(&mut build(workspace(), version, &server))?;
            run(cargo(TEST).env("ETCD_BINARY", &server))
        };
        steps.attempt(&format!("etcd {version}"), test);
    }
    steps.end("cargo xtask etcd")
}

/// Returns the versions that the arguments name; all without arguments.
fn chosen(arguments: &[String]) -> Result<Vec<&'static str>, Error> {
    if arguments.is_empty() {
        return Ok(VERSIONS.to_vec());
    }
    let known = |name: &String| VERSIONS.into_iter().find(|version| version == name);
    let unknown = |name: &String| {
        Error::Usage(format!("`etcd` takes {}, not `{name}`", VERSIONS.join(" and ")))
    };
    arguments.iter().map(|name| known(name).ok_or_else(|| unknown(name))).collect()
}

fn server(workspace: &Path, version: &str) -> PathBuf {
    workspace.join("target").join(format!("etcd-{version}")).join("etcd")
}

/// Returns the command that builds a server. `go.sum` pins all of its sources.
fn build(workspace: &Path, version: &str, server: &Path) -> Command {
    let mut command = Command::new("go");
    command
        .args(["build", "-mod=readonly", "-o"])
        .arg(server)
        .arg(".")
        .current_dir(workspace.join("crates/dev/etcd-fixture/go").join(version));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_of(line: &str) -> Result<Vec<&'static str>, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        chosen(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn all_versions_are_tested_or_the_named_ones() {
        assert_eq!(chosen_of(""), Ok(VERSIONS.to_vec()));
        assert_eq!(chosen_of("v3.6"), Ok(vec!["v3.6"]));
        let error = chosen_of("v3.6 v2").unwrap_err();
        assert!(error.starts_with("`etcd` takes v3.5 and v3.6 and v3.7, not `v2`"), "{error}");
    }

    /// A version without a pinned sum would be another one tomorrow.
    #[test]
    fn each_version_is_pinned() {
        for version in VERSIONS {
            let folder = workspace().join("crates/dev/etcd-fixture/go").join(version);
            let module = std::fs::read_to_string(folder.join("go.mod")).unwrap();
            let name = format!("go.etcd.io/etcd/server/v3 {version}.");
            let line = module.lines().find(|line| line.contains(&name));
            let full = line.unwrap_or_else(|| panic!("{version}: no {name} in {module}")).trim();
            let full = full.strip_prefix("require ").unwrap_or(full);
            let sums = std::fs::read_to_string(folder.join("go.sum")).unwrap();
            assert!(sums.lines().any(|line| line.starts_with(full)), "{full} has no sum");
        }
    }
}
