//! One group: its limits, the runs that have permits, the waiting jobs, its jobs and its changes.

use coordination::{AuditRecord, GroupName, GroupPermitView, JobName, PlaceInLine};
use maud::{Markup, html};
use operations::GroupSnapshot;

use super::{jobs, limits, runs, starts, state};
use crate::groups::{group_of, since};
use crate::pages::cx::Cx;
use crate::pages::query::encoded;
use crate::pages::shell::{Body, Section};
use crate::pages::summary::moment;
use crate::pages::widgets::{Column, effect_text, instance, job_state, live_table};
use crate::problem::{Answer, Problem};

/// Maximum number of permits, of waiting jobs and of jobs that the page shows.
const MAX_ROWS: usize = 100;

pub(in crate::pages) fn page(cx: &Cx<'_>, name: &GroupName) -> Answer<Body> {
    let lang = cx.lang();
    let absent = || Problem::not_found("no-such-group", format!("there is no group {name}"));
    let group = group_of(cx.source.ok_or_else(absent)?, name)?;
    let main = html! {
        div.title {
            h1 { (name) }
            (cx.live("state", &state(cx, &group)))
            span.grow {}
            (cx.live("acts", &limits::links(cx, &group)))
        }
        (cx.live("sub", &sub(cx, &group)))
        div.cols {
            div.stack {
                section.card aria-labelledby="permits-title" {
                    h2 #permits-title { (lang.runs_at_once()) }
                    (cx.live("permits", &permits(cx, &group)))
                }
                section.card aria-labelledby="waiting-title" {
                    h2 #waiting-title { (lang.waiting_jobs()) }
                    (cx.live("waiting", &waiting(cx, &group)))
                }
                section.card aria-labelledby="jobs-title" {
                    h2 #jobs-title { (lang.jobs_of_group()) }
                    (members(cx, &group))
                }
            }
            aside.stack aria-label=(lang.last_changes()) {
                section.card aria-labelledby="changes-title" {
                    h2 #changes-title { (lang.last_changes()) }
                    (cx.live("changes", &changes(cx, &group)))
                    @let all = cx.here(&format!("audit?group={}", encoded(name.as_str())));
                    p { a href=(all) { (lang.all_changes()) } }
                }
            }
        }
    };
    let crumbs = vec![(lang.groups(), cx.here("groups"))];
    Ok(Body { title: name.to_string(), crumbs, section: Section::Groups, main, is_live: true })
}

/// Returns the limits, and the time of the next start if the rate is reached.
fn sub(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let (lang, view) = (cx.lang(), group.view());
    let next = view.starts_again_at(cx.now.as_millisecond());
    html! {
        @if view.limits().is_none() { p.why.bad { b { (lang.unreadable_limits()) } } }
        p.sub {
            (lang.runs_at_once()) (lang.colon()) (runs(lang, group)) " · "
            (lang.starts_in_period()) (lang.colon()) (starts(lang, view.limits()))
            @if let Some(at) = next.and_then(|(_, at_ms)| moment(Some(at_ms))) {
                br; (lang.next_run_of_group()) " " (cx.when(at, None))
            }
        }
    }
}

/// Returns a table that is sent as a whole: its rows come and go with each run.
fn table(columns: &[String], rows: impl Iterator<Item = Markup>) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { @for label in columns { th scope="col" { (label) } } } }
                tbody { @for row in rows.take(MAX_ROWS) { (row) } }
            }
        }
    }
}

fn more(cx: &Cx<'_>, total: usize) -> Markup {
    html! { @if total > MAX_ROWS { p.dim { (cx.lang().and_more(total - MAX_ROWS)) } } }
}

fn permits(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let (lang, view) = (cx.lang(), group.view());
    let total = view.permits().len();
    if total == 0 {
        let limits_runs = view.limits().is_none_or(|limits| limits.cluster_concurrency.is_some());
        let text =
            if limits_runs { lang.no_permit_is_taken() } else { lang.runs_take_no_permits() };
        return html! { p.dim { (text) } };
    }
    let columns = [lang.permit(), lang.job(), lang.item(), lang.instance(), lang.since()];
    let rows = view.permits().map(|(number, permit)| permit_row(cx, number, permit));
    html! { (table(&columns, rows)) (more(cx, total)) }
}

