//! A manual request of this job that the address names: its items from waiting to the outcome.
//!
//! The audit record of the request has its items, so that the address can be opened again later.

use std::collections::BTreeSet;

use coordination::AuditRecord;
use maud::{Markup, html};
use operations::{AuditTargets, ItemBrief, JobLine, JobSnapshot};
use sharding::ShardingItem;

use crate::pages::cx::Cx;
use crate::pages::summary::moment;
use crate::pages::widgets::{instance, item_state, pill};

/// Maximum number of listed items. All that the record names are counted.
const MAX_ITEMS: usize = 50;

/// Progress of one item of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Failed,
    Running,
    Waiting,
    Succeeded,
    /// No record of a run since the request: the job is not monitored, the item was disabled, or
    /// the request was dropped.
    Unknown,
}

/// Returns the request that the address names, or nothing.
pub(super) fn followed(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    items: &[ItemBrief],
) -> Markup {
    let Some(id) = cx.address.value("request") else { return html! {} };
    let content = match job.audit().find(|record| record.id == id) {
        Some(record) => of_record(cx, (job, line), items, record),
        None => html! { p.why.neutral { (cx.lang().request_not_recorded()) } },
    };
    cx.live("request", &content)
}

fn of_record(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    items: &[ItemBrief],
    record: &AuditRecord,
) -> Markup {
    let (lang, zone) = (cx.lang(), line.time_zone.as_deref());
    let targets = AuditTargets::of(&record.target);
    let unread = job.view().requests().find(|(id, _)| *id == record.id).map(|(_, items)| items);
    let mut asked: Vec<(Progress, &ItemBrief)> = items
        .iter()
        .filter(|item| targets.has_item(item.item))
        .map(|item| (progress(unread, record.at_ms, item), item))
        .collect();
    asked.sort_by_key(|(progress, item)| (*progress, item.item));
    let count = |wanted| asked.iter().filter(|(progress, _)| *progress == wanted).count();
    let (waiting, running, failed) =
        (count(Progress::Waiting), count(Progress::Running), count(Progress::Failed));
    let (succeeded, unknown) = (count(Progress::Succeeded), count(Progress::Unknown));
    let class = if waiting + running > 0 {
        "why neutral"
    } else if failed > 0 {
        "why bad"
    } else if unknown > 0 || targets.is_cut() || asked.is_empty() {
        "why neutral"
    } else {
        "why good"
    };
    let more = asked.len().saturating_sub(MAX_ITEMS);
    html! {
        section class=(class) aria-label=(lang.request()) {
            div {
                b { (lang.request()) } " " (lang.by(&record.who)) " "
                @if let Some(at) = moment(Some(record.at_ms)) { (cx.when(at, zone)) }
                ": " (record.why) br;
                @if asked.is_empty() { (lang.asked_instances()) " " (record.target) }
                @else { (lang.request_progress(waiting, running, succeeded, failed)) }
                @if unknown > 0 { " · " (lang.request_unknown(unknown)) }
                @if targets.is_cut() { br; (lang.request_is_cut()) }
                ul.entries { @for (_, item) in asked.iter().take(MAX_ITEMS) { (entry(cx, item)) } }
                @if more > 0 { p.dim { (lang.and_more(more)) } }
            }
            div.acts { a.button href=(cx.with(&[("request", "")])) { (lang.close()) } }
        }
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

fn entry(cx: &Cx<'_>, item: &ItemBrief) -> Markup {
    let (class, word) = item_state(cx, item);
    let number = item.item.to_string();
    html! {
        li {
            a href=(cx.with(&[("item", &number)])) { (cx.lang().item()) " " (number) } " "
            @if item.requested { (pill("wait", &cx.lang().requested())) }
            @else { (pill(class, &word)) }
            @if let Some(on) = &item.runs_on { " " span.dim { (cx.lang().on()) } " " (instance(cx, on)) }
            @if let Some(failure) = item.failure.as_deref().filter(|_| item.failing && !item.running) {
                " " span.dim { (failure) }
            }
        }
    }
}
