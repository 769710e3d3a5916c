//! The statements within one transaction of the database.

use bytes::Bytes;
use reg_center::evaluate::{Snapshot, Stamp, evaluate};
use reg_center::{
    Change, Committed, Error, Node, NodePath, Op, Revision, SessionId, Stat, TxnOutcome, Version,
};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};

use crate::store::{Batch, Failure, Result};

/// Number of revisions whose deletions are kept for feeds. A center that is further behind starts
/// its feeds with a new snapshot.
const KEPT_REVISIONS: u64 = 10_000;
const COLUMNS: &str = "parent, name, data, version, created, modified, owner";

/// The tables, as one transaction of the database sees them.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a>(pub(crate) &'a Connection);

impl Tables<'_> {
    /// Returns the revision of the last write.
    pub(crate) fn revision(self) -> Result<Revision> {
        Ok(Revision(from_sql(self.number("SELECT revision FROM registry")?)))
    }

    /// Returns the revision up to which deletions may have been forgotten.
    pub(crate) fn forgotten(self) -> Result<Revision> {
        Ok(Revision(from_sql(self.number("SELECT forgotten FROM registry")?)))
    }

    fn number(self, query: &str) -> Result<i64> {
        Ok(self.0.prepare_cached(query)?.query_row([], |row| row.get(0))?)
    }

    fn set_revision(self, revision: Revision) -> Result<()> {
        self.run("UPDATE registry SET revision = ?1", [to_sql(revision.0)])
    }

    fn run(self, statement: &str, params: impl Params) -> Result<()> {
        self.0.prepare_cached(statement)?.execute(params)?;
        Ok(())
    }

    pub(crate) fn read(self, path: &NodePath) -> Result<Option<Node>> {
        let query = format!("SELECT {COLUMNS} FROM node WHERE parent = ?1 AND name = ?2");
        let (parent, name) = split(path);
        let mut statement = self.0.prepare_cached(&query)?;
        let row = statement.query_row(params![parent, name], |row| Ok(node(row))).optional()?;
        row.transpose()
    }

    pub(crate) fn names_of_children(self, path: &NodePath) -> Result<Vec<String>> {
        let query = "SELECT name FROM node WHERE parent = ?1 ORDER BY name";
        let mut statement = self.0.prepare_cached(query)?;
        let names = statement.query_map([path.as_str()], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    /// Appends the node at `root` and all nodes below it.
    pub(crate) fn add_subtree(self, root: &NodePath, nodes: &mut Vec<Node>) -> Result<()> {
        let Some(first) = self.read(root)? else { return Ok(()) };
        nodes.push(first);
        // Paths of descendants begin with the path of the root and a slash; `0` follows the slash.
        let prefix = root.as_str().trim_end_matches('/');
        let query = format!(
            "SELECT {COLUMNS} FROM node WHERE parent = ?1 OR (parent >= ?2 AND parent < ?3)"
        );
        let range = params![root.as_str(), format!("{prefix}/"), format!("{prefix}0")];
        let mut statement = self.0.prepare_cached(&query)?;
        let mut rows = statement.query(range)?;
        while let Some(row) = rows.next()? {
            nodes.push(node(row)?);
        }
        Ok(())
    }

    /// Returns the nodes that were written and deleted after a revision, by the order of their last
    /// writes.
    pub(crate) fn changes_after(self, after: Revision) -> Result<Vec<Change>> {
        let after = to_sql(after.0);
        let mut changes = Vec::new();
        let query = "SELECT path, revision FROM gone WHERE revision > ?1";
        let mut statement = self.0.prepare_cached(query)?;
        let mut rows = statement.query([after])?;
        while let Some(row) = rows.next()? {
            let revision = Revision(from_sql(row.get(1)?));
            let path = stored_path(&row.get::<_, String>(0)?)?;
            changes.push((revision, Change::Gone { path, revision: Some(revision) }));
        }
        let query = format!("SELECT {COLUMNS} FROM node WHERE modified > ?1");
        let mut statement = self.0.prepare_cached(&query)?;
        let mut rows = statement.query([after])?;
        while let Some(row) = rows.next()? {
            let node = node(row)?;
            changes.push((node.stat.modified, Change::Put(node)));
        }
        // A deletion comes before a later creation of the same node.
        changes.sort_by_key(|(revision, _)| *revision);
        Ok(changes.into_iter().map(|(_, change)| change).collect())
    }

    /// Executes a transaction and adds its answer and its changes to the batch.
    pub(crate) fn execute(self, session: SessionId, ops: &[Op], batch: &mut Batch) -> Result<()> {
        let stamp = Stamp { session, revision: batch.after.next(), time: None };
        let answer = match evaluate(&self, stamp, ops) {
            Ok(Ok(effect)) => {
                if !effect.changes.is_empty() {
                    batch.after = stamp.revision;
                    self.store(&effect.changes, stamp.revision)?;
                    batch.changes.extend(effect.changes);
                }
                let revision = Some(batch.after);
                Ok(TxnOutcome::Committed(Committed { revision, stats: effect.stats }))
            }
            Ok(Err(conflict)) => Ok(TxnOutcome::Conflict(conflict)),
            Err(error @ Error::Rejected { .. }) => Err(error),
            Err(error) => return Err(Failure::NotDone(error.to_string())),
        };
        batch.answers.push(answer);
        Ok(())
    }

    fn store(self, changes: &[Change], revision: Revision) -> Result<()> {
        self.set_revision(revision)?;
        for change in changes {
            match change {
                Change::Put(node) | Change::Entry(node) => self.put(node)?,
                Change::Gone { path, .. } => self.delete(path, revision)?,
                Change::Init | Change::Ready => {}
            }
        }
        Ok(())
    }

    fn put(self, node: &Node) -> Result<()> {
        let (parent, name) = split(&node.path);
        let Stat { version, created, modified, owner, modified_at: _ } = node.stat;
        self.run(
            "INSERT OR REPLACE INTO node VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                parent,
                name,
                &node.data[..],
                version.0,
                to_sql(created.0),
                to_sql(modified.0),
                owner.map(|session| session.0),
            ],
        )
    }

    fn delete(self, path: &NodePath, revision: Revision) -> Result<()> {
        let (parent, name) = split(path);
        self.run("DELETE FROM node WHERE parent = ?1 AND name = ?2", params![parent, name])?;
        let gone = "INSERT OR REPLACE INTO gone VALUES (?1, ?2)";
        self.run(gone, params![path.as_str(), to_sql(revision.0)])
    }

    /// Deletes the ephemeral nodes of a session at one revision.
    pub(crate) fn delete_nodes_of(self, session: SessionId) -> Result<()> {
        let query = format!("SELECT {COLUMNS} FROM node WHERE owner = ?1");
        let mut statement = self.0.prepare_cached(&query)?;
        let mut rows = statement.query([session.0])?;
        let mut owned = Vec::new();
        while let Some(row) = rows.next()? {
            owned.push(node(row)?.path);
        }
        if owned.is_empty() {
            return Ok(());
        }
        let revision = self.revision()?.next();
        self.set_revision(revision)?;
        owned.iter().try_for_each(|path| self.delete(path, revision))
    }

    /// Removes the deletions that no feed needs any more.
    pub(crate) fn forget_old_deletions(self) -> Result<()> {
        let Some(last) = self.revision()?.0.checked_sub(KEPT_REVISIONS) else { return Ok(()) };
        // Not at each call: a batch of rows costs little more than one row.
        if last.saturating_sub(self.forgotten()?.0) < KEPT_REVISIONS {
            return Ok(());
        }
        self.run("DELETE FROM gone WHERE revision <= ?1", [to_sql(last)])?;
        self.run("UPDATE registry SET forgotten = ?1", [to_sql(last)])
    }
}

