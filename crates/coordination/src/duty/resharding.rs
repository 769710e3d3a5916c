//! Resharding: the assignment fits the available instances, and nothing moves under a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reg_center::Version;
use sharding::{Assignment, InstanceId, ShardingItem, StrategyInput, StrategyRegistry};

use super::{Context, Duty, GapJudge, static_sharding};
use crate::plan::{Plan, Step};
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::pending::Pending;
use crate::view::JobView;
use crate::view::items::{ItemView, Sign, merged};
use crate::wire::NodeKind;
use crate::{FireTime, JobConfig, Ledger};

/// Assigns items anew when the inputs of the assignment have changed, and lets items follow that could not before.
///
/// Busy items stay where they are and are recorded as pending: their owner claims nothing for them any more, and they
/// move when their run has ended. Everything else moves at once, so that nobody waits for a slow item but its own
/// next owner.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    // A Java instance that is about to lead would not know what is still to move.
    let goes = !cx.view.is_available(cx.me) || !cx.local.is_active();
    if goes && cx.view.is_mixed() {
        return None;
    }
    // New records are dated by the registry's clock.
    if cx.local.awaits_time {
        return None;
    }
    let target = target(cx, config).ok()??;
    let born = last_fire(cx);
    let moves = Moves::between(cx, config, &target, born);
    let changes = !moves.steps.is_empty() || moves.pending != target.record.pending;
    let ends = may_end_announcement(cx, &moves);
    if target.reason == FOLLOW && !changes && !ends {
        return None;
    }
    if must_announce(cx, &target, &moves) {
        return announce(cx, target);
    }
    if target.reason != FOLLOW && waits_for_java(cx, &moves) {
        return None;
    }
    if !may_move(cx) {
        return None;
    }
    let mut record = target.record;
    record.counts = counts(cx, &record, &target.owners);
    record.pending = moves.pending;
    let stays = cx.view.is_necessary() && !ends;
    record.announced = cx.view.term_of(cx.me).filter(|_| stays).map(|term| term.0);
    // Nobody can tell whether a Java instance has run it.
    let known = !cx.view.is_mixed() && !cx.local.foreign.is_known();
    record.due = cx.local.due.as_ref().map(|due| due.at).or(record.due).filter(|_| known);
    let expect = cx.view.assignment_version();
    let plan = Plan::as_leader(Duty::Resharding, cx, target.reason)?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::no_new_request(cx.view.request()?))
        .steps(moves.steps)
        .step_if(ends, Step::end_announcement)
        .step(Step::set_assignment(expect, record));
    Some(plan)
}

/// Returns how many items each member shall have. Jobs of few items do not tell: everybody follows all of them. While items
/// follow it stays what was assigned, so that an owner that somebody else has changed meanwhile is noticed at the end.
fn counts(
    cx: &Context<'_>,
    record: &AssignmentRecord,
    owners: &Owners,
) -> BTreeMap<InstanceId, u32> {
    if record.total_count < cx.settings.following.own_from {
        return BTreeMap::new();
    }
    let members = &record.members;
    match owners {
        Owners::Kept if record.counts.len() == members.len() => record.counts.clone(),
        Owners::Kept => count_items(members, &planned_owners(cx.view, record.total_count)),
        Owners::Chosen(owners) => count_items(members, owners),
    }
}

/// Returns how many items each member has in an assignment.
pub(super) fn count_items(
    members: &[InstanceId],
    owners: &Assignment,
) -> BTreeMap<InstanceId, u32> {
    let mut counts: BTreeMap<_, u32> = members.iter().map(|member| (member.clone(), 0)).collect();
    for owner in owners.iter().filter_map(|(_, owner)| owner) {
        if let Some(count) = counts.get_mut(owner) {
            *count += 1;
        }
    }
    counts
}

/// How long the leader waits for runs of Java instances that stand in the way before it assigns what it can.
pub(crate) const ANNOUNCEMENT_PATIENCE: Duration = Duration::from_secs(10);

/// Returns true if Java instances have yet to be told before anything is written: always when items are assigned anew, and
/// when items follow that a Java instance has now. What ours have now no Java instance begins.
fn must_announce(cx: &Context<'_>, target: &Target, moves: &Moves) -> bool {
    let concerned = target.reason != FOLLOW || moves.from_java;
    let told = cx.view.is_necessary();
    cx.view.is_mixed() && concerned && !told
}

/// Returns false at a fire: Java instances might run it by what they saw before, or have begun it without having shown that yet. Told
/// that items move they hold it back until they see whose these are.
fn may_move(cx: &Context<'_>) -> bool {
    let near = cx.view.is_mixed() && cx.local.near_fire.is_some();
    !near
}

