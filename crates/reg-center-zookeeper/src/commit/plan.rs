//! Translation of operations to ZooKeeper requests.
//!
//! ZooKeeper creates no parents and cannot check that a node is absent. Both become steps of the
//! same transaction, so that they are atomic with it. Missing parents are created right before the
//! operation that needs them. Absence is checked by creating the node and deleting it again.

use std::collections::BTreeSet;

use reg_center::{Lifetime, NodePath, Op};

/// One step, and the index of its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step<'a> {
    pub(super) op: usize,
    pub(super) action: Action<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action<'a> {
    /// The operation itself; never [`Op::CheckAbsent`].
    Operation(&'a Op),
    /// Creates an empty persistent node: a parent, or a node that must be absent.
    AddEmpty(NodePath),
    /// Deletes a node that was created for a check.
    RemoveEmpty(NodePath),
    /// Checks that an ephemeral node exists. It has no children, so all nodes below it are absent.
    CheckEphemeral(NodePath),
    /// Always fails, because the root always exists.
    Fail,
}

impl Action<'_> {
    /// Returns true if the step creates a node.
    pub(super) fn creates(&self) -> bool {
        match self {
            Self::Operation(op) => matches!(op, Op::Create { .. }),
            Self::AddEmpty(_) => true,
            Self::RemoveEmpty(_) | Self::CheckEphemeral(_) | Self::Fail => false,
        }
    }
}

/// State of the registry as far as earlier answers have shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// Parents that do not exist.
    pub(super) absent: BTreeSet<NodePath>,
    /// Ephemeral nodes.
    pub(super) ephemeral: BTreeSet<NodePath>,
}

/// Plans the steps of a transaction. Unknown nodes are assumed to exist; if that is wrong, the
/// answer shows it.
pub(super) fn plan<'a>(ops: &'a [Op], knowledge: &Knowledge) -> Vec<Step<'a>> {
    let mut plan = Plan { absent: knowledge.absent.clone(), op: 0, steps: Vec::new() };
    for (index, op) in ops.iter().enumerate() {
        plan.op = index;
        match op {
            Op::Create { path, .. } => {
                plan.create_parents(path);
                plan.push(Action::Operation(op));
                plan.absent.remove(path);
            }
            Op::Delete { path, .. } => {
                plan.push(Action::Operation(op));
                plan.absent.insert(path.clone());
            }
            Op::Put { .. } | Op::Check { .. } => plan.push(Action::Operation(op)),
            Op::CheckAbsent { path } => plan.check_absent(path, &knowledge.ephemeral),
        }
    }
    plan.steps
}

struct Plan<'a> {
    /// The nodes that are missing at this point of the transaction.
    absent: BTreeSet<NodePath>,
    op: usize,
    steps: Vec<Step<'a>>,
}

impl<'a> Plan<'a> {
    fn push(&mut self, action: Action<'a>) {
        self.steps.push(Step { op: self.op, action });
    }

    /// Creates the missing ancestors of `path`, the highest first, and returns them. All nodes
    /// below a missing node are missing.
    fn create_parents(&mut self, path: &NodePath) -> Vec<NodePath> {
        let mut missing: Vec<_> = parents(path).collect();
        let highest = missing.iter().rposition(|parent| self.absent.contains(parent));
        missing.truncate(highest.map_or(0, |highest| highest + 1));
        missing.reverse();
        for parent in &missing {
            self.absent.remove(parent);
            self.push(Action::AddEmpty(parent.clone()));
        }
        missing
    }

    fn check_absent(&mut self, path: &NodePath, ephemeral: &BTreeSet<NodePath>) {
        if path.is_root() {
            return self.push(Action::Fail);
        }
        if let Some(above) = parents(path).find(|parent| ephemeral.contains(parent)) {
            return self.push(Action::CheckEphemeral(above));
        }
        let mut created = self.create_parents(path);
        created.push(path.clone());
        self.push(Action::AddEmpty(path.clone()));
        for node in created.into_iter().rev() {
            self.absent.insert(node.clone());
            self.push(Action::RemoveEmpty(node));
        }
    }
}

/// Returns the ancestors of `path`, the nearest first, without the root, which always exists.
pub(super) fn parents(path: &NodePath) -> impl Iterator<Item = NodePath> {
    std::iter::successors(path.parent(), NodePath::parent).filter(|parent| !parent.is_root())
}

/// Maximum size of a request on a server with default settings, in bytes (`jute.maxbuffer`).
///
/// A server cuts the connection on a larger request without an answer, so that all pending requests
/// fail.
pub(super) const MAX_REQUEST: usize = 1_048_575;
/// Bytes of a request besides its steps.
pub(super) const FRAME: usize = 64;
/// Maximum of a step's bytes besides its path and its data: a header of 9 bytes, two lengths, an
/// open access list (31 bytes), flags.
pub(super) const STEP: usize = 9 + 8 + 31 + 4;

