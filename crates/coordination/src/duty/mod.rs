//! Duties: responsibilities of an instance. Each is a pure function from the view and the local
//! state to at most one transaction.
//!
//! Each duty with the state in which it acts, its writes and its guards:
//!
//! - **membership**: an instance is connected but not registered, its server is unknown, or it
//!   drains. Writes: `instances`, `servers`, request counter. Guards: session; the term if it
//!   leads.
//! - **election**: no leader exists and this instance is available; or it leads and is not
//!   available. Beside Java instances: in its turn at the latch. Writes: leader node, term, latch
//!   node. Guards: incarnation, term.
//! - **resharding**: leader: the inputs of the assignment changed, or pending items can move. It
//!   announces the resharding to Java instances first. Writes: owners, assignment record,
//!   `necessary`. Guards: term, configuration, request counter, ledger record of each moved item.
//! - **sweep**: leader: the holder of a run is gone. Under a Java leader: each instance for its
//!   own items and those of lost owners. Writes: ledger record → orphan, idle, or running for its
//!   own share; failover queue. Guards: term, ledger record, absent mark (beside Java instances:
//!   reads confirm it); its own share as takeover.
//! - **takeover**: orphaned runs wait and no instance has less load, or they have waited for a
//!   second. Beside Java instances: in its turn at the latch. Writes: ledger record → running,
//!   latch node. Guards: incarnation, server, servers added, configuration, ledger record.
//! - **claim**: owner: a fire or a manual request is due, and its item is idle. Writes: ledger
//!   record → running. Guards: incarnation, server, servers added, configuration, assignment,
//!   owner, ledger record.
//! - **misfire**: owner: a fire meets a busy item; later the item is idle with noted fires.
//!   Writes: ledger record. Guards: as claim.
//! - **release**: holder: its run has ended. Writes: ledger record → idle, or orphan if the run
//!   was cancelled; marks of a fenced run. Guards: ledger record.
//! - **disabling**: leader: an operator disabled or enabled an item, and its record differs.
//!   Writes: ledger record. Guards: term, ledger record, presence of the item's `disabled` node.
//! - **trigger**: an operator requests runs. Writes: requests; leader: ledger records, run
//!   requests to Java instances. Guards: versions of these, term, assignment.
//! - **once**: an instance with callbacks: all items have begun, or ended, a fire. Writes: record
//!   of the calls. Guards: incarnation, record of the calls, assignment.
//! - **cleanup**: leader: queue entries, misfire marks, or nodes of lost Java instances or
//!   retired items are stale. Writes: failover queue, marks, `instances`, `sharding/{i}`. Guards:
//!   term, ledger record, version of the node.
//!
//! Duties never wait, fail, log, read a clock or change anything. Calling one again is harmless.
//! Once the view shows its plan, a duty plans nothing more.

pub(crate) mod claim;
pub(crate) mod cleanup;
pub(crate) mod disabling;
pub(crate) mod election;
pub(crate) mod membership;
pub(crate) mod misfire;
pub(crate) mod once;
pub(crate) mod release;
pub(crate) mod resharding;
#[cfg(test)]
pub(crate) mod scene;
mod static_sharding;
pub(crate) mod sweep;
pub(crate) mod takeover;
pub(crate) mod trigger;
pub(crate) mod unmonitored;

use std::borrow::Cow;
use std::fmt;

use reg_center::{Limits, SessionId, Version};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use crate::coordinator::Settings;
use crate::gap::{Gap, Judgement};
use crate::java;
use crate::local::{Due, Local};
use crate::plan::{Plan, Step};
use crate::start_gate::StartGate;
use crate::view::JobView;
use crate::view::items::{Attention, ItemView};
use crate::{Claimant, FireTime, JobConfig, Ledger, MaxTimeDiff, Now, ServerIp};

