//! Audit: who changed what, when and why, the latest first.

use std::cmp::Reverse;

use coordination::{AuditRecord, AuditSubject};
use job_history::{StoredAudit, all_changes};
use maud::{Markup, html};
use operations::audited_changes;

use super::cx::Cx;
use super::history::Past;
use super::query::encoded;
use super::shell::{Body, Section};
use super::summary::moment;
use super::view::Snapshots;
use super::widgets::{
    Column, PAGE, effect_text, empty, history_fault, live_table, page_number, pager, search_field,
};

pub(super) fn page(cx: &Cx<'_>, jobs: &Snapshots, past: &Past) -> Body {
    let lang = cx.lang();
    let address = &cx.address;
    let (who, job, group) = (address.value("who"), address.value("job"), address.value("group"));
    // A change has one subject, so a condition for a job excludes groups, and the reverse.
    let is_wanted = |subject: &AuditSubject| match subject {
        AuditSubject::Job(name) => {
            group.is_none() && job.is_none_or(|wanted| name.as_str() == wanted)
        }
        AuditSubject::Group(name) => {
            job.is_none() && group.is_none_or(|wanted| name.as_str() == wanted)
        }
    };
    let groups = cx.source.map(|namespace| namespace.live.groups()).unwrap_or_default();
    let registered = audited_changes(jobs.configured(), groups.iter().map(|group| &**group));
    let stored: &[StoredAudit] = if let Past::Audited(stored) = past { stored } else { &[] };
    let mut records: Vec<(AuditSubject, &AuditRecord)> = all_changes(registered, stored)
        .filter(|(subject, _)| is_wanted(subject))
        .filter(|(_, record)| who.is_none_or(|who| record.who == who))
        .collect();
    records.sort_by(|(a, first), (b, second)| {
        (Reverse(first.at_ms), a).cmp(&(Reverse(second.at_ms), b))
    });
    let (total, number) = (records.len(), page_number(cx, records.len()));
    let shown = records.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|(subject, record)| row(cx, &subject, record)).collect();
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
            (search_field(cx, "group", &lang.group()))
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
        Column::Text(lang.job_or_group()),
        Column::Text(lang.target()),
        Column::Text(lang.reason()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, subject: &AuditSubject, record: &AuditRecord) -> (String, Markup) {
    let (kind, name, address) = match subject {
        AuditSubject::Job(job) => ("a", job.as_str(), cx.job(job.as_str())),
        AuditSubject::Group(group) => ("g", group.as_str(), cx.group(group)),
    };
    // Ids are unique within a job or a group.
    let id = format!("{kind}-{}-{}", encoded(name), encoded(&record.id));
    let row = html! {
        tr id=(id) {
            td.nowrap { @if let Some(at) = moment(Some(record.at_ms)) { (cx.when(at, None)) } }
            td { a href=(cx.with(&[("who", &record.who), ("page", "")])) { (record.who) } }
            td { (cx.lang().audited_act(&record.act)) }
            th scope="row" {
                @if kind == "g" { span.dim { (cx.lang().group()) " " } }
                a href=(address) { (name) }
            }
            td.text {
                @if kind == "a" { (cx.lang().audited_targets(&record.target)) }
                @if !record.what.is_empty() { div.dim { (effect_text(cx, &record.what)) } }
            }
            td.text { (record.why) }
        }
    };
    (id, row)
}
