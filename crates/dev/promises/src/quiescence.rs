//! The rules of quiescent states, in which no event has to happen any more.

use coordination::internals::ViewQueries as _;
use coordination::{
    ItemView, JobView, Layout, LedgerState, NodeKind, ServerState, Slot, server_of,
};
use reg_center::NodePath;
use sharding::{InstanceId, ShardingItem};

use crate::{Breach, Finding};

/// Judges L3: an available instance leads, in the last term.
#[must_use]
pub fn no_leader(view: &JobView) -> Option<Finding> {
    let leads = |leader: &InstanceId| view.is_available(leader) && view.term_of(leader).is_some();
    if view.leader().is_some_and(leads) {
        return None;
    }
    Some(Finding::new(Breach::NoLeader, format!("the leader is {:?}", view.leader())))
}

/// Judges S9: the assignment matches the available instances, the configuration and the last
/// request, and each pending item waits for a run.
///
/// Joins and requests have no effect under static sharding.
#[must_use]
pub fn stale_assignment(view: &JobView) -> Option<Finding> {
    let config = view.config()?;
    let found = |text: String| Some(Finding::new(Breach::NotAssigned, text));
    let Some(assignment) = view.assignment() else {
        return found("there is no assignment".to_owned());
    };
    let record = &assignment.value;
    let made_for = (record.total_count, record.strategy.as_str());
    let in_force = (config.sharding_total_count, config.strategy.as_str());
    if made_for != in_force {
        return found(format!(
            "the assignment is for {made_for:?}; the configuration has {in_force:?}"
        ));
    }
    let mut pending = record.pending.iter().map(|(item, _)| item);
    if let Some(item) = pending.find(|item| !waits_for_run(view, *item)) {
        return found(format!("item {item} is pending, and no run delays its move"));
    }
    if config.static_sharding {
        return None;
    }
    let available = view.available();
    if record.members != available {
        return found(format!(
            "the assignment is for {:?}; available are {available:?}",
            record.members
        ));
    }
    let asked = view.resharding_requests().map(|request| request.0);
    if asked != Some(record.handled) {
        return found(format!(
            "request {asked:?} was made; the assignment handled {}",
            record.handled
        ));
    }
    None
}

/// Judges L1: each item of the job has an available owner, or a run delays its move.
#[must_use]
pub fn unavailable_owner(view: &JobView) -> Option<Finding> {
    let total = view.config()?.sharding_total_count;
    let is_owned = |item: ShardingItem| {
        let owner = view.item(item).owner.as_ref();
        owner.is_some_and(|owner| view.is_available(&owner.value) || waits_for_run(view, item))
    };
    let item = (0..total).map(ShardingItem::new).find(|item| !is_owned(*item))?;
    let owner = view.item(item).owner.as_ref().map(|owner| &owner.value);
    let text = format!("item {item} has the owner {owner:?}, which is not available");
    Some(Finding::new(Breach::NotOwned, text))
}

/// Returns true if the item has an unfinished run that no instance can complete or take over.
fn waits_for_run(view: &JobView, item: ShardingItem) -> bool {
    let mut of_item = slots(view).filter(|(slot, _)| slot.item == item);
    of_item.any(|(_, shown)| shown.is_busy()) && !can_start_runs(view)
}

/// Returns all slots of all items.
pub(crate) fn slots(view: &JobView) -> impl Iterator<Item = (Slot, &ItemView)> {
    view.items().map(|(item, shown)| (Slot::of(item), shown)).chain(view.further_slots())
}

/// Returns true if an available instance is on an enabled server.
#[must_use]
pub fn can_start_runs(view: &JobView) -> bool {
    let able = |server| view.server_state(&server) == Some(ServerState::Enabled);
    view.available().iter().filter_map(server_of).any(able)
}

