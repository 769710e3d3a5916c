//! A deliberately simple registry: copies instead of rollback, text instead of types.
//!
//! It shares no code with the [`Model`](crate::model::Model), so that no mistake is common to both.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{CLIENTS, Step};
use crate::{ConflictReason, Expect, Lifetime, Op, Version};

/// A node, with sessions and revisions replaced by numbers counted from the start of the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// The stored data.
    pub data: Bytes,
    /// The number of writes since the creation.
    pub version: u32,
    /// The session whose end removes the node; `None` for a persistent node.
    pub owner: Option<usize>,
    /// The number of the write that created the node; 0 is the start.
    pub created: usize,
    /// The number of the last write; 0 is the start.
    pub modified: usize,
}

/// Expected result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The transaction committed. Has the new state of each operation's node, `None` for checks and
    /// deletions.
    Committed(Vec<Option<NodeState>>),
    /// The transaction conflicted and changed nothing.
    Conflict {
        /// The operation whose expectation did not hold.
        index: usize,
        /// The reason of the conflict.
        reason: ConflictReason,
    },
    /// The registry rejects the transaction.
    Rejected,
    /// The step has no result.
    Done,
}

type Nodes = BTreeMap<String, NodeState>;

/// A change of one node: its path and its new state, `None` if it was deleted.
pub type Effect = (String, Option<NodeState>);

/// Expected content of a registry after the steps so far.
#[derive(Clone, Debug)]
pub struct Reference {
    nodes: Nodes,
    sessions: [usize; CLIENTS],
    n_sessions: usize,
    n_writes: usize,
    answer: Answer,
    effects: Vec<Effect>,
    history: BTreeMap<String, Vec<Option<NodeState>>>,
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Reference {
    /// Returns the registry before the first step: the root, and one session for each client.
    #[must_use]
    pub fn new() -> Self {
        let root =
            NodeState { data: Bytes::new(), version: 0, owner: None, created: 0, modified: 0 };
        Self {
            nodes: [("/".to_owned(), root.clone())].into(),
            sessions: std::array::from_fn(|client| client),
            n_sessions: CLIENTS,
            n_writes: 0,
            answer: Answer::Done,
            effects: Vec::new(),
            history: [("/".to_owned(), vec![Some(root)])].into(),
        }
    }

    /// Applies a step and returns the expected result.
    ///
    /// # Panics
    /// If the step belongs to a client that does not exist.
    pub fn apply(&mut self, step: &Step) -> &Answer {
        let before = self.nodes.clone();
        let mut touched = Vec::new();
        self.answer = match step {
            Step::Commit { client, ops } => self.commit(self.sessions[*client], ops, &mut touched),
            Step::Expire { client } | Step::Close { client } => {
                self.end_session(*client, &mut touched);
                Answer::Done
            }
            Step::Look { .. } | Step::Watch { .. } | Step::Flap { .. } => Answer::Done,
        };
        self.record(&before, &touched);
        &self.answer
    }

    /// Returns the expected result of the last step.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Returns the changes of the last step: one per node, in the order of its last write. The
    /// ephemeral nodes of an ended session come in path order.
    #[must_use]
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Returns the number of the current session of a client.
    ///
    /// # Panics
    /// If there is no such client.
    #[must_use]
    pub fn session(&self, client: usize) -> usize {
        self.sessions[client]
    }

    /// Returns a node.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<&NodeState> {
        self.nodes.get(path)
    }

    /// Returns `root` and all nodes below it, in path order.
    pub fn subtree(&self, root: &str) -> impl Iterator<Item = (&str, &NodeState)> {
        let below = match root {
            "/" => "/".to_owned(),
            _ => format!("{root}/"),
        };
        let is_in = move |path: &str| path == root || path.starts_with(&below);
        self.nodes.iter().map(|(path, node)| (path.as_str(), node)).filter(move |(p, _)| is_in(p))
    }

    /// Returns the names of the children in ascending order, or `None` if the node does not exist.
    #[must_use]
    pub fn children(&self, path: &str) -> Option<Vec<String>> {
        self.nodes.get(path)?;
        let is_child = |child: &&String| child.as_str() != "/" && parent(child) == path;
        let mut names: Vec<_> =
            self.nodes.keys().filter(is_child).map(|child| name(child)).collect();
        names.sort();
        Some(names)
    }

    /// Returns all states of a node, one per write in order; `None` for each deletion.
    #[must_use]
    pub fn history(&self, path: &str) -> &[Option<NodeState>] {
        self.history.get(path).map_or(&[], Vec::as_slice)
    }

