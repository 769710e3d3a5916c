//! Audit: who changed what, when and why, the latest first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use coordination::AuditRecord;
use job_history::StoredAudit;
use maud::{Markup, html};

use super::cx::Cx;
use super::history::Past;
use super::shell::{Body, Section};
use super::summary::moment;
use super::view::Snapshots;
use super::widgets::{
    Column, PAGE, effect_text, empty, history_fault, live_table, page_number, pager, search_field,
};

pub(super) fn page(cx: &Cx<'_>, jobs: &Snapshots, past: &Past) -> Body {
    let lang = cx.lang();
    let (who, job) = (cx.address.value("who"), cx.address.value("job"));
    let of_jobs = jobs.configured().filter(|one| job.is_none_or(|job| one.job().as_str() == job));
    let of_registry = of_jobs.flat_map(|job| {
        let name = job.job().as_str();
        job.audit().map(move |record| (name, record))
    });
    let stored: &[StoredAudit] = if let Past::Audited(stored) = past { stored } else { &[] };
    let of_history = stored.iter().map(|found| (found.job.as_str(), &found.record));
    // Those of the registry come first: the same change of the history is then left out.
    let mut seen = BTreeSet::new();
    let mut records: Vec<(&str, &AuditRecord)> = of_registry
        .chain(of_history)
        .filter(|(job, record)| seen.insert((*job, record.id.as_str())))
        .filter(|(_, record)| who.is_none_or(|who| record.who == who))
        .collect();
    records.sort_by_key(|(job, record)| (Reverse(record.at_ms), *job));
    let (total, number) = (records.len(), page_number(cx, records.len()));
    let shown = records.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|(job, record)| row(cx, job, record)).collect();
    let main = html! {
        div.title {
            h1 { (lang.audit()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
        }
        p.sub { (lang.audit_hint()) }
        @if matches!(past, Past::Audited(_)) { p.sub { (lang.audit_of_history()) } }
        @if let Past::Failed(fault) = past { (history_fault(cx, fault)) }
        (filters(cx))
        section.card aria-label=(lang.audit()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.no_records(), &lang.no_records_hint(), None)))
            } @else { (table(cx, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.audit();
    Body { title, crumbs: Vec::new(), section: Section::Audit, main, is_live: true }
}

fn filters(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    html! {
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("audit")) {
            (search_field(cx, "job", &lang.job()))
            (search_field(cx, "who", &lang.who()))
            button type="submit" { (lang.filter()) }
        }
    }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.time_title()),
        Column::Text(lang.who()),
        Column::Text(lang.operation()),
        Column::Text(lang.job()),
        Column::Text(lang.target()),
        Column::Text(lang.reason()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, job: &str, record: &AuditRecord) -> (String, Markup) {
    // Ids are unique within a job.
    let id = format!("a-{}-{}", super::query::encoded(job), super::query::encoded(&record.id));
    let row = html! {
        tr id=(id) {
            td.nowrap { @if let Some(at) = moment(Some(record.at_ms)) { (cx.when(at, None)) } }
            td { a href=(cx.with(&[("who", &record.who), ("page", "")])) { (record.who) } }
            td { (cx.lang().audited_act(&record.act)) }
            th scope="row" { a href=(cx.job(job)) { (job) } }
            td.text {
                (cx.lang().audited_targets(&record.target))
                @if !record.what.is_empty() { div.dim { (effect_text(cx, &record.what)) } }
            }
            td.text { (record.why) }
        }
    };
    (id, row)
}
