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
    pub(crate) const ALL: [Self; 4] = [Self::Zookeeper, Self::Sqlite, Self::Postgres, Self::Etcd];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Zookeeper => "zk",
            Self::Postgres => "postgres",
            Self::Etcd => "etcd",
        }
    }

    /// Returns the backend of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.name() == name)
    }

    /// Finds the server, if the backend has one, else installs it.
    pub(crate) fn ensure(self) -> Result<(), Error> {
        match self {
            Self::Sqlite => Ok(()),
            Self::Zookeeper => zookeeper::ensure(),
            Self::Postgres => postgres::ensure(),
            Self::Etcd => etcd::ensure(),
        }
    }

    /// Starts the server, if the backend has one.
    pub(crate) fn start(self) -> Result<RunningRegistry, Error> {
        self.ensure()?;
        let running = match self {
            Self::Sqlite => RunningRegistry::Sqlite(
                tempfile::tempdir()
                    .map_err(Error::file("create a folder in", &std::env::temp_dir()))?,
            ),
            Self::Zookeeper => {
                RunningRegistry::Zookeeper(Box::new(zookeeper_fixture::Server::start()?))
            }
            Self::Postgres => {
                RunningRegistry::Postgres(Box::new(postgres_fixture::Server::start()?))
            }
            Self::Etcd => RunningRegistry::Etcd(Box::new(etcd_fixture::Server::start()?)),
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
