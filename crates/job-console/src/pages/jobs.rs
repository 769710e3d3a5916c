//! Jobs: search, filters and sorting in the address, in pages of 50.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use coordination::{JobName, ServerIp};
use maud::{Markup, html};
use operations::{JobLine, JobSnapshot};

use super::bulk;
use super::configure::create;
use super::cx::Cx;
use super::history::Past;
use super::query::{Address, encoded};
use super::request::PageRequest;
use super::shell::{Body, Section};
use super::summary::moment;
use super::widgets::{
    PAGE, empty, history_fault, job_state, numbers, page_number, pager, search_field,
};
use crate::namespaces::is_on_server;
use crate::problem::Answer;
use crate::selection::Selection;
use crate::statuses::{ATTENTION, STATUSES, has_status, shown, words};

/// Columns by which the list can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Name,
    Status,
    NextFire,
    Instances,
}

impl Order {
    const WORDS: [(&str, Self); 4] = [
        ("name", Self::Name),
        ("status", Self::Status),
        ("next", Self::NextFire),
        ("instances", Self::Instances),
    ];

    fn of(word: &str) -> Self {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map_or(Self::Name, |(_, order)| *order)
    }

    /// Sorts jobs, which are in the order of their names, and stay so among equals.
    fn sort(self, cx: &Cx<'_>, jobs: &mut [&JobLine]) {
        match self {
            Self::Name => {}
            Self::Status => jobs.sort_by_key(|job| {
                let attention = job.attention(cx.now.as_millisecond());
                (attention.is_none(), attention, job.status)
            }),
            Self::NextFire => {
                let Some(namespace) = cx.source else { return };
                let all = namespace.live.next_fires(cx.now.as_millisecond(), usize::MAX);
                let fires: HashMap<&str, i64> =
                    all.iter().map(|(fire, job)| (job.as_str(), *fire)).collect();
                jobs.sort_by_cached_key(|job| {
                    let fire = fires.get(job.job_name.as_str());
                    (fire.is_none(), fire)
                });
            }
            Self::Instances => jobs.sort_by_key(|job| Reverse(job.instance_count)),
        }
    }
}

/// Checks the filters of an address.
pub(super) fn check(address: &Address) -> Answer<()> {
    address.one_of("sort", Order::WORDS.map(|(word, _)| word))?;
    address.one_of("status", words())
}

/// Returns true if a job has the text in its name, description, template or schedule.
fn has_text(job: &JobLine, text: &str) -> bool {
    let texts = [&job.description, &job.template, &job.cron, &job.label];
    let mut texts = texts.into_iter().flatten().chain([&job.job_name]);
    texts.any(|one| one.to_lowercase().contains(text))
}

/// Returns the jobs that meet all filters but the one for the status.
fn filtered<'a>(cx: &'a Cx<'_>) -> Vec<&'a JobLine> {
    let text = cx.address.value("q").map(str::to_lowercase);
    let (label, server) = (cx.address.value("label"), cx.address.value("server"));
    let jobs = cx.summary.jobs().iter();
    let jobs = jobs.filter(|job| text.as_deref().is_none_or(|text| has_text(job, text)));
    let jobs = jobs.filter(|job| label.is_none() || job.label.as_deref() == label);
    let selection = Selection::of(cx.address.value("jobs"));
    let jobs = jobs.filter(|job| selection.has(&job.job_name));
    // A text that is no address matches no job.
    let server = server.map(|ip| ServerIp::new(ip).ok());
    let is_on = |job: &&JobLine| match &server {
        None => true,
        Some(ip) => ip
            .as_ref()
            .zip(cx.snapshot(&job.job_name))
            .is_some_and(|(ip, job)| is_on_server(&job, ip)),
    };
    jobs.filter(is_on).collect()
}

/// Returns the names of the jobs that meet all filters of the address, in their order.
fn matching(cx: &Cx<'_>) -> Vec<JobName> {
    let status = cx.address.value("status");
    let jobs = filtered(cx).into_iter();
    let jobs = jobs
        .filter(|job| status.is_none_or(|status| has_status(job, status, cx.now.as_millisecond())));
    jobs.filter_map(|job| JobName::new(&job.job_name).ok()).collect()
}

/// Returns the jobs that meet all filters of the address of a request.
pub(super) fn snapshots(request: &PageRequest) -> Vec<Arc<JobSnapshot>> {
    let names = request.with_cx(matching);
    // A job that has been removed since the summary does not match any more.
    names.iter().filter_map(|name| request.namespace.job(name).ok()).collect()
}

