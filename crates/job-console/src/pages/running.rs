//! Running now: all runs of the namespace, the oldest first.

use maud::{Markup, html};
use operations::{RunningItem, due_fire};
use sharding::ShardingItem;

use super::cx::Cx;
use super::query::encoded;
use super::shell::{Body, Section};
use super::summary::moment;
use super::widgets::{
    Column, PAGE, empty, instance, live_table, page_number, pager, pill, progress,
};

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let total = cx.summary.running();
    let number = page_number(cx, total);
    let live = cx.source.map(|namespace| &namespace.live);
    let oldest = live.map(|live| live.running(number * PAGE)).unwrap_or_default();
    let rows: Vec<_> = oldest.iter().skip((number - 1) * PAGE).map(|run| row(cx, run)).collect();
    let main = html! {
        div.title {
            h1 { (lang.running_now()) }
            (cx.live("found", &html! { p.dim { (lang.n_running(total)) } }))
        }
        section.card aria-label=(lang.running_now()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.nothing_runs(), &lang.nothing_runs_hint(), None)))
            } @else { (table(cx, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let title = lang.running_now();
    Body { title, crumbs: Vec::new(), section: Section::Running, main, is_live: true }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.job()),
        Column::Number(lang.item()),
        Column::Text(lang.instance()),
        Column::Text(lang.state()),
        Column::Text(lang.started()),
        Column::Text(lang.duration()),
        Column::Number(lang.token()),
    ];
    live_table(cx, "rows", columns, rows)
}

/// Returns true if a run goes on past the next fire of its item.
fn is_late(cx: &Cx<'_>, run: &RunningItem) -> bool {
    let name = run.job.as_str();
    let Some((line, job)) = cx.summary.list.get(name).zip(cx.snapshot(name)) else { return false };
    let due = due_fire(&job, ShardingItem::new(run.item.item), Some(line.ready_ms));
    due.is_some_and(|due| due.runs && due.is_late(cx.now.as_millisecond()))
}

fn row(cx: &Cx<'_>, run: &RunningItem) -> (String, Markup) {
    let (lang, name, item) = (cx.lang(), run.job.as_str(), &run.item);
    let id = format!("r-{}-{}", encoded(name), item.name());
    let is_late = is_late(cx, run);
    let began = moment(run.since_ms);
    let zone = cx.summary.list.get(name).and_then(|line| line.time_zone.as_deref());
    let row = html! {
        tr id=(id) .hot[is_late] {
            th scope="row" { a href=(cx.job(name)) { (name) } }
            td.num { a href={ (cx.job(name)) "?item=" (item.item) } { (item.name()) } }
            td { @match &item.runs_on { Some(id) => { (instance(cx, id)) }, None => { "–" } } }
            td {
                @if is_late { (pill("wait", &lang.late())) } @else { (pill("run", &lang.running())) }
                @if let Some(source) = item.source.filter(|source| *source != "NORMAL") {
                    " " span.dim { (lang.source(source)) }
                }
                @if let Some(reported) = &item.progress { " " (progress(reported)) }
            }
            td.nowrap { @if let Some(began) = began { (cx.time(began, zone)) } }
            td.nowrap { @if let Some(began) = began { (cx.elapsed(began)) } }
            td.num { (item.token.unwrap_or_default()) }
        }
    };
    (id, row)
}
