//! Sentences for violations and missing facts.

use coordination::Slot;
use jiff::Timestamp;
use operations::JobSnapshot;
use sharding::ShardingItem;

use super::items::{Blind, Scene};
use crate::Condition;

/// Number of items that a sentence names.
const MAX_NAMED: usize = 8;

/// Describes a violation by its first item.
pub(super) fn violation(
    scene: Scene<'_>,
    condition: Condition,
    item: ShardingItem,
    others: usize,
) -> String {
    let named = named(scene.job, item);
    let text = match condition {
        Condition::LateAfter(after) => match scene.owed(item, after) {
            Some((fire, late)) => format!(
                "{named} has not begun for the fire of {}; it was due by {}",
                moment(fire),
                moment(late)
            ),
            None => format!("{named} is late"),
        },
        Condition::MustSucceedWithin(period) => match scene.last_success(item) {
            Some(at) => format!("{named} last succeeded at {}, over {period:?} ago", moment(at)),
            None => format!("{named} has no known success within {period:?}"),
        },
        Condition::AtMost(longest) => {
            let (slot, began) = scene.oldest_run(item).unwrap_or((Slot::of(item), None));
            let gone = scene.job.lost_holder(slot.key()).map_or("", |_| ", which is gone,");
            let runner = scene.job.runner(slot.key()).map(|id| format!(" on {id}{gone}"));
            let (runner, began) = (runner.unwrap_or_default(), began.map(moment));
            let began = began.unwrap_or_default();
            format!("item {slot} runs{runner} since {began}, longer than {longest:?}")
        }
        Condition::Failures(_) | Condition::Exists | Condition::InstancesAtLeast(_) => named,
    };
    match others {
        0 => text,
        1 => format!("{text}; and 1 more item"),
        n => format!("{text}; and {n} more items"),
    }
}

/// Describes failed runs of one item in a row.
pub(super) fn in_row(job: &JobSnapshot, item: ShardingItem, n: u32, cause: Option<&str>) -> String {
    let runs = if n == 1 { "run".to_owned() } else { format!("{n} runs") };
    format!("the last {runs} of {} failed{}", named(job, item), reason(job, item, cause))
}

/// Describes items that fail at once.
pub(super) fn at_once(job: &JobSnapshot, items: &[u32], cause: Option<&str>) -> String {
    let named: Vec<String> = items.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = match items.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let last = items.last().map(|item| reason(job, ShardingItem::new(*item), cause));
    let last = last.unwrap_or_default();
    format!("the last runs of items {}{more} failed{last}", named.join(", "))
}

/// Describes a missing fact.
pub(super) fn blind(job: &JobSnapshot, item: ShardingItem, why: Blind) -> String {
    match why {
        Blind::NotMonitored => {
            "runs are not recorded, because monitor_execution is false".to_owned()
        }
        Blind::NoRecord => format!("item {item} has no record; Java instances write none"),
        Blind::Unreadable => format!("the record of item {item} cannot be read"),
        Blind::JavaOwner => {
            format!("{} is not known to write records, as a Java instance", named(job, item))
        }
        Blind::JavaSince => {
            format!("a Java instance was alive after the last record of item {item}")
        }
    }
}

/// Returns the cause of a failure by a history, or that of the item's record.
fn reason(job: &JobSnapshot, item: ShardingItem, cause: Option<&str>) -> String {
    if let Some(cause) = cause {
        return format!(": {cause}");
    }
    let slot = job.failing_slot(item).unwrap_or(Slot::of(item));
    let record = job.view().item(slot.key()).ledger.as_ref();
    let failure = record.and_then(|record| record.value.failure.as_ref());
    failure.map(|failure| format!(": {failure}")).unwrap_or_default()
}

/// Returns an item with its owner.
fn named(job: &JobSnapshot, item: ShardingItem) -> String {
    match job.owner(item) {
        None => format!("item {item} (no owner)"),
        Some(owner) if job.view().is_registered(owner) => format!("item {item} (owner {owner})"),
        Some(owner) => format!("item {item} (owner {owner}, which is gone)"),
    }
}

fn moment(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}
