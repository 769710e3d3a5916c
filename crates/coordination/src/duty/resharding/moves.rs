//! Writes that lead to the target, and items that stay pending.

use reg_center::Version;
use sharding::{Assignment, InstanceId, ShardingItem};

use super::retire::retire;
use super::target::{Owners, Target};
use crate::duty::Context;
use crate::duty::gap_judge::GapJudge;
use crate::duty::settings::OPS_PER_ITEM;
use crate::plan::Step;
use crate::protocol::pending::Pending;
use crate::view::JobView;
use crate::view::item::ItemView;
use crate::view::items::merged;
use crate::{FireTime, JobConfig, Ledger};

/// Writes of a resharding.
pub(crate) struct Moves {
    pub(crate) steps: Vec<Step>,
    /// Items that stay pending: they are busy, or did not fit the transaction.
    pub(crate) pending: Pending,
    /// Items that cannot be written now, because they are busy.
    pub(crate) blocked: Vec<ShardingItem>,
    /// Writes that would be possible did not fit the transaction.
    pub(crate) is_partial: bool,
}

/// Rules by which items move. The defaults hold without Java instances.
pub(crate) trait MoveRules {
    /// Returns the last fire that the record of a new item accounts for; `last` is the last fire
    /// seen.
    fn initial_last_fire(&self, _item: ShardingItem, last: Option<FireTime>) -> Option<FireTime> {
        last
    }

    /// Changes the steps that give an item to an owner; `None` if it cannot move now.
    fn constrain(
        &self,
        _item: ShardingItem,
        _owner: &InstanceId,
        steps: Option<Vec<Step>>,
    ) -> Option<Vec<Step>> {
        steps
    }

    /// Returns true if every item is examined, although the transaction is full.
    fn look_at_all(&self) -> bool {
        false
    }
}

impl Moves {
    /// Returns the writes that fit one transaction. Items that get another owner come first, and
    /// retired items take the room that they leave.
    pub(crate) fn between(
        cx: &Context<'_>,
        config: &JobConfig,
        target: &Target,
        rules: &impl MoveRules,
    ) -> Self {
        let pending = match &target.owners {
            Owners::Chosen(_) => Pending::default(),
            Owners::Kept => target.record.pending.clone(),
        };
        let mut moves = Self { steps: Vec::new(), pending, blocked: Vec::new(), is_partial: false };
        let n_moved = moves.add_moved(cx, config, target, rules);
        moves.add_retired(cx, config, cx.settings.items_per_plan.saturating_sub(n_moved));
        moves
    }

    /// Adds the items that get an owner or a record, and returns the room that they take, in items.
    fn add_moved(
        &mut self,
        cx: &Context<'_>,
        config: &JobConfig,
        target: &Target,
        rules: &impl MoveRules,
    ) -> usize {
        let most = cx.settings.items_per_plan;
        let keeps_owners = matches!(target.owners, Owners::Kept);
        let last = last_fire(cx);
        let usual = InitialFires::now(cx, last);
        let mut n_moved = 0;
        for (item, owner) in next_owners(cx.view, target) {
            // The other pending items stay pending until the next transaction.
            if self.is_partial && keeps_owners && !rules.look_at_all() {
                break;
            }
            let shown = cx.view.item(item);
            // A fire that a gap reports as missed stays missed if a retired item comes back.
            let missed = shown.ledger.as_ref().and_then(|record| cx.last_missed(&record.value));
            let initial =
                InitialFires { last: rules.initial_last_fire(item, last).max(missed), ..usual };
            let plain = steps_to(cx.view, item, owner, config.monitor_execution, initial);
            let Some(steps) = rules.constrain(item, owner, plain) else {
                // A busy item moves once its run has ended.
                self.blocked.push(item);
                self.pending.insert(item, owner);
                continue;
            };
            let room = steps.len().div_ceil(OPS_PER_ITEM);
            if n_moved > 0 && n_moved + room > most && room > 0 {
                // The transaction is full, so the item moves by the next one.
                self.is_partial = true;
                self.pending.insert(item, owner);
                continue;
            }
            n_moved += room;
            self.steps.extend(steps);
            self.pending.remove(item);
        }
        n_moved
    }

    /// Retires items beyond the number of items, as many as have room.
    fn add_retired(&mut self, cx: &Context<'_>, config: &JobConfig, room: usize) {
        if !cx.view.may_retire() {
            return;
        }
        let beyond = cx.view.items_from(ShardingItem::new(config.sharding_total_count));
        let surplus = beyond.filter(|(_, view)| view.is_surplus());
        let mut judge = GapJudge::of(cx);
        let mut left = room;
        for (item, view) in surplus {
            let steps = retire(cx, judge.as_mut(), view, item);
            let room = steps.len().div_ceil(OPS_PER_ITEM);
            if room > left && !self.steps.is_empty() {
                self.is_partial = true;
                break;
            }
            left = left.saturating_sub(room);
            self.steps.extend(steps);
        }
    }

    /// Returns true if the moves write a step or change the set of pending items.
    pub(crate) fn change(&self, target: &Target) -> bool {
        !self.steps.is_empty() || self.pending != target.record.pending
    }
}

