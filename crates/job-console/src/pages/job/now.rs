//! Tab "Now": why things are as they are, and the items.

use jiff::{SignedDuration, Timestamp};
use job_history::FireRecord;
use maud::{Markup, html};
use operations::{
    Attention, ItemBrief, JobLine, JobSnapshot, WhyNot, due_fire, item_briefs, next_fires,
    why_item_not_running, why_not_running,
};
use sharding::{ShardingItem, ShardingItemParameters};

use super::gantt::spark;
use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::history::Past;
use crate::pages::query::encoded;
use crate::pages::reasons;
use crate::pages::summary::{late, moment};
use crate::pages::widgets::{
    act, bar, between, history_fault, instance, item_state, page_number_of, pager_of, pill,
};

/// Maximum number of items that are shown as a table. More are shown as cells.
const MAX_ROWS: usize = 50;
/// Number of cells of one page. A job can have 100 000 items.
const CELLS: usize = 1_000;

/// Returns true if the items of a job are shown as cells.
fn grid_is_of_cells(items: usize) -> bool {
    items > MAX_ROWS
}

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, past: &Past) -> Markup {
    let lang = cx.lang();
    let items = item_briefs(job);
    let chosen = cx.address.number("item").and_then(|item| items.get(item));
    let fires = match past {
        Past::Fires(fires) => fires.rows.as_slice(),
        Past::None | Past::Failed(_) | Past::Day { .. } | Past::Timeline(_) | Past::Unasked => &[],
    };
    let fault = match past {
        Past::Failed(fault) => Some(fault),
        Past::Fires(_) | Past::None | Past::Day { .. } | Past::Timeline(_) | Past::Unasked => None,
    };
    let median = median(fires);
    html! {
        (cx.live("why", &why(cx, job, line, median)))
        @if let Some(item) = chosen { (cx.live("item", &one_item(cx, job, line, item))) }
        div.cols {
            section.card aria-labelledby="items-title" {
                h2 #items-title { (lang.items()) " " (cx.live_inline("items-sum", &sum(cx, &items))) }
                @if grid_is_of_cells(items.len()) { (cells(cx, job, line, &items)) }
                @else { (table(cx, job, line, &items, median)) }
            }
            aside.stack aria-label=(lang.conditions()) {
                @if let Some(fault) = fault {
                    (cx.live("past", &history_fault(cx, fault)))
                }
                @if !fires.is_empty() {
                    section.card aria-labelledby="last-title" {
                        h2 #last-title { (lang.last_fires()) }
                        (cx.live("spark", &spark(cx, fires, median)))
                    }
                }
                section.card aria-labelledby="conditions-title" {
                    h2 #conditions-title { (lang.conditions()) }
                    (cx.live("conditions", &conditions(cx, job, &items, line)))
                }
                section.card aria-labelledby="next-title" {
                    h2 #next-title { (lang.next_fires()) }
                    (cx.live("next", &next(cx, job, line)))
                }
            }
        }
    }
}

/// Returns the median duration of the runs that succeeded.
fn median(fires: &[FireRecord]) -> Option<SignedDuration> {
    let succeeded = fires.iter().filter(|fire| fire.outcome.as_str() == "succeeded");
    let mut lengths: Vec<_> =
        succeeded.filter_map(|fire| between(fire.began, fire.ended)).collect();
    lengths.sort();
    lengths.get(lengths.len() / 2).copied()
}

