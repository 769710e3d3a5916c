//! The registry that a command line names, and the file that is used if it names none.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use reg_center_sqlite::SqliteOptions;
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
    Zookeeper(ZookeeperTarget),
    /// A file of this host.
    File(RegistryFile),
    /// A database, or an etcd, which several hosts share.
    Server(ServerTarget),
    /// The memory of this process.
    Memory,
}

/// A namespace of ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZookeeperTarget {
    pub(crate) servers: String,
    pub(crate) namespace: String,
    /// The options that name the servers and the namespace, for messages.
    pub(crate) named_by: NamedBy,
}

/// A database or an etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTarget {
    pub(crate) address: Address,
    /// The option that names the address, for messages.
    pub(crate) named_by: NamedBy,
}

/// The options that name servers and a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// `--registry`.
    Address,
    /// The key `registry` of a job file.
    JobFile,
    /// The key `registry` of a namespace in the file of a console.
    #[cfg(feature = "console")]
    ConsoleFile,
    /// A context.
    Context,
    /// `--zookeeper` and `--namespace`.
    Parts,
}

impl NamedBy {
    pub(crate) fn servers(self) -> &'static str {
        match self {
            Self::Address => "--registry",
            Self::JobFile => "the registry of the job file",
            #[cfg(feature = "console")]
            Self::ConsoleFile => "its registry",
            Self::Context => "the registry of the context",
            Self::Parts => "--zookeeper",
        }
    }

    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::Address => "--registry",
            Self::JobFile => "the registry of the job file",
            #[cfg(feature = "console")]
            Self::ConsoleFile => "its registry",
            Self::Context => "the registry of the context",
            Self::Parts => "--namespace",
        }
    }

    pub(crate) fn both(self) -> &'static str {
        match self {
            Self::Address => "--registry",
            Self::JobFile => "the registry of the job file",
            #[cfg(feature = "console")]
            Self::ConsoleFile => "its registry",
            Self::Context => "the registry of the context",
            Self::Parts => "--namespace and --zookeeper",
        }
    }
}

/// A registry file of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegistryFile {
    pub(crate) options: SqliteOptions,
    /// No registry was named, so that this is the file in the state directory of the user.
    pub(crate) is_default: bool,
}

impl RegistryFile {
    pub(crate) fn path(&self) -> &Path {
        self.options.path()
    }

    /// Returns true if the file exists. A file of no bytes is not a registry yet: to open it would
    /// make it an empty one.
    pub(crate) fn exists(&self) -> Result<bool, Fault> {
        match self.path().metadata() {
            Ok(metadata) => Ok(metadata.len() > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let path = self.path().display();
                Err(Fault::refused(format!("{path} cannot be examined: {error}")))
            }
        }
    }
}

