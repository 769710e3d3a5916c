//! Additions to every plan beside Java instances: further guards, and the marks by which Java
//! instances see runs.

use reg_center::{Lifetime, Version};

use crate::Duty;
use crate::duty::Context;
use crate::plan::{Authority, Plan, Step, StepOp};
use crate::wire::NodeKind;

/// Adds the guards and marks that coexistence with Java instances needs.
pub(super) fn constrain(mut plan: Plan, cx: &Context<'_>) -> Plan {
    if plan.authority == Authority::Owner && cx.view.may_name_next_server() {
        plan.steps.push(Step::absent(NodeKind::NextServer));
    }
    match plan.authority {
        Authority::Leader => plan.steps.extend(leader_guard(cx)),
        Authority::Owner if cx.view.has_java_leader() => guard_against_resharding(&mut plan),
        Authority::Owner | Authority::Session | Authority::Instance => {}
    }
    // The next leader may be a Java instance: see `announcement`.
    let abdicates = plan.steps.iter().any(|step| step.deleted() == Some(&NodeKind::Leader));
    if abdicates && cx.view.is_mixed() {
        plan.steps.push(announcement(cx));
    }
    if plan.duty == Duty::Release {
        keep_marks_of_java(&mut plan, cx);
    }
    if cx.view.config().is_some_and(|config| cx.view.has_lasting_marks(config)) {
        plan.steps = plan.steps.into_iter().flat_map(|step| with_lasting_mark(step, cx)).collect();
    }
    plan
}

/// Returns the check of the leader's node. A Java instance that takes the leadership over replaces
/// that node and ignores the term. A sealed node has a version that the new one lacks.
fn leader_guard(cx: &Context<'_>) -> Option<Step> {
    let sealed = cx.view.leader_version().filter(|version| *version > Version(0));
    sealed.map(Step::leader_unchanged)
}

/// Checks that no resharding is announced, instead of the assignment record: a Java leader writes
/// no such record.
fn guard_against_resharding(plan: &mut Plan) {
    plan.steps.retain(|step| !(step.is_check() && step.node == NodeKind::Assignment));
    let flags = [NodeKind::Necessary, NodeKind::Processing];
    plan.steps.extend(flags.map(Step::absent));
}

/// Returns the step that leaves a resharding announced. The next leader may be a Java instance,
/// which reshards only if it is announced.
fn announcement(cx: &Context<'_>) -> Step {
    if cx.view.is_necessary() { Step::resharding_announced() } else { Step::announce_resharding() }
}

/// Keeps the mark of a Java instance that runs an item beside this one, and replaced the mark by
/// its own.
fn keep_marks_of_java(plan: &mut Plan, cx: &Context<'_>) {
    plan.steps.retain(|step| match step.deleted() {
        Some(NodeKind::Running(item)) => cx.view.marked_by_java(cx.view.item(*item)).is_none(),
        _ => true,
    });
}

/// Makes marks last, because Java instances of 3.x find lost runs by them. A second mark then shows
/// that the holder's session lives.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other steps stay as they are")]
fn with_lasting_mark(step: Step, cx: &Context<'_>) -> Vec<Step> {
    let StepOp::Create(Lifetime::Ephemeral, data) = step.op else { return vec![step] };
    match step.node {
        NodeKind::Running(item) => {
            let op = StepOp::Create(Lifetime::Persistent, data);
            vec![Step { node: step.node, op }, Step::mark_alive(item)]
        }
        NodeKind::Failover(item) => {
            let op = StepOp::Create(Lifetime::Ephemeral, data);
            vec![Step { node: step.node, op }, Step::mark_failovering(item, cx.me.clone())]
        }
        _ => vec![Step { node: step.node, op: StepOp::Create(Lifetime::Ephemeral, data) }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::duty::scene::Scene;

    fn rotating() -> Scene {
        let scene = Scene::cluster_in(Dialect::V3, 1, 1).java(5);
        scene.configure(|config| config.strategy = "SINGLE_SHARDING_BALANCE".to_owned()).due(200)
    }

    #[test]
    fn claim_conflicts_when_next_server_was_named() {
        let claim = rotating().plan(Duty::Claim).unwrap();
        assert!(rotating().would_commit(&claim), "{claim}");
        let named = rotating().marked(&NodeKind::NextServer);
        assert!(!named.would_commit(&claim), "{claim}");
    }

    #[test]
    fn owner_claims_nothing_while_next_server_is_named() {
        let named = || rotating().marked(&NodeKind::NextServer);
        assert_eq!(named().wants(Duty::Claim), "nothing");
        let forgotten = named().commit_once(Duty::Cleanup);
        assert_eq!(forgotten.wants(Duty::Claim), rotating().wants(Duty::Claim));
    }
}
