//! Timeline: what has happened in the namespace, the latest first, from all sources that record it.

mod entry;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use super::cx::Cx;
use super::history::Past;
use super::query::{Address, encoded};
use super::shell::{Body, Section, choice};
use super::view::Snapshots;
use super::widgets::{
    Column, FAILURES, empty, history_fault, history_gap, instance, live_table, pill, search_field,
};
use crate::problem::{Answer, Problem};
use entry::{CONFIGURATION, Entry, OPERATOR, Shown, Subject, of_registry};

pub(crate) use entry::{EVENTS, EventKind, Recorded};

/// Conditions for entries, as the address has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    job: Option<String>,
    kind: Option<String>,
    from: Option<Timestamp>,
    /// Exclusive end.
    until: Option<Timestamp>,
}

impl Filter {
    pub(crate) fn of(address: &Address) -> Answer<Self> {
        let text = |name| address.value(name).map(str::to_owned);
        let kind = text("kind");
        if let Some(kind) = kind.as_deref().filter(|kind| !kinds().any(|known| known == *kind)) {
            let valid: Vec<_> = kinds().collect();
            let detail = format!("kind is {kind:?}; valid is one of {}", valid.join(", "));
            return Err(Problem::invalid(detail));
        }
        let (from, until) = (time(address, "from")?, time(address, "until")?);
        Ok(Self { job: text("job"), kind, from, until })
    }

    fn accepts(&self, kind: &str) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == kind)
    }

    fn has_time(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }
}

/// Returns the kinds of entries, in the order of the filter.
fn kinds() -> impl Iterator<Item = &'static str> {
    [OPERATOR, CONFIGURATION].into_iter().chain(FAILURES).chain(EVENTS.map(|kind| kind.word))
}

/// Reads a time as a link or as a form has it; without an offset, it is UTC.
pub(super) fn time(address: &Address, name: &str) -> Answer<Option<Timestamp>> {
    let Some(text) = address.value(name) else { return Ok(None) };
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let found = text.parse().ok().or_else(|| Some(in_utc()?.timestamp()));
    found.map(Some).ok_or_else(|| {
        Problem::invalid(format!(
            "{name} is {text:?}; valid is a UTC time such as 2024-02-29T12:00"
        ))
    })
}

/// Returns a time as a control of a form has it, in UTC.
pub(super) fn control_time(at: Timestamp) -> String {
    let is_minute = at.as_millisecond() % 60_000 == 0;
    let format = if is_minute { "%Y-%m-%dT%H:%M" } else { "%Y-%m-%dT%H:%M:%S%.3f" };
    at.to_zoned(TimeZone::UTC).strftime(format).to_string()
}

pub(super) fn page(cx: &Cx<'_>, jobs: &Snapshots, past: &Past, filter: &Filter) -> Body {
    let lang = cx.lang();
    let none = Recorded::default();
    let recorded = if let Past::Timeline(recorded) = past { recorded } else { &none };
    let groups = cx.source.map(|namespace| namespace.live.groups()).unwrap_or_default();
    let groups = groups.iter().map(|group| &**group);
    let shown = Shown::of(recorded, &of_registry(jobs.configured(), groups, filter));
    let rows = rows(cx, &shown.entries);
    let main = html! {
        h1 { (lang.timeline()) }
        (cx.live("sources", &sources(cx, past)))
        (filters(cx, filter))
        section.card aria-label=(lang.timeline()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.nothing_happened(), &lang.nothing_happened_hint(), None)))
            } @else {
                (cx.live("partial", &html! { @if shown.is_cut { p.why { (lang.more_at_this_time()) } } }))
                (table(cx, rows))
            }
        }
        (cx.live("pager", &pager(cx, filter, shown.older)))
    };
    let title = lang.timeline();
    Body { title, crumbs: Vec::new(), section: Section::Timeline, main, is_live: true }
}

/// Returns which sources the page has, so that a missing entry is not taken for a missing event.
fn sources(cx: &Cx<'_>, past: &Past) -> Markup {
    let lang = cx.lang();
    match past {
        Past::None => html! {
            p.why.neutral {
                b { (lang.timeline_without_history()) } " "
                code { "ejob console --history sqlite:history.db" }
            }
        },
        Past::Failed(fault) => history_fault(cx, fault),
        Past::Timeline(Recorded { dropped, .. }) => html! {
            p.sub { (lang.timeline_hint()) }
            (history_gap(cx, *dropped))
        },
        Past::Fires(_)
        | Past::Day { .. }
        | Past::Jobs(_)
        | Past::Verified(_)
        | Past::Audited(_)
        | Past::Unasked => {
            html! {}
        }
    }
}

fn filters(cx: &Cx<'_>, filter: &Filter) -> Markup {
    let lang = cx.lang();
    let kinds = kinds().map(|kind| (kind, lang.happening(kind)));
    let kinds: Vec<_> = std::iter::once(("", lang.all())).chain(kinds).collect();
    let times = [("from", lang.begin_utc(), filter.from), ("until", lang.end_utc(), filter.until)];
    html! {
        form.filters role="search" aria-label=(lang.filter()) action=(cx.here("timeline")) {
            (search_field(cx, "job", &lang.job()))
            (choice("kind", &lang.kind(), &kinds, filter.kind.as_deref().unwrap_or_default()))
            @for (name, label, value) in times {
                @let id = format!("by-{name}");
                div.field {
                    label for=(id) { (label) }
                    input id=(id) name=(name) type="datetime-local" step="any"
                        value=(value.map(control_time).unwrap_or_default());
                }
            }
            button type="submit" { (lang.filter()) }
        }
    }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.time_title()),
        Column::Text(lang.kind()),
        Column::Text(lang.job_or_group()),
        Column::Number(lang.item()),
        Column::Text(lang.instance_or_author()),
        Column::Text(lang.text()),
    ];
    live_table(cx, "rows", columns, rows)
}

