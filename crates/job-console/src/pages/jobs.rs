//! Jobs: search, filters and sorting in the address, in pages of 50.

use std::cmp::Ordering;
use std::sync::Arc;

use coordination::JobName;
use maud::{Markup, html};
use operations::JobState;

use super::bulk;
use super::cx::Cx;
use super::digest::Digest;
use super::query::encoded;
use super::shell::{Body, Section};
use super::widgets::{PAGE, empty, job_state, page_number, pager};

/// Word of the filter for all jobs that need attention.
const ATTENTION: &str = "ATTENTION";
const STATES: [JobState; 7] = [
    JobState::Ok,
    JobState::Failing,
    JobState::Crashed,
    JobState::Resharding,
    JobState::Paused,
    JobState::Disabled,
    JobState::NoInstance,
];

/// Columns by which the list can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Name,
    Status,
    NextFire,
    Instances,
}

impl Order {
    fn of(word: &str) -> Self {
        match word {
            "status" => Self::Status,
            "next" => Self::NextFire,
            "instances" => Self::Instances,
            _ => Self::Name,
        }
    }

    fn compare(self, cx: &Cx<'_>, a: &Digest, b: &Digest) -> Ordering {
        let by_name = || a.name.cmp(&b.name);
        let urgency = |job: &Digest| {
            let attention = job.attention(cx.now);
            (attention.is_none(), attention, job.brief.status)
        };
        let fire = |job: &Digest| (job.next_fire.is_none(), job.next_fire);
        match self {
            Self::Name => by_name(),
            Self::Status => urgency(a).cmp(&urgency(b)).then_with(by_name),
            Self::NextFire => fire(a).cmp(&fire(b)).then_with(by_name),
            Self::Instances => {
                b.brief.instance_count.cmp(&a.brief.instance_count).then_with(by_name)
            }
        }
    }
}

/// Returns true if a job has the text in its name, description, template or schedule.
fn has_text(job: &Digest, text: &str) -> bool {
    let brief = &job.brief;
    let texts = [&brief.description, &brief.template, &brief.cron, &brief.label];
    let mut texts = texts.into_iter().flatten().map(String::as_str).chain([job.name.as_str()]);
    texts.any(|one| one.to_lowercase().contains(text))
}

/// Returns the jobs that meet all filters but the one for the status.
fn filtered<'a>(cx: &'a Cx<'_>) -> Vec<&'a Arc<Digest>> {
    let text = cx.address.value("q").map(str::to_lowercase);
    let (label, server) = (cx.address.value("label"), cx.address.value("server"));
    let jobs = cx.summary.jobs.iter();
    let jobs = jobs.filter(|job| text.as_deref().is_none_or(|text| has_text(job, text)));
    let jobs = jobs.filter(|job| label.is_none() || job.brief.label.as_deref() == label);
    let on = |job: &Digest| server.is_none_or(|ip| job.servers.iter().any(|one| one.ip == ip));
    jobs.filter(|job| on(job)).collect()
}

fn has_status(cx: &Cx<'_>, job: &Digest, status: &str) -> bool {
    match status {
        ATTENTION => job.attention(cx.now).is_some(),
        status => job.brief.status.as_str() == status,
    }
}

/// Returns the names of the jobs that meet all filters of the address, in their order.
pub(super) fn matching(cx: &Cx<'_>) -> Vec<JobName> {
    let status = cx.address.value("status");
    let jobs = filtered(cx).into_iter();
    let jobs = jobs.filter(|job| status.is_none_or(|status| has_status(cx, job, status)));
    jobs.map(|job| job.name.clone()).collect()
}

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let candidates = filtered(cx);
    let status = cx.address.value("status");
    let order = Order::of(cx.address.value("sort").unwrap_or_default());
    let mut found: Vec<_> = candidates
        .iter()
        .filter(|job| status.is_none_or(|status| has_status(cx, job, status)))
        .collect();
    found.sort_by(|a, b| order.compare(cx, a, b));
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|job| row(cx, job)).collect();
    let main = html! {
        div.title {
            h1 { (lang.jobs()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
            span.grow {}
            (cx.live("bulk", &bulk::menu(cx, total)))
        }
        (filters(cx))
        (cx.live("states", &states(cx, &candidates, status)))
        section.card aria-label=(lang.jobs()) {
            @if rows.is_empty() { (cx.live("rows", &nothing(cx))) } @else { (table(cx, order, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    Body { title: lang.jobs(), crumbs: Vec::new(), section: Section::Jobs, main, is_live: true }
}

fn nothing(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    if cx.summary.jobs.is_empty() {
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
    let field = |name: &str, label: String| {
        let id = format!("by-{name}");
        html! {
            div.field {
                label for=(id) { (label) }
                input id=(id) name=(name) type="search" maxlength="128"
                    value=(cx.address.value(name).unwrap_or_default());
            }
        }
    };
    html! {
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("jobs")) {
            (field("q", lang.search_jobs()))
            (field("label", lang.label()))
            (field("server", lang.server()))
            @for name in ["status", "sort"] {
                @if let Some(value) = cx.address.value(name) {
                    input type="hidden" name=(name) value=(value);
                }
            }
            button type="submit" { (lang.filter()) }
        }
    }
}

/// Returns the numbers of jobs by status, each a link to these jobs.
fn states(cx: &Cx<'_>, jobs: &[&Arc<Digest>], chosen: Option<&str>) -> Markup {
    let lang = cx.lang();
    let count = |status: &str| jobs.iter().filter(|job| has_status(cx, job, status)).count();
    let link = |status: &str, label: String, n: usize| {
        html! {
            a href=(cx.with(&[("status", status), ("page", "")]))
                aria-current=[(chosen.unwrap_or_default() == status).then_some("true")] {
                (label) " " b.n { (n) }
            }
        }
    };
    html! {
        nav.states aria-label=(lang.status()) {
            (link("", lang.all(), jobs.len()))
            @let urgent = count(ATTENTION);
            @if urgent > 0 || chosen == Some(ATTENTION) {
                (link(ATTENTION, lang.needs_attention(), urgent))
            }
            @for state in STATES {
                @let n = count(state.as_str());
                @if n > 0 || chosen == Some(state.as_str()) {
                    (link(state.as_str(), lang.job_state(state), n))
                }
            }
        }
    }
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
                } }
                (cx.live_rows("rows", rows))
            }
        }
    }
}

fn row(cx: &Cx<'_>, job: &Digest) -> (String, Markup) {
    let (lang, brief, name) = (cx.lang(), &job.brief, job.name.as_str());
    let id = format!("j-{}", encoded(name));
    let zone = job.zone.as_deref();
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
                @match job.next_fire { Some(fire) => { (cx.when(fire, zone)) }, None => { "–" } }
            }
            td.num.nowrap {
                (brief.sharding_total_count.unwrap_or_default())
                @if !job.running.is_empty() { " " span.runs { (lang.n_running(job.running.len())) } }
                @if brief.failing_items > 0 { " " span.fails { (lang.n_failing(brief.failing_items)) } }
            }
            td.num { (brief.instance_count) }
            td.nowrap {
                @match job.last_end { Some(end) => { (cx.when(end, zone)) }, None => { "–" } }
            }
        }
    };
    (id, row)
}
