//! Converts the registry's log into records of a history.

use std::collections::BTreeMap;

use checker::history::{Fact, Record, RegOp};

use super::{Change, Entry, Write};

/// Name of the registry in a history.
const PROCESS: &str = "registry";

/// Names of processes by the ids of their sessions.
pub type Owners = BTreeMap<i64, String>;

/// Converts committed transactions into records, one after the other.
///
/// Paths are relative to the namespace. Nodes outside of it are omitted.
#[derive(Debug)]
pub struct RecordConverter {
    namespace: String,
    seq: u64,
    latest: u64,
}

impl RecordConverter {
    /// Creates a converter for the nodes below `namespace`, such as `/verify`. Records are numbered
    /// from 0.
    #[must_use]
    pub fn new(namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), seq: 0, latest: 0 }
    }

    /// Returns the record of a transaction, or `None` if it has no effect in the namespace.
    ///
    /// `mt` is its time on the monotonic clock. A session that is not among `owners` belongs to the
    /// harness.
    pub fn record(&mut self, entry: Entry, mt: u64, owners: &Owners) -> Option<Record> {
        let Entry { zxid, session: sid, time_ms: wt, change } = entry;
        let fact = match change {
            Change::OpenSession => {
                let owner = owners.get(&sid).cloned().unwrap_or_default();
                Fact::SessionOpened { sid, owner }
            }
            Change::CloseSession { ephemerals } => {
                let ephemerals = ephemerals.iter().filter_map(|path| self.inside(path)).collect();
                Fact::SessClose { zxid, sid, ephemerals }
            }
            Change::Write(writes) => {
                let inside = writes.into_iter().filter_map(|write| self.op(write));
                let ops = without_probes(inside.collect());
                if ops.is_empty() {
                    return None;
                }
                Fact::Reg { zxid, sid, ops }
            }
            Change::Rejected | Change::Other { .. } => return None,
        };
        let seq = self.seq;
        self.seq += 1;
        // The clock of another leader may be behind, but the order of the log is right.
        self.latest = self.latest.max(mt);
        let mt = self.latest;
        Some(Record { p: PROCESS.to_owned(), inc: 0, seq, mt, wt, fact })
    }

    fn inside(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix(&self.namespace)?;
        below.starts_with('/').then(|| below.to_owned())
    }

    fn op(&self, write: Write) -> Option<RegOp> {
        let text = |data: Vec<u8>| String::from_utf8_lossy(&data).into_owned();
        Some(match write {
            Write::Create { path, data, ephemeral } => {
                RegOp::Create { path: self.inside(&path)?, data: text(data), ephemeral }
            }
            Write::Set { path, data, version: ver } => {
                RegOp::Set { path: self.inside(&path)?, ver, data: text(data) }
            }
            Write::Delete { path } => RegOp::Delete { path: self.inside(&path)? },
            Write::Check { path, version } => {
                RegOp::Check { path: self.inside(&path)?, ver: Some(version) }
            }
        })
    }
}

/// Omits nodes that are created and deleted in one transaction, with nothing in between.
///
/// This is how ZooKeeper checks that a node is absent; nothing has changed.
fn without_probes(ops: Vec<RegOp>) -> Vec<RegOp> {
    let mut kept: Vec<Option<RegOp>> = ops.into_iter().map(Some).collect();
    for at in 0..kept.len() {
        let Some(RegOp::Delete { path: deleted }) = &kept[at] else { continue };
        let same = |op: &Option<RegOp>| op.as_ref().is_some_and(|op| path_of(op) == deleted);
        let before = kept[..at].iter().rposition(same);
        if let Some(before) = before
            && matches!(&kept[before], Some(RegOp::Create { data, .. }) if data.is_empty())
        {
            kept[before] = None;
            kept[at] = None;
        }
    }
    kept.into_iter().flatten().collect()
}

fn path_of(op: &RegOp) -> &str {
    match op {
        RegOp::Create { path, .. }
        | RegOp::Set { path, .. }
        | RegOp::Delete { path }
        | RegOp::Check { path, .. } => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &str) -> Write {
        Write::Create { path: path.into(), data: Vec::new(), ephemeral: false }
    }

    fn delete(path: &str) -> Write {
        Write::Delete { path: path.into() }
    }

    fn paths(writes: Vec<Write>) -> Vec<String> {
        let entry = Entry { zxid: 9, session: 1, time_ms: 5, change: Change::Write(writes) };
        let record = RecordConverter::new("/ns").record(entry, 7, &Owners::new());
        let Some(record) = record else { return Vec::new() };
        let Fact::Reg { ops, .. } = record.fact else { panic!("{record:?}") };
        ops.iter().map(|op| path_of(op).to_owned()).collect()
    }

    #[test]
    fn only_lasting_writes_inside_of_the_namespace_are_recorded() {
        let rows = [
            ("inside", vec![create("/ns/job/a")], vec!["/job/a"]),
            ("the namespace itself", vec![create("/ns")], vec![]),
            ("outside", vec![create("/nsx/job/a")], vec![]),
            ("probe", vec![create("/ns/a"), delete("/ns/a"), create("/ns/b")], vec!["/b"]),
            (
                "probe with a parent",
                vec![create("/ns/a"), create("/ns/a/b"), delete("/ns/a/b"), delete("/ns/a")],
                vec![],
            ),
            ("a replaced node", vec![delete("/ns/a"), create("/ns/a")], vec!["/a", "/a"]),
        ];
        for (case, writes, expected) in rows {
            assert_eq!(paths(writes), expected, "{case}");
        }
    }

    #[test]
    fn sessions_have_owners() {
        let owners = Owners::from([(1, "a".to_owned())]);
        let mut converter = RecordConverter::new("/ns");
        let mut fact = |session, change| {
            let entry = Entry { zxid: 9, session, time_ms: 5, change };
            let record = converter.record(entry, 7, &owners).unwrap();
            (record.seq, record.fact)
        };
        let opened = |sid, owner: &str| Fact::SessionOpened { sid, owner: owner.to_owned() };
        assert_eq!(fact(1, Change::OpenSession), (0, opened(1, "a")));
        assert_eq!(fact(2, Change::OpenSession), (1, opened(2, "")));
        let gone = vec!["/ns/job/instances/x".to_owned(), "/other".to_owned()];
        let ephemerals = vec!["/job/instances/x".to_owned()];
        let closed = Fact::SessClose { zxid: 9, sid: 1, ephemerals };
        assert_eq!(fact(1, Change::CloseSession { ephemerals: gone }), (2, closed));
    }
}