fn permit_row(cx: &Cx<'_>, number: u32, permit: &GroupPermitView) -> Markup {
    let since = cx.source.and_then(|namespace| since(&namespace.live, permit));
    html! {
        tr id={ "p-" (number) } {
            td { (number) }
            @match &permit.holder {
                Some(run) => {
                    @let (job, item) = (run.job.as_str(), run.item.index());
                    th scope="row" { a href=(cx.job(job)) { (job) } }
                    td { a href={ (cx.job(job)) "?item=" (item) } { (item) } }
                    td { (instance(cx, run.holder.as_str())) }
                },
                None => { td colspan="3" { span.dim { (cx.lang().unreadable()) } } },
            }
            td.nowrap { @match since { Some(at) => (cx.when(at, None)), None => "–" } }
        }
    }
}

fn waiting(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let lang = cx.lang();
    let line = group.view().line();
    if line.is_empty() {
        return html! { p.dim { (lang.no_job_waits()) } };
    }
    // Not each registry has times.
    let has_times = line.iter().any(|(_, place)| place.since_ms.is_some());
    let since = has_times.then(|| lang.since());
    let columns = [lang.place(), lang.job(), lang.instance()].into_iter().chain(since);
    let columns: Vec<_> = columns.collect();
    let rows = line.iter().enumerate();
    let rows = rows.map(|(n, (job, place))| place_row(cx, n + 1, job, place, has_times));
    html! { (table(&columns, rows)) (more(cx, line.len())) }
}

fn place_row(
    cx: &Cx<'_>,
    number: usize,
    job: &JobName,
    place: &PlaceInLine,
    has_times: bool,
) -> Markup {
    html! {
        tr id={ "w-" (encoded(job.as_str())) } {
            td { (number) }
            th scope="row" { a href=(cx.job(job.as_str())) { (job) } }
            td { @match &place.by { Some(by) => (instance(cx, by.as_str())), None => "–" } }
            @if has_times {
                td.nowrap {
                    @match moment(place.since_ms) { Some(at) => (cx.when(at, None)), None => "–" }
                }
            }
        }
    }
}

/// Returns the jobs whose configurations name the group.
fn members(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let lang = cx.lang();
    let jobs = jobs(cx, group);
    if jobs.is_empty() {
        return cx.live("members", &html! { p.dim { (lang.no_job_in_group()) } });
    }
    let columns = [
        Column::Text(lang.job()),
        Column::Text(lang.state()),
        Column::Number(lang.running_items()),
        Column::Text(lang.next_fire()),
    ];
    let rows = jobs.iter().take(MAX_ROWS).map(|job| member(cx, job)).collect();
    html! {
        (live_table(cx, "members", columns, rows))
        (cx.live("more-members", &more(cx, jobs.len())))
    }
}

fn member(cx: &Cx<'_>, job: &JobName) -> (String, Markup) {
    let id = format!("j-{}", encoded(job.as_str()));
    let line = cx.summary.list.get(job.as_str());
    let next = line.and_then(|line| cx.next_fire(line));
    let zone = line.and_then(|line| line.time_zone.as_deref());
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.job(job.as_str())) { (job) } }
            td { @if let Some(line) = line { (job_state(cx, line)) } }
            td.num { (line.map_or(0, |line| line.running_items)) }
            td.nowrap { @match next { Some(at) => (cx.when(at, zone)), None => "–" } }
        }
    };
    (id, row)
}

fn changes(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let records: Vec<&AuditRecord> = group.audit().rev().collect();
    html! {
        @if records.is_empty() { p.dim { (cx.lang().no_change_of_group()) } }
        @else { ul.plain { @for record in records { (change(cx, record)) } } }
    }
}

fn change(cx: &Cx<'_>, record: &AuditRecord) -> Markup {
    html! {
        li id={ "c-" (encoded(&record.id)) } {
            (effect_text(cx, &record.what))
            div.dim {
                (cx.lang().by(&record.who)) " "
                @if let Some(at) = moment(Some(record.at_ms)) { (cx.when(at, None)) }
                (cx.lang().colon()) (record.why)
            }
        }
    }
}
