//! Installation of a Debian package without starting its service.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The program that Debian's packages ask before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Installs the package `$1`. Refuses the start of services meanwhile, unless the machine has a
/// policy of its own, and removes the refusal at the end, also after a failure.
///
/// Only one process at a time does this, so that none takes the policy of another one for the
/// machine's. Another program may hold the lock of the package lists, for which apt does not wait.
const SCRIPT: &str = r#"
set -eu
export DEBIAN_FRONTEND=noninteractive
exec 9> /run/lock/etcd-fixture
flock -w 600 9
if [ ! -e "$2" ]; then
    trap 'rm -f "$2"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$2"
    chmod 755 "$2"
fi
attempts=0
until apt-get -o DPkg::Lock::Timeout=300 update; do
    attempts=$((attempts + 1))
    [ "$attempts" -lt 30 ]
    sleep 2
done
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$1"
"#;

/// Installs a package as root or by `sudo -n`. Returns the end of the output if that fails.
pub(crate) fn debian_package(package: &str) -> Result<(), String> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("this system has no apt-get".to_owned());
    }
    if !refuses_services(fs::read_to_string(POLICY)) {
        return Err(format!("{POLICY} permits services, and the package would start one"));
    }
    let mut command = match rustix::process::geteuid().is_root() {
        true => Command::new("sh"),
        false => {
            let mut sudo = Command::new("sudo");
            sudo.args(["-n", "sh"]);
            sudo
        }
    };
    let output = command.args(["-c", SCRIPT, "install", package, POLICY]).stdin(Stdio::null());
    let output = output.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let log = [output.stdout, output.stderr].concat();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    Err(format!("{}: {}", output.status, lines[lines.len().saturating_sub(5)..].join("; ")))
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
    use super::*;

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
}
