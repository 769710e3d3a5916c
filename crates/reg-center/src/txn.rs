//! Transactions: a list of checks and writes that happens as a whole or not at all.

use std::fmt;

use bytes::Bytes;

use crate::{Lifetime, NodePath, Revision, SessionId, Stat, Version};

/// What must be true of an existing node for an operation to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The node exists.
    Exists,
    /// The node exists and has this version.
    Version(Version),
}

/// One step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Creates a node that must not exist.
    Create {
        /// Where.
        path: NodePath,
        /// What it holds.
        data: Bytes,
        /// How long it stays.
        lifetime: Lifetime,
    },
    /// Replaces the data of an existing node.
    Put {
        /// Where.
        path: NodePath,
        /// What it holds from now on.
        data: Bytes,
        /// What must be true before.
        expect: Expect,
    },
    /// Deletes an existing node that has no children.
    Delete {
        /// Where.
        path: NodePath,
        /// What must be true before.
        expect: Expect,
    },
    /// Changes nothing and fails the transaction unless the expectation holds.
    Check {
        /// Where.
        path: NodePath,
        /// What must be true.
        expect: Expect,
    },
    /// Changes nothing and fails the transaction if the node exists.
    ///
    /// A registry without such a check may create and delete the node in the transaction; watchers can notice that.
    CheckAbsent {
        /// Where.
        path: NodePath,
    },
}

impl Op {
    /// Returns the node that the operation is about.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        match self {
            Self::Create { path, .. }
            | Self::Put { path, .. }
            | Self::Delete { path, .. }
            | Self::Check { path, .. }
            | Self::CheckAbsent { path } => path,
        }
    }

    /// Returns a word for messages: `create`, `put`, `delete`, `check`, `check absent`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Put { .. } => "put",
            Self::Delete { .. } => "delete",
            Self::Check { .. } => "check",
            Self::CheckAbsent { .. } => "check absent",
        }
    }

    /// Refuses what no registry does: the root always exists.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) for a deletion of the root.
    pub(crate) fn admit(&self) -> Result<(), crate::Error> {
        match self {
            Self::Delete { path, .. } if path.is_root() => Err(crate::Error::Refused {
                act: "commit",
                cause: "the root cannot be deleted".to_owned(),
            }),
            Self::Create { .. }
            | Self::Put { .. }
            | Self::Delete { .. }
            | Self::Check { .. }
            | Self::CheckAbsent { .. } => Ok(()),
        }
    }

    /// Returns the bytes of data that the operation carries.
    #[must_use]
    pub fn data_len(&self) -> usize {
        match self {
            Self::Create { data, .. } | Self::Put { data, .. } => data.len(),
            Self::Delete { .. } | Self::Check { .. } | Self::CheckAbsent { .. } => 0,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.path())
    }
}

/// A transaction under construction: operations in order, perhaps bound to a session.
///
/// # Examples
/// ```
/// use reg_center::{Lifetime, NodePath, Txn, Version};
///
/// let ledger = NodePath::parse("/report/ledger/0")?;
/// let running = NodePath::parse("/report/sharding/0/running")?;
/// let claim = Txn::new()
///     .put_if(ledger, Version(4), "running")
///     .create(running, "", Lifetime::Ephemeral);
/// assert_eq!(claim.ops().len(), 2);
/// # Ok::<(), reg_center::PathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    session: Option<SessionId>,
    label: &'static str,
    ops: Vec<Op>,
}