/// Maximum number of items in one transaction, whatever the limits of the registry: beyond some
/// hundred items, larger transactions gain nothing.
pub(crate) const MAX_ITEMS_PER_PLAN: usize = 500;
/// Maximum number of operations for one item. A second takeover in the dialect of 3.x needs them
/// all: the record, the queue entry, two leftover marks and four new marks.
const OPS_PER_ITEM: usize = 8;
/// Maximum number of operations of a plan beside those of its items.
const OPS_PER_PLAN: usize = 16;
/// Size of one item in a plan, in bytes: six paths with the longest name of a job, and the record.
/// An item with eight paths takes a quarter more, from the half of the transaction that
/// [`ITEMS_SHARE`] leaves free.
const BYTES_PER_ITEM: usize = 1_600;
/// Divisor of a transaction's bytes: items may take a half. The rest is for the names of instances
/// and ranges of items.
const ITEMS_SHARE: usize = 2;

/// Returns the maximum number of items in one transaction of a registry with these limits, at least
/// 1.
pub(crate) fn items_per_plan(limits: Limits) -> usize {
    let by_ops = limits.max_ops.saturating_sub(OPS_PER_PLAN) / OPS_PER_ITEM;
    let by_bytes = limits.max_bytes / ITEMS_SHARE / BYTES_PER_ITEM;
    by_ops.min(by_bytes).clamp(1, MAX_ITEMS_PER_PLAN)
}

/// A responsibility of an instance. At most one plan per duty is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Duty {
    /// Registers the instance, and removes it in order when it leaves.
    Membership,
    /// Elects one leader.
    Election,
    /// Assigns the items to the available instances.
    Resharding,
    /// Finds runs of lost instances.
    Sweep,
    /// Takes orphaned runs over.
    Takeover,
    /// Claims due items of this instance before they run.
    Claim,
    /// Notes fires that met a busy item, and runs them afterwards.
    Misfire,
    /// Records ended runs.
    Release,
    /// Records which items operators have disabled.
    Disabling,
    /// Passes manual requests on to the items.
    Trigger,
    /// Calls the once-per-cluster callbacks.
    Once,
    /// Removes stale entries of the failover queue and stale marks.
    Cleanup,
}

impl Duty {
    /// All duties, in the order in which they plan.
    pub(crate) const ALL: [Self; 12] = [
        Self::Release,
        Self::Membership,
        Self::Election,
        Self::Disabling,
        Self::Claim,
        Self::Misfire,
        Self::Sweep,
        Self::Takeover,
        Self::Resharding,
        Self::Trigger,
        Self::Once,
        Self::Cleanup,
    ];

    /// Plans the transaction of this duty, if it has something to write now.
    pub(crate) fn plan(self, cx: &Context<'_>) -> Option<Plan> {
        let plain = self.plain();
        if cx.java { java::plan(self, plain, cx) } else { plain(cx) }
    }

    /// Returns the rule without Java instances.
    fn plain(self) -> PlanOf {
        match self {
            Self::Membership => membership::plan,
            Self::Election => election::plan,
            Self::Resharding => resharding::plan,
            Self::Sweep => sweep::plan,
            Self::Takeover => takeover::plan,
            Self::Claim => claim::plan,
            Self::Misfire => misfire::plan,
            Self::Release => release::plan,
            Self::Disabling => disabling::plan,
            Self::Trigger => trigger::plan,
            Self::Once => once::plan,
            Self::Cleanup => cleanup::plan,
        }
    }

    /// Returns true if a plan of this duty decides about all items of an instance, so that the view
    /// must show them all.
    pub(crate) fn names_all_own_items(self) -> bool {
        matches!(self, Self::Trigger | Self::Cleanup)
    }

    /// Returns its name, in lower case: `claim`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Membership => "membership",
            Self::Election => "election",
            Self::Resharding => "resharding",
            Self::Sweep => "sweep",
            Self::Takeover => "takeover",
            Self::Claim => "claim",
            Self::Misfire => "misfire",
            Self::Release => "release",
            Self::Disabling => "disabling",
            Self::Trigger => "trigger",
            Self::Once => "once",
            Self::Cleanup => "cleanup",
        }
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

