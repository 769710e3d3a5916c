//! A manual request of this job that the address names: its items from waiting to the outcome.
//!
//! The audit record of the request has its items, so that the address can be opened again later.

use coordination::AuditRecord;
use maud::{Markup, html};
use operations::{ItemBrief, JobLine, JobSnapshot};

use crate::pages::cx::Cx;
use crate::pages::summary::moment;
use crate::pages::widgets::{instance, item_state, pill};
use crate::requests::{Asked, Progress};

/// Maximum number of listed items. All that the record names are counted.
const MAX_ITEMS: usize = 50;

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
    let asked = Asked::of(job, items, record);
    let more = asked.items.len().saturating_sub(MAX_ITEMS);
    html! {
        section class=(asked.class()) aria-label=(lang.request()) {
            div {
                b { (lang.request()) } " " (lang.by(&record.who)) " "
                @if let Some(at) = moment(Some(record.at_ms)) { (cx.when(at, zone)) }
                ": " (record.why) br;
                @if asked.items.is_empty() { (lang.asked_instances()) " " (lang.audited_targets(&record.target)) }
                @else { (asked.progress(cx)) }
                @if asked.is_cut { br; (lang.request_is_cut()) }
                ul.entries { @for (_, item) in asked.items.iter().take(MAX_ITEMS) { (entry(cx, item)) } }
                @if more > 0 { p.dim { (lang.and_more(more)) } }
            }
            div.acts { a.button href=(cx.with(&[("request", "")])) { (lang.close()) } }
        }
    }
}

impl Asked<'_> {
    fn count(&self, wanted: Progress) -> usize {
        self.items.iter().filter(|(progress, _)| *progress == wanted).count()
    }

    fn class(&self) -> &'static str {
        let is_open = self.count(Progress::Waiting) + self.count(Progress::Running) > 0;
        if is_open {
            "why neutral"
        } else if self.count(Progress::Failed) > 0 {
            "why bad"
        } else if self.count(Progress::Unknown) > 0 || self.is_cut || self.items.is_empty() {
            "why neutral"
        } else {
            "why good"
        }
    }

    /// Returns the numbers of items by their progress.
    pub(in crate::pages) fn progress(&self, cx: &Cx<'_>) -> Markup {
        let n = |progress| self.count(progress);
        let (waiting, running) = (n(Progress::Waiting), n(Progress::Running));
        let (succeeded, failed) = (n(Progress::Succeeded), n(Progress::Failed));
        let unknown = n(Progress::Unknown);
        html! {
            (cx.lang().request_progress(waiting, running, succeeded, failed))
            @if unknown > 0 { " · " (cx.lang().request_unknown(unknown)) }
        }
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
                " " span.dim { (cx.lang().failure_of_item(item, failure)) }
            }
        }
    }
}
