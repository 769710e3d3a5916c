//! Membership: be registered while taking part; leave in order.

use super::{Context, Duty};
use crate::local::Phase;
use crate::plan::{Plan, Step};

/// Registers this life, announces that it drains, and takes it out when nothing runs any more.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let registered = cx.view.is_registered(cx.me);
    match cx.local.phase {
        Phase::Active if !registered && !cx.local.was_registered => Some(register(cx)),
        Phase::Draining if registered && cx.local.runs.is_empty() => Some(leave(cx)),
        Phase::Draining if registered && !cx.view.is_draining(cx.me) => Some(drain(cx)),
        Phase::Active | Phase::Draining | Phase::Left => None,
    }
}

/// The server comes before the instance, because a leader reads both.
fn register(cx: &Context<'_>) -> Plan {
    let disabled = cx.view.config().is_some_and(|config| config.disabled);
    let server = || Step::AddServer { ip: cx.server.clone(), disabled };
    Plan::as_session(Duty::Membership, "not registered")
        .step_if(cx.view.server_version(cx.server).is_none(), server)
        .step(Step::Register(cx.me.clone()))
        .step(request(cx))
}

fn drain(cx: &Context<'_>) -> Plan {
    Plan::as_instance(Duty::Membership, cx, "leaving when the runs have ended")
        .step(Step::MarkDraining(cx.me.clone()))
        .step(request(cx))
}

fn leave(cx: &Context<'_>) -> Plan {
    let leads = cx.view.leader() == Some(cx.me);
    Plan::as_session(Duty::Membership, "leaving")
        .step_if(leads, || Step::Abdicate)
        .step_if(cx.view.is_draining(cx.me), || Step::UnmarkDraining(cx.me.clone()))
        .step(Step::Deregister(cx.me.clone()))
        .step(request(cx))
}

fn request(cx: &Context<'_>) -> Step {
    Step::RequestResharding { first: cx.view.request().is_none() }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id};
    use super::*;
    use crate::Outcome;
    use crate::layout::NodeKind;

    fn draining(scene: Scene) -> Scene {
        scene.local(|local| local.phase = Phase::Draining)
    }

    #[test]
    fn an_instance_registers_once_and_leaves_when_nothing_runs() {
        let rows = vec![
            (
                "first in the namespace",
                Scene::job(2),
                "membership: not registered\n  add server 10.0.0.1\n  register 10.0.0.1@-@1\n  request resharding",
            ),
            (
                "known server, disabled by an operator",
                Scene::job(2).server(1, "DISABLED").requested(),
                "membership: not registered\n  register 10.0.0.1@-@1\n  request resharding",
            ),
            (
                "job that comes up disabled",
                Scene::job(2).configure(|c| c.disabled = true),
                "membership: not registered\n  add server 10.0.0.1, disabled\n  register 10.0.0.1@-@1\n  request resharding",
            ),
            ("registered", Scene::job(2).member(1), "nothing"),
            (
                "taken out by somebody else",
                Scene::job(2).local(|local| local.was_registered = true),
                "nothing",
            ),
            (
                "leaving while an item runs",
                draining(Scene::cluster(2, 1).running(0, 1).run_here(0, None)),
                "membership: leaving when the runs have ended\n  10.0.0.1@-@1 drains\n  request resharding",
            ),
            (
                "leaving while the end of a run is not recorded yet",
                draining(Scene::cluster(2, 1).running(0, 1).run_here(0, Some(Outcome::Succeeded)))
                    .marked(&NodeKind::Draining(id(1))),
                "nothing",
            ),
            (
                "leaving with nothing running, as leader",
                draining(Scene::cluster(2, 1)).marked(&NodeKind::Draining(id(1))),
                "membership: leaving\n  abdicate\n  10.0.0.1@-@1 has drained\n  deregister 10.0.0.1@-@1\n  request resharding",
            ),
        ];
        check(Duty::Membership, rows);
    }
}
