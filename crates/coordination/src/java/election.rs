//! Election beside Java instances: contenders take turns, in the order of a latch.

use reg_center::Version;

use super::turn::{Turn, leave, turn};
use crate::duty::Context;
use crate::duty::election::{abdicate, is_eligible, stand};
use crate::plan::{Plan, Step};
use crate::wire::NodeKind;
use crate::{Duty, Latch};

/// Elects this instance in its turn if no leader exists. Abdicates if this instance leads and is
/// not eligible.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let eligible = is_eligible(cx);
    let wanted = match cx.view.leader() {
        None if eligible => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !eligible => abdicate(cx),
        Some(leader) if leader == cx.me => seal(cx),
        None | Some(_) => None,
    };
    wanted.or_else(|| leave(cx, Duty::Election, Latch::Election))
}

/// Elects this instance in its turn, or after it has waited for
/// [`LATCH_PATIENCE`](super::memory::LATCH_PATIENCE). In that case the Java instance that has the
/// turn may replace the leader's node, which ends the term.
fn stand_in_turn(cx: &Context<'_>) -> Option<Plan> {
    match turn(cx, Latch::Election) {
        Turn::Free => Some(stand_sealed(cx)),
        Turn::Mine(leave) | Turn::Impatient(leave) => Some(stand_sealed(cx).step(leave)),
        Turn::Join(join) => {
            let plan =
                Plan::as_instance(Duty::Election, cx, "no leader, and Java instances take part");
            Some(plan.step(Step::absent(NodeKind::Leader)).step(join))
        }
        Turn::Rejoin(steps) => {
            Some(Plan::as_instance(Duty::Election, cx, "other contenders came first").steps(steps))
        }
        Turn::Wait => None,
    }
}

/// Elects this instance and seals the leader's node. A Java instance that becomes the leader
/// replaces the node and ignores the term, so that leaders check the node's raised version as well.
fn stand_sealed(cx: &Context<'_>) -> Plan {
    stand(cx).step_if(cx.view.takes_turns(), || Step::seal_leader(cx.me.clone()))
}

/// Seals the leader's node if this instance was elected before Java instances took part.
fn seal(cx: &Context<'_>) -> Option<Plan> {
    let unsealed = cx.view.leader_version() == Some(Version(0)) && cx.view.takes_turns();
    if !unsealed {
        return None;
    }
    let term = Step::term_unchanged(cx.view.term_of(cx.me)?);
    let plan = Plan::as_instance(Duty::Election, cx, "Java instances take part now");
    Some(plan.step(term).step(Step::seal_leader(cx.me.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, id};
    use crate::local::wait::Wait;
    use crate::wire::latch::name_of;
    use std::time::Duration;

    const OF_JAVA: &str = "_c_0e8b0a2c-3f41-4c15-9d3b-5b4b3f0c6c11-latch-0000000003";

    fn mine(number: u32) -> String {
        name_of(&id(1), number)
    }

    /// Instance 1, Java instance 2, and no leader.
    fn mixed() -> Scene {
        Scene::job(1).member(1).java(2)
    }

    #[test]
    fn election_beside_java_instances_follows_the_latch() {
        let join = |number: u32| {
            format!(
                "election: no leader, and Java instances take part\n  create leader/election/latch/me-{number:010}"
            )
        };
        let stand = |number: u32| {
            format!(
                "election: no leader\n  create leader/election/instance: 10.0.0.1@-@1\n  create coordination/term: 10.0.0.1@-@1\n  set leader/election/instance: 10.0.0.1@-@1\n  delete leader/election/latch/me-{number:010}"
            )
        };
        let leave = "election: this instance no longer needs its turn\n  delete leader/election/latch/me-0000000004";
        let in_line = |scene: Scene, name: &str| scene.in_line(Latch::Election, name);
        let waits = |scene: Scene, over| {
            let wait = Wait { since: Duration::ZERO, over };
            scene.local(|local| local.java.latch_waits.extend([(Latch::Election, wait)]))
        };
        let behind = || in_line(in_line(mixed(), OF_JAVA), &mine(4));
        let rows = [
            ("a Java instance takes part", mixed(), join(0)),
            ("a Java instance stands at the latch", in_line(Scene::job(1).member(1), OF_JAVA), join(4)),
            ("instance is the only contender", in_line(mixed(), &mine(0)), stand(0)),
            ("instance is the first contender", in_line(in_line(mixed(), &mine(0)), OF_JAVA), stand(0)),
            ("a Java instance is first", waits(behind(), false), "nothing".to_owned()),
            ("a Java instance is first for long", waits(behind(), true), stand(4)),
            (
                "a Java instance is first and has a greater number",
                in_line(in_line(mixed(), OF_JAVA), &mine(0)),
                "election: other contenders came first\n  delete leader/election/latch/me-0000000000\n  create leader/election/latch/me-0000000004".to_owned(),
            ),
            (
                "a Java instance is first and has the same number",
                in_line(in_line(mixed(), OF_JAVA), &mine(3)),
                "election: other contenders came first\n  delete leader/election/latch/me-0000000003\n  create leader/election/latch/me-0000000004".to_owned(),
            ),
            (
                "Java instances are gone",
                in_line(Scene::job(1).member(1), &mine(4)),
                "election: no leader\n  create leader/election/instance: 10.0.0.1@-@1\n  create coordination/term: 10.0.0.1@-@1\n  delete leader/election/latch/me-0000000004".to_owned(),
            ),
            ("a Java instance leads", behind().led_by_java(2), leave.to_owned()),
            ("no leader exists, and the server is disabled", behind().server(1, "DISABLED"), leave.to_owned()),
            (
                "leader is disabled",
                Scene::cluster(1, 1).java(2).server(1, "DISABLED"),
                "election: the leader is no longer available\n  delete leader/election/instance\n  create leader/sharding/necessary".to_owned(),
            ),
            (
                "leader is disabled, and a resharding is announced",
                Scene::cluster(1, 1).java(2).server(1, "DISABLED").marked(&NodeKind::Necessary),
                "election: the leader is no longer available\n  delete leader/election/instance".to_owned(),
            ),
            (
                "leader was elected without Java instances",
                Scene::cluster(1, 1).java(2),
                "election: Java instances take part now\n  set leader/election/instance: 10.0.0.1@-@1".to_owned(),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Election), expected, "{case}");
        }
    }

    #[test]
    fn sealed_leader_node_is_not_sealed_again() {
        let scene = Scene::cluster(1, 1).java(2);
        let seal = scene.plan(Duty::Election).unwrap();
        assert!(!scene.commit_once(Duty::Election).would_commit(&seal), "{seal}");
    }

    #[test]
    fn only_contender_leads_and_leaves_the_latch() {
        let plans = mixed().settle(Duty::Election);
        assert_eq!(plans.len(), 2, "{plans:?}");
    }

    #[test]
    fn latch_number_is_above_all_numbers_in_view() {
        let joined = |scene: Scene| scene.plan(Duty::Election).unwrap().steps.pop();
        let step = |number| Step::join_latch(Latch::Election, mine(number));
        assert_eq!(joined(mixed()), Some(step(0)));
        assert_eq!(joined(mixed().in_line(Latch::Election, OF_JAVA)), Some(step(4)));
    }
}
