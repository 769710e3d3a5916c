//! Backfills: the form that requests one, the fires that it would run again, the request, and the
//! cancellation.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::{JobName, MAX_BACKFILL_CONCURRENCY};
use jiff::Timestamp;
use maud::{Markup, html};
use operations::{BackfillPreview, BackfillRequest, Error, JobSnapshot, Report, parse_items};
use sharding::ShardingItem;

use super::act::{entries, is_done, result};
use super::configure::preview::confirmation;
use super::cx::Cx;
use super::locale::Lang;
use super::query::{Address, encoded};
use super::request::{Again, Fault, Form, PageRequest};
use super::shell::{Body, Section};
use super::timeline::{control_time, time};
use super::view::Tab;
use super::widgets::translated;
use crate::access::Permission;
use crate::bulk::digest;
use crate::problem::Answer;
use crate::routes::Routes;

const REQUEST: &str = "/n/{namespace}/jobs/{job}/backfills/request";
const CANCEL: &str = "/n/{namespace}/jobs/{job}/backfills/{backfill}/cancel";

/// Number of fires that a preview shows at each end of a long list.
const SHOWN: usize = 5;
/// Fields of the form, in their order.
const FIELDS: [&str; 4] = ["from", "to", "items", "concurrency"];

pub(super) fn add(routes: Routes) -> Routes {
    let (run, cancel) = (Permission::Run, Permission::Cancel);
    routes
        .page(run, &Method::GET, REQUEST, get(show))
        .page(run, &Method::POST, REQUEST, post(submit))
        .page(cancel, &Method::GET, CANCEL, get(show_cancellation))
        .page(cancel, &Method::POST, CANCEL, post(submit_cancellation))
}

/// Returns the link to the form, for callers who may request runs.
pub(super) fn link(cx: &Cx<'_>, job: &str) -> Markup {
    html! {
        @if cx.may(Permission::Run, Some(job)) {
            a.button href={ (cx.job(job)) "/backfills/request" } {
                (cx.lang().request_backfill()) "…"
            }
        }
    }
}

/// Returns why a backfill of the job is not possible; nothing if it is.
pub(super) fn obstacle(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    html! {
        @if let Some(why) = job.backfill_obstacle() {
            p.why.neutral {
                b { (lang.backfill_not_possible()) } (lang.colon())
                (translated(cx, None, lang.obstacle_of_backfill(why), why))
            }
        }
    }
}

/// Returns the address of the cancellation of a backfill.
pub(super) fn cancellation(cx: &Cx<'_>, job: &str, id: &str) -> String {
    format!("{}/backfills/{}/cancel", cx.job(job), encoded(id))
}

/// Returns the tab that lists the backfills of a job, below the page of the namespace.
fn list(job: &JobName) -> String {
    format!("jobs/{}/{}", encoded(job.as_str()), Tab::Backfills.path())
}

/// A request that can be made, with its expected effects.
struct Expected {
    report: Report,
    fires: Vec<Timestamp>,
    warning: Option<&'static str>,
    /// Number of items that run each fire.
    items: usize,
}

async fn show(request: PageRequest) -> Answer<Response> {
    let job = request.namespace.job(&request.job()?)?;
    if request.asked.address.value("edit").is_some() {
        return Ok(form(&request, &job, &[]));
    }
    match wanted(&request.asked.address) {
        Err(faults) => Ok(form(&request, &job, &faults)),
        Ok(wanted) => Ok(match expected(&request, &job, &wanted).await? {
            Ok(expected) => preview(&request, &job, StatusCode::OK, &expected, None),
            Err(fault) => form(&request, &job, &[fault]),
        }),
    }
}

async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let job = request.namespace.job(&request.job()?)?;
    let wanted = match wanted(&request.asked.address) {
        Err(faults) => return Ok(form(&request, &job, &faults)),
        Ok(wanted) => wanted,
    };
    request.confirm_age(&fields)?;
    let expected = match expected(&request, &job, &wanted).await? {
        Err(fault) => return Ok(form(&request, &job, &[fault])),
        Ok(expected) => expected,
    };
    let by = match request.confirmed(&fields, &digest_of(&expected)) {
        Ok(by) => by,
        Err((status, again)) => return Ok(preview(&request, &job, status, &expected, Some(again))),
    };
    let requested = request.namespace.operations.backfill(job.job(), &wanted, &by).await?;
    let page = list(job.job());
    if is_done(&requested.report) {
        return Ok(request.lead_to_changed(&page, requested.report.done.len()));
    }
    Ok(respond(&request, StatusCode::OK, Lang::request_backfill, |cx| {
        result(cx, &cx.lang().request_backfill(), &requested.report, &page)
    }))
}

