//! Progress of requested runs, from the audit record of the request and the records of the items.

use std::collections::BTreeSet;

use coordination::AuditRecord;
use operations::{AuditTargets, ItemBrief, JobSnapshot};
use serde::Serialize;
use sharding::ShardingItem;

/// Progress of one item of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Progress {
    /// The run of the request did not succeed.
    Failed,
    /// The item runs.
    Running,
    /// The item has the request, and has not begun its run.
    Waiting,
    /// The run of the request has succeeded.
    Succeeded,
    /// No record of a run since the request: the job is not monitored, the item was disabled, or
    /// the request was dropped.
    Unknown,
}

/// The items of a request with their progress, those that need attention first.
pub(crate) struct Asked<'a> {
    pub(crate) items: Vec<(Progress, &'a ItemBrief)>,
    /// The record does not name all items.
    pub(crate) is_cut: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(job: &JobSnapshot, items: &'a [ItemBrief], record: &AuditRecord) -> Self {
        let targets = AuditTargets::of(&record.target);
        let unread = job.view().requests().find(|(id, _)| *id == record.id);
        let unread = unread.map(|(_, items)| items);
        // A requested run has the first slot of its item.
        let asked = items.iter().filter(|it| it.slot == 0 && targets.has_item(it.item));
        let asked = asked.map(|item| (progress(unread, record.at_ms, item), item));
        let mut items: Vec<_> = asked.collect();
        items.sort_by_key(|(progress, item)| (*progress, item.item));
        Self { items, is_cut: targets.is_cut() }
    }
}

/// Returns the progress of an item. A request waits in its node until the items have it, and then
/// in their records until they run.
///
/// `unread` has the items that do not have the request yet, `None` for all, if its node exists.
fn progress(
    unread: Option<Option<&BTreeSet<ShardingItem>>>,
    requested_ms: i64,
    item: &ItemBrief,
) -> Progress {
    let number = ShardingItem::new(item.item);
    let is_unread = unread.is_some_and(|items| items.is_none_or(|items| items.contains(&number)));
    if is_unread || item.requested {
        Progress::Waiting
    } else if item.running || item.orphaned {
        Progress::Running
    } else if item.ended_ms.is_none_or(|ended| ended < requested_ms) {
        Progress::Unknown
    } else if item.failing {
        Progress::Failed
    } else if item.outcome == Some("succeeded") {
        Progress::Succeeded
    } else {
        Progress::Unknown
    }
}
