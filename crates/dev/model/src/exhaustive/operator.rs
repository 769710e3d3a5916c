//! Operator actions.

use std::sync::Arc;

use coordination::internals::{NOW, TRIGGER, ViewQueries as _};
use coordination::{
    CancelRequest, Event, JobConfig, NodeKind, OperatorStep, Phase, ServerState, encode_config,
};
use reg_center::Txn;
use sharding::ShardingItem;

use super::label::{Draft, Label};
use super::scope::{OPERATOR, OperatorAction, item, server};
use super::state::{State, Status};
use super::world::World;

pub(super) fn drafts(world: &World, state: &State, drafts: &mut Vec<Draft>) {
    if state.spent.operator_actions >= world.scope.operator_actions {
        return;
    }
    for action in &world.scope.allowed_actions {
        if let Some(mut draft) = draft(world, state, *action) {
            draft.next.spent.operator_actions += 1;
            drafts.push(draft.optional());
        }
    }
}

fn draft(world: &World, state: &State, action: OperatorAction) -> Option<Draft> {
    if let OperatorAction::Drain(p) = action {
        let process = &state.processes[p];
        let active = process.memory.local.phase == Phase::Active;
        let drains = process.status == Status::Up && active;
        return drains.then(|| {
            Draft::new(Label::Operator(action), world.deliver_event(state, p, Event::Drain))
        });
    }
    let txn = txn(world, state, action)?;
    let (registry, written) = state.registry.commit(&world.layout, OPERATOR, &txn).ok()?;
    let next = State { registry: Arc::new(registry), ..state.clone() };
    Some(Draft { written, ..Draft::new(Label::Operator(action), next) })
}

/// Returns the transaction of an operator action, or `None` if the action writes nothing.
pub(super) fn txn(world: &World, state: &State, action: OperatorAction) -> Option<Txn> {
    let view = world.view(&state.registry);
    let config = view.config()?;
    let total = config.sharding_total_count;
    let put = |kind: &NodeKind, data: String| Txn::new().put(world.path(kind), data);
    let store = |config: &JobConfig| put(&NodeKind::Config, encode_config(config));
    let of_total = |sharding_total_count| {
        store(&JobConfig::clone(config).with(|it| it.sharding_total_count = sharding_total_count))
    };
    let node = |p: usize| NodeKind::Instance(world.id(p, state.processes[p].incarnation).clone());
    Some(match action {
        OperatorAction::DisableServer(p) => {
            world.layout.set_server(&server(p), ServerState::Disabled)
        }
        OperatorAction::PauseServer(p) => world.layout.set_server(&server(p), ServerState::Paused),
        OperatorAction::EnableServer(p) => {
            world.layout.set_server(&server(p), ServerState::Enabled)
        }
        OperatorAction::DisableItem(i) => world.layout.set_item_disabled(item(i), true),
        OperatorAction::EnableItem(i) => world.layout.set_item_disabled(item(i), false),
        OperatorAction::Request => {
            let all = None::<[ShardingItem; 0]>;
            world.layout.request_run("asked", "operator", NOW.wall_ms, all)
        }
        OperatorAction::Cancel(i) => {
            let record = view.item(item(i)).ledger.as_ref()?;
            let token = record.value.token;
            let request = CancelRequest::new(token, "operator", "model", NOW.wall_ms)?;
            let ledger = Box::new(record.value.with_cancel_request(request)?);
            let (item, version) = (item(i), record.version);
            world.layout.change(&[OperatorStep::RequestCancel { item, ledger, version }])
        }
        OperatorAction::Shrink if total > 1 => of_total(total - 1),
        OperatorAction::Grow if total < world.scope.items => of_total(total + 1),
        OperatorAction::FailoverOff => {
            store(&JobConfig::clone(config).with(|it| it.failover = false))
        }
        OperatorAction::ClearMark(i) => Txn::new().delete(world.path(&NodeKind::Running(item(i)))),
        OperatorAction::RemoveLeader => Txn::new().delete(world.path(&NodeKind::Leader)),
        OperatorAction::Remove(p) => Txn::new().delete(world.path(&node(p))),
        // A request is named after a version. All versions are equal here, so only one fits at a
        // time.
        OperatorAction::Trigger(p) if view.triggers().next().is_none() => {
            put(&node(p), TRIGGER.to_owned())
        }
        OperatorAction::Shrink
        | OperatorAction::Grow
        | OperatorAction::Trigger(_)
        | OperatorAction::Drain(_) => return None,
    })
}