/// Returns the request that an address has, or the faults of its fields; none if the address has no
/// field.
fn wanted(address: &Address) -> Result<BackfillRequest, Vec<Fault>> {
    if FIELDS.iter().all(|name| address.value(name).is_none()) {
        return Err(Vec::new());
    }
    let mut faults = Vec::new();
    let (from, to) = (bound(address, "from", &mut faults), bound(address, "to", &mut faults));
    let items = items(address, &mut faults);
    let concurrency = concurrency(address, &mut faults);
    match (from, to) {
        (Some(from), Some(to)) if faults.is_empty() => {
            Ok(BackfillRequest::new(from, to).items(items).concurrency(concurrency))
        }
        _ => Err(faults),
    }
}

/// Returns the time of a field, or adds its fault.
fn bound(address: &Address, field: &'static str, faults: &mut Vec<Fault>) -> Option<Timestamp> {
    let text = match time(address, field) {
        Ok(Some(found)) => return Some(found),
        Ok(None) => format!("{field} is missing; valid is a UTC time such as 2024-02-29T12:00"),
        Err(problem) => problem.detail,
    };
    faults.push(Fault { field, text });
    None
}

fn items(address: &Address, faults: &mut Vec<Fault>) -> Option<BTreeSet<ShardingItem>> {
    let text = address.value("items")?;
    let fault = |valid| Fault { field: "items", text: format!("items is {text:?}; {valid}") };
    parse_items(text).map_err(|valid| faults.push(fault(valid))).ok()
}

fn concurrency(address: &Address, faults: &mut Vec<Fault>) -> usize {
    let Some(text) = address.value("concurrency") else { return 1 };
    text.parse().unwrap_or_else(|_| {
        let valid = format!("valid is a number from 1 to {MAX_BACKFILL_CONCURRENCY}");
        let text = format!("concurrency is {text:?}; {valid}");
        faults.push(Fault { field: "concurrency", text });
        1
    })
}

/// Returns the expected effects, or the fault of a field.
async fn expected(
    request: &PageRequest,
    job: &JobSnapshot,
    wanted: &BackfillRequest,
) -> Answer<Result<Expected, Fault>> {
    let items = wanted.items.as_ref().map_or_else(|| job.items().len(), BTreeSet::len);
    match request.namespace.operations.preview_backfill(job.job(), wanted).await {
        Ok(BackfillPreview { report, fires, warning, .. }) => {
            Ok(Ok(Expected { report, fires, warning, items }))
        }
        Err(error) => fault_of(error).map(Err),
    }
}

/// Returns the fault of a field, if a field is the reason of the error.
fn fault_of(error: Error) -> Answer<Fault> {
    let field = if let Error::InvalidBackfill { field, .. } = &error {
        *field
    } else if let Error::NoSuch { what: "item", .. } = &error {
        "items"
    } else {
        return Err(error.into());
    };
    Ok(Fault { field, text: error.to_string() })
}

/// Returns the digest of the expected effects. If they have changed since the preview, it is shown
/// again.
fn digest_of(expected: &Expected) -> String {
    let effects = expected.report.done.iter().map(|entry| entry.what.clone());
    let fires = expected.fires.iter().map(ToString::to_string);
    digest("backfill", effects.chain(fires).chain([expected.items.to_string()]))
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    title: impl FnOnce(Lang) -> String,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    let job = request.segment(3).to_owned();
    request.respond(status, |cx| Body {
        title: title(cx.lang()),
        crumbs: vec![
            (Section::Jobs.label(cx.lang()), cx.here("jobs")),
            (job.clone(), cx.job(&job)),
            (cx.lang().backfills(), format!("{}/{}", cx.job(&job), Tab::Backfills.path())),
        ],
        section: Section::Jobs,
        main: main(cx),
        is_live: false,
    })
}

