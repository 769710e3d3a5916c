//! Tab "Runs": the fires of the history, and the runs of one fire.

use jiff::Timestamp;
use job_history::{FireOutcome, FireRecord, OutputRecord};
use maud::{Markup, html};
use operations::JobLine;

use super::gantt::{Fire, fires, gantt};
use crate::pages::cx::Cx;
use crate::pages::history::{Past, RunOutput, named_run};
use crate::pages::shell::choice;
use crate::pages::widgets::{
    Column, PAGE, between, cancel_fire, empty, history_fault, history_gap, instance, live_table,
    outcome_class, pill, reason_of_outcome,
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
        | Past::Audited(_)
        | Past::Unasked => return html! {},
    };
    let all = fires(&found.rows);
    let chosen = cx.address.value("fire").and_then(|time| time.parse::<Timestamp>().ok());
    let chosen = chosen.and_then(|at| all.iter().find(|fire| fire.at == at));
    html! {
        (filters(cx, job))
        @if let Some(fire) = chosen { (cx.live("fire", &one_fire(cx, job, fire))) }
        @if let Some(output) = &found.output { (cx.live("output", &run_output(cx, job, output))) }
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
    let reason = fire.items.iter().find(|record| record.reason.is_some());
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
            td.text {
                @if let Some(item) = reason {
                    (reason_of_outcome(cx, item.outcome.as_str(), item.reason.as_deref()))
                }
            }
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
                @if fire.items.iter().any(|item| matches!(item.outcome.as_str(), "running" | "orphaned")) {
                    (cancel_fire(cx, "fire", &job.job_name, fire.at))
                }
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

/// Returns the output of a run, the last lines, with the numbers of lines that are left out.
fn run_output(cx: &Cx<'_>, job: &JobLine, output: &RunOutput) -> Markup {
    let lang = cx.lang();
    let number = named_run(cx.address).map_or(0, |(_, item)| item);
    let mut before: Option<&OutputRecord> = None;
    let lines = output.lines.iter().map(|line| {
        let is_cut = before.is_none() && output.has_earlier;
        let missing = if is_cut { 0 } else { line.missing_since(before) };
        let missing = usize::try_from(missing).unwrap_or(usize::MAX);
        let is_next = before.is_some_and(|before| {
            (before.token, &before.instance, before.attempt)
                == (line.token, &line.instance, line.attempt)
        });
        before = Some(line);
        html! {
            @if !is_next {
                span.dim { "— " (lang.token()) " " (line.token.0) " · " (line.instance) @if line.attempt > 1 { " · " (lang.attempt(line.attempt)) } } "\n"
            }
            @if missing > 0 { span.dim { "— " (lang.n_left_out(missing)) } "\n" }
            span.dim { (line.at.strftime("%H:%M:%S%.3f")) " " (line.stream) } " " (line.text) "\n"
        }
    });
    let lines: Vec<Markup> = lines.collect();
    let name = job.job_name.as_str();
    html! {
        section.card aria-labelledby="output-title" {
            div.title {
                h2 #output-title { (lang.output()) " · " (lang.item()) " " (number) }
                span.grow {}
                a.button href=(cx.with(&[("output", "")])) { (lang.close()) }
            }
            @if lines.is_empty() { p.dim { (lang.no_output()) } }
            @else {
                @if output.has_earlier {
                    p.dim { (lang.earlier_lines()) " " code { "ejob logs " (name) " --item " (number) } }
                }
                pre.scroll tabindex="0" { code { @for line in &lines { (line) } } }
            }
        }
    }
}

fn item(cx: &Cx<'_>, job: &JobLine, record: &FireRecord) -> Markup {
    let lang = cx.lang();
    let word = record.outcome.as_str();
    html! {
        tr {
            td.num {
                a href=(cx.with(&[("fire", &record.fire.to_string()), ("output", &record.item.to_string())])) {
                    (record.item)
                }
            }
            td {
                (pill(outcome_class(word), &lang.outcome(word)))
                @if let Some(source) = record.source { " " span.dim { (lang.source(source.as_str())) } }
                @if let Some(past) = record.past_fire {
                    " " span.dim { (lang.past_fire()) " " (cx.time(past, job.time_zone.as_deref())) }
                }
            }
            // Links within a text are underlined.
            td.text[record.former_holder.is_some()] {
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
            td.text { (reason_of_outcome(cx, word, record.reason.as_deref())) }
        }
    }
}
