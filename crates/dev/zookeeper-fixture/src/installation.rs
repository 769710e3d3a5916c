//! Search for ZooKeeper's jars and a Java on this machine.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use server_fixture::Packages;

use crate::{Error, SharedError};

/// The release that `cargo xtask zookeeper` downloads if no ZooKeeper is installed.
pub const PINNED_RELEASE: &str = "3.8.6";

const PACKAGES: Packages = Packages {
    server: "ZooKeeper",
    names: &["libzookeeper-java", "libslf4j-java", "default-jre-headless"],
    files: &[],
    has_service: false,
    variable: "ZOOKEEPER_HOME",
    alternative: "let `cargo xtask zookeeper` download a release, \
                  or let ZOOKEEPER_HOME name the folder of an unpacked Apache release 3.8",
};
/// The packages for a machine that has a Java, which may be another one than Debian's.
const PACKAGES_WITHOUT_JAVA: Packages =
    Packages { names: &["libzookeeper-java", "libslf4j-java"], ..PACKAGES };

/// A ZooKeeper server that can be started on this machine.
///
/// Three places are searched in this order, and the first with a server is used:
///
/// 1. the folder in the environment variable `ZOOKEEPER_HOME`, an unpacked Apache release. If the
///    variable is set, only this place is searched, so that a typing mistake does not select
///    another server;
/// 2. Debian's jars, `/usr/share/java/zookeeper.jar` and `/usr/share/java/slf4j-simple.jar`;
/// 3. [`Installation::download_folder`], where `cargo xtask zookeeper` puts a pinned release.
///
/// Java is `$JAVA_HOME/bin/java` if that exists, else the `java` on `$PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    pub(crate) java: PathBuf,
    pub(crate) class_path: OsString,
    origin: String,
}

impl Installation {
    /// Finds a ZooKeeper server and a Java, and installs Debian's packages for what is missing.
    ///
    /// An installation needs root or `sudo -n`. The packages have no service.
    ///
    /// # Errors
    /// [`SharedError::NotInstalled`] with the searched places and the failed attempt to install.
    pub fn ensure() -> Result<Installation, Error> {
        let packages = match find_java_of_environment() {
            Some(_) => PACKAGES_WITHOUT_JAVA,
            None => PACKAGES,
        };
        Ok(packages.ensure(|| SearchPlaces::of_this_machine().locate())?)
    }

    /// Finds a ZooKeeper server and a Java on this machine, without installing them.
    ///
    /// # Errors
    /// [`SharedError::NotInstalled`] with the searched places and the packages to install.
    pub fn locate() -> Result<Installation, Error> {
        Ok(SearchPlaces::of_this_machine().locate()?)
    }

    /// Uses the server of an unpacked release: a folder with `lib/*.jar` and, for the
    /// configuration of its log, `conf`.
    ///
    /// # Errors
    /// [`SharedError::NotInstalled`] if `home` has no server, or if there is no Java.
    pub fn from_home(home: &Path) -> Result<Installation, Error> {
        let jars = Jars::of_release(home).map_err(|missing| PACKAGES.missing(vec![missing]))?;
        Ok(jars.with_java(find_java_of_environment())?)
    }

    /// Returns a command that runs a class of the server's jars, such as its tool that prints
    /// transaction logs. The caller adds the arguments.
    #[must_use]
    pub fn tool(&self, class: &str) -> Command {
        let mut command = Command::new(&self.java);
        command.arg("-cp").arg(&self.class_path).arg(class);
        command
    }

    /// Returns the folder for a downloaded release: `target/zookeeper-<version>` of this workspace.
    #[must_use]
    pub fn download_folder() -> PathBuf {
        let this_crate = Path::new(env!("CARGO_MANIFEST_DIR"));
        // This crate is three folders below the root of the workspace.
        let workspace = this_crate.ancestors().nth(3).unwrap_or(this_crate);
        workspace.join("target").join(format!("zookeeper-{PINNED_RELEASE}"))
    }
}

impl fmt::Display for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} run by {}", self.origin, self.java.display())
    }
}

/// The searched places, as values, so that tests can replace them.
#[derive(Debug)]
struct SearchPlaces {
    zookeeper_home: Option<PathBuf>,
    system_jars: PathBuf,
    download_folder: PathBuf,
    java: Option<PathBuf>,
}

impl SearchPlaces {
    fn of_this_machine() -> SearchPlaces {
        SearchPlaces {
            zookeeper_home: env::var_os("ZOOKEEPER_HOME").map(PathBuf::from),
            system_jars: PathBuf::from("/usr/share/java"),
            download_folder: Installation::download_folder(),
            java: find_java_of_environment(),
        }
    }

    fn locate(self) -> Result<Installation, SharedError> {
        let jars = self.find_jars().map_err(|searched| PACKAGES.missing(searched))?;
        jars.with_java(self.java)
    }