fn form(request: &PageRequest, job: &JobSnapshot, faults: &[Fault]) -> Response {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    respond(request, status, Lang::request_backfill, |cx| {
        let (lang, name) = (cx.lang(), job.job().as_str());
        html! {
            section.card aria-labelledby="backfill-title" {
                h1 #backfill-title { (lang.request_backfill()) (lang.colon()) (name) }
                p.sub { (lang.request_backfill_hint()) }
                (obstacle(cx, job))
                form.act action={ (cx.job(name)) "/backfills/request" } {
                    @for field in FIELDS {
                        (control(cx, field, faults.iter().find(|fault| fault.field == field)))
                    }
                    div.acts {
                        button.primary type="submit" { (lang.show_fires()) "…" }
                        a.button href=(cx.here(&list(job.job()))) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

/// Returns the control of a field, with its value in the address.
fn control(cx: &Cx<'_>, field: &str, fault: Option<&Fault>) -> Markup {
    let (lang, id, fault_id) = (cx.lang(), format!("backfill-{field}"), format!("fault-{field}"));
    let given = cx.address.value(field).unwrap_or_default();
    let at = time(cx.address, field).ok().flatten().map(control_time);
    let (invalid, described_by) = (fault.map(|_| "true"), fault.map(|_| &*fault_id));
    let label = match field {
        "from" => lang.begin_utc(),
        "to" => lang.end_utc(),
        "items" => lang.items_of_backfill(),
        _ => lang.concurrency_of_backfill(),
    };
    html! {
        div.field {
            label for=(id) { (label) }
            @match field {
                "from" | "to" => {
                    input id=(id) name=(field) type="datetime-local" step="any" required
                        value=(at.unwrap_or_default())
                        aria-invalid=[invalid] aria-describedby=[described_by];
                }
                "items" => {
                    input id=(id) name=(field) type="text" autocomplete="off" spellcheck="false"
                        value=(given) aria-invalid=[invalid] aria-describedby=[described_by];
                }
                _ => {
                    input id=(id) name=(field) type="number" min="1" max=(MAX_BACKFILL_CONCURRENCY)
                        value=(if given.is_empty() { "1" } else { given })
                        aria-invalid=[invalid] aria-describedby=[described_by];
                }
            }
            @if let Some(fault) = fault { p.fault id=(fault_id) role="alert" lang="en" { (fault.text) } }
        }
    }
}

fn preview(
    request: &PageRequest,
    job: &JobSnapshot,
    status: StatusCode,
    expected: &Expected,
    again: Option<Again>,
) -> Response {
    let fault = again.as_ref().and_then(Again::fault);
    let has_effect = expected.report.has_changed();
    respond(request, status, Lang::request_backfill, |cx| {
        let (lang, name) = (cx.lang(), job.job().as_str());
        html! {
            section.card aria-labelledby="backfill-title" {
                h1 #backfill-title { (lang.request_backfill()) (lang.colon()) (name) }
                (Again::notice(again.as_ref(), cx))
                @if has_effect { (fires(cx, job, expected)) }
                @if let Some(warning) = expected.warning {
                    p.why { b { (translated(cx, None, lang.warning_of_backfill(warning), warning)) } }
                }
                (entries(cx, &expected.report))
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(expected));
                    @if has_effect { (confirmation(cx, fault)) }
                    div.acts {
                        @if has_effect {
                            button.primary type="submit" { (lang.request_backfill()) }
                        }
                        a.button href=(cx.with(&[("edit", "yes")])) { (lang.edit_again()) }
                        a.button href=(cx.here(&list(job.job()))) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

/// Returns the number of runs, and the fires; of many, the first and the last ones.
fn fires(cx: &Cx<'_>, job: &JobSnapshot, expected: &Expected) -> Markup {
    let Expected { fires, items, .. } = expected;
    let zone = job.config().and_then(|config| config.time_zone.as_deref());
    let hidden = fires.len().saturating_sub(2 * SHOWN);
    let (first, last) = match hidden {
        0 => (fires.as_slice(), &[][..]),
        _ => (&fires[..SHOWN], &fires[fires.len() - SHOWN..]),
    };
    html! {
        p { b { (cx.lang().runs_of_backfill(fires.len(), *items)) } }
        ul.next {
            @for fire in first { li { (cx.time(*fire, zone)) } }
            @if hidden > 0 { li.dim { "… " (cx.lang().and_more(hidden)) } }
            @for fire in last { li { (cx.time(*fire, zone)) } }
        }
    }
}

async fn show_cancellation(request: PageRequest) -> Answer<Response> {
    cancellation_form(&request, StatusCode::OK, None).await
}

async fn submit_cancellation(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    request.confirm_age(&fields)?;
    let by = match request.by(&fields) {
        Ok(by) => by,
        Err(fault) => {
            return cancellation_form(&request, StatusCode::BAD_REQUEST, Some(&fault)).await;
        }
    };
    let (job, id) = (request.job()?, request.segment(5));
    let report = request.namespace.operations.cancel_backfill(&job, id, &by).await?;
    let page = list(&job);
    if is_done(&report) {
        return Ok(request.lead_to_changed(&page, report.done.len()));
    }
    Ok(respond(&request, StatusCode::OK, Lang::cancel_backfill, |cx| {
        result(cx, &cx.lang().cancel_backfill(), &report, &page)
    }))
}

async fn cancellation_form(
    request: &PageRequest,
    status: StatusCode,
    fault: Option<&Fault>,
) -> Answer<Response> {
    let (job, id) = (request.job()?, request.segment(5));
    let expected = request.namespace.operations.preview_cancel_backfill(&job, id).await?;
    let has_effect = expected.has_changed();
    Ok(respond(request, status, Lang::cancel_backfill, |cx| {
        let lang = cx.lang();
        html! {
            section #act-form.card aria-labelledby="act-title" {
                h1 #act-title tabindex="-1" { (lang.cancel_backfill()) (lang.colon()) (job) }
                p.sub { (lang.cancel_backfill_hint()) }
                (entries(cx, &expected))
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    @if has_effect { (confirmation(cx, fault)) }
                    div.acts {
                        @if has_effect {
                            button.primary type="submit" { (lang.cancel_backfill()) }
                        }
                        a.button href=(cx.here(&list(&job))) data-close { (lang.back()) }
                    }
                }
            }
        }
    }))
}
