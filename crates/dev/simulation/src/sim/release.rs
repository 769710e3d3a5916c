//! Releases of this project that run side by side: processes of an older and of a later one.
//!
//! The coordinators are those of this release. What they read and write is translated, so that the
//! registry and the other processes see the records of the other release.

use coordination::Event;
use reg_center::{Change, Node as RegNode, NodePath, Op, Txn};
use serde_json::{Map, Value};

use super::world::World;

/// Release of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Reads and writes version 0: it ignores and loses every other field.
    Version0,
    /// This release.
    Present,
    /// Writes a field of its own into each record, within version 1.
    Later,
}

/// All fields of records in version 0.
const OF_VERSION_0: [&str; 35] = [
    "state",
    "holder",
    "fire",
    "source",
    "merged",
    "parameter",
    "token",
    "last",
    "previous",
    "next",
    "next_config",
    "gaps",
    "config",
    "misfire",
    "request",
    "disabled",
    "outcome",
    "failure",
    "began",
    "ended",
    "leader",
    "members",
    "names",
    "total",
    "strategy",
    "handled",
    "due",
    "pending",
    "announced",
    "counts",
    "by",
    "at",
    "items",
    "started",
    "completed",
];

/// The field of the later release.
const LATER: &str = "later";

impl World {
    /// Returns the release of a process. With mixed releases, each restart of a process changes it.
    pub(crate) fn release(&self, index: usize) -> Release {
        if !self.script.profile.mixed_releases {
            return Release::Present;
        }
        let restarts = usize::try_from(self.nodes[index].inc).unwrap_or(0);
        let releases = [Release::Version0, Release::Present, Release::Later];
        releases[(index + restarts) % releases.len()]
    }
}

impl Release {
    /// Returns the transaction as this release writes it.
    pub(crate) fn written(self, txn: Txn) -> Txn {
        if self == Self::Present {
            return txn;
        }
        let empty = match txn.session() {
            Some(session) => Txn::new().in_session(session),
            None => Txn::new(),
        };
        let ops = txn.ops().iter().cloned().map(|op| self.written_op(op));
        ops.fold(empty.labelled(txn.label()), Txn::op)
    }

    fn written_op(self, op: Op) -> Op {
        match op {
            Op::Create { path, data, lifetime } => {
                let data = translated(&path, &data, |fields| self.write(fields)).unwrap_or(data);
                Op::Create { path, data, lifetime }
            }
            Op::Put { path, data, expect } => {
                let data = translated(&path, &data, |fields| self.write(fields)).unwrap_or(data);
                Op::Put { path, data, expect }
            }
            Op::Delete { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => op,
        }
    }

    /// Returns an event as this release reads it.
    pub(crate) fn read(self, event: Event) -> Event {
        if self == Self::Present {
            return event;
        }
        if let Event::Read(nodes) = event {
            return Event::Read(nodes.into_iter().map(|node| self.read_node(node)).collect());
        }
        let Event::Registry(changes) = event else { return event };
        Event::Registry(changes.into_iter().map(|change| self.read_change(change)).collect())
    }

    fn read_change(self, change: Change) -> Change {
        match change {
            Change::Entry(node) => Change::Entry(self.read_node(node)),
            Change::Put(node) => Change::Put(self.read_node(node)),
            Change::Init | Change::Ready | Change::Gone { .. } => change,
        }
    }

    fn read_node(self, node: RegNode) -> RegNode {
        let data = translated(&node.path, &node.data, |fields| self.ignore(fields));
        RegNode { data: data.unwrap_or_else(|| node.data.clone()), ..node }
    }

    fn write(self, fields: &mut Map<String, Value>) {
        self.ignore(fields);
        if self == Self::Later {
            fields.insert(LATER.to_owned(), Value::from(vec![1, 2]));
        }
    }

    /// Removes the fields that this release does not know, or that its coordinator here does not.
    fn ignore(self, fields: &mut Map<String, Value>) {
        match self {
            Self::Version0 => fields.retain(|name, _| OF_VERSION_0.contains(&name.as_str())),
            Self::Present => {}
            Self::Later => {
                fields.remove(LATER);
            }
        }
    }
}

/// Returns the data of a record with other fields; `None` for a node without a record.
fn translated(
    path: &NodePath,
    data: &[u8],
    translate: impl FnOnce(&mut Map<String, Value>),
) -> Option<bytes::Bytes> {
    let is_record = path.as_str().contains("/ledger/") || path.as_str().contains("/coordination/");
    if !is_record {
        return None;
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(data) else { return None };
    translate(&mut fields);
    Some(Value::Object(fields).to_string().into())
}
