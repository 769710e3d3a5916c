//! Runs that report progress, and the time between reading a record and writing beside it.

use std::time::Duration;

use coordination::{
    NodeKind, Progress, ProgressRecord, RunWriter, decode_progress, encode_progress,
};
use reg_center::{Node as RegNode, SessionId, Txn};
use sharding::{InstanceId, ShardingItem};

use super::world::World;

/// A write that a run has prepared from the record that it has read.
#[derive(Debug)]
pub(crate) struct PreparedReport {
    not_before: Duration,
    txn: Txn,
}

impl World {
    /// Writes a prepared report of a process, or prepares one.
    ///
    /// A process that is stopped in between writes afterwards what it had prepared before.
    pub(crate) fn report_progress(&mut self, index: usize) {
        if !self.script.profile.work.progress || self.healing {
            return;
        }
        let node = &self.nodes[index];
        let session = node.session.filter(|id| self.sessions.contains_key(id));
        let Some(session) = session.filter(|_| node.is_linked()) else { return };
        let is_due = |report: &PreparedReport| report.not_before <= self.mono;
        match node.reports.iter().position(is_due) {
            Some(place) => {
                let report = self.nodes[index].reports.remove(place);
                let is_written = self.write_beside_record(session, &report.txn);
                self.coverage.count(if is_written { "progress" } else { "progress_conflict" });
            }
            None if self.dice.one_in(2) => self.prepare_report(index),
            None => {}
        }
    }

    /// Reads the record of one of the process's runs, which may be another run's by now.
    fn prepare_report(&mut self, index: usize) {
        let node = &self.nodes[index];
        let Some(holder) = node.instance.clone().filter(|_| !node.runs.is_empty()) else { return };
        let run = &self.nodes[index].runs[self.dice.place(self.nodes[index].runs.len())];
        let run = RunWriter { slot: run.slot(), holder, token: run.token };
        let layout = &self.paths.layout;
        let path = layout.path(&NodeKind::Progress(run.slot.key()));
        let record = self.model.read(&layout.ledger_path(run.slot.key()));
        let exists = self.model.read(&path).is_some();
        let progress = Progress::new(u64::from(self.step), None, "simulated");
        let progress = progress.expect("the message is valid");
        let report = ProgressRecord::new(run.token, self.true_wall(), progress);
        let data = encode_progress(&report).into();
        match layout.write_of_run(&run, record, &path, data, exists) {
            Ok(txn) => {
                let wait = Duration::from_millis(self.dice.pick(&[0, 0, 50, 600, 3_000]));
                let not_before = self.mono + wait;
                self.nodes[index].reports.push(PreparedReport { not_before, txn });
            }
            Err(_) => self.coverage.count("progress_not_held"),
        }
    }

    /// Checks that the run of a written progress holds the item.
    pub(crate) fn check_progress(
        &mut self,
        writer: Option<SessionId>,
        item: ShardingItem,
        node: &RegNode,
    ) {
        let process = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.process);
        let holds = |id: &InstanceId| process.is_some() && self.tracked.process_of(id) == process;
        let written = decode_progress(&node.data);
        let found = promises::breach_of_progress(self.observer.view(), item, &written, holds);
        self.report(found);
    }
}