pub(crate) type PlanOf = fn(&Context<'_>) -> Option<Plan>;

/// Input of a duty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    pub(crate) me: &'a InstanceId,
    /// The session that owns the ephemeral marks of this instance.
    pub(crate) session: Option<SessionId>,
    pub(crate) server: &'a ServerIp,
    pub(crate) view: &'a JobView,
    pub(crate) local: &'a Local,
    pub(crate) strategies: &'a StrategyRegistry,
    pub(crate) settings: &'a Settings,
    /// Java instances are involved: see [`java::is_involved`].
    pub(crate) java: bool,
}

/// An item that this instance owns, with the versions that a claim checks.
pub(crate) struct OwnItem<'a> {
    pub(crate) item: ShardingItem,
    pub(crate) view: &'a ItemView,
    /// The record of the item, with the fires that Java instances account for. A Java leader
    /// creates no records.
    pub(crate) ledger: Cow<'a, Ledger>,
    ledger_version: Option<Version>,
    owner_version: Version,
}

impl<'a> Context<'a> {
    /// Returns whether runs may start in this process now.
    pub(crate) fn start_gate(&self) -> StartGate {
        StartGate::of(self.view, self.local, self.me, self.server)
    }

    /// Returns the configuration if runs may start in this process now.
    pub(crate) fn startable(&self) -> Option<&'a JobConfig> {
        let config = self.view.config()?;
        (self.start_gate() == StartGate::Open).then_some(&**config)
    }

    /// Returns true if the view shows all items. A leader decides only then.
    pub(crate) fn shows_all(&self) -> bool {
        self.view.followed().is_all()
    }

    /// Returns the inputs for finding gaps; `None` while no configuration is known.
    pub(crate) fn judgement(&self) -> Option<Judgement<'a>> {
        Some(Judgement {
            lookup: &self.settings.lookup,
            config: self.view.config()?,
            version: self.view.config_version()?,
            schedules: &self.local.schedules,
            present: FireTime(self.present_ms()),
            mixed: self.java && java::runs_fires(self),
        })
    }

    /// Returns the bound on the difference between an instance's clock and the registry's.
    pub(crate) fn max_time_diff(&self) -> MaxTimeDiff {
        self.view.config().map_or(MaxTimeDiff::Default, |config| config.max_time_diff)
    }

    /// Returns the present time in milliseconds since 1970 UTC, by the registry's clock if that is
    /// known and the job compares clocks.
    pub(crate) fn present_ms(&self) -> i64 {
        self.max_time_diff().present_ms(self.now)
    }

    /// Returns the fire that the schedule has after the due one.
    pub(crate) fn next_of(&self, due: &Due) -> Option<FireTime> {
        self.judgement().and_then(|judgement| judgement.next_after(due.at, due.next).0)
    }

    /// Returns the identity for a claim of this instance; `None` while no configuration is known.
    pub(crate) fn claimant(&self) -> Option<Claimant> {
        let (holder, config) = (self.me.clone(), self.view.config_version()?);
        Some(Claimant { holder, config, now_ms: self.now.wall_ms })
    }

    /// Returns the first changes that fit one transaction; each change is of one item. Parameters
    /// of requests, whose bytes `bytes_of` returns, take the room of further items.
    pub(crate) fn within_one_plan<C>(
        &self,
        changes: impl Iterator<Item = C>,
        bytes_of: impl Fn(&C) -> usize,
    ) -> impl Iterator<Item = C> {
        let most = self.settings.items_per_plan;
        let mut taken = 0;
        changes.take_while(move |change| {
            let is_first = taken == 0;
            taken += 1 + bytes_of(change).div_ceil(BYTES_PER_ITEM);
            // The first change always fits, however long its parameter is.
            is_first || taken <= most
        })
    }

    /// Returns the items that this instance may claim, if their records are known and have not
    /// settled this fire.
    pub(crate) fn claimable_for(&self, fire: FireTime) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.unsettled_items(fire))
    }

    /// Returns the items that this instance may claim, if their records are known.
    pub(crate) fn claimable_items(&self) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.items())
    }

    /// Returns the items that this instance may claim and that need attention for this reason, if
    /// their records are known.
    pub(crate) fn claimable_with(&self, attention: Attention) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.items_with(attention))
    }

    fn claimable(
        &self,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let mine = self.view.claimable_by(self.me, items);
        mine.filter_map(|(item, view)| self.own_item(item, view))
    }

    /// Returns the items whose fires this instance accounts for. Their records are known and have
    /// not settled this fire, and the items are not at rest.
    pub(crate) fn restless_accounted_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let unsettled = self.view.restless_unsettled_items(fire);
        let mine = self.view.accounted_by(self.me, unsettled);
        mine.filter_map(|(item, view)| self.own_item(item, view))
    }

    /// Returns the last fire that gaps of a record report as missed. It stays missed if a retired
    /// item comes back. A fire in the future comes from a wrong clock and is ignored.
    pub(crate) fn last_missed(&self, ledger: &Ledger) -> Option<FireTime> {
        let horizon = self.max_time_diff().horizon_ms(self.present_ms());
        ledger.last_in_gap().filter(|fire| fire.0 <= horizon)
    }

    /// Returns true if a run of the item can be queued for a takeover.
    pub(crate) fn can_be_queued(&self, ledger: &Ledger) -> bool {
        !self.java || java::can_be_queued(self, ledger)
    }

    /// Returns an item of this instance with its versions, if its record is known.
    fn own_item(&self, item: ShardingItem, view: &'a ItemView) -> Option<OwnItem<'a>> {
        let ledger = match self.java {
            true => java::record_of(self, item, view)?,
            false => Cow::Borrowed(&view.ledger.as_ref()?.value),
        };
        let ledger_version = view.ledger.as_ref().map(|ledger| ledger.version);
        let owner_version = view.owner.as_ref()?.version;
        Some(OwnItem { item, view, ledger, ledger_version, owner_version })
    }
}