/// Returns an upper bound of the request's size, in bytes, below a namespace of `namespace` bytes.
pub(super) fn request_size(steps: &[Step<'_>], namespace: usize) -> usize {
    let content = |action: &Action<'_>| match action {
        Action::Operation(op) => op.path().as_str().len() + op.data_len(),
        Action::AddEmpty(path) | Action::RemoveEmpty(path) | Action::CheckEphemeral(path) => {
            path.as_str().len()
        }
        Action::Fail => NodePath::root().as_str().len(),
    };
    FRAME + steps.iter().map(|step| STEP + namespace + content(&step.action)).sum::<usize>()
}

/// Returns the lifetime of the node that a step creates.
pub(super) fn lifetime(op: &Op) -> Lifetime {
    match op {
        Op::Create { lifetime, .. } => *lifetime,
        Op::Put { .. } | Op::Delete { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => {
            Lifetime::Persistent
        }
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Txn, Version};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn set(paths: &[&str]) -> BTreeSet<NodePath> {
        paths.iter().map(|text| path(text)).collect()
    }

    fn steps_as_text(txn: &Txn, absent: &[&str], ephemeral: &[&str]) -> String {
        let knowledge = Knowledge { absent: set(absent), ephemeral: set(ephemeral) };
        let as_text = |step: &Step<'_>| match &step.action {
            Action::Operation(op) => format!("{}: {op}", step.op),
            Action::AddEmpty(path) => format!("{}: add {path}", step.op),
            Action::RemoveEmpty(path) => format!("{}: remove {path}", step.op),
            Action::CheckEphemeral(path) => format!("{}: check-ephemeral {path}", step.op),
            Action::Fail => format!("{}: fail", step.op),
        };
        plan(txn.ops(), &knowledge).iter().map(as_text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn parents_are_created_before_the_first_operation_that_needs_them() {
        let new = Lifetime::Persistent;
        let rows = [
            (
                "no parent missing",
                Txn::new().create(path("/a/b"), "", new),
                &[][..],
                "0: create /a/b",
            ),
            (
                "two missing levels",
                Txn::new().create(path("/a/b/c"), "", new),
                &["/a", "/a/b"],
                "0: add /a, 0: add /a/b, 0: create /a/b/c",
            ),
            (
                "one parent of two nodes",
                Txn::new().create(path("/a/b"), "", new).create(path("/a/c"), "", new),
                &["/a"],
                "0: add /a, 0: create /a/b, 1: create /a/c",
            ),
            (
                "parent created by an operation",
                Txn::new().create(path("/a"), "", new).create(path("/a/c"), "", new),
                &["/a"],
                "0: create /a, 1: create /a/c",
            ),
            (
                "parent deleted by an operation",
                Txn::new().delete(path("/a")).create(path("/a/c"), "", new),
                &[],
                "0: delete /a, 1: add /a, 1: create /a/c",
            ),
            (
                "no parents for put and check",
                Txn::new().put_if(path("/a/b"), Version(1), "").check_exists(path("/a/c")),
                &["/a"],
                "0: put /a/b, 1: check /a/c",
            ),
        ];
        for (case, txn, absent, expected) in rows {
            assert_eq!(steps_as_text(&txn, absent, &[]), expected, "{case}");
        }
    }

    #[test]
    fn a_check_of_absence_leaves_no_node_behind() {
        let check = || Txn::new().check_absent(path("/a/b"));
        let rows = [
            ("below an existing parent", check(), &[][..], &[][..], "0: add /a/b, 0: remove /a/b"),
            (
                "below a missing parent",
                check().create(path("/a/c"), "", Lifetime::Persistent),
                &["/a"],
                &[],
                "0: add /a, 0: add /a/b, 0: remove /a/b, 0: remove /a, 1: add /a, 1: create /a/c",
            ),
            (
                "above a created node",
                Txn::new().check_absent(path("/a")).create(
                    path("/a/b/c"),
                    "",
                    Lifetime::Persistent,
                ),
                &[],
                &[],
                "0: add /a, 0: remove /a, 1: add /a, 1: add /a/b, 1: create /a/b/c",
            ),
            ("of the root", Txn::new().check_absent(NodePath::root()), &[], &[], "0: fail"),
            ("below an ephemeral parent", check(), &["/a"], &["/a"], "0: check-ephemeral /a"),
        ];
        for (case, txn, absent, ephemeral, expected) in rows {
            assert_eq!(steps_as_text(&txn, absent, ephemeral), expected, "{case}");
        }
    }
}