/// Returns true if the server of the item's owner is paused or disabled. The fire runs after the
/// pause, or the owner reports it with the next one.
#[must_use]
pub fn waits_for_operator(view: &JobView, item: ShardingItem) -> bool {
    let owner = view.item(item).owner.as_ref();
    let server = owner.and_then(|owner| server_of(&owner.value));
    server.is_some_and(|server| view.server_state(&server) != Some(ServerState::Enabled))
}

/// Judges L2, if instances can start runs: no run is unfinished, and no item of the job is retired.
#[must_use]
pub fn unfinished_run(view: &JobView) -> Option<Finding> {
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    let is_unfinished = |(slot, of): &(Slot, &ItemView)| {
        let state = of.ledger.as_ref().map(|ledger| &ledger.value.state);
        of.is_busy() || (slot.item.index() < total && state == Some(&LedgerState::Retired))
    };
    let (item, of) = slots(view).find(is_unfinished)?;
    Some(Finding::new(Breach::Unfinished, format!("item {item} is not idle: {}", summary(of))))
}

/// Judges L2: noted fires wait only for an operator.
#[must_use]
pub fn waiting_misfire(view: &JobView) -> Option<Finding> {
    let waits = |(item, of): &(ShardingItem, &ItemView)| {
        let noted = of.ledger.as_ref().is_some_and(|ledger| ledger.value.misfire.is_some());
        noted && !of.is_disabled() && !waits_for_operator(view, *item)
    };
    let (item, of) = view.items().find(waits)?;
    let text = format!("item {item} has noted fires that no instance runs: {}", summary(of));
    Some(Finding::new(Breach::Unfinished, text))
}

/// Judges L7, if instances can start runs: no mark, queue entry or surplus item contradicts the
/// records.
#[must_use]
pub fn stale_mark(view: &JobView) -> Option<Finding> {
    let config = view.config();
    let total = config.map_or(0, |config| config.sharding_total_count);
    let is_monitored = config.is_some_and(|config| config.monitor_execution);
    let is_stale = |(slot, of): &(Slot, &ItemView)| {
        let noted = of.ledger.as_ref().is_some_and(|ledger| ledger.value.misfire.is_some());
        let is_surplus = slot.number == 0 && slot.item.index() >= total && of.is_surplus();
        let is_misfire_stale = is_monitored && of.misfire != noted;
        of.marks.shows_run()
            || of.marks.failover.is_some()
            || of.queued
            || is_misfire_stale
            || is_surplus
    };
    let (item, of) = slots(view).find(is_stale)?;
    Some(Finding::new(Breach::NotCleanedUp, format!("item {item}: {of:?}")))
}

/// Judges L7: no node of a leaving instance or of a manual request remains among these nodes.
#[must_use]
pub fn stale_node<'a>(
    layout: &Layout,
    paths: impl IntoIterator<Item = &'a NodePath>,
) -> Option<Finding> {
    let is_stale = |path: &&NodePath| {
        let kind = layout.parse(path);
        matches!(
            kind,
            Some(
                NodeKind::Draining(_)
                    | NodeKind::Waiting(_)
                    | NodeKind::Permit(_)
                    | NodeKind::TriggerRequest(_)
            )
        )
    };
    let path = paths.into_iter().find(is_stale)?;
    Some(Finding::new(Breach::NotCleanedUp, format!("the node {path} remains")))
}

/// Judges S12: an instance that has left is not registered and holds no run.
#[must_use]
pub fn leftover_of(view: &JobView, left: &InstanceId) -> Option<Finding> {
    let holds = |of: &ItemView| {
        let run = of.ledger.as_ref().and_then(|ledger| ledger.value.running());
        run.is_some_and(|run| run.holder == *left)
    };
    if view.is_registered(left) {
        return Some(Finding::new(Breach::Leftover, format!("{left} has left and is registered")));
    }
    let (item, _) = slots(view).find(|(_, of)| holds(of))?;
    Some(Finding::new(Breach::Leftover, format!("{left} has left and holds a run of item {item}")))
}

fn summary(of: &ItemView) -> String {
    of.ledger.as_ref().map_or("no record".to_owned(), |ledger| ledger.value.summary())
}