/// Java instances start nothing more once they are told that items will be assigned anew, and go on once they have been. Those
/// of 2.1.5 tell each other when members come and go, those of 3.x leave it to the leader.
///
/// Of items that follow the record says that this is no request of somebody else's.
fn announce(cx: &Context<'_>, target: Target) -> Option<Plan> {
    let plan =
        Plan::as_leader(Duty::Resharding, cx, target.reason)?.step(Step::announce_resharding());
    if target.reason != FOLLOW {
        return Some(plan);
    }
    let announced = cx.view.term_of(cx.me).map(|term| term.0);
    let record = AssignmentRecord { announced, ..target.record };
    Some(plan.step(Step::set_assignment(cx.view.assignment_version(), record)))
}

/// Returns true if Java instances are told, and nothing would be left to write afterwards: they go on when they can see all of
/// it. Items that cannot move yet do not hold them back.
fn may_end_announcement(cx: &Context<'_>, moves: &Moves) -> bool {
    let rest = cx.view.is_mixed() && moves.is_partial;
    cx.view.is_necessary() && !rest
}

/// Returns true while a Java instance still runs an item that is to move. Unless its run takes long it is waited for: what
/// comes meanwhile is run by whoever has the item then.
fn waits_for_java(cx: &Context<'_>, moves: &Moves) -> bool {
    let over = cx.local.announced.is_some_and(|announced| announced.over);
    cx.view.is_mixed() && !over && moves.under_java
}

/// Returns the last fire that any instance is known to have seen: new items have nothing to do with it. A fire that lies in the
/// future comes from a wrong clock, and stands for the present.
fn last_fire(cx: &Context<'_>) -> Option<FireTime> {
    let present = cx.max_time_diff().present_ms(cx.now);
    let last = cx.view.last_fires().map(|(_, last)| last).max(cx.local.last_fire_seen)?;
    let in_future = last.0 > cx.max_time_diff().horizon_ms(present);
    // Scheduled fires come on whole seconds.
    Some(if in_future { FireTime(present - present.rem_euclid(1_000)) } else { last })
}

/// Returns the fire after which the record of an item begins. What Java instances had, and hold back because items are about to
/// be assigned anew, is still to be run by whoever has the item then.
fn born_after(cx: &Context<'_>, item: ShardingItem, last: Option<FireTime>) -> Option<FireTime> {
    let (shown, foreign) = (cx.view.item(item), &cx.local.foreign);
    let accounted = foreign.accounted(item);
    let was_java = accounted.is_some() || cx.view.java_owner(shown).is_some();
    let held_back = last.is_some() && foreign.held_back() == last && shown.ledger.is_none();
    if held_back && was_java { accounted } else { last }
}

/// Returns what is wrong with the strategy's answer, if resharding is wanted and the answer cannot be used.
pub(crate) fn strategy_failure(cx: &Context<'_>) -> Option<String> {
    wanted(cx, cx.view.config_to_lead_by()?, &cx.view.available()).err()
}

const FOLLOW: &str = "items can follow now";

/// Where the items shall be.
struct Target {
    reason: &'static str,
    record: AssignmentRecord,
    owners: Owners,
}

/// Whose the items shall be.
enum Owners {
    /// Each is chosen anew.
    Chosen(Assignment),
    /// Each stays with its owner, or goes where it is to follow.
    Kept,
}

/// Returns where items shall be, or `None` if they are there, or nobody could take them.
fn target(cx: &Context<'_>, config: &JobConfig) -> Result<Option<Target>, String> {
    let members = cx.view.available();
    let Some((reason, owners)) = wanted(cx, config, &members)? else { return Ok(None) };
    let (current, request) = (cx.view.assignment(), cx.view.request());
    let record = match &owners {
        Owners::Kept => current.map(|current| current.value.clone()),
        Owners::Chosen(owners) => request.map(|request| AssignmentRecord {
            names: static_sharding::names(cx.view, &members, owners),
            total_count: config.sharding_total_count,
            strategy: config.strategy.clone(),
            handled: request.0,
            members,
            ..AssignmentRecord::default()
        }),
    };
    Ok(record.map(|record| Target { reason, record, owners }))
}

/// Returns whose the items shall be, and why; `None` if there is nothing to do, or nobody could take them.
fn wanted(
    cx: &Context<'_>,
    config: &JobConfig,
    members: &[InstanceId],
) -> Result<Option<(&'static str, Owners)>, String> {
    if cx.view.request().is_none()
        || members.is_empty()
        || cx.view.term_of(cx.me).is_none()
        || !cx.shows_all()
    {
        return Ok(None);
    }
    let current = cx.view.assignment().map(|assignment| &assignment.value);
    let owners = || planned_owners(cx.view, current.map_or(0, |record| record.total_count));
    if let Some(reason) = reason(cx.view, current, members, config) {
        let chosen = assign(cx.strategies, cx.now.wall_ms, config, members, &owners())?;
        return Ok(Some((reason, Owners::Chosen(chosen))));
    }
    if let Some(owners) = static_sharding::replace_lost(cx.view, config, members, owners) {
        return Ok(Some(("items of lost instances go on", Owners::Chosen(owners))));
    }
    Ok(is_unfinished(cx.view, config).then_some((FOLLOW, Owners::Kept)))
}

