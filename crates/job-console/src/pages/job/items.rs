//! The items of a job: their sum, the table or the cells, and one item in full.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use maud::{Markup, html};
use operations::{ItemBrief, JobLine, JobSnapshot, why_item_not_running_in};
use sharding::{ShardingItem, ShardingItemParameters};

use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::query::encoded;
use crate::pages::reasons;
use crate::pages::summary::{Late, moment};
use crate::pages::widgets::{
    act, bar, between, cancel_fire, instance, item_state, page_number_of, pager_of, pill, progress,
};

/// Maximum number of items that are shown as a table. More are shown as cells.
const MAX_ROWS: usize = 50;
/// Number of cells of one page. A job can have 100 000 items.
const CELLS: usize = 1_000;

/// States to which the address can limit the items, by the parameter `show`.
const LATE: &str = "late";
const FAILING: &str = "failing";
const RUNNING: &str = "running";

/// Returns the number of items, and the numbers of slots in some states, each a link to these.
pub(super) fn sum(cx: &Cx<'_>, items: &[ItemBrief], late: Option<&Late>) -> Markup {
    let lang = cx.lang();
    let n = items.iter().filter(|item| item.slot == 0).count();
    let running = items.iter().filter(|item| item.running).count();
    let failing = items.iter().filter(|item| item.failing).count();
    let late = late.map_or(0, |late| late.items.len());
    let states = [
        (RUNNING, running, lang.n_running(running)),
        (FAILING, failing, lang.n_failing(failing)),
        (LATE, late, lang.n_late(late)),
    ];
    let chosen = cx.address.value("show");
    html! {
        span.dim {
            (lang.n_items(n))
            @for (word, n, text) in &states {
                @if *n > 0 {
                    " · " a href=(cx.with(&[("show", word), ("page", "")]))
                        aria-current=[(chosen == Some(word)).then_some("true")] { (text) }
                }
            }
            @if chosen.is_some() {
                " · " a href=(cx.with(&[("show", ""), ("page", "")])) { (lang.show_all()) }
            }
        }
    }
}

/// Returns the items that the address selects, with their further slots that have a run: as a
/// table, or as cells if the job has many.
pub(super) fn grid(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    items: &[ItemBrief],
    late: Option<&Late>,
    median: Option<SignedDuration>,
) -> Markup {
    let late: BTreeSet<u32> =
        late.into_iter().flat_map(|late| late.items.iter().copied()).collect();
    let is_shown = |item: &&ItemBrief| match cx.address.value("show") {
        Some(LATE) => late.contains(&item.item),
        Some(FAILING) => item.failing,
        Some(RUNNING) => item.running,
        // Another word selects nothing special.
        Some(_) | None => true,
    };
    let shown: Vec<&ItemBrief> = items.iter().filter(is_shown).collect();
    if shown.is_empty() && !items.is_empty() {
        return cx.live("items", &html! { p.dim { (cx.lang().no_item_matches()) } });
    }
    if items.len() > MAX_ROWS {
        return cells(cx, &shown, &late);
    }
    table(cx, (job, line), &shown, &late, median)
}

