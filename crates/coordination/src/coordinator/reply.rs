//! Replies: what became of a commit, and what that means beyond the registry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Conflict, ConflictReason};
use sharding::{InstanceId, ShardingItem};

use super::{
    ASSIGNMENT_WAIT, Coordinator, REFUSED_WAIT, RETRY_WAIT, SETTLE_WAIT, Stage, UnsureAssignment,
};
use crate::gap::MAX_GAPS;
use crate::local::Doubt;
use crate::plan::{Plan, Step};
use crate::runs::LocalRun;
use crate::view::Versioned;
use crate::wire::NodeKind;
use crate::{
    Command, FireRange, FireTime, Gap, JobConfig, JobEvent, Ledger, LedgerState, ManualRequest,
    MissReason, Now, Outcome, Reply, RunSource, Ticket,
};

/// How many noted fires of an item are reported one by one after another process was lost. A longer range is reported by one
/// event, so that a step of the coordinator stays bounded.
const MAX_NOTED_REPORTED: u32 = 100;
/// How many gaps of an item a process remembers to have reported: those of the record before its last write and after it.
const MAX_GAPS_REPORTED: usize = 2 * MAX_GAPS;

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
            Reply::Committed(revision) => {
                Stage::Landed { revision, until: now.mono + wait_for(&flight.plan) }
            }
            Reply::Conflict(_) | Reply::HolderAlive => {
                Stage::Refused { until: now.mono + SETTLE_WAIT }
            }
            Reply::Unknown | Reply::NotExecuted => Stage::Held { until: now.mono + RETRY_WAIT },
            Reply::TooLarge => Stage::Held { until: now.mono + REFUSED_WAIT },
        };
        let (plan, config) = (flight.plan.clone(), flight.config.clone());
        let replaced = std::mem::take(&mut flight.replaced);
        match reply {
            Reply::Committed(_) => {
                self.note_takeover(now, &plan);
                self.committed(&plan, config.as_ref(), &replaced, out);
            }
            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::Unknown => self.left_in_doubt(&plan, config.as_ref()),
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
            // What cannot start now is started once it can, with the same configuration.
            self.doubt_claims(plan, &me, Some(config));
            self.start_runs(plan.runs_of(&me), config, out);
        }
        if plan.assignment().is_some() {
            // It has replaced what the others would have replaced, or what they have written.
            self.unsure.clear();
        }
        for step in &plan.steps {
            self.take_effect(plan, step, replaced, out);
        }
    }

    /// Others have time now to take what is left of the orphans.
    fn note_takeover(&mut self, now: Now, plan: &Plan) {
        if plan.takes_over() {
            self.local.orphans_since = Some(now.mono);
        }
    }

    /// Notes what a committed step means beyond the registry. Most steps mean nothing.
    fn take_effect(
        &mut self,
        plan: &Plan,
        step: &Step,
        replaced: &BTreeMap<ShardingItem, Ledger>,
        out: &mut Vec<Command>,
    ) {
        if step.registers() {
            self.local.maybe_registered = true;
        }
        if step.deregisters() {
            self.local.maybe_registered = false;
        }
        if let Some(id) = step.request_left() {
            self.local.wanted_triggers.remove(id);
        }
        if let Some((item, ledger)) = step.ledger() {
            self.tell_of(item, replaced.get(&item), ledger, out);
        }
        if let Some(record) = step.assignment() {
            out.push(Command::Emit(JobEvent::Resharded {
                moved: plan.steps.iter().filter(|step| step.sets_owner()).count(),
                deferred: record.pending.len(),
                instances: record.members.len(),
                reason: plan.reason.clone(),
            }));
        }
    }

    /// Notes what may have happened, until the view shows it or shows that it cannot any more.
    fn left_in_doubt(&mut self, plan: &Plan, config: Option<&Versioned<Arc<JobConfig>>>) {
        let assigns = plan.assignment().is_some();
        if assigns && !self.unsure.iter().any(|unsure| unsure.plan.repeats(plan)) {
            self.unsure.push(UnsureAssignment { plan: plan.clone(), shown_since: None });
        }
        if plan.steps.iter().any(Step::registers) {
            self.local.maybe_registered = true;
        }
        if let Some(me) = self.me.clone() {
            self.doubt_claims(plan, &me, config);
        }
    }

    fn doubt_claims(
        &mut self,
        plan: &Plan,
        me: &InstanceId,
        config: Option<&Versioned<Arc<JobConfig>>>,
    ) {
        for step in &plan.steps {
            let (Some((item, ledger)), Some(before)) = (step.ledger(), step.expected()) else {
                continue;
            };
            if ledger.running().is_some_and(|run| run.holder == *me) {
                let none = Doubt { before, configs: Vec::new() };
                let doubt = self.local.maybe_claimed.entry(item).or_insert(none);
                doubt.again(before, config);
            }
        }
    }

    /// Tells of the record that this instance has just written for an item, in place of the one before.
    fn tell_of(
        &mut self,
        item: ShardingItem,
        before: Option<&Ledger>,
        written: &Ledger,
        out: &mut Vec<Command>,
    ) {
        let lost =
            before.and_then(Ledger::running).filter(|run| Some(&run.holder) != self.me.as_ref());
        let next = written.running().map(|run| &run.holder);
        // Its run here may have begun already.
        let is_begun = next.is_some() && next == self.me.as_ref();
        if let Some(run) = lost
            && next != Some(&run.holder)
            && (is_begun || !self.local.runs.has(item))
        {
            out.push(Command::Emit(JobEvent::Orphaned {
                item,
                fire: run.fire,
                holder: run.holder.clone(),
                failover: written.is_busy(),
            }));
        }
        let noted = before.and_then(|ledger| ledger.misfire);
        self.report_noted_before(item, noted, out);
        if let Some(waiting) = written.misfire.filter(|waiting| Some(*waiting) != noted) {
            self.told.noted.insert(item, waiting.last);
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
        self.report_gaps(item, before, written, out);
        let Some(before) = before else { return };
        let mut missed = |fire, reason| {
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        };
        // The former record may be of an instance that was lost before it reported what it had skipped.
        for fire in [before, written].into_iter().filter_map(skipped) {
            // Not by order: an operator may have set the record back since.
            if self.told.skipped.get(&item) != Some(&fire) {
                self.told.skipped.insert(item, fire);
                missed(fire, MissReason::ItemDisabled);
            }
        }
        let retired = written.state == LedgerState::Retired && before.state != written.state;
        if let Some(range) = before.misfire.filter(|_| retired) {
            missed(range.last, MissReason::ItemRetired);
        }
        let answered = written.running().is_some_and(|run| run.source == RunSource::Manual);
        let unanswered = before.request.as_ref().filter(|_| written.request.is_none() && !answered);
        if let Some(request) = unanswered
            && let Some(reason) = why_unanswered(before, request, retired)
        {
            missed(request.at, reason);
        }
    }

    /// Reports the gaps of both records that this process has not reported yet. Who found them may have been lost before it
    /// reported them, or does not know that its write was committed.
    fn report_gaps(
        &mut self,
        item: ShardingItem,
        before: Option<&Ledger>,
        written: &Ledger,
        out: &mut Vec<Command>,
    ) {
        let known = before.into_iter().flat_map(|ledger| &ledger.gaps);
        let mut gaps: Vec<Gap> = known.chain(&written.gaps).copied().collect();
        gaps.sort_by_key(|gap| gap.until);
        for gap in gaps {
            let reported = self.local.gaps_reported.entry(item).or_default();
            if !gap.is_among(reported) {
                reported.push(gap);
                out.push(Command::Emit(JobEvent::Gap { item, gap }));
            }
            let surplus = reported.len().saturating_sub(MAX_GAPS_REPORTED);
            reported.drain(..surplus);
        }
    }

    /// Reports the noted fires of the record that is replaced, if another process noted the last of them: it may have been lost
    /// before it reported that.
    fn report_noted_before(
        &mut self,
        item: ShardingItem,
        noted: Option<FireRange>,
        out: &mut Vec<Command>,
    ) {
        // Not by order: an operator may have set the record back since.
        let unreported = |range: &FireRange| self.told.noted.get(&item) != Some(&range.last);
        let Some(range) = noted.filter(unreported) else { return };
        self.told.noted.insert(item, range.last);
        let config = self.view.config().filter(|_| range.count <= MAX_NOTED_REPORTED);
        let each = config.and_then(|config| {
            let lookup = &self.settings.lookup;
            lookup.exactly(config, (range.first, range.last), range.count)
        });
        let Some(each) = each else {
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting: range }));
            return;
        };
        let mut waiting = FireRange { count: 0, ..range };
        for last in each {
            waiting = FireRange { last, count: waiting.count + 1, ..waiting };
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
    }

    /// Notes what a conflict proves: a node that the plan deletes is gone already, or one that it creates exists.
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

    #[expect(clippy::wildcard_enum_match_arm, reason = "the view decides about all other nodes")]
    fn found_absent(&mut self, plan: &Plan, step: &Step) {
        let Some(node) = step.deleted() else { return };
        match node {
            NodeKind::Running(item) => {
                self.unmarked(plan, *item, |run| run.shows_running = false);
            }
            NodeKind::Failover(item) => {
                self.unmarked(plan, *item, |run| run.shows_failover = false);
            }
            NodeKind::Alive(item) => self.unmarked(plan, *item, |run| run.shows_alive = false),
            NodeKind::Failovering(item) => {
                self.unmarked(plan, *item, |run| run.shows_failovering = false);
            }
            NodeKind::Instance(_) => self.local.maybe_registered = false,
            _ => {}
        }
    }

    fn found_present(&mut self, step: &Step) {
        if step.registers() {
            self.local.maybe_registered = true;
        }
        // Only this instance uses the id, so the request is the one that it sent before without a reply.
        if let Some(id) = step.request_left() {
            self.local.wanted_triggers.remove(id);
        }
    }

    /// Notes that a mark of the run which a plan releases is gone. The reply may come when a later run of the item has begun
    /// here, whose marks are others.
    fn unmarked(&mut self, plan: &Plan, item: ShardingItem, note: impl FnOnce(&mut LocalRun)) {
        let mut records = plan.steps.iter().filter_map(Step::ledger);
        let released = records.find(|(of, _)| *of == item).map(|(_, ledger)| ledger.token);
        let is_it = |run: &LocalRun| Some(run.token) == released;
        if self.local.runs.get(item).is_some_and(is_it) {
            self.local.runs.change(item, note);
        }
    }
}

/// Returns the last fire of a record if it was skipped because the item was disabled.
fn skipped(ledger: &Ledger) -> Option<FireTime> {
    let is_skipped = ledger.is_idle() && ledger.outcome == Some(Outcome::Disabled);
    ledger.last_fire.filter(|_| is_skipped)
}

/// Returns why a request that was taken out of this record without being answered is not run; `None` if it was handed on to a
/// Java instance, which runs it.
fn why_unanswered(before: &Ledger, request: &ManualRequest, retired: bool) -> Option<MissReason> {
    match request.parameter {
        _ if retired => Some(MissReason::ItemRetired),
        _ if before.disabled => Some(MissReason::ItemDisabled),
        Some(_) => Some(MissReason::ParameterNotCarried),
        None => None,
    }
}

/// Returns how long the view may take to show a plan that was committed.
fn wait_for(plan: &Plan) -> Duration {
    if plan.assignment().is_some() { ASSIGNMENT_WAIT } else { SETTLE_WAIT }
}
