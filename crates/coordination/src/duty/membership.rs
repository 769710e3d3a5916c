//! Membership: an instance registers while it takes part, and leaves in order.

use super::Context;
use crate::Duty;
use crate::local::Phase;
use crate::plan::{Plan, Step};

/// Registers this incarnation, creates its server if that is unknown, and marks a draining
/// instance. Removes the nodes of this incarnation when its runs have ended.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let registered = cx.view.is_registered(cx.me);
    let server_known = cx.view.server_version(cx.server).is_some();
    match cx.local.phase {
        // An operator removed an incarnation that was registered before: it leaves instead of
        // registering again.
        Phase::Active if !registered && !cx.local.session.was_registered => register(cx),
        Phase::Active if registered && !server_known => Some(add_server(cx)),
        Phase::Draining if !cx.local.is_busy() => leave(cx),
        Phase::Draining if registered && !cx.view.is_draining(cx.me) => Some(drain(cx)),
        Phase::Active | Phase::Draining if registered => note_waiting(cx),
        Phase::Active | Phase::Draining | Phase::Left => None,
    }
}

/// Registers this instance. The server comes before the instance, because a leader reads both.
/// Without a configuration in force the instance could run no item, so it does not register.
fn register(cx: &Context<'_>) -> Option<Plan> {
    cx.view.config()?;
    let mut plan = Plan::as_session(Duty::Membership, "not registered");
    let server_known = cx.view.server_version(cx.server).is_some();
    if !server_known {
        plan = plan.steps(server(cx));
    }
    // If an operator removed the instance, its name may still exist.
    let needs_name = !cx.view.is_named(cx.me);
    if needs_name && let Some(name) = &cx.settings.stable_name {
        plan = plan.step(Step::set_name(cx.me.clone(), name.clone()));
    }
    Some(plan.step(Step::register(cx.me.clone(), cx.settings.attributes.clone())).step(request(cx)))
}

fn add_server(cx: &Context<'_>) -> Plan {
    Plan::as_instance(Duty::Membership, cx, "the server is unknown")
        .steps(server(cx))
        .step(request(cx))
}

fn drain(cx: &Context<'_>) -> Plan {
    Plan::as_instance(Duty::Membership, cx, "draining until the runs have ended")
        .step(Step::mark_draining(cx.me.clone()))
        .step(request(cx))
}

/// Stores the runs that wait for a place in this process, or removes them when none waits.
fn note_waiting(cx: &Context<'_>) -> Option<Plan> {
    let shown = cx.view.waiting_version(cx.me);
    let wanted = cx.local.waiting.as_ref();
    let step = match (wanted, shown) {
        (None, None) => None,
        (None, Some(_)) => Some(Step::clear_waiting(cx.me.clone())),
        (Some(wanted), _) if cx.view.waiting_runs(cx.me) == Some(wanted) => None,
        (Some(wanted), shown) => Some(Step::set_waiting(cx.me.clone(), shown, wanted.clone())),
    };
    Some(Plan::as_instance(Duty::Membership, cx, "runs wait for a place").step(step?))
}

/// Removes all nodes of this incarnation; `None` if none is left.
fn leave(cx: &Context<'_>) -> Option<Plan> {
    let term = cx.view.term_of(cx.me);
    let registered = cx.view.is_registered(cx.me) || cx.local.session.maybe_registered;
    // The term check proves that the leader's node belongs to this instance.
    let plan = Plan::as_session(Duty::Membership, "leaving")
        .steps(term.map(Step::term_unchanged))
        .step_if(term.is_some(), Step::abdicate)
        .step_if(cx.view.is_draining(cx.me), || Step::unmark_draining(cx.me.clone()))
        .step_if(cx.view.waiting_version(cx.me).is_some(), || Step::clear_waiting(cx.me.clone()))
        .step_if(cx.view.is_named(cx.me), || Step::clear_name(cx.me.clone()))
        .step_if(registered, || Step::deregister(cx.me.clone()))
        .if_any()?;
    // The raised request counter makes the leader give this instance's items to others.
    Some(plan.step(request(cx)))
}

/// Creates the server. A server that is created again has its first version again, so that a
/// counter shows the change to claims and takeovers.
fn server(cx: &Context<'_>) -> [Step; 2] {
    let disabled = cx.view.config().is_some_and(|config| config.disabled);
    let first = cx.view.servers_added().is_none();
    [Step::add_server(cx.server.clone(), disabled), Step::count_server(first)]
}

