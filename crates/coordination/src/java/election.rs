//! Election beside Java instances: they stand one at a time, in the order of a latch.

use reg_center::Version;

use super::latch::Latch;
use super::turn::{Turn, leave, turn};
use crate::duty::election::{abdicate, is_eligible, stand};
use crate::duty::{Context, Duty};
use crate::plan::{Plan, Step};
use crate::wire::NodeKind;

/// Stands in turn if there is no leader; abdicates if this instance leads and is not available.
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

/// Stands when it is this instance's turn, or after it has waited for long: a Java instance whose turn it still is may then
/// replace the leader's node, which ends the term.
fn stand_in_turn(cx: &Context<'_>) -> Option<Plan> {
    match turn(cx, Latch::Election) {
        Turn::Free => Some(stand_sealed(cx)),
        Turn::Mine(leave) | Turn::Impatient(leave) => Some(stand_sealed(cx).step(leave)),
        Turn::Join(join) => {
            let plan = Plan::as_instance(Duty::Election, cx, "no leader, and Java instances take part");
            Some(plan.step(Step::absent(NodeKind::Leader)).step(join))
        }
        Turn::Rejoin(steps) => {
            Some(Plan::as_instance(Duty::Election, cx, "other contenders came first").steps(steps))
        }
        Turn::Wait => None,
    }
}

/// A Java instance that takes over replaces the leader's node and leaves the term alone. So the node gets a version that a new
/// node has not, and leaders check that version.
fn stand_sealed(cx: &Context<'_>) -> Plan {
    stand(cx).step_if(cx.view.takes_turns(), || Step::seal_leader(cx.me.clone()))
}

/// Seals the node of a leader that was elected before Java instances came.
fn seal(cx: &Context<'_>) -> Option<Plan> {
    let unsealed = cx.view.leader_version() == Some(Version(0)) && cx.view.takes_turns();
    let term = Step::term_unchanged(cx.view.term_of(cx.me).filter(|_| unsealed)?);
    let plan = Plan::as_instance(Duty::Election, cx, "Java instances take part now");
    Some(plan.step(term).step(Step::seal_leader(cx.me.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, id};
    use crate::java::latch::name_of;
    use crate::local::Wait;
    use std::time::Duration;

    const OF_JAVA: &str = "_c_0e8b0a2c-3f41-4c15-9d3b-5b4b3f0c6c11-latch-0000000003";

    fn mine(number: u32) -> String {
        name_of(&id(1), number)
    }

    /// Instance 1, a Java instance, and nobody who leads.
    fn mixed() -> Scene {
        Scene::job(1).member(1).java(2)
    }

    #[test]
    fn among_java_instances_one_stands_at_a_time() {
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
        let leave =
            "election: this instance no longer needs its turn\n  delete leader/election/latch/me-0000000004";
        let in_line = |scene: Scene, name: &str| scene.in_line(Latch::Election, name);
        let waits = |scene: Scene, over| {
            let wait = Wait { since: Duration::ZERO, over };
            scene.local(|local| local.java.latch_waits.extend([(Latch::Election, wait)]))
        };
        let behind = || in_line(in_line(mixed(), OF_JAVA), &mine(4));
        let rows = [
            ("a Java instance is there", mixed(), join(0)),
            ("one is about to come", in_line(Scene::job(1).member(1), OF_JAVA), join(4)),
            ("it is the first", in_line(mixed(), &mine(0)), stand(0)),
            ("it came first", in_line(in_line(mixed(), &mine(0)), OF_JAVA), stand(0)),
            ("Java came first", waits(behind(), false), "nothing".to_owned()),
            ("Java came first and does not go", waits(behind(), true), stand(4)),
            (
                "Java came first, with a greater number: it waits for this one",
                in_line(in_line(mixed(), OF_JAVA), &mine(0)),
                "election: other contenders came first\n  delete leader/election/latch/me-0000000000\n  create leader/election/latch/me-0000000004".to_owned(),
            ),
            (
                "Java came first, with the same number",
                in_line(in_line(mixed(), OF_JAVA), &mine(3)),
                "election: other contenders came first\n  delete leader/election/latch/me-0000000003\n  create leader/election/latch/me-0000000004".to_owned(),
            ),
            (
                "Java has gone for good",
                in_line(Scene::job(1).member(1), &mine(4)),
                "election: no leader\n  create leader/election/instance: 10.0.0.1@-@1\n  create coordination/term: 10.0.0.1@-@1\n  delete leader/election/latch/me-0000000004".to_owned(),
            ),
            ("Java leads", behind().led_by_java(2), leave.to_owned()),
            ("nobody leads, and my server is disabled", behind().server(1, "DISABLED"), leave.to_owned()),
            (
                "it leads, and its server is disabled",
                Scene::cluster(1, 1).java(2).server(1, "DISABLED"),
                "election: the leader is no longer available\n  delete leader/election/instance\n  create leader/sharding/necessary".to_owned(),
            ),
            (
                "it leads, is disabled, and Java instances know",
                Scene::cluster(1, 1).java(2).server(1, "DISABLED").marked(&NodeKind::Necessary),
                "election: the leader is no longer available\n  delete leader/election/instance".to_owned(),
            ),
            (
                "it leads, and was elected without Java instances",
                Scene::cluster(1, 1).java(2),
                "election: Java instances take part now\n  set leader/election/instance: 10.0.0.1@-@1".to_owned(),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Election), expected, "{case}");
        }
    }

    #[test]
    fn a_node_that_is_sealed_is_not_sealed_again() {
        let scene = Scene::cluster(1, 1).java(2);
        let seal = scene.plan(Duty::Election).unwrap();
        assert!(!scene.commit_once(Duty::Election).would_commit(&seal), "{seal}");
    }

    #[test]
    fn whoever_stands_in_line_alone_leads_and_leaves_nothing_behind() {
        let plans = mixed().settle(Duty::Election);
        assert_eq!(plans.len(), 2, "{plans:?}");
    }

    #[test]
    fn numbers_follow_the_greatest_that_is_seen() {
        let joined = |scene: Scene| scene.plan(Duty::Election).unwrap().steps.pop();
        let step = |number| Step::join_latch(Latch::Election, mine(number));
        assert_eq!(joined(mixed()), Some(step(0)));
        assert_eq!(joined(mixed().in_line(Latch::Election, OF_JAVA)), Some(step(4)));
    }
}
