//! The registry of the exhaustive model: nodes and their owners, without versions.
//!
//! Absolute versions would make every history a state of its own. They are left out: every node is shown at the one
//! version [`CURRENT`]. That is sound because versions are only ever compared with the version that a node has at the
//! moment of the commit. A plan expects what its view showed, so each expectation is either "as it is now" or "as it
//! was before"; versions only grow, so what was before never comes back. Whoever holds a version (a plan under way,
//! a claim in doubt) is told of every put of its node (see [`Written`]) and from then on holds [`STALE`].
//!
//! A node that is deleted and created again begins at version 0, in ZooKeeper as in our own registry, so that an old
//! expectation can hold again by accident. Here it always does: a deletion makes nothing stale. This is worse than the
//! truth, and whatever holds here holds there.

use std::collections::BTreeMap;

use bytes::Bytes;
use coordination::internals::{decode_assignment, encode_assignment, encode_ledger};
use coordination::{JobView, Layout, Ledger, NodeKind, decode_ledger};
use reg_center::{
    Change, Conflict, ConflictReason, Expect, Lifetime, Node, NodePath, Op, Revision, SessionId,
    Stat, Txn, Version,
};
use sharding::{InstanceId, ShardingItem};

use super::print::{Print, print_of};

/// The version at which every node is shown.
pub(super) const CURRENT: Version = Version(1);
/// What a version becomes when its node is written: it is never current again.
pub(super) const STALE: Version = Version(0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) data: Bytes,
    pub(super) owner: Option<SessionId>,
    print: Print,
}

impl Entry {
    pub(super) fn new(path: &NodePath, data: Bytes, owner: Option<SessionId>) -> Self {
        let print = print_of(&(path, &data, owner));
        Self { data, owner, print }
    }
}

/// The nodes of one job. Parents are left out but for one, because nobody reads the others and nothing guards on them.
#[derive(Clone, Debug)]
pub(super) struct Registry {
    nodes: BTreeMap<NodePath, Entry>,
    pub(super) print: Print,
}

/// The nodes that a transaction has put: versions of them that somebody holds are stale.
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
        // The order of the nodes is given, so that a sum says as much as a hash over all.
        let print = nodes.values().fold(0, |sum: Print, entry| sum.wrapping_add(entry.print));
        Self { nodes, print }
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
        if written.request {
            age_handled_request(&mut nodes, layout);
        }
        if written.config {
            age_claimed_config(&mut nodes, layout);
        }
        Ok((Self::new(nodes), written))
    }

    /// Ends a session: what it owns is gone.
    pub(super) fn without_session(&self, session: SessionId) -> Self {
        let mut nodes = self.nodes.clone();
        nodes.retain(|_, entry| entry.owner != Some(session));
        Self::new(nodes)
    }

    /// Returns the view of somebody who has seen everything.
    pub(super) fn view(&self, layout: &Layout) -> JobView {
        let mut view = JobView::new(layout.clone());
        let entries = self.nodes.iter().map(|(path, entry)| {
            let (created, modified) = (Revision(1), Revision(1));
            let stat =
                Stat { version: CURRENT, created, modified, modified_at: None, owner: entry.owner };
            Change::Entry(Node { path: path.clone(), data: entry.data.clone(), stat })
        });
        for change in std::iter::once(Change::Init).chain(entries).chain([Change::Ready]) {
            view.apply(change).expect("the model's nodes hold what they should");
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

/// Adds the parent of what waits to be taken over when something does. It stays.
fn add_failover_root(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    let root = layout.path(&NodeKind::FailoverRoot);
    if !nodes.contains_key(&root) && nodes.keys().any(|path| path.below(&root).is_some()) {
        nodes.insert(root.clone(), Entry::new(&root, Bytes::new(), None));
    }
}

/// The assignment says which version of the request counter was handled.
fn age_handled_request(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    let path = layout.path(&NodeKind::Assignment);
    let Some(entry) = nodes.get_mut(&path) else { return };
    let mut record = decode_assignment(&entry.data).expect("the model's records can be read");
    record.handled = STALE.0;
    *entry = Entry::new(&path, encode_assignment(&record).into(), None);
}

/// The record of an item says under which version of the configuration it was claimed.
fn age_claimed_config(nodes: &mut BTreeMap<NodePath, Entry>, layout: &Layout) {
    for (path, entry) in nodes {
        if !matches!(layout.parse(path), Some(NodeKind::Ledger(_))) {
            continue;
        }
        let ledger = decode_ledger(&entry.data).expect("the model's records can be read");
        let aged = Ledger { config: ledger.config.map(|_| STALE), ..ledger };
        *entry = Entry::new(path, encode_ledger(&aged).into(), None);
    }
}