pub(super) fn page(cx: &Cx<'_>, past: &Past) -> Body {
    let lang = cx.lang();
    let candidates = filtered(cx);
    let status = cx.address.value("status");
    let order = Order::of(cx.address.value("sort").unwrap_or_default());
    let mut found: Vec<&JobLine> = candidates
        .iter()
        .copied()
        .filter(|job| status.is_none_or(|status| has_status(job, status, cx.now.as_millisecond())))
        .collect();
    order.sort(cx, &mut found);
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|job| row(cx, job, past)).collect();
    let main = html! {
        div.title {
            h1 { (lang.jobs()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
            span.grow {}
            (create::link(cx))
            (cx.live("bulk", &bulk::menu(cx, total)))
        }
        (filters(cx))
        (cx.live("states", &states(cx, &candidates)))
        @if let Past::Failed(fault) = past { (cx.live("past", &history_fault(cx, fault))) }
        section.card aria-label=(lang.jobs()) {
            @if rows.is_empty() { (cx.live("rows", &nothing(cx))) } @else { (table(cx, order, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    Body { title: lang.jobs(), crumbs: Vec::new(), section: Section::Jobs, main, is_live: true }
}

fn nothing(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    if cx.summary.jobs().is_empty() {
        return empty(&lang.no_jobs(), &lang.no_jobs_hint(), Some("ejob worker jobs.toml"));
    }
    html! {
        div.empty {
            p { b { (lang.no_match()) } }
            p { a href=(cx.here("jobs")) { (lang.show_all()) } }
        }
    }
}

/// Returns the form of the filters. The browser puts it into the address.
fn filters(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    html! {
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("jobs")) {
            (search_field(cx, "q", &lang.search_jobs()))
            (search_field(cx, "label", &lang.label()))
            (search_field(cx, "server", &lang.server()))
            @for name in ["jobs", "status", "sort"] {
                @if let Some(value) = cx.address.value(name) {
                    input type="hidden" name=(name) value=(value);
                }
            }
            button type="submit" { (lang.filter()) }
        }
    }
}

/// Returns the numbers of jobs by status, each a link to these jobs.
fn states(cx: &Cx<'_>, jobs: &[&JobLine]) -> Markup {
    let lang = cx.lang();
    let shown: Vec<_> = jobs.iter().map(|job| shown(job, cx.now.as_millisecond())).collect();
    let urgent = shown.iter().filter(|(_, is_urgent)| *is_urgent).count();
    let all = [("", lang.all(), jobs.len()), (ATTENTION, lang.needs_attention(), urgent)];
    let statuses = STATUSES.map(|(word, attention, state)| {
        let label = attention.map_or_else(|| lang.job_state(state), |one| lang.attention(one));
        (word, label, shown.iter().filter(|(one, _)| *one == word).count())
    });
    numbers(cx, "status", &lang.status(), all.into_iter().chain(statuses))
}

fn table(cx: &Cx<'_>, order: Order, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let heading = |word: &str, label: String| {
        let is_sorted = Order::of(word) == order;
        html! {
            th scope="col" aria-sort=[is_sorted.then_some("ascending")] {
                a href=(cx.with(&[("sort", word), ("page", "")])) { (label) }
            }
        }
    };
    html! {
        div.scroll {
            table {
                thead { tr {
                    (heading("name", lang.job()))
                    (heading("status", lang.status()))
                    th scope="col" { (lang.schedule()) }
                    (heading("next", lang.next_fire()))
                    th.num scope="col" { (lang.items()) }
                    (heading("instances", lang.instances()))
                    th scope="col" { (lang.last_end()) }
                    th.num scope="col" { (lang.failed_in_last_day()) }
                } }
                (cx.live_rows("rows", rows))
            }
        }
    }
}

fn row(cx: &Cx<'_>, job: &JobLine, past: &Past) -> (String, Markup) {
    let (lang, brief, name) = (cx.lang(), &job.brief, job.job_name.as_str());
    let id = format!("j-{}", encoded(name));
    let zone = job.time_zone.as_deref();
    let row = html! {
        tr id=(id) {
            th scope="row" {
                a href=(cx.job(name)) { (name) }
                @if let Some(label) = &brief.label { " " span.label { (label) } }
                @if let Some(text) = brief.description.as_deref().filter(|text| !text.is_empty()) {
                    div.dim.cut { (text) }
                }
            }
            td { (job_state(cx, job)) }
            td {
                @match &brief.cron {
                    Some(cron) => { code { (cron) } @if let Some(zone) = zone { " " span.dim { (zone) } } },
                    None => { span.dim { (lang.on_request()) } },
                }
            }
            td.nowrap {
                @match cx.next_fire(job) { Some(fire) => { (cx.when(fire, zone)) }, None => { "–" } }
            }
            td.num.nowrap {
                (brief.sharding_total_count.unwrap_or_default())
                @if brief.running_items > 0 { " " span.runs { (lang.n_running(brief.running_items)) } }
                @if brief.failing_items > 0 { " " span.fails { (lang.n_failing(brief.failing_items)) } }
            }
            td.num { (brief.instance_count) }
            td.nowrap {
                @match moment(brief.last_end_ms) { Some(end) => { (cx.when(end, zone)) }, None => { "–" } }
            }
            td.num.nowrap { (last_day(cx, name, past)) }
        }
    };
    (id, row)
}

/// Returns how many runs of a job failed in the last 24 hours, as far as the history has them.
fn last_day(cx: &Cx<'_>, job: &str, past: &Past) -> Markup {
    let Past::Jobs(jobs) = past else { return html! { "–" } };
    let runs = jobs.get(job).copied().unwrap_or_default();
    let class = if runs.failed > 0 { "fails" } else { "dim" };
    html! {
        a.(class) href={ (cx.job(job)) "/runs" } { (runs.failed) " / " (runs.failed + runs.succeeded) }
    }
}
