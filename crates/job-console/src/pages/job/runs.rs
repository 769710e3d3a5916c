//! Tab "Runs": the fires of the history, and the runs of one fire.

use jiff::Timestamp;
use job_history::{FireOutcome, FireRecord};
use maud::{Markup, html};
use operations::JobLine;

use super::gantt::{Fire, fires, gantt};
use crate::pages::cx::Cx;
use crate::pages::history::Past;
use crate::pages::shell::choice;
use crate::pages::widgets::{
    Column, PAGE, between, empty, history_fault, history_gap, instance, live_table, outcome_class,
    pill,
};

/// Maximum number of item numbers in a row.
const MAX_NUMBERS: usize = 8;

pub(super) fn tab(cx: &Cx<'_>, job: &JobLine, past: &Past) -> Markup {
    let lang = cx.lang();
    let found = match past {
        Past::None => {
            let command = "ejob console --history sqlite:history.db";
            return cx
                .live("fires", &empty(&lang.no_history(), &lang.no_history_hint(), Some(command)));
        }
        Past::Failed(fault) => {
            return cx.live("fires", &history_fault(cx, fault));
        }
        Past::Fires(found) => found,
        Past::Day { .. }
        | Past::Jobs(_)
        | Past::Timeline(_)
        | Past::Verified(_)
        | Past::Unasked => return html! {},
    };
    let all = fires(&found.rows);
    let chosen = cx.address.value("fire").and_then(|time| time.parse::<Timestamp>().ok());
    let chosen = chosen.and_then(|at| all.iter().find(|fire| fire.at == at));
    html! {
        (filters(cx, job))
        @if let Some(fire) = chosen { (cx.live("fire", &one_fire(cx, job, fire))) }
        (cx.live("gap", &history_gap(cx, found.dropped)))
        section.card aria-label=(lang.runs()) {
            @if all.is_empty() { (cx.live("fires", &empty(&lang.no_runs(), &lang.no_runs_hint(), None))) }
            @else {
                @let cut = found.is_cut.then(|| lang.first_items(found.rows.len()));
                (cx.live("partial", &html! { @if let Some(cut) = cut { p.why { (cut) } } }))
                (table(cx, job, &all))
            }
        }
        (cx.live("pager", &older(cx, &all, found.has_older)))
    }
}

/// Returns the link to the fires before the ones that are shown.
fn older(cx: &Cx<'_>, all: &[Fire<'_>], has_older: bool) -> Markup {
    let oldest = all.iter().take(PAGE).next_back().filter(|_| has_older || all.len() > PAGE);
    html! {
        @if let Some(oldest) = oldest {
            nav.pager aria-label=(cx.lang().pages()) {
                a href=(cx.with(&[("until", &oldest.at.to_string()), ("fire", "")])) {
                    (cx.lang().older())
                }
            }
        }
    }
}

fn filters(cx: &Cx<'_>, job: &JobLine) -> Markup {
    let lang = cx.lang();
    let words = FireOutcome::words().map(|word| (word, lang.outcome(word)));
    let options: Vec<_> = std::iter::once(("", lang.all())).chain(words).collect();
    html! {
        form.filters action={ (cx.job(&job.job_name)) "/runs" } {
            (choice("outcome", &lang.outcome_title(), &options, cx.address.value("outcome").unwrap_or_default()))
            div.field {
                label for="by-item" { (lang.item()) }
                input #by-item name="item" type="number" min="0"
                    value=(cx.address.value("item").unwrap_or_default());
            }
            button type="submit" { (lang.filter()) }
        }
    }
}

fn table(cx: &Cx<'_>, job: &JobLine, all: &[Fire<'_>]) -> Markup {
    let lang = cx.lang();
    let rows = all.iter().take(PAGE).map(|fire| row(cx, job, fire)).collect();
    let items = if is_filtered(cx) { lang.items() } else { lang.items_succeeded() };
    let columns = [
        Column::Text(lang.fire()),
        Column::Text(lang.outcome_title()),
        Column::Number(items),
        Column::Text(lang.started()),
        Column::Text(lang.duration()),
        Column::Text(lang.why()),
    ];
    live_table(cx, "fires", columns, rows)
}

