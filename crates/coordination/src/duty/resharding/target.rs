//! Target of a resharding: the owners that the items get, and the reason.

use std::collections::{BTreeMap, BTreeSet};

use sharding::{
    Assignment, InstanceAttributes, InstanceId, PlacementReason, ShardingItem, ShardingStrategy,
    StrategyInput, StrategyRegistry,
};

use super::static_sharding;
use crate::duty::Context;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::pending::Pending;
use crate::view::JobView;
use crate::view::item::Attention;
use crate::{JobConfig, UnknownFields};

/// Reason of a resharding that only moves pending items.
pub(crate) const PENDING: &str = "pending items can move";
const STRAY: &str = "an item has no available owner";

/// Owners that the items get, with the reason and the record of the assignment.
pub(crate) struct Target {
    pub(crate) reason: &'static str,
    pub(crate) record: AssignmentRecord,
    pub(crate) owners: Owners,
}

/// Owners that the items get.
pub(crate) enum Owners {
    /// The strategy, or static sharding, chose each owner anew.
    Chosen(Assignment),
    /// Each item keeps its owner, or moves to its next owner.
    Kept,
}

/// Returns the error of the strategy, if resharding is needed and the owners that it chose cannot
/// be used.
pub(crate) fn strategy_failure(cx: &Context<'_>) -> Option<String> {
    wanted(cx, cx.view.config_to_lead_by()?, &cx.view.available()).err()
}

/// Returns the target; `None` if the items have reached it, or if no instance is available.
///
/// # Errors
/// Fails if the owners that the strategy chose cannot be used.
pub(crate) fn target(cx: &Context<'_>, config: &JobConfig) -> Result<Option<Target>, String> {
    let members = cx.view.available();
    let Some((reason, owners)) = wanted(cx, config, &members)? else { return Ok(None) };
    let (current, request) = (cx.view.assignment(), cx.view.resharding_requests());
    let record = match &owners {
        Owners::Kept => current.map(|current| current.value.clone()),
        Owners::Chosen(owners) => request.map(|request| AssignmentRecord {
            names: static_sharding::names(cx.view, &members, owners),
            total_count: config.sharding_total_count,
            strategy: config.strategy.clone(),
            handled: request.0,
            placement: cx.view.placement_hash(config, &members),
            members,
            unknown: current.map_or_else(UnknownFields::default, |it| it.value.unknown.clone()),
            ..AssignmentRecord::default()
        }),
    };
    Ok(record.map(|record| Target { reason, record, owners }))
}

/// Returns the owners that the items get, and the reason.
fn wanted(
    cx: &Context<'_>,
    config: &JobConfig,
    members: &[InstanceId],
) -> Result<Option<(&'static str, Owners)>, String> {
    // The write checks the request counter and the term, and a partial view cannot decide for all
    // items.
    if cx.view.resharding_requests().is_none()
        || members.is_empty()
        || cx.view.term_of(cx.me).is_none()
        || !cx.shows_all()
    {
        return Ok(None);
    }
    let current = cx.view.assignment().map(|assignment| &assignment.value);
    let owners = || cx.view.planned_owners(current.map_or(0, |record| record.total_count));
    if let Some(reason) = reason(cx, current, members, config) {
        let chosen = assign(cx.view, cx.strategies, cx.now.wall_ms, config, members, &owners())?;
        return Ok(Some((reason, Owners::Chosen(chosen))));
    }
    if let Some(owners) = static_sharding::replace_lost(cx.view, config, members, owners) {
        return Ok(Some(("items of lost instances get new owners", Owners::Chosen(owners))));
    }
    Ok(cx.view.is_resharding_unfinished(config).then_some((PENDING, Owners::Kept)))
}

/// Returns why the current assignment does not fit; `None` if it fits.
fn reason(
    cx: &Context<'_>,
    current: Option<&AssignmentRecord>,
    members: &[InstanceId],
    config: &JobConfig,
) -> Option<&'static str> {
    let Some(current) = current else { return Some("no items are assigned yet") };
    let view = cx.view;
    // Instances that join or leave raise the counter, and static sharding ignores them.
    let handled = config.static_sharding
        || view.resharding_requests().is_some_and(|request| request.0 == current.handled);
    let membership_matters = !config.static_sharding;
    let other_members = membership_matters && current.members != members;
    let other_total = current.total_count != config.sharding_total_count;
    let other_strategy = current.strategy != config.strategy;
    let other_placement =
        membership_matters && current.placement != view.placement_hash(config, members);
    let asked_for = !handled || view.is_resharding_requested_by_java(current, config);
    let total = config.sharding_total_count;
    let strays = || membership_matters && has_strays(view, members, &current.pending, total);
    let rows = [
        (other_members, "the available instances changed"),
        (other_total, "the number of items changed"),
        (other_strategy, "the strategy changed"),
        (other_placement, "the placement rules or attributes changed"),
        (asked_for, "resharding was requested"),
    ];
    let reason = rows.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
    let miscounted = || is_miscounted(view, current).then_some("owners differ from the assignment");
    // This can look at every item, so it comes last.
    let stray = || strays().then_some(STRAY);
    reason.or_else(miscounted).or_else(stray)
}

/// Returns true if a member has another number of items than the record says, because an operator
/// changed owners. An instance with a narrow watch knows only by this number that it sees all of
/// its items.
fn is_miscounted(view: &JobView, current: &AssignmentRecord) -> bool {
    let done = current.pending.is_empty() && view.has_exactly(current.total_count);
    let differs = |(member, count): (_, &u32)| usize::try_from(*count) != Ok(view.count_of(member));
    done && current.counts.iter().any(differs)
}