/// Returns the rows with ids. Sources have no ids, so equal entries are numbered.
fn rows(cx: &Cx<'_>, entries: &[Entry]) -> Vec<(String, Markup)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let row = |entry: &Entry| {
        let mut hasher = DefaultHasher::new();
        (&entry.kind, &entry.subject, entry.item, &entry.instance).hash(&mut hasher);
        (&entry.change, &entry.text).hash(&mut hasher);
        let id = format!("t-{}-{:016x}", entry.at.as_millisecond(), hasher.finish());
        let n = seen.entry(id.clone()).and_modify(|n| *n += 1).or_default();
        let id = format!("{id}-{n}");
        (id.clone(), row(cx, &id, entry))
    };
    entries.iter().map(row).collect()
}

fn row(cx: &Cx<'_>, id: &str, entry: &Entry) -> Markup {
    let line = match &entry.subject {
        Subject::Job(job) => cx.summary.list.get(job),
        Subject::Group(_) => None,
    };
    let zone = line.and_then(|line| line.time_zone.as_deref());
    let kind = entry.kind.as_str();
    html! {
        tr id=(id) {
            td.nowrap { (cx.when(entry.at, zone)) }
            td { (pill(class_of(kind), &cx.lang().happening(kind))) }
            th scope="row" {
                @match &entry.subject {
                    // A job that was removed has no page.
                    Subject::Job(job) if line.is_none() => (job),
                    Subject::Job(job) => a href=(link(cx, job, entry)) { (job) },
                    Subject::Group(group) => {
                        span.dim { (cx.lang().group()) " " }
                        a href=(cx.group(group)) { (group) }
                    }
                }
            }
            td.num { @if let Some(item) = entry.item { (item) } }
            td {
                @if let Some(id) = &entry.instance { (instance(cx, id)) }
                @if let Some(who) = &entry.who {
                    a href=(cx.here(&format!("audit?who={}", encoded(who)))) { (who) }
                }
            }
            td.text { (text(cx, entry)) }
        }
    }
}

/// Returns the text of an entry: that of an event in the language of the reader, others as the job
/// or the operator wrote them.
fn text(cx: &Cx<'_>, entry: &Entry) -> Markup {
    let lang = cx.lang();
    if let Some((act, targets)) = &entry.change {
        let (act, targets) = (lang.audited_act(act), lang.audited_targets(targets));
        // The target of a change of a group is the group.
        let has_targets = matches!(entry.subject, Subject::Job(_));
        return html! {
            (act) @if has_targets { " " (targets) } (lang.colon()) (entry.text)
        };
    }
    let of_outcome = lang.reason_of_outcome(&entry.kind, &entry.text);
    let shown = of_outcome.unwrap_or_else(|| lang.event(&entry.kind, &entry.text));
    let is_as_written = shown == entry.text;
    html! { span lang=[is_as_written.then_some("en")] { (shown) } }
}

/// Returns the address of the page that says more about an entry.
fn link(cx: &Cx<'_>, name: &str, entry: &Entry) -> String {
    let job = cx.job(name);
    match entry.kind.as_str() {
        CONFIGURATION => format!("{job}/configuration"),
        OPERATOR => cx.here(&format!("audit?job={}", encoded(name))),
        kind if FAILURES.contains(&kind) => {
            let until = entry.at.checked_add(jiff::SignedDuration::from_millis(1));
            let until = until.unwrap_or(entry.at).to_string();
            format!("{job}/runs?until={}", encoded(&until))
        }
        _ => job,
    }
}

fn class_of(kind: &str) -> &'static str {
    match kind {
        OPERATOR | CONFIGURATION => "run",
        failure if FAILURES.contains(&failure) => "fail",
        event => EventKind::of(event).map_or("wait", |kind| kind.class),
    }
}

fn pager(cx: &Cx<'_>, filter: &Filter, older: Option<Timestamp>) -> Markup {
    let lang = cx.lang();
    html! {
        @if older.is_some() || filter.until.is_some() {
            nav.pager aria-label=(lang.pages()) {
                @if filter.until.is_some() { a href=(cx.with(&[("until", "")])) { (lang.latest()) } }
                @if let Some(older) = older {
                    a href=(cx.with(&[("until", &older.to_string())])) rel="next" { (lang.older()) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(query: &str) -> Answer<Filter> {
        Filter::of(&Address::of(&format!("/n/a/timeline?{query}").parse().unwrap()))
    }

    #[test]
    fn times_of_forms_are_in_utc() {
        let expected: Timestamp = "2024-02-29T12:00:00.5Z".parse().unwrap();
        for text in ["2024-02-29T12:00:00.500", "2024-02-29T13:00:00.5%2B01:00"] {
            assert_eq!(filter(&format!("from={text}")).unwrap().from, Some(expected), "{text}");
        }
        assert_eq!(control_time(expected), "2024-02-29T12:00:00.500");
        assert_eq!(filter("from=&until=+").unwrap(), Filter::default());
    }

    #[test]
    fn wrong_filters_are_refused_with_the_valid_values() {
        for (query, expected) in [
            (
                "kind=claimed",
                "kind is \"claimed\"; valid is one of operator, configuration, failed",
            ),
            ("until=now", "until is \"now\"; valid is a UTC time such as 2024-02-29T12:00"),
        ] {
            let detail = filter(query).unwrap_err().detail;
            assert!(detail.starts_with(expected), "{detail}");
        }
    }
}