    fn find_jars(&self) -> Result<Jars, Vec<String>> {
        if let Some(home) = &self.zookeeper_home {
            return Jars::of_release(home)
                .map_err(|missing| vec![format!("$ZOOKEEPER_HOME: {missing}")]);
        }
        let mut searched = vec!["$ZOOKEEPER_HOME: is not set".to_owned()];
        match Jars::of_debian(&self.system_jars) {
            Ok(jars) => return Ok(jars),
            Err(missing) => searched.push(format!("Debian's jars: {missing}")),
        }
        match Jars::of_release(&self.download_folder) {
            Ok(jars) => return Ok(jars),
            Err(missing) => searched.push(format!("a downloaded release: {missing}")),
        }
        Err(searched)
    }
}

/// A class path with a ZooKeeper server, and its origin.
#[derive(Debug)]
struct Jars {
    class_path: OsString,
    origin: String,
}

impl Jars {
    /// Returns Debian's jars. The manifest of zookeeper.jar names all other jars but a log binding.
    fn of_debian(folder: &Path) -> Result<Jars, String> {
        let jars = ["zookeeper.jar", "slf4j-simple.jar"].map(|name| folder.join(name));
        if let Some(jar) = jars.iter().find(|jar| !jar.is_file()) {
            return Err(format!("no {}", jar.display()));
        }
        // A link in the same folder has the version in its name.
        check_version(folder, server_version(folder))?;
        let class_path: Vec<PathBuf> = jars.into_iter().chain(netty_in(folder)).collect();
        Ok(Jars {
            class_path: join_class_path(&class_path),
            origin: format!("Debian's ZooKeeper in {}", folder.display()),
        })
    }

    fn of_release(home: &Path) -> Result<Jars, String> {
        let lib = home.join("lib");
        let version = server_version(&lib);
        if version.is_none() {
            return Err(format!("no zookeeper-<version>.jar in {}", lib.display()));
        }
        check_version(&lib, version)?;
        Ok(Jars {
            class_path: join_class_path(&[home.join("conf"), lib.join("*")]),
            origin: format!("the ZooKeeper release in {}", home.display()),
        })
    }

    fn with_java(self, java: Option<PathBuf>) -> Result<Installation, SharedError> {
        let missing = || {
            let searched = "$JAVA_HOME/bin and $PATH: no java to run ZooKeeper with";
            PACKAGES.missing(vec![searched.to_owned()])
        };
        Ok(Installation {
            java: java.ok_or_else(missing)?,
            class_path: self.class_path,
            origin: self.origin,
        })
    }
}

/// Returns the jars that connections by Netty need in addition to those of the manifest.
///
/// Only connections by Netty can be encrypted.
fn netty_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let jars = ["netty-codec.jar", "netty-resolver.jar"].map(|name| folder.join(name));
    jars.into_iter().filter(|jar| jar.is_file())
}

fn join_class_path(entries: &[PathBuf]) -> OsString {
    let entries: Vec<&OsStr> = entries.iter().map(|entry| entry.as_os_str()).collect();
    entries.join(OsStr::new(":"))
}

/// Reads the version of the server from the names of the jars in `folder`.
fn server_version(folder: &Path) -> Option<String> {
    let is_version = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("zookeeper-")?.strip_suffix(".jar")?;
        is_version(version).then(|| version.to_owned())
    })
}

/// Rejects servers before 3.6, which have no persistent watches. The registry's feed needs them.
fn check_version(folder: &Path, version: Option<String>) -> Result<(), String> {
    let Some(version) = version else { return Ok(()) };
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() < [3, 6].as_slice() {
        true => Err(format!("ZooKeeper {version} in {} is older than 3.6", folder.display())),
        false => Ok(()),
    }
}

fn find_java_of_environment() -> Option<PathBuf> {
    find_java(env::var_os("JAVA_HOME").as_deref(), env::var_os("PATH").as_deref())
}

