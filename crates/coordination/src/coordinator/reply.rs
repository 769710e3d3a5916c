//! Replies: what became of a commit, and what that means beyond the registry.

use reg_center::{Conflict, ConflictReason};
use sharding::ShardingItem;

use super::{Coordinator, REFUSED_WAIT, RETRY_WAIT, SETTLE_WAIT, Stage};
use crate::duty::Duty;
use crate::local::Request;
use crate::plan::{Plan, Step};
use crate::{Command, FireTime, JobEvent, Ledger, MissReason, Now, Outcome, Reply, Ticket};

impl Coordinator {
    pub(super) fn replied(
        &mut self,
        now: Now,
        ticket: Ticket,
        reply: Reply,
        out: &mut Vec<Command>,
    ) {
        let flight = self.in_flight.iter_mut().find(|(_, flight)| flight.ticket == ticket);
        let Some((_, flight)) = flight else { return };
        let seen = self.changes;
        flight.stage = match reply {
            Reply::Committed(revision) => {
                Stage::Landed { revision, seen, until: now.mono + SETTLE_WAIT }
            }
            Reply::Conflict(_) | Reply::HolderAlive => {
                Stage::Refused { until: now.mono + SETTLE_WAIT }
            }
            Reply::Unknown | Reply::NotExecuted => Stage::Held { until: now.mono + RETRY_WAIT },
            Reply::TooLarge => Stage::Held { until: now.mono + REFUSED_WAIT },
        };
        let plan = flight.plan.clone();
        match reply {
            Reply::Committed(_) => self.committed(now, &plan, out),
            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::TooLarge => {
                out.push(Command::Emit(JobEvent::CommitRefused { reason: plan.to_string() }));
            }
            Reply::HolderAlive | Reply::Unknown | Reply::NotExecuted => {}
        }
    }

    fn committed(&mut self, now: Now, plan: &Plan, out: &mut Vec<Command>) {
        if let Some(me) = self.me.clone() {
            self.start_runs(plan.runs_of(&me), out);
        }
        for step in &plan.steps {
            self.take_effect(now, step, out);
        }
    }

    /// Notes what a committed step means beyond the registry.
    fn take_effect(&mut self, now: Now, step: &Step, out: &mut Vec<Command>) {
        if let Step::AcceptTrigger { .. } = step {
            self.accept_request(FireTime(now.wall_ms));
        } else if let Step::RequestTrigger(_) = step {
            self.local.trigger_wanted = false;
        } else if let Step::SetAssignment { record, .. } = step {
            let reason = self.in_flight.get(&Duty::Resharding).map(|f| f.plan.reason.clone());
            out.push(Command::Emit(JobEvent::Resharded {
                moved: self.moved_by_last_resharding(),
                deferred: record.pending.len(),
                instances: record.members.len(),
                reason: reason.unwrap_or_default(),
            }));
        } else if let Step::SetLedger { item, ledger, .. } = step {
            self.tell_of(*item, ledger, out);
        }
    }

    /// Tells of the record that this instance has just written for an item.
    fn tell_of(&self, item: ShardingItem, written: &Ledger, out: &mut Vec<Command>) {
        let before = self.view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
        let lost =
            before.and_then(Ledger::running).filter(|run| Some(&run.holder) != self.me.as_ref());
        if let Some(run) = lost
            && written.running().is_none()
            && !self.local.runs.contains_key(&item)
        {
            out.push(Command::Emit(JobEvent::Orphaned {
                item,
                fire: run.fire,
                holder: run.holder.clone(),
                failover: written.is_busy(),
            }));
        }
        if written.misfire != before.and_then(|ledger| ledger.misfire)
            && let Some(waiting) = written.misfire
        {
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
        if written.outcome == Some(Outcome::Disabled)
            && let Some(fire) = written.last_fire
        {
            let reason = MissReason::ItemDisabled;
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        }
    }

    fn moved_by_last_resharding(&self) -> usize {
        let plan = self.in_flight.get(&Duty::Resharding).map(|flight| &flight.plan);
        let is_move = |step: &&Step| matches!(step, Step::SetOwner { .. });
        plan.map_or(0, |plan| plan.steps.iter().filter(is_move).count())
    }

    /// A mark that is gone need not be taken away: somebody else has done it.
    fn conflicted(&mut self, plan: &Plan, conflict: Conflict) {
        if conflict.reason != ConflictReason::Absent {
            return;
        }
        let Some(step) = plan.steps.get(conflict.index) else { return };
        if let Step::UnmarkRunning(item) = step
            && let Some(run) = self.local.runs.get_mut(item)
        {
            run.shows_running = false;
        } else if let Step::UnmarkFailover(item) = step
            && let Some(run) = self.local.runs.get_mut(item)
        {
            run.shows_failover = false;
        }
    }

    fn accept_request(&mut self, at: FireTime) {
        let Some(me) = self.me.as_ref().filter(|_| self.local.is_active()) else { return };
        let items = self.view.items_of(me).map(|(item, _)| item).collect();
        self.local.request = Some(Request { at, items });
    }
}
