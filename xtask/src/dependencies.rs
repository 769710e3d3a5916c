//! Rules for the dependencies: licences, sources and forbidden crates by cargo-deny, and published
//! advisories by cargo-audit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{Steps, cargo, run};
use crate::{Error, workspace};

/// The tools, built without optimization: they run for seconds, and their build takes minutes.
const DENY: &str = "install cargo-deny --version =0.20.2 --locked --debug --root";
const AUDIT: &str =
    "install cargo-audit --version =0.22.2 --no-default-features --locked --debug --root";

/// Rules that a copy of `deny.toml` breaks, each with a part of the report. A check that accepts
/// everything would pass, too.
const BROKEN_RULES: [(&str, &str, &str); 3] = [
    ("licenses", "    \"Unicode-3.0\",\n", ""),
    ("bans", "{ crate = \"native-tls\"", "{ crate = \"tokio\""),
    ("sources", "unknown-registry = \"deny\"", "unknown-registry = \"deny\"\nallow-registry = []"),
];

/// Checks the dependencies by the rules of `deny.toml`.
pub(crate) fn check() -> Result<(), Error> {
    let mut steps = Steps::begin();
    run_steps(&mut steps)?;
    steps.end("cargo xtask deny")
}

pub(crate) fn run_steps(steps: &mut Steps) -> Result<(), Error> {
    let deny = install(steps, "cargo-deny", DENY)?;
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

fn check_broken_rule(
    deny: &Path,
    rules: &Path,
    (check, rule, broken): &(&str, &str, &str),
) -> Result<(), Error> {
    let text = fs::read_to_string(rules).map_err(Error::file("read", rules))?;
    let folder = tempfile::tempdir().map_err(Error::file("create a folder for", rules))?;
    let copy = folder.path().join("deny.toml");
    let changed = text.replacen(rule, broken, 1);
    fs::write(&copy, &changed).map_err(Error::file("write", &copy))?;
    let mut command = deny_command(deny, &copy, &[check]);
    let line = crate::steps::line(&command);
    let output = command.output().map_err(|source| Error::Start { line, source })?;
    if changed != text && !output.status.success() {
        return Ok(());
    }
    Err(Error::Dependencies(format!(
        "cargo-deny accepts the dependencies although `{rule}` of deny.toml is `{broken}`"
    )))
}

/// Compares the locked dependencies with a local database of advisories, a clone of
/// `advisory-db` of RustSec.
pub(crate) fn advisories(arguments: &[String]) -> Result<(), Error> {
    let [database] = arguments else {
        let text = "`advisories` takes the folder of a database, such as a clone of RustSec's";
        return Err(Error::Usage(format!("{text}, not `{}`", arguments.join(" "))));
    };
    let database = Path::new(database);
    if !database.join("crates").is_dir() {
        let text = "valid is the folder of an advisory database, with a folder `crates`";
        return Err(Error::Usage(format!("`advisories {}`: {text}", database.display())));
    }
    let mut steps = Steps::begin();
    let audit = install(&mut steps, "cargo-audit", AUDIT)?;
    let mut command = Command::new(audit);
    command.current_dir(workspace()).args(["audit", "--no-fetch", "--deny", "warnings", "--db"]);
    steps.command("advisories", command.arg(database))?;
    steps.end("cargo xtask advisories")
}

/// Builds a tool in the target folder, and returns its path.
fn install(steps: &mut Steps, name: &'static str, line: &str) -> Result<PathBuf, Error> {
    let tools = workspace().join("target/tools");
    steps.command(name, cargo(line).arg(&tools))?;
    Ok(tools.join("bin").join(name))
}