/// Returns the state of the job with its reason in one sentence, and the operations that help.
fn why(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, median: Option<SignedDuration>) -> Markup {
    let lang = cx.lang();
    let name = line.job_name.as_str();
    let reasons = why_not_running(job, cx.now);
    let attention = line.attention(cx.now.as_millisecond());
    let class = match attention {
        None => "why good",
        Some(Attention::Crashed | Attention::InvalidConfig | Attention::Failing) => "why bad",
        Some(_) => "why",
    };
    html! {
        section class=(class) aria-label=(lang.why()) {
            div {
                @match attention {
                    None => { b { (lang.all_well(line.running_items)) } },
                    Some(attention) => { b { (lang.why_question(attention)) } },
                }
                " "
                @if attention == Some(Attention::Late) && let Some(late) = late(line, job, cx.now) {
                    (reasons::late(cx, job, late)) (lang.stop())
                    @if let Some(median) = median { " " (lang.median_is(&cx.length(median))) }
                    @if late.runs { " " (lang.stays_until()) }
                }
                @for (index, why) in shown_reasons(attention, &reasons).enumerate() {
                    @if index > 0 { " " }
                    (reasons::of_job(cx, job, line, why)) (lang.stop())
                }
            }
            div.acts { (helping(cx, name, attention)) }
        }
    }
}

/// Returns the reasons for the sentence: the schedule is already in the heading.
fn shown_reasons(
    attention: Option<Attention>,
    reasons: &[WhyNot],
) -> impl Iterator<Item = &WhyNot> {
    let is_schedule =
        |why: &&WhyNot| !matches!(why, WhyNot::NextFire { .. } | WhyNot::WaitsForFire { .. });
    let shown = if attention == Some(Attention::Late) { 0 } else { 3 };
    reasons.iter().filter(is_schedule).take(shown)
}

fn helping(cx: &Cx<'_>, name: &str, attention: Option<Attention>) -> Markup {
    let lang = cx.lang();
    let button = |permission, word: &str| act(cx, permission, name, word, &lang.act_title(word));
    match attention {
        Some(Attention::Failing) => button(Permission::Run, "rerun"),
        Some(Attention::Paused) => button(Permission::Pause, "resume"),
        Some(Attention::Crashed | Attention::NoInstance) => {
            html! { a.button href=(cx.here("servers")) { (lang.servers()) } }
        }
        Some(Attention::InvalidConfig) => {
            html! { a.button href={ (cx.job(name)) "/configuration" } { (lang.configuration()) } }
        }
        Some(Attention::Late) => {
            html! { a.button href={ (cx.job(name)) "/runs" } { (lang.runs()) } }
        }
        Some(Attention::Resharding) => {
            html! { a.button href={ (cx.job(name)) "/placement" } { (lang.placement()) } }
        }
        None => html! {},
    }
}

fn sum(cx: &Cx<'_>, items: &[ItemBrief]) -> Markup {
    let lang = cx.lang();
    let running = items.iter().filter(|item| item.running).count();
    let failed = items.iter().filter(|item| item_state(cx, item).0 == "fail").count();
    html! {
        span.dim {
            (lang.n_items(items.len()))
            @if running > 0 { " · " (lang.n_running(running)) }
            @if failed > 0 { " · " (lang.n_failing(failed)) }
        }
    }
}

fn table(
    cx: &Cx<'_>,
    job: &JobSnapshot,
    line: &JobLine,
    items: &[ItemBrief],
    median: Option<SignedDuration>,
) -> Markup {
    let lang = cx.lang();
    let text = job.config().map(|config| config.sharding_item_parameters.as_str());
    let parameters = text.and_then(|text| ShardingItemParameters::parse(text).ok());
    let has_parameters = parameters.as_ref().is_some_and(|known| !known.is_empty());
    let rows = items.iter().map(|item| {
        let parameter = parameters.as_ref().filter(|_| has_parameters);
        let parameter = parameter.map(|known| known.get(ShardingItem::new(item.item)));
        row(cx, (job, line), item, parameter, median)
    });
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.item()) }
                    @if has_parameters { th scope="col" { (lang.parameter()) } }
                    th scope="col" { (lang.owner()) }
                    th scope="col" { (lang.state()) }
                    th.num scope="col" { (lang.token()) }
                    th scope="col" { (lang.started()) }
                    th scope="col" {
                        (lang.duration()) @if median.is_some() { span.dim { (lang.against_median()) } }
                    }
                } }
                (cx.live_rows("items", rows.collect()))
            }
        }
    }
}

