//! Search for PostgreSQL's programs on this machine.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use server_fixture::Packages;

use crate::Error;

/// The programs that the fixture runs.
const PROGRAMS: [&str; 4] = ["postgres", "initdb", "pg_basebackup", "psql"];

const PACKAGES: Packages = Packages {
    server: "PostgreSQL",
    names: &["postgresql"],
    // Keeps the package from creating a database cluster, which it would start as a service.
    files: &[("/etc/postgresql-common/createcluster.conf", "create_main_cluster = false\n")],
    has_service: true,
    variable: "POSTGRES_BIN",
    alternative: "let POSTGRES_BIN name the folder of its programs",
};

/// A PostgreSQL server that can be started on this machine.
///
/// Two places are searched in this order, and the first with a server is used:
///
/// 1. the folder in the environment variable `POSTGRES_BIN`. If the variable is set, only this
///    place is searched, so that a typing mistake does not select another server;
/// 2. Debian's folders `/usr/lib/postgresql/<version>/bin`, the newest version first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    folder: PathBuf,
}

impl Installation {
    /// Finds a PostgreSQL server, and installs Debian's `postgresql` if there is none.
    ///
    /// An installation needs root or `sudo -n`. It neither creates nor starts a database cluster.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] with the searched places and the failed attempt to install.
    pub fn ensure() -> Result<Installation, Error> {
        PACKAGES.ensure(Self::locate)
    }

    /// Finds a PostgreSQL server without installing one.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] with the searched places.
    pub fn locate() -> Result<Installation, Error> {
        let home = env::var_os("POSTGRES_BIN");
        let folder = find_programs(home.as_deref(), Path::new("/usr/lib/postgresql"))
            .map_err(|searched| PACKAGES.missing(searched))?;
        Ok(Installation { folder })
    }

    /// Returns a command that runs a program without privileges, and ends with this process.
    pub(crate) fn command(&self, program: &str) -> Result<Command, Error> {
        let mut command = server_fixture::unprivileged(&self.folder.join(program))?;
        // Settings of the user must not direct the programs to another server.
        for (name, _) in env::vars_os().filter(|(name, _)| is_setting(name)) {
            command.env_remove(name);
        }
        // The home folder of this process may be closed to the server's user.
        command.env("LC_ALL", "C").env("HOME", "/nonexistent").stdin(Stdio::null());
        Ok(command)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgreSQL in {}", self.folder.display())
    }
}

/// Returns true for an environment variable of PostgreSQL's client library, such as `PGHOST`.
fn is_setting(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.strip_prefix("PG").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_uppercase()))
    })
}

/// Returns the folder that has all programs, or the searched places.
fn find_programs(home: Option<&OsStr>, debian: &Path) -> Result<PathBuf, Vec<String>> {
    let missing = |folder: &Path| PROGRAMS.iter().find(|name| !folder.join(name).is_file());
    if let Some(home) = home {
        let home = PathBuf::from(home);
        return match missing(&home) {
            None => Ok(home),
            Some(name) => Err(vec![format!("$POSTGRES_BIN: no {name} in {}", home.display())]),
        };
    }
    let mut searched = vec!["$POSTGRES_BIN: is not set".to_owned()];
    let entries = fs::read_dir(debian).into_iter().flatten().flatten();
    let mut versions: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    if versions.is_empty() {
        searched.push(format!("Debian's programs: no version in {}", debian.display()));
    }
    for version in versions.iter().rev() {
        let folder = debian.join(version.to_string()).join("bin");
        match missing(&folder) {
            None => return Ok(folder),
            Some(name) => {
                searched.push(format!("Debian's programs: no {name} in {}", folder.display()));
            }
        }
    }
    Err(searched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_complete_version_is_found_and_a_named_folder_is_the_only_one_searched() {
        let debian = tempfile::tempdir().unwrap();
        let nothing = find_programs(None, debian.path()).unwrap_err();
        assert_eq!(nothing.len(), 2, "{nothing:?}");
        for (version, programs) in [("9", &PROGRAMS[..]), ("15", &PROGRAMS[..]), ("16", &["psql"])]
        {
            let bin = debian.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            programs.iter().for_each(|name| fs::write(bin.join(name), "").unwrap());
        }
        let found = find_programs(None, debian.path()).unwrap();
        assert_eq!(found, debian.path().join("15/bin"), "16 is incomplete, and 9 is older");
        let named = debian.path().join("16/bin");
        let error = find_programs(Some(named.as_os_str()), debian.path()).unwrap_err();
        assert_eq!(error, [format!("$POSTGRES_BIN: no postgres in {}", named.display())]);
    }

    #[test]
    fn only_settings_of_the_client_library_are_removed() {
        let rows = [("PGHOST", true), ("PGPASSWORD", true), ("PG_COLOR", false), ("PATH", false)];
        for (name, expected) in rows {
            assert_eq!(is_setting(OsStr::new(name)), expected, "{name}");
        }
    }
}
