//! `cargo xtask lint`: checks of formatting, wording, lints, dependencies, packages, documentation
//! and deployment. It never changes the sources.

use std::process::Command;

use crate::steps::{Steps, cargo, niced, run as run_command, stdout};
use crate::{Error, dependencies, deploy, package, site, tidy, workspace};

/// Runs all checks.
pub(crate) fn run() -> Result<(), Error> {
    let mut steps = Steps::begin();
    run_steps(&mut steps)?;
    steps.end("cargo xtask lint")
}

/// Runs all checks, those without a build first. Long builds have a lower priority, because tests
/// with Java may run beside them.
pub(crate) fn run_steps(steps: &mut Steps) -> Result<(), Error> {
    let lints = "clippy --workspace --all-targets --all-features -- -D warnings";
    steps.step("declared Rust version", check_rust_version)?;
    steps.command("formatting", &mut cargo("fmt --all --check"))?;
    steps.step("tidy", || tidy::check(&[]))?;
    dependencies::run_steps(steps)?;
    package::pack(steps)?;
    steps.command("lints", &mut niced(&cargo(lints)))?;
    // With those of the other packages, features that its manifest lacks would be enabled, too.
    steps.command("ejob without optional features", &mut niced(&cargo("check -p cli")))?;
    deploy::run(steps)?;
    site::run(steps)
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
