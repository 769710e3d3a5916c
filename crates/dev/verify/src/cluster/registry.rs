//! The registry under test: its addresses, its clients, and the end of sessions from outside.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reg_center::RegistryCenter;
use registry::{Address, Registry};
use testkit::harness::ClusterError;

use super::database::Database;
use super::etcd_servers::EtcdServers;
use super::links::Links;
use super::registry_file::RegistryFile;
use super::servers::Servers;
use super::zookeeper_servers::ZookeeperServers;
use super::{NAMESPACE, harness, wire};
use crate::writelog::{Deletions, LoggedCenter};

/// Session timeout of the harness's own clients, longer than any fault of the registry.
const HARNESS_SESSION: Duration = Duration::from_secs(30);

/// A registry that real processes can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealBackend {
    /// An ensemble of three servers.
    Zookeeper,
    /// A file on this host.
    Sqlite,
    /// A database on one server.
    Postgres,
    /// A cluster of three servers.
    Etcd,
}

impl RealBackend {
    /// Returns the name of the registry for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zookeeper => "zookeeper",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Etcd => "etcd",
        }
    }

    /// Returns the period of the job's schedule: two seconds, and three on etcd, because of its
    /// session timeout. It divides a minute.
    #[must_use]
    pub fn period(self) -> Duration {
        match self {
            Self::Zookeeper | Self::Sqlite | Self::Postgres => Duration::from_secs(2),
            Self::Etcd => Duration::from_secs(3),
        }
    }

    /// Returns the session timeout of the workers: one second, and two on etcd, which has no
    /// shorter ones.
    #[must_use]
    pub fn session_timeout(self) -> Duration {
        match self {
            Self::Zookeeper | Self::Sqlite | Self::Postgres => Duration::from_secs(1),
            Self::Etcd => Duration::from_secs(2),
        }
    }
}

/// The registry under test.
#[derive(Debug)]
pub(super) enum TestedRegistry {
    Zookeeper(ZookeeperServers),
    Sqlite(RegistryFile),
    Postgres(Database),
    Etcd(EtcdServers),
}

impl TestedRegistry {
    /// Starts the servers, or names the file.
    pub(super) fn start(backend: RealBackend, folder: &Path) -> Result<Self, ClusterError> {
        match backend {
            RealBackend::Zookeeper => ZookeeperServers::start().map(Self::Zookeeper),
            RealBackend::Sqlite => Ok(Self::Sqlite(RegistryFile::new(folder.join("registry.db")))),
            RealBackend::Postgres => Database::start().map(Self::Postgres),
            RealBackend::Etcd => EtcdServers::start().map(Self::Etcd),
        }
    }

    /// Returns the addresses of the servers; empty if there is no network between the processes and
    /// the registry.
    pub(super) fn servers(&self) -> Vec<SocketAddr> {
        match self {
            Self::Zookeeper(zookeeper) => zookeeper.servers().addresses(),
            Self::Sqlite(_) => Vec::new(),
            Self::Postgres(database) => vec![database.server()],
            Self::Etcd(etcd) => etcd.servers().addresses(),
        }
    }

    /// Returns the servers, if they elect a leader.
    pub(super) fn with_leader(&self, act: &'static str) -> Result<Servers, ClusterError> {
        match self {
            Self::Zookeeper(zookeeper) => Ok(zookeeper.servers()),
            Self::Etcd(etcd) => Ok(etcd.servers()),
            Self::Sqlite(_) | Self::Postgres(_) => {
                let error = "the registry has no servers that elect a leader";
                Err(harness(act, std::io::Error::other(error)))
            }
        }
    }

    /// Returns the address of the registry for a worker behind these links.
    pub(super) fn address(&self, links: &Links) -> String {
        self.address_at(&links.addresses())
    }

    /// Returns the address of the registry for a client that reaches the servers at `hosts`.
    fn address_at(&self, hosts: &str) -> String {
        match self {
            Self::Zookeeper(_) => format!("zk://{hosts}{NAMESPACE}"),
            Self::Sqlite(file) => file.address(),
            Self::Postgres(_) => Database::address(hosts),
            Self::Etcd(_) => format!("etcd://{hosts}{NAMESPACE}"),
        }
    }

    /// Returns true if the clients have to write the log of the registry.
    pub(super) fn is_logged_by_clients(&self) -> bool {
        match self {
            Self::Zookeeper(_) => false,
            Self::Sqlite(_) | Self::Postgres(_) | Self::Etcd(_) => true,
        }
    }

    /// Returns the way to find deletions that a feed has not shown. ZooKeeper has a log of its own,
    /// which no feed reads.
    pub(super) fn deletions(&self) -> Option<Arc<dyn Deletions>> {
        match self {
            Self::Zookeeper(_) => None,
            Self::Sqlite(file) => Some(Arc::new(file.clone())),
            Self::Postgres(database) => Some(Arc::new(database.clone())),
            Self::Etcd(etcd) => Some(Arc::new(etcd.clone())),
        }
    }

