//! The duties: what an instance is responsible for, each a pure function from what it knows to the transaction it
//! wants, or nothing.
//!
//! | duty | acts when | writes | guarded by |
//! |---|---|---|---|
//! | membership | connected and not registered; server unknown; draining; drained | `instances`, `servers`, request counter | the session, the term if I lead |
//! | election | nobody leads and I am available, and it is my turn where Java instances are; I lead and should not | leader node and term, a place in line | my life, the term |
//! | resharding | I lead and the inputs of the assignment changed, or items can follow now; Java instances are told before, until all is written | owners, assignment record, `necessary` | term, configuration, request counter, ledger of every moving item |
//! | sweep | I lead, or a Java instance does and the item is mine or nobody's, and a run's holder is gone, and its mark; a Java instance that has taken an orphan over is gone | ledger → orphan, or idle if nobody takes over; the queue; → running, for its own part of the orphans | term, ledger, no mark (beside Java instances: holder and mark seen gone); for its own part as takeover |
//! | takeover | orphans wait and nobody has less to do than I, or they have waited for a second; and it is my turn where Java instances are | ledger → running, a place in line | my life, server, servers added, configuration, ledger |
//! | claim | a fire or request is due and items of mine are idle | ledger → running | my life, server, servers added, configuration, assignment, owner, ledger |
//! | misfire | a fire is due and items of mine are busy; later: idle with noted fires | ledger | as claim |
//! | release | a run of mine has ended | ledger → idle, or orphan if it was cancelled; marks of a run that its record no longer shows | ledger |
//! | disabling | I lead and an item's record does not say what its node says about being disabled | ledger | term, ledger, the node's presence |
//! | trigger | an operator wants a run | requests; as the leader: ledger of the items, and what asks Java instances | their versions, the term, the assignment |
//! | once | I call back, and all items have begun, or ended, a fire | the record of calls | my life, the record, the assignment, every ledger |
//! | cleanup | I lead and an item is queued that nobody has to take over, or shown as misfired without being; a Java instance has left its node behind; Java instances would see an item that is no more | queue, marks, `instances`, `sharding/{i}` | the term, ledger, the node's version |
//!
//! Duties never wait, fail, log, read a clock or change anything. Calling one again is harmless, and once its plan is
//! visible in the view it wants nothing more.

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

/// How many items one transaction takes at most, whatever the registry takes: beyond some hundred, larger ones gain
/// nothing.
pub(crate) const MAX_ITEMS_PER_PLAN: usize = 500;
/// The operations that a plan needs for an item at most: its record, its place in the queue, two marks that were left behind, four
/// new ones (a run that was taken over before is taken over at once, in the dialect of 3.x).
const OPS_PER_ITEM: usize = 8;
/// The operations that a plan needs beside those of its items, at most.
const OPS_PER_PLAN: usize = 16;
/// The bytes that an item takes in a plan: six paths with the longest name of a job, and its record. What needs eight takes a quarter
/// more, of the room that is left for the rest.
const BYTES_PER_ITEM: usize = 1_600;
/// The share of a transaction's bytes that items may take; the rest is for what names members and ranges of items.
const ITEMS_SHARE: usize = 2;

/// Returns how many items one transaction takes in a registry with these limits, at least 1.
pub(crate) fn items_per_plan(limits: Limits) -> usize {
    let by_ops = limits.max_ops.saturating_sub(OPS_PER_PLAN) / OPS_PER_ITEM;
    let by_bytes = limits.max_bytes / ITEMS_SHARE / BYTES_PER_ITEM;
    by_ops.min(by_bytes).clamp(1, MAX_ITEMS_PER_PLAN)
}

/// A responsibility of an instance. At most one plan per duty is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Duty {
    /// To be registered while taking part, and to leave in order.
    Membership,
    /// That there is one leader.
    Election,
    /// That the assignment fits the available instances.
    Resharding,
    /// That runs of lost instances are found.
    Sweep,
    /// That what was left unfinished is run again.
    Takeover,
    /// That due items of this instance are claimed before they run.
    Claim,
    /// That fires that met a running item are run afterwards.
    Misfire,
    /// That ended runs are recorded.
    Release,
    /// That the records of items say which ones operators have disabled.
    Disabling,
    /// That an operator's request reaches the items.
    Trigger,
    /// That what happens once per cluster and fire happens.
    Once,
    /// That nothing stale stays in the failover queue or shown.
    Cleanup,
}

impl Duty {
    /// All duties, in the order in which they are asked.
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

