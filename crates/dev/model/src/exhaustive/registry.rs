//! The registry of the exhaustive model: nodes and their owners, without versions.
//!
//! With absolute versions, every history would be a state of its own. Every node has the one
//! version [`CURRENT`] instead. This is sound because a version is only compared with the version
//! of the node at the commit. A plan expects a version from its view, which is either the present
//! or an earlier one. Versions only grow, so that an earlier one never returns. Plans in flight and
//! unknown claims hold versions: after each put of a node (see [`Written`]) they hold [`STALE`] for
//! it.
//!
//! A node that is deleted and created again starts at version 0, in ZooKeeper and in the registry
//! in memory. An old guard can then hold by accident. In the model it always holds: a deletion
//! makes no version stale. The model therefore has more behaviours than a registry, and its safety
//! carries over.

use std::collections::BTreeMap;

use bytes::Bytes;
use coordination::internals::{decode_assignment, encode_assignment, encode_ledger};
use coordination::{JobView, Layout, Ledger, NodeKind, OutcomeCounts, decode_ledger};
use reg_center::{
    Change, Conflict, ConflictReason, Expect, Lifetime, Node, NodePath, Op, Revision, SessionId,
    Stat, Txn, Version,
};
use sharding::{InstanceId, ShardingItem};

use super::fingerprint::{Fingerprint, fingerprint_of};

/// Version of every node.
pub(super) const CURRENT: Version = Version(1);
/// Stands for every version before the last put of a node. It is never current again.
pub(super) const STALE: Version = Version(0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) data: Bytes,
    pub(super) owner: Option<SessionId>,
    fingerprint: Fingerprint,
}

impl Entry {
    pub(super) fn new(path: &NodePath, data: Bytes, owner: Option<SessionId>) -> Self {
        let fingerprint = fingerprint_of(&(path, &data, owner));
        Self { data, owner, fingerprint }
    }
}

/// The nodes of one job, without parents: plans read and guard only that of the failover queue.
#[derive(Clone, Debug)]
pub(super) struct Registry {
    nodes: BTreeMap<NodePath, Entry>,
    pub(super) fingerprint: Fingerprint,
}

/// The nodes that a transaction has put. Versions of them in plans and claims are stale afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    paths: Vec<NodePath>,
    pub(super) request: bool,
    pub(super) config: bool,
    pub(super) ledgers: Vec<ShardingItem>,
    pub(super) instances: Vec<InstanceId>,
}

impl Written {
    fn of(layout: &Layout, paths: Vec<NodePath>) -> Self {
        let mut written = Self::default();
        for kind in paths.iter().filter_map(|path| layout.parse(path)) {
            match kind {
                NodeKind::Request => written.request = true,
                NodeKind::Config => written.config = true,
                NodeKind::Ledger(item) => written.ledgers.push(item),
                NodeKind::Instance(id) => written.instances.push(id),
                _ => {}
            }
        }
        Self { paths, ..written }
    }

    pub(super) fn contains(&self, path: &NodePath) -> bool {
        self.paths.contains(path)
    }
}

impl Registry {
    pub(super) fn new(nodes: BTreeMap<NodePath, Entry>) -> Self {
        // Each fingerprint covers the path, so that their sum identifies the set of nodes.
        let fingerprint =
            nodes.values().fold(0, |sum: Fingerprint, entry| sum.wrapping_add(entry.fingerprint));
        Self { nodes, fingerprint }
    }

    pub(super) fn get(&self, path: &NodePath) -> Option<&Entry> {
        self.nodes.get(path)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&NodePath, &Entry)> {
        self.nodes.iter()
    }

    /// Executes a transaction as [`reg_center::model::Model`] does.
    pub(super) fn commit(
        &self,
        layout: &Layout,
        session: SessionId,
        txn: &Txn,
    ) -> Result<(Self, Written), Conflict> {
        let mut nodes = self.nodes.clone();
        let mut written = Vec::new();
        for (index, op) in txn.ops().iter().enumerate() {
            let done = apply(&mut nodes, &mut written, session, op);
            done.map_err(|reason| Conflict { index, reason })?;
        }
        add_failover_root(&mut nodes, layout);
        let written = Written::of(layout, written);
        clear_counts(&mut nodes, layout, &written.ledgers);
        if written.request {
            mark_handled_request_stale(&mut nodes, layout);
        }
        if written.config {
            mark_claimed_config_stale(&mut nodes, layout);
        }
        Ok((Self::new(nodes), written))
    }

