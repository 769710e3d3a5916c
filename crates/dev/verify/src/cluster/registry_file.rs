//! A registry in a file, and its faults.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reg_center::{NodePath, Revision};
use rusqlite::{Connection, OptionalExtension as _, params};
use testkit::harness::ClusterError;

use super::harness;
use crate::writelog::{Deletions, LookupError};

/// Limit of the wait until another process has ended a session.
const EXPIRY_LIMIT: Duration = Duration::from_secs(30);
/// Interval at which the session is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Limit of the wait for the write lock.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// A registry file.
#[derive(Clone, Debug)]
pub(super) struct RegistryFile {
    path: PathBuf,
}

impl RegistryFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn address(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    /// Ends a session: to the other processes its timeout is over. Its ephemeral nodes are gone
    /// when this returns.
    pub(super) async fn expire(&self, session: i64) -> Result<(), ClusterError> {
        const ACT: &str = "end a session";
        let sql = |error: rusqlite::Error| harness(ACT, error);
        let file = self.open(ACT)?;
        let changed = file
            .execute("UPDATE session SET timeout_ms = 1 WHERE id = ?1", [session])
            .map_err(sql)?;
        if changed == 0 {
            let error = format!("the registry has no session {session}");
            return Err(harness(ACT, std::io::Error::other(error)));
        }
        let deadline = Instant::now() + EXPIRY_LIMIT;
        loop {
            let live = "SELECT count(*) FROM session WHERE id = ?1";
            let n_live: i64 = file.query_row(live, [session], |row| row.get(0)).map_err(sql)?;
            if n_live == 0 {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let error =
                    format!("waited {EXPIRY_LIMIT:?}, and no process has ended session {session}");
                return Err(harness(ACT, std::io::Error::other(error)));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Holds the write lock of the file for a time, so that no process can write. If that is longer
    /// than `session_timeout`, all sessions with this timeout are over afterwards: the processes
    /// that come next end them.
    pub(super) async fn lock(
        &self,
        time: Duration,
        session_timeout: Duration,
    ) -> Result<(), ClusterError> {
        const ACT: &str = "lock the registry file";
        let sql = |error: rusqlite::Error| harness(ACT, error);
        let file = self.open(ACT)?;
        file.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
        tokio::time::sleep(time).await;
        if time > session_timeout {
            // Otherwise the first process to come back continues its own session.
            let end = format!(
                "UPDATE session SET timeout_ms = 1 WHERE timeout_ms = {}",
                session_timeout.as_millis()
            );
            file.execute_batch(&end).map_err(sql)?;
        }
        file.execute_batch("COMMIT").map_err(sql)
    }

    fn open(&self, act: &'static str) -> Result<Connection, ClusterError> {
        let file = Connection::open(&self.path).map_err(|error| harness(act, error))?;
        file.busy_timeout(LOCK_LIMIT).map_err(|error| harness(act, error))?;
        Ok(file)
    }
}

#[async_trait]
impl Deletions for RegistryFile {
    async fn deletion(
        &self,
        path: &NodePath,
        created: Revision,
    ) -> Result<Option<Revision>, LookupError> {
        let sql = "SELECT revision FROM gone WHERE path = ?1 AND revision > ?2";
        let file = self.open("look up a deletion")?;
        let created = i64::try_from(created.0)?;
        let found = file.query_row(sql, params![path.as_str(), created], |row| row.get(0));
        let found: Option<i64> = found.optional()?;
        Ok(found.map(u64::try_from).transpose()?.map(Revision))
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, RegistryCenter as _, Txn, TxnOutcome};
    use registry::Registry;

    use super::*;

    #[tokio::test]
    async fn deletion_of_a_node_is_found_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = RegistryFile::new(folder.path().join("registry.db"));
        let center = Registry::open(&file.address()).await.unwrap();
        let path = |text: &str| NodePath::parse(text).unwrap();
        let revision_of = async |txn: Txn| match center.commit(txn).await.unwrap() {
            TxnOutcome::Committed(committed) => committed.revision.unwrap(),
            TxnOutcome::Conflict(conflict) => panic!("{conflict:?}"),
        };
        let create = |at: &str| Txn::new().create(path(at), "", Lifetime::Ephemeral);
        let created = revision_of(create("/log/1")).await;
        assert_eq!(file.deletion(&path("/log/1"), created).await.unwrap(), None);
        let deleted = revision_of(Txn::new().delete(path("/log/1"))).await;
        revision_of(create("/log/2")).await;
        assert_eq!(file.deletion(&path("/log/1"), created).await.unwrap(), Some(deleted));
        assert_eq!(file.deletion(&path("/log/1"), deleted).await.unwrap(), None);
    }
}
