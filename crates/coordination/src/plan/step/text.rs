//! Steps as text, for logs and tests.

use std::fmt;

use super::{Data, Step, StepOp};
use crate::OnceStage;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = &self.node;
        match &self.op {
            StepOp::Check(Some(version)) => write!(f, "check {node} at version {version}"),
            StepOp::Check(None) => write!(f, "check {node} exists"),
            StepOp::Absent => write!(f, "check {node} is absent"),
            StepOp::Create(_, data) => write!(f, "create {node}{data}"),
            StepOp::Put(_, data) => write!(f, "set {node}{data}"),
            StepOp::Delete(_) => write!(f, "delete {node}"),
        }
    }
}

impl fmt::Display for Data {
    /// Writes a colon and the part of the data that matters to operators. Writes nothing if the
    /// path of the node says enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty | Self::Registration(..) | Self::RunRequestAccepted(_) => Ok(()),
            Self::Text(text) => write!(f, ": {text}"),
            Self::Audit(log) => {
                let last = log.records().next_back();
                last.map_or(Ok(()), |last| write!(f, ": {} {}", last.act, last.target))
            }
            Self::Backfills(log) => log.iter().try_for_each(|backfill| {
                let (id, done, total) = (&backfill.id, backfill.done, backfill.total);
                let ended = if backfill.ended_ms.is_some() { ", ended" } else { "" };
                write!(f, ": {id} {done}/{total}{ended}")
            }),
            Self::PermitHolder(run) => {
                write!(f, ": {} {} {} {}", run.job, run.item, run.holder, run.token)
            }
            Self::Holder(id) | Self::Term(id) | Self::Place(id) => write!(f, ": {id}"),
            Self::Server(state) => write!(f, ": {state}"),
            Self::Waiting(waiting) => {
                write!(f, ": {} for one of {} places", waiting.count, waiting.limit)
            }
            Self::Starts(log) => {
                let starts = log.starts.iter().map(|(at, count)| format!("{at} ({count})"));
                write!(f, ": {}", starts.collect::<Vec<_>>().join(", "))
            }
            Self::RunRequest => f.write_str(": run now"),
            Self::Ledger(ledger) => write!(f, ": {}", ledger.summary()),
            Self::Assignment(record) => write!(
                f,
                ": {} items, {} instances, {} pending",
                record.total_count,
                record.members.len(),
                record.pending.len()
            ),
            Self::Request(record) if record.was_dropped() => f.write_str(": dropped"),
            Self::Request(record) if record.is_handled() => f.write_str(": passed on"),
            Self::Request(record) => match &record.items {
                Some(items) => write!(f, ": {} items left", items.len()),
                None => f.write_str(": all items"),
            },
            Self::Once(record) => {
                let calls = OnceStage::ALL.into_iter().filter_map(|stage| {
                    let call = record.call(stage)?;
                    let done = if call.done { ", done" } else { "" };
                    Some(format!("{stage} {} by {}{done}", call.fire.0, call.holder))
                });
                let ended = record.ended.map(|end| match end.fire {
                    Some(fire) => format!("{} ended at {}", fire.0, end.at.0),
                    None => format!("begun at {}", end.at.0),
                });
                write!(f, ": {}", calls.chain(ended).collect::<Vec<_>>().join("; "))
            }
        }
    }
}
