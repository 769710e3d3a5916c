//! Rules for the dependencies: licences, sources and forbidden crates by cargo-deny, and published
//! advisories by cargo-audit.

use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use crate::folders::files_below;
use crate::program::install;
use crate::steps::{Steps, output, run};
use crate::{Error, workspace};

/// Versions of the tools.
const DENY: &str = "=0.20.2";
const AUDIT: &str = "=0.22.2";

/// A change of `deny.toml` by which the dependencies break a rule.
struct BrokenRule {
    check: &'static str,
    rule: &'static str,
    replacement: &'static str,
    /// A part of the report.
    report: &'static str,
}

/// A check that accepts everything would pass, too.
const BROKEN_RULES: [BrokenRule; 3] = [
    BrokenRule {
        check: "licenses",
        rule: "    \"Unicode-3.0\",\n",
        replacement: "",
        report: "error[rejected]",
    },
    BrokenRule {
        check: "bans",
        rule: "{ crate = \"native-tls\"",
        replacement: "{ crate = \"tokio\"",
        report: "error[banned]",
    },
    BrokenRule {
        check: "sources",
        rule: "unknown-registry = \"deny\"",
        replacement: "unknown-registry = \"deny\"\nallow-registry = []",
        report: "error[source-not-allowed]",
    },
];

/// Checks the dependencies by the rules of `deny.toml`.
pub(crate) fn check() -> Result<(), Error> {
    let mut steps = Steps::begin();
    run_steps(&mut steps)?;
    steps.end("cargo xtask deny")
}

pub(crate) fn run_steps(steps: &mut Steps) -> Result<(), Error> {
    let deny = install(steps, "cargo-deny", DENY, &[])?;
    let rules = workspace().join("deny.toml");
    steps.step("dependencies", || {
        run(&mut deny_command(&deny, &rules, &["licenses", "bans", "sources"]))
    })?;
    steps.step("refused dependencies", || {
        BROKEN_RULES.iter().try_for_each(|rule| check_broken_rule(&deny, &rules, rule))
    })
}

fn deny_command(deny: &Path, rules: &Path, checks: &[&str]) -> Command {
    let mut command = Command::new(deny);
    command.current_dir(workspace()).arg("--config").arg(rules);
    command.args(["check", "--hide-inclusion-graph"]).args(checks);
    command
}

fn check_broken_rule(deny: &Path, rules: &Path, broken: &BrokenRule) -> Result<(), Error> {
    let BrokenRule { check, rule, replacement, report } = broken;
    let text = fs::read_to_string(rules).map_err(Error::file("read", rules))?;
    let folder = tempfile::tempdir().map_err(Error::file("create a folder for", rules))?;
    let copy = folder.path().join("deny.toml");
    fs::write(&copy, text.replacen(rule, replacement, 1)).map_err(Error::file("write", &copy))?;
    let mut command = deny_command(deny, &copy, &[check]);
    let output = output(&mut command)?;
    let found = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && found.contains(report) {
        return Ok(());
    }
    Err(Error::Dependencies(format!(
        "`{rule}` of deny.toml is `{replacement}`, and cargo-deny reports no `{report}`:\n{found}"
    )))
}

/// Fails unless a folder has advisories.
///
/// cargo-audit checks each advisory that it finds, but accepts a database without any, such as an
/// interrupted clone.
fn check_database(database: &Path) -> Result<(), Error> {
    let crates = database.join("crates");
    let is_advisory = |file: &PathBuf| file.extension().is_some_and(|end| end == "md");
    if crates.is_dir() && files_below(&crates)?.iter().any(is_advisory) {
        return Ok(());
    }
    let text =
        "valid is the folder of an advisory database, with advisories in its folder `crates`";
    Err(Error::Usage(format!("`advisories {}`: {text}", database.display())))
}

/// Compares the locked dependencies with a local database of advisories, a clone of
/// `advisory-db` of RustSec.
pub(crate) fn advisories(arguments: &[String]) -> Result<(), Error> {
    let [database] = arguments else {
        let text = "`advisories` takes the folder of a database, such as a clone of RustSec's";
        return Err(Error::Usage(format!("{text}, not `{}`", arguments.join(" "))));
    };
    // cargo-audit runs in the root of the workspace.
    let given = Path::new(database);
    let database = path::absolute(given).map_err(Error::file("find", given))?;
    check_database(&database)?;
    let mut steps = Steps::begin();
    let audit = install(&mut steps, "cargo-audit", AUDIT, &["--no-default-features"])?;
    let mut command = Command::new(audit);
    command.current_dir(workspace()).args(["audit", "--no-fetch", "--deny", "warnings", "--db"]);
    steps.command("advisories", command.arg(database))?;
    steps.end("cargo xtask advisories")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_without_advisories_is_refused() {
        let database = tempfile::tempdir().unwrap();
        let crates = database.path().join("crates/serde");
        let message = || check_database(database.path()).unwrap_err().to_string();
        assert!(message().contains("with advisories in its folder `crates`"), "{}", message());
        fs::create_dir_all(&crates).unwrap();
        fs::write(crates.join("README.txt"), "").unwrap();
        assert!(message().contains("with advisories in its folder `crates`"), "{}", message());
        fs::write(crates.join("RUSTSEC-2026-9999.md"), "").unwrap();
        check_database(database.path()).unwrap();
    }
}