/// Returns true if an item has neither an available owner nor an available next owner: an operator
/// changed its owner, or static sharding was turned off while instances were away.
fn has_strays(view: &JobView, members: &[InstanceId], pending: &Pending, total_count: u32) -> bool {
    let available: BTreeSet<&InstanceId> = members.iter().collect();
    let is_away = |owner: &InstanceId| !available.contains(owner);
    if pending.next_owners().any(is_away) {
        return true;
    }
    let in_force = |item: &ShardingItem| item.index() < total_count;
    let has_no_next_owner = |item| !pending.has(item);
    let unowned = view.items_with(Attention::Unowned).map(|(item, _)| item);
    if unowned.take_while(in_force).any(has_no_next_owner) {
        return true;
    }
    let away = view.owners().filter(|owner| is_away(owner));
    let items_of = |owner| view.items_of(owner).map(|(item, _)| item).take_while(in_force);
    if away.flat_map(items_of).any(has_no_next_owner) {
        return true;
    }
    has_unknown_stray(view, pending, total_count)
}

/// Returns true if an unknown item, which has no owner, has no next owner either.
fn has_unknown_stray(view: &JobView, pending: &Pending, total_count: u32) -> bool {
    let n_unknown = view.n_unknown(total_count);
    if n_unknown == 0 {
        return false;
    }
    let n_unknown_within = |(first, last, _)| view.n_unknown_within(first, last);
    n_unknown > pending.ranges().map(n_unknown_within).sum()
}

/// Owners that a hypothetical resharding would give to the items, with the reason for each item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedAssignment {
    /// Owner of each item.
    pub owners: Assignment,
    /// Reason for the owner of each item.
    pub reasons: Vec<PlacementReason>,
}

impl JobView {
    /// Computes the assignment to these available instances under `config`, by the code of a Rust
    /// leader. `joining` has the attributes of instances that are not registered; those of others
    /// that are missing are the defaults.
    ///
    /// `now_ms` is the wall time in milliseconds since 1970 UTC, which one strategy uses. The
    /// result does not show which busy items would be pending.
    ///
    /// # Errors
    /// The text describes the fault of the strategy or of its result.
    pub fn assignment_for(
        &self,
        members: &[InstanceId],
        joining: &BTreeMap<InstanceId, InstanceAttributes>,
        config: &JobConfig,
        strategies: &StrategyRegistry,
        now_ms: i64,
    ) -> Result<PlannedAssignment, String> {
        // Strategies expect the instances in the order in which a leader passes them.
        let mut members = members.to_vec();
        sharding::sort_descending(&mut members);
        let current = self.assignment().map(|assignment| &assignment.value);
        let previous = self.planned_owners(current.map_or(0, |record| record.total_count));
        let mut attributes = self.attributes();
        attributes.extend(joining.iter().map(|(id, given)| (id.clone(), given.clone())));
        let input = input(config, &members, &attributes, &previous, now_ms);
        let strategy = strategies.get(&config.strategy).map_err(|error| error.to_string())?;
        let same_inputs = |record: &AssignmentRecord| {
            record.total_count == config.sharding_total_count && record.strategy == config.strategy
        };
        let owners = if config.static_sharding && current.is_some_and(same_inputs) {
            static_sharding::replace_lost(self, config, &members, || previous.clone())
                .unwrap_or_else(|| previous.clone())
        } else {
            checked(&*strategy, &input)?
        };
        let reasons = strategy.explain(&input, &owners);
        Ok(PlannedAssignment { owners, reasons })
    }
}

fn assign(
    view: &JobView,
    strategies: &StrategyRegistry,
    now_ms: i64,
    config: &JobConfig,
    members: &[InstanceId],
    previous: &Assignment,
) -> Result<Assignment, String> {
    let strategy = strategies.get(&config.strategy).map_err(|error| error.to_string())?;
    let attributes = view.attributes();
    checked(&*strategy, &input(config, members, &attributes, previous, now_ms))
}

fn input<'a>(
    config: &'a JobConfig,
    members: &'a [InstanceId],
    attributes: &'a BTreeMap<InstanceId, InstanceAttributes>,
    previous: &'a Assignment,
    now_ms: i64,
) -> StrategyInput<'a> {
    StrategyInput::new(config.job_name.as_str(), members, config.sharding_total_count)
        .with_attributes(attributes)
        .with_rules(&config.placement)
        .with_previous(previous)
        .with_now_ms(now_ms)
}

/// Returns the owners that the strategy chooses. Strategies can be the user's code, so they are
/// checked.
fn checked(
    strategy: &dyn ShardingStrategy,
    input: &StrategyInput<'_>,
) -> Result<Assignment, String> {
    let owners = strategy.assign(input);
    let (name, assigned, total) = (strategy.name(), owners.total_count(), input.total_count);
    let is_available = |owner: &&InstanceId| input.instances.contains(owner);
    let unavailable = owners.owners().iter().find(|owner| !is_available(owner));
    if let Some(unavailable) = unavailable {
        return Err(format!("{name} chose {unavailable}, which is not available"));
    }
    if assigned != total {
        return Err(format!("{name} assigned {assigned} items; the job has {total}"));
    }
    if !owners.is_total() {
        return Err(format!("{name} left items without an owner"));
    }
    Ok(owners)
}
