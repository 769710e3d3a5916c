//! The registry that a command line names, and the file that is used if it names none.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use registry::Address;

use crate::fault::Fault;

/// Variable with the address.
pub(crate) const REGISTRY: &str = "EJOB_REGISTRY";
/// An address, for messages.
pub(crate) const EXAMPLE: &str = "zk://zk-1:2181,zk-2:2181/jobs";

/// The registry that a command uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A namespace of ZooKeeper.
    Zookeeper { servers: String, namespace: String },
    /// A file of this host.
    File(RegistryFile),
    /// The memory of this process.
    Memory,
}

/// A registry file of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegistryFile {
    pub(crate) path: PathBuf,
    /// No registry was named, so that this is the file in the state directory of the user.
    pub(crate) is_default: bool,
}

impl Target {
    /// Parses an address of the command line.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |reason: &dyn fmt::Display| Fault::usage(format!("--registry: {reason}"));
        match Address::parse(text).map_err(|error| invalid(&error))? {
            Address::Memory => Ok(Self::Memory),
            Address::Sqlite(options) => {
                let path = options.path().to_owned();
                Ok(Self::File(RegistryFile { path, is_default: false }))
            }
            Address::Zookeeper { .. } => {
                let rest = text.trim_start_matches("zk://");
                let (servers, namespace) = match rest.split_once('/') {
                    Some((servers, path)) if !path.is_empty() => (servers, format!("/{path}")),
                    _ => {
                        let reason = format!("{text:?} names no namespace; valid: {EXAMPLE}");
                        return Err(invalid(&reason));
                    }
                };
                Ok(Self::Zookeeper { servers: servers.to_owned(), namespace })
            }
            other => Err(invalid(&format!("{other} is not supported here"))),
        }
    }

    /// Returns the registry file in the state directory of the user.
    pub(crate) fn default_file() -> Result<RegistryFile, Fault> {
        default_path(|name| std::env::var_os(name))
            .map(|path| RegistryFile { path, is_default: true })
            .ok_or_else(|| {
                Fault::usage(format!(
                    "no registry is named, and there is no state directory for a file, because \
                     neither XDG_STATE_HOME nor HOME is set; give --registry ADDRESS, such as \
                     {EXAMPLE} or sqlite:registry.db, or set {REGISTRY}"
                ))
            })
    }
}

/// Returns the path of the default file. Relative paths in `XDG_STATE_HOME` are invalid by its
/// definition, and are ignored.
fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("ejob/registry.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_file_is_in_the_state_directory_of_the_user() {
        let rows: [(&[(&str, &str)], Option<&str>); 5] = [
            (&[], None),
            (&[("HOME", "/home/a")], Some("/home/a/.local/state/ejob/registry.db")),
            (
                &[("HOME", "/home/a"), ("XDG_STATE_HOME", "/state")],
                Some("/state/ejob/registry.db"),
            ),
            (&[("HOME", ""), ("XDG_STATE_HOME", "")], None),
            (&[("XDG_STATE_HOME", "relative")], None),
        ];
        for (variables, expected) in rows {
            let value = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name)?;
                Some(OsString::from(found.1))
            };
            assert_eq!(default_path(value), expected.map(PathBuf::from), "{variables:?}");
        }
    }

    #[test]
    fn addresses_name_servers_and_namespace_or_a_file() {
        let zookeeper = Target::Zookeeper {
            servers: "zk-1:2181,zk-2".to_owned(),
            namespace: "/a/b".to_owned(),
        };
        assert_eq!(Target::parse("zk://zk-1:2181,zk-2/a/b").unwrap(), zookeeper);
        let file = RegistryFile { path: "x.db".into(), is_default: false };
        assert_eq!(Target::parse("sqlite:x.db").unwrap(), Target::File(file));
        assert_eq!(Target::parse("memory:").unwrap(), Target::Memory);
        for address in ["zk://zk-1:2181", "zk://zk-1:2181/", "x.db"] {
            let fault = Target::parse(address).unwrap_err().to_string();
            assert!(fault.starts_with("--registry: "), "{fault}");
        }
    }
}
