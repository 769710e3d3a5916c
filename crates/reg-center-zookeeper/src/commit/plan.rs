//! From operations to the steps that ZooKeeper knows.
//!
//! ZooKeeper makes no parents and cannot check that a node is absent. Both become steps of the same transaction, so
//! that they happen with it or not at all: missing parents are created right before the operation that needs them,
//! and absence is checked by creating the node and deleting it again.

use std::collections::BTreeSet;

use reg_center::{Lifetime, NodePath, Op};

/// One step, and the operation that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step<'a> {
    pub(super) op: usize,
    pub(super) action: Action<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action<'a> {
    /// The operation itself; never [`Op::CheckAbsent`].
    Own(&'a Op),
    /// Creates an empty persistent node: a parent, or what must be absent.
    Make(NodePath),
    /// Deletes what was made for a check.
    Unmake(NodePath),
    /// Checks that an ephemeral node exists. It has no children, which makes everything below it absent.
    Stands(NodePath),
    /// Fails: the root is never absent.
    Never,
}

impl Action<'_> {
    /// Returns true if the step creates something.
    pub(super) fn creates(&self) -> bool {
        match self {
            Self::Own(op) => matches!(op, Op::Create { .. }),
            Self::Make(_) => true,
            Self::Unmake(_) | Self::Stands(_) | Self::Never => false,
        }
    }
}

/// What was learned about the registry from answers, beside the operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// Parents that do not exist.
    pub(super) absent: BTreeSet<NodePath>,
    /// Ephemeral nodes.
    pub(super) ephemeral: BTreeSet<NodePath>,
}

/// Plans the steps of a transaction. What is not known to be missing is taken to exist: the answer tells.
pub(super) fn plan<'a>(ops: &'a [Op], knowledge: &Knowledge) -> Vec<Step<'a>> {
    let mut plan = Plan { absent: knowledge.absent.clone(), op: 0, steps: Vec::new() };
    for (index, op) in ops.iter().enumerate() {
        plan.op = index;
        match op {
            Op::Create { path, .. } => {
                plan.make_parents(path);
                plan.push(Action::Own(op));
                plan.absent.remove(path);
            }
            Op::Delete { path, .. } => {
                plan.push(Action::Own(op));
                plan.absent.insert(path.clone());
            }
            Op::Put { .. } | Op::Check { .. } => plan.push(Action::Own(op)),
            Op::CheckAbsent { path } => plan.check_absent(path, &knowledge.ephemeral),
        }
    }
    plan.steps
}

struct Plan<'a> {
    /// What is missing at this point of the transaction.
    absent: BTreeSet<NodePath>,
    op: usize,
    steps: Vec<Step<'a>>,
}

impl<'a> Plan<'a> {
    fn push(&mut self, action: Action<'a>) {
        self.steps.push(Step { op: self.op, action });
    }

    /// Makes what is missing above `path` and returns it, the highest first. Below a node that is missing everything is.
    fn make_parents(&mut self, path: &NodePath) -> Vec<NodePath> {
        let mut missing: Vec<_> = parents(path).collect();
        let highest = missing.iter().rposition(|parent| self.absent.contains(parent));
        missing.truncate(highest.map_or(0, |highest| highest + 1));
        missing.reverse();
        for parent in &missing {
            self.absent.remove(parent);
            self.push(Action::Make(parent.clone()));
        }
        missing
    }

    fn check_absent(&mut self, path: &NodePath, ephemeral: &BTreeSet<NodePath>) {
        if path.is_root() {
            return self.push(Action::Never);
        }
        if let Some(above) = parents(path).find(|parent| ephemeral.contains(parent)) {
            return self.push(Action::Stands(above));
        }
        let mut made = self.make_parents(path);
        made.push(path.clone());
        self.push(Action::Make(path.clone()));
        for made in made.into_iter().rev() {
            self.absent.insert(made.clone());
            self.push(Action::Unmake(made));
        }
    }
}

/// Returns the nodes above `path`, the nearest first, without the root, which exists.
pub(super) fn parents(path: &NodePath) -> impl Iterator<Item = NodePath> {
    std::iter::successors(path.parent(), NodePath::parent).filter(|parent| !parent.is_root())
}

