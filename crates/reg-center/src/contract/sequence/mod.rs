//! Sequences of steps as data. A property test generates them or a person writes them. They are
//! stored as text and replayed on any registry against the [`Reference`].
//!
//! In reading order: this file (steps) · `text` (one step per line) · `reference` (expected
//! results) · `replay` (a registry under test) · `follower` (its feeds).

mod follower;
mod reference;
mod replay;
mod text;

use crate::{NodePath, Op};

pub use reference::{Answer, Effect, NodeState, Reference};
pub(super) use replay::replay;
pub use text::SequenceError;

/// Number of clients in a sequence; clients are numbered from 0.
pub const CLIENTS: usize = 2;

/// One action of a client, or one fault of its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A transaction.
    Commit {
        /// The client, below [`CLIENTS`].
        client: usize,
        /// The operations. The text form requires data without blanks and semicolons.
        ops: Vec<Op>,
    },
    /// Reads a node and the list of its children, after a sync.
    Look {
        /// The client, below [`CLIENTS`].
        client: usize,
        /// The node.
        path: NodePath,
    },
    /// Begins a feed, which is read until the end of the sequence or of its client.
    Watch {
        /// The client, below [`CLIENTS`].
        client: usize,
        /// The root of the subtree.
        root: NodePath,
    },
    /// Breaks the connection; it comes back before the session expires.
    Flap {
        /// The client, below [`CLIENTS`].
        client: usize,
    },
    /// Expires the session on the registry. The center continues with a new session.
    Expire {
        /// The client, below [`CLIENTS`].
        client: usize,
    },
    /// Closes the center. Another client takes its number.
    Close {
        /// The client, below [`CLIENTS`].
        client: usize,
    },
}

/// Steps in order.
///
/// The text form has one step per line; lines that begin with `#` are comments.
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
    /// Returns the client of the step.
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