impl Snapshot for Tables<'_> {
    fn node(&self, path: &NodePath) -> reg_center::Result<Option<Node>> {
        self.read(path).map_err(read_error)
    }

    fn children(&self, path: &NodePath) -> reg_center::Result<Vec<NodePath>> {
        let names = self.names_of_children(path).map_err(read_error)?;
        names.iter().map(|name| Ok(path.join(name)?)).collect()
    }
}

/// Returns the error that ends an evaluation. The cause is in the failure that the caller returns.
fn read_error(failure: Failure) -> Error {
    let cause = match failure {
        Failure::NotDone(cause) | Failure::Unknown(cause) => cause,
        Failure::SessionOver => "the session is over".to_owned(),
    };
    Error::Unknown { call: "read", cause }
}

/// Returns the key of a node: its parent and its name, both empty for the root.
fn split(path: &NodePath) -> (String, &str) {
    match path.parent() {
        Some(parent) => (parent.as_str().to_owned(), path.name()),
        None => (String::new(), ""),
    }
}

fn node(row: &Row<'_>) -> Result<Node> {
    let (parent, name): (String, String) = (row.get(0)?, row.get(1)?);
    let path = match parent.as_str() {
        "" => NodePath::root(),
        "/" => stored_path(&format!("/{name}"))?,
        parent => stored_path(&format!("{parent}/{name}"))?,
    };
    let stat = Stat {
        version: Version(row.get(3)?),
        created: Revision(from_sql(row.get(4)?)),
        modified: Revision(from_sql(row.get(5)?)),
        modified_at: None,
        owner: row.get::<_, Option<i64>>(6)?.map(SessionId),
    };
    Ok(Node { path, data: Bytes::from(row.get::<_, Vec<u8>>(2)?), stat })
}

fn stored_path(text: &str) -> Result<NodePath> {
    NodePath::parse(text).map_err(|error| Failure::NotDone(format!("stored path: {error}")))
}

/// Converts a counter for SQLite, whose integers are signed. No counter reaches the limit.
pub(crate) fn to_sql(counter: u64) -> i64 {
    i64::try_from(counter).unwrap_or(i64::MAX)
}

/// Converts a stored counter, which is never negative.
pub(crate) fn from_sql(counter: i64) -> u64 {
    u64::try_from(counter).unwrap_or(0)
}
