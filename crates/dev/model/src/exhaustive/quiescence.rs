//! The properties of quiescent states, in which no event has to happen any more.

use coordination::internals::ViewQueries as _;
use coordination::{ItemView, JobView, LedgerState, NodeKind, Phase, ServerState, server_of};
use reg_center::NodePath;
use sharding::ShardingItem;

use super::rule::Breach;
use super::scope::{fire_time, instance};
use super::state::{Process, State, Status};
use super::world::World;

/// Returns the first property that a quiescent state violates, if any.
pub(super) fn breach(world: &World, state: &State) -> Option<Breach> {
    let view = world.view(&state.registry);
    let up = || state.processes.iter().filter(|process| process.status == Status::Up);
    let rules: [(Breach, bool); 8] = [
        (Breach::Leftover, has_leftovers(state, &view)),
        (Breach::NotRegistered, up().any(|process| !is_registered(process, &view))),
        (Breach::NotLeft, up().any(|process| process.memory.local.phase != Phase::Active)),
        (Breach::NoLeader, !is_led(&view)),
        (Breach::NotAssigned, !is_assigned(&view)),
        (Breach::Unfinished, is_unfinished(&view)),
        (Breach::NotAccounted, can_start_runs(&view) && !is_accounted(world, state, &view)),
        (
            Breach::NotCleanedUp,
            needs_cleanup(world, state, &view) || up().any(|process| !is_idle(process)),
        ),
    ];
    rules.into_iter().find_map(|(breach, holds)| holds.then_some(breach))
}

fn is_registered(process: &Process, view: &JobView) -> bool {
    let me = instance(process.index, process.incarnation);
    view.is_registered(&me) || process.memory.local.phase != Phase::Active
}

/// Returns true if an available instance leads, or no instance is available.
fn is_led(view: &JobView) -> bool {
    view.available().is_empty()
        || view
            .leader()
            .is_some_and(|leader| view.is_available(leader) && view.term_of(leader).is_some())
}

/// Returns true if the assignment matches the instances, the configuration and the last request,
/// and no item is pending that could get its next owner.
fn is_assigned(view: &JobView) -> bool {
    let members = view.available();
    let Some(config) = view.config().filter(|_| !members.is_empty()) else { return true };
    let Some(assignment) = view.assignment() else { return false };
    let record = &assignment.value;
    let owned = (0..config.sharding_total_count).map(ShardingItem::new).all(|item| {
        let owner = view.item(item).owner.as_ref();
        let waits = view.item(item).is_busy() && !can_start_runs(view);
        owner.is_some_and(|owner| members.contains(&owner.value) || waits)
    });
    record.members == members
        && record.total_count == config.sharding_total_count
        && record.pending.iter().all(|(item, _)| view.item(item).is_busy() && !can_start_runs(view))
        && Some(record.handled) == view.request().map(|request| request.0)
        && owned
}

/// Returns true if an available instance is on an enabled server.
fn can_start_runs(view: &JobView) -> bool {
    let able = |ip| view.server_state(&ip) == Some(ServerState::Enabled);
    view.available().iter().filter_map(server_of).any(able)
}

/// Returns true if a run is unfinished although an instance could complete it or take it over.
fn is_unfinished(view: &JobView) -> bool {
    can_start_runs(view) && view.items().any(|(_, item)| item.is_busy())
}

fn is_accounted(world: &World, state: &State, view: &JobView) -> bool {
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    (0..total.min(world.scope.items)).all(|index| {
        let item = view.item(ShardingItem::new(index));
        let facts = state.items[usize::try_from(index).expect("the scope has few items")];
        let Some(ledger) = &item.ledger else { return world.scope.fires == 0 };
        let operator_blocks = waits_for_operator(view, ShardingItem::new(index));
        let waits = ledger.value.misfire.is_some()
            && !item.is_disabled()
            && !operator_blocks
            && !view.available().is_empty();
        let fires = 0..world.scope.fires;
        let settled =
            |fire: u8| ledger.value.has_settled(fire_time(fire)) || facts.missed & (1 << fire) != 0;
        !waits && (operator_blocks || fires.into_iter().all(settled))
    })
}

/// Returns true if the owner's server is paused or disabled. The fire runs after the pause, or the
/// owner reports it with the next one.
fn waits_for_operator(view: &JobView, item: ShardingItem) -> bool {
    let owner = view.item(item).owner.as_ref();
    let server = owner.and_then(|owner| server_of(&owner.value));
    server.is_some_and(|server| view.server_state(&server) != Some(ServerState::Enabled))
}

/// Returns true if a mark or queue entry contradicts its ledger record, or a stale node remains.
fn needs_cleanup(world: &World, state: &State, view: &JobView) -> bool {
    if !can_start_runs(view) {
        return false;
    }
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    let items = view.items().any(|(item, entry)| {
        let ledger = entry.ledger.as_ref().map(|ledger| &ledger.value);
        let noted = ledger.is_some_and(|ledger| ledger.misfire.is_some());
        let surplus = item.index() >= total
            && (entry.owner.is_some() || ledger.is_some_and(|l| l.state != LedgerState::Retired));
        entry.marks.shows_run()
            || entry.marks.failover.is_some()
            || entry.queued
            || entry.misfire != noted
            || surplus
    });
    let live_instances: Vec<NodePath> = state
        .processes
        .iter()
        .filter(|process| process.status.has_session())
        .map(|process| {
            world.path(&NodeKind::Instance(instance(process.index, process.incarnation)))
        })
        .collect();
    let unexpected_instances = view
        .instances()
        .any(|id| !live_instances.contains(&world.path(&NodeKind::Instance(id.clone()))));
    items || unexpected_instances || view.triggers().next().is_some()
}

/// Returns true if a process has no work. A claim with an unknown outcome is ignored, because it
/// stays in doubt until the next claim.
fn is_idle(process: &Process) -> bool {
    let local = &process.memory.local;
    local.runs.is_empty()
        && local.requests.unmonitored.is_none()
        && local.requests.wanted.is_empty()
        && local.calls.is_empty()
        && !local.claims.in_flight
}

/// Returns true if an instance that has left still owns a node or holds a run.
fn has_leftovers(state: &State, view: &JobView) -> bool {
    let left = state.processes.iter().filter(|process| process.status == Status::Left);
    left.into_iter().any(|process| {
        let me = instance(process.index, process.incarnation);
        let holds = |(_, item): (ShardingItem, &ItemView)| {
            item.ledger.as_ref().and_then(|l| l.value.running()).is_some_and(|run| run.holder == me)
        };
        let owns = state.registry.nodes().any(|(_, entry)| {
            entry.owner == Some(super::scope::session(process.index, process.incarnation))
        });
        owns || view.items().any(holds)
    })
}
