//! Doctor: findings of all jobs and groups, the most severe first, with their evidence and repair.

use std::cmp::Reverse;

use coordination::{GroupName, JobName};
use maud::{Markup, html};
use operations::{Finding, Fix, JobSnapshot, Severity};

use super::cx::Cx;
use super::query::encoded;
use super::repair::link;
use super::shell::{Body, Section};
use super::widgets::{PAGE, empty, page_number, pager, pill, translated};

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let mut found = found(cx);
    found.sort_by_key(|finding| Reverse(finding.severity));
    let (total, number) = (found.len(), page_number(cx, found.len()));
    // The number beside the section leaves information out.
    let severities = [Severity::Error, Severity::Warning, Severity::Info].map(|severity| {
        (severity, found.iter().filter(|finding| finding.severity == severity).count())
    });
    let shown = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|finding| row(cx, finding)).collect();
    let main = html! {
        div.title {
            h1 { (lang.doctor()) }
            (cx.live("found", &html! {
                p.dim {
                    (lang.n_findings(total))
                    @for (severity, n) in severities.into_iter().filter(|(_, n)| *n > 0) {
                        " · " (of_severity(cx, severity).1) " " (n)
                    }
                }
            }))
        }
        p.sub { (lang.doctor_hint()) }
        section.card aria-label=(lang.doctor()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.no_findings(), &lang.no_findings_hint(), None)))
            } @else { (table(cx, &rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.doctor();
    Body { title, crumbs: Vec::new(), section: Section::Doctor, main, is_live: true }
}

/// Returns the findings that the address asks for: all, or those concerning one job.
fn found<'a>(cx: &Cx<'a>) -> Vec<&'a Finding> {
    let all = &cx.summary.found;
    let Some(job) = cx.address.value("job") else { return all.all().collect() };
    let Ok(job) = JobName::new(job) else { return Vec::new() };
    let snapshot = cx.source.and_then(|namespace| namespace.live.job(&job));
    all.concerning(&job, snapshot.as_deref().and_then(JobSnapshot::group)).collect()
}

fn table(cx: &Cx<'_>, rows: &[Markup]) -> Markup {
    let lang = cx.lang();
    let table = html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.severity()) }
                    th scope="col" { (lang.job_or_group()) }
                    th scope="col" { (lang.finding()) }
                    th scope="col" { (lang.evidence()) }
                    th scope="col" { (lang.repair()) }
                } }
                tbody { @for row in rows { (row) } }
            }
        }
    };
    cx.live("rows", &table)
}

/// Returns the address of a job; for leftovers without a configuration, that of their nodes.
fn page_of(cx: &Cx<'_>, job: &str) -> String {
    match cx.summary.list.get(job) {
        Some(_) => cx.job(job),
        None => cx.here(&format!("registry/{}", encoded(job))),
    }
}

/// Returns the links to the job and the group that a finding is about.
fn subject(cx: &Cx<'_>, finding: &Finding) -> Markup {
    let group = finding.group.as_deref().and_then(|group| GroupName::new(group).ok());
    html! {
        @if !finding.job.is_empty() { a href=(page_of(cx, &finding.job)) { (finding.job) } }
        @if let Some(group) = group {
            div { (cx.lang().group()) " " a href=(cx.group(&group)) { (group) } }
        }
    }
}

/// Returns a node as evidence. Those of a job have a page.
fn node(cx: &Cx<'_>, finding: &Finding, node: &str) -> Markup {
    // The list of nodes has pages, so the path is also its filter.
    let (job, path) = (encoded(&finding.job), encoded(node));
    html! {
        @if finding.group.is_some() { code { (node) } }
        @else { a href=(cx.here(&format!("registry/{job}?q={path}#{path}"))) { code { (node) } } }
    }
}

/// Returns the class and the word of a severity.
fn of_severity(cx: &Cx<'_>, severity: Severity) -> (&'static str, String) {
    let lang = cx.lang();
    match severity {
        Severity::Error => ("fail", lang.error()),
        Severity::Warning => ("wait", lang.warning()),
        Severity::Info => ("off", lang.info()),
    }
}

fn row(cx: &Cx<'_>, finding: &Finding) -> Markup {
    let lang = cx.lang();
    let (class, word) = of_severity(cx, finding.severity);
    let line = cx.summary.list.get(&finding.job);
    let zone = line.and_then(|line| line.time_zone.as_deref());
    html! {
        tr {
            td { (pill(class, &word)) }
            th scope="row" { (subject(cx, finding)) }
            td.text {
                @if let Some(kind) = lang.finding_kind(finding.code) { (kind) " " }
                code { (finding.code) }
                @if let Some(fault) = finding.fault { " " span.dim { (fault) } }
                div { (translated(cx, zone, lang.finding_text(&finding.text), &finding.text)) }
            }
            td.text {
                @if let Some(node) = &finding.node { (self::node(cx, finding, node)) }
            }
            td.text {
                @match &finding.fix {
                    Some(fix) => {
                        div { (steps(cx, fix)) }
                        (link(cx, finding))
                    },
                    None => { span.dim { (lang.no_repair()) } },
                }
            }
        }
    }
}

/// Returns the steps of a repair in one line.
fn steps(cx: &Cx<'_>, fix: &Fix) -> Markup {
    html! {
        @for (n, step) in fix.steps().iter().enumerate() {
            @if n > 0 { (cx.lang().semicolon()) }
            (super::repair::step(cx, &step.to_string()))
        }
    }
}
