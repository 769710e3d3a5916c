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
