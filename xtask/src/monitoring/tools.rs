//! Search for Prometheus on this machine.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use server_fixture::Packages;

use crate::Error;

/// Debian's folder of the programs.
const DEBIAN: &str = "/usr/bin";
/// The programs that the tests run.
const PROGRAMS: [&str; 2] = ["prometheus", "promtool"];

const PACKAGES: Packages = Packages {
    server: "Prometheus",
    names: &["prometheus"],
    files: &[],
    has_service: true,
    variable: "PROMETHEUS_BIN",
    alternative: "let PROMETHEUS_BIN name the folder of its programs",
};

/// Prometheus and its tool.
#[derive(Debug)]
pub(super) struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Finds the programs in the folder that the variable `PROMETHEUS_BIN` names, else Debian's.
    /// Installs Debian's if there are none, without starting the service.
    pub(super) fn ensure() -> Result<Self, Error> {
        let named = env::var_os(PACKAGES.variable);
        let tools = PACKAGES.ensure(|| {
            find(named.as_deref()).map_err(|searched| PACKAGES.missing(vec![searched]))
        })?;
        println!("found Prometheus in {}", tools.folder.display());
        Ok(tools)
    }

    pub(super) fn prometheus(&self) -> PathBuf {
        self.folder.join("prometheus")
    }

    pub(super) fn promtool(&self) -> PathBuf {
        self.folder.join("promtool")
    }
}

/// Returns the programs in this folder, or in Debian's; else the searched place.
fn find(named: Option<&OsStr>) -> Result<Tools, String> {
    let folder = Path::new(named.unwrap_or(DEBIAN.as_ref())).to_owned();
    match PROGRAMS.iter().find(|name| !folder.join(name).is_file()) {
        None => Ok(Tools { folder }),
        Some(name) => Err(format!("no {name} in {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_must_have_both_programs() {
        let folder = tempfile::tempdir().unwrap();
        let search = || find(Some(folder.path().as_os_str()));
        let place = folder.path().display();
        assert_eq!(search().unwrap_err(), format!("no prometheus in {place}"));
        std::fs::write(folder.path().join("prometheus"), "").unwrap();
        assert_eq!(search().unwrap_err(), format!("no promtool in {place}"));
        std::fs::write(folder.path().join("promtool"), "").unwrap();
        assert_eq!(search().unwrap().promtool(), folder.path().join("promtool"));
    }
}
