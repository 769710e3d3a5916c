//! The request of a transaction: its net effect, and the condition that nothing it has read has
//! changed.

use std::cell::RefCell;
use std::collections::BTreeSet;

use prost::Message as _;
use reg_center::evaluate::{Snapshot, Stamp, evaluate};
use reg_center::{Change, Conflict, Error, Node, NodePath, Result, Scope, Stat, Txn};

use super::CALL;
use super::state::State;
use crate::client::messages::{
    Compare, CompareResult, DeleteRangeRequest, PutRequest, Request, RequestOp, TxnRequest,
};
use crate::session::{Link, unchanged};
use crate::value::{self, NextStat, PENDING};

/// Maximum size of an encoded request. The default limit of a server is 1.5 MiB; some bytes are
/// left for what the server adds.
pub(crate) const MAX_REQUEST_BYTES: usize = 1_560_000;
/// Maximum of the bytes of paths and data in one transaction.
pub(crate) const MAX_TXN_BYTES: usize = 1_400_000;

/// The decision about a transaction, on the state that it has read.
#[derive(Debug)]
pub(super) enum Plan {
    Conflict(Conflict),
    /// It holds and changes nothing.
    Nothing(Vec<Option<Stat>>),
    Write(Planned),
}

/// The writes of a transaction.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) request: TxnRequest,
    /// The new stats, with [`PENDING`] as the revision of the transaction.
    pub(super) stats: Vec<Option<Stat>>,
}

/// Evaluates a transaction on the state that it has read.
pub(super) fn plan(link: &Link, txn: &Txn, state: &State) -> Result<Plan> {
    let recorder = Recorder { state, used: RefCell::default() };
    let stamp = Stamp { session: link.session, revision: PENDING, time: None };
    let effect = match evaluate(&recorder, stamp, txn.ops())? {
        Ok(effect) => effect,
        Err(conflict) => return Ok(Plan::Conflict(conflict)),
    };
    if effect.changes.is_empty() {
        return Ok(Plan::Nothing(effect.stats));
    }
    let success = effect.changes.iter().filter_map(|change| write(link, state, change)).collect();
    let compare = conditions(link, state, &recorder.used.into_inner())?;
    let request = TxnRequest { compare, success, failure: Vec::new() };
    admit("operations", request.success.len(), link.txn_ops)?;
    admit("bytes", request.encoded_len(), MAX_REQUEST_BYTES)?;
    Ok(Plan::Write(Planned { request, stats: effect.stats }))
}

fn admit(unit: &'static str, size: usize, limit: usize) -> Result<()> {
    if size > limit { Err(Error::TooLarge { unit, size, limit }) } else { Ok(()) }
}

/// Returns the write of a change.
fn write(link: &Link, state: &State, change: &Change) -> Option<RequestOp> {
    let request = match change {
        Change::Put(node) | Change::Entry(node) => {
            let stored = state.nodes.get(&node.path).and_then(Option::as_ref).map(|s| &s.kv);
            let lease = node.stat.owner.map_or(0, |owner| owner.0);
            // A lease cannot be named again once it is over, but its nodes can still be written
            // until they are gone.
            let ignore_lease = lease != 0 && stored.is_some_and(|kv| kv.lease == lease);
            Request::Put(PutRequest {
                key: link.keys.node(&node.path),
                value: value::encode(node, NextStat::after(stored)),
                lease: if ignore_lease { 0 } else { lease },
                ignore_lease,
            })
        }
        Change::Gone { path, .. } => {
            Request::DeleteRange(DeleteRangeRequest { key: link.keys.node(path) })
        }
        Change::Init | Change::Ready => return None,
    };
    Some(request.into())
}

