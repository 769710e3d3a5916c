//! `cargo xtask zookeeper` and `zk`: finds, installs or downloads a server for the tests.

mod release;

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use zookeeper_fixture::Installation;

use crate::Error;
use crate::error::with_causes;
use crate::steps::{cargo, run, succeeds};

const JARS: [&str; 2] = ["libzookeeper-java", "libslf4j-java"];
const JAVA: &str = "default-jre-headless";

/// Finds a ZooKeeper server, else installs Debian's, else downloads a pinned release.
pub(crate) fn ensure() -> Result<(), Error> {
    let installation = match Installation::locate() {
        Ok(installation) => installation,
        Err(missing) => obtain(missing)?,
    };
    println!("ZooKeeper: {installation}");
    Ok(())
}

/// Runs a server in the foreground.
pub(crate) fn serve() -> Result<(), Error> {
    ensure()?;
    let mut command = cargo("run --quiet -p zookeeper-fixture");
    let line = crate::steps::line(&command);
    println!("$ {line}");
    // Replaces this process, as cargo does, so that signals reach the server's owner.
    Err(Error::Start { line, source: command.exec() })
}

/// A way to install the missing parts.
type Way = fn() -> Result<(), Error>;

/// Tries each way to install the missing parts. Fails with the errors of all ways.
fn obtain(missing: zookeeper_fixture::Error) -> Result<Installation, Error> {
    let mut attempts = vec![missing.to_string()];
    if env::var_os("ZOOKEEPER_HOME").is_some() {
        // A user who has selected a server does not want another one.
        return Err(Error::NoZookeeper { attempts });
    }
    let needs_java = matches!(missing, zookeeper_fixture::Error::NoJava);
    let ways: [(&str, Way); 2] = [
        ("installing Debian's packages", install_packages),
        ("downloading a pinned release", release::download),
    ];
    // A download has jars only, so that it cannot replace a missing Java.
    for (way, obtain) in ways.into_iter().take(if needs_java { 1 } else { 2 }) {
        match obtain().and_then(|()| Ok(Installation::locate()?)) {
            Ok(installation) => return Ok(installation),
            Err(error) => attempts.push(format!("{way}: {}", with_causes(&error))),
        }
    }
    Err(Error::NoZookeeper { attempts })
}

/// Installs a Java if there is none, and ZooKeeper's jars, as root or by `sudo`.
fn install_packages() -> Result<(), Error> {
    run(apt_get().arg("update"))?;
    // A separate command, because a download can replace the jars but not Java.
    if !has_java() {
        run(install().arg(JAVA))?;
    }
    run(install().args(JARS))
}

/// Returns an `apt-get install` command, to which the caller adds the packages.
pub(crate) fn install() -> Command {
    let mut command = apt_get();
    command.args(["install", "-y", "--no-install-recommends"]);
    command
}

fn has_java() -> bool {
    succeeds(Command::new("java").arg("-version"))
}

/// Returns an `apt-get` command that needs no input and waits for other installations.
pub(crate) fn apt_get() -> Command {
    let settings = ["DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"];
    let mut command = privileged();
    command.args(settings);
    command
}

/// Returns a command that runs a program as root, directly or by `sudo`. The caller adds variables
/// of the environment, the program and its arguments.
pub(crate) fn privileged() -> Command {
    if rustix::process::geteuid().is_root() {
        Command::new("env")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["-n", "env"]);
        sudo
    }
}