/// Returns the size of the request parameters in the records of these steps, in bytes.
pub(crate) fn parameter_bytes(steps: &[Step]) -> usize {
    steps.iter().filter_map(Step::ledger).map(|(_, ledger)| ledger.parameter_bytes()).sum()
}

/// Finder of the gaps of items. Most items of a plan have the same gaps, so that the last lookup is
/// kept.
struct GapJudge<'a> {
    judgement: Judgement<'a>,
    last_gaps: Option<(GapInput, Vec<Gap>)>,
    last_next: Option<(NextInput, (Option<FireTime>, Version))>,
}

/// Last fire that a record accounts for, the fire that it owes next, and the fire that is accounted
/// for now.
type GapInput = (Option<FireTime>, (Option<FireTime>, Option<Version>), FireTime);

/// Fire that is accounted for now, and the next fire of its schedule if that is known.
type NextInput = (FireTime, Option<FireTime>);

impl<'a> GapJudge<'a> {
    fn of(cx: &Context<'a>) -> Option<Self> {
        Some(Self { judgement: cx.judgement()?, last_gaps: None, last_next: None })
    }

    /// Returns the next record of an item with the gap that it proves: the scheduled fires between
    /// the last fires that the former record and this one account for.
    fn accounted(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        // Only a record that accounts for a later fire than before proves a gap.
        let settled = after.settled_until().filter(|fire| Some(*fire) > before.settled_until());
        let Some(until) = settled else { return after };
        let gaps = self.gaps(before, until);
        let (next, config) = self.next_after(until, after.next_fire);
        let reported = cx.local.gaps_reported.get(&item).map_or(&[][..], |gaps| gaps);
        after.followed_by(next, config).with_gaps(gaps, reported)
    }