fn request(cx: &Context<'_>) -> Step {
    Step::request_resharding(cx.view.resharding_requests().is_none())
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
    fn instance_registers_once_and_leaves_when_nothing_runs() {
        let rows = vec![
            (
                "first instance of the job",
                Scene::job(2),
                "membership: not registered\n  create servers/10.0.0.1: enabled\n  create coordination/servers\n  create instances/10.0.0.1@-@1\n  create coordination/request",
            ),
            (
                "server is known, and an operator disabled it",
                Scene::job(2).server(1, "DISABLED").requested(),
                "membership: not registered\n  create instances/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "job starts disabled",
                Scene::job(2).configure(|c| c.disabled = true),
                "membership: not registered\n  create servers/10.0.0.1: disabled\n  create coordination/servers\n  create instances/10.0.0.1@-@1\n  create coordination/request",
            ),
            ("no configuration in force", Scene::job(2).poisoned(), "nothing"),
            ("instance is registered", Scene::job(2).member(1), "nothing"),
            (
                "an operator removed the instance",
                Scene::job(2).local(|local| local.session.was_registered = true),
                "nothing",
            ),
            (
                "instance drains while an item runs",
                draining(Scene::cluster(2, 1).running(0, 1).run_here(0, None)),
                "membership: draining until the runs have ended\n  create coordination/draining/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "instance drains while a claim is in doubt",
                draining(Scene::cluster(2, 1)).local(|local| local.claims.in_flight = true),
                "membership: draining until the runs have ended\n  create coordination/draining/10.0.0.1@-@1\n  set coordination/request",
            ),
            (
                "instance drains, and an operator removed it",
                draining(Scene::cluster(2, 1)).gone(1),
                "membership: leaving\n  delete leader/election/instance\n  set coordination/request",
            ),
            ("instance drains, and no node of it is left", draining(Scene::job(2)), "nothing"),
            (
                "server was removed",
                Scene::cluster(2, 1).without_server(1),
                "membership: the server is unknown\n  create servers/10.0.0.1: enabled\n  create coordination/servers\n  set coordination/request",
            ),
            (
                "instance drains, and the end of a run is not recorded yet",
                draining(Scene::cluster(2, 1).running(0, 1).run_here(0, Some(Outcome::Succeeded)))
                    .marked(&NodeKind::Draining(id(1))),
                "nothing",
            ),
            (
                "leader drains, and nothing runs",
                draining(Scene::cluster(2, 1)).marked(&NodeKind::Draining(id(1))),
                "membership: leaving\n  delete leader/election/instance\n  delete coordination/draining/10.0.0.1@-@1\n  delete instances/10.0.0.1@-@1\n  set coordination/request",
            ),
        ];
        check(Duty::Membership, rows);
    }

    #[test]
    fn waiting_runs_are_stored_and_removed() {
        let waiting = crate::WaitingRuns::of_items(4, 1_000, vec![sharding::ShardingItem::new(1)]);
        let waits = |scene: Scene| scene.local(|local| local.waiting = waiting.clone());
        let shown = waiting.as_ref().unwrap();
        let stored = "membership: runs wait for a place\n  create coordination/waiting/10.0.0.1@-@1: 1 for one of 4 places";
        let rows = vec![
            ("runs wait", waits(Scene::cluster(2, 1)), stored),
            (
                "instance is not registered",
                waits(Scene::cluster(2, 1).gone(1))
                    .local(|local| local.session.was_registered = true),
                "nothing",
            ),
            (
                "no run waits any more",
                Scene::cluster(2, 1).waiting(1, shown),
                "membership: runs wait for a place\n  delete coordination/waiting/10.0.0.1@-@1",
            ),
            (
                "instance leaves",
                draining(Scene::cluster(2, 2)).marked(&NodeKind::Draining(id(1))).waiting(1, shown),
                "membership: leaving\n  delete leader/election/instance\n  delete coordination/draining/10.0.0.1@-@1\n  delete coordination/waiting/10.0.0.1@-@1\n  delete instances/10.0.0.1@-@1\n  set coordination/request",
            ),
        ];
        check(Duty::Membership, rows);
    }

    /// If the deregistration conflicts, the registration never took effect.
    #[test]
    fn leaving_removes_registration_in_doubt() {
        let scene = draining(Scene::job(2)).local(|local| local.session.maybe_registered = true);
        let expected =
            "membership: leaving\n  delete instances/10.0.0.1@-@1\n  create coordination/request";
        assert_eq!(scene.wants(Duty::Membership), expected);
    }
}
