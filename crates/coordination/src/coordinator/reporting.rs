//! Reporting: reports each fact about fires and items, even if the instance that knew it was lost.

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::duty::claim::held_back;
use crate::duty::own_item::OwnItem;
use crate::gap::MAX_GAPS;
use crate::local::fires::MissedFire;
use crate::{
    Command, Duty, FencingToken, FireRange, FireTime, Gap, JobConfig, JobEvent, Ledger,
    LedgerState, ManualRequest, MissReason, Now, Outcome, Run, RunSource, Slot,
};
use reg_center::Version;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of noted fires of a lost process that are reported one by one for an item. One
/// event reports a longer range, so that a step of the coordinator stays bounded.
const MAX_NOTED_REPORTED: u32 = 100;

/// Maximum number of reported gaps that a process remembers per item: those of the record before
/// its last write and those after it.
const MAX_GAPS_REPORTED: usize = 2 * MAX_GAPS;

/// The facts that were reported last, so that each fact is reported once.
#[derive(Debug, Default)]
pub(super) struct AlreadyReported {
    pub(super) config: Option<Arc<JobConfig>>,
    pub(super) config_fault: Option<String>,
    pub(super) strategy_fault: Option<String>,
    pub(super) leads: Option<Version>,
    pub(super) left: bool,
    /// Lead of this clock over the registry's, in milliseconds, if that exceeds the bound.
    pub(super) clock_differs_by: Option<i64>,
    pub(super) leave_requested: bool,
    /// Orphaned runs have waited so long that any instance may take them over.
    pub(super) patience_over: bool,
    /// The last fire of each item that this process reported as noted.
    pub(super) noted: BTreeMap<ShardingItem, FireTime>,
    /// The last fire of each item that this process reported as skipped, because the item was
    /// disabled.
    pub(super) skipped: BTreeMap<ShardingItem, FireTime>,
    /// The last run of each item that this process reported as cancelled.
    pub(super) cancelled: BTreeMap<ShardingItem, FencingToken>,
    /// The requests in the registry that this process reported as dropped.
    pub(super) dropped: BTreeSet<String>,
}

/// A run whose end is reported.
pub(super) struct EndedRun {
    pub(super) holder: InstanceId,
    pub(super) fire: FireTime,
    pub(super) source: RunSource,
}

impl EndedRun {
    fn of(run: &Run) -> Self {
        Self { holder: run.holder.clone(), fire: run.fire, source: run.source }
    }
}

