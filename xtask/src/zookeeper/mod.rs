//! `cargo xtask zookeeper` and `zk`: finds, installs or downloads a server for the tests.

mod release;

use std::env;
use std::os::unix::process::CommandExt as _;

use zookeeper_fixture::Installation;

use crate::Error;
use crate::error::with_causes;
use crate::steps::cargo;

/// Finds a ZooKeeper server, else installs Debian's, else downloads a pinned release.
pub(crate) fn ensure() -> Result<(), Error> {
    let installation = match Installation::ensure() {
        Ok(installation) => installation,
        // A user who has selected a server does not want another one.
        Err(missing) if env::var_os("ZOOKEEPER_HOME").is_some() => return Err(missing.into()),
        Err(missing) => download(&missing)?,
    };
    eprintln!("found {installation}");
    Ok(())
}

/// Runs a server in the foreground.
pub(crate) fn serve() -> Result<(), Error> {
    ensure()?;
    let mut command = cargo("run --quiet -p zookeeper-fixture");
    let line = crate::steps::line(&command);
    // The server prints its address, which callers read from the output.
    eprintln!("$ {line}");
    // Replaces this process, as cargo does, so that signals reach the server's owner.
    Err(Error::Start { line, source: command.exec() })
}

/// Downloads the pinned release. Fails with the errors of both ways to get a server.
fn download(missing: &zookeeper_fixture::Error) -> Result<Installation, Error> {
    let downloaded = release::download().and_then(|()| Ok(Installation::locate()?));
    downloaded.map_err(|error| Error::NoZookeeper {
        installing: missing.to_string(),
        downloading: with_causes(&error),
    })
}
