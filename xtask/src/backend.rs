//! Registries that a task runs on, with their servers.

use tempfile::TempDir;
use zookeeper_fixture::Server;

use crate::{Error, zookeeper};

/// A kind of registry, named as in its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Zookeeper,
}

/// Names of the backends, for errors.
pub(crate) const NAMES: &str = "sqlite or zk";

impl Backend {
    /// Returns the backend of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "sqlite" => Some(Self::Sqlite),
            "zk" => Some(Self::Zookeeper),
            _ => None,
        }
    }

    /// Starts the server, if the backend has one.
    pub(crate) fn start(self) -> Result<RunningRegistry, Error> {
        match self {
            Self::Sqlite => {
                let folder = tempfile::tempdir()
                    .map_err(Error::file("create a folder in", &std::env::temp_dir()))?;
                println!("the registry files are in {}", folder.path().display());
                Ok(RunningRegistry::Sqlite(folder))
            }
            Self::Zookeeper => {
                zookeeper::ensure()?;
                let server = Server::start()?;
                println!("ZooKeeper listens on {}", server.connect_string());
                Ok(RunningRegistry::Zookeeper(Box::new(server)))
            }
        }
    }
}

/// A registry for the time of a task. Dropping it stops its server and removes its files.
#[derive(Debug)]
pub(crate) enum RunningRegistry {
    Sqlite(TempDir),
    Zookeeper(Box<Server>),
}

impl RunningRegistry {
    /// Returns the address of an empty registry with this name.
    pub(crate) fn address(&self, name: &str) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}/{name}.db", folder.path().display()),
            Self::Zookeeper(server) => format!("zk://{}/{name}", server.connect_string()),
        }
    }
}
