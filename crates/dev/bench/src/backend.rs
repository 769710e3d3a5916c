//! Kinds of registries, and a running registry of each kind.

use std::fmt;

use clap::ValueEnum;
use reg_center_sqlite::Durability;
use registry::Address;
use tempfile::TempDir;

use crate::Outcome;

/// Heap of ZooKeeper in MiB, as in production: 100 000 items and the latest transactions do not fit
/// into much less.
const HEAP_MIB: u32 = 1_024;
/// ZooKeeper's tick, of which each session timeout is a multiple.
const TICK: std::time::Duration = std::time::Duration::from_millis(500);

/// A kind of registry, named as in its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// A ZooKeeper server
    #[value(name = "zk")]
    Zookeeper,
    /// A SQLite file
    Sqlite,
    /// A PostgreSQL server
    Postgres,
    /// An etcd server
    Etcd,
}

impl Backend {
    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Zookeeper => "zk",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Etcd => "etcd",
        }
    }

    /// Returns whether each transaction waits for the disk, for all variants that are measured.
    pub(crate) fn fsync_choices(self) -> &'static [bool] {
        match self {
            Self::Zookeeper | Self::Sqlite => &[false, true],
            Self::Postgres | Self::Etcd => &[true],
        }
    }

    /// Returns the name of a variant in the terms of the registry.
    pub(crate) fn durability(self, fsync: bool) -> &'static str {
        match (self, fsync) {
            (Self::Sqlite, false) => "NORMAL",
            (Self::Sqlite, true) => "FULL",
            (_, false) => "no fsync",
            (_, true) => "fsync",
        }
    }

    /// Returns the number of raw clients that reach the highest rate of the registry: SQLite has
    /// one writer at a time, and PostgreSQL a process for each connection.
    pub(crate) fn raw_clients(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres => 16,
            Self::Zookeeper | Self::Etcd => 64,
        }
    }

    /// Starts an empty registry.
    pub(crate) fn start(self, fsync: bool) -> Outcome<Running> {
        Ok(match self {
            Self::Zookeeper => {
                let options = zookeeper_fixture::ServerOptions::default().fsync(fsync).tick(TICK);
                let options = options.heap_mib(HEAP_MIB);
                Running::Zookeeper(zookeeper_fixture::Server::start_with(&options)?)
            }
            Self::Sqlite => Running::Sqlite { folder: tempfile::tempdir()?, fsync },
            Self::Postgres => {
                let options = postgres_fixture::ServerOptions::default();
                let options = if fsync { options.durable() } else { options };
                Running::Postgres(postgres_fixture::Server::start_with(&options)?)
            }
            // The server waits for the disk unless a flag says otherwise.
            Self::Etcd if fsync => Running::Etcd(etcd_fixture::Server::start()?),
            Self::Etcd => return Err("etcd is measured with fsync only".into()),
        })
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A registry for the time of a measurement. Dropping it stops its server and removes its files.
#[derive(Debug)]
pub(crate) enum Running {
    Zookeeper(zookeeper_fixture::Server),
    Sqlite { folder: TempDir, fsync: bool },
    Postgres(postgres_fixture::Server),
    Etcd(etcd_fixture::Server),
}

impl Running {
    /// Returns the address of a namespace.
    pub(crate) fn address(&self, namespace: &str) -> Outcome<Address> {
        let text = match self {
            Self::Zookeeper(server) => format!("zk://{}/{namespace}", server.connect_string()),
            Self::Sqlite { folder, .. } => {
                format!("sqlite:{}", folder.path().join(namespace).with_extension("db").display())
            }
            Self::Postgres(server) => format!("{}?namespace={namespace}", server.url()),
            Self::Etcd(server) => format!("etcd://{}/{namespace}", server.address()),
        };
        Ok(match (Address::parse(&text)?, self) {
            (Address::Sqlite(options), Self::Sqlite { fsync: false, .. }) => {
                Address::Sqlite(options.durability(Durability::Normal))
            }
            (address, _) => address,
        })
    }
}