    /// Returns the record of a retired item, with the fires that no run accounts for: the fires
    /// since the last one accounted for, and the noted misfires, which are dropped.
    fn retired(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        // Java instances may have run the fires that seem missing.
        if self.judgement.mixed {
            return after;
        }
        let reported = cx.local.gaps_reported.get(&item).map_or(&[][..], |gaps| gaps);
        // A retired item never runs its noted misfires, so they are missed.
        let dropped = before.misfire.map(|noted| Gap {
            first: noted.first,
            until: FireTime(noted.last.0.saturating_add(1)),
            count: Some(noted.count),
            config: before.next_owed().1,
            changed_to: None,
        });
        let present = cx.present_ms();
        // A fire in the future comes from a wrong clock.
        let horizon = cx.max_time_diff().horizon_ms(present);
        let seen = cx.local.last_fire_seen.filter(|seen| seen.0 <= horizon);
        let last = seen.map_or(present, |FireTime(seen)| seen.max(present));
        let open = self.gaps(before, FireTime(last.saturating_add(1)));
        after.with_gaps(dropped.into_iter().chain(open), reported)
    }

    /// Returns the gaps between the last fire that a record accounts for and `until`.
    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
        let input = (before.settled_until(), before.next_owed(), until);
        if let Some((_, gaps)) = self.last_gaps.as_ref().filter(|(last, _)| *last == input) {
            return gaps.clone();
        }
        let (settled, owed, until) = input;
        let found = self.judgement.gaps(settled, owed, until);
        let counted: Vec<_> = found.into_iter().map(|gap| self.judgement.counted(gap)).collect();
        self.last_gaps = Some((input, counted.clone()));
        counted
    }

    fn next_after(
        &mut self,
        fire: FireTime,
        known: Option<FireTime>,
    ) -> (Option<FireTime>, Version) {
        let input = (fire, known);
        if let Some((_, next)) = self.last_next.filter(|(last, _)| *last == input) {
            return next;
        }
        let next = self.judgement.next_after(fire, known);
        self.last_next = Some((input, next));
        next
    }
}

/// Plans to change the records of items as their owner. `next` returns the new record, or `None` if
/// the item stays as it is.
fn change_items<'a>(
    duty: Duty,
    cx: &Context<'a>,
    reason: &str,
    items: impl Iterator<Item = OwnItem<'a>>,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let mut judge = GapJudge::of(cx)?;
    let changes = items.filter_map(|own| {
        let next = judge.accounted(cx, own.item, &own.ledger, next(&own)?);
        Some(own.change_to(next))
    });
    let steps = cx.within_one_plan(changes, |steps| parameter_bytes(steps)).flatten();
    Plan::as_owner(duty, cx, reason)?.steps(steps).if_any()
}

impl OwnItem<'_> {
    /// Returns true if neither the record, nor a mark, nor this process shows a run of the item.
    /// The mark of an instance that is gone blocks the item until its session ends.
    pub(crate) fn is_free(&self, local: &Local) -> bool {
        let runs_here = local.runs.has(self.item);
        self.ledger.is_idle() && !self.view.running && !runs_here
    }

    /// Returns the steps that change the item's record to `next`, as its owner.
    pub(crate) fn change_to(&self, next: Ledger) -> Vec<Step> {
        let item = self.item;
        let was_running = self.ledger.running().is_some();
        let holder = next.running().map(|run| run.holder.clone());
        let has_misfire = next.misfire.is_some();
        // The owner check makes the write conflict if the item has moved since.
        let mut steps = vec![
            Step::owner_unchanged(item, self.owner_version),
            Step::set_ledger(item, self.ledger_version, next),
        ];
        if !was_running && let Some(holder) = holder {
            steps.push(Step::mark_running(item, holder));
        }
        if self.view.misfire && !has_misfire {
            steps.push(Step::unmark_misfire(item));
        }
        if !self.view.misfire && has_misfire {
            steps.push(Step::mark_misfire(item));
        }
        steps
    }
}