impl Coordinator {
    /// Reports the facts that follow from a ledger record that this instance has written.
    ///
    /// `before` is the record that it replaced, if the view showed it.
    pub(super) fn report_record(
        &mut self,
        item: ShardingItem,
        before: Option<&Ledger>,
        written: &Ledger,
        out: &mut Vec<Command>,
    ) {
        self.report_orphaned(item, before, written, out);
        if let Some(run) = before.and_then(Ledger::run) {
            self.report_cancelled(item, EndedRun::of(run), written, out);
        }
        let noted = before.and_then(|ledger| ledger.misfire);
        self.report_noted_before(item, before, out);
        // The start of a queued fire notes none.
        if let Some(waiting) = written.misfire
            && noted.is_none_or(|noted| noted.last != waiting.last)
        {
            self.reported.noted.insert(item, waiting.last);
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
        self.report_gaps(item, before, written, out);
        let Some(before) = before else { return };
        self.report_skipped(item, before, written, out);
        report_dropped(item, before, written, out);
    }

    /// Reports a run of a lost instance that this record has ended.
    fn report_orphaned(
        &self,
        item: ShardingItem,
        before: Option<&Ledger>,
        written: &Ledger,
        out: &mut Vec<Command>,
    ) {
        let Some(run) = before.and_then(Ledger::running) else { return };
        let next = written.running().map(|run| &run.holder);
        if Some(&run.holder) == self.me.as_ref() || Some(&run.holder) == next {
            return;
        }
        // A claim of this instance always ends the run of a lost holder. Any other write does so
        // only if no run of the item is local.
        let is_begun = next.is_some() && next == self.me.as_ref();
        if is_begun || !self.local.runs.has(item) {
            out.push(Command::Emit(JobEvent::Orphaned {
                item: Slot::of(item).item,
                fire: run.fire,
                holder: run.holder.clone(),
                failover: written.is_busy(),
            }));
        }
    }

    /// Reports the end of a run if the record shows that it was cancelled, once.
    ///
    /// Its holder reports it by the view, so that the report does not depend on a reply.
    pub(super) fn report_cancelled(
        &mut self,
        item: ShardingItem,
        run: EndedRun,
        ended: &Ledger,
        out: &mut Vec<Command>,
    ) {
        let is_cancelled = !ended.is_busy() && ended.outcome == Some(Outcome::Cancelled);
        let Some(request) = ended.cancel_request().filter(|_| is_cancelled) else { return };
        let token = request.token();
        if self.reported.cancelled.insert(item, token) != Some(token) {
            let EndedRun { holder, fire, source } = run;
            let (by, why) = (request.by().to_owned(), request.why().to_owned());
            let item = Slot::of(item).item;
            let event = JobEvent::Cancelled { item, fire, source, holder, token, by, why };
            out.push(Command::Emit(event));
        }
    }

    /// Reports the fires that both records skipped because the item was disabled.
    ///
    /// The writer of the former record may have been lost before its report.
    fn report_skipped(
        &mut self,
        item: ShardingItem,
        before: &Ledger,
        written: &Ledger,
        out: &mut Vec<Command>,
    ) {
        for fire in [before, written].into_iter().filter_map(skipped) {
            // Not by order: an operator may have set the record back since.
            if self.reported.skipped.get(&item) != Some(&fire) {
                self.reported.skipped.insert(item, fire);
                out.push(missed(item, fire, MissReason::ItemDisabled));
            }
        }
    }

    /// Reports the gaps of both records that this process has not reported yet.
    ///
    /// The instance that found a gap may have been lost before its report, or its commit may have
    /// had an unknown outcome.
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
            let reported = self.local.fires.gaps_reported.entry(item).or_default();
            if !gap.is_among(reported) {
                reported.push(gap);
                out.push(Command::Emit(JobEvent::Gap { item, gap }));
            }
            let surplus = reported.len().saturating_sub(MAX_GAPS_REPORTED);
            reported.drain(..surplus);
        }
    }

    /// Reports the noted fires of the replaced record, if another process noted the last of them.
    /// That process may have been lost before its report.
    fn report_noted_before(
        &mut self,
        item: ShardingItem,
        before: Option<&Ledger>,
        out: &mut Vec<Command>,
    ) {
        let Some(before) = before else { return };
        // Not by order: an operator may have set the record back since.
        let unreported = |range: &FireRange| self.reported.noted.get(&item) != Some(&range.last);
        let Some(range) = before.misfire.filter(unreported) else { return };
        self.reported.noted.insert(item, range.last);
        let queued = Some(before.queued.clone()).filter(|queued| !queued.is_empty());
        let Some(fires) = queued.or_else(|| self.fires_to_report(range)) else {
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting: range }));
            return;
        };
        let mut waiting = FireRange { count: 0, ..range };
        for last in fires {
            waiting = FireRange { last, count: waiting.count + 1, ..waiting };
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
    }

    /// Returns the fires of a range that are reported one by one. `None` if they are too many, or
    /// if the present schedule has other fires.
    fn fires_to_report(&self, range: FireRange) -> Option<Vec<FireTime>> {
        if range.count > MAX_NOTED_REPORTED {
            return None;
        }
        let config = self.view.config()?;
        self.settings.lookup.exactly(config, (range.first, range.last), range.count)
    }

    /// Reports a fire that this instance misses because its clock is wrong.
    pub(super) fn miss_by_clock(&mut self, fire: FireTime, out: &mut Vec<Command>) {
        let reason = MissReason::ClockDiffers;
        out.push(Command::Emit(JobEvent::Missed { item: None, fire, reason }));
    }

    /// Returns the reason for a missed fire. An outage of the registry that reaches the fire is a
    /// better explanation than `Superseded`.
    fn with_outage(&self, reason: MissReason, fire: FireTime) -> MissReason {
        let reaching = self.outage.filter(|outage| outage.reaches(fire));
        match (reason, reaching) {
            (MissReason::Superseded, Some(outage)) => MissReason::RegistryUnreachable(outage),
            _ => reason,
        }
    }

    /// Reports a fire that this instance misses with all its items.
    pub(super) fn miss_with_all_items(
        &mut self,
        fire: FireTime,
        reason: MissReason,
        out: &mut Vec<Command>,
    ) {
        out.push(Command::Emit(JobEvent::Missed { item: None, fire, reason }));
        let mine = self.me.iter().flat_map(|me| self.view.accounted_by(me, self.view.items()));
        let reported = mine.map(|(item, _)| item).collect();
        self.local.fires.missed_by_all = Some(MissedFire { at: fire, reason, reported });
    }

    /// Ends the present fire and reports the items for which no instance has claimed it.
    pub(super) fn report_unclaimed(
        &mut self,
        now: Now,
        reason: MissReason,
        out: &mut Vec<Command>,
    ) {
        if let Some(missed) = self.local.fires.missed_by_all.take() {
            self.report_unsettled(now, &missed, out);
        }
        let Some(due) = self.local.fires.due.take() else { return };
        // A claim in flight may still take the fire, so its miss is not certain.
        if !self.in_flight.contains_key(&Duty::Claim) {
            let reason = self.with_outage(reason, due.at);
            let missed = MissedFire { at: due.at, reason, reported: BTreeSet::new() };
            self.report_unsettled(now, &missed, out);
        }
    }

    /// Reports the items of this instance that have not settled a fire, except those reported
    /// before. The reason of the fire holds for each item that has no reason of its own.
    fn report_unsettled(&self, now: Now, missed_fire: &MissedFire, out: &mut Vec<Command>) {
        let MissedFire { at: fire, reason: reason_of_fire, reported } = missed_fire;
        let (Some(me), Some(config)) = (&self.me, self.view.config()) else { return };
        if !config.monitor_execution {
            return;
        }
        let cx = self.context(now, me);
        let held_back = LazyCell::new(|| held_back(&cx, *fire));
        for OwnItem { item, view, ledger, .. } in cx.accounted_for(*fire) {
            // A job that catches up runs this fire later.
            let catches_up =
                config.catch_up.is_some() && ledger.owes_after().is_some_and(|since| since < *fire);
            if reported.contains(&item) || catches_up {
                continue;
            }
            // The end of a run here may not have reached the registry.
            let has_ended = self.local.runs.get(item).is_some_and(|run| run.outcome.is_some());
            let still_runs = view.is_busy() && !config.misfire && !has_ended;
            let is_full = config.queue_limit().is_some_and(|max| ledger.is_queue_full(max));
            let is_held_back =
                *reason_of_fire == MissReason::Superseded && held_back.contains(&item);
            let reason = match (still_runs, is_full) {
                (true, _) => MissReason::StillRunning,
                (false, true) => MissReason::QueueFull,
                (false, false) if is_held_back => MissReason::LimitReached,
                (false, false) => *reason_of_fire,
            };
            out.push(missed(item, *fire, reason));
        }
    }

    /// Reports a fire of an unmonitored job whose owners were not known in time.
    pub(super) fn report_unstarted(&mut self, reason: MissReason, out: &mut Vec<Command>) {
        if let Some(fire) = self.local.fires.unmonitored.take() {
            let reason = self.with_outage(reason, fire);
            out.push(Command::Emit(JobEvent::Missed { item: None, fire, reason }));
        }
    }
}