    fn commit(&mut self, session: usize, ops: &[Op], touched: &mut Vec<String>) -> Answer {
        let deletes_the_root =
            |op: &Op| matches!(op, Op::Delete { path, .. } if path.as_str() == "/");
        if ops.iter().any(deletes_the_root) {
            return Answer::Rejected;
        }
        let mut draft = Draft { nodes: self.nodes.clone(), session, write: self.n_writes + 1 };
        let mut states = Vec::new();
        for (index, op) in ops.iter().enumerate() {
            match draft.apply(op, touched) {
                Ok(state) => states.push(state),
                Err(reason) => {
                    touched.clear();
                    return Answer::Conflict { index, reason };
                }
            }
        }
        self.nodes = draft.nodes;
        Answer::Committed(states)
    }

    fn end_session(&mut self, client: usize, touched: &mut Vec<String>) {
        let ended = Some(self.sessions[client]);
        self.sessions[client] = self.n_sessions;
        self.n_sessions += 1;
        touched.extend(self.nodes.iter().filter(|(_, n)| n.owner == ended).map(|(p, _)| p.clone()));
        self.nodes.retain(|_, node| node.owner != ended);
    }

    fn record(&mut self, before: &Nodes, touched: &[String]) {
        let is_last = |n: usize| !touched[n + 1..].contains(&touched[n]);
        let last = touched.iter().enumerate().filter(|(n, _)| is_last(*n)).map(|(_, path)| path);
        let changed = last.filter(|path| before.get(*path) != self.nodes.get(*path));
        self.effects = changed.map(|path| (path.clone(), self.nodes.get(path).cloned())).collect();
        self.n_writes += usize::from(!self.effects.is_empty());
        for (path, state) in self.effects.clone() {
            self.history.entry(path).or_default().push(state);
        }
    }
}

/// A transaction in progress, on a copy of all nodes.
struct Draft {
    nodes: Nodes,
    session: usize,
    write: usize,
}

impl Draft {
    fn apply(
        &mut self,
        op: &Op,
        touched: &mut Vec<String>,
    ) -> Result<Option<NodeState>, ConflictReason> {
        let path = op.path().as_str();
        match op {
            Op::Create { data, lifetime, .. } => {
                if self.nodes.contains_key(path) {
                    return Err(ConflictReason::Exists);
                }
                self.create_parents(path, touched)?;
                let owner = (*lifetime == Lifetime::Ephemeral).then_some(self.session);
                self.create(path, data.clone(), owner, touched);
                Ok(self.nodes.get(path).cloned())
            }
            Op::Put { data, expect, .. } => {
                self.expect(path, *expect)?;
                let write = self.write;
                let node = self.nodes.get_mut(path).ok_or(ConflictReason::Absent)?;
                *node = NodeState {
                    data: data.clone(),
                    version: node.version + 1,
                    modified: write,
                    ..node.clone()
                };
                touched.push(path.to_owned());
                Ok(Some(node.clone()))
            }
            Op::Delete { expect, .. } => {
                self.expect(path, *expect)?;
                if self.nodes.keys().any(|other| other != "/" && parent(other) == path) {
                    return Err(ConflictReason::HasChildren);
                }
                self.nodes.remove(path);
                touched.push(path.to_owned());
                Ok(None)
            }
            Op::Check { expect, .. } => self.expect(path, *expect).map(|()| None),
            Op::CheckAbsent { .. } if self.nodes.contains_key(path) => Err(ConflictReason::Exists),
            Op::CheckAbsent { .. } => Ok(None),
        }
    }

    fn expect(&self, path: &str, expect: Expect) -> Result<(), ConflictReason> {
        let node = self.nodes.get(path).ok_or(ConflictReason::Absent)?;
        match expect {
            Expect::Version(Version(version)) if version != node.version => {
                Err(ConflictReason::VersionMismatch)
            }
            Expect::Version(_) | Expect::Exists => Ok(()),
        }
    }

    /// Creates the missing nodes above `path`, from the top.
    fn create_parents(
        &mut self,
        path: &str,
        touched: &mut Vec<String>,
    ) -> Result<(), ConflictReason> {
        let slashes: Vec<_> = path.match_indices('/').map(|(at, _)| at).collect();
        for at in slashes {
            let above = if at == 0 { "/" } else { &path[..at] };
            match self.nodes.get(above) {
                Some(node) if node.owner.is_some() => return Err(ConflictReason::EphemeralParent),
                Some(_) => {}
                None => self.create(above, Bytes::new(), None, touched),
            }
        }
        Ok(())
    }

    fn create(&mut self, path: &str, data: Bytes, owner: Option<usize>, touched: &mut Vec<String>) {
        let node = NodeState { data, version: 0, owner, created: self.write, modified: self.write };
        self.nodes.insert(path.to_owned(), node);
        touched.push(path.to_owned());
    }
}

/// Returns the path above one that is not the root.
fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
    }
}

fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