/// Returns why the current assignment does not do, or `None` if it does.
fn reason(
    view: &JobView,
    current: Option<&AssignmentRecord>,
    members: &[InstanceId],
    config: &JobConfig,
) -> Option<&'static str> {
    let Some(current) = current else { return Some("nothing is assigned yet") };
    let handled = view.request().is_some_and(|request| request.0 == current.handled);
    let handled = handled || config.static_sharding;
    let joins_count = !config.static_sharding;
    let other_members = joins_count && current.members != members;
    let other_total = current.total_count != config.sharding_total_count;
    let other_strategy = current.strategy != config.strategy;
    let asked_for = !handled || (view.is_necessary() && !is_announced(view, current, config));
    let total = config.sharding_total_count;
    let strays = || joins_count && has_strays(view, members, &current.pending, total);
    let rows = [
        (other_members, "the available instances changed"),
        (other_total, "the number of items changed"),
        (other_strategy, "the strategy changed"),
        (asked_for, "it was asked for"),
    ];
    let reason = rows.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
    let miscounted =
        || is_miscounted(view, current).then_some("the owners are not those that were assigned");
    // Can have to look at every item, so it comes last.
    let stray = || strays().then_some(STRAY);
    reason.or_else(miscounted).or_else(stray)
}

/// Returns true if somebody has another number of items than it was given: somebody else has changed an owner. Whoever follows its
/// own items knows by their number that it has all.
fn is_miscounted(view: &JobView, current: &AssignmentRecord) -> bool {
    let done = current.pending.is_empty() && view.has_exactly(current.total_count);
    let differs = |(member, count): (_, &u32)| usize::try_from(*count) != Ok(view.count_of(member));
    done && current.counts.iter().any(differs)
}

/// Returns true if `necessary` is the leader's own announcement, of which something is left to write: whatever Java
/// instances ask for meanwhile it sees by itself.
fn is_announced(view: &JobView, current: &AssignmentRecord, config: &JobConfig) -> bool {
    let term = view.term().map(|term| term.version.0);
    let own = current.announced.is_some() && current.announced == term;
    own && is_unfinished(view, config)
}

const STRAY: &str = "an item belongs to nobody who is available";

/// Returns true if an item belongs to nobody of the members and is not about to: somebody else has changed its owner, or items no
/// longer stay with, or wait for, whoever is away (simulation seed 13085556).
fn has_strays(view: &JobView, members: &[InstanceId], pending: &Pending, total_count: u32) -> bool {
    let members: BTreeSet<&InstanceId> = members.iter().collect();
    let is_away = |owner: &InstanceId| !members.contains(owner);
    if pending.next_owners().any(is_away) {
        return true;
    }
    let in_force = |item: &ShardingItem| item.index() < total_count;
    let stays = |item| !pending.has(item);
    let is_left =
        |owner| view.items_of(owner).map(|(item, _)| item).take_while(in_force).any(stays);
    // Nobody has an item of which nothing is known.
    let nobodys = || {
        let unknown = view.n_unknown(total_count);
        let within = |(first, last, _)| view.n_unknown_within(first, last);
        unknown > 0 && unknown > pending.ranges().map(within).sum()
    };
    let unowned = view.items_with(Sign::Unowned).map(|(item, _)| item);
    unowned.take_while(in_force).any(stays)
        || view.owners().filter(|owner| is_away(owner)).any(is_left)
        || nobodys()
}

/// Returns true if an item has yet to be moved, recorded or retired.
fn is_unfinished(view: &JobView, config: &JobConfig) -> bool {
    let total = config.sharding_total_count;
    let pending = view.assignment().is_some_and(|a| !a.value.pending.is_empty());
    let unrecorded = || {
        let first = view.items_with(Sign::Unrecorded).next();
        view.n_unknown(total) > 0 || first.is_some_and(|(item, _)| item.index() < total)
    };
    let unrecorded = || config.monitor_execution && unrecorded();
    let beyond = || view.items_from(ShardingItem::new(total)).filter(|_| may_retire(view));
    let surplus = || beyond().any(|(_, view)| view.is_surplus());
    pending || unrecorded() || surplus()
}

/// Items go when the stored configuration says so, not one that was in force before it: that can wait, and what is stored
/// in between may have more items (simulation seed 1050674).
fn may_retire(view: &JobView) -> bool {
    view.has_usable_config()
}

