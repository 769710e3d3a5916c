//! The registry in tables: transactions, reads, changes and sessions.

use std::time::Duration;

use reg_center::{Beat, Change, Node, NodePath, Op, Revision, Scope, SessionId, TxnOutcome};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params,
};

use crate::change_signal::ChangeSignal;
use crate::file::{self, FileId};
use crate::process::ProcessName;
use crate::tables::{Tables, from_sql, to_sql};
use crate::{Durability, OpenError, SqliteOptions};

/// An access to the file that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was written.
    NotDone(String),
    /// The write may have happened.
    Unknown(String),
    /// The session is over. Nothing was written.
    SessionOver,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The answers to a batch of transactions.
pub(crate) struct Batch {
    /// Revision of the registry before the batch.
    pub(crate) before: Revision,
    /// Revision after the batch.
    pub(crate) after: Revision,
    /// The answer to each transaction, in order.
    pub(crate) answers: Vec<reg_center::Result<TxnOutcome>>,
    /// All changes of the batch, in order.
    pub(crate) changes: Vec<Change>,
}

/// The changes after a revision.
pub(crate) enum News {
    /// The changes until this revision. Intermediate states are skipped.
    Changes(Revision, Vec<Change>),
    /// Deletions after the revision were forgotten.
    Gap,
}

/// The accesses of a center to its registry. Tests inject faults between the two.
pub(crate) trait Store: Send {
    /// Opens the file again if it was replaced, which ends the session of this store. Fails while
    /// the file is missing.
    fn reopen(&mut self) -> Result<()>;
    /// Opens a session.
    fn open_session(&mut self, timeout: Duration) -> Result<SessionId>;
    /// Raises the counter of the session of this store.
    fn beat(&mut self) -> Result<()>;
    /// Ends a session and deletes its nodes.
    fn end_session(&mut self, session: SessionId) -> Result<()>;
    /// Ends the sessions whose counter still has this value, and deletes their nodes.
    fn end_silent(&mut self, silent: &[Beat]) -> Result<()>;
    /// Returns the counters of all sessions, and the sessions whose process has ended.
    fn beats(&mut self) -> Result<(Vec<Beat>, Vec<Beat>)>;
    /// Executes transactions of the session of this store, each as a whole or not at all. They
    /// become durable together.
    fn commit(&mut self, txns: &[&[Op]]) -> Result<Batch>;
    /// Reads nodes at one revision.
    fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>>;
    /// Returns the names of the children in ascending order; `None` if the node does not exist.
    fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>>;
    /// Returns the nodes of a scope, and their revision. Fails if the session is over.
    fn snapshot(&mut self, scope: &Scope) -> Result<(Revision, Vec<Node>)>;
    /// Returns the changes after a revision. Fails if the session is over.
    fn news(&mut self, after: Revision) -> Result<News>;
    /// Returns true if another connection has written since the last call.
    fn was_written(&mut self) -> Result<bool>;
}

/// The registry in a SQLite file.
pub(crate) struct SqliteStore {
    options: SqliteOptions,
    db: Connection,
    /// Durability of the next transaction of `db`, if it is not set before.
    durability: Durability,
    file: FileId,
    signal: ChangeSignal,
    process: Option<ProcessName>,
    /// The session in the open file.
    session: Option<OwnSession>,
    /// The session that this store opened last, perhaps in a former file.
    last_session: SessionId,
    data_version: i64,
}

/// A session, with the newest state that its store has seen. If the file has an older one, a backup
/// was restored, and acknowledged writes of the session may be gone.
#[derive(Clone, Copy)]
struct OwnSession {
    id: SessionId,
    beats: u64,
    revision: Revision,
}

impl SqliteStore {
    pub(crate) fn open(options: SqliteOptions) -> std::result::Result<Self, OpenError> {
        let (db, file) = file::open_or_create(&options)?;
        let (signal, process) = (ChangeSignal::open(options.path()), ProcessName::own());
        let durability = options.durability;
        Ok(Self {
            options,
            db,
            durability,
            file,
            signal,
            process,
            session: None,
            last_session: SessionId(0),
            data_version: 0,
        })
    }

    /// Fails if the path no longer names the open file: writes to it would be lost.
    fn check_file(&self) -> Result<()> {
        let path = self.options.path();
        match FileId::of(path) {
            Ok(id) if id == self.file => Ok(()),
            Ok(_) => Err(not_done(format!("{} was replaced by another file", path.display()))),
            Err(error) => Err(not_done(format!("{}: {error}", path.display()))),
        }
    }