impl Txn {
    /// Returns a transaction without operations; committing it succeeds and changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds the transaction to a session: in any other session it is refused with
    /// [`Error::SessionLost`](crate::Error::SessionLost) and not executed.
    #[must_use]
    pub fn in_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Says what the transaction is for: for those who look on, such as logs and fault injection.
    ///
    /// No registry stores or heeds it. Default: empty.
    #[must_use]
    pub fn labelled(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// Appends an operation.
    #[must_use]
    pub fn op(mut self, op: Op) -> Self {
        self.ops.push(op);
        self
    }

    /// Creates a node; conflicts if it exists. Missing parents are made, persistent and empty.
    #[must_use]
    pub fn create(self, path: NodePath, data: impl Into<Bytes>, lifetime: Lifetime) -> Self {
        self.op(Op::Create { path, data: data.into(), lifetime })
    }

    /// Replaces the data of a node, whatever its version; conflicts if it is absent.
    #[must_use]
    pub fn put(self, path: NodePath, data: impl Into<Bytes>) -> Self {
        self.op(Op::Put { path, data: data.into(), expect: Expect::Exists })
    }

    /// Replaces the data of a node that has the given version: a compare-and-set.
    #[must_use]
    pub fn put_if(self, path: NodePath, version: Version, data: impl Into<Bytes>) -> Self {
        self.op(Op::Put { path, data: data.into(), expect: Expect::Version(version) })
    }

    /// Deletes a node; conflicts if it is absent or has children.
    #[must_use]
    pub fn delete(self, path: NodePath) -> Self {
        self.op(Op::Delete { path, expect: Expect::Exists })
    }

    /// Deletes a node that has the given version.
    #[must_use]
    pub fn delete_if(self, path: NodePath, version: Version) -> Self {
        self.op(Op::Delete { path, expect: Expect::Version(version) })
    }

    /// Goes on only if the node exists.
    #[must_use]
    pub fn check_exists(self, path: NodePath) -> Self {
        self.op(Op::Check { path, expect: Expect::Exists })
    }

    /// Goes on only if the node has the given version.
    #[must_use]
    pub fn check_version(self, path: NodePath, version: Version) -> Self {
        self.op(Op::Check { path, expect: Expect::Version(version) })
    }

    /// Goes on only if the node does not exist.
    #[must_use]
    pub fn check_absent(self, path: NodePath) -> Self {
        self.op(Op::CheckAbsent { path })
    }

    /// Returns the session that the transaction is bound to.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Returns what the transaction is for; empty if nobody has said.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Returns the operations in order.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the size that counts against [`Limits::max_bytes`]: paths and data.
    #[must_use]
    pub fn size(&self) -> usize {
        self.ops.iter().map(|op| op.path().as_str().len() + op.data_len()).sum()
    }
}

/// How large a transaction a registry takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations in one transaction.
    pub max_ops: usize,
    /// Bytes of paths and data in one transaction, as [`Txn::size`] counts them.
    pub max_bytes: usize,
}

impl Limits {
    /// Looks at a transaction before it is sent; a backend calls this first in its `commit`.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) with the size and the limit;
    /// [`Error::Refused`](crate::Error::Refused) for a deletion of the root.
    pub fn admit(&self, txn: &Txn) -> Result<(), crate::Error> {
        let rows =
            [("operations", txn.ops().len(), self.max_ops), ("bytes", txn.size(), self.max_bytes)];
        match rows.into_iter().find(|(_, size, limit)| size > limit) {
            Some((unit, size, limit)) => Err(crate::Error::TooLarge { unit, size, limit }),
            None => txn.ops().iter().try_for_each(Op::admit),
        }
    }
}

/// The two regular results of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnOutcome {
    /// Everything happened, at one revision.
    Committed(Committed),
    /// Nothing happened, because an expectation did not hold.
    Conflict(Conflict),
}

impl TxnOutcome {
    /// Returns true if everything happened.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        matches!(self, Self::Committed(_))
    }
}

/// A transaction that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Where in the order of all writes; `None` if the registry's reply does not tell (ZooKeeper 3.8 tells it only
    /// if the transaction puts something).
    pub revision: Option<Revision>,
    /// For each operation what became of its node, as far as the reply tells; `None` for checks and deletions.
    pub stats: Vec<Option<Stat>>,
}

/// A transaction that did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The first operation whose expectation did not hold, counted from 0.
    pub index: usize,
    /// Why.
    pub reason: ConflictReason,
}

/// Why an operation could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// The node has another version.
    VersionMismatch,
    /// The node exists and should not.
    Exists,
    /// The node is absent and should exist.
    Absent,
    /// The node to delete has children.
    HasChildren,
    /// The node's parent is ephemeral and can have no children.
    EphemeralParent,
}

impl fmt::Display for ConflictReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VersionMismatch => "the version differs",
            Self::Exists => "the node exists",
            Self::Absent => "the node is absent",
            Self::HasChildren => "the node has children",
            Self::EphemeralParent => "the parent is ephemeral",
        })
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}: {}", self.index, self.reason)
    }
}