/// Returns the owners as they are, or will be when the pending items have moved.
fn planned_owners(view: &JobView, total_count: u32) -> Assignment {
    let owner = |item| view.item(item).owner.as_ref().map(|owner| &owner.value);
    let items = (0..total_count).map(ShardingItem::new);
    Assignment::from_owners(
        items.map(|item| view.next_owner(item).or_else(|| owner(item)).cloned()),
    )
}

/// Returns the items that may have to be moved, recorded or revived if all owners are kept, with those whose they shall be, in
/// ascending order: at all others, which are at rest, nothing has to be done.
fn unfinished<'a>(
    view: &'a JobView,
    pending: &'a Pending,
    total_count: u32,
) -> impl Iterator<Item = (ShardingItem, &'a InstanceId)> {
    let owned = view.restless_items().filter(|(item, _)| !pending.has(*item));
    let owned = owned.filter_map(|(item, shown)| Some((item, &shown.owner.as_ref()?.value)));
    merged(pending.iter(), owned).take_while(move |(item, _)| item.index() < total_count)
}

/// Returns where the items would be if these instances were the available ones, in the order of strategies, and this the
/// configuration: what a leader of ours would decide.
pub(crate) fn preview(
    view: &JobView,
    strategies: &StrategyRegistry,
    config: &JobConfig,
    members: &[InstanceId],
    now_ms: i64,
) -> Result<Assignment, String> {
    let current = view.assignment().map(|assignment| &assignment.value);
    let owners = planned_owners(view, current.map_or(0, |record| record.total_count));
    let same_inputs = |record: &AssignmentRecord| {
        record.total_count == config.sharding_total_count && record.strategy == config.strategy
    };
    if config.static_sharding && current.is_some_and(same_inputs) {
        let replaced = static_sharding::replace_lost(view, config, members, || owners.clone());
        return Ok(replaced.unwrap_or(owners));
    }
    assign(strategies, now_ms, config, members, &owners)
}

fn assign(
    strategies: &StrategyRegistry,
    now_ms: i64,
    config: &JobConfig,
    members: &[InstanceId],
    previous: &Assignment,
) -> Result<Assignment, String> {
    let strategy = strategies.get(&config.strategy).map_err(|error| error.to_string())?;
    let total = config.sharding_total_count;
    let input = StrategyInput::new(config.job_name.as_str(), members, total)
        .with_previous(previous)
        .with_now_ms(now_ms);
    let owners = strategy.assign(&input);
    let foreign = owners.iter().filter_map(|(_, owner)| owner).find(|o| !members.contains(o));
    match foreign {
        Some(foreign) => {
            Err(format!("{} chose {foreign}, which is not available", strategy.name()))
        }
        None if owners.total_count() != total => {
            let assigned = owners.total_count();
            Err(format!("{} assigned {assigned} items; the job has {total}", strategy.name()))
        }
        None if !owners.is_total() => {
            Err(format!("{} left items without an owner", strategy.name()))
        }
        None => Ok(owners),
    }
}

/// What has to be written to get from the view to the target.
struct Moves {
    steps: Vec<Step>,
    pending: Pending,
    /// Something that could be written does not fit the transaction.
    is_partial: bool,
    /// An item moves that a Java instance has now.
    from_java: bool,
    /// An item cannot move that a Java instance has now.
    under_java: bool,
}

impl Moves {
    fn between(
        cx: &Context<'_>,
        config: &JobConfig,
        target: &Target,
        born: Option<FireTime>,
    ) -> Self {
        let (view, most) = (cx.view, cx.settings.items_per_plan);
        let (chosen, kept) = match &target.owners {
            Owners::Chosen(owners) => (Some(owners), None),
            Owners::Kept => (None, Some(&target.record.pending)),
        };
        let mut moves = Self {
            steps: Vec::new(),
            pending: kept.cloned().unwrap_or_default(),
            is_partial: false,
            from_java: false,
            under_java: false,
        };
        let chosen = chosen.into_iter().flat_map(Assignment::iter);
        let chosen = chosen.filter_map(|(item, owner)| Some((item, owner?)));
        let unfinished = kept.map(|kept| unfinished(view, kept, target.record.total_count));
        let birth = Birth::now(cx, born);
        let mut moved = 0;
        for (item, owner) in chosen.chain(unfinished.into_iter().flatten()) {
            // All else waits where it is for the next transaction. Beside Java instances it matters what that is: they are told when
            // something that they have moves, and when nothing is left.
            if moves.is_partial && kept.is_some() && !view.is_mixed() {
                break;
            }
            // What a Java instance has left unfinished of its last fire is still to be made an orphan of.
            let interrupted = cx.interrupted(item).is_some();
            let born = born_after(cx, item, born).filter(|_| !interrupted);
            let record = view.item(item).ledger.as_ref();
            let born = born.max(record.and_then(|record| cx.last_missed(&record.value)));
            let of_java = view.java_owner(view.item(item)).is_some();
            let monitored = config.monitor_execution;
            let birth = Birth { last: born, ..birth };
            let steps = steps_to(view.item(item), item, owner, monitored, of_java, birth);
            let steps = steps.filter(|_| !has_run_what_waits(cx, item, owner));
            match steps {
                Some(steps) if moved < most || steps.is_empty() => {
                    moved += usize::from(!steps.is_empty());
                    let leaves = Step::sets_owner;
                    moves.from_java |= of_java && steps.iter().any(leaves);
                    moves.steps.extend(steps);
                    moves.pending.remove(item);
                }
                other => {
                    moves.is_partial |= other.is_some();
                    moves.under_java |= of_java && other.is_none();
                    moves.pending.insert(item, owner);
                }
            }
        }
        let total = config.sharding_total_count;
        let beyond = view.items_from(ShardingItem::new(total)).filter(|_| may_retire(view));
        let surplus = beyond.filter(|(_, view)| view.is_surplus());
        let mut judge = GapJudge::of(cx);
        let mut retired = surplus.map(|(item, view)| retire(cx, judge.as_mut(), view, item));
        moves.steps.extend(retired.by_ref().take(most - moved).flatten());
        moves.is_partial |= retired.any(|steps| !steps.is_empty());
        moves
    }
}

