//! Graceful leaves: the instance holds no item. S12.

use crate::Property::S12;
use crate::history::ProcessEvent;
use crate::names::Name;
use crate::replay::Replay;
use crate::replay::judge::Judge;
use crate::replay::session::ProcessStart;
use crate::violation::Subject;

impl Judge<'_> {
    /// Judges that an instance that deregisters itself holds no item.
    pub(super) fn deregisters(&mut self, id: Name) {
        if !self.job.is_registered_by(id, self.txn.sid) {
            return;
        }
        let sid = self.txn.sid;
        let held = self
            .job
            .slots()
            .find(|(_, slot)| slot.running_ledger().is_some() && slot.claimed_in == Some(sid));
        let held = held.map(|(i, _)| i);
        self.expect(held.is_none(), S12, held, |judge| {
            format!("{} deregistered while it held the item", judge.text(id))
        });
    }
}

impl Replay {
    /// Judges that a process that reports that it has left in order holds no item.
    ///
    /// Items that it held in an ended session do not count: it lost them with that session.
    pub(super) fn process(&mut self, process: &str, inc: u32, event: ProcessEvent) {
        if event != ProcessEvent::Left {
            return;
        }
        let process_start = ProcessStart { process: process.to_owned(), inc };
        self.tally.judged(S12);
        let mut held = Vec::new();
        for (index, job) in self.jobs.iter().enumerate() {
            for (i, slot) in job.slots() {
                let running = slot.running_ledger().is_some();
                let session = slot.claimed_in.and_then(|sid| self.sessions.get(sid));
                let lives = session.filter(|session| session.closed.is_none());
                if running
                    && lives.is_some_and(|s| s.process_start.as_ref() == Some(&process_start))
                {
                    held.push((index, i, slot.claim));
                }
            }
        }
        for (index, i, claim) in held {
            let subject = Subject::of(self.nodes.job_name(index), Some(i));
            let since = claim.and_then(|claim| self.trace.claims.get(claim));
            let since = since.map_or(self.spot.record, |claim| claim.spot.record);
            let message = format!("{process} has left in order and still holds the item");
            self.violate(S12, subject, message, since);
        }
    }
}