    fn write(&mut self) -> Result<Transaction<'_>> {
        self.write_with(self.options.durability)
    }

    fn write_with(&mut self, durability: Durability) -> Result<Transaction<'_>> {
        self.check_file()?;
        if self.durability != durability {
            file::set_durability(&self.db, durability)?;
            self.durability = durability;
        }
        Ok(self.db.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    fn read_only(&mut self) -> Result<Transaction<'_>> {
        self.check_file()?;
        Ok(self.db.transaction_with_behavior(TransactionBehavior::Deferred)?)
    }

    /// Returns the session of this store in the open file.
    fn own(&self) -> Result<OwnSession> {
        self.session.ok_or(Failure::SessionOver)
    }
}

impl Store for SqliteStore {
    fn reopen(&mut self) -> Result<()> {
        if self.check_file().is_ok() {
            return Ok(());
        }
        let opened = file::open_existing(&self.options);
        let (db, file) = opened.map_err(|error| not_done(error.to_string()))?;
        (self.db, self.file, self.data_version) = (db, file, 0);
        self.durability = self.options.durability;
        // A copy of the former file has a row for the session, but lacks its last writes.
        if let Some(former) = self.session.take() {
            tracing::warn!(session = %former.id, "another file has replaced the registry file");
        }
        Ok(())
    }

    fn open_session(&mut self, timeout: Duration) -> Result<SessionId> {
        let process = self.process.as_ref().map_or_else(String::new, ToString::to_string);
        let timeout = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let last = self.last_session;
        let txn = self.write()?;
        // A restored backup has an older counter. Without its own last session, a store could get
        // the number again, and guards could not distinguish the two sessions.
        let next = "UPDATE registry SET last_session = max(last_session, ?1) + 1
                    RETURNING last_session, revision";
        let (id, revision) = txn.query_row(next, [last.0], |row| {
            Ok((SessionId(row.get(0)?), Revision(from_sql(row.get(1)?))))
        })?;
        let row = "INSERT INTO session VALUES (?1, 0, ?2, ?3)";
        txn.execute(row, params![id.0, timeout, process])?;
        commit(txn)?;
        self.session = Some(OwnSession { id, beats: 0, revision });
        self.last_session = id;
        Ok(id)
    }

    fn beat(&mut self) -> Result<()> {
        // A loss of power ends the session anyway. A wait for the disk would hold the lock of the
        // file, and a process that is stopped meanwhile would block all others.
        let own = self.own()?;
        let txn = self.write_with(Durability::Normal)?;
        let mut seen = check_live(&txn, own)?;
        let raise = "UPDATE session SET beat = beat + 1 WHERE id = ?1 RETURNING beat";
        seen.beats = txn.query_row(raise, [own.id.0], |row| Ok(from_sql(row.get(0)?)))?;
        Tables(&txn).forget_old_deletions()?;
        commit(txn)?;
        self.session = Some(seen);
        Ok(())
    }

    fn end_session(&mut self, session: SessionId) -> Result<()> {
        let txn = self.write()?;
        if txn.execute("DELETE FROM session WHERE id = ?1", [session.0])? > 0 {
            Tables(&txn).delete_nodes_of(session)?;
        }
        commit(txn)?;
        self.signal.send();
        Ok(())
    }

    fn end_silent(&mut self, silent: &[Beat]) -> Result<()> {
        let txn = self.write()?;
        for beat in silent {
            let delete = "DELETE FROM session WHERE id = ?1 AND beat = ?2";
            if txn.execute(delete, params![beat.session.0, to_sql(beat.count)])? > 0 {
                Tables(&txn).delete_nodes_of(beat.session)?;
                tracing::warn!(session = %beat.session, "ended a session that gave no sign of life");
            }
        }
        commit(txn)?;
        self.signal.send();
        Ok(())
    }

    fn beats(&mut self) -> Result<(Vec<Beat>, Vec<Beat>)> {
        let own = self.process.clone();
        let txn = self.read_only()?;
        let mut statement =
            txn.prepare_cached("SELECT id, beat, timeout_ms, process FROM session")?;
        let rows = statement.query_map([], |row| {
            let timeout = Duration::from_millis(from_sql(row.get(2)?));
            let session = SessionId(row.get(0)?);
            let beat = Beat { session, count: from_sql(row.get(1)?), timeout };
            Ok((beat, ProcessName::parse(&row.get::<_, String>(3)?)))
        })?;
        let (mut beats, mut ended) = (Vec::new(), Vec::new());
        for row in rows {
            let (beat, process) = row?;
            beats.push(beat);
            if let (Some(own), Some(process)) = (&own, &process)
                && own.sees_end_of(process)
            {
                ended.push(beat);
            }
        }
        Ok((beats, ended))
    }