/// Returns true if ours have run the item for a fire that Java instances have yet to begin: the one that had it then would run it
/// again.
fn has_run_what_waits(cx: &Context<'_>, item: ShardingItem, owner: &InstanceId) -> bool {
    let Some(waits) = cx.local.foreign.may_still_begin() else { return false };
    let shown = cx.view.item(item);
    let last = shown.ledger.as_ref().and_then(|ledger| ledger.value.last_fire);
    let moves = shown.owner.as_ref().is_none_or(|current| current.value != *owner);
    last >= Some(waits) && moves && cx.view.is_foreign(owner)
}

/// What a new record says about fires.
#[derive(Clone, Copy)]
struct Birth {
    /// The item has nothing to do with fires up to this one.
    last: Option<FireTime>,
    /// The first fire that it owes, and the configuration whose schedule has it.
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

/// Returns the steps that give an item to its owner; empty if it is there, `None` if it is busy.
fn steps_to(
    view: &ItemView,
    item: ShardingItem,
    owner: &InstanceId,
    monitored: bool,
    of_java: bool,
    birth: Birth,
) -> Option<Vec<Step>> {
    let stays = view.owner.as_ref().is_some_and(|current| current.value == *owner);
    if view.unreadable {
        return stays.then(Vec::new);
    }
    if of_java && !stays && view.running {
        return None;
    }
    let record = match &view.ledger {
        None if monitored => {
            let ledger = birth.of(Ledger::new(birth.last));
            Some(Step::set_ledger(item, None, ledger))
        }
        None if stays => None,
        // The view may not show the record yet, which may say that the item runs: monitoring was on before (simulation
        // seed 4042152).
        None => Some(Step::ledger_as_shown(item, view)),
        Some(ledger) => match ledger.value.revive(birth.last).map(|revived| birth.of(revived)) {
            Some(revived) => Some(Step::set_ledger(item, Some(ledger.version), revived)),
            None if stays => None,
            None if view.is_busy() => return None,
            None => Some(Step::ledger_as_shown(item, view)),
        },
    };
    // The view may show an owner that has gone together with the former record (simulation seed 8132298).
    let kept = (stays && record.is_some())
        .then(|| view.owner.as_ref().map(|owner| Step::owner_unchanged(item, owner.version)))
        .flatten();
    // A Java instance writes no records, so that only its mark tells that it has begun meanwhile.
    let unmarked = (!stays && of_java).then_some(Step::absent(NodeKind::Running(item)));
    let expect = view.owner.as_ref().map(|current| current.version);
    let set = (!stays).then(|| Step::set_owner(item, expect, owner.clone()));
    Some(record.into_iter().chain(kept).chain(unmarked).chain(set).collect())
}

/// Returns the steps that take an item out of the job; none while it is busy.
fn retire(
    cx: &Context<'_>,
    judge: Option<&mut GapJudge<'_>>,
    view: &ItemView,
    item: ShardingItem,
) -> Vec<Step> {
    if view.is_busy() {
        return Vec::new();
    }
    let record = view.ledger.as_ref().and_then(|ledger| {
        let retired = ledger.value.retire()?;
        let retired = match judge {
            Some(judge) => judge.retired(cx, item, &ledger.value, retired),
            None => retired,
        };
        Some(Step::set_ledger(item, Some(ledger.version), retired))
    });
    let owner = view.owner.as_ref().map(|o| Step::clear_owner(item, o.version));
    // The view may show the owner and not yet the record, which may say that it runs (simulation seed 1024007).
    let unseen =
        (owner.is_some() && view.ledger.is_none()).then_some(Step::absent(NodeKind::Ledger(item)));
    let misfire = view.misfire.then_some(Step::unmark_misfire(item));
    record.into_iter().chain(unseen).chain(owner).chain(misfire).collect()
}

#[cfg(test)]
mod tests {
    use super::super::MAX_ITEMS_PER_PLAN;
    use super::super::scene::{Scene, check, id, idle, item, running_by};
    use super::*;
    use crate::local::Wait;