/// Returns the last fire of a record, if it was skipped because the item was disabled.
fn skipped(ledger: &Ledger) -> Option<FireTime> {
    let is_skipped = ledger.is_idle() && ledger.outcome == Some(Outcome::Disabled);
    if is_skipped { ledger.last_fire } else { None }
}

fn missed(item: ShardingItem, fire: FireTime, reason: MissReason) -> Command {
    Command::Emit(JobEvent::Missed { item: Some(item), fire, reason })
}

/// Reports the noted fires of an item that was retired, and a request that left the record without
/// a run.
fn report_dropped(item: ShardingItem, before: &Ledger, written: &Ledger, out: &mut Vec<Command>) {
    let retired = written.state == LedgerState::Retired && before.state != written.state;
    if retired && let Some(range) = before.misfire {
        out.push(missed(item, range.last, MissReason::ItemRetired));
    }
    let answered = written
        .running()
        .is_some_and(|run| matches!(run.source, RunSource::Manual | RunSource::Backfill));
    if answered || written.request.is_some() {
        return;
    }
    if let Some(request) = &before.request
        && let Some(reason) = why_unanswered(before, request, retired)
    {
        out.push(missed(item, request.at, reason));
    }
}

/// Returns the reason why a request left this record without a run. `None` if a Java instance got
/// the request and runs it.
fn why_unanswered(before: &Ledger, request: &ManualRequest, retired: bool) -> Option<MissReason> {
    if retired {
        return Some(MissReason::ItemRetired);
    }
    if before.disabled {
        return Some(MissReason::ItemDisabled);
    }
    request.parameter.as_ref().map(|_| MissReason::ParameterNotCarried)
}