/// The largest request that a server with default settings takes, in bytes (`jute.maxbuffer`). A larger one is not
/// answered: the server cuts the connection, and everything under way on it fails.
pub(super) const MAX_REQUEST: usize = 1_048_575;
/// What a request has besides its steps.
pub(super) const FRAME: usize = 64;
/// What a step has at most besides its path and its data: a header of 9 bytes, two lengths, an access list for
/// everybody (31 bytes), flags.
pub(super) const STEP: usize = 9 + 8 + 31 + 4;

/// Returns at least the size of the request, in bytes, below a namespace of `namespace` bytes.
pub(super) fn request_size(steps: &[Step<'_>], namespace: usize) -> usize {
    let content = |action: &Action<'_>| match action {
        Action::Own(op) => op.path().as_str().len() + op.data_len(),
        Action::Make(path) | Action::Unmake(path) | Action::Stands(path) => path.as_str().len(),
        Action::Never => NodePath::root().as_str().len(),
    };
    FRAME + steps.iter().map(|step| STEP + namespace + content(&step.action)).sum::<usize>()
}

/// Returns the lifetime of what a step creates.
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

    fn drawn(txn: &Txn, absent: &[&str], ephemeral: &[&str]) -> String {
        let knowledge = Knowledge { absent: set(absent), ephemeral: set(ephemeral) };
        let draw = |step: &Step<'_>| match &step.action {
            Action::Own(op) => format!("{}: {op}", step.op),
            Action::Make(path) => format!("{}: make {path}", step.op),
            Action::Unmake(path) => format!("{}: unmake {path}", step.op),
            Action::Stands(path) => format!("{}: stands {path}", step.op),
            Action::Never => format!("{}: never", step.op),
        };
        plan(txn.ops(), &knowledge).iter().map(draw).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn parents_are_made_before_the_first_operation_that_needs_them() {
        let new = Lifetime::Persistent;
        let rows = [
            (
                "nothing missing",
                Txn::new().create(path("/a/b"), "", new),
                &[][..],
                "0: create /a/b",
            ),
            (
                "two levels",
                Txn::new().create(path("/a/b/c"), "", new),
                &["/a", "/a/b"],
                "0: make /a, 0: make /a/b, 0: create /a/b/c",
            ),
            (
                "once for two",
                Txn::new().create(path("/a/b"), "", new).create(path("/a/c"), "", new),
                &["/a"],
                "0: make /a, 0: create /a/b, 1: create /a/c",
            ),
            (
                "by an operation",
                Txn::new().create(path("/a"), "", new).create(path("/a/c"), "", new),
                &["/a"],
                "0: create /a, 1: create /a/c",
            ),
            (
                "after a deletion",
                Txn::new().delete(path("/a")).create(path("/a/c"), "", new),
                &[],
                "0: delete /a, 1: make /a, 1: create /a/c",
            ),
            (
                "not for others",
                Txn::new().put_if(path("/a/b"), Version(1), "").check_exists(path("/a/c")),
                &["/a"],
                "0: put /a/b, 1: check /a/c",
            ),
        ];
        for (case, txn, absent, expected) in rows {
            assert_eq!(drawn(&txn, absent, &[]), expected, "{case}");
        }
    }

    #[test]
    fn absence_is_checked_without_leaving_anything_behind() {
        let check = || Txn::new().check_absent(path("/a/b"));
        let rows = [
            ("below an existing parent", check(), &[][..], &[][..], "0: make /a/b, 0: unmake /a/b"),
            (
                "below a missing parent",
                check().create(path("/a/c"), "", Lifetime::Persistent),
                &["/a"],
                &[],
                "0: make /a, 0: make /a/b, 0: unmake /a/b, 0: unmake /a, 1: make /a, 1: create /a/c",
            ),
            (
                "above what is created",
                Txn::new().check_absent(path("/a")).create(
                    path("/a/b/c"),
                    "",
                    Lifetime::Persistent,
                ),
                &[],
                &[],
                "0: make /a, 0: unmake /a, 1: make /a, 1: make /a/b, 1: create /a/b/c",
            ),
            ("of the root", Txn::new().check_absent(NodePath::root()), &[], &[], "0: never"),
            ("below an ephemeral parent", check(), &["/a"], &["/a"], "0: stands /a"),
        ];
        for (case, txn, absent, ephemeral, expected) in rows {
            assert_eq!(drawn(&txn, absent, ephemeral), expected, "{case}");
        }
    }
}
