//! A server's folder: removed with the server, or later by another process.

use std::env;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::Error;
use crate::loopback::LoopbackAddress;

/// A folder that is named after a reserved address. Dropping it removes it.
///
/// A killed process leaves its folders behind, and so does a server in a `static`. The holder of an
/// address reservation owns the folder of that name. A folder whose address can be reserved has no
/// owner and may be removed.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Creates the empty folder of a reserved address.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn create(address: &LoopbackAddress) -> Result<Folder, Error> {
        static REMOVED: Once = Once::new();
        let base = base();
        REMOVED.call_once(|| remove_leftovers(&base));
        create_in(&base, address)
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Another process removes the folder later if this fails.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns the folder for all folders of this user and this network namespace.
///
/// Users could not remove each other's files. On Linux an address that is reserved in one network
/// namespace is free in every other one.
fn base() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    let namespace = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let namespace: String =
        namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    env::temp_dir().join(format!("server-fixture-{user}-{namespace}"))
}

fn create_in(base: &Path, address: &LoopbackAddress) -> Result<Folder, Error> {
    let folder = Folder { path: base.join(address.ip().to_string()) };
    // The former owner of the address may have left a folder behind.
    let _ = fs::remove_dir_all(&folder.path);
    fs::create_dir_all(&folder.path).map_err(Error::file("create", &folder.path))?;
    Ok(folder)
}

/// Removes the folders without an owner.
fn remove_leftovers(base: &Path) {
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
    fn new_folder_is_empty_and_removed_with_its_owner() {
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
    fn folder_name_contains_the_network_namespace() {
        let name = base().file_name().unwrap().to_string_lossy().into_owned();
        let namespace = fs::read_link("/proc/self/ns/net").unwrap();
        let number = namespace.to_string_lossy().replace(|c: char| !c.is_ascii_digit(), "");
        assert!(!number.is_empty() && name.ends_with(&format!("-{number}")), "{name}");
    }

    #[test]
    fn only_folders_without_an_owner_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let living = LoopbackAddress::reserve().unwrap();
        let owned = create_in(base.path(), &living).unwrap();
        let unowned = base.path().join(LoopbackAddress::reserve().unwrap().ip().to_string());
        let unrelated = base.path().join("notes");
        for folder in [&unowned, &unrelated] {
            fs::create_dir_all(folder.join("data")).unwrap();
        }
        remove_leftovers(base.path());
        assert!(owned.path().exists(), "the address of the folder is reserved");
        assert!(!unowned.exists(), "the address of the folder is free");
        assert!(unrelated.exists(), "the name of the folder is no address");
    }
}
