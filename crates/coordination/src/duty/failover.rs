//! Failover: runs whose holder is gone are found by the leader and taken over by whoever is idle.

use sharding::{InstanceId, ShardingItem};

use super::{Context, Duty, MAX_ITEMS_PER_PLAN};
use crate::plan::{Plan, Step};
use crate::view::{ItemView, Versioned};
use crate::{Ledger, LedgerState, Run};

/// Finds runs whose holder is gone: queues them, or, without failover, records that they were interrupted.
///
/// The record was read before; that the holder is gone is confirmed after, by a read. As ids are never used again and
/// a holder registered before it claimed, "absent now" means "gone for good".
pub(crate) fn sweep(cx: &Context<'_>) -> Option<Plan> {
    let fails_over = cx.view.config()?.fails_over();
    let plan = Plan::as_leader(Duty::Sweep, cx, "runs without a holder")?;
    let abandoned = cx.view.items().filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        match &ledger.value.state {
            LedgerState::Running(run) if !cx.view.is_registered(&run.holder) => {
                Some((item, view, ledger, Some(run)))
            }
            LedgerState::Orphan(_) if !fails_over => Some((item, view, ledger, None)),
            LedgerState::Running(_)
            | LedgerState::Orphan(_)
            | LedgerState::Idle
            | LedgerState::Retired => None,
        }
    });
    let swept = abandoned.take(MAX_ITEMS_PER_PLAN);
    swept
        .fold(plan, |plan, (item, view, ledger, run)| {
            give_up(plan, item, view, ledger, run, fails_over)
        })
        .if_any()
}

fn give_up(
    plan: Plan,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
    run: Option<&Run>,
    fails_over: bool,
) -> Plan {
    let next = if fails_over { ledger.value.orphan() } else { ledger.value.abandon() };
    let Some(next) = next else { return plan };
    let plan = match run {
        Some(run) => plan.confirm_gone(&run.holder),
        None => plan,
    };
    plan.step(Step::SetLedger { item, expect: Some(ledger.version), ledger: next })
        .step_if(fails_over && !view.queued, || Step::QueueItem(item))
        .step_if(!fails_over && view.queued, || Step::DequeueItem(item))
}

/// Takes one orphan over, if nothing runs here: claim and takeover are one write, and the next one follows as soon as
/// this one has ended.
pub(crate) fn take_over(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable()?;
    if !config.fails_over() || !cx.local.runs.is_empty() {
        return None;
    }
    let orphans: Vec<_> = cx
        .view
        .items()
        // What is still shown of the former run goes with its session: wait until it has.
        .filter(|(_, view)| !view.running && !view.failover)
        .filter_map(|(item, view)| {
            let ledger = view.ledger.as_ref()?;
            Some((item, view, ledger, ledger.value.take_over(cx.me.clone())?))
        })
        .collect();
    // Idle instances begin at different places, so that they do not all want the same orphan.
    let (item, view, ledger, next) = orphans.get(spread(cx.me, orphans.len())?)?;
    let plan = Plan::as_instance(Duty::Takeover, cx, format!("item {item} was left unfinished"))
        .step(Step::ServerIs(cx.server.clone(), cx.view.server_version(cx.server)?))
        .step(Step::ConfigIs(cx.view.config_version()?))
        .step(Step::SetLedger { item: *item, expect: Some(ledger.version), ledger: next.clone() })
        .step(Step::MarkRunning(*item))
        .step(Step::MarkFailover { item: *item, taker: cx.me.clone() })
        .step_if(view.queued, || Step::DequeueItem(*item));
    Some(plan)
}

/// Returns a place in a queue of `len` that differs between instances.
fn spread(me: &InstanceId, len: usize) -> Option<usize> {
    let hash = sharding::java_string_hash(me.as_str()).unsigned_abs();
    usize::try_from(hash).ok()?.checked_rem(len)
}
