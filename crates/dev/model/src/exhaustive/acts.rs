//! What operators do.

use std::sync::Arc;

use coordination::internals::{NOW, TRIGGER, ViewQueries as _};
use coordination::{Event, JobConfig, NodeKind, Phase, ServerState, encode_config};
use reg_center::Txn;
use sharding::ShardingItem;

use super::label::{Draft, Label};
use super::scope::{Act, OPERATOR, item, server};
use super::state::{Standing, State};
use super::world::World;

pub(super) fn drafts(world: &World, state: &State, drafts: &mut Vec<Draft>) {
    if state.spent.acts >= world.scope.acts {
        return;
    }
    for act in &world.scope.choices {
        if let Some(mut draft) = draft(world, state, *act) {
            draft.next.spent.acts += 1;
            drafts.push(draft.optional());
        }
    }
}

fn draft(world: &World, state: &State, act: Act) -> Option<Draft> {
    if let Act::Drain(p) = act {
        let process = &state.processes[p];
        let active = process.memory.local.phase == Phase::Active;
        let drains = process.standing == Standing::Up && active;
        return drains
            .then(|| Draft::new(Label::Operator(act), world.told(state, p, Event::Drain)));
    }
    let txn = txn(world, state, act)?;
    let (registry, written) = state.registry.commit(&world.layout, OPERATOR, &txn).ok()?;
    let next = State { registry: Arc::new(registry), ..state.clone() };
    Some(Draft { written, ..Draft::new(Label::Operator(act), next) })
}

/// Returns what an operator writes; `None` if there is nothing to write, or the act is not a write.
pub(super) fn txn(world: &World, state: &State, act: Act) -> Option<Txn> {
    let view = world.view(&state.registry);
    let config = view.config()?;
    let total = config.sharding_total_count;
    let put = |kind: &NodeKind, data: String| Txn::new().put(world.path(kind), data);
    let store = |config: &JobConfig| put(&NodeKind::Config, encode_config(config));
    let of_total = |sharding_total_count| {
        store(&JobConfig { sharding_total_count, ..JobConfig::clone(config) })
    };
    let node = |p: usize| NodeKind::Instance(world.id(p, state.processes[p].life).clone());
    Some(match act {
        Act::DisableServer(p) => world.layout.set_server(&server(p), ServerState::Disabled),
        Act::PauseServer(p) => world.layout.set_server(&server(p), ServerState::Paused),
        Act::EnableServer(p) => world.layout.set_server(&server(p), ServerState::Enabled),
        Act::DisableItem(i) => world.layout.set_item_disabled(item(i), true),
        Act::EnableItem(i) => world.layout.set_item_disabled(item(i), false),
        Act::Request => {
            let all = None::<[ShardingItem; 0]>;
            world.layout.request_run("asked", "operator", NOW.wall_ms, all)
        }
        Act::Shrink if total > 1 => of_total(total - 1),
        Act::Grow if total < world.scope.items => of_total(total + 1),
        Act::FailoverOff => store(&JobConfig { failover: false, ..JobConfig::clone(config) }),
        Act::ClearMark(i) => Txn::new().delete(world.path(&NodeKind::Running(item(i)))),
        Act::RemoveLeader => Txn::new().delete(world.path(&NodeKind::Leader)),
        Act::Remove(p) => Txn::new().delete(world.path(&node(p))),
        // Requests are named after a version, and all versions are the same here: one at a time.
        Act::Trigger(p) if view.triggers().next().is_none() => put(&node(p), TRIGGER.to_owned()),
        Act::Shrink | Act::Grow | Act::Trigger(_) | Act::Drain(_) => return None,
    })
}