/// Returns the conditions that the session is the same, and that nothing has changed that the
/// evaluation has used.
fn conditions(link: &Link, state: &State, used: &Used) -> Result<Vec<Compare>> {
    let mut conditions = vec![unchanged(link.keys.session(link.session), link.guard)];
    conditions.extend(used.nodes.iter().map(|path| {
        let stored = state.nodes.get(path).and_then(Option::as_ref);
        unchanged(link.keys.node(path), stored.map_or(0, |stored| stored.kv.mod_revision))
    }));
    let space = link.txn_ops.saturating_sub(conditions.len());
    if space == 0 {
        admit("operations", conditions.len(), link.txn_ops)?;
    }
    let folders = widened(outermost(used.children.iter().cloned()), space);
    if folders.len() > space {
        return Err(Error::TooLarge {
            unit: "operations",
            size: conditions.len() + folders.len(),
            limit: link.txn_ops,
        });
    }
    conditions.extend(folders.iter().map(|path| {
        let range = link.keys.below(path);
        // Nothing below was written since the read. An absent key has revision 0.
        Compare {
            result: CompareResult::Less.into(),
            mod_revision: Some(state.revision + 1),
            range_end: range.end,
            ..unchanged(range.begin, 0)
        }
    }));
    Ok(conditions)
}

/// Replaces nodes by their parents until there are at most `space`.
///
/// A condition on more nodes than needed is safe: at worst, an unrelated write causes another
/// attempt. So a transaction can delete as many nodes as the limit of operations says.
fn widened(mut folders: BTreeSet<NodePath>, space: usize) -> BTreeSet<NodePath> {
    while folders.len() > space && folders.iter().any(|path| !path.is_root()) {
        folders = outermost(folders.iter().map(|path| path.parent().unwrap_or(path.clone())));
    }
    folders
}

/// Leaves out the nodes that are below others.
fn outermost(paths: impl Iterator<Item = NodePath>) -> BTreeSet<NodePath> {
    Scope::parts_of(NodePath::root(), paths).parts().cloned().collect()
}

/// The nodes and children that an evaluation has used.
#[derive(Debug, Default)]
struct Used {
    nodes: BTreeSet<NodePath>,
    children: BTreeSet<NodePath>,
}

/// Records what an evaluation uses of a state.
struct Recorder<'a> {
    state: &'a State,
    used: RefCell<Used>,
}

impl Snapshot for Recorder<'_> {
    fn node(&self, path: &NodePath) -> Result<Option<Node>> {
        self.used.borrow_mut().nodes.insert(path.clone());
        let stored = self.state.nodes.get(path).ok_or_else(|| not_read(path))?;
        let node = stored.as_ref().map(|stored| stored.node.clone()).transpose();
        node.map_err(|cause| Error::Rejected { call: CALL, cause })
    }

    fn children(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        self.used.borrow_mut().children.insert(path.clone());
        let children = self.state.children.get(path).ok_or_else(|| not_read(path))?;
        Ok(children.iter().cloned().collect())
    }
}

/// Returns an error instead of a guess, if the evaluation uses a node that was not read.
fn not_read(path: &NodePath) -> Error {
    Error::Rejected { call: CALL, cause: format!("{path} was not read") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> BTreeSet<NodePath> {
        texts.iter().map(|text| NodePath::parse(text).unwrap()).collect()
    }

    #[test]
    fn conditions_on_children_are_widened_until_they_fit() {
        let leaves = paths(&["/a/b/1", "/a/b/2", "/a/c/3", "/d"]);
        let rows: [(usize, &[&str]); 4] =
            [(4, &["/a/b/1", "/a/b/2", "/a/c/3", "/d"]), (3, &["/"]), (1, &["/"]), (0, &["/"])];
        for (space, expected) in rows {
            assert_eq!(widened(leaves.clone(), space), paths(expected), "{space}");
        }
        let deep = paths(&["/a/b/1/x", "/a/b/2/x", "/a/b/2/y"]);
        assert_eq!(widened(deep.clone(), 2), paths(&["/a/b/1", "/a/b/2"]));
        assert_eq!(widened(deep, 1), paths(&["/a/b"]));
        assert_eq!(outermost(paths(&["/a", "/a/b", "/ab"]).into_iter()), paths(&["/a", "/ab"]));
    }
}
