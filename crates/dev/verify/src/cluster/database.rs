//! A registry in a PostgreSQL database, on one server, and its faults.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use postgres_fixture::{Error, Server};
use reg_center::{NodePath, Revision};
use testkit::harness::ClusterError;
use tokio::task::block_in_place;

use super::harness;
use crate::writelog::{Deletions, LookupError};

/// Name of the registry in the database.
const NAME: &str = "verify";

/// The database. The methods block a thread of the runtime, which must have other threads.
#[derive(Clone, Debug)]
pub(super) struct Database {
    server: Arc<Mutex<Server>>,
}

impl Database {
    pub(super) fn start() -> Result<Self, ClusterError> {
        let started = block_in_place(Server::start);
        let server = started.map_err(failed("start the database"))?;
        Ok(Self { server: Arc::new(Mutex::new(server)) })
    }

    pub(super) fn server(&self) -> SocketAddr {
        self.server.lock().address()
    }

    /// Returns the address of the registry for a client that reaches the server at `host`.
    pub(super) fn address(host: &str) -> String {
        format!("postgres://postgres@{host}/postgres?namespace={NAME}")
    }

    /// Kills the server, starts it again after a time, and waits until it serves.
    pub(super) async fn kill_for(&self, time: Duration) -> Result<(), ClusterError> {
        block_in_place(|| self.server.lock().kill()).map_err(failed("kill the database"))?;
        tokio::time::sleep(time).await;
        block_in_place(|| self.server.lock().restart()).map_err(failed("start the database"))
    }

    /// Ends a session as another center does after its timeout. Its ephemeral nodes are gone when
    /// this returns.
    pub(super) fn expire(&self, session: i64) -> Result<(), ClusterError> {
        const ACT: &str = "end a session";
        // The other centers are notified of the end. An empty payload stands for any tree.
        let sql = format!(
            "SELECT ejob.end_session({session}, -1) IS NOT NULL, \
             pg_notify('ejob_' || 'ejob.namespace'::regclass::oid || '_' || n.id, '') \
             FROM ejob.namespace AS n WHERE n.name = '{NAME}'"
        );
        let answer = block_in_place(|| self.server.lock().query(&sql)).map_err(failed(ACT))?;
        match answer.as_str() {
            "t|" => Ok(()),
            _ => {
                let error = format!("the registry has no session {session}: {answer}");
                Err(harness(ACT, std::io::Error::other(error)))
            }
        }
    }

    /// Copies the log of the server to `folder`.
    pub(super) fn keep_log(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::copy(self.server.lock().log_path(), folder.join("postgres.log")).map(drop)
    }
}

#[async_trait]
impl Deletions for Database {
    /// Looks into the changes that the registry keeps for feeds. A run has fewer writes than it
    /// keeps.
    async fn deletion(
        &self,
        path: &NodePath,
        created: Revision,
    ) -> Result<Option<Revision>, LookupError> {
        let Some(parent) = path.parent() else { return Ok(None) };
        let (name, created) = (path.name(), created.0);
        let sql = format!(
            "SELECT max(c.revision) FROM ejob.change AS c \
             JOIN ejob.tree AS t ON t.id = c.tree JOIN ejob.namespace AS n ON n.id = t.ns \
             WHERE n.name = '{NAME}' AND c.parent = '{parent}' AND c.name = '{name}' \
             AND c.revision > {created}"
        );
        let found = block_in_place(|| self.server.lock().query(&sql))?;
        if found.is_empty() { Ok(None) } else { Ok(Some(Revision(found.parse()?))) }
    }
}

fn failed(act: &'static str) -> impl FnOnce(Error) -> ClusterError {
    move |error| harness(act, error)
}
