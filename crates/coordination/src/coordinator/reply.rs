//! Replies: what became of a commit, and what that means beyond the registry.

use std::sync::Arc;

use reg_center::{Conflict, ConflictReason};
use sharding::ShardingItem;

use super::{Coordinator, REFUSED_WAIT, RETRY_WAIT, SETTLE_WAIT, Stage};
use crate::local::LocalRun;
use crate::plan::{Plan, Step};
use crate::view::Versioned;
use crate::{Command, JobConfig, JobEvent, Ledger, MissReason, Now, Outcome, Reply, Ticket};

impl Coordinator {
    pub(super) fn replied(
        &mut self,
        now: Now,
        ticket: Ticket,
        reply: Reply,
        out: &mut Vec<Command>,
    ) {
        let flight = self.in_flight.values_mut().find(|flight| flight.ticket == ticket);
        let Some(flight) = flight else { return };
        flight.stage = match reply {
            Reply::Committed(revision) => Stage::Landed { revision, until: now.mono + SETTLE_WAIT },
            Reply::Conflict(_) | Reply::HolderAlive => {
                Stage::Refused { until: now.mono + SETTLE_WAIT }
            }
            Reply::Unknown | Reply::NotExecuted => Stage::Held { until: now.mono + RETRY_WAIT },
            Reply::TooLarge => Stage::Held { until: now.mono + REFUSED_WAIT },
        };
        let (plan, config) = (flight.plan.clone(), flight.config.clone());
        match reply {
            Reply::Committed(_) => self.committed(&plan, config.as_ref(), out),
            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::Unknown => self.left_in_doubt(&plan),
            Reply::TooLarge => {
                out.push(Command::Emit(JobEvent::CommitRefused { reason: plan.to_string() }));
            }
            Reply::HolderAlive | Reply::NotExecuted => {}
        }
    }

    fn committed(
        &mut self,
        plan: &Plan,
        config: Option<&Versioned<Arc<JobConfig>>>,
        out: &mut Vec<Command>,
    ) {
        if let (Some(me), Some(config)) = (self.me.clone(), config) {
            self.start_runs(plan.runs_of(&me), config, out);
        }
        for step in &plan.steps {
            self.take_effect(plan, step, out);
        }
    }

    /// Notes what a committed step means beyond the registry.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most steps mean nothing beyond the registry"
    )]
    fn take_effect(&mut self, plan: &Plan, step: &Step, out: &mut Vec<Command>) {
        match step {
            Step::Register(_) => self.local.maybe_registered = true,
            Step::Deregister(_) => self.local.maybe_registered = false,
            Step::RequestTrigger { .. } => self.local.trigger_wanted = false,
            Step::SetLedger { item, ledger, .. } => self.tell_of(*item, ledger, out),
            Step::SetAssignment { record, .. } => {
                let is_move = |step: &&Step| matches!(step, Step::SetOwner { .. });
                out.push(Command::Emit(JobEvent::Resharded {
                    moved: plan.steps.iter().filter(is_move).count(),
                    deferred: record.pending.len(),
                    instances: record.members.len(),
                    reason: plan.reason.clone(),
                }));
            }
            _ => {}
        }
    }

    /// Notes what may have happened, until the view shows it or shows that it cannot any more.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most steps are decided by the view alone")]
    fn left_in_doubt(&mut self, plan: &Plan) {
        for step in &plan.steps {
            match step {
                Step::Register(_) => self.local.maybe_registered = true,
                Step::SetLedger { item, expect: Some(before), ledger }
                    if ledger
                        .running()
                        .is_some_and(|run| Some(&run.holder) == self.me.as_ref()) =>
                {
                    self.local.maybe_claimed.insert(*item, *before);
                }
                Step::RequestTrigger { instance, version } => {
                    self.local.maybe_triggered.push((instance.clone(), *version));
                }
                _ => {}
            }
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

    /// What is gone need not be taken away: somebody else has done it. What is there need not be created.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other conflicts are decided by the view"
    )]
    fn conflicted(&mut self, plan: &Plan, conflict: Conflict) {
        let Some(step) = plan.steps.get(conflict.index) else { return };
        let gone = conflict.reason == ConflictReason::Absent;
        match step {
            Step::UnmarkRunning(item) if gone => {
                self.change_run(*item, |run| run.shows_running = false);
            }
            Step::UnmarkFailover(item) if gone => {
                self.change_run(*item, |run| run.shows_failover = false);
            }
            Step::Deregister(_) if gone => self.local.maybe_registered = false,
            Step::Register(_) if conflict.reason == ConflictReason::Exists => {
                self.local.maybe_registered = true;
            }
            _ => {}
        }
    }

    fn change_run(&mut self, item: ShardingItem, change: impl FnOnce(&mut LocalRun)) {
        if let Some(run) = self.local.runs.get_mut(&item) {
            change(run);
        }
    }
}
