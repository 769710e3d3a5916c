//! The properties of quiescent states, in which no event has to happen any more.
//!
//! The crate `promises` has the rules about the job. This module adds those about processes.

use coordination::internals::ViewQueries as _;
use coordination::{JobView, Phase};
use promises::{Breach, can_start_runs, leftover_of, waits_for_operator};
use sharding::ShardingItem;

use super::scope::{fire_time, instance, session};
use super::state::{Process, State, Status};
use super::world::World;

/// Returns the first property that a quiescent state violates, if any.
pub(super) fn breach(world: &World, state: &State) -> Option<Breach> {
    let view = world.view(&state.registry);
    breach_of_processes(state, &view)
        .or_else(|| breach_of_assignment(&view))
        .or_else(|| breach_of_runs(world, state, &view))
        .or_else(|| has_local_work(state).then_some(Breach::NotCleanedUp))
}

fn breach_of_processes(state: &State, view: &JobView) -> Option<Breach> {
    let up = || state.processes.iter().filter(|process| process.status == Status::Up);
    let rules = [
        (Breach::Leftover, has_leftovers(state, view)),
        (Breach::NotRegistered, up().any(|process| !is_registered(process, view))),
        (Breach::NotLeft, up().any(|process| process.memory.local.phase != Phase::Active)),
    ];
    rules.into_iter().find_map(|(breach, is_violated)| is_violated.then_some(breach))
}

/// Judges the leader and the owners. Without an available instance there is none of them.
fn breach_of_assignment(view: &JobView) -> Option<Breach> {
    if view.available().is_empty() {
        return None;
    }
    let found = promises::no_leader(view)
        .or_else(|| promises::stale_assignment(view))
        .or_else(|| promises::unavailable_owner(view));
    found.map(|finding| finding.breach)
}

/// Judges runs, fires and nodes. They wait while no instance can start runs.
fn breach_of_runs(world: &World, state: &State, view: &JobView) -> Option<Breach> {
    if !can_start_runs(view) {
        return None;
    }
    if let Some(finding) = promises::unfinished_run(view) {
        return Some(finding.breach);
    }
    if !is_accounted(world, state, view) {
        return Some(Breach::NotAccounted);
    }
    let paths = state.registry.nodes().map(|(path, _)| path);
    let found = promises::waiting_misfire(view)
        .or_else(|| promises::stale_mark(view))
        .or_else(|| promises::stale_node(&world.layout, paths));
    if let Some(finding) = found {
        return Some(finding.breach);
    }
    has_unexpected_instance(state, view).then_some(Breach::NotCleanedUp)
}

fn is_registered(process: &Process, view: &JobView) -> bool {
    let me = instance(process.index, process.incarnation);
    view.is_registered(&me) || process.memory.local.phase != Phase::Active
}

/// Returns true if the records settle all fires, or instances have reported them as missed or will
/// do so at the next fire, which may lie beyond the scope.
fn is_accounted(world: &World, state: &State, view: &JobView) -> bool {
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    (0..total.min(world.scope.items)).map(ShardingItem::new).all(|item| {
        let index = usize::try_from(item.index()).expect("the scope has few items");
        let missed = state.items[index].missed;
        let Some(ledger) = &view.item(item).ledger else { return world.scope.fires == 0 };
        let is_settled = |fire: u8| {
            ledger.value.has_settled(fire_time(fire))
                || missed & (1 << fire) != 0
                || will_report(state, view, item, fire)
        };
        waits_for_operator(view, item) || (0..world.scope.fires).all(is_settled)
    })
}

/// Returns true if the owner of the item missed the fire before the item came to it.
fn will_report(state: &State, view: &JobView, item: ShardingItem, fire: u8) -> bool {
    let mut up = state.processes.iter().filter(|process| process.status == Status::Up);
    up.any(|process| {
        let me = instance(process.index, process.incarnation);
        let missed = process.memory.local.fires.missed_by_all.as_ref();
        missed.is_some_and(|it| it.at == fire_time(fire) && !it.reported.contains(&item))
            && view.accounted_by(&me, view.items()).any(|(owned, _)| owned == item)
    })
}

/// Returns true if a registered instance has no session.
fn has_unexpected_instance(state: &State, view: &JobView) -> bool {
    let with_session = state.processes.iter().filter(|process| process.status.has_session());
    let live: Vec<_> =
        with_session.map(|process| instance(process.index, process.incarnation)).collect();
    view.instances().any(|id| !live.contains(id))
}

/// Returns true if a process has work. A claim with an unknown outcome is ignored, because it stays
/// in doubt until the next claim.
fn has_local_work(state: &State) -> bool {
    let mut up = state.processes.iter().filter(|process| process.status == Status::Up);
    up.any(|process| {
        let local = &process.memory.local;
        !local.runs.is_empty()
            || local.requests.unmonitored.is_some()
            || !local.requests.wanted.is_empty()
            || !local.calls.is_empty()
            || local.claims.in_flight
    })
}

/// Returns true if an instance that has left still owns a node or holds a run.
fn has_leftovers(state: &State, view: &JobView) -> bool {
    let mut left = state.processes.iter().filter(|process| process.status == Status::Left);
    left.any(|process| {
        let me = instance(process.index, process.incarnation);
        let session = session(process.index, process.incarnation);
        let owns_node = state.registry.nodes().any(|(_, entry)| entry.owner == Some(session));
        owns_node || leftover_of(view, &me).is_some()
    })
}
