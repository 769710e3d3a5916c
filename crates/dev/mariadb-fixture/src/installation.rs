//! Search for MariaDB's programs on this machine.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use server_fixture::Packages;

use crate::Error;

/// The variable that names the folder of another version.
const VARIABLE: &str = "MARIADB_HOME";
/// The folder below which Debian installs the programs.
const DEBIAN: &str = "/usr";
/// Folders of programs, below that of an installation.
const FOLDERS: [&str; 3] = ["sbin", "bin", "scripts"];

const PACKAGES: Packages = Packages {
    server: "MariaDB",
    // The package `mariadb-server` has no more programs. It would create a database, a user of
    // this machine and a service.
    names: &["mariadb-server-core", "mariadb-client-core"],
    files: &[],
    has_service: false,
    variable: VARIABLE,
    alternative: "let MARIADB_HOME name the folder of an unpacked release",
};

/// A MariaDB server that can be started on this machine.
///
/// Two places are searched in this order, and the first with a server is used:
///
/// 1. the folder in the environment variable `MARIADB_HOME`, an unpacked release. If the variable
///    is set, only this place is searched, so that a typing mistake does not select another server;
/// 2. Debian's `/usr/sbin` and `/usr/bin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    home: PathBuf,
    server: PathBuf,
    installer: PathBuf,
    client: PathBuf,
    version: String,
}

impl Installation {
    /// Finds a MariaDB server, and installs Debian's packages if there is none.
    ///
    /// An installation needs root or `sudo -n`. The packages have no service.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] with the searched places and the failed attempt to install.
    pub fn ensure() -> Result<Installation, Error> {
        PACKAGES.ensure(Self::locate)
    }

    /// Finds a MariaDB server without installing one.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] with the searched places.
    pub fn locate() -> Result<Installation, Error> {
        let found = match env::var_os(VARIABLE) {
            Some(home) => find(Path::new(&home)).map_err(|cause| vec![cause]),
            None => find(Path::new(DEBIAN))
                .map_err(|cause| vec![format!("${VARIABLE}: is not set"), cause]),
        };
        found.map_err(|searched| PACKAGES.missing(searched))
    }

    /// Returns the version that the server reports, such as `10.11.19`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns a command that starts the server of a folder.
    pub(crate) fn server(&self, folder: &Path) -> Result<Command, Error> {
        self.with_options(&self.server, folder)
    }

    /// Returns a command that creates the data of a server in its folder.
    pub(crate) fn installer(&self, folder: &Path) -> Result<Command, Error> {
        self.with_options(&self.installer, folder)
    }

    fn with_options(&self, program: &Path, folder: &Path) -> Result<Command, Error> {
        let mut command = unprivileged(program)?;
        // Option files of the machine are for its own server.
        command.arg("--no-defaults").arg(format!("--basedir={}", self.home.display()));
        command.arg(format!("--datadir={}/data", folder.display()));
        // A server that starts removes the temporary tables of all others in the same folder.
        command.arg(format!("--tmpdir={}", folder.display()));
        Ok(command)
    }

    /// Returns a command that starts the client for SQL.
    pub(crate) fn client(&self) -> Result<Command, Error> {
        let mut command = unprivileged(&self.client)?;
        command.arg("--no-defaults");
        Ok(command)
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MariaDB {} ({})", self.version, self.server.display())
    }
}

/// Returns a command without the variables of this process, which could direct a program to another
/// server, and without its home folder, which may be closed to the server's user.
fn unprivileged(program: &Path) -> Result<Command, Error> {
    let mut command = server_fixture::unprivileged(program)?;
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("LC_ALL", "C").env("HOME", "/nonexistent").stdin(Stdio::null());
    Ok(command)
}

/// Returns the installation in a folder, or the reason why there is none.
fn find(home: &Path) -> Result<Installation, String> {
    let program = |name: &str| {
        let mut places = FOLDERS.iter().map(|folder| home.join(folder).join(name));
        let found = places.find(|place| place.is_file());
        found.ok_or_else(|| format!("{}: no {name} in its folders {FOLDERS:?}", home.display()))
    };
    let server = program("mariadbd")?;
    let version = version_of(&server)?;
    Ok(Installation {
        home: home.to_owned(),
        server,
        installer: program("mariadb-install-db")?,
        client: program("mariadb")?,
        version,
    })
}

/// Runs the server to learn its version.
fn version_of(server: &Path) -> Result<String, String> {
    let output = Command::new(server).args(["--no-defaults", "--version"]).output();
    let output = output.map_err(|error| format!("{}: {error}", server.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_once(" Ver ").and_then(|(_, rest)| rest.split_once("-MariaDB"));
    let version = version.map(|(version, _)| version.to_owned());
    version.ok_or_else(|| format!("{} reports no version of MariaDB", server.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates programs that print `text`.
    fn programs(home: &Path, files: &[&str], text: &str) {
        for file in files {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let script = home.join("script");
            fs::write(&script, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
            // Another process writes the program. A child that this one forks meanwhile would keep
            // it open for writing, and such a program cannot be executed.
            let copied = Command::new("install").arg("-m755").args([&script, &path]).status();
            assert!(copied.unwrap().success());
        }
    }

    #[test]
    fn programs_of_debian_and_of_an_unpacked_release_are_found_with_their_version() {
        let text = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64";
        let rows = [
            ("Debian", ["sbin/mariadbd", "bin/mariadb-install-db", "bin/mariadb"]),
            ("release", ["bin/mariadbd", "scripts/mariadb-install-db", "bin/mariadb"]),
        ];
        for (case, files) in rows {
            let home = tempfile::tempdir().unwrap();
            programs(home.path(), &files, text);
            let found = find(home.path()).unwrap();
            assert_eq!(found.version(), "10.11.19", "{case}");
            let paths = [found.server, found.installer, found.client];
            assert_eq!(paths, files.map(|file| home.path().join(file)), "{case}");
        }
    }

    #[test]
    fn missing_program_and_another_kind_of_server_are_named() {
        let home = tempfile::tempdir().unwrap();
        let missing = find(home.path()).unwrap_err();
        assert!(missing.contains("no mariadbd in its folders"), "{missing}");
        programs(home.path(), &["sbin/mariadbd"], "mysqld  Ver 8.0.36 for Linux on x86_64");
        let other = find(home.path()).unwrap_err();
        assert!(other.contains("reports no version of MariaDB"), "{other}");
        programs(home.path(), &["sbin/mariadbd"], "mariadbd  Ver 11.4.2-MariaDB for Linux");
        let missing = find(home.path()).unwrap_err();
        assert!(missing.contains("no mariadb-install-db in"), "{missing}");
    }
}
