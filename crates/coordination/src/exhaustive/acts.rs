//! What operators do.

use std::sync::Arc;

use reg_center::Txn;
use sharding::ShardingItem;

use super::label::{Draft, Label};
use super::scope::{Act, OPERATOR, instance, item, server};
use super::state::{Standing, State};
use super::world::World;
use crate::coordinator::seat::NOW;
use crate::layout::{NodeKind, TRIGGER};
use crate::local::Phase;
use crate::{Event, JobConfig, ServerState, encode_config};

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
    let view = world.view(&state.registry);
    let config = view.config()?;
    let total = config.sharding_total_count;
    let put = |kind: &NodeKind, data: String| Txn::new().put(world.path(kind), data);
    let store = |config: &JobConfig| put(&NodeKind::Config, encode_config(config));
    let id = |p: usize| instance(p, state.processes[p].life);
    let txn = match act {
        Act::DisableServer(p) => world.layout.set_server(&server(p), ServerState::Disabled),
        Act::PauseServer(p) => world.layout.set_server(&server(p), ServerState::Paused),
        Act::EnableServer(p) => world.layout.set_server(&server(p), ServerState::Enabled),
        Act::DisableItem(i) => world.layout.set_item_disabled(item(i), true),
        Act::EnableItem(i) => world.layout.set_item_disabled(item(i), false),
        Act::Request => world.layout.request_run("asked", "operator", NOW.wall_ms, None::<[ShardingItem; 0]>),
        Act::Shrink if total > 1 => {
            store(&JobConfig { sharding_total_count: total - 1, ..JobConfig::clone(config) })
        }
        Act::Grow if total < world.scope.items => {
            store(&JobConfig { sharding_total_count: total + 1, ..JobConfig::clone(config) })
        }
        Act::FailoverOff => store(&JobConfig { failover: false, ..JobConfig::clone(config) }),
        Act::Remove(p) => Txn::new().delete(world.path(&NodeKind::Instance(id(p)))),
        // Requests are named after a version, and all versions are the same here: one at a time.
        Act::Trigger(p) if view.triggers().next().is_none() => put(&NodeKind::Instance(id(p)), TRIGGER.to_owned()),
        Act::Shrink | Act::Grow | Act::Trigger(_) => return None,
        Act::Drain(p) => {
            let process = &state.processes[p];
            let active = process.memory.local.phase == Phase::Active;
            let next = (process.standing == Standing::Up && active).then(|| world.told(state, p, Event::Drain))?;
            return Some(Draft::new(Label::Operator(act), next));
        }
    };
    let (registry, written) = state.registry.commit(&world.layout, OPERATOR, &txn).ok()?;
    let next = State { registry: Arc::new(registry), ..state.clone() };
    Some(Draft { written, ..Draft::new(Label::Operator(act), next) })
}
