//! What a registry stores: nodes, and what it knows about them.

use std::fmt;
use std::time::SystemTime;

use bytes::Bytes;

use crate::NodePath;

/// A point in the total order of all committed writes of a registry.
///
/// ZooKeeper's zxid, etcd's revision, a counter in memory. Comparable only within one registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// The number of writes to a node since its creation: 0, 1, 2 …
///
/// Deleting and creating a node starts at 0 again, so that a version guards only a node that is never deleted.
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

/// What the registry knows about a node beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Writes since the creation.
    pub version: Version,
    /// When this life of the node began; a change of it means that the node was deleted in between.
    pub created: Revision,
    /// The last write.
    pub modified: Revision,
    /// When the last write was, by the clock of the registry; `None` if the registry has no clock.
    pub modified_at: Option<SystemTime>,
    /// The session whose end removes the node; `None` for a persistent node.
    pub owner: Option<SessionId>,
}

/// A node as it was at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it is.
    pub path: NodePath,
    /// What it holds; empty is a valid value.
    pub data: Bytes,
    /// What the registry knows about it.
    pub stat: Stat,
}

/// How long a created node stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// Until it is deleted.
    Persistent,
    /// Until it is deleted or the session of the transaction ends. It can have no children.
    Ephemeral,
}
