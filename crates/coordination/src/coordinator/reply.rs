//! Replies: handles the outcome of a commit and its local effects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Conflict, ConflictReason};
use sharding::{InstanceId, ShardingItem};

use super::in_flight::Stage;
use super::in_flight::{ASSIGNMENT_WAIT, AssignmentInDoubt};
use super::{Coordinator, RETRY_WAIT, SETTLE_WAIT, TOO_LARGE_WAIT};
use crate::local::claims::UnknownClaim;
use crate::plan::{Plan, Step};
use crate::run_marks::Mark;
use crate::runs::LocalRun;
use crate::wire::{GroupNode, NodeKind};
use crate::{Command, GroupPermit, JobConfig, JobEvent, Ledger, Now, Reply, Ticket, Versioned};

impl Coordinator {
    pub(super) fn replied(
        &mut self,
        now: Now,
        ticket: Ticket,
        reply: Reply,
        out: &mut Vec<Command>,
    ) {
        let mut flights = self.in_flight.values_mut();
        let Some(flight) = flights.find(|flight| flight.ticket == ticket) else { return };
        flight.stage = match reply {
            Reply::Committed(revision) => {
                Stage::Committed { revision, until: now.mono + wait_for(&flight.plan) }
            }
            Reply::Conflict(_) | Reply::HolderAlive => {
                Stage::Conflicted { until: now.mono + SETTLE_WAIT }
            }
            Reply::Unknown | Reply::NotExecuted => {
                Stage::BackingOff { until: now.mono + RETRY_WAIT }
            }
            Reply::TooLarge => Stage::BackingOff { until: now.mono + TOO_LARGE_WAIT },
        };
        let (plan, config) = (Arc::clone(&flight.plan), flight.config.clone());
        let replaced = std::mem::take(&mut flight.replaced);
        match reply {
            Reply::Committed(_) => {
                self.note_takeover(now, &plan);
                self.committed(&plan, config.as_ref(), &replaced, out);
            }
            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::Unknown => self.note_unknown_outcome(&plan, config.as_ref()),
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
        replaced: &BTreeMap<ShardingItem, Ledger>,
        out: &mut Vec<Command>,
    ) {
        if let (Some(me), Some(config)) = (self.me.clone(), config) {
            // A committed claim may have to wait too. It is kept until it starts, with the
            // configuration that it checked.
            self.note_unknown_claims(plan, &me, Some(config));
            self.start_runs(plan.runs_of(&me), config, out);
        }
        if plan.assignment().is_some() {
            // This commit proves the fate of earlier assignments: they failed, or it replaced them.
            self.in_doubt.clear();
        }
        self.note_removed_marks(plan);
        for step in &plan.steps {
            self.take_effect(plan, step, replaced, out);
        }
    }

    /// Restarts the wait for orphaned runs, so that other instances can take over the rest.
    fn note_takeover(&mut self, now: Now, plan: &Plan) {
        if plan.takes_over() {
            self.local.orphans_since = Some(now.mono);
        }
    }

    /// Applies the local effects of a committed step. Most steps have none.
    fn take_effect(
        &mut self,
        plan: &Plan,
        step: &Step,
        replaced: &BTreeMap<ShardingItem, Ledger>,
        out: &mut Vec<Command>,
    ) {
        if step.registers() {
            self.local.session.maybe_registered = true;
        }
        if step.deregisters() {
            self.local.session.maybe_registered = false;
        }
        if let Some(id) = step.stored_request() {
            self.local.requests.wanted.remove(id);
        }
        if let Some((item, ledger)) = step.ledger() {
            self.report_record(item, replaced.get(&item), ledger, out);
        }
        if let Some(record) = step.assignment() {
            let moved = || plan.steps.iter().filter_map(Step::assigned);
            out.push(Command::Emit(JobEvent::Resharded {
                moved: moved().count(),
                items: moved().collect(),
                deferred: record.pending.len(),
                instances: record.members.len(),
                reason: plan.reason.clone(),
            }));
        }
    }

    /// Records the possible effects of a commit with an unknown outcome. The view decides later.
    fn note_unknown_outcome(
        &mut self,
        plan: &Arc<Plan>,
        config: Option<&Versioned<Arc<JobConfig>>>,
    ) {
        let assigns = plan.assignment().is_some();
        if assigns && !self.in_doubt.iter().any(|assignment| assignment.plan.repeats(plan)) {
            self.in_doubt.push(AssignmentInDoubt { plan: Arc::clone(plan), shown_since: None });
        }
        if plan.steps.iter().any(Step::registers) {
            self.local.session.maybe_registered = true;
        }
        if let Some(me) = self.me.clone() {
            self.note_unknown_claims(plan, &me, config);
        }
        self.note_removed_marks(plan);
    }

    /// Records that the marks of ended runs may be gone if the plan removes marks of their items.
    fn note_removed_marks(&mut self, plan: &Plan) {
        for (_, item) in plan.steps.iter().filter_map(Step::deleted).filter_map(Mark::of_node) {
            self.local.runs.change(item, |run| run.may_be_unmarked |= run.outcome.is_some());
        }
    }

    fn note_unknown_claims(
        &mut self,
        plan: &Plan,
        me: &InstanceId,
        config: Option<&Versioned<Arc<JobConfig>>>,
    ) {
        for step in &plan.steps {
            let (Some((item, ledger)), Some(before)) = (step.ledger(), step.expected()) else {
                continue;
            };
            if ledger.is_running_on(me) {
                let none = UnknownClaim { before, configs: Vec::new() };
                let claim = self.local.claims.unstarted.entry(item).or_insert(none);
                claim.add(before, config);
            }
        }
    }

    /// Records the facts that a conflict proves: a node to delete is absent, or a node to create
    /// exists.
    fn conflicted(&mut self, plan: &Plan, conflict: Conflict) {
        let Some(step) = plan.steps.get(conflict.index) else { return };
        match conflict.reason {
            ConflictReason::Absent => self.found_absent(plan, step),
            ConflictReason::Exists => self.found_present(step),
            ConflictReason::VersionMismatch
            | ConflictReason::HasChildren
            | ConflictReason::EphemeralParent => {}
        }
    }

    fn found_absent(&mut self, plan: &Plan, step: &Step) {
        if step.deregisters() {
            self.local.session.maybe_registered = false;
        }
        if let Some((mark, item)) = step.deleted().and_then(Mark::of_node) {
            self.note_absent(plan, item, mark);
        }
        if let Some(NodeKind::Permit(absent)) = step.deleted() {
            // An operator removed it.
            self.local.runs.change_all(|run| run.permit = run.permit.filter(|it| it != absent));
        }
        if let Some(NodeKind::Group(group, GroupNode::Permit(absent))) = step.deleted() {
            let is_it = |it: &GroupPermit| it.group == *group && it.number == *absent;
            self.local.runs.change_all(|run| {
                run.group_permit = run.group_permit.take().filter(|it| !is_it(it));
            });
        }
    }

    fn found_present(&mut self, step: &Step) {
        if step.registers() {
            self.local.session.maybe_registered = true;
        }
        // Only this instance uses the id, so this is its own request, sent before without a reply.
        if let Some(id) = step.stored_request() {
            self.local.requests.wanted.remove(id);
        }
    }

    /// Records that a mark of the released run is absent.
    ///
    /// A later run of the item, which has a greater token, may have started here before the reply.
    /// The release may have raised the token of a record that was restored from outside.
    fn note_absent(&mut self, plan: &Plan, item: ShardingItem, mark: Mark) {
        let mut records = plan.steps.iter().filter_map(Step::ledger);
        let released = records.find(|(of, _)| *of == item).map(|(_, ledger)| ledger.token);
        let is_it = |run: &LocalRun| released.is_some() && run.token <= released;
        if self.local.runs.get(item).is_some_and(is_it) {
            self.local.runs.change(item, |run| run.marks.note_absent(mark));
        }
    }
}

/// Returns the time that the view may take to show a committed plan.
fn wait_for(plan: &Plan) -> Duration {
    if plan.assignment().is_some() { ASSIGNMENT_WAIT } else { SETTLE_WAIT }
}