    /// Two items for two instances where average allocation wants them: item 0 with instance 2, item 1 with 1.
    fn settled() -> Scene {
        Scene::cluster(2, 2).owned(0, 2).owned(1, 1)
    }

    #[test]
    fn the_leader_assigns_when_the_inputs_changed_and_only_then() {
        let waits_for_nobody = || {
            let mut record = settled().plan_record();
            record.pending.insert(item(0), &id(9));
            record
        };
        let rows = vec![
            (
                "nothing is assigned yet",
                Scene::job(2).member(1).led_by(1).requested(),
                "resharding: nothing is assigned yet\n  create ledger/0: idle\n  create sharding/0/instance: 10.0.0.1@-@1\n  create ledger/1: idle\n  create sharding/1/instance: 10.0.0.1@-@1\n  create coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            ("nothing changed", settled(), "nothing"),
            (
                "an instance joined",
                settled().member(3),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.3@-@3\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 3 instances, 0 pending",
            ),
            (
                "an instance is gone",
                settled().gone(2),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "a server was disabled",
                settled().server(2, "DISABLED"),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "more items",
                settled().configure(|c| c.sharding_total_count = 3).due(300),
                "resharding: the number of items changed\n  create ledger/2: idle\n  create sharding/2/instance: 10.0.0.2@-@2\n  set coordination/assignment: 3 items, 2 instances, 0 pending",
            ),
            (
                "fewer items",
                settled().configure(|c| c.sharding_total_count = 1),
                "resharding: the number of items changed\n  set ledger/1: retired\n  delete sharding/1/instance\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
            (
                "items come back",
                settled()
                    .configure(|c| c.sharding_total_count = 3)
                    .ledger(2, idle().retire().unwrap()),
                "resharding: the number of items changed\n  set ledger/2: idle\n  create sharding/2/instance: 10.0.0.2@-@2\n  set coordination/assignment: 3 items, 2 instances, 0 pending",
            ),
            (
                "it was asked for",
                settled().requested(),
                "resharding: it was asked for\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "a Java instance asked for it",
                settled().marked(&NodeKind::Necessary),
                "resharding: it was asked for\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "an item was to wait for somebody who is away, and no longer is",
                settled().assigned(waits_for_nobody()),
                "resharding: an item belongs to nobody who is available\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "somebody has given an item to nobody",
                settled().owned(0, 9),
                "resharding: an item belongs to nobody who is available\n  set sharding/0/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "the stored configuration cannot be used, and the last good one was the last one",
                settled().gone(2).broken_config(),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "it cannot be used, and this leader has missed the last good one",
                settled().gone(2).configure(|c| c.sharding_total_count = 3).broken_config(),
                "nothing",
            ),
            (
                "nobody could take the items",
                settled().server(1, "DISABLED").server(2, "DISABLED"),
                "nothing",
            ),
            ("somebody else leads", settled().member(3).led_by(2), "nothing"),
            (
                "the strategy is unknown",
                settled().configure(|c| c.strategy = "no.such.Strategy".into()),
                "nothing",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn nothing_moves_under_a_run_and_everything_follows_after_it() {
        let pending = |i: u32, n: u32| {
            let mut record = settled().plan_record();
            record.pending.insert(item(i), &id(n));
            record
        };
        let rows = vec![
            (
                "the item that would move runs",
                settled().member(3).ledger(0, running_by(2)),
                "resharding: the available instances changed\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 3 instances, 1 pending",
            ),
            (
                "an item that stays runs",
                settled().gone(2).ledger(1, running_by(1)),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "it still runs",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2)),
                "nothing",
            ),
            (
                "it waits for a taker",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2).orphan().unwrap()),
                "nothing",
            ),
            (
                "it is free now",
                settled().assigned(pending(0, 1)),
                "resharding: items can follow now\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "a surplus item runs",
                settled().configure(|c| c.sharding_total_count = 1).ledger(1, running_by(1)),
                "resharding: the number of items changed\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn what_does_not_fit_one_transaction_follows_in_the_next() {
        let total = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap() + 3;
        let scene = Scene::job(total).member(1).led_by(1).requested();
        let plan = scene.plan(Duty::Resharding).unwrap();
        let owners = plan.steps.iter().filter(|step| step.sets_owner()).count();
        assert_eq!(owners, MAX_ITEMS_PER_PLAN);
        assert!(plan.to_string().ends_with("3 pending"), "{}", plan.reason);
    }

    /// The first line of each plan, and how many items it leaves to follow.
    fn reasons(plans: &[String]) -> Vec<(&str, &str)> {
        let reason = |plan: &'_ str| plan.lines().next().map(str::len).unwrap_or_default();
        let left = |plan: &str| plan.rfind(", ").map_or(0, |at| at + 2);
        plans.iter().map(|plan| (&plan[..reason(plan)], &plan[left(plan)..])).collect()
    }

    #[test]
    fn a_large_assignment_is_written_to_its_end() {
        let most = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap();
        let scene = Scene::job(3 * most + 1).member(1).led_by(1).requested();
        let plans = scene.settle(Duty::Resharding);
        let follow = "resharding: items can follow now";
        let expected = [
            ("resharding: nothing is assigned yet", "1001 pending"),
            (follow, "501 pending"),
            (follow, "1 pending"),
            (follow, "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    #[test]
    fn an_owner_that_is_changed_while_items_follow_is_noticed_at_the_end() {
        let scene = Scene::cluster(64, 2);
        let mut record = scene.plan_record();
        record.counts = [(id(1), 33), (id(2), 31)].into();
        record.pending.insert(item(1), &id(1));
        let plans = scene.assigned(record).owned(3, 1).settle(Duty::Resharding);
        let expected = [
            ("resharding: items can follow now", "0 pending"),
            ("resharding: the owners are not those that were assigned", "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    #[test]
    fn java_instances_are_told_before_items_move_and_their_runs_are_waited_for() {
        let runs = || {
            let mark = NodeKind::Running(item(0));
            Scene::cluster(2, 1).java(2).owned(0, 2).java(3).marked_in_session(&mark)
        };
        let announced = |scene: Scene, over| {
            let wait = Wait { since: Duration::ZERO, over };
            let scene = scene.marked(&NodeKind::Necessary);
            scene.local(|local| local.announced = Some(wait))
        };
        let changed = "resharding: the available instances changed";
        let rows = [
            (
                "a Java instance has come",
                Scene::cluster(2, 1).java(2),
                format!("{changed}\n  create leader/sharding/necessary"),
            ),
            (
                "they know",
                announced(Scene::cluster(2, 1).java(2), false),
                format!(
                    "{changed}\n  set sharding/0/instance: 10.0.0.2@-@2\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
            ("one of them still runs what is to move", announced(runs(), false), "nothing".into()),
            (
                "the leader is disabled, and leaves it to the next one",
                announced(Scene::cluster(2, 1).java(2).server(1, "DISABLED"), false),
                "nothing".into(),
            ),
            (
                "its run takes long",
                announced(runs(), true),
                format!(
                    "{changed}\n  set sharding/1/instance: 10.0.0.2@-@2\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 3 instances, 1 pending"
                ),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Resharding), expected, "{case}");
        }
    }

    /// Item 0 is Java's and is to go to instance 1, item 1 the other way round; both have waited for a run.
    /// It was taken out of the job, and the view shows that in part.
    #[test]
    fn an_item_that_comes_back_keeps_the_owner_that_it_has() {
        let scene = Scene::cluster(2, 1).ledger(1, idle().retire().unwrap());
        let record = AssignmentRecord { total_count: 1, ..scene.plan_record() };
        let back = scene.assigned(record);
        let plan = back.plan(Duty::Resharding).unwrap();
        assert!(back.would_commit(&plan), "{plan}");
        let gone = back.without(&NodeKind::Owner(item(1)));
        assert!(!gone.would_commit(&plan), "{plan}");
    }

    /// The bound on the difference of clocks is 60 s, and it is 1 s after 1970.
    #[test]
    fn a_gap_of_a_wrong_clock_does_not_stop_an_item_that_comes_back() {
        for (until, last) in [(30_001, Some(30_000)), (1_000_000_001, Some(100))] {
            let (first, until) = (FireTime(2_000), FireTime(until));
            let gap = crate::Gap { first, until, count: None, config: None, changed_to: None };
            let retired = idle().retire().unwrap().with_gaps([gap], &[]);
            let scene = Scene::cluster(2, 1).ledger(1, retired);
            let record = AssignmentRecord { total_count: 1, ..scene.plan_record() };
            let plan = scene.assigned(record).plan(Duty::Resharding).unwrap();
            let revived = plan.steps.iter().find_map(|step| {
                let (_, ledger) = step.ledger()?;
                Some(ledger.last_fire)
            });
            assert_eq!(revived, Some(last.map(FireTime)), "{until}: {plan}");
        }
    }

    fn following() -> Scene {
        let scene = Scene::cluster(2, 1).java(2).owned(0, 2).owned(1, 1);
        let mut record = scene.plan_record();
        record.members = vec![id(2), id(1)];
        record.pending.insert(item(0), &id(1));
        scene.assigned(record)
    }

    /// As if instance 1 had announced it in this term, the first or another.
    fn announced_in(scene: Scene, term: u32) -> Scene {
        let mut record = scene.plan_record();
        record.announced = Some(term);
        scene.assigned(record).marked(&NodeKind::Necessary)
    }

    #[test]
    fn java_instances_are_told_before_items_follow_from_them_and_not_of_others() {
        let follow = "resharding: items can follow now";
        let moved = "set sharding/0/instance: 10.0.0.1@-@1\n  delete leader/sharding/necessary";
        let runs = NodeKind::Running(item(0));
        let to_java = || {
            let scene = Scene::cluster(2, 1).java(2).owned(1, 2);
            let mut record = scene.plan_record();
            record.members = vec![id(2), id(1)];
            record.pending.insert(item(0), &id(2));
            scene.assigned(record)
        };
        let rows = [
            (
                "from a Java instance",
                following(),
                format!(
                    "{follow}\n  create leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 1 pending"
                ),
            ),
            ("it runs still", following().marked_in_session(&runs), "nothing".into()),
            (
                "it knows",
                announced_in(following(), 0),
                format!(
                    "{follow}\n  {moved}\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
            (
                "it knows, and had begun the item before",
                announced_in(following(), 0).marked_in_session(&runs),
                format!(
                    "{follow}\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 1 pending"
                ),
            ),
            (
                "from one of ours",
                to_java(),
                format!(
                    "{follow}\n  set sharding/0/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Resharding), expected, "{case}");
        }
    }

    /// What was left has come about in another way.
    #[test]
    fn an_announcement_of_which_nothing_is_left_ends() {
        let scene = following().owned(0, 1);
        let mut record = scene.plan_record();
        record.pending = Pending::default();
        let plans = announced_in(scene.assigned(record), 0).settle(Duty::Resharding);
        let [assigned] = &*plans else { panic!("{plans:?}") };
        assert!(assigned.contains("delete leader/sharding/necessary"), "{assigned}");
    }

    /// Nobody knows what a former leader has meant to write.
    #[test]
    fn what_a_former_leader_has_announced_is_assigned_anew() {
        let wants = announced_in(following(), 7).wants(Duty::Resharding);
        assert!(wants.starts_with("resharding: it was asked for"), "{wants}");
    }

    #[test]
    fn what_was_announced_is_written_to_its_end() {
        let total = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap() + 3;
        let plans = Scene::job(total).member(1).java(2).led_by(1).requested();
        let plans = plans.settle(Duty::Resharding);
        let [announced, first, second] = &*plans else { panic!("{} plans", plans.len()) };
        assert_eq!(
            announced,
            "resharding: nothing is assigned yet\n  create leader/sharding/necessary"
        );
        let cleared = |plan: &String| plan.contains("delete leader/sharding/necessary");
        assert!(!cleared(first) && first.ends_with("3 pending"), "{first}");
        assert!(second.starts_with("resharding: items can follow now"), "{second}");
        assert!(cleared(second) && second.ends_with("0 pending"), "{second}");
    }

    /// Monitoring was on before, and the view shows its end and not yet the records.
    #[test]
    fn an_item_whose_record_was_not_seen_does_not_move_under_a_run() {
        let off = |config: &mut JobConfig| config.monitor_execution = false;
        let scene = Scene::job(2).member(1).member(2).led_by(1).requested().owned(0, 1).owned(1, 1);
        let scene = scene.configure(off);
        let plan = scene.plan(Duty::Resharding).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        assert!(!scene.ledger(0, running_by(1)).would_commit(&plan), "{plan}");
    }

    /// A Java leader has made no record for it, and is gone.
    #[test]
    fn an_item_without_a_record_does_not_move_while_a_java_instance_runs_it() {
        let wait = Wait { since: Duration::ZERO, over: true };
        let scene = Scene::job(2).member(1).java(2).led_by(1).requested().owned(0, 2).owned(1, 2);
        let scene = scene.marked(&NodeKind::Necessary).local(|local| local.announced = Some(wait));
        let free = scene.wants(Duty::Resharding);
        let moved = "set sharding/1/instance: 10.0.0.1@-@1";
        assert!(free.contains(moved), "{free}");
        let begun = scene.marked_in_session(&NodeKind::Running(item(1))).wants(Duty::Resharding);
        assert!(!begun.contains(moved) && begun.contains("1 pending"), "{begun}");
    }

    /// It began the item when the leader had looked.
    #[test]
    fn an_item_that_a_java_instance_begins_meanwhile_does_not_move() {
        let scene = Scene::cluster(2, 1).java(2).owned(0, 2).gone(2).java(2).java(3);
        let scene = scene.marked(&NodeKind::Necessary);
        let plan = scene.plan(Duty::Resharding).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        let begun = scene.marked_in_session(&NodeKind::Running(item(0)));
        assert!(!begun.would_commit(&plan), "{plan}");
    }
}