impl Target {
    /// Parses an address of the command line.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        Self::of_address(text, NamedBy::Address)
            .map_err(|reason| Fault::usage(format!("--registry: {reason}")))
    }

    /// Parses the address of a job file. The error is the reason.
    pub(crate) fn parse_of_file(text: &str) -> Result<Self, String> {
        Self::of_address(text, NamedBy::JobFile)
    }

    /// Parses the address of a context. The error is the reason.
    pub(crate) fn parse_of_context(text: &str) -> Result<Self, String> {
        Self::of_address(text, NamedBy::Context)
    }

    /// Parses the address of a namespace in the file of a console. The error is the reason.
    #[cfg(feature = "console")]
    pub(crate) fn parse_of_console(text: &str) -> Result<Self, String> {
        Self::of_address(text, NamedBy::ConsoleFile)
    }

    fn of_address(text: &str, named_by: NamedBy) -> Result<Self, String> {
        // Without these features there is no other registry.
        #[cfg_attr(
            any(feature = "etcd", feature = "postgres"),
            expect(
                clippy::wildcard_enum_match_arm,
                reason = "every other registry is opened by its address alone"
            )
        )]
        match Address::parse(text)
            .map_err(|error| with_remedy(error.to_string(), error.missing_feature()))?
        {
            Address::Memory => Ok(Self::Memory),
            Address::Sqlite(options) => Ok(Self::File(RegistryFile { options, is_default: false })),
            Address::Zookeeper { .. } => {
                let rest = text.strip_prefix("zk://").unwrap_or(text);
                let Some((servers, path)) =
                    rest.split_once('/').filter(|(_, path)| !path.is_empty())
                else {
                    // The root holds ZooKeeper's own nodes, which are not jobs.
                    let address = text.trim_end_matches('/');
                    return Err(format!(
                        "{text:?} names no namespace; valid is {address}/NAMESPACE, such as {address}/jobs"
                    ));
                };
                let (servers, namespace) = (servers.to_owned(), format!("/{path}"));
                Ok(Self::Zookeeper(ZookeeperTarget { servers, namespace, named_by }))
            }
            address => Ok(Self::Server(ServerTarget { address, named_by })),
        }
    }

    /// Returns a namespace that `--zookeeper` and `--namespace` name.
    pub(crate) fn of_parts(servers: &str, namespace: &str) -> Self {
        Self::Zookeeper(ZookeeperTarget {
            servers: servers.to_owned(),
            namespace: namespace.to_owned(),
            named_by: NamedBy::Parts,
        })
    }

    /// Returns the registry file in the state directory of the user.
    pub(crate) fn default_file() -> Result<Self, Fault> {
        let path = default_path(|name| std::env::var_os(name)).ok_or_else(|| {
            Fault::usage(format!(
                "no registry is named, and neither XDG_STATE_HOME nor HOME names a state directory for a file; give --registry ADDRESS, such as {EXAMPLE} or sqlite:registry.db, or set {REGISTRY}"
            ))
        })?;
        let options = SqliteOptions::new(path);
        Ok(Self::File(RegistryFile { options, is_default: true }))
    }

    /// Returns what the user of a worker should know of the registry.
    pub(crate) fn notice(&self) -> String {
        match self {
            Self::Zookeeper(_) | Self::Server(_) => format!("registry: {self}"),
            Self::File(file) if file.is_default => format!(
                "registry: {}, single host only; for several hosts give --registry ADDRESS, such as {EXAMPLE}",
                file.path().display()
            ),
            Self::File(file) => {
                format!("registry: {}, single host only", file.path().display())
            }
            Self::Memory => {
                "registry: memory of this process; it ends with it, and `ejob` commands cannot read it"
                    .to_owned()
            }
        }
    }

    /// Returns the namespace; `/` for a registry that has only one.
    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Zookeeper(target) => &target.namespace,
            Self::File(_) | Self::Server(_) | Self::Memory => "/",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zookeeper(target) => write!(f, "zk://{}{}", target.servers, target.namespace),
            Self::File(file) => write!(f, "sqlite:{}", file.path().display()),
            Self::Server(target) => target.address.fmt(f),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

/// Adds to the error of an address how to install a program with a missing feature.
fn with_remedy(error: String, missing_feature: Option<&str>) -> String {
    match missing_feature {
        None => error,
        Some(feature) => format!(
            "{error}; install one that has it with `cargo install --locked --path crates/cli --features {feature}`"
        ),
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
        type Row<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>);
        let rows: [Row<'_>; 5] = [
            (&[], None),
            (&[("HOME", "/home/a")], Some("/home/a/.local/state/ejob/registry.db")),
            (&[("HOME", "/home/a"), ("XDG_STATE_HOME", "/state")], Some("/state/ejob/registry.db")),
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
    fn missing_feature_is_an_error_with_its_remedy() {
        let error = "\"etcd://e/a\": this program was built without the feature `etcd`";
        let remedy = "`cargo install --locked --path crates/cli --features etcd`";
        assert_eq!(
            with_remedy(error.to_owned(), Some("etcd")),
            format!("{error}; install one that has it with {remedy}")
        );
        assert_eq!(with_remedy("it names no kind".to_owned(), None), "it names no kind");
    }

    #[test]
    fn addresses_name_servers_and_namespace_or_a_file() {
        let rows = [
            ("zk://zk-1:2181,zk-2/a/b", "/a/b"),
            ("sqlite:x.db", "/"),
            ("postgres://worker@db/jobs?namespace=a", "/"),
            ("etcd://etcd-1,etcd-2/a", "/"),
            ("memory:", "/"),
        ];
        for (address, namespace) in rows {
            let is_built = (cfg!(feature = "postgres") || !address.starts_with("postgres:"))
                && (cfg!(feature = "etcd") || !address.starts_with("etcd:"));
            if !is_built {
                let fault = Target::parse(address).unwrap_err().to_string();
                assert!(fault.contains("was built without the feature"), "{address}: {fault}");
                continue;
            }
            let target = Target::parse(address).unwrap();
            assert_eq!((&*target.to_string(), target.namespace()), (address, namespace));
        }
        for address in ["zk://zk-1:2181", "zk://zk-1:2181/", "x.db"] {
            let fault = Target::parse(address).unwrap_err().to_string();
            assert!(fault.starts_with("--registry: "), "{fault}");
        }
    }
}
