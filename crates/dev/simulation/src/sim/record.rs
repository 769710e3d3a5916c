//! Output of a run: always a digest, and on request a history and a trace.

use std::collections::VecDeque;
use std::time::Duration;

use checker::history::{Fact, Record, RegOp};
use reg_center::{Change, Op, SessionId, Stat};

/// Maximum number of lines of a trace.
const TRACE_LINES: usize = 400;

/// Output to keep of a run, in addition to its digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The history, for the checker.
    pub history: bool,
    /// The last events as text, for people.
    pub trace: bool,
}

/// Collects the output of a run.
#[derive(Debug)]
pub(crate) struct Recorder {
    keep: Keep,
    records: Vec<Record>,
    trace: VecDeque<String>,
    digest: u64,
    seqs: Vec<u64>,
    nemesis_seq: u64,
    registry_seq: u64,
    resource_seq: u64,
    zxid: i64,
    mt: u64,
}

/// Source of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writer {
    Node { index: usize, inc: u32 },
    Nemesis,
    Registry,
    Resource,
}

/// Returns the name of a process in histories.
pub(crate) fn process_name(index: usize) -> String {
    let letter = u8::try_from(index).map_or('?', |index| char::from(b'a' + index % 26));
    letter.to_string()
}

impl Recorder {
    pub(crate) fn new(keep: Keep, nodes: usize) -> Self {
        Self {
            keep,
            records: Vec::new(),
            trace: VecDeque::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            seqs: vec![0; nodes],
            nemesis_seq: 0,
            registry_seq: 0,
            resource_seq: 0,
            zxid: 0,
            mt: 0,
        }
    }

    pub(crate) fn keeps_history(&self) -> bool {
        self.keep.history
    }

    /// Mixes a value into the digest of the run.
    pub(crate) fn mix(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    }

    pub(crate) fn mix_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let value = chunk.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte));
            self.mix(value);
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn trace_line(&mut self, line: impl FnOnce() -> String) {
        if self.keep.trace {
            self.trace.push_back(line());
            if self.trace.len() > TRACE_LINES {
                self.trace.pop_front();
            }
        }
    }

    pub(crate) fn trace(&self) -> impl Iterator<Item = &str> {
        self.trace.iter().map(String::as_str)
    }

    /// Restarts the numbering of records for a new incarnation of a process.
    pub(crate) fn restart(&mut self, index: usize) {
        self.seqs[index] = 0;
    }

    /// Appends a record. Its time is always greater than the last one, so that times give the
    /// order.
    pub(crate) fn write(&mut self, writer: Writer, now: Duration, wall_ms: i64, fact: Fact) {
        if !self.keep.history {
            return;
        }
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        self.mt = nanos.max(self.mt + 1);
        let (p, inc, seq) = match writer {
            Writer::Node { index, inc } => (process_name(index), inc, &mut self.seqs[index]),
            Writer::Nemesis => ("nemesis".to_owned(), 0, &mut self.nemesis_seq),
            Writer::Registry => ("registry".to_owned(), 0, &mut self.registry_seq),
            Writer::Resource => ("resource".to_owned(), 0, &mut self.resource_seq),
        };
        let record = Record { p, inc, seq: *seq, mt: self.mt, wt: wall_ms, fact };
        *seq += 1;
        self.records.push(record);
    }

    /// Returns the number of the next entry of the registry's log.
    pub(crate) fn next_zxid(&mut self) -> i64 {
        self.zxid += 1;
        self.zxid
    }

    pub(crate) fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }
}

/// Converts a committed transaction into its log entry. Implicitly created parents come first.
pub(crate) fn reg_fact(
    zxid: i64,
    session: SessionId,
    ops: &[Op],
    stats: &[Option<Stat>],
    changes: &[Change],
) -> Fact {
    let is_named = |path| ops.iter().any(|op| op.path() == path);
    let parents = changes.iter().filter_map(|change| match change {
        Change::Put(node) if node.stat.version.0 == 0 && !is_named(&node.path) => {
            let path = node.path.to_string();
            Some(RegOp::Create { path, data: String::new(), ephemeral: false })
        }
        Change::Put(_) | Change::Gone { .. } | Change::Entry(_) | Change::Init | Change::Ready => {
            None
        }
    });
    let versions = stats.iter().map(|stat| stat.map_or(0, |stat| stat.version.0));
    let written = ops.iter().zip(versions).filter_map(|(op, version)| reg_op(op, version));
    Fact::Reg { zxid, sid: session.0, ops: parents.chain(written).collect() }
}

fn reg_op(op: &Op, version: u32) -> Option<RegOp> {
    let path = op.path().to_string();
    let text = |data: &bytes::Bytes| String::from_utf8_lossy(data).into_owned();
    let number = |version: u32| i32::try_from(version).unwrap_or(i32::MAX);
    match op {
        Op::Create { data, lifetime, .. } => {
            let ephemeral = *lifetime == reg_center::Lifetime::Ephemeral;
            Some(RegOp::Create { path, data: text(data), ephemeral })
        }
        Op::Put { data, .. } => Some(RegOp::Set { path, ver: number(version), data: text(data) }),
        Op::Delete { .. } => Some(RegOp::Delete { path }),
        Op::Check { expect: reg_center::Expect::Version(version), .. } => {
            Some(RegOp::Check { path, ver: Some(number(version.0)) })
        }
        Op::Check { expect: reg_center::Expect::Exists, .. } => {
            Some(RegOp::Check { path, ver: None })
        }
        Op::CheckAbsent { .. } => None,
    }
}
