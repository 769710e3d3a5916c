//! Operators who cancel runs, and the runs that end for it.

use std::time::Duration;

use coordination::{CancelItem, CancelRequest, FencingToken, OperatorStep, Outcome};
use reg_center::Txn;
use sharding::ShardingItem;

use super::faults::duration;
use super::node::Exec;
use super::time::Planned;
use super::world::World;

impl World {
    /// An operator reads the record of an item and requests the cancellation of its run.
    ///
    /// The write arrives after `late_ms`, when the record may have changed. If the request or its
    /// reply is lost, the operator reads the record again after `again_ms` and repeats the request
    /// for the same run.
    pub(crate) fn cancel_item(&mut self, item: u32, late_ms: u32, again_ms: u32) -> bool {
        let item = ShardingItem::new(item);
        let record = self.observer.view().item(item).ledger.as_ref();
        let Some(token) = record.map(|record| record.value.token) else { return false };
        let Some(txn) = self.cancel_request(item, token) else { return false };
        if again_ms > 0 {
            self.plan(duration(again_ms), Planned::RepeatCancel { item, token });
        }
        if late_ms > 0 {
            let write = self.late_writes.len();
            self.late_writes.push(txn);
            self.plan(duration(late_ms), Planned::LateWrite { write });
            return true;
        }
        self.operate(&txn)
    }

    /// Returns the write that requests the cancellation, unless the run is over or has a request.
    fn cancel_request(&self, item: ShardingItem, token: FencingToken) -> Option<Txn> {
        let record = self.observer.view().item(item).ledger.as_ref()?;
        let request = CancelRequest::new(token, "operator", "simulated", self.true_wall())?;
        let ledger = Box::new(record.value.with_cancel_request(request)?);
        let step = OperatorStep::RequestCancel { item, ledger, version: record.version };
        Some(self.paths.layout.change(&[step]))
    }

    pub(crate) fn repeat_cancel(&mut self, item: ShardingItem, token: FencingToken) {
        let Some(txn) = self.cancel_request(item, token) else {
            return self.coverage.count("cancel_repeated");
        };
        if !self.registry_down && self.operate(&txn) {
            self.coverage.count("cancel_resent");
        }
    }

    pub(crate) fn write_late(&mut self, write: usize) {
        let txn = std::mem::take(&mut self.late_writes[write]);
        if !self.registry_down && !self.operate(&txn) {
            self.coverage.count("cancel_conflict");
        }
    }

    /// Asks one run of a process to end. Its code ends a moment later, or succeeds before.
    pub(crate) fn cancel_run(&mut self, index: usize, cancel: &CancelItem) {
        self.coverage.count("cancelled_run");
        let grace = Duration::from_millis(self.dice.pick(&[0, 0, 50, 300]));
        let mono = self.mono;
        let runs = self.nodes[index].runs.iter_mut();
        let is_it = |exec: &&mut Exec| {
            (exec.item, exec.slot, exec.token) == (cancel.item, cancel.slot, cancel.token)
        };
        for exec in runs.filter(is_it) {
            if exec.ends.is_none_or(|ends| ends > mono + grace) {
                exec.ends = Some(mono + grace);
                exec.outcome = Outcome::Cancelled;
            }
        }
    }
}
