//! Items that this instance owns, and changes of their records.

use crate::duty::Context;
use crate::duty::context::parameter_bytes;
use crate::duty::gap_judge::GapJudge;
use crate::duty::limits::Limits;
use crate::java::records::Records;
use crate::local::Local;
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};
use crate::{Duty, FireTime, JobName, Ledger};
use reg_center::Version;
use sharding::ShardingItem;
use std::borrow::Cow;

/// An item whose record this instance may change: it owns the item, or it is the next owner of an
/// item of a lost owner. With the versions that the write checks.
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
        self.own_items(self.view.claimable_by(self.me, items))
    }

    /// Returns the items whose fires this instance accounts for. Their records are known and have
    /// not settled this fire, and the items are not at rest.
    pub(crate) fn restless_accounted_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let unsettled = self.view.restless_unsettled_items(fire);
        self.own_items(self.view.accounted_by(self.me, unsettled))
    }

    /// Returns the items whose records are known, with their versions.
    fn own_items(
        &self,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let records = Records::of(self.view, &self.local.java);
        items.filter_map(move |(item, view)| self.own_item(records, item, view))
    }

    /// Returns an item with its versions, if its record is known.
    fn own_item(
        &self,
        records: Records<'_>,
        item: ShardingItem,
        view: &'a ItemView,
    ) -> Option<OwnItem<'a>> {
        let ledger = records.record_of(item, view, |ledger| self.last_missed(ledger))?;
        let ledger_version = view.ledger.as_ref().map(|ledger| ledger.version);
        let owner_version = view.owner.as_ref()?.version;
        Some(OwnItem { item, view, ledger, ledger_version, owner_version })
    }
}

/// Plans to change the records of these items. `next` returns the new record, or `None` if the item
/// stays as it is.
pub(super) fn change_items<'a>(
    duty: Duty,
    cx: &Context<'a>,
    reason: &str,
    items: impl Iterator<Item = OwnItem<'a>>,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let mut judge = GapJudge::of(cx)?;
    let mut limits = Limits::of(cx);
    let job = cx.view.layout().job();
    let changes = in_turn(items, limits.are_any()).filter_map(|own| {
        let next = next(&own)?;
        let begins = own.ledger.running().is_none() && next.running().is_some();
        let next = if begins { limits.grant(next)? } else { next };
        let next = judge.accounted(cx, own.item, &own.ledger, next);
        Some(own.change_to(&job, next))
    });
    let steps = cx.within_one_plan(changes, |steps| parameter_bytes(steps)).flatten().collect();
    Plan::as_owner(duty, cx, reason)?.steps(limits.recorded(cx, steps)).if_any()
}

/// Returns the items in the order in which they begin. If permits or starts are scarce, the item
/// that has waited longest is the first one, or items with low numbers would starve the others.
fn in_turn<'a>(
    items: impl Iterator<Item = OwnItem<'a>>,
    are_limited: bool,
) -> impl Iterator<Item = OwnItem<'a>> {
    let (in_order, waiting) = if are_limited {
        let mut waiting: Vec<_> = items.collect();
        waiting.sort_by_key(|own| (own.ledger.last_fire, own.item));
        (None, waiting)
    } else {
        (Some(items), Vec::new())
    };
    in_order.into_iter().flatten().chain(waiting)
}

impl OwnItem<'_> {
    /// Returns true if neither the record, nor a mark, nor this process shows a run of the item.
    /// The mark of an instance that is gone blocks the item until its session ends.
    pub(crate) fn is_free(&self, local: &Local) -> bool {
        let runs_here = local.runs.has(self.item);
        self.ledger.is_idle() && !self.view.marks.shows_run() && !runs_here
    }

    /// Returns the steps that change the item's record to `next`, as its owner.
    pub(crate) fn change_to(&self, job: &JobName, next: Ledger) -> Vec<Step> {
        let item = self.item;
        let was_running = self.ledger.running().is_some();
        let holder = next.running().map(|run| run.holder.clone());
        let permit: Vec<_> = Step::take_permits(job, item, &next).collect();
        let has_misfire = next.misfire.is_some();
        // The owner check makes the write conflict if the item has moved since.
        let mut steps = vec![
            Step::owner_unchanged(item, self.owner_version),
            Step::set_ledger(item, self.ledger_version, next),
        ];
        if !was_running && let Some(holder) = holder {
            steps.push(Step::mark_running(item, holder));
            steps.extend(permit);
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