/// Returns true if a fire is shown with some of its items only.
fn is_filtered(cx: &Cx<'_>) -> bool {
    cx.address.value("outcome").is_some() || cx.address.value("item").is_some()
}

/// Returns how many items of a fire have succeeded, or the numbers of those that match the filter.
fn items_of(cx: &Cx<'_>, fire: &Fire<'_>) -> String {
    if !is_filtered(cx) {
        return format!("{} / {}", fire.succeeded(), fire.items.len());
    }
    let shown = fire.items.iter().take(MAX_NUMBERS).map(|record| record.item.to_string());
    let shown = shown.collect::<Vec<_>>().join(", ");
    if fire.items.len() > MAX_NUMBERS { shown + ", …" } else { shown }
}

fn row(cx: &Cx<'_>, job: &JobLine, fire: &Fire<'_>) -> (String, Markup) {
    let (lang, zone) = (cx.lang(), job.time_zone.as_deref());
    let id = format!("f-{}", fire.at.as_millisecond());
    let (worst, (began, _)) = (fire.worst(), fire.span());
    let reason = fire.items.iter().find_map(|record| record.reason.as_deref());
    let row = html! {
        tr id=(id) {
            th.nowrap scope="row" {
                a href=(cx.with(&[("fire", &fire.at.to_string())])) { (cx.time(fire.at, zone)) }
                " " (cx.relative(fire.at))
            }
            td { (pill(outcome_class(worst), &lang.outcome(worst))) }
            td.num { (items_of(cx, fire)) }
            td.nowrap { @if let Some(began) = began { (cx.time(began, zone)) } }
            td.nowrap { @if let Some(length) = fire.length() { (cx.length(length)) } }
            td.text { (reason.unwrap_or_default()) }
        }
    };
    (id, row)
}

fn one_fire(cx: &Cx<'_>, job: &JobLine, fire: &Fire<'_>) -> Markup {
    let lang = cx.lang();
    html! {
        section.card aria-labelledby="fire-title" {
            div.title {
                h2 #fire-title { (lang.fire()) " " (cx.time(fire.at, job.time_zone.as_deref())) }
                span.grow {}
                a.button href=(cx.with(&[("fire", "")])) { (lang.close()) }
            }
            (gantt(cx, fire))
            div.scroll {
                table {
                    thead { tr {
                        th.num scope="col" { (lang.item()) }
                        th scope="col" { (lang.outcome_title()) }
                        th scope="col" { (lang.instance()) }
                        th.num scope="col" { (lang.token()) }
                        th scope="col" { (lang.started()) }
                        th scope="col" { (lang.duration()) }
                        th scope="col" { (lang.why()) }
                    } }
                    tbody { @for record in &fire.items { (item(cx, job, record)) } }
                }
            }
        }
    }
}

fn item(cx: &Cx<'_>, job: &JobLine, record: &FireRecord) -> Markup {
    let lang = cx.lang();
    let word = record.outcome.as_str();
    html! {
        tr {
            td.num { (record.item) }
            td {
                (pill(outcome_class(word), &lang.outcome(word)))
                @if let Some(source) = record.source { " " span.dim { (lang.source(source.as_str())) } }
            }
            td {
                @if let Some(id) = &record.instance { (instance(cx, id.as_str())) }
                @if let Some(former) = &record.former_holder {
                    " " span.dim { (lang.taken_over_from()) " " (instance(cx, former.as_str())) }
                }
            }
            td.num { @if let Some(token) = record.token { (token.0) } }
            td.nowrap { @if let Some(began) = record.began { (cx.time(began, job.time_zone.as_deref())) } }
            td.nowrap {
                @if let Some(length) = between(record.began, record.ended) { (cx.length(length)) }
            }
            td.text { (record.reason.as_deref().unwrap_or_default()) }
        }
    }
}