    /// Decides the transaction that this duty wants now, if any.
    pub(crate) fn plan(self, cx: &Context<'_>) -> Option<Plan> {
        let plain = self.plain();
        if cx.java { java::plan(self, plain, cx) } else { plain(cx) }
    }

    /// Returns the rule among instances of this project alone.
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

    /// Returns true if it says for all items of an instance what becomes of them, so that the view has to show all of these.
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

/// Everything that a duty may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    pub(crate) me: &'a InstanceId,
    /// The session that the ephemeral marks of this instance go with.
    pub(crate) session: Option<SessionId>,
    pub(crate) server: &'a ServerIp,
    pub(crate) view: &'a JobView,
    pub(crate) local: &'a Local,
    pub(crate) strategies: &'a StrategyRegistry,
    pub(crate) settings: &'a Settings,
    /// Java instances are involved: see [`java::is_involved`].
    pub(crate) java: bool,
}

/// An item that this instance owns, with everything needed to claim it.
pub(crate) struct OwnItem<'a> {
    pub(crate) item: ShardingItem,
    pub(crate) view: &'a ItemView,
    /// Its record, with what Java instances have accounted for. A Java leader makes none.
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

    /// Returns true if the view shows all items: whoever leads decides by nothing less.
    pub(crate) fn shows_all(&self) -> bool {
        self.view.followed().is_all()
    }

    /// Returns by what gaps are judged; `None` while no configuration is known.
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

    /// Returns the present time in milliseconds since 1970 UTC, by the registry's clock if it is known and compared.
    pub(crate) fn present_ms(&self) -> i64 {
        self.max_time_diff().present_ms(self.now)
    }

    /// Returns what the schedule has after the fire that is due.
    pub(crate) fn next_of(&self, due: &Due) -> Option<FireTime> {
        self.judgement().and_then(|judgement| judgement.next_after(due.at, due.next).0)
    }

    /// Returns who claims here now; `None` while no configuration is known.
    pub(crate) fn claimant(&self) -> Option<Claimant> {
        let (holder, config) = (self.me.clone(), self.view.config_version()?);
        Some(Claimant { holder, config, now_ms: self.now.wall_ms })
    }

    /// Returns the first of these changes, each of one item, as many as fit into one transaction; what operators tell runs takes
    /// the room of further items.
    pub(crate) fn within_one_plan<C>(
        &self,
        changes: impl Iterator<Item = C>,
        bytes_told: impl Fn(&C) -> usize,
    ) -> impl Iterator<Item = C> {
        let most = self.settings.items_per_plan;
        let mut taken = 0;
        changes.take_while(move |change| {
            let is_first = taken == 0;
            taken += 1 + bytes_told(change).div_ceil(BYTES_PER_ITEM);
            is_first || taken <= most
        })
    }

    /// Returns the items that this instance may claim, if their records are known and have not settled this fire.
    pub(crate) fn claimable_for(&self, fire: FireTime) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.unsettled_items(fire))
    }

    /// Returns the items that this instance may claim, if their records are known.
    pub(crate) fn claimable_items(&self) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.items())
    }

    /// Returns those of them that have a sign.
    pub(crate) fn claimable_with(&self, sign: Attention) -> impl Iterator<Item = OwnItem<'a>> {
        self.claimable(self.view.items_with(sign))
    }

    fn claimable(
        &self,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let mine = self.view.claimable_by(self.me, items);
        mine.filter_map(|(item, view)| self.own_item(item, view))
    }

    /// Returns the items whose fires this instance accounts for, if their records are known, they are not at rest and have not settled
    /// this fire.
    pub(crate) fn restless_accounted_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let unsettled = self.view.restless_unsettled_items(fire);
        let mine = self.view.accounted_by(self.me, unsettled);
        mine.filter_map(|(item, view)| self.own_item(item, view))
    }

    /// Returns the last fire that gaps of a record have reported as missed: it stays missed if a retired item comes back. A fire
    /// of the future comes from a wrong clock.
    pub(crate) fn last_missed(&self, ledger: &Ledger) -> Option<FireTime> {
        let horizon = self.max_time_diff().horizon_ms(self.present_ms());
        ledger.last_in_gap().filter(|fire| fire.0 <= horizon)
    }

    /// Returns true if a run of the item can be queued for a takeover.
    pub(crate) fn can_be_queued(&self, ledger: &Ledger) -> bool {
        !self.java || java::can_be_queued(self, ledger)
    }

    /// Returns an item of this instance, if its record is known.
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

