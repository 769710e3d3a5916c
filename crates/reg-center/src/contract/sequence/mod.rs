//! Sequences of steps as data: drawn by a property test or written by hand, stored as text, and replayed on any
//! registry against the [`Reference`].
//!
//! In reading order: this file (what a step is) · `text` (one step per line) · `reference` (what must come of it) ·
//! `replay` (a registry under test) · `follower` (its feeds).

mod follower;
mod reference;
mod replay;
mod text;

use crate::{NodePath, Op};

pub use reference::{Answer, Effect, NodeState, Reference};
pub(super) use replay::replay;
pub use text::SequenceError;

/// How many clients the steps of a sequence belong to, numbered from 0.
pub const CLIENTS: usize = 2;

/// Something that a client does, or that happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A transaction.
    Commit {
        /// Whose, below [`CLIENTS`].
        client: usize,
        /// What it is made of. The text of a sequence holds data without blanks and semicolons.
        ops: Vec<Op>,
    },
    /// A node and the list of its children are read, after a sync.
    Look {
        /// Who reads, below [`CLIENTS`].
        client: usize,
        /// What.
        path: NodePath,
    },
    /// A feed begins, and is followed to the end of the sequence or of its client.
    Watch {
        /// Who reads it, below [`CLIENTS`].
        client: usize,
        /// The subtree.
        root: NodePath,
    },
    /// The connection breaks and comes back in time.
    Flap {
        /// Whose, below [`CLIENTS`].
        client: usize,
    },
    /// The session ends on the registry, and the centre goes on with another one.
    Expire {
        /// Whose, below [`CLIENTS`].
        client: usize,
    },
    /// The centre is closed, and another client takes the place.
    Close {
        /// Whose, below [`CLIENTS`].
        client: usize,
    },
}

/// Steps in order.
///
/// The text has one step per line; lines that begin with `#` say something to people.
///
/// # Examples
/// ```
/// use reg_center::contract::{Reference, Sequence};
///
/// let text = "0> create /a/b 7; ephemeral /e -\n1> put-if /a/b 0 8\n0> expire\n";
/// let sequence: Sequence = text.parse()?;
/// assert_eq!(sequence.to_string(), text);
///
/// let mut reference = Reference::new();
/// sequence.steps().iter().for_each(|step| drop(reference.apply(step)));
/// assert_eq!(reference.node("/a/b").map(|node| node.version), Some(1));
/// assert_eq!(reference.node("/e"), None);
/// # Ok::<(), reg_center::contract::SequenceError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence(Vec<Step>);

impl Sequence {
    /// Returns the steps.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl FromIterator<Step> for Sequence {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl Step {
    /// Returns whose step it is.
    #[must_use]
    pub fn client(&self) -> usize {
        match self {
            Self::Commit { client, .. }
            | Self::Look { client, .. }
            | Self::Watch { client, .. }
            | Self::Flap { client }
            | Self::Expire { client }
            | Self::Close { client } => *client,
        }
    }
}