fn row(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    item: &ItemBrief,
    parameter: Option<Option<&str>>,
    median: Option<SignedDuration>,
) -> (String, Markup) {
    let lang = cx.lang();
    let id = format!("i-{}", item.item);
    let (class, word) = item_state(cx, item);
    let is_late = item.running && is_late(cx, job, line, item);
    let number = item.item.to_string();
    let row = html! {
        tr id=(id) .hot[is_late] {
            th scope="row" { a href=(cx.with(&[("item", &number)])) { (number) } }
            @if let Some(parameter) = parameter { td { (parameter.unwrap_or("–")) } }
            td {
                @match &item.instance_id { Some(id) => { (instance(cx, id)) }, None => { "–" } }
                @if let Some(to) = &item.moves_to { " " span.dim { (lang.moves_to()) " " (instance(cx, to)) } }
            }
            td { (pill(class, &word)) " " (note(cx, item)) }
            td.num { (item.token.map(|token| token.to_string()).unwrap_or_default()) }
            td.nowrap {
                @if let Some(began) = moment(item.began_ms) { (cx.time(began, line.time_zone.as_deref())) }
            }
            td.nowrap { (length(cx, item, is_late, median)) }
        }
    };
    (id, row)
}

fn is_late(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, item: &ItemBrief) -> bool {
    let due = due_fire(job, ShardingItem::new(item.item), Some(line.ready_ms));
    due.is_some_and(|due| due.is_late(cx.now.as_millisecond()))
}

/// Returns what a reader should know beside the state of an item.
fn note(cx: &Cx<'_>, item: &ItemBrief) -> Markup {
    let lang = cx.lang();
    let runs_elsewhere = item.runs_on.as_ref().filter(|on| item.instance_id.as_ref() != Some(on));
    html! {
        @if let Some(on) = runs_elsewhere { span.dim { (lang.on()) " " (instance(cx, on)) } " " }
        @if let Some(source) = item.source.filter(|source| *source != "NORMAL") {
            span.dim { (lang.source(source)) } " "
        }
        @if item.requested { span.dim { (lang.requested()) } " " }
        @if let Some(failure) = item.failure.as_deref().filter(|_| !item.running) {
            span.cut title=(failure) { (failure) }
        }
    }
}

fn length(cx: &Cx<'_>, item: &ItemBrief, is_late: bool, median: Option<SignedDuration>) -> Markup {
    let Some(began) = moment(item.began_ms) else { return html! {} };
    if item.running {
        let class = if is_late { "warn" } else { "run" };
        // The bar of a run grows in steps of a second, so that the stream sends it rarely.
        let length = SignedDuration::from_secs(cx.now.duration_since(began).as_secs().max(0));
        return html! { (bar(class, length, median)) (cx.elapsed(began)) };
    }
    let class = if item_state(cx, item).0 == "fail" { "bad" } else { "ok" };
    match between(Some(began), moment(item.ended_ms)) {
        Some(length) => html! { (bar(class, length, median)) (cx.length(length)) },
        None => html! {},
    }
}

/// Returns one cell for each item of a page: its state at a glance, the rest in its title.
fn cells(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, items: &[ItemBrief]) -> Markup {
    let cell = |item: &ItemBrief| {
        let (class, word) = item_state(cx, item);
        let id = format!("i-{}", item.item);
        let number = item.item.to_string();
        let owner = item.runs_on.as_deref().or(item.instance_id.as_deref()).unwrap_or("–");
        let title = format!("{number} · {word} · {owner}");
        let is_late = is_late(cx, job, line, item);
        let markup = html! {
            li id=(id) {
                a.cell.(class).late[is_late] href=(cx.with(&[("item", &number)])) title=(title) {
                    span.hidden { (title) }
                }
            }
        };
        (id, markup)
    };
    let lang = cx.lang();
    let number = page_number_of(cx, items.len(), CELLS);
    let shown = items.iter().skip((number - 1) * CELLS).take(CELLS);
    let states = [
        ("done", lang.outcome("succeeded")),
        ("run", lang.running()),
        ("over", lang.taken_over()),
        ("fail", lang.outcome("failed")),
        ("wait", lang.waiting()),
        ("off", lang.disabled()),
    ];
    html! {
        ul.legend { @for (class, word) in states { li { (pill(class, &word)) } } }
        (cx.live_list("items", "cells", shown.map(cell).collect()))
        (cx.live("pager", &pager_of(cx, number, items.len(), CELLS)))
    }
}