fn table(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    items: &[&ItemBrief],
    late: &BTreeSet<u32>,
    median: Option<SignedDuration>,
) -> Markup {
    let lang = cx.lang();
    let text = job.config().map(|config| config.sharding_item_parameters.as_str());
    let parameters = text.and_then(|text| ShardingItemParameters::parse(text).ok());
    let has_parameters = parameters.as_ref().is_some_and(|known| !known.is_empty());
    let rows = items.iter().map(|item| {
        let parameter = parameters.as_ref().filter(|_| has_parameters);
        let parameter = parameter.map(|known| known.get(ShardingItem::new(item.item)));
        row(cx, line, (item, late.contains(&item.item)), parameter, median)
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
    line: &JobLine,
    (item, is_late): (&ItemBrief, bool),
    parameter: Option<Option<&str>>,
    median: Option<SignedDuration>,
) -> (String, Markup) {
    let lang = cx.lang();
    let (id, number) = (format!("i-{}", item.name()), item.item.to_string());
    let row = html! {
        tr id=(id) .hot[is_late] {
            th scope="row" { a href=(cx.with(&[("item", &number)])) { (item.name()) } }
            @if let Some(parameter) = parameter { td { (parameter.unwrap_or("–")) } }
            // Links within a text are underlined.
            td.text[item.moves_to.is_some()] {
                @match &item.instance_id { Some(id) => { (instance(cx, id)) }, None => { "–" } }
                @if let Some(to) = &item.moves_to { " " span.dim { (lang.moves_to()) " " (instance(cx, to)) } }
            }
            td.text[runs_elsewhere(item).is_some()] {
                (state(cx, item, is_late)) " " (note(cx, item))
            }
            td.num { (item.token.map(|token| token.to_string()).unwrap_or_default()) }
            td.nowrap {
                @if let Some(began) = moment(item.began_ms) { (cx.time(began, line.time_zone.as_deref())) }
            }
            td.nowrap { (length(cx, item, is_late, median)) }
        }
    };
    (id, row)
}

/// Returns the state of an item: a late one is late, as on the page of all runs.
fn state(cx: &Cx<'_>, item: &ItemBrief, is_late: bool) -> Markup {
    let (class, word) = item_state(cx, item);
    html! { @if is_late { (pill("wait", &cx.lang().late())) } @else { (pill(class, &word)) } }
}

/// Returns the instance that runs an item of another owner.
fn runs_elsewhere(item: &ItemBrief) -> Option<&String> {
    item.runs_on.as_ref().filter(|on| item.instance_id.as_ref() != Some(on))
}

/// Returns what a reader should know beside the state of an item.
fn note(cx: &Cx<'_>, item: &ItemBrief) -> Markup {
    let lang = cx.lang();
    html! {
        @if let Some(on) = runs_elsewhere(item) { span.dim { (lang.on()) " " (instance(cx, on)) } " " }
        @if let Some(source) = item.source.filter(|source| *source != "NORMAL") {
            span.dim { (lang.source(source)) } " "
        }
        @if item.requested { span.dim { (lang.requested()) } " " }
        @if let Some(reported) = item.progress.as_ref().filter(|_| item.running) {
            (progress(reported))
        }
        @if let Some(failure) = item.failure.as_deref().filter(|_| !item.running) {
            @let failure = lang.failure_of_item(item, failure);
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
fn cells(cx: &Cx<'_>, items: &[&ItemBrief], late: &BTreeSet<u32>) -> Markup {
    let cell = |item: &&ItemBrief| {
        let (class, word) = item_state(cx, item);
        let (id, number, name) = (format!("i-{}", item.name()), item.item.to_string(), item.name());
        let owner = item.runs_on.as_deref().or(item.instance_id.as_deref()).unwrap_or("–");
        let title = format!("{name} · {word} · {owner}");
        let is_late = late.contains(&item.item);
        // One element each, so that a browser changes a thousand of them in a few milliseconds.
        let markup = html! {
            a id=(id) .cell.(class).late[is_late] href=(cx.with(&[("item", &number)]))
                title=(title) aria-label=(title) {}
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
        (cx.live_cells("items", shown.map(cell).collect()))
        (cx.live("pager", &pager_of(cx, number, items.len(), CELLS)))
    }
}

/// Returns everything about one item, which the address names.
pub(super) fn one_item(
    cx: &Cx<'_>,
    (job, line): (&JobSnapshot, &JobLine),
    slots: &[&ItemBrief],
    late: Option<&Late>,
) -> Markup {
    let Some(item) = slots.first() else { return html! {} };
    let (lang, name) = (cx.lang(), line.job_name.as_str());
    let is_late = late.is_some_and(|late| late.items.contains(&item.item));
    let (group, number) = (cx.group_of(job), ShardingItem::new(item.item));
    let reasons = why_item_not_running_in(job, group.as_deref(), number, cx.now);
    let zone = line.time_zone.as_deref();
    let query = format!("?item={}", item.item);
    let act = |permission, word: &str| act(cx, "item", permission, name, (word, &query));
    html! {
        section.card aria-labelledby="item-title" {
            div.title {
                h2 #item-title { (lang.item()) " " (item.item) }
                (state(cx, item, is_late))
                span.grow {}
                (act(Permission::Run, "run"))
                @if slots.iter().any(|slot| slot.running || slot.orphaned) { (act(Permission::Cancel, "cancel")) }
                (act(Permission::Disable, "disable"))
                (act(Permission::Disable, "enable"))
                a.button href=(cx.with(&[("item", "")])) { (lang.close()) }
            }
            ul { @for why in &reasons { li { (reasons::reason(cx, zone, why)) } } }
            @for slot in slots {
                @if slots.len() > 1 { h3 { (slot.name()) } }
                (facts(cx, line, slot))
            }
        }
    }
}

/// Returns the facts about the run of a slot.
fn facts(cx: &Cx<'_>, line: &JobLine, item: &ItemBrief) -> Markup {
    let (lang, name) = (cx.lang(), line.job_name.as_str());
    let zone = line.time_zone.as_deref();
    let time = |ms: Option<i64>| {
        html! { @match moment(ms) { Some(at) => { (cx.when(at, zone)) }, None => { "–" } } }
    };
    html! {
        dl.facts {
            dt { (lang.owner()) } dd { (item.instance_id.as_deref().unwrap_or("–")) }
            dt { (lang.token()) } dd { (item.token.unwrap_or_default()) }
            dt { (lang.fire()) }
            dd {
                (time(item.fire_ms))
                @if let Some(fire) = moment(item.fire_ms).filter(|_| item.running || item.orphaned) {
                    " " (cancel_fire(cx, &format!("slot-{}", item.slot), name, fire))
                }
            }
            @if let Some(fire) = moment(item.fire_ms).filter(|_| cx.source.is_some_and(|of| of.history.is_some())) {
                dt { (lang.output()) }
                dd { a href={ (cx.job(name)) "/runs?fire=" (encoded(&fire.to_string())) "&output=" (item.item) } { (lang.show_output()) } }
            }
            dt { (lang.started()) } dd { (time(item.began_ms)) }
            dt { (lang.ended()) } dd { (time(item.ended_ms)) }
            @if let Some(reported) = &item.progress {
                dt { (lang.progress()) }
                dd { (progress(reported)) " " span.dim { (time(Some(reported.at_ms))) } }
            }
            @if let Some(runs) = item.runs {
                dt { (lang.all_runs()) }
                dd { (lang.counted_runs(runs.succeeded, runs.failed)) }
            }
            @if let Some(processed) = item.processed {
                dt { (lang.processed_in_all_runs()) }
                dd { (lang.processed(processed.succeeded, processed.failed)) }
            }
            @if let Some(failure) = &item.failure { dt { (lang.failure()) } dd { (lang.failure_of_item(item, failure)) } }
        }
    }
}
