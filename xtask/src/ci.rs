//! `cargo xtask ci`: checks of formatting, wording, lints, documentation and deployment, and the
//! tests that need a browser, Prometheus or other servers than ZooKeeper. It never changes the
//! sources.

use std::process::Command;

use crate::background::Background;
use crate::steps::{Steps, cargo, niced, run as run_command, stdout};
use crate::{
    Error, browser, dependencies, deploy, interop, monitoring, package, servers, site, tidy,
    workspace,
};

/// Checks formatting, wording, lints and documentation, and runs the tests on PostgreSQL, MariaDB
/// and etcd, with Prometheus, and in a browser. With `--interop` also runs the checks with Java.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::begin();
    let suite = match arguments {
        [] => None,
        [only] if only == "--interop" => {
            // The suite mostly waits for fires, and the lints run at a lower priority. Fires come
            // each second under any load, so that a failing check is run again. The table at the
            // end counts the tries.
            let mut suite = interop::prepare(&mut steps)?;
            suite.args(["--parts", "2", "--tries", "2"]);
            Some(Background::start("checks with Java", suite)?)
        }
        _ => {
            let found = arguments.join(" ");
            return Err(Error::Usage(format!("`ci` takes `--interop`, not `{found}`")));
        }
    };
    steps.step("declared Rust version", check_rust_version)?;
    dependencies::run_steps(&mut steps)?;
    package::pack(&mut steps)?;
    let lints = "clippy --workspace --all-targets --all-features -- -D warnings";
    steps.command("formatting", &mut cargo("fmt --all --check"))?;
    steps.step("tidy", || tidy::check(&[]))?;
    deploy::run(&mut steps)?;
    steps.command("lints", &mut niced(&cargo(lints)))?;
    // With those of the other packages, features that its manifest lacks would be enabled, too.
    steps.command("ejob without optional features", &mut niced(&cargo("check -p cli")))?;
    site::run(&mut steps)?;
    if let Some(suite) = suite {
        steps.join(suite)?;
    }
    // Not beside the suite with Java, which waits for fires.
    servers::test(&mut steps)?;
    monitoring::run(&mut steps)?;
    browser::run(&mut steps, &[])?;
    steps.end("cargo xtask ci")
}

/// Checks that the version of Rust in the manifest is enough.
///
/// If this is that version, all other steps show it.
fn check_rust_version() -> Result<(), Error> {
    let declared = env!("CARGO_PKG_RUST_VERSION");
    let version = stdout(Command::new("rustc").arg("--version"))?;
    if is_release_of(&version, declared) {
        println!("built with the declared version: {}", version.trim());
        return Ok(());
    }
    println!("if this fails, install it: rustup toolchain install {declared}");
    let mut check = Command::new("rustup");
    check.args(["run", declared, "cargo", "check", "--workspace", "--all-features"]);
    run_command(check.current_dir(workspace()).env("CARGO_TARGET_DIR", "target/declared-rust"))
}

/// Returns true if the line of `rustc --version` is of a release such as `1.95`.
fn is_release_of(line: &str, declared: &str) -> bool {
    let version = line.split(' ').nth(1).unwrap_or_default();
    version.strip_prefix(declared).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_version_covers_its_patches_only() {
        assert!(is_release_of("rustc 1.95.1 (0123abc 2026-03-01)", "1.95"));
        assert!(!is_release_of("rustc 1.950.0 (0123abc 2026-03-01)", "1.95"));
        assert!(!is_release_of("rustc 1.96.0-nightly (0123abc 2026-03-01)", "1.95"));
        assert!(!is_release_of("", "1.95"));
    }
}
