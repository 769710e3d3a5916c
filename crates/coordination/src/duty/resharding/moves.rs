//! Writes that lead to the target, and items that stay pending.

use reg_center::Version;
use sharding::{Assignment, InstanceId, ShardingItem};

use super::retire::retire;
use super::target::{Owners, Target};
use crate::duty::Context;
use crate::duty::gap_judge::GapJudge;
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
    fn born_after(&self, _item: ShardingItem, last: Option<FireTime>) -> Option<FireTime> {
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
    pub(crate) fn between(
        cx: &Context<'_>,
        config: &JobConfig,
        target: &Target,
        rules: &impl MoveRules,
    ) -> Self {
        let (view, most) = (cx.view, cx.settings.items_per_plan);
        let (chosen, kept) = match &target.owners {
            Owners::Chosen(owners) => (Some(owners), None),
            Owners::Kept => (None, Some(&target.record.pending)),
        };
        let mut moves = Self {
            steps: Vec::new(),
            pending: kept.cloned().unwrap_or_default(),
            blocked: Vec::new(),
            is_partial: false,
        };
        let chosen = chosen.into_iter().flat_map(Assignment::iter);
        let chosen = chosen.filter_map(|(item, owner)| Some((item, owner?)));
        let unfinished = kept.map(|kept| unfinished(view, kept, target.record.total_count));
        let last = last_fire(cx);
        let birth = Birth::now(cx, last);
        let mut moved = 0;
        for (item, owner) in chosen.chain(unfinished.into_iter().flatten()) {
            // The other pending items stay pending until the next transaction.
            if moves.is_partial && kept.is_some() && !rules.look_at_all() {
                break;
            }
            let record = view.item(item).ledger.as_ref();
            // A fire that a gap reports as missed stays missed if a retired item comes back.
            let missed = record.and_then(|record| cx.last_missed(&record.value));
            let birth = Birth { last: rules.born_after(item, last).max(missed), ..birth };
            let steps = steps_to(view.item(item), item, owner, config.monitor_execution, birth);
            match rules.constrain(item, owner, steps) {
                Some(steps) if moved < most || steps.is_empty() => {
                    moved += usize::from(!steps.is_empty());
                    moves.steps.extend(steps);
                    moves.pending.remove(item);
                }
                Some(_) => {
                    moves.is_partial = true;
                    moves.pending.insert(item, owner);
                }
                None => {
                    moves.blocked.push(item);
                    moves.pending.insert(item, owner);
                }
            }
        }
        let total = config.sharding_total_count;
        let beyond = view.items_from(ShardingItem::new(total)).filter(|_| view.may_retire());
        let surplus = beyond.filter(|(_, view)| view.is_surplus());
        let mut judge = GapJudge::of(cx);
        let mut retired = surplus.map(|(item, view)| retire(cx, judge.as_mut(), view, item));
        // Retired items take the room that moved items leave.
        moves.steps.extend(retired.by_ref().take(most - moved).flatten());
        moves.is_partial |= retired.any(|steps| !steps.is_empty());
        moves
    }

    /// Returns true if the moves write a step or change the set of pending items.
    pub(crate) fn change(&self, target: &Target) -> bool {
        !self.steps.is_empty() || self.pending != target.record.pending
    }
}

/// Returns the last fire that any instance is known to have seen; new items account for it. A fire
/// in the future comes from a wrong clock and is replaced by the present.
fn last_fire(cx: &Context<'_>) -> Option<FireTime> {
    let present = cx.max_time_diff().present_ms(cx.now);
    let last = cx.view.last_fires().map(|(_, last)| last).max(cx.local.fires.last_seen)?;
    let in_future = last.0 > cx.max_time_diff().horizon_ms(present);
    // Scheduled fires come on whole seconds.
    Some(if in_future { FireTime(present - present.rem_euclid(1_000)) } else { last })
}

/// Returns the items that may have to be moved, recorded or revived if all owners are kept, with
/// their next owners, in ascending order. All other items are at rest.
fn unfinished<'a>(
    view: &'a JobView,
    pending: &'a Pending,
    total_count: u32,
) -> impl Iterator<Item = (ShardingItem, &'a InstanceId)> {
    let owned = view.restless_items().filter(|(item, _)| !pending.has(*item));
    let owned = owned.filter_map(|(item, shown)| Some((item, &shown.owner.as_ref()?.value)));
    merged(pending.iter(), owned).take_while(move |(item, _)| item.index() < total_count)
}

/// Fires that a new record starts with.
#[derive(Clone, Copy)]
struct Birth {
    /// The last fire that the record accounts for.
    last: Option<FireTime>,
    /// The first fire that the item owes, and the version of the configuration whose schedule has
    /// it.
    next: Option<(FireTime, Version)>,
}

impl Birth {
    fn now(cx: &Context<'_>, last: Option<FireTime>) -> Self {
        let judgement = cx.judgement().filter(|judgement| !judgement.mixed);
        let next = judgement.and_then(|judgement| {
            let present = cx.present_ms();
            let now = last.map_or(present, |FireTime(last)| last.max(present));
            let next = judgement.lookup.next_after(judgement.config, FireTime(now))?;
            Some((next, judgement.version))
        });
        Self { last, next }
    }

    fn of(self, ledger: Ledger) -> Ledger {
        match self.next {
            Some((next, config)) => ledger.followed_by(Some(next), config),
            None => ledger,
        }
    }
}

/// Returns the steps that assign an item to an owner; empty if it has that owner and a record,
/// `None` if it is busy.
fn steps_to(
    view: &ItemView,
    item: ShardingItem,
    owner: &InstanceId,
    monitored: bool,
    birth: Birth,
) -> Option<Vec<Step>> {
    let stays = view.is_of(owner);
    if view.unreadable {
        return stays.then(Vec::new);
    }
    let record = match &view.ledger {
        None if monitored => Some(Step::set_ledger(item, None, birth.of(Ledger::new(birth.last)))),
        None if stays => None,
        // A stale view may lack the record of a run that began while monitoring was on.
        None => Some(Step::ledger_as_shown(item, view)),
        Some(ledger) => match ledger.value.revive(birth.last).map(|revived| birth.of(revived)) {
            Some(revived) => Some(Step::set_ledger(item, Some(ledger.version), revived)),
            None if stays => None,
            None if view.is_busy() => return None,
            None => Some(Step::ledger_as_shown(item, view)),
        },
    };
    // The view may show an owner that was removed together with the former record.
    let kept = view.owner.as_ref().filter(|_| stays && record.is_some());
    let kept = kept.map(|owner| Step::owner_unchanged(item, owner.version));
    let expect = view.owner.as_ref().map(|current| current.version);
    let set = (!stays).then(|| Step::set_owner(item, expect, owner.clone()));
    Some(record.into_iter().chain(kept).chain(set).collect())
}
