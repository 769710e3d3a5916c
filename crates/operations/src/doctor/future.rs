//! Records that have settled a future fire, left by an instance with a wrong clock.

use coordination::{FireTime, JobConfig, Ledger, MaxTimeDiff, NodeKind, OperatorStep};
use jiff::Timestamp;
use sharding::ShardingItem;

use super::{Case, Finding, FindingCode, Severity};
use crate::JobSnapshot;
use crate::fires::last_fire;
use crate::held::moment;
use crate::slots::slots_of;

/// Returns the items whose last settled fire certainly lies in the future, with that fire.
///
/// Returns none for a job whose maximum time difference is off.
pub(crate) fn future_fires(job: &JobSnapshot, now: Timestamp) -> Vec<(ShardingItem, FireTime)> {
    let bound = job.config().map_or(MaxTimeDiff::Default, |config| config.max_time_diff);
    if bound == MaxTimeDiff::Off {
        return Vec::new();
    }
    let horizon = FireTime(bound.horizon_ms(now.as_millisecond()));
    let future = job.view().items().filter_map(|(item, shown)| {
        let settled = shown.ledger.as_ref()?.value.settled_until()?;
        (settled > horizon).then_some((item, settled))
    });
    future.collect()
}

/// Returns the last scheduled fire until now, or the present second if the schedule has none.
fn present(config: Option<&JobConfig>, now: Timestamp) -> FireTime {
    let last = config.and_then(|config| last_fire(config, now));
    let now_ms = now.as_millisecond();
    FireTime(last.map_or(now_ms - now_ms.rem_euclid(1_000), Timestamp::as_millisecond))
}

pub(super) fn check(case: &Case<'_>) -> Vec<Finding> {
    let job = case.job;
    let present = present(job.config(), case.now);
    let finding = |(item, settled): (ShardingItem, FireTime)| {
        let node = NodeKind::Ledger(item);
        let record = job.view().item(item).ledger.as_ref();
        let back =
            record.and_then(|record| Some((record.version, record.value.settle_back(present)?)));
        let is_busy = slots_of(job.view(), item).any(|(_, shown)| {
            shown.ledger.as_ref().is_some_and(|record| Ledger::is_busy(&record.value))
        });
        let back = back.filter(|_| !is_busy);
        let wait = if is_busy { "; it can be set back once its run has ended" } else { "" };
        let text = format!(
            "an instance with a wrong clock has settled the fire of {}: the item starts no fire before that time{wait}",
            moment(settled.0)
        );
        let finding = Finding::of(job, FindingCode::FutureFire, Severity::Error, text);
        let finding = finding.at(job, &node);
        match back {
            None => finding,
            Some((version, ledger)) => {
                let step = OperatorStep::SettleBack { item, ledger: Box::new(ledger), version };
                finding.with_fix(job, &node, vec![step])
            }
        }
    };
    future_fires(job, case.now).into_iter().map(finding).collect()
}