/// Returns the last fire that any instance is known to have seen; new items account for it. A fire
/// in the future comes from a wrong clock and is replaced by the present.
fn last_fire(cx: &Context<'_>) -> Option<FireTime> {
    let present = cx.present_ms();
    let last = cx.view.latest_fire().max(cx.local.fires.last_seen)?;
    let in_future = last.0 > cx.horizon_ms();
    if !in_future {
        return Some(last);
    }
    // Scheduled fires come on whole seconds.
    Some(FireTime(present).whole_second())
}

/// Returns the items to look at, in ascending order, each with the owner that it gets.
fn next_owners<'a>(
    view: &'a JobView,
    target: &'a Target,
) -> impl Iterator<Item = (ShardingItem, &'a InstanceId)> {
    let (chosen, pending) = match &target.owners {
        Owners::Chosen(owners) => (Some(owners), None),
        Owners::Kept => (None, Some(&target.record.pending)),
    };
    let all = chosen.into_iter().flat_map(Assignment::iter);
    let assigned = all.filter_map(|(item, owner)| Some((item, owner?)));
    let total = target.record.total_count;
    assigned.chain(pending.into_iter().flat_map(move |kept| unfinished(view, kept, total)))
}

/// Returns the items that may have to be moved, recorded or revived if all owners are kept, with
/// their next owners, in ascending order. All other items are at rest.
fn unfinished<'a>(
    view: &'a JobView,
    pending: &'a Pending,
    total_count: u32,
) -> impl Iterator<Item = (ShardingItem, &'a InstanceId)> {
    let others = view.restless_items().filter(|(item, _)| !pending.has(*item));
    let owned = others.filter_map(|(item, shown)| Some((item, shown.owner_id()?)));
    merged(pending.iter(), owned).take_while(move |(item, _)| item.index() < total_count)
}

/// Fires that a new record starts with.
#[derive(Clone, Copy)]
struct InitialFires {
    /// The last fire that the record accounts for.
    last: Option<FireTime>,
    /// The first fire that the item owes, and the version of the configuration whose schedule has
    /// it.
    next: Option<(FireTime, Version)>,
}

impl InitialFires {
    /// Returns the fires of a record that starts now, if `last` is the last fire seen.
    fn now(cx: &Context<'_>, last: Option<FireTime>) -> Self {
        let next = first_owed(cx, last);
        Self { last, next }
    }

    fn apply_to(self, ledger: Ledger) -> Ledger {
        match self.next {
            Some((next, config)) => ledger.followed_by(Some(next), config),
            None => ledger,
        }
    }
}

/// Returns the first fire after the present and after `last`, with the version of the
/// configuration. `None` if it may run without a record.
fn first_owed(cx: &Context<'_>, last: Option<FireTime>) -> Option<(FireTime, Version)> {
    let judgement = cx.judgement()?;
    if judgement.unrecorded_runs {
        return None;
    }
    let present = FireTime(cx.present_ms());
    let now = last.map_or(present, |last| last.max(present));
    let next = judgement.lookup.next_after(judgement.config, now)?;
    Some((next, judgement.version))
}

/// Returns the steps that assign an item to an owner; empty if it has that owner and a record,
/// `None` if one of its slots is busy.
fn steps_to(
    job: &JobView,
    item: ShardingItem,
    owner: &InstanceId,
    monitored: bool,
    initial: InitialFires,
) -> Option<Vec<Step>> {
    let view = job.item(item);
    let stays = view.is_of(owner);
    if view.unreadable {
        return stays.then(Vec::new);
    }
    let first_record = first_record(view, item, monitored, initial);
    if first_record.is_none() && stays {
        return Some(Vec::new());
    }
    let runs = view.ledger.is_some() && view.is_busy();
    let further_runs = job.further_slots_of(item).any(|(_, slot)| slot.is_busy());
    if (first_record.is_none() && runs) || (!stays && further_runs) {
        return None;
    }
    // A stale view may lack the record of a run that began while monitoring was on.
    let record = first_record.unwrap_or_else(|| Step::ledger_as_shown(item, view));
    let current = view.owner.as_ref().map(|owner| owner.version);
    let owner_step = match current {
        // The view may show an owner that was removed together with the former record.
        Some(version) if stays => Step::owner_unchanged(item, version),
        _ => Step::set_owner(item, current, owner.clone()),
    };
    // The record of the item does not show whether its further slots are idle.
    let idle_slots = job.further_slots_of(item).filter(|_| !stays);
    let idle_slots = idle_slots.map(|(key, slot)| Step::ledger_as_shown(key, slot));
    Some([record, owner_step].into_iter().chain(idle_slots).collect())
}

/// Returns the step that creates the record of a new item, or revives that of a retired one.
fn first_record(
    view: &ItemView,
    item: ShardingItem,
    monitored: bool,
    initial: InitialFires,
) -> Option<Step> {
    let Some(ledger) = &view.ledger else {
        let new = initial.apply_to(Ledger::new(initial.last));
        return monitored.then(|| Step::set_ledger(item, None, new));
    };
    let revived = ledger.value.revive(initial.last)?;
    Some(Step::set_ledger(item, Some(ledger.version), initial.apply_to(revived)))
}