/// Returns how many bytes of the records in these steps are what operators tell runs, at most.
pub(crate) fn parameter_bytes(steps: &[Step]) -> usize {
    steps.iter().filter_map(Step::ledger).map(|(_, ledger)| ledger.parameter_bytes()).sum()
}

/// Finds the gaps of items. Most items of a plan have the same ones, which are looked up once.
struct GapJudge<'a> {
    judgement: Judgement<'a>,
    last_gaps: Option<(GapInput, Vec<Gap>)>,
    last_next: Option<(NextInput, (Option<FireTime>, Version))>,
}

/// The last fire that a record accounts for, what it owes next, and the fire that is accounted for now.
type GapInput = (Option<FireTime>, (Option<FireTime>, Option<Version>), FireTime);

/// The fire that is accounted for now, and what its schedule has next if that is known.
type NextInput = (FireTime, Option<FireTime>);

impl<'a> GapJudge<'a> {
    fn of(cx: &Context<'a>) -> Option<Self> {
        Some(Self { judgement: cx.judgement()?, last_gaps: None, last_next: None })
    }

    /// Returns the next record of an item with the gap that it proves: what the schedule has between the last fire that the former
    /// record accounts for and the one that this one does.
    fn accounted(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        let settled = after.settled_until().filter(|fire| Some(*fire) > before.settled_until());
        let Some(until) = settled else { return after };
        let gaps = self.gaps(before, until);
        let (next, config) = self.next_after(until, after.next_fire);
        let reported = cx.local.gaps_reported.get(&item).map_or(&[][..], |gaps| gaps);
        after.followed_by(next, config).with_gaps(gaps, reported)
    }

    /// Returns the record of an item that is retired now, with the fires that nothing accounts for: those since the last one that
    /// is accounted for, and those that were noted and are dropped.
    fn retired(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        if self.judgement.mixed {
            return after;
        }
        let reported = cx.local.gaps_reported.get(&item).map_or(&[][..], |gaps| gaps);
        let dropped = before.misfire.map(|noted| Gap {
            first: noted.first,
            until: FireTime(noted.last.0.saturating_add(1)),
            count: Some(noted.count),
            config: before.next_owed().1,
            changed_to: None,
        });
        let present = cx.present_ms();
        // A fire of the future comes from a wrong clock.
        let horizon = cx.max_time_diff().horizon_ms(present);
        let seen = cx.local.last_fire_seen.filter(|seen| seen.0 <= horizon);
        let until = seen.map_or(present, |FireTime(seen)| seen.max(present));
        let until = FireTime(until.saturating_add(1));
        let open = self.gaps(before, until);
        after.with_gaps(dropped.into_iter().chain(open), reported)
    }

    /// Returns the gaps between the last fire that a record accounts for and another one.
    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
        let input = (before.settled_until(), before.next_owed(), until);
        if let Some((_, gaps)) = self.last_gaps.as_ref().filter(|(last, _)| *last == input) {
            return gaps.clone();
        }
        let (settled, owed, until) = input;
        let gaps = self.judgement.gaps(settled, owed, until);
        let gaps: Vec<_> = gaps.into_iter().map(|gap| self.judgement.counted(gap)).collect();
        self.last_gaps = Some((input, gaps.clone()));
        gaps
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

/// Plans to change the records of items as their owner; `next` says to what, or that an item stays as it is.
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
    /// Returns true if nothing runs the item, as far as this instance can see.
    pub(crate) fn is_free(&self, local: &Local) -> bool {
        let runs_here = local.runs.has(self.item);
        self.ledger.is_idle() && !self.view.running && !runs_here
    }

    /// Returns the steps that change the item's record to `next`, as its owner.
    pub(crate) fn change_to(&self, next: Ledger) -> Vec<Step> {
        let item = self.item;
        let was_running = self.ledger.running().is_some();
        let starts = next.running().filter(|_| !was_running).map(|run| run.holder.clone());
        let clears_misfire = self.view.misfire && next.misfire.is_none();
        let shows_misfire = !self.view.misfire && next.misfire.is_some();
        let mut steps = vec![
            Step::owner_unchanged(item, self.owner_version),
            Step::set_ledger(item, self.ledger_version, next),
        ];
        steps.extend(starts.map(|holder| Step::mark_running(item, holder)));
        steps.extend(clears_misfire.then(|| Step::unmark_misfire(item)));
        steps.extend(shows_misfire.then(|| Step::mark_misfire(item)));
        steps
    }
}
