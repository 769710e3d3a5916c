//! The registry under test: its addresses, its clients, and the faults that the harness causes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reg_center::RegistryCenter;
use registry::{Address, Registry};
use testkit::harness::ClusterError;

use super::links::Links;
use super::registry_file::RegistryFile;
use super::servers::Servers;
use super::{NAMESPACE, SESSION_TIMEOUT, harness, wire};
use crate::writelog::LoggedCenter;

/// Session timeout of the harness's own clients, longer than any fault of the registry.
const HARNESS_SESSION: Duration = Duration::from_secs(30);

/// A registry that real processes can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealBackend {
    /// An ensemble of three servers.
    Zookeeper,
    /// A file on this host.
    Sqlite,
}

impl RealBackend {
    /// Returns the name of the registry for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zookeeper => "zookeeper",
            Self::Sqlite => "sqlite",
        }
    }
}

/// The registry under test.
#[derive(Debug)]
pub(super) enum TestedRegistry {
    Zookeeper(Servers),
    Sqlite(RegistryFile),
}

impl TestedRegistry {
    /// Starts the servers, or names the file.
    pub(super) fn start(backend: RealBackend, folder: &Path) -> Result<Self, ClusterError> {
        match backend {
            RealBackend::Zookeeper => Servers::start().map(Self::Zookeeper),
            RealBackend::Sqlite => Ok(Self::Sqlite(RegistryFile::new(folder.join("registry.db")))),
        }
    }

    /// Returns the addresses of the servers; empty if there is no network between the processes and
    /// the registry.
    pub(super) fn servers(&self) -> Vec<SocketAddr> {
        match self {
            Self::Zookeeper(servers) => servers.addresses(),
            Self::Sqlite(_) => Vec::new(),
        }
    }

    /// Returns the servers.
    pub(super) fn ensemble(&mut self, act: &'static str) -> Result<&mut Servers, ClusterError> {
        match self {
            Self::Zookeeper(servers) => Ok(servers),
            Self::Sqlite(_) => {
                Err(harness(act, std::io::Error::other("the registry is a file, without servers")))
            }
        }
    }

    /// Returns the address of the registry for a worker behind these links.
    pub(super) fn address(&self, links: &Links) -> String {
        match self {
            Self::Zookeeper(_) => format!("zk://{}{NAMESPACE}", links.addresses()),
            Self::Sqlite(file) => file.address(),
        }
    }

    /// Returns true if the clients have to write the log of the registry.
    pub(super) fn is_logged_by_clients(&self) -> bool {
        match self {
            Self::Zookeeper(_) => false,
            Self::Sqlite(_) => true,
        }
    }

    /// Connects a client of the harness, without links between.
    pub(super) async fn connect(&self) -> Result<Arc<dyn RegistryCenter>, ClusterError> {
        const ACT: &str = "connect to the registry";
        let address = match self {
            Self::Zookeeper(servers) => format!("zk://{}{NAMESPACE}", servers.connect_string()),
            Self::Sqlite(file) => file.address(),
        };
        let address = Address::parse(&address).map_err(|error| harness(ACT, error))?;
        let opened = Registry::open_at(address.session_timeout(HARNESS_SESSION)).await;
        Ok(opened.map_err(|error| harness(ACT, error))?)
    }

    /// Connects an operator, whose writes are logged.
    pub(super) async fn connect_operator(&self) -> Result<Arc<dyn RegistryCenter>, ClusterError> {
        let center = self.connect().await?;
        match self.is_logged_by_clients() {
            true => Ok(Arc::new(LoggedCenter::new(center, "", "operator"))),
            false => Ok(center),
        }
    }

    /// Returns what ends sessions of this registry.
    pub(super) fn expiry(&self) -> Expiry {
        match self {
            Self::Zookeeper(servers) => Expiry::Zookeeper(servers.addresses()),
            Self::Sqlite(file) => Expiry::Sqlite(file.clone()),
        }
    }
}

/// Ends sessions of other processes.
#[derive(Clone, Debug)]
pub(super) enum Expiry {
    Zookeeper(Vec<SocketAddr>),
    Sqlite(RegistryFile),
}

impl Expiry {
    /// Ends a session that was opened through these links. Its ephemeral nodes are gone when this
    /// returns.
    pub(super) async fn end(&self, links: &Links, session: i64) -> Result<(), ClusterError> {
        match self {
            Self::Zookeeper(servers) => end_through(links, servers, session).await,
            Self::Sqlite(file) => file.expire(session).await,
        }
    }
}

/// Ends a session of ZooKeeper.
///
/// Two clients of one session disconnect each other. The links are therefore cut first, unless they
/// are cut already.
async fn end_through(
    links: &Links,
    servers: &[SocketAddr],
    session: i64,
) -> Result<(), ClusterError> {
    const ACT: &str = "end a session";
    let found = links.sessions().find(|found| found.session == session);
    let found = found
        .ok_or_else(|| harness(ACT, std::io::Error::other("the links have no such session")))?;
    let is_cut = links.mode() == testkit::harness::LinkMode::Black;
    if !is_cut {
        links.refuse().await.map_err(|error| harness(ACT, error))?;
    }
    let ended = wire::end_session(servers, &found, SESSION_TIMEOUT).await;
    if !is_cut {
        links.apply().await.map_err(|error| harness(ACT, error))?;
    }
    ended.map_err(|error| harness(ACT, error))
}
