//! Registries that a task runs on, with their servers.

use tempfile::TempDir;

use crate::{Error, etcd, postgres, zookeeper};

/// A kind of registry, named as in its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Zookeeper,
    Postgres,
    Etcd,
}

/// Names of the backends, for errors.
pub(crate) const NAMES: &str = "sqlite, zk, postgres or etcd";

impl Backend {
    /// Returns the backend of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "sqlite" => Some(Self::Sqlite),
            "zk" => Some(Self::Zookeeper),
            "postgres" => Some(Self::Postgres),
            "etcd" => Some(Self::Etcd),
            _ => None,
        }
    }

    /// Starts the server, if the backend has one.
    pub(crate) fn start(self) -> Result<RunningRegistry, Error> {
        let running = match self {
            Self::Sqlite => RunningRegistry::Sqlite(
                tempfile::tempdir()
                    .map_err(Error::file("create a folder in", &std::env::temp_dir()))?,
            ),
            Self::Zookeeper => {
                zookeeper::ensure()?;
                RunningRegistry::Zookeeper(Box::new(zookeeper_fixture::Server::start()?))
            }
            Self::Postgres => {
                postgres::ensure()?;
                RunningRegistry::Postgres(Box::new(postgres_fixture::Server::start()?))
            }
            Self::Etcd => {
                etcd::ensure()?;
                RunningRegistry::Etcd(Box::new(etcd_fixture::Server::start()?))
            }
        };
        println!("the registries of the rounds are {}", running.address("NAME"));
        Ok(running)
    }
}

/// A registry for the time of a task. Dropping it stops its server and removes its files.
#[derive(Debug)]
pub(crate) enum RunningRegistry {
    Sqlite(TempDir),
    Zookeeper(Box<zookeeper_fixture::Server>),
    Postgres(Box<postgres_fixture::Server>),
    Etcd(Box<etcd_fixture::Server>),
}

impl RunningRegistry {
    /// Returns the address of an empty registry with this name.
    pub(crate) fn address(&self, name: &str) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}/{name}.db", folder.path().display()),
            Self::Zookeeper(server) => format!("zk://{}/{name}", server.connect_string()),
            Self::Postgres(server) => format!("{}?namespace={name}", server.url()),
            Self::Etcd(server) => format!("etcd://{}/{name}", server.address()),
        }
    }
}
