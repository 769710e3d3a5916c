//! Search for an etcd server on this machine.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use server_fixture::Packages;

use crate::{Error, SharedError};

/// The variable that names the program of another version.
const VARIABLE: &str = "ETCD_BINARY";
/// The program of Debian's package `etcd-server`.
const DEBIAN: &str = "/usr/bin/etcd";

const PACKAGES: Packages = Packages {
    server: "etcd",
    names: &["etcd-server"],
    files: &[],
    has_service: true,
    variable: VARIABLE,
    alternative: "let ETCD_BINARY name the program of another version",
};

/// An etcd server that can be started on this machine.
///
/// The program is `$ETCD_BINARY` if the variable is set, else `etcd` on `$PATH`, else Debian's
/// `/usr/bin/etcd`. If the variable is set, only that program is used, so that a typing mistake
/// does not select another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    pub(crate) program: PathBuf,
    version: String,
}

impl Installation {
    /// Finds an etcd server, and installs Debian's `etcd-server` if there is none.
    ///
    /// An installation needs root or `sudo -n`, and starts no service.
    ///
    /// # Errors
    /// [`SharedError::NotInstalled`] with the searched places and the failed attempt to install.
    pub fn ensure() -> Result<Installation, Error> {
        Ok(PACKAGES.ensure(search)?)
    }

    /// Finds an etcd server without installing one.
    ///
    /// # Errors
    /// [`SharedError::NotInstalled`] with the searched places.
    pub fn locate() -> Result<Installation, Error> {
        Ok(search()?)
    }

    /// Returns the version that the program reports, such as `3.4.23`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "etcd {} ({})", self.version, self.program.display())
    }
}

fn search() -> Result<Installation, SharedError> {
    let (mut searched, named) = (Vec::new(), env::var_os(VARIABLE).map(PathBuf::from));
    for program in candidates(named, env::var_os("PATH").as_deref()) {
        match version_of(&program) {
            Ok(version) => return Ok(Installation { program, version }),
            Err(cause) => searched.push(format!("{}: {cause}", program.display())),
        }
    }
    Err(PACKAGES.missing(searched))
}

/// Returns the programs to try, in order: the named one alone, else those of the system.
fn candidates(named: Option<PathBuf>, path: Option<&std::ffi::OsStr>) -> Vec<PathBuf> {
    if let Some(named) = named {
        return vec![named];
    }
    let on_path = path.into_iter().flat_map(env::split_paths).map(|folder| folder.join("etcd"));
    let mut all: Vec<_> = on_path.filter(|program| program.is_file()).collect();
    all.push(PathBuf::from(DEBIAN));
    all
}

/// Runs the program to learn its version.
fn version_of(program: &Path) -> Result<String, String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: "));
    version.map(|version| version.trim().to_owned()).ok_or_else(|| "it is no etcd".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_program_replaces_all_others_and_debians_comes_last() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("etcd");
        std::fs::write(&own, "").unwrap();
        let path = env::join_paths([Path::new("/no/such/folder"), folder.path()]).unwrap();
        let debian = PathBuf::from(DEBIAN);
        let named = PathBuf::from("/opt/etcd-3.6");
        assert_eq!(candidates(Some(named.clone()), Some(&path)), [named]);
        assert_eq!(candidates(None, Some(&path)), [own, debian.clone()]);
        assert_eq!(candidates(None, None), [debian]);
    }

    #[test]
    fn program_that_is_no_etcd_is_refused_with_the_reason() {
        assert_eq!(version_of(Path::new("/bin/true")), Err("it is no etcd".to_owned()));
        let missing = version_of(Path::new("/no/such/etcd")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
    }
}
