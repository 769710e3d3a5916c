//! Items that this instance owns, and changes of their records.

use crate::duty::Context;
use crate::duty::context::parameter_bytes;
use crate::duty::gap_judge::GapJudge;
use crate::duty::limits::Limits;
use crate::java::records::Records;
use crate::local::Local;
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};
use crate::{Duty, FireTime, JobConfig, JobName, Ledger, Slot};
use reg_center::Version;
use sharding::ShardingItem;
use std::borrow::Cow;

/// An item whose record this instance may change: it owns the item, or it is the next owner of an
/// item of a lost owner. With the versions that the write checks.
pub(crate) struct OwnItem<'a> {
    pub(crate) item: ShardingItem,
    pub(crate) view: &'a ItemView,
    /// The record of the item, with the fires that Java instances account for. A Java leader
    /// creates no records. It has the run of `further_slot`, if there is one, in place of its own.
    pub(crate) ledger: Cow<'a, Ledger>,
    /// The slot that decides about the next run, if that is not the first one of the item.
    further_slot: Option<(ShardingItem, &'a ItemView)>,
    ledger_version: Option<Version>,
    owner_version: Version,
}

/// The slot that decides about the next run of an item.
enum NextSlot<'a> {
    /// The first free one, or the first busy one if the item has as many runs as the job allows.
    Known(Slot, &'a ItemView),
    /// A slot that the job allows the item, and that has no record yet.
    Missing(Slot),
    /// Unknown: the view does not show a run that begins here, or its end.
    NotShown,
}

/// State of a slot for the next run of its item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Free,
    Busy,
    /// Idle by its record, with a run of this process.
    NotShown,
    /// Idle by its record, with the mark of a run.
    Blocked,
    /// Its record can show a run.
    Unreadable,
    Missing,
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

    /// Returns the items whose fires this instance accounts for, if their records are known and
    /// neither they nor Java instances have settled this fire.
    pub(crate) fn accounted_for(&self, fire: FireTime) -> impl Iterator<Item = OwnItem<'a>> {
        let unsettled = self.view.accounted_by(self.me, self.view.unsettled_items(fire));
        self.own_items(unsettled).filter(move |own| !own.ledger.has_settled(fire))
    }

    /// Returns the items whose fires this instance accounts for. Their records are known and have
    /// not settled this fire, and the items are not at rest or have a run in a further slot.
    pub(crate) fn restless_accounted_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        let restless = self.view.restless_unsettled_items(fire);
        let unsettled = restless.chain(self.view.resting_unsettled_items_with_runs(fire));
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
        Some(OwnItem { item, view, ledger, further_slot: None, ledger_version, owner_version })
    }

    /// Returns the items with the runs of their free slots; see [`OwnItem::in_free_slot`].
    pub(crate) fn in_free_slots(
        &self,
        config: &JobConfig,
        items: impl Iterator<Item = OwnItem<'a>>,
    ) -> impl Iterator<Item = OwnItem<'a>> {
        items.filter_map(|own| own.in_free_slot(self, config))
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

fn state_of(cx: &Context<'_>, slot: Slot, shown: &ItemView, ledger: Option<&Ledger>) -> SlotState {
    match ledger {
        Some(run) if run.is_idle() && cx.local.runs.has(slot.key()) => SlotState::NotShown,
        Some(run) if run.is_idle() && shown.marks.shows_run() => SlotState::Blocked,
        Some(run) if run.is_idle() => SlotState::Free,
        Some(_) => SlotState::Busy,
        None if shown.unreadable => SlotState::Unreadable,
        None => SlotState::Missing,
    }
}

impl<'a> OwnItem<'a> {
    /// Returns the item with the run of its first free slot. If the item has as many runs as the
    /// job allows, it shows one of them. `None` while the item waits for a slot.
    ///
    /// To the duties, an item with several slots thus is busy only if it has all runs that it may
    /// have.
    fn in_free_slot(self, cx: &Context<'a>, config: &JobConfig) -> Option<Self> {
        match self.next_slot(cx, config) {
            NextSlot::Known(slot, shown) if slot.number > 0 => {
                let ledger = Cow::Owned(self.ledger.with_run_of(shown.record()?));
                Some(Self { ledger, further_slot: Some((slot.key(), shown)), ..self })
            }
            NextSlot::Known(..) => Some(self),
            NextSlot::Missing(_) | NextSlot::NotShown => None,
        }
    }

