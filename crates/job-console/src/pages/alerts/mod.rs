//! Alerts: what is expected of the jobs, with its state and its silence.

mod silence;

use maud::{Markup, html};

use super::cx::{Age, Cx};
use super::query::encoded;
use super::shell::{Body, Section};
use super::summary::moment;
use super::widgets::{
    Column, PAGE, empty, live_table, numbers, page_number, pager, pill, search_field, translated,
};
use crate::access::Permission;
use crate::alerts::{Row, Standing};

pub(super) use silence::add;

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let all = rows(cx);
    let chosen = cx.address.value("state");
    let has_state = |row: &&Row| chosen.is_none_or(|state| row.state.word() == state);
    let mut found: Vec<&Row> = all.iter().filter(has_state).collect();
    found.sort_by_key(|row| (row.state, std::cmp::Reverse(row.severity)));
    let (total, number) = (found.len(), page_number(cx, found.len()));
    let shown = found.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let shown: Vec<_> = shown.map(|one| row(cx, one)).collect();
    let main = html! {
        div.title {
            h1 { (lang.alerts()) }
            (cx.live("found", &html! { p.dim { (lang.found(total)) } }))
        }
        (cx.live("watchers", &watchers(cx)))
        (filters(cx))
        (cx.live("states", &states(cx, &all)))
        section.card aria-label=(lang.alerts()) {
            @if shown.is_empty() {
                (cx.live("rows", &empty(&lang.no_expectations(), &lang.no_expectations_hint(), None)))
            } @else { (table(cx, shown)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.alerts();
    Body { title, crumbs: Vec::new(), section: Section::Alerts, main, is_live: true }
}

/// Returns the expectations of the jobs that match the filter.
fn rows(cx: &Cx<'_>) -> Vec<Row> {
    let text = cx.address.value("q").unwrap_or_default().to_lowercase();
    let rows = cx.source.map(|namespace| namespace.alerts.rows(cx.now)).unwrap_or_default();
    rows.into_iter().filter(|row| row.job.to_lowercase().contains(&text)).collect()
}

/// Maximum number of shown documents that cannot be read.
const MAX_UNREADABLE: usize = 10;

/// Returns who sends messages, and how complete the list is.
fn watchers(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    let Some(alerts) = cx.source.map(|namespace| &namespace.alerts) else { return html! {} };
    let age = Age::of(alerts.stored.freshness(), cx.now);
    if age == Age::Loading {
        return html! { p.dim { (lang.loading()) } };
    }
    let (unreadable, n_unreadable) = alerts.stored.unreadable(MAX_UNREADABLE);
    html! {
        @if let Age::Stale(since) = age { p.why { (lang.stale()) " " (cx.relative(since)) } }
        @for fault in &unreadable {
            p.why.bad { (lang.unreadable_document()) " " span lang="en" { (fault) } }
        }
        @if n_unreadable > unreadable.len() {
            p.dim { (lang.and_more(n_unreadable - unreadable.len())) }
        }
        @match alerts.stored.sender() {
            Some(sender) => { p.sub { (lang.sender()) " " code { (sender) } } },
            None => {
                p.why { b { (lang.no_sender()) } " " code { "ejob watch watch.toml" } }
            },
        }
        @if !alerts.judges() {
            p.why.neutral { (lang.only_stored()) " " code { "ejob console --watch watch.toml" } }
        }
    }
}

fn filters(cx: &Cx<'_>) -> Markup {
    let lang = cx.lang();
    html! {
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("alerts")) {
            (search_field(cx, "q", &lang.job()))
            @if let Some(state) = cx.address.value("state") {
                input type="hidden" name="state" value=(state);
            }
            button type="submit" { (lang.filter()) }
        }
    }
}

/// Returns the numbers of expectations by state, each a link to these expectations.
fn states(cx: &Cx<'_>, rows: &[Row]) -> Markup {
    let lang = cx.lang();
    let of = |state: Standing| rows.iter().filter(|row| row.state == state).count();
    let states = Standing::ALL.map(|state| (state.word(), lang.standing(state), of(state)));
    let all = [("", lang.all(), rows.len())];
    numbers(cx, "state", &lang.state(), all.into_iter().chain(states))
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.state()),
        Column::Text(lang.job()),
        Column::Text(lang.expectation()),
        Column::Text(lang.severity()),
        Column::Text(lang.since()),
        Column::Text(lang.why()),
        Column::Text(lang.silence()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, row: &Row) -> (String, Markup) {
    let (lang, kind) = (cx.lang(), row.expectation.as_str());
    let id = format!("w-{}-{kind}", encoded(&row.job));
    let line = cx.summary.list.get(&row.job);
    let zone = line.and_then(|line| line.time_zone.as_deref());
    let markup = html! {
        tr id=(id) {
            td { (pill(class_of(row.state), &lang.standing(row.state))) }
            th scope="row" {
                // An expectation can name a job that does not exist.
                @if line.is_some() { a href=(cx.job(&row.job)) { (row.job) } } @else { (row.job) }
            }
            td { (lang.expectation_of(row.expectation)) div.dim { code { (kind) } } }
            td { @if let Some(severity) = row.severity { (lang.watch_severity(severity)) } }
            td.nowrap {
                @if let Some(since) = row.since { (cx.when(since, zone)) }
                @if let Some(until) = row.until { (lang.until()) " " (cx.time(until, zone)) }
            }
            td.text {
                @if let Some(why) = &row.why { (translated(cx, zone, lang.reason_of_expectation(why), why)) }
                @if let Some(reported) = row.reported {
                    div.dim { (lang.last_message()) " " (cx.when(reported, zone)) }
                }
            }
            td.text { (silenced(cx, row, zone)) }
        }
    };
    (id, markup)
}

/// Returns the silence of an expectation, and the links that change it.
fn silenced(cx: &Cx<'_>, row: &Row, zone: Option<&str>) -> Markup {
    let lang = cx.lang();
    let path = format!("{}/silence?expectation={}", cx.job(&row.job), row.expectation.as_str());
    let label = if row.silence.is_some() { lang.change_silence() } else { lang.silence() };
    html! {
        @if let Some(silence) = &row.silence {
            @if let Some(until) = moment(Some(silence.until)) {
                (lang.until()) " " (cx.time(until, zone)) " "
            }
            (lang.by_author(&silence.by)) (cx.lang().colon()) (silence.why) " "
        }
        @if cx.may(Permission::Silence, Some(&row.job)) {
            a.button href=(path) data-dialog { (label) "…" }
        }
    }
}

fn class_of(state: Standing) -> &'static str {
    match state {
        Standing::Violated => "fail",
        Standing::Unknown | Standing::Pending => "wait",
        Standing::Ok => "done",
        Standing::Suspended | Standing::NotJudged => "off",
    }
}