    fn commit(&mut self, txns: &[&[Op]]) -> Result<Batch> {
        let own = self.own()?;
        let sql_txn = self.write()?;
        let mut seen = check_live(&sql_txn, own)?;
        let tables = Tables(&sql_txn);
        let before = seen.revision;
        let mut batch = Batch { before, after: before, answers: Vec::new(), changes: Vec::new() };
        for ops in txns {
            tables.execute(own.id, ops, &mut batch)?;
        }
        commit(sql_txn)?;
        seen.revision = batch.after;
        self.session = Some(seen);
        if batch.after != batch.before {
            self.signal.send();
        }
        Ok(batch)
    }

    fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let txn = self.read_only()?;
        let tables = Tables(&txn);
        paths.iter().map(|path| tables.read(path)).collect()
    }

    fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let txn = self.read_only()?;
        let tables = Tables(&txn);
        match tables.read(path)? {
            Some(_) => tables.names_of_children(path).map(Some),
            None => Ok(None),
        }
    }

    fn snapshot(&mut self, scope: &Scope) -> Result<(Revision, Vec<Node>)> {
        let own = self.own()?;
        let txn = self.read_only()?;
        let seen = check_live(&txn, own)?;
        let tables = Tables(&txn);
        let mut nodes = Vec::new();
        for part in scope.parts() {
            tables.add_subtree(part, &mut nodes)?;
        }
        drop(txn);
        self.session = Some(seen);
        Ok((seen.revision, nodes))
    }

    fn news(&mut self, after: Revision) -> Result<News> {
        let own = self.own()?;
        let txn = self.read_only()?;
        let seen = check_live(&txn, own)?;
        let tables = Tables(&txn);
        if tables.forgotten()? > after {
            return Ok(News::Gap);
        }
        let changes = tables.changes_after(after)?;
        drop(txn);
        self.session = Some(seen);
        Ok(News::Changes(seen.revision, changes))
    }

    fn was_written(&mut self) -> Result<bool> {
        self.check_file()?;
        let version = self.db.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let known = std::mem::replace(&mut self.data_version, version);
        Ok(known != version)
    }
}

/// Fails if a session is over: its row is gone, or the file has an older state than the session has
/// seen. Returns the session with the state of the file.
///
/// The end of a session deletes its nodes. A feed that showed this before the end of the session
/// would make the session's process believe that an operator has deleted them.
fn check_live(txn: &Transaction<'_>, own: OwnSession) -> Result<OwnSession> {
    let query = "SELECT beat, revision FROM session, registry WHERE id = ?1";
    let found = txn.prepare_cached(query)?.query_row([own.id.0], |row| {
        let (beats, revision) = (from_sql(row.get(0)?), Revision(from_sql(row.get(1)?)));
        Ok(OwnSession { id: own.id, beats, revision })
    });
    let Some(found) = found.optional()? else { return Err(Failure::SessionOver) };
    // The counter finds a restored backup also after new writes have raised its revision.
    if found.beats < own.beats || found.revision < own.revision {
        tracing::warn!(session = %own.id, "the registry file has an older state than before");
        return Err(Failure::SessionOver);
    }
    Ok(found)
}

/// Commits a transaction. If SQLite cannot say that it failed, its outcome is unknown.
fn commit(txn: Transaction<'_>) -> Result<()> {
    txn.commit().map_err(|error| match error.sqlite_error_code() {
        // The transaction is still open, or was rolled back.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => {
            not_done(error.to_string())
        }
        _ => Failure::Unknown(error.to_string()),
    })
}

fn not_done(cause: String) -> Failure {
    Failure::NotDone(cause)
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::NotDone(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_beats_do_not_wait_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("registry.db"));
        let mut store = SqliteStore::open(options).unwrap();
        store.open_session(Duration::from_secs(10)).unwrap();
        let synchronous = |store: &SqliteStore| {
            store.db.pragma_query_value(None, "synchronous", |row| row.get::<_, i32>(0)).unwrap()
        };
        let (normal, full) = (1, 2);
        assert_eq!(synchronous(&store), full);
        store.beat().unwrap();
        assert_eq!(synchronous(&store), normal);
        store.commit(&[]).unwrap();
        assert_eq!(synchronous(&store), full);
    }
}
