//! Takeover beside Java instances: instances take runs from the failover queue one at a time, in
//! the order of a latch.

use std::ops::Range;

use sharding::InstanceId;

use super::turn::{Turn, leave, turn};
use crate::duty::Context;
use crate::duty::takeover::{self, REASON, is_impatient};
use crate::plan::Plan;
use crate::{Duty, Latch, RunSource};

/// Takes orphaned runs over in turn.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let Some(plan) = wanted(cx) else { return leave(cx, Duty::Takeover, Latch::Failover) };
    match turn(cx, Latch::Failover) {
        Turn::Free => Some(plan),
        Turn::Mine(leave) => Some(plan.step(leave)),
        Turn::Join(join) => Some(Plan::as_instance(Duty::Takeover, cx, REASON).step(join)),
        Turn::Rejoin(steps) => {
            Some(Plan::as_instance(Duty::Takeover, cx, "other contenders came first").steps(steps))
        }
        Turn::Wait => None,
        // A takeover without the turn is not safe, so this instance joins again at the end.
        Turn::Impatient(_) => leave(cx, Duty::Takeover, Latch::Failover),
    }
}

/// Plans the takeover for which this instance needs the turn. If a run is not queued, a Java
/// instance took it and may have ended it.
fn wanted(cx: &Context<'_>) -> Option<Plan> {
    if cx.view.is_mixed() {
        return takeover::take(cx, |view| view.queued, |orphans| one(cx, orphans));
    }
    takeover::plan(cx)
}

/// Returns the place of the one orphaned run that this instance takes over. A busy instance takes
/// one run only after the runs have waited for [`ORPHAN_PATIENCE`](takeover::ORPHAN_PATIENCE), and
/// only without another takeover.
fn one(cx: &Context<'_>, orphans: usize) -> Option<Range<usize>> {
    let takes_over = cx.local.runs.iter().any(|(_, run)| run.source == RunSource::Failover);
    let may = cx.local.runs.is_empty() || (is_impatient(cx) && !takes_over);
    if !may {
        return None;
    }
    let place = spread(cx.me, orphans)?;
    Some(place..place + 1)
}

/// Returns a place below `len` that differs between instances, so that they rarely choose the same
/// run.
fn spread(me: &InstanceId, len: usize) -> Option<usize> {
    let hash = sharding::java_string_hash(me.as_str()).unsigned_abs();
    usize::try_from(hash).ok()?.checked_rem(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use crate::duty::scene::{Scene, id, item, running_by};
    use crate::local::Local;
    use crate::local::wait::Wait;
    use crate::wire::NodeKind;
    use crate::wire::latch::name_of;
    use std::time::Duration;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn takeovers_beside_java_instances_follow_the_latch() {
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
                "instance has not joined the latch",
                waiting(),
                "takeover: orphaned runs wait\n  create leader/failover/latch/me-0000000000",
            ),
            (
                "instance is the first contender",
                in_line(in_line(waiting(), &mine), of_java),
                &*taken,
            ),
            ("a Java instance is first", patient(false), "nothing"),
            ("a Java instance is first for long, so this one leaves", patient(true), &*gone),
            (
                "a Java instance has taken the run",
                in_line(Scene::cluster(2, 2).java(4), &mine),
                &*gone,
            ),
            ("instance runs a takeover", busy(|_| {}), "nothing"),
            ("instance runs a takeover for long", busy(late), "nothing"),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Takeover), expected, "{case}");
        }
    }
}
