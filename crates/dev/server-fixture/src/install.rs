//! Installation of Debian's packages of a server, without starting a service.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// The program that Debian's packages ask before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Held by the process that installs.
const LOCK: &str = "/run/lock/server-fixture";
/// Arguments: the paths of the policy and the lock, a path and a text for each file, `--`, the
/// packages.
///
/// Services are refused during the installation, unless the machine has a policy of its own. The
/// refusal is removed at the end, also after a failure. Only one process at a time does this, so
/// that none takes the policy of another one for the machine's. Files that exist are kept, also if
/// a package has another version of them. Another program may hold the lock of the package lists,
/// for which apt does not wait.
const SCRIPT: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=$1
exec 9> "$2"
shift 2
flock -w 600 9
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
while [ "$1" != -- ]; do
    if [ ! -e "$1" ]; then
        mkdir -p "$(dirname "$1")"
        printf '%s' "$2" > "$1"
    fi
    shift 2
done
shift
attempts=0
until apt-get -o DPkg::Lock::Timeout=300 update; do
    attempts=$((attempts + 1))
    [ "$attempts" -lt 30 ]
    sleep 2
done
apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
    install -y --no-install-recommends "$@"
"#;

/// Debian's packages of a server, and what a user can do instead of installing them.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// Name of the server, for messages.
    pub server: &'static str,
    /// Names of the packages.
    pub names: &'static [&'static str],
    /// Paths and texts of files that are created before the installation if they are missing.
    pub files: &'static [(&'static str, &'static str)],
    /// Whether one of the packages has a service, which must not be started.
    pub has_service: bool,
    /// Environment variable by which a user selects another installation.
    pub variable: &'static str,
    /// End of the sentence "install it with …, or …", for messages.
    pub alternative: &'static str,
}

impl Packages {
    /// Returns the error for a server that was found in none of the searched places.
    #[must_use]
    pub fn missing(&self, searched: Vec<String>) -> Error {
        self.not_installed(searched, None)
    }

    fn not_installed(&self, searched: Vec<String>, attempt: Option<String>) -> Error {
        let Self { server, names, alternative, .. } = self;
        Error::NotInstalled { server, searched, attempt, packages: names.join(" "), alternative }
    }

    /// Finds a server by `locate`. If there is none, installs the packages, and searches again.
    ///
    /// Nothing is installed if the user has selected another installation by the variable. An
    /// installation needs root or `sudo -n`, and starts no service. It waits up to 20 minutes for
    /// other installations, and says on the standard error that it begins.
    ///
    /// # Errors
    /// Those of `locate`. [`Error::NotInstalled`] also names the failed attempt to install.
    pub fn ensure<T>(&self, locate: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        // Tests start at the same time, and the first one installs.
        static INSTALLATION: Mutex<()> = Mutex::new(());
        let _one_at_a_time = INSTALLATION.lock().unwrap_or_else(PoisonError::into_inner);
        let searched = match locate() {
            Err(Error::NotInstalled { searched, .. }) => searched,
            found => return found,
        };
        if env::var_os(self.variable).is_some() {
            return Err(self.missing(searched));
        }
        eprintln!("no {} server found; installing {}", self.server, self.names.join(" "));
        match install(self) {
            Ok(()) => locate(),
            Err(cause) => Err(self.not_installed(searched, Some(cause))),
        }
    }
}

/// Installs Debian's packages of tools, which have no service, as root or by `sudo -n`.
///
/// # Errors
/// [`Error::Packages`] with the end of the output.
pub fn install_tools(names: &[&str]) -> Result<(), Error> {
    run_script(names, &[]).map_err(|cause| Error::Packages { packages: names.join(" "), cause })
}

fn install(packages: &Packages) -> Result<(), String> {
    if packages.has_service && !refuses_services(fs::read_to_string(POLICY)) {
        return Err(format!("{POLICY} permits services, and the package would start one"));
    }
    run_script(packages.names, packages.files)
}

fn run_script(names: &[&str], files: &[(&str, &str)]) -> Result<(), String> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("this system has no apt-get".to_owned());
    }
    let mut words: Vec<&str> = match rustix::process::geteuid().is_root() {
        true => vec!["sh"],
        false => vec!["sudo", "-n", "sh"],
    };
    words.extend(arguments([POLICY, LOCK], files, names));
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", words[0]))?;
    if output.status.success() {
        return Ok(());
    }
    let log = [output.stdout, output.stderr].concat();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    Err(format!("{}: {}", output.status, lines[lines.len().saturating_sub(5)..].join("; ")))
}

/// Returns the arguments of a shell that runs the script.
fn arguments<'a>(
    [policy, lock]: [&'a str; 2],
    files: &[(&'a str, &'a str)],
    names: &[&'a str],
) -> Vec<&'a str> {
    let mut arguments = vec!["-c", SCRIPT, "install", policy, lock];
    arguments.extend(files.iter().flat_map(|(path, text)| [*path, *text]));
    arguments.push("--");
    arguments.extend(names);
    arguments
}

