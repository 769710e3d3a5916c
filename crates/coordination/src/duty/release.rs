//! Release: how a run ended is recorded as soon as it ends, together with whatever else has ended by then.

use sharding::ShardingItem;

use super::sweep::can_be_queued;
use super::{Context, Duty, bytes_told};
use crate::Outcome;
use crate::local::Phase;
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Step};
use crate::runs::LocalRun;

/// Records the runs that have ended and that the registry still shows as ours. Whoever leaves also makes sure that what
/// was perhaps claimed was not, or shows.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    ended(cx).or_else(|| settle(cx))
}

fn ended(cx: &Context<'_>) -> Option<Plan> {
    let ends = cx.local.runs.ended().filter_map(|(item, run)| release(cx, item, run));
    let steps = cx.within_one_plan(ends, |steps| bytes_told(steps)).flatten();
    Plan::as_session(Duty::Release, "runs have ended").steps(steps).if_any()
}

/// Writes the records of perhaps claimed items again, as they were: if that succeeds, a claim that is still on its way
/// never will.
fn settle(cx: &Context<'_>) -> Option<Plan> {
    if cx.local.phase != Phase::Draining || mutant::is(Mutant::DoubtsUnsettled) {
        return None;
    }
    let steps = cx.local.maybe_claimed.iter().filter_map(|(item, doubt)| {
        let expect = doubt.before;
        let ledger = cx.view.item(*item).ledger.as_ref().filter(|l| l.version == expect)?;
        let same = ledger.value.clone();
        Some(Step::SetLedger { item: *item, expect: Some(expect), ledger: same })
    });
    let plan = Plan::as_session(Duty::Release, "leaving with claims in doubt");
    plan.steps(cx.within_one_plan(steps, |step| bytes_told(std::slice::from_ref(step)))).if_any()
}

/// A cancelled run is handed to whoever takes it over. Everything else is finished, errors and panics included.
fn release(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<Vec<Step>> {
    let outcome = run.outcome?;
    let view = cx.view.item(item);
    let ledger = view.ledger.as_ref().filter(|l| {
        mutant::is(Mutant::ForeignRelease) || l.value.is_held(&run.holder, run.token)
    })?;
    let hand_over = outcome == Outcome::Interrupted
        && cx.view.config().is_some_and(|config| config.fails_over())
        && can_be_queued(cx, &ledger.value);
    let next = if hand_over {
        ledger.value.orphan()
    } else {
        ledger.value.complete(outcome, cx.now.wall_ms)
    }?;
    let mut steps = vec![Step::SetLedger { item, expect: Some(ledger.version), ledger: next }];
    // A mark that a Java instance has put in the place of ours is its own.
    let ours = cx.view.marked_by_java(view).is_none() || mutant::is(Mutant::JavaMarksReleased);
    let shown = run.shows_running && ours && !mutant::is(Mutant::MarksStay);
    steps.extend(shown.then_some(Step::UnmarkRunning(item)));
    steps.extend(run.shows_alive.then_some(Step::UnmarkAlive(item)));
    steps.extend(run.shows_failover.then_some(Step::UnmarkFailover(item)));
    steps.extend(run.shows_failovering.then_some(Step::UnmarkFailovering(item)));
    steps.extend((hand_over && !view.queued).then_some(Step::QueueItem(item)));
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, running_by};
    use super::*;

    /// Item 0 runs here under token 1 and has ended in this way.
    fn ended(outcome: Outcome) -> Scene {
        Scene::cluster(2, 1).running(0, 1).run_here(0, Some(outcome))
    }

    #[test]
    fn an_ended_run_is_recorded_however_it_ended() {
        let rows = vec![
            (
                "it succeeded",
                ended(Outcome::Succeeded),
                "release: runs have ended\n  item 0 idle, last succeeded\n  show 0 not running",
            ),
            (
                "it failed",
                ended(Outcome::Failed),
                "release: runs have ended\n  item 0 idle, last failed\n  show 0 not running",
            ),
            (
                "it panicked",
                ended(Outcome::Panicked),
                "release: runs have ended\n  item 0 idle, last panicked\n  show 0 not running",
            ),
            (
                "it was cancelled",
                ended(Outcome::Interrupted),
                "release: runs have ended\n  item 0 orphan NORMAL for 200 by 10.0.0.1@-@1, token 1\n  show 0 not running\n  queue 0",
            ),
            (
                "it was cancelled, without failover",
                ended(Outcome::Interrupted).configure(|c| c.failover = false),
                "release: runs have ended\n  item 0 idle, last interrupted\n  show 0 not running",
            ),
            ("it still runs", Scene::cluster(2, 1).running(0, 1).run_here(0, None), "nothing"),
            (
                "it was taken over",
                ended(Outcome::Succeeded).ledger(
                    0,
                    running_by(1)
                        .orphan()
                        .and_then(|l| l.take_over(&super::super::scene::by(2)))
                        .unwrap(),
                ),
                "nothing",
            ),
            (
                "two at once",
                ended(Outcome::Succeeded).running(1, 1).run_here(1, Some(Outcome::Failed)),
                "release: runs have ended\n  item 0 idle, last succeeded\n  show 0 not running\n  item 1 idle, last failed\n  show 1 not running",
            ),
        ];
        check(Duty::Release, rows);
    }
}