/// Returns everything about one item, which the address names.
fn one_item(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, item: &ItemBrief) -> Markup {
    let (lang, name) = (cx.lang(), line.job_name.as_str());
    let (class, word) = item_state(cx, item);
    let reasons = why_item_not_running(job, ShardingItem::new(item.item), cx.now);
    let zone = line.time_zone.as_deref();
    let time = |ms: Option<i64>| {
        html! { @match moment(ms) { Some(at) => { (cx.when(at, zone)) }, None => { "–" } } }
    };
    let act = |permission, word: &str| {
        let path = format!("{word}?item={}", item.item);
        act(cx, permission, name, &path, &lang.act_title(word))
    };
    html! {
        section.card aria-labelledby="item-title" {
            div.title {
                h2 #item-title { (lang.item()) " " (item.item) }
                (pill(class, &word))
                span.grow {}
                (act(Permission::Run, "run"))
                (act(Permission::Disable, "disable"))
                (act(Permission::Disable, "enable"))
                a.button href=(cx.with(&[("item", "")])) { (lang.close()) }
            }
            ul { @for why in &reasons { li { (reasons::reason(cx, zone, why)) } } }
            dl.facts {
                dt { (lang.owner()) } dd { (item.instance_id.as_deref().unwrap_or("–")) }
                dt { (lang.token()) } dd { (item.token.unwrap_or_default()) }
                dt { (lang.fire()) } dd { (time(item.fire_ms)) }
                dt { (lang.started()) } dd { (time(item.began_ms)) }
                dt { (lang.ended()) } dd { (time(item.ended_ms)) }
                @if let Some(failure) = &item.failure { dt { (lang.failure()) } dd { (failure) } }
            }
        }
    }
}

fn conditions(cx: &Cx<'_>, job: &JobSnapshot, items: &[ItemBrief], line: &JobLine) -> Markup {
    let lang = cx.lang();
    let view = job.view();
    let leader = view.leader().filter(|leader| view.is_registered(leader));
    let unowned = items.iter().filter(|item| item.instance_id.is_none()).count();
    let pending = items.iter().filter(|item| item.moves_to.is_some()).count();
    let orphaned = items.iter().filter(|item| item.orphaned).count();
    let class = |is_met| if is_met { "ok" } else { "warn" };
    html! {
        ul.cond {
            li class=(class(leader.is_some())) {
                @match leader {
                    Some(leader) => { (lang.leader_is()) " " (instance(cx, leader.as_str())) },
                    None => (lang.no_leader()),
                }
            }
            li class=(class(unowned == 0)) {
                @if unowned == 0 { (lang.all_owned()) } @else { (lang.n_unowned(unowned)) }
            }
            li class=(class(pending == 0)) {
                @if pending == 0 { (lang.assignment_current()) } @else { (lang.n_pending(pending)) }
            }
            @if orphaned > 0 { li.warn { (lang.n_orphaned(orphaned)) } }
            @if let Some(late) = late(line, job, cx.now) {
                li.warn { (reasons::late(cx, job, late)) }
            }
            @let problems = cx.summary.found.problems_of(job.job());
            @if problems > 0 {
                li.warn { a href=(cx.here(&format!("doctor?job={}", encoded(line.job_name.as_str())))) { (lang.n_findings(problems)) } }
            }
        }
    }
}

fn next(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine) -> Markup {
    let fires = job.config().and_then(|config| next_fires(config, cx.now, 3).ok());
    let fires: Vec<Timestamp> = fires.unwrap_or_default();
    html! {
        @if fires.is_empty() { p.dim { (cx.lang().no_fires()) } }
        ul.next { @for fire in fires { li { (cx.when(fire, line.time_zone.as_deref())) } } }
    }
}
