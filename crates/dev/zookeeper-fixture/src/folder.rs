//! A server's folder: removed with the server, or by the next process if nobody could.

use std::env;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::Error;
use crate::loopback::LoopbackAddress;

/// A folder that is named after a reserved address. Dropping it removes it.
///
/// A process that is killed leaves its folders behind, and so does a server in a `static`. Whoever
/// holds a reservation owns the folder of that name, so a folder whose address can be reserved
/// belongs to nobody and may go.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the empty folder of a reserved address.
    pub(crate) fn create(address: &LoopbackAddress) -> Result<Folder, Error> {
        static SWEPT: Once = Once::new();
        let base = base();
        SWEPT.call_once(|| sweep(&base));
        create_in(&base, address)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later sweep.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Users do not share a folder: they could not remove each other's files. Nor do network namespaces, on Linux: an address
/// that is reserved in one is free in every other one.
fn base() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let namespace = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let namespace: String =
        namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    env::temp_dir().join(format!("zookeeper-fixture-{user}-{namespace}"))
}

fn create_in(base: &Path, address: &LoopbackAddress) -> Result<Folder, Error> {
    let folder = Folder { path: base.join(address.ip().to_string()) };
    // A leftover of the address's former owner, if there is one.
    let _ = fs::remove_dir_all(&folder.path);
    fs::create_dir_all(&folder.path).map_err(Error::file("create", &folder.path))?;
    Ok(folder)
}

/// Removes the folders that belong to nobody.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let ip: Option<Ipv4Addr> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // The reservation is held until the folder is gone.
        if let Some(Ok(_reservation)) = ip.map(LoopbackAddress::try_reserve) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_empty_at_first_and_goes_with_its_owner() {
        let base = tempfile::tempdir().unwrap();
        let address = LoopbackAddress::reserve().unwrap();
        let leftover = base.path().join(address.ip().to_string()).join("data");
        fs::create_dir_all(&leftover).unwrap();
        let folder = create_in(base.path(), &address).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_folders_of_other_network_namespaces_are_elsewhere() {
        let name = base().file_name().unwrap().to_string_lossy().into_owned();
        let namespace = fs::read_link("/proc/self/ns/net").unwrap();
        let number = namespace.to_string_lossy().replace(|c: char| !c.is_ascii_digit(), "");
        assert!(!number.is_empty() && name.ends_with(&format!("-{number}")), "{name}");
    }

    #[test]
    fn a_sweep_removes_the_folders_of_the_dead_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let living = LoopbackAddress::reserve().unwrap();
        let owned = create_in(base.path(), &living).unwrap();
        let dead = base.path().join(LoopbackAddress::reserve().unwrap().ip().to_string());
        let stranger = base.path().join("notes");
        for folder in [&dead, &stranger] {
            fs::create_dir_all(folder.join("data")).unwrap();
        }
        sweep(base.path());
        assert!(owned.path().exists(), "its address is reserved");
        assert!(!dead.exists(), "nobody has its address");
        assert!(stranger.exists(), "it has no address");
    }
}
