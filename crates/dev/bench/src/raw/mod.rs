//! The limit of each registry: transactions that write one row, by the registry's own client and
//! without a center.

mod etcd;
mod postgres;
mod sqlite;
mod zookeeper;

use std::time::{Duration, Instant};

use reg_center::SessionId;

use crate::Outcome;
use crate::backend::Running;

/// Data of a row, about as long as a ledger record.
pub(crate) const RECORD: &str = "{\"state\":\"running\",\"token\":123456789,\"fire\":1700000000000,\"holder\":\"10.0.0.1@-@12345-k3f9x2\",\"source\":\"NORMAL\"}";

/// A client with one row (node, key) of its own.
pub(crate) enum RawClient {
    Zookeeper(zookeeper::Client),
    Sqlite(sqlite::Client),
    Postgres(postgres::Client),
    Etcd(etcd::Client),
}

impl RawClient {
    /// Opens clients whose rows are different.
    pub(crate) async fn open(registry: &Running, n: usize) -> Outcome<Vec<Self>> {
        Ok(match registry {
            Running::Zookeeper(server) => {
                let clients = zookeeper::open(&server.connect_string(), n).await?;
                clients.into_iter().map(Self::Zookeeper).collect()
            }
            Running::Sqlite { folder, fsync } => {
                let clients = sqlite::open(&folder.path().join("raw.db"), *fsync, n)?;
                clients.into_iter().map(Self::Sqlite).collect()
            }
            Running::Postgres(server) => {
                let clients = postgres::open(&server.url(), n).await?;
                clients.into_iter().map(Self::Postgres).collect()
            }
            Running::Etcd(server) => {
                let clients = etcd::open(server.address(), n).await?;
                clients.into_iter().map(Self::Etcd).collect()
            }
        })
    }

    /// Replaces the data of the client's row in one transaction.
    pub(crate) async fn write(&mut self) -> Outcome<()> {
        match self {
            Self::Zookeeper(client) => client.write().await,
            Self::Sqlite(client) => client.write(),
            Self::Postgres(client) => client.write().await,
            Self::Etcd(client) => client.write().await,
        }
    }

    /// Ends the session of another client. Only a center of PostgreSQL is lost in this way.
    pub(crate) async fn end_session(&mut self, session: SessionId) -> Outcome<()> {
        match self {
            Self::Postgres(client) => client.end_session(session).await,
            Self::Zookeeper(_) | Self::Sqlite(_) | Self::Etcd(_) => {
                Err("only PostgreSQL's sessions are ended by another client".into())
            }
        }
    }

    /// Returns the time of one write.
    pub(crate) async fn timed_write(&mut self) -> Outcome<Duration> {
        let begin = Instant::now();
        self.write().await?;
        Ok(begin.elapsed())
    }

    /// Returns the median of five writes, each after an idle time: a disk that other programs use
    /// as well answers one write many times later than the next.
    ///
    /// After a longer idle time a write takes longer, because processors and server have to wake
    /// up. So the idle time is that before the measured operation.
    pub(crate) async fn typical_write(&mut self, idle_time: Duration) -> Outcome<Duration> {
        let mut times = Vec::new();
        for _ in 0..5 {
            tokio::time::sleep(idle_time).await;
            times.push(self.timed_write().await?);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }
}
