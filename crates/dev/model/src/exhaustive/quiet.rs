//! What must hold when nothing is left to do.

use coordination::internals::ViewQueries as _;
use coordination::{ItemView, JobView, LedgerState, NodeKind, Phase, ServerState, server_of};
use reg_center::NodePath;
use sharding::ShardingItem;

use super::rule::Breach;
use super::scope::{fire_time, instance};
use super::state::{Process, Standing, State};
use super::world::World;

/// Returns what is wrong with a state in which nobody wants anything and everything has ended.
pub(super) fn breach(world: &World, state: &State) -> Option<Breach> {
    let view = world.view(&state.registry);
    let up = || state.processes.iter().filter(|process| process.standing == Standing::Up);
    let rules: [(Breach, bool); 8] = [
        (Breach::Leftover, has_leftovers(state, &view)),
        (Breach::NotRegistered, up().any(|process| !is_registered(process, &view))),
        (Breach::NeverLeaves, up().any(|process| process.memory.local.phase != Phase::Active)),
        (Breach::NoLeader, !is_led(&view)),
        (Breach::NotAssigned, !is_assigned(&view)),
        (Breach::Unfinished, is_unfinished(&view)),
        (Breach::NotAccounted, is_anybody_able(&view) && !is_accounted(world, state, &view)),
        (Breach::Litter, has_litter(world, state, &view) || up().any(|process| !is_idle(process))),
    ];
    rules.into_iter().find_map(|(breach, holds)| holds.then_some(breach))
}

fn is_registered(process: &Process, view: &JobView) -> bool {
    let me = instance(process.index, process.life);
    view.is_registered(&me) || process.memory.local.phase != Phase::Active
}

/// Somebody available leads, if anybody is available.
fn is_led(view: &JobView) -> bool {
    view.available().is_empty()
        || view
            .leader()
            .is_some_and(|leader| view.is_available(leader) && view.term_of(leader).is_some())
}

/// The assignment is for what is the case, and everything has followed.
fn is_assigned(view: &JobView) -> bool {
    let members = view.available();
    let Some(config) = view.config().filter(|_| !members.is_empty()) else { return true };
    let Some(assignment) = view.assignment() else { return false };
    let record = &assignment.value;
    let owned = (0..config.sharding_total_count).map(ShardingItem::new).all(|item| {
        let owner = view.item(item).owner.as_ref();
        let waits = view.item(item).is_busy() && !is_anybody_able(view);
        owner.is_some_and(|owner| members.contains(&owner.value) || waits)
    });
    record.members == members
        && record.total_count == config.sharding_total_count
        && record
            .pending
            .iter()
            .all(|(item, _)| view.item(item).is_busy() && !is_anybody_able(view))
        && Some(record.handled) == view.request().map(|request| request.0)
        && owned
}

/// Somebody may start runs.
fn is_anybody_able(view: &JobView) -> bool {
    let able = |ip| view.server_state(&ip) == Some(ServerState::Enabled);
    view.available().iter().filter_map(server_of).any(able)
}

/// A run is left over although somebody could end it or take it over.
fn is_unfinished(view: &JobView) -> bool {
    is_anybody_able(view) && view.items().any(|(_, item)| item.is_busy())
}

fn is_accounted(world: &World, state: &State, view: &JobView) -> bool {
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    (0..total.min(world.scope.items)).all(|index| {
        let item = view.item(ShardingItem::new(index));
        let facts = state.items[usize::try_from(index).expect("there are few items")];
        let Some(ledger) = &item.ledger else { return world.scope.fires == 0 };
        let held_back = waits_for_operator(view, ShardingItem::new(index));
        let waits = ledger.value.misfire.is_some()
            && !item.is_disabled()
            && !held_back
            && !view.available().is_empty();
        let fires = 0..world.scope.fires;
        let settled =
            |fire: u8| ledger.value.has_settled(fire_time(fire)) || facts.missed & (1 << fire) != 0;
        !waits && (held_back || fires.into_iter().all(settled))
    })
}

/// The item belongs to an instance on whose server an operator lets nothing start: its fire is run when that ends, or
/// told of with the next one.
fn waits_for_operator(view: &JobView, item: ShardingItem) -> bool {
    let owner = view.item(item).owner.as_ref();
    let server = owner.and_then(|owner| server_of(&owner.value));
    server.is_some_and(|server| view.server_state(&server) != Some(ServerState::Enabled))
}

/// Marks and entries say what the records say, and the processes remember nothing that is over.
fn has_litter(world: &World, state: &State, view: &JobView) -> bool {
    if !is_anybody_able(view) {
        return false;
    }
    let total = view.config().map_or(0, |config| config.sharding_total_count);
    let items = view.items().any(|(item, entry)| {
        let ledger = entry.ledger.as_ref().map(|ledger| &ledger.value);
        let noted = ledger.is_some_and(|ledger| ledger.misfire.is_some());
        let surplus = item.index() >= total
            && (entry.owner.is_some() || ledger.is_some_and(|l| l.state != LedgerState::Retired));
        entry.running
            || entry.failover.is_some()
            || entry.queued
            || entry.misfire != noted
            || surplus
    });
    let lives: Vec<NodePath> = state
        .processes
        .iter()
        .filter(|process| process.standing.has_session())
        .map(|process| world.path(&NodeKind::Instance(instance(process.index, process.life))))
        .collect();
    let strangers =
        view.instances().any(|id| !lives.contains(&world.path(&NodeKind::Instance(id.clone()))));
    items || strangers || view.triggers().next().is_some()
}

/// A claim in doubt may stay so until the next one, which settles it.
fn is_idle(process: &Process) -> bool {
    let local = &process.memory.local;
    local.runs.is_empty()
        && local.unmonitored_request.is_none()
        && local.wanted_triggers.is_empty()
        && local.calls.is_empty()
        && !local.is_claiming
}

/// Whoever has left has no node, holds no run and leads nothing.
fn has_leftovers(state: &State, view: &JobView) -> bool {
    let left = state.processes.iter().filter(|process| process.standing == Standing::Left);
    left.into_iter().any(|process| {
        let me = instance(process.index, process.life);
        let holds = |(_, item): (ShardingItem, &ItemView)| {
            item.ledger.as_ref().and_then(|l| l.value.running()).is_some_and(|run| run.holder == me)
        };
        let owns = state.registry.nodes().any(|(_, entry)| {
            entry.owner == Some(super::scope::session(process.index, process.life))
        });
        owns || view.items().any(holds)
    })
}