/// Returns true if the policy of this machine refuses services, or may be replaced for the
/// installation because there is none.
fn refuses_services(policy: io::Result<String>) -> bool {
    match policy {
        Ok(policy) => policy.contains("exit 101"),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const EXAMPLE: Packages = Packages {
        server: "Example",
        names: &["no-such-package-of-this-test"],
        files: &[],
        has_service: false,
        variable: "PATH",
        alternative: "let EXAMPLE_HOME name its folder",
    };

    #[test]
    fn package_is_not_installed_if_the_policy_would_start_its_service() {
        let rows = [
            ("no policy", Err(io::ErrorKind::NotFound.into()), true),
            ("a container's policy", Ok("#!/bin/sh\nexit 101\n".to_owned()), true),
            ("a policy that permits all", Ok("#!/bin/sh\nexit 0\n".to_owned()), false),
            ("unreadable", Err(io::ErrorKind::PermissionDenied.into()), false),
        ];
        for (case, policy, expected) in rows {
            assert_eq!(refuses_services(policy), expected, "{case}");
        }
    }

    #[test]
    fn missing_server_is_an_error_that_names_places_packages_and_the_alternative() {
        let searched = || vec!["/opt: no example".to_owned()];
        let attempt = Some("cannot run sudo".to_owned());
        for (error, attempt) in [
            (EXAMPLE.missing(searched()), ""),
            (
                EXAMPLE.not_installed(searched(), attempt),
                "  failed to install the packages: cannot run sudo\n",
            ),
        ] {
            let expected = format!(
                "no Example server found\n  searched /opt: no example\n{attempt}  install it with \
                 `apt-get install no-such-package-of-this-test`, or let EXAMPLE_HOME name its folder"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    /// `$PATH`, the variable of the example, is always set.
    #[test]
    fn nothing_is_installed_beside_a_selected_server_and_other_errors_are_kept() {
        let n_searches = Cell::new(0);
        let located = EXAMPLE.ensure(|| -> Result<(), Error> {
            n_searches.set(n_searches.get() + 1);
            Err(EXAMPLE.missing(vec!["$PATH: no example".to_owned()]))
        });
        assert!(matches!(located, Err(Error::NotInstalled { .. })), "{located:?}");
        assert_eq!(n_searches.get(), 1, "a search after an installation would be the second");
        let other = EXAMPLE.ensure(|| -> Result<(), Error> { Err(Error::NoSetpriv) });
        assert!(matches!(other, Err(Error::NoSetpriv)), "{other:?}");
        assert_eq!(EXAMPLE.ensure(|| Ok(7)).unwrap(), 7);
    }
    /// Replaces apt, and returns what it found: the policy, and the arguments of its last call.
    fn installed_with(policy: Option<&str>, apt_exit: u8) -> (bool, String, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let [policy_path, lock, conf, kept, log, apt] =
            ["policy", "lock", "etc/conf", "kept", "log", "apt-get"].map(path);
        if let Some(text) = policy {
            fs::write(&policy_path, text).unwrap();
        }
        fs::write(&kept, "old").unwrap();
        let record = format!(
            "#!/bin/sh\n{{ cat '{policy_path}' '{conf}' '{kept}'; echo \"$@\"; }} > '{log}'\n\
             case \"$*\" in *install*) exit {apt_exit};; esac\n"
        );
        let script = folder.path().join("script");
        fs::write(&script, record).unwrap();
        // Another process writes the program. A child that this one forks meanwhile would keep it
        // open for writing, and such a program cannot be executed.
        let copied = Command::new("install").arg("-m755").args([&script, Path::new(&apt)]).status();
        assert!(copied.unwrap().success());
        let files = [(conf.as_str(), "new\n"), (kept.as_str(), "new\n")];
        let mut shell = Command::new("sh");
        shell.args(arguments([&policy_path, &lock], &files, &["one", "two"]));
        let search = format!("{}:/usr/bin:/bin", folder.path().display());
        let succeeded = shell.env("PATH", search).status().unwrap().success();
        let log = fs::read_to_string(log).unwrap();
        (succeeded, log, fs::read_to_string(policy_path).ok())
    }

    #[test]
    fn services_are_refused_only_during_the_installation_and_existing_files_are_kept() {
        let refusal = "#!/bin/sh\nexit 101\n";
        let own = "#!/bin/sh\n# of the machine\nexit 101\n";
        for (policy, seen, left) in [(None, refusal, None), (Some(own), own, Some(own))] {
            for exit in [0, 100] {
                let (succeeded, log, found) = installed_with(policy, exit);
                assert_eq!(succeeded, exit == 0, "{log}");
                let call = log.strip_prefix(&format!("{seen}new\nold")).unwrap_or_else(|| {
                    panic!("the policy, the new file and the old one were not there: {log}")
                });
                assert!(call.contains("--force-confold install"), "{call}");
                assert!(call.ends_with("--no-install-recommends one two\n"), "{call}");
                assert_eq!(found.as_deref(), left, "the policy after the installation");
            }
        }
    }
}