    /// Ends a session, which deletes its ephemeral nodes.
    pub(super) fn without_session(&self, session: SessionId) -> Self {
        let mut nodes = self.nodes.clone();
        nodes.retain(|_, entry| entry.owner != Some(session));
        Self::new(nodes)
    }

    /// Returns the up-to-date view.
    pub(super) fn view(&self, layout: &Layout) -> JobView {
        let mut view = JobView::new(layout.clone());
        let entries = self.nodes.iter().map(|(path, entry)| {
            let (created, modified) = (Revision(1), Revision(1));
            let stat =
                Stat { version: CURRENT, created, modified, modified_at: None, owner: entry.owner };
            Change::Entry(Node { path: path.clone(), data: entry.data.clone(), stat })
        });
        for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
            view.apply(change).expect("the nodes of the model are valid");
        }
        view
    }
}

fn apply(
    nodes: &mut BTreeMap<NodePath, Entry>,
    written: &mut Vec<NodePath>,
    session: SessionId,
    op: &Op,
) -> Result<(), ConflictReason> {
    match op {
        Op::Create { path, .. } | Op::CheckAbsent { path } if nodes.contains_key(path) => {
            return Err(ConflictReason::Exists);
        }
        Op::Create { path, data, lifetime } => {
            let owner = (*lifetime == Lifetime::Ephemeral).then_some(session);
            nodes.insert(path.clone(), Entry::new(path, data.clone(), owner));
        }
        Op::Put { path, data, expect } => {
            let owner = check(nodes, path, *expect)?.owner;
            nodes.insert(path.clone(), Entry::new(path, data.clone(), owner));
            written.push(path.clone());
        }
        Op::Delete { path, expect } => {
            check(nodes, path, *expect)?;
            nodes.remove(path);
        }
        Op::Check { path, expect } => {
            check(nodes, path, *expect)?;
        }
        Op::CheckAbsent { .. } => {}
    }
    Ok(())
}

fn check<'a>(
    nodes: &'a BTreeMap<NodePath, Entry>,
    path: &NodePath,
    expect: Expect,
) -> Result<&'a Entry, ConflictReason> {
    let entry = nodes.get(path).ok_or(ConflictReason::Absent)?;
    match expect {
        Expect::Version(version) if version != CURRENT => Err(ConflictReason::VersionMismatch),
        Expect::Version(_) | Expect::Exists => Ok(entry),
    }
}

/// Adds the parent of the failover queue with the first entry, and keeps it.
fn add_failover_root(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    let root = layout.path(&NodeKind::FailoverRoot);
    if !nodes.contains_key(&root) && nodes.keys().any(|path| path.below(&root).is_some()) {
        nodes.insert(root.clone(), Entry::new(&root, Bytes::new(), None));
    }
}

/// Marks the request that the assignment has handled as stale.
fn mark_handled_request_stale(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    let path = layout.path(&NodeKind::Assignment);
    let Some(entry) = nodes.get_mut(&path) else { return };
    let mut record = decode_assignment(&entry.data).expect("the records of the model are valid");
    record.handled = STALE.0;
    *entry = Entry::new(&path, encode_assignment(&record).into(), None);
}

/// Clears the numbers of ended runs in ledger records. No decision depends on them, and they would
/// multiply the states.
fn clear_counts(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout, written: &[ShardingItem]) {
    for item in written {
        let path = layout.ledger_path(*item);
        let Some(entry) = nodes.get_mut(&path) else { continue };
        let ledger = decode_ledger(&entry.data).expect("the records of the model are valid");
        let cleared = Ledger { runs: OutcomeCounts::default(), ..ledger };
        *entry = Entry::new(&path, encode_ledger(&cleared).into(), None);
    }
}

/// Marks the configuration by which each ledger record was claimed as stale.
fn mark_claimed_config_stale(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    for (path, entry) in nodes {
        if !matches!(layout.parse(path), Some(NodeKind::Ledger(_))) {
            continue;
        }
        let ledger = decode_ledger(&entry.data).expect("the records of the model are valid");
        let aged = Ledger { config: ledger.config.map(|_| STALE), ..ledger };
        *entry = Entry::new(path, encode_ledger(&aged).into(), None);
    }
}
