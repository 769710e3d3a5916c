//! Release: how a run ended is recorded as soon as it ends, together with whatever else has ended by then.

use sharding::ShardingItem;

use super::{Context, Duty, MAX_ITEMS_PER_PLAN};
use crate::Outcome;
use crate::local::LocalRun;
use crate::plan::{Plan, Step};

/// Records the runs that have ended and that the registry still shows as ours.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let steps = cx
        .local
        .runs
        .iter()
        .filter_map(|(item, run)| release(cx, *item, run))
        .take(MAX_ITEMS_PER_PLAN)
        .flatten();
    Plan::as_session(Duty::Release, "runs have ended").steps(steps).if_any()
}

/// A cancelled run is handed to whoever takes it over. Everything else is finished, errors and panics included.
fn release(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<Vec<Step>> {
    let outcome = run.outcome?;
    let view = cx.view.item(item);
    let ledger = view.ledger.as_ref().filter(|l| l.value.is_held(&run.holder, run.token))?;
    let hand_over = outcome == Outcome::Interrupted
        && cx.view.config().is_some_and(|config| config.fails_over());
    let next = if hand_over { ledger.value.orphan() } else { ledger.value.complete(outcome) }?;
    let mut steps = vec![Step::SetLedger { item, expect: Some(ledger.version), ledger: next }];
    steps.extend(run.shows_running.then_some(Step::UnmarkRunning(item)));
    steps.extend(run.shows_failover.then_some(Step::UnmarkFailover(item)));
    steps.extend((hand_over && !view.queued).then_some(Step::QueueItem(item)));
    Some(steps)
}
