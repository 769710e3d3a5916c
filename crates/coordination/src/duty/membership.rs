//! Membership: be registered while taking part; leave in order.

use super::{Context, Duty};
use crate::local::Phase;
use crate::plan::{Plan, Step};

/// Registers this life, puts its server back, announces that it drains, and takes it out when nothing runs any more.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let registered = cx.view.is_registered(cx.me);
    let server_known = cx.view.server_version(cx.server).is_some();
    match cx.local.phase {
        Phase::Active if !registered && !cx.local.was_registered => register(cx),
        Phase::Active if registered && !server_known => Some(add_server(cx)),
        Phase::Draining if !cx.local.is_busy() => leave(cx),
        Phase::Draining if registered && !cx.view.is_draining(cx.me) => Some(drain(cx)),
        Phase::Active | Phase::Draining | Phase::Left => None,
    }
}

/// The server comes before the instance, because a leader reads both. Whoever has no configuration in force could run
/// nothing that it is given, and stays out.
fn register(cx: &Context<'_>) -> Option<Plan> {
    cx.view.config()?;
    let server_known = cx.view.server_version(cx.server).is_some();
    // The name may have outlived the registration, if somebody took the instance away.
    let name = cx.settings.stable_name.clone();
    let again = !cx.view.is_named(cx.me);
    let name = name.filter(|_| again);
    let name = name.map(|name| Step::set_name(cx.me.clone(), name));
    let plan = Plan::as_session(Duty::Membership, "not registered")
        .steps((!server_known).then(|| server(cx)).into_iter().flatten())
        .steps(name)
        .step(Step::register(cx.me.clone()))
        .step(request(cx));
    Some(plan)
}

fn add_server(cx: &Context<'_>) -> Plan {
    Plan::as_instance(Duty::Membership, cx, "the server is unknown")
        .steps(server(cx))
        .step(request(cx))
}

fn drain(cx: &Context<'_>) -> Plan {
    Plan::as_instance(Duty::Membership, cx, "leaving when the runs have ended")
        .step(Step::mark_draining(cx.me.clone()))
        .step(request(cx))
}

/// Takes away whatever there is of this life. `None` if there is nothing left.
fn leave(cx: &Context<'_>) -> Option<Plan> {
    let term = cx.view.term_of(cx.me);
    let registered = cx.view.is_registered(cx.me) || cx.local.maybe_registered;
    let plan = Plan::as_session(Duty::Membership, "leaving")
        .steps(term.map(Step::term_unchanged))
        .step_if(term.is_some(), Step::abdicate)
        .step_if(cx.view.is_draining(cx.me), || Step::unmark_draining(cx.me.clone()))
        .step_if(cx.view.is_named(cx.me), || Step::clear_name(cx.me.clone()))
        .step_if(registered, || Step::deregister(cx.me.clone()))
        .if_any()?;
    Some(plan.step(request(cx)))
}

/// A server that comes back has its first version again: the counter tells those who rely on it.
fn server(cx: &Context<'_>) -> [Step; 2] {
    let disabled = cx.view.config().is_some_and(|config| config.disabled);
    let first = cx.view.servers_added().is_none();
    [Step::add_server(cx.server.clone(), disabled), Step::count_server(first)]
}

fn request(cx: &Context<'_>) -> Step {
    Step::request_resharding(cx.view.request().is_none())
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id};
    use super::*;
    use crate::Outcome;
    use crate::wire::NodeKind;

    fn draining(scene: Scene) -> Scene {
        scene.local(|local| local.phase = Phase::Draining)
    }

    #[test]
    fn an_instance_registers_once_and_leaves_when_nothing_runs() {
        let rows = vec![
            (
                "first in the namespace",
                Scene::job(2),
                "membership: not registered\n  create servers/10.0.0.1: enabled\n  create coordination/servers\n  create instances/10.0.0.1@-@1\n  create coordination/request",
            ),
            (
                "known server, disabled by an operator",
                Scene::job(2).server(1, "DISABLED").requested(),
                "membership: not registered\n  create instances/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "job that comes up disabled",
                Scene::job(2).configure(|c| c.disabled = true),
                "membership: not registered\n  create servers/10.0.0.1: disabled\n  create coordination/servers\n  create instances/10.0.0.1@-@1\n  create coordination/request",
            ),
            ("no configuration in force", Scene::job(2).poisoned(), "nothing"),
            ("registered", Scene::job(2).member(1), "nothing"),
            (
                "taken out by somebody else",
                Scene::job(2).local(|local| local.was_registered = true),
                "nothing",
            ),
            (
                "leaving while an item runs",
                draining(Scene::cluster(2, 1).running(0, 1).run_here(0, None)),
                "membership: leaving when the runs have ended\n  create coordination/draining/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "leaving while a claim is under way",
                draining(Scene::cluster(2, 1)).local(|local| local.is_claiming = true),
                "membership: leaving when the runs have ended\n  create coordination/draining/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "leaving although an operator has taken the instance out",
                draining(Scene::cluster(2, 1)).gone(1),
                "membership: leaving\n  delete leader/election/instance\n  set coordination/request",
            ),
            ("leaving with nothing left", draining(Scene::job(2)), "nothing"),
            (
                "the server was removed",
                Scene::cluster(2, 1).without_server(1),
                "membership: the server is unknown\n  create servers/10.0.0.1: enabled\n  create coordination/servers\n  set coordination/request",
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
                "membership: leaving\n  delete leader/election/instance\n  delete coordination/draining/10.0.0.1@-@1\n  delete instances/10.0.0.1@-@1\n  set coordination/request",
            ),
        ];
        check(Duty::Membership, rows);
    }

    /// A conflict on the deregistration then tells that it never was.
    #[test]
    fn a_registration_that_may_be_on_its_way_is_taken_out_as_well() {
        let scene = draining(Scene::job(2)).local(|local| local.maybe_registered = true);
        let expected =
            "membership: leaving\n  delete instances/10.0.0.1@-@1\n  create coordination/request";
        assert_eq!(scene.wants(Duty::Membership), expected);
    }
}
