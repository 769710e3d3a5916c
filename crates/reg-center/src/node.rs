//! Nodes and their metadata.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;

use crate::NodePath;

/// A point in the order of the committed writes of a registry.
///
/// The order is total for the writes of one tree: a top-level node with all nodes below it. Writes
/// of different trees are ordered if the first one was answered before the other one was sent.
/// Corresponds to ZooKeeper's zxid and etcd's revision. Comparable only within one registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// Number of writes to a node since its creation: 0, 1, 2 …
///
/// A node that is deleted and created again starts at 0. A version check is thus a safe guard only
/// for a node that is never deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32);

impl Version {
    /// Returns the version after one more write.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The identity of a session, never used twice by one registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Metadata of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Number of writes since the creation.
    pub version: Version,
    /// Revision of the creation. If it changes, the node was deleted and created in between.
    pub created: Revision,
    /// Revision of the last write.
    pub modified: Revision,
    /// Time of the last write by the clock of the registry; `None` if the registry has no clock.
    pub modified_at: Option<SystemTime>,
    /// The session whose end removes the node; `None` for a persistent node.
    pub owner: Option<SessionId>,
}

/// A node as it was at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The path of the node.
    pub path: NodePath,
    /// The stored data; empty is a valid value.
    pub data: Bytes,
    /// The metadata of the node.
    pub stat: Stat,
}

/// Lifetime of a created node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// The node exists until it is deleted.
    Persistent,
    /// The node exists until it is deleted or the session of the transaction ends. It can have no
    /// children.
    Ephemeral,
}
