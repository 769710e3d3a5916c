//! Evaluation of a transaction against a snapshot, for registries that execute transactions
//! themselves.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::SystemTime;

use bytes::Bytes;

use crate::{
    Change, Conflict, ConflictReason, Expect, Lifetime, Node, NodePath, Op, Result, Revision,
    SessionId, Stat, Version,
};

/// The nodes that a transaction reads: a consistent state of the registry, without the writes of
/// the transaction itself.
pub trait Snapshot {
    /// Returns a node, or `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error`](crate::Error), which ends the evaluation.
    fn node(&self, path: &NodePath) -> Result<Option<Node>>;

    /// Returns the children of a node, in any order; none if it does not exist.
    ///
    /// # Errors
    /// [`Error`](crate::Error), which ends the evaluation.
    fn children(&self, path: &NodePath) -> Result<Vec<NodePath>>;
}

/// Values that the registry adds to the nodes that a transaction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The session that executes the transaction. It owns the ephemeral nodes.
    pub session: SessionId,
    /// The revision of the transaction: greater than those of all earlier writes of its trees.
    pub revision: Revision,
    /// The registry's time, if it has a clock.
    pub time: Option<SystemTime>,
}

/// The effect of a transaction whose expectations hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// New stat of the node of each operation; `None` for checks and deletions.
    pub stats: Vec<Option<Stat>>,
    /// The net effect: one [`Change::Put`] or [`Change::Gone`] for each node, in the order of the
    /// last writes. Empty if the transaction changes nothing. The registry stores these changes and
    /// delivers them to its feeds.
    pub changes: Vec<Change>,
}

/// Evaluates a transaction: returns its effect, or the first expectation that does not hold.
///
/// Nothing is written: the caller stores the effect, in the transaction of its database in which
/// the snapshot was read. The caller also checks that the session is live.
///
/// # Errors
/// Errors of the snapshot; [`Error::Rejected`](crate::Error::Rejected) for a deletion of the root.
///
/// # Examples
/// ```
/// use reg_center::evaluate::{Snapshot, Stamp, evaluate};
/// use reg_center::{Lifetime, Node, NodePath, Result, Revision, SessionId, Txn};
///
/// struct Empty;
///
/// impl Snapshot for Empty {
///     fn node(&self, _: &NodePath) -> Result<Option<Node>> {
///         Ok(None)
///     }
///     fn children(&self, _: &NodePath) -> Result<Vec<NodePath>> {
///         Ok(Vec::new())
///     }
/// }
///
/// let create = Txn::new().create(NodePath::parse("/job/config")?, "x", Lifetime::Persistent);
/// let stamp = Stamp { session: SessionId(1), revision: Revision(7), time: None };
/// let effect = evaluate(&Empty, stamp, create.ops())?.expect("no expectation fails");
/// assert_eq!(effect.changes.len(), 3, "the root, the parent and the node");
/// # Ok::<(), reg_center::Error>(())
/// ```
pub fn evaluate(
    snapshot: &impl Snapshot,
    stamp: Stamp,
    ops: &[Op],
) -> Result<Result<Effect, Conflict>> {
    ops.iter().try_for_each(Op::admit)?;
    let mut attempt = Attempt { snapshot, stamp, writes: BTreeMap::new(), n_writes: 0 };
    let mut stats = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        match attempt.apply(op)? {
            Ok(stat) => stats.push(stat),
            Err(reason) => return Ok(Err(Conflict { index, reason })),
        }
    }
    Ok(Ok(Effect { stats, changes: attempt.changes() }))
}

/// The answer to one operation: the inner error is an expectation that does not hold.
type Answer<T> = Result<Result<T, ConflictReason>>;

/// A transaction in progress: the snapshot, and the writes on top of it.
struct Attempt<'a, S> {
    snapshot: &'a S,
    stamp: Stamp,
    writes: BTreeMap<NodePath, Write>,
    n_writes: usize,
}

/// The last write of a node in this transaction.
struct Write {
    /// Place of the write in the transaction.
    place: usize,
    /// The node existed before the transaction.
    existed: bool,
    /// The node after the write; `None` if it was deleted.
    node: Option<Node>,
}

