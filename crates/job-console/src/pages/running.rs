//! Running now: all runs of the namespace, the oldest first.

use maud::{Markup, html};

use super::cx::Cx;
use super::digest::{Digest, RunningItem};
use super::query::encoded;
use super::shell::{Body, Section};
use super::widgets::{PAGE, empty, instance, page_number, pager, pill};

pub(super) fn page(cx: &Cx<'_>) -> Body {
    let lang = cx.lang();
    let jobs = cx.summary.jobs.iter();
    let mut runs: Vec<(&Digest, &RunningItem)> =
        jobs.flat_map(|job| job.running.iter().map(|run| (&**job, run))).collect();
    runs.sort_by(|(a, one), (b, two)| {
        let key = |run: &RunningItem| (run.began.is_none(), run.began, run.item);
        key(one).cmp(&key(two)).then_with(|| a.name.cmp(&b.name))
    });
    let (total, number) = (runs.len(), page_number(cx, runs.len()));
    let shown = runs.into_iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|(job, run)| row(cx, job, run)).collect();
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
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.job()) }
                    th.num scope="col" { (lang.item()) }
                    th scope="col" { (lang.instance()) }
                    th scope="col" { (lang.state()) }
                    th scope="col" { (lang.started()) }
                    th scope="col" { (lang.duration()) }
                    th.num scope="col" { (lang.token()) }
                } }
                (cx.live_rows("rows", rows))
            }
        }
    }
}

fn row(cx: &Cx<'_>, job: &Digest, run: &RunningItem) -> (String, Markup) {
    let (lang, name) = (cx.lang(), job.name.as_str());
    let id = format!("r-{}-{}", encoded(name), run.item);
    let is_late = run.late_from.is_some_and(|late| late <= cx.now);
    let row = html! {
        tr id=(id) .hot[is_late] {
            th scope="row" { a href=(cx.job(name)) { (name) } }
            td.num { a href={ (cx.job(name)) "?item=" (run.item) } { (run.item) } }
            td { @match &run.runs_on { Some(id) => { (instance(cx, id)) }, None => { "–" } } }
            td {
                @if is_late { (pill("wait", &lang.late())) } @else { (pill("run", &lang.running())) }
                @if let Some(source) = run.source.filter(|source| *source != "NORMAL") {
                    " " span.dim { (lang.source(source)) }
                }
            }
            td.nowrap { @if let Some(began) = run.began { (cx.time(began, job.zone.as_deref())) } }
            td.nowrap { @if let Some(began) = run.began { (cx.elapsed(began)) } }
            td.num { (run.token.unwrap_or_default()) }
        }
    };
    (id, row)
}