    /// Connects a client of the harness, without links between.
    pub(super) async fn connect(&self) -> Result<Arc<dyn RegistryCenter>, ClusterError> {
        const ACT: &str = "connect to the registry";
        let hosts: Vec<String> = self.servers().iter().map(ToString::to_string).collect();
        let address = self.address_at(&hosts.join(","));
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
            Self::Zookeeper(zookeeper) => Expiry::Zookeeper(zookeeper.servers().addresses()),
            Self::Sqlite(file) => Expiry::Sqlite(file.clone()),
            Self::Postgres(database) => Expiry::Postgres(database.clone()),
            Self::Etcd(etcd) => Expiry::Etcd(etcd.clone()),
        }
    }
}

/// Ends sessions of other processes.
#[derive(Clone, Debug)]
pub(super) enum Expiry {
    Zookeeper(Vec<SocketAddr>),
    Sqlite(RegistryFile),
    Postgres(Database),
    Etcd(EtcdServers),
}

impl Expiry {
    /// Ends a session that was opened through these links. Its ephemeral nodes are gone when this
    /// returns.
    pub(super) async fn end(&self, links: &Links, session: i64) -> Result<(), ClusterError> {
        match self {
            Self::Zookeeper(servers) => end_through(links, servers, session).await,
            Self::Sqlite(file) => file.expire(session).await,
            Self::Postgres(database) => database.expire(session),
            Self::Etcd(etcd) => etcd.expire(session),
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
    let timeout = RealBackend::Zookeeper.session_timeout();
    let ended = wire::end_session(servers, &found, timeout).await;
    if !is_cut {
        links.apply().await.map_err(|error| harness(ACT, error))?;
    }
    ended.map_err(|error| harness(ACT, error))
}

#[cfg(test)]
mod tests {
    use reg_center::{Change, Lifetime, NodePath, SessionChange, Txn, TxnOutcome};

    use super::*;

    /// Limit of a wait for a change.
    const LIMIT: Duration = Duration::from_secs(60);

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    /// Commits a transaction that must happen, and returns its outcome.
    async fn write(center: &Arc<dyn RegistryCenter>, txn: Txn) -> reg_center::Committed {
        match center.commit(txn).await.unwrap() {
            TxnOutcome::Committed(committed) => committed,
            TxnOutcome::Conflict(conflict) => panic!("{conflict}"),
        }
    }

    /// Ends a session from outside, and compares the lookup of its node with a feed without a gap.
    async fn lookup_agrees_with_the_feed(backend: RealBackend) {
        let folder = tempfile::tempdir().unwrap();
        let registry = TestedRegistry::start(backend, folder.path()).unwrap();
        let (center, other) =
            (registry.connect().await.unwrap(), registry.connect().await.unwrap());
        let Some(SessionChange::Connected { session, .. }) = center.session() else {
            panic!("there is no session: {:?}", center.session())
        };
        let node = path("/verify-log/sessions/1");
        let create = Txn::new().create(node.clone(), "", Lifetime::Ephemeral);
        let created = write(&center, create).await.revision.unwrap();
        let mut feed = other.watch(&node);
        let mut change = async || tokio::time::timeout(LIMIT, feed.next()).await.unwrap().unwrap();
        while change().await != Change::Ready {}
        let fill = |n: u32| Txn::new().create(path(&format!("/job/{n}")), "", Lifetime::Persistent);
        for n in 0..5 {
            write(&other, fill(n)).await;
        }
        let deletions = registry.deletions().unwrap();
        assert_eq!(deletions.deletion(&node, created).await.unwrap(), None, "it exists");
        let links = Links::start(&[]).await.unwrap();
        registry.expiry().end(&links, session.0).await.unwrap();
        assert_eq!(other.read(&node).await.unwrap(), None, "it is gone when the end returns");
        for n in 5..9 {
            write(&other, fill(n)).await;
        }
        let Change::Gone { revision: Some(shown), .. } = change().await else {
            panic!("the feed has shown another change than the end")
        };
        assert_eq!(deletions.deletion(&node, created).await.unwrap(), Some(shown));
        let again = registry.expiry().end(&links, session.0).await;
        assert!(again.is_err(), "the session is over");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL; `cargo xtask nightly` runs it"]
    async fn end_of_a_session_is_found_among_the_changes_of_a_database() {
        lookup_agrees_with_the_feed(RealBackend::Postgres).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs etcd; `cargo xtask nightly` runs it"]
    async fn end_of_a_session_is_found_among_the_revisions_of_etcd() {
        lookup_agrees_with_the_feed(RealBackend::Etcd).await;
    }
}
