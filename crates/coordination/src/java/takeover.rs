//! Takeover beside Java instances: they take runs from the queue one at a time, in the order of a latch.

use std::ops::Range;

use sharding::InstanceId;

use super::latch::Latch;
use super::turn::{Turn, leave, turn};
use crate::RunSource;
use crate::duty::takeover::{self, UNFINISHED, is_impatient};
use crate::duty::{Context, Duty};
use crate::plan::Plan;

/// Takes over in turn. A run that is not in the queue was taken by a Java instance, which may have ended it.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let plan = match cx.view.is_mixed() {
        true => takeover::take(cx, |view| view.queued, |orphans| one(cx, orphans)),
        false => takeover::plan(cx),
    };
    let Some(plan) = plan else { return leave(cx, Duty::Takeover, Latch::Failover) };
    match turn(cx, Latch::Failover) {
        Turn::Free => Some(plan),
        Turn::Mine(leave) => Some(plan.step(leave)),
        Turn::Join(join) => Some(Plan::as_instance(Duty::Takeover, cx, UNFINISHED).step(join)),
        Turn::Rejoin(steps) => {
            Some(Plan::as_instance(Duty::Takeover, cx, "other contenders came first").steps(steps))
        }
        Turn::Wait => None,
        // A takeover without the turn is not safe, so this instance joins again at the end.
        Turn::Impatient(_) => leave(cx, Duty::Takeover, Latch::Failover),
    }
}

/// Returns the place of the one orphaned run that this instance takes over: an idle instance takes one after the other, a busy
/// one takes one at a time, and only after the orphaned runs have waited for long.
fn one(cx: &Context<'_>, orphans: usize) -> Option<Range<usize>> {
    let takes_over = cx.local.runs.iter().any(|(_, run)| run.source == RunSource::Failover);
    let may = cx.local.runs.is_empty() || (is_impatient(cx) && !takes_over);
    let place = spread(cx.me, orphans).filter(|_| may)?;
    Some(place..place + 1)
}

/// Returns a place among so many that differs between instances.
fn spread(me: &InstanceId, len: usize) -> Option<usize> {
    let hash = sharding::java_string_hash(me.as_str()).unsigned_abs();
    usize::try_from(hash).ok()?.checked_rem(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use crate::duty::scene::{Scene, id, item, running_by};
    use crate::java::latch::name_of;
    use crate::local::{Local, Wait};
    use crate::wire::NodeKind;
    use std::time::Duration;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn among_java_instances_one_takes_over_at_a_time() {
        let waiting = || {
            let scene = Scene::cluster(2, 2).java(4).ledger(1, orphan());
            scene.marked(&NodeKind::QueuedItem(item(1)))
        };
        let in_line = |scene: Scene, name: &str| scene.in_line(Latch::Failover, name);
        let of_java = "_c_0e8b0a2c-3f41-4c15-9d3b-5b4b3f0c6c11-latch-0000000003";
        let mine = name_of(&id(1), 4);
        let leave = "delete leader/failover/latch/me-0000000004";
        let taken = format!(
            "takeover: orphaned runs wait\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/1/running: 10.0.0.1@-@1\n  create sharding/1/failover: 10.0.0.1@-@1\n  delete leader/failover/items/1\n  {leave}"
        );
        let gone = format!("takeover: this instance no longer needs its turn\n  {leave}");
        let patient = |over| {
            let wait = Wait { since: Duration::ZERO, over };
            let scene = in_line(in_line(waiting(), of_java), &mine);
            scene.local(|local| local.java.latch_waits.extend([(Latch::Failover, wait)]))
        };
        let late = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let takes_over = |local: &mut Local| {
            local.runs.change_all(|run| run.source = RunSource::Failover);
        };
        let busy = |wait: fn(&mut Local)| {
            waiting().running(0, 1).run_here(0, None).local(takes_over).local(wait)
        };
        let rows = [
            (
                "it has yet to stand in line",
                waiting(),
                "takeover: orphaned runs wait\n  create leader/failover/latch/me-0000000000",
            ),
            ("it is the first", in_line(in_line(waiting(), &mine), of_java), &*taken),
            ("Java came first", patient(false), "nothing"),
            ("Java came first and does not go: it tries again", patient(true), &*gone),
            ("Java has taken it", in_line(Scene::cluster(2, 2).java(4), &mine), &*gone),
            ("busy with what it took over", busy(|_| {}), "nothing"),
            ("busy with what it took over, for long", busy(late), "nothing"),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Takeover), expected, "{case}");
        }
    }
}