impl<S: Snapshot> Attempt<'_, S> {
    fn apply(&mut self, op: &Op) -> Answer<Option<Stat>> {
        Ok(match op {
            Op::Create { path, data, lifetime } => self.create(path, data, *lifetime)?.map(Some),
            Op::Put { path, data, expect } => self.put(path, data, *expect)?.map(Some),
            Op::Delete { path, expect } => self.delete(path, *expect)?.map(|()| None),
            Op::Check { path, expect } => self.check(path, *expect)?.map(|_| None),
            Op::CheckAbsent { path } => match self.node(path)? {
                Some(_) => Err(ConflictReason::Exists),
                None => Ok(None),
            },
        })
    }

    /// Returns a node as the next operation sees it.
    fn node(&self, path: &NodePath) -> Result<Option<Node>> {
        match self.writes.get(path) {
            Some(write) => Ok(write.node.clone()),
            None => self.snapshot.node(path),
        }
    }

    fn create(&mut self, path: &NodePath, data: &Bytes, lifetime: Lifetime) -> Answer<Stat> {
        if self.node(path)?.is_some() {
            return Ok(Err(ConflictReason::Exists));
        }
        if let Some(parent) = path.parent() {
            match self.node(&parent)? {
                Some(node) if node.stat.owner.is_some() => {
                    return Ok(Err(ConflictReason::EphemeralParent));
                }
                Some(_) => {}
                None => {
                    let created = self.create(&parent, &Bytes::new(), Lifetime::Persistent)?;
                    if let Err(reason) = created {
                        return Ok(Err(reason));
                    }
                }
            }
        }
        let owner = match lifetime {
            Lifetime::Persistent => None,
            Lifetime::Ephemeral => Some(self.stamp.session),
        };
        let stat = Stat {
            version: Version(0),
            created: self.stamp.revision,
            modified: self.stamp.revision,
            modified_at: self.stamp.time,
            owner,
        };
        // The node does not exist now, but it did if this transaction has deleted it.
        let existed = self.writes.get(path).is_some_and(|write| write.existed);
        self.write(path, existed, Some(Node { path: path.clone(), data: data.clone(), stat }));
        Ok(Ok(stat))
    }

    fn put(&mut self, path: &NodePath, data: &Bytes, expect: Expect) -> Answer<Stat> {
        let old = match self.check(path, expect)? {
            Ok(stat) => stat,
            Err(reason) => return Ok(Err(reason)),
        };
        let stat = Stat {
            version: old.version.next(),
            modified: self.stamp.revision,
            modified_at: self.stamp.time,
            ..old
        };
        let existed = self.existed(path);
        self.write(path, existed, Some(Node { path: path.clone(), data: data.clone(), stat }));
        Ok(Ok(stat))
    }

    fn delete(&mut self, path: &NodePath, expect: Expect) -> Answer<()> {
        if let Err(reason) = self.check(path, expect)? {
            return Ok(Err(reason));
        }
        if self.has_children(path)? {
            return Ok(Err(ConflictReason::HasChildren));
        }
        let existed = self.existed(path);
        self.write(path, existed, None);
        Ok(Ok(()))
    }

    fn check(&self, path: &NodePath, expect: Expect) -> Answer<Stat> {
        let Some(node) = self.node(path)? else { return Ok(Err(ConflictReason::Absent)) };
        Ok(match expect {
            Expect::Version(version) if version != node.stat.version => {
                Err(ConflictReason::VersionMismatch)
            }
            Expect::Version(_) | Expect::Exists => Ok(node.stat),
        })
    }

    fn has_children(&self, path: &NodePath) -> Result<bool> {
        // Paths below the node follow it. Visiting all writes for each deletion would take
        // quadratic time in a large transaction.
        let after = self.writes.range((Bound::Excluded(path), Bound::Unbounded));
        let mut below = after.take_while(|(other, _)| other.as_str().starts_with(path.as_str()));
        let is_child = |other: &NodePath| other.parent().as_ref() == Some(path);
        if below.any(|(other, write)| write.node.is_some() && is_child(other)) {
            return Ok(true);
        }
        let stored = self.snapshot.children(path)?;
        Ok(stored.iter().any(|child| !self.writes.contains_key(child)))
    }

    /// Returns true if a node that exists now existed before the transaction.
    fn existed(&self, path: &NodePath) -> bool {
        self.writes.get(path).is_none_or(|write| write.existed)
    }

    fn write(&mut self, path: &NodePath, existed: bool, node: Option<Node>) {
        let place = self.n_writes;
        self.n_writes += 1;
        self.writes.insert(path.clone(), Write { place, existed, node });
    }

    fn changes(self) -> Vec<Change> {
        let revision = Some(self.stamp.revision);
        let mut changes: Vec<_> = self.writes.into_iter().collect();
        changes.sort_unstable_by_key(|(_, write)| write.place);
        let net = |(path, write): (NodePath, Write)| match write.node {
            Some(node) => Some(Change::Put(node)),
            None if write.existed => Some(Change::Gone { path, revision }),
            None => None,
        };
        changes.into_iter().filter_map(net).collect()
    }
}
