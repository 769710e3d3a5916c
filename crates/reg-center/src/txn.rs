//! Transactions: a list of checks and writes that happens as a whole or not at all.

use std::fmt;

use bytes::Bytes;

use crate::{Error, Lifetime, NodePath, Revision, SessionChange, SessionId, Stat, Version};

/// Precondition of an operation on an existing node.
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
        /// The node to create.
        path: NodePath,
        /// The initial data.
        data: Bytes,
        /// The lifetime of the node.
        lifetime: Lifetime,
    },
    /// Replaces the data of an existing node.
    Put {
        /// The node to write.
        path: NodePath,
        /// The new data.
        data: Bytes,
        /// The precondition.
        expect: Expect,
    },
    /// Deletes an existing node that has no children.
    Delete {
        /// The node to delete.
        path: NodePath,
        /// The precondition.
        expect: Expect,
    },
    /// Changes nothing, and fails the transaction unless the precondition holds.
    Check {
        /// The node to check.
        path: NodePath,
        /// The precondition.
        expect: Expect,
    },
    /// Changes nothing, and fails the transaction if the node exists.
    ///
    /// A registry without such a check may create and delete the node in the transaction. Watchers
    /// can notice that.
    CheckAbsent {
        /// The node to check.
        path: NodePath,
    },
}

impl Op {
    /// Returns the node of the operation.
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

    /// Returns the name of the operation for messages: `create`, `put`, `delete`, `check`,
    /// `check absent`.
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

    /// Rejects an operation that no registry can execute: the root always exists.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) for a deletion of the root.
    pub(crate) fn admit(&self) -> Result<(), crate::Error> {
        match self {
            Self::Delete { path, .. } if path.is_root() => Err(crate::Error::Rejected {
                call: "commit",
                cause: "the root cannot be deleted".to_owned(),
            }),
            Self::Create { .. }
            | Self::Put { .. }
            | Self::Delete { .. }
            | Self::Check { .. }
            | Self::CheckAbsent { .. } => Ok(()),
        }
    }

    /// Returns the size of the data that the operation carries, in bytes.
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

/// A transaction under construction: operations in order, optionally bound to a session.
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

    /// Binds the transaction to a session. In any other session it fails with
    /// [`Error::SessionLost`](crate::Error::SessionLost) and is not executed.
    #[must_use]
    pub fn in_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets the purpose of the transaction, for logs and fault injection.
    ///
    /// Registries ignore the label and do not store it. Default: empty.
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

    /// Creates a node; conflicts if it exists. Missing parents are created, persistent and empty.
    #[must_use]
    pub fn create(self, path: NodePath, data: impl Into<Bytes>, lifetime: Lifetime) -> Self {
        self.op(Op::Create { path, data: data.into(), lifetime })
    }

    /// Replaces the data of a node with any version; conflicts if it is absent.
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

    /// Deletes a node that has the given version; conflicts otherwise.
    #[must_use]
    pub fn delete_if(self, path: NodePath, version: Version) -> Self {
        self.op(Op::Delete { path, expect: Expect::Version(version) })
    }

    /// Conflicts unless the node exists.
    #[must_use]
    pub fn check_exists(self, path: NodePath) -> Self {
        self.op(Op::Check { path, expect: Expect::Exists })
    }

    /// Conflicts unless the node has the given version.
    #[must_use]
    pub fn check_version(self, path: NodePath, version: Version) -> Self {
        self.op(Op::Check { path, expect: Expect::Version(version) })
    }

    /// Conflicts if the node exists.
    #[must_use]
    pub fn check_absent(self, path: NodePath) -> Self {
        self.op(Op::CheckAbsent { path })
    }

    /// Returns the session that the transaction is bound to.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Returns the session in which the transaction runs now, given the last change of the center's
    /// session. A backend calls this when `commit` is called, so that no transaction waits for a
    /// later session.
    ///
    /// # Errors
    /// [`Error::SessionLost`] if the transaction is bound to another session,
    /// [`Error::Unavailable`] without a connection, [`Error::Closed`] after the end of the center.
    pub fn session_in(&self, current: Option<SessionChange>) -> crate::Result<SessionId> {
        let (session, connected) = match current {
            Some(SessionChange::Connected { session, .. }) => (Some(session), true),
            Some(SessionChange::Suspended { session }) => (Some(session), false),
            Some(SessionChange::Lost { .. }) | None => (None, false),
            Some(SessionChange::Closed) => return Err(Error::Closed),
        };
        match (self.session, session) {
            (Some(bound), session) if session != Some(bound) => {
                Err(Error::SessionLost { session: bound })
            }
            (_, Some(session)) if connected => Ok(session),
            _ => Err(Error::Unavailable { call: "commit" }),
        }
    }

    /// Returns the purpose of the transaction; empty if none was set.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Returns the operations in order.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the size that counts against [`Limits::max_bytes`]: bytes of paths and data.
    #[must_use]
    pub fn size(&self) -> usize {
        self.ops.iter().map(|op| op.path().as_str().len() + op.data_len()).sum()
    }
}

/// Maximum size of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of operations in one transaction.
    pub max_ops: usize,
    /// Maximum of the bytes of paths and data in one transaction, as [`Txn::size`] counts them.
    pub max_bytes: usize,
}

impl Limits {
    /// Checks a transaction before it is sent. A backend calls this first in its `commit`.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) with the size and the limit;
    /// [`Error::Rejected`](crate::Error::Rejected) for a deletion of the root.
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
    /// Revision of the transaction; `None` if the registry's reply has none. The reply of ZooKeeper
    /// 3.8 has it only if the transaction puts data.
    pub revision: Option<Revision>,
    /// New stat of the node of each operation, as far as the reply has it; `None` for checks and
    /// deletions.
    pub stats: Vec<Option<Stat>>,
}

/// A transaction that did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The first operation whose expectation did not hold, counted from 0.
    pub index: usize,
    /// The failed expectation.
    pub reason: ConflictReason,
}

/// Reason of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// The node has another version.
    VersionMismatch,
    /// The node exists and must not.
    Exists,
    /// The node is absent and must exist.
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
