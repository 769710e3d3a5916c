//! The registry's log: committed transactions as records.

use std::collections::BTreeSet;

use checker::history::RegOp;
use reg_center::model::Model;
use reg_center::{Expect, Lifetime, NodePath, Op, Version};

/// State before a transaction, as far as its log entry depends on it.
#[derive(Debug)]
pub(super) struct Before {
    /// Absent ancestors of the nodes that the transaction creates.
    absent: BTreeSet<NodePath>,
}

impl Before {
    pub(super) fn of(model: &Model, ops: &[Op]) -> Self {
        let created = ops.iter().filter(|op| matches!(op, Op::Create { .. }));
        let ancestors = created.flat_map(|op| ancestors(op.path()));
        Self { absent: ancestors.filter(|path| model.read(path).is_none()).collect() }
    }

    /// Converts the committed transaction into its log entry, as a server would log it. Implicitly
    /// created parents come before their children, and a check of absence is a creation and a
    /// deletion.
    pub(super) fn log(mut self, ops: &[Op], versions: &[Option<Version>]) -> Vec<RegOp> {
        let mut logged = Vec::with_capacity(ops.len());
        for (op, version) in ops.iter().zip(versions) {
            self.log_op(op, version.unwrap_or(Version(0)), &mut logged);
        }
        logged
    }

    fn log_op(&mut self, op: &Op, version: Version, logged: &mut Vec<RegOp>) {
        match op {
            Op::Create { path, data, lifetime } => {
                let mut missing: Vec<_> =
                    ancestors(path).filter(|ancestor| self.absent.remove(ancestor)).collect();
                missing.reverse();
                logged.extend(missing.iter().map(|path| create(path, &[], false)));
                self.absent.remove(path);
                logged.push(create(path, data, *lifetime == Lifetime::Ephemeral));
            }
            Op::Put { path, data, .. } => logged.push(RegOp::Set {
                path: path.to_string(),
                ver: number(version),
                data: text(data),
            }),
            Op::Delete { path, .. } => {
                self.absent.insert(path.clone());
                logged.push(RegOp::Delete { path: path.to_string() });
            }
            Op::Check { path, expect } => {
                let ver = match expect {
                    Expect::Exists => None,
                    Expect::Version(version) => Some(number(*version)),
                };
                logged.push(RegOp::Check { path: path.to_string(), ver });
            }
            Op::CheckAbsent { path } => {
                logged.push(create(path, &[], false));
                logged.push(RegOp::Delete { path: path.to_string() });
            }
        }
    }
}

/// Returns the ancestors of a node, the parent first.
fn ancestors(path: &NodePath) -> impl Iterator<Item = NodePath> + use<> {
    std::iter::successors(path.parent(), NodePath::parent)
}

fn create(path: &NodePath, data: &[u8], ephemeral: bool) -> RegOp {
    RegOp::Create { path: path.to_string(), data: text(data), ephemeral }
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

fn number(version: Version) -> i32 {
    i32::try_from(version.0).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use reg_center::{Txn, TxnOutcome};

    use super::*;

    #[test]
    fn log_contains_implicit_parents_and_absence_checks() {
        let path = |text: &str| NodePath::parse(text).unwrap();
        let mut model = Model::new();
        let session = model.open_session();
        let txn = Txn::new()
            .check_absent(path("/x"))
            .create(path("/a/b/c"), "1", Lifetime::Ephemeral)
            .create(path("/a/d"), "", Lifetime::Persistent)
            .put(path("/a"), "2")
            .delete(path("/a/d"))
            .create(path("/a/d/e"), "", Lifetime::Persistent);
        let before = Before::of(&model, txn.ops());
        let (outcome, _) = model.commit(session, txn.ops()).unwrap();
        let TxnOutcome::Committed(committed) = outcome else { panic!("{outcome:?}") };
        let versions: Vec<_> = committed.stats.iter().map(|s| s.map(|s| s.version)).collect();
        let shown = |op: &RegOp| match op {
            RegOp::Create { path, ephemeral, .. } => format!("create {path} {ephemeral}"),
            RegOp::Set { path, ver, .. } => format!("set {path} {ver}"),
            RegOp::Delete { path } => format!("delete {path}"),
            RegOp::Check { path, ver } => format!("check {path} {ver:?}"),
        };
        let log: Vec<_> = before.log(txn.ops(), &versions).iter().map(shown).collect();
        let expected = [
            "create /x false",
            "delete /x",
            "create /a false",
            "create /a/b false",
            "create /a/b/c true",
            "create /a/d false",
            "set /a 1",
            "delete /a/d",
            "create /a/d false",
            "create /a/d/e false",
        ];
        assert_eq!(log, expected);
    }
}
