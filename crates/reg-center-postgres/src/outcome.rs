//! Answers of the server as values of the contract.

use bytes::Bytes;
use reg_center::{
    Change, Committed, Conflict, ConflictReason, Lifetime, Node, NodePath, Op, Revision, SessionId,
    Stat, TxnOutcome, Version,
};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::error::{Failure, Result};
use crate::sql::path_of;

/// The columns of a node in queries, after `kind`.
pub(crate) const NODE_COLUMNS: &str =
    "n.parent, n.name, n.data, n.version, n.created, n.modified, n.owner";

/// Reads a column of a row.
pub(crate) fn column<'r, T>(row: &'r PgRow, index: usize) -> Result<T>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(index).map_err(|error| Failure::not_done(format!("column {index}: {error}")))
}

/// Converts a stored counter, which is never negative.
pub(crate) fn counter(row: &PgRow, index: usize) -> Result<u64> {
    let value: i64 = column(row, index)?;
    u64::try_from(value).map_err(|_| Failure::not_done(format!("negative counter {value}")))
}

fn version(value: i64) -> Result<Version> {
    let version = u32::try_from(value);
    version.map(Version).map_err(|_| Failure::not_done(format!("stored version {value}")))
}

fn stored_path(text: &str) -> Result<NodePath> {
    NodePath::parse(text).map_err(|error| Failure::not_done(format!("stored path: {error}")))
}

/// Reads the path in the columns of parent and name.
pub(crate) fn path(row: &PgRow, index: usize) -> Result<NodePath> {
    stored_path(&path_of(column(row, index)?, column(row, index + 1)?))
}

/// Reads a node, whose columns begin at `index`.
pub(crate) fn node(row: &PgRow, index: usize) -> Result<Node> {
    let stat = Stat {
        version: version(column(row, index + 3)?)?,
        created: Revision(counter(row, index + 4)?),
        modified: Revision(counter(row, index + 5)?),
        modified_at: None,
        owner: column::<Option<i64>>(row, index + 6)?.map(SessionId),
    };
    let data: Vec<u8> = column(row, index + 2)?;
    Ok(Node { path: path(row, index)?, data: Bytes::from(data), stat })
}

/// Reads a change of a feed. Columns: parent, name, revision, whether the node exists, the node.
pub(crate) fn change(row: &PgRow, index: usize) -> Result<Change> {
    if column(row, index + 3)? {
        return node(row, index + 4).map(Change::Put);
    }
    let revision = Revision(counter(row, index + 2)?);
    Ok(Change::Gone { path: path(row, index)?, revision: Some(revision) })
}

/// Reads the rows of `commit_all`: the outcome of each transaction.
pub(crate) fn outcomes(
    rows: &[PgRow],
    session: SessionId,
    txns: &[&[Op]],
) -> Result<Vec<TxnOutcome>> {
    let mut outcomes = Vec::with_capacity(txns.len());
    let mut written = Vec::new();
    for row in rows {
        if column::<i32>(row, 0)? == 0 {
            return Err(Failure::SessionOver);
        }
        let op = usize::try_from(column::<i32>(row, 1)?).unwrap_or_default();
        if op > 0 {
            written.push((op - 1, put_stat(row)?));
            continue;
        }
        let ops = txns.get(outcomes.len()).copied().unwrap_or_default();
        let revision = column::<Option<i64>>(row, 2)?.map(|_| counter(row, 2)).transpose()?;
        let puts = std::mem::take(&mut written);
        outcomes.push(match column::<Option<&str>>(row, 4)? {
            Some(reason) => TxnOutcome::Conflict(Conflict {
                index: usize::try_from(column::<i32>(row, 3)? - 1).unwrap_or_default(),
                reason: conflict_reason(reason)?,
            }),
            None => committed(session, ops, revision.map(Revision), puts),
        });
    }
    if outcomes.len() == txns.len() {
        return Ok(outcomes);
    }
    // The commit may have happened.
    let answers = outcomes.len();
    Err(Failure::Unknown(format!("{answers} answers to {} transactions", txns.len())))
}

fn put_stat(row: &PgRow) -> Result<Stat> {
    Ok(Stat {
        version: version(column(row, 5)?)?,
        created: Revision(counter(row, 6)?),
        modified: Revision(counter(row, 2)?),
        modified_at: None,
        owner: column::<Option<i64>>(row, 7)?.map(SessionId),
    })
}

fn committed(
    session: SessionId,
    ops: &[Op],
    revision: Option<Revision>,
    puts: Vec<(usize, Stat)>,
) -> TxnOutcome {
    let mut stats: Vec<_> = ops.iter().map(|op| created_stat(session, op, revision)).collect();
    for (op, stat) in puts {
        if let Some(place) = stats.get_mut(op) {
            *place = Some(stat);
        }
    }
    TxnOutcome::Committed(Committed { revision, stats })
}

/// Returns the stat of a created node, which the operation and the revision define.
fn created_stat(session: SessionId, op: &Op, revision: Option<Revision>) -> Option<Stat> {
    let (Op::Create { lifetime, .. }, Some(revision)) = (op, revision) else { return None };
    let owner = (*lifetime == Lifetime::Ephemeral).then_some(session);
    let (created, modified) = (revision, revision);
    Some(Stat { version: Version(0), created, modified, modified_at: None, owner })
}

fn conflict_reason(text: &str) -> Result<ConflictReason> {
    Ok(match text {
        "version" => ConflictReason::VersionMismatch,
        "exists" => ConflictReason::Exists,
        "absent" => ConflictReason::Absent,
        "children" => ConflictReason::HasChildren,
        "ephemeral parent" => ConflictReason::EphemeralParent,
        other => return Err(Failure::not_done(format!("unknown reason {other:?}"))),
    })
}