fn find_java(java_home: Option<&OsStr>, path: Option<&OsStr>) -> Option<PathBuf> {
    let in_java_home = java_home.map(|home| Path::new(home).join("bin"));
    let on_path = path.into_iter().flat_map(env::split_paths);
    in_java_home
        .into_iter()
        .chain(on_path)
        .map(|folder| folder.join("java"))
        .find(|java| java.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, file: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    /// Searches the subfolders of a folder that contains `files`.
    fn search(files: &[&str], home_is_set: bool, has_java: bool) -> Result<String, SharedError> {
        let root = tempfile::tempdir().unwrap();
        files.iter().for_each(|file| put(root.path(), file));
        let found = SearchPlaces {
            zookeeper_home: home_is_set.then(|| root.path().join("home")),
            system_jars: root.path().join("debian"),
            download_folder: root.path().join("download"),
            java: has_java.then(|| PathBuf::from("java")),
        }
        .locate();
        let root = root.path().to_str().unwrap();
        found.map(|found| found.class_path.to_str().unwrap().replace(root, ""))
    }

    const DEBIAN: [&str; 2] = ["debian/zookeeper.jar", "debian/slf4j-simple.jar"];
    const HOME: &str = "home/lib/zookeeper-3.8.4.jar";
    const DOWNLOAD: &str = "download/lib/zookeeper-3.8.6.jar";

    #[test]
    fn first_place_with_a_server_is_used() {
        let debian_path = "/debian/zookeeper.jar:/debian/slf4j-simple.jar";
        let rows: &[(&str, &[&str], bool, &str)] = &[
            ("home comes first", &[HOME, DEBIAN[0], DEBIAN[1]], true, "/home/conf:/home/lib/*"),
            ("home is ignored unless set", &[HOME, DEBIAN[0], DEBIAN[1]], false, debian_path),
            ("Debian before the download", &[DOWNLOAD, DEBIAN[0], DEBIAN[1]], false, debian_path),
            (
                "Debian without a log binding",
                &[DOWNLOAD, DEBIAN[0]],
                false,
                "/download/conf:/download/lib/*",
            ),
            (
                "Debian too old",
                &[DOWNLOAD, DEBIAN[0], DEBIAN[1], "debian/zookeeper-3.4.13.jar"],
                false,
                "/download/conf:/download/lib/*",
            ),
            (
                "Debian new enough",
                &[DOWNLOAD, DEBIAN[0], DEBIAN[1], "debian/zookeeper-3.10.0.jar"],
                false,
                debian_path,
            ),
            (
                "Debian with the jars for TLS",
                &[DEBIAN[0], DEBIAN[1], "debian/netty-codec.jar", "debian/netty-resolver.jar"],
                false,
                &format!("{debian_path}:/debian/netty-codec.jar:/debian/netty-resolver.jar"),
            ),
            ("only the download", &[DOWNLOAD], false, "/download/conf:/download/lib/*"),
        ];
        for (case, files, home_is_set, expected) in rows {
            let class_path = search(files, *home_is_set, true).unwrap();
            assert_eq!(&class_path, expected, "{case}");
        }
    }

    #[test]
    fn failed_search_names_missing_files_and_packages_to_install() {
        let rows: &[(&str, &[&str], bool, &[&str])] = &[
            (
                "no jars at all",
                &[],
                false,
                &[
                    "$ZOOKEEPER_HOME: is not set",
                    "/debian/zookeeper.jar",
                    "/download/lib",
                    "cargo xtask zookeeper",
                    "apt-get install libzookeeper-java libslf4j-java default-jre-headless",
                ],
            ),
            ("no log binding", &DEBIAN[..1], false, &["/debian/slf4j-simple.jar"]),
            (
                "a wrong home is not replaced by Debian's",
                &DEBIAN,
                true,
                &["$ZOOKEEPER_HOME: no zookeeper-<version>.jar in", "/home/lib"],
            ),
            (
                "an old release",
                &["home/lib/zookeeper-3.5.9.jar"],
                true,
                &["ZooKeeper 3.5.9 in", "/home/lib is older than 3.6"],
            ),
            (
                "jute alone is no server",
                &["home/lib/zookeeper-jute-3.8.4.jar"],
                true,
                &["/home/lib"],
            ),
        ];
        for (case, files, home_is_set, expected) in rows {
            let message = search(files, *home_is_set, true).unwrap_err().to_string();
            for part in *expected {
                assert!(message.contains(part), "{case}: `{part}` is not in: {message}");
            }
        }
    }

    #[test]
    fn jars_without_java_are_rejected_with_the_java_package() {
        let message = search(&DEBIAN, false, false).unwrap_err().to_string();
        assert!(message.contains("searched $JAVA_HOME/bin and $PATH: no java"), "{message}");
        assert!(message.contains("default-jre-headless"), "{message}");
    }

    #[test]
    fn java_home_comes_before_java_on_the_path() {
        let root = tempfile::tempdir().unwrap();
        ["jdk/bin/java", "usr/java"].iter().for_each(|file| put(root.path(), file));
        let [jdk, empty, usr] = ["jdk", "empty", "usr"].map(|name| root.path().join(name));
        let path = env::join_paths([&empty, &usr]).unwrap();
        let rows = [
            ("home", Some(&jdk), Some(&path), Some(jdk.join("bin/java"))),
            ("home without java", Some(&empty), Some(&path), Some(usr.join("java"))),
            ("path only", None, Some(&path), Some(usr.join("java"))),
            ("home only", Some(&jdk), None, Some(jdk.join("bin/java"))),
            ("nowhere", None, None, None),
        ];
        for (case, home, path, expected) in rows {
            let found =
                find_java(home.map(|home| home.as_os_str()), path.map(|path| path.as_ref()));
            assert_eq!(found, expected, "{case}");
        }
    }
}
