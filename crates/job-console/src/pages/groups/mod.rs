//! Groups of jobs: their limits, the runs that have permits, and the jobs that wait.
//!
//! In reading order: this file (the list) · `one` (one group) · `limits` (changes of the limits).

mod limits;
mod one;

use std::sync::Arc;

use coordination::{GroupLimits, JobName};
use maud::{Markup, html};
use operations::GroupSnapshot;

use super::cx::Cx;
use super::locale::Lang;
use super::query::encoded;
use super::shell::{Body, Section};
use super::widgets::{Column, PAGE, empty, live_table, page_number, pager, pill, search_field};
use crate::groups::shown;

pub(super) use limits::add;
pub(super) use one::page as group_page;

/// Maximum number of waiting jobs that a row names.
const MAX_NAMED: usize = 3;

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let text = cx.address.value("q").unwrap_or_default().to_lowercase();
    let all = cx.source.map(|namespace| shown(&namespace.live)).unwrap_or_default();
    let has_text =
        |group: &&Arc<GroupSnapshot>| group.view().name().as_str().to_lowercase().contains(&text);
    let found: Vec<_> = all.iter().filter(has_text).collect();
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let of_page = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = of_page.map(|group| row(cx, group)).collect();
    let main = html! {
        div.title {
            h1 { (lang.groups()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
            span.grow {}
            (limits::link(cx, None))
        }
        p.sub { (lang.groups_hint()) }
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("groups")) {
            (search_field(cx, "q", &lang.name_contains()))
            button type="submit" { (lang.filter()) }
        }
        section.card aria-label=(lang.groups()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.no_groups(), &lang.no_groups_hint(), Some("ejob group set"))))
            } @else { (table(cx, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.groups();
    Body { title, crumbs: Vec::new(), section: Section::Groups, main, is_live: true }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.group()),
        Column::Text(lang.state()),
        Column::Number(lang.runs_at_once()),
        Column::Text(lang.starts_in_period()),
        Column::Text(lang.waiting_jobs()),
        Column::Number(lang.jobs()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, group: &GroupSnapshot) -> (String, Markup) {
    let (lang, view) = (cx.lang(), group.view());
    let name = view.name();
    let id = format!("g-{}", encoded(name.as_str()));
    let line = view.line();
    let row = html! {
        tr id=(id) {
            th scope="row" { a href=(cx.group(name)) { (name) } }
            td { (state(cx, group)) }
            td.num { (runs(lang, group)) }
            td { (starts(lang, view.limits())) }
            td.text {
                @if line.is_empty() { span.dim { "–" } }
                @else { (named(cx, line.iter().map(|(job, _)| *job))) }
            }
            td.num { (jobs(cx, group).len()) }
        }
    };
    (id, row)
}

/// Returns the jobs whose configurations name the group.
fn jobs(cx: &Cx<'_>, group: &GroupSnapshot) -> Vec<JobName> {
    let live = cx.source.map(|namespace| &namespace.live);
    live.map(|live| live.jobs_of_group(group.view().name())).unwrap_or_default()
}

/// Returns links to the first jobs, and the number of the others.
fn named<'a>(cx: &Cx<'_>, jobs: impl ExactSizeIterator<Item = &'a JobName>) -> Markup {
    let more = jobs.len().saturating_sub(MAX_NAMED);
    html! {
        @for (n, job) in jobs.take(MAX_NAMED).enumerate() {
            @if n > 0 { (cx.lang().comma()) " " }
            a href=(cx.job(job.as_str())) { (job) }
        }
        @if more > 0 { " " (cx.lang().and_more(more)) }
    }
}

/// Returns the number of runs with permits, with their limit.
fn runs(lang: Lang, group: &GroupSnapshot) -> Markup {
    let max = group.view().limits().and_then(|limits| limits.cluster_concurrency);
    match max {
        Some(max) => html! { (lang.taken_of(group.view().permits().len(), max)) },
        None => unlimited(lang, group.view().limits()),
    }
}

fn starts(lang: Lang, limits: Option<GroupLimits>) -> Markup {
    match limits.and_then(|limits| limits.start_rate) {
        Some(rate) => html! { code { (rate) } },
        None => unlimited(lang, limits),
    }
}

fn unlimited(lang: Lang, limits: Option<GroupLimits>) -> Markup {
    let text = if limits.is_some() { lang.no_limit() } else { lang.unreadable() };
    html! { span.dim { (text) } }
}

/// Returns whether a further run of the group can begin.
fn state(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let (lang, view) = (cx.lang(), group.view());
    let Some(limits) = view.limits() else { return pill("fail", &lang.unreadable()) };
    let is_full = |max: u32| u32::try_from(view.permits().len()).is_ok_and(|taken| taken >= max);
    if limits.is_none() {
        pill("off", &lang.no_limits())
    } else if limits.cluster_concurrency.is_some_and(is_full) {
        pill("wait", &lang.permits_are_taken())
    } else if view.starts_again_at(cx.now.as_millisecond()).is_some() {
        pill("wait", &lang.rate_is_reached())
    } else {
        pill("done", &lang.is_below_limits())
    }
}
