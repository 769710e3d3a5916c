//! Tab "Backfills": past fires that run again, and those that have.

use maud::{Markup, html};
use operations::{BackfillProgress, BackfillState, JobLine, JobSnapshot, item_ranges};

use crate::access::Permission;
use crate::pages::backfill;
use crate::pages::cx::Cx;
use crate::pages::query::encoded;
use crate::pages::summary::moment;
use crate::pages::widgets::{Column, empty, live_table, pill, progress_bar};

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine) -> Markup {
    let lang = cx.lang();
    let rows: Vec<_> = job.backfills().rev().map(|one| row(cx, line, &one)).collect();
    html! {
        p.sub { (lang.backfills_hint()) }
        (cx.live("request", &request(cx, job)))
        section.card aria-label=(lang.backfills()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.no_backfills(), &lang.no_backfills_hint(), None)))
            } @else { (table(cx, rows)) }
        }
    }
}

/// Returns the link to the form, or why there is none.
fn request(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    if job.backfill_obstacle().is_some() {
        return backfill::obstacle(cx, job);
    }
    if job.backfills().any(|one| one.ended_ms.is_none()) {
        return html! { p.dim { (lang.one_backfill_at_a_time()) } };
    }
    html! { p { (backfill::link(cx, job.job().as_str())) } }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [
        Column::Text(lang.backfill()),
        Column::Text(lang.state()),
        Column::Text(lang.fires_ended()),
        Column::Text(lang.from()),
        Column::Text(lang.until()),
        Column::Number(lang.fires_at_once()),
        Column::Text(lang.items()),
        Column::Text(lang.who()),
        Column::Text(lang.reason()),
        Column::Text(lang.operations()),
    ];
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, line: &JobLine, one: &BackfillProgress) -> (String, Markup) {
    let (lang, zone) = (cx.lang(), line.time_zone.as_deref());
    let id = format!("b-{}", encoded(&one.id));
    let (class, word) = state(cx, one.state);
    let time = |ms| moment(Some(ms)).map(|at| cx.time(at, zone));
    let may_cancel = one.state == BackfillState::InProgress
        && cx.may(Permission::Cancel, Some(line.job_name.as_str()));
    let row = html! {
        tr id=(id) {
            th scope="row" { code { (one.id) } }
            td { (pill(class, &word)) }
            td.nowrap { (progress_bar(one.done, one.total)) " " (one.done) " / " (one.total) }
            td.nowrap { @if let Some(from) = time(one.from_ms) { (from) } }
            td.nowrap { @if let Some(to) = time(one.to_ms) { (to) } }
            td.num { (one.concurrency) }
            td { (item_ranges(&one.items)) }
            td {
                a href=(cx.here(&format!("audit?who={}", encoded(&one.by)))) { (one.by) }
                @if let Some(at) = moment(Some(one.requested_ms)) { br; span.dim { (cx.when(at, zone)) } }
            }
            td.text {
                (one.why)
                @if let (Some(by), Some(why)) = (&one.cancelled_by, &one.cancelled_why) {
                    br; span.dim { (lang.cancelled_by(by)) (lang.colon()) (why) }
                }
            }
            td {
                @if may_cancel {
                    a.button href=(backfill::cancellation(cx, &line.job_name, &one.id)) data-dialog {
                        (lang.cancel_backfill()) "…"
                    }
                }
            }
        }
    };
    (id, row)
}

fn state(cx: &Cx<'_>, state: BackfillState) -> (&'static str, String) {
    let class = match state {
        BackfillState::InProgress => "run",
        BackfillState::Cancelling => "wait",
        BackfillState::Done => "done",
        BackfillState::Cancelled => "off",
        _ => "off",
    };
    (class, cx.lang().backfill_state(state))
}