    /// Runs that began when the job allowed more count as well. A disabled item starts no runs, so
    /// that its first slot suffices.
    fn next_slot(&self, cx: &Context<'a>, config: &JobConfig) -> NextSlot<'a> {
        let known = cx.view.last_further_slot(self.item);
        let first = Slot { item: self.item, number: 0 };
        if (config.slots() == 1 && known == 0) || self.view.is_disabled() {
            return NextSlot::Known(first, self.view);
        }
        // An item that moves starts no run, so that its fires are noted while it has any.
        let moves = cx.view.is_pending(self.item) || !self.view.is_of(cx.me);
        let allowed = if moves { 1 } else { config.slots() };
        let further = (1..config.slots().max(known + 1)).map(|number| {
            let slot = Slot { number, ..first };
            let shown = cx.view.item(slot.key());
            let ledger = shown.record();
            (slot, shown, state_of(cx, slot, shown, ledger))
        });
        let of_first = state_of(cx, first, self.view, Some(&*self.ledger));
        let slots: Vec<_> = [(first, self.view, of_first)].into_iter().chain(further).collect();
        let find = |wanted: SlotState, most: u32| {
            let mut allowed = slots.iter().filter(|(slot, ..)| slot.number < most);
            let found = allowed.find(|(.., state)| *state == wanted);
            found.map(|(slot, shown, _)| NextSlot::Known(*slot, shown))
        };
        let may_run =
            |state| matches!(state, SlotState::Busy | SlotState::NotShown | SlotState::Unreadable);
        let runs = slots.iter().filter(|(.., state)| may_run(*state)).count();
        if usize::try_from(allowed).is_ok_and(|allowed| runs >= allowed) {
            return find(SlotState::Busy, u32::MAX).unwrap_or(NextSlot::NotShown);
        }
        // An operator may have restored a record of the item from before this run.
        let is_unknown = |slot: Slot| {
            let run = cx.local.runs.get(slot.key()).filter(|run| run.is_scheduled());
            run.is_some_and(|run| !self.ledger.has_settled(run.fire))
        };
        if slots.iter().any(|(slot, ..)| is_unknown(*slot)) {
            return NextSlot::NotShown;
        }
        if let Some(free) = find(SlotState::Free, config.slots()) {
            return free;
        }
        match find(SlotState::Missing, config.slots()) {
            _ if find(SlotState::NotShown, u32::MAX).is_some() => NextSlot::NotShown,
            Some(NextSlot::Known(slot, _)) => NextSlot::Missing(slot),
            _ => NextSlot::Known(first, self.view),
        }
    }

    /// Returns the steps that give the item the record of a further slot, if none of its slots is
    /// free and the job allows one more run.
    ///
    /// A claim does not create that record: the outcome of a commit can be unknown, and only the
    /// version of a record shows later whether the claim arrived.
    pub(crate) fn with_further_slot(
        &self,
        cx: &Context<'a>,
        config: &JobConfig,
    ) -> Option<Vec<Step>> {
        let NextSlot::Missing(slot) = self.next_slot(cx, config) else { return None };
        let recorded = self.view.ledger.as_ref()?;
        let next = recorded.value.with_further_slot(slot.number);
        Some(vec![
            Step::owner_unchanged(self.item, self.owner_version),
            Step::set_ledger(self.item, Some(recorded.version), next),
            Step::set_ledger(slot.key(), None, Ledger::new(None)),
        ])
    }

    /// Returns true if the next run gets the first slot of the item.
    pub(crate) fn is_in_first_slot(&self) -> bool {
        self.further_slot.is_none()
    }

    /// Returns the slot whose run `ledger` shows.
    fn slot(&self) -> (ShardingItem, &'a ItemView) {
        self.further_slot.unwrap_or((self.item, self.view))
    }

    /// Returns true if neither the record, nor a mark, nor this process shows a run of the slot.
    /// The mark of an instance that is gone blocks the slot until its session ends.
    pub(crate) fn is_free(&self, local: &Local) -> bool {
        let (key, view) = self.slot();
        self.ledger.is_idle() && !view.marks.shows_run() && !local.runs.has(key)
    }

    /// Returns the steps that change the item's record to `next`, as its owner. The run of a
    /// further slot is in the record of that slot.
    pub(crate) fn change_to(&self, job: &JobName, next: Ledger) -> Vec<Step> {
        let (item, (key, slot)) = (self.item, self.slot());
        let was_running = self.ledger.running().is_some();
        let holder = next.running().map(|run| run.holder.clone());
        let permit: Vec<_> = Step::take_permits(job, key, &next).collect();
        let has_misfire = next.misfire.is_some();
        // The owner check makes the write conflict if the item has moved since.
        let mut steps = vec![Step::owner_unchanged(item, self.owner_version)];
        let further = self.further_slot.and(slot.ledger.as_ref());
        match further.zip(self.view.ledger.as_ref()) {
            Some((run, recorded)) => {
                let (of_item, of_slot) = recorded.value.divided(&run.value, next);
                let of_item = of_item.with_further_slot(Slot::of(key).number);
                steps.push(Step::set_ledger(item, self.ledger_version, of_item));
                steps.push(if of_slot == run.value {
                    Step::ledger_unchanged(key, run.version)
                } else {
                    Step::set_ledger(key, Some(run.version), of_slot)
                });
            }
            None => steps.push(Step::set_ledger(item, self.ledger_version, next)),
        }
        if !was_running && let Some(holder) = holder {
            steps.push(Step::mark_running(key, holder));
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
