//! The repair of one finding: its steps as a dry run, and the guarded transaction.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use operations::{Finding, Fix};

use super::act::result;
use super::configure::preview::confirmation;
use super::cx::Cx;
use super::locale::Lang;
use super::query::encoded;
use super::request::{Again, Form, PageRequest};
use super::shell::Section;
use super::widgets::translated;
use crate::access::Permission;
use crate::bulk::digest;
use crate::findings::{Subject, finding};
use crate::problem::Answer;
use crate::routes::Routes;

const OF_JOB: &str = "/n/{namespace}/jobs/{job}/repair";
const OF_GROUP: &str = "/n/{namespace}/groups/{group}/repair";

pub(super) fn add(routes: Routes) -> Routes {
    let repair = Permission::Repair;
    [OF_JOB, OF_GROUP].into_iter().fold(routes, |routes, path| {
        let routes = routes.page(repair, &Method::GET, path, get(show));
        routes.page(repair, &Method::POST, path, post(submit))
    })
}

/// Returns the link to the repair of a finding, if it has one that the caller may apply.
pub(super) fn link(cx: &Cx<'_>, finding: &Finding) -> Markup {
    let (page, job) = match finding.group.as_deref() {
        Some(group) => (cx.here(&format!("groups/{}", encoded(group))), None),
        None => (cx.job(&finding.job), Some(&*finding.job)),
    };
    let is_allowed = finding.fix.is_some() && cx.may(Permission::Repair, job);
    let node = finding.node.as_deref().map(|node| format!("&node={}", encoded(node)));
    let address = format!("{page}/repair?code={}{}", finding.code, node.unwrap_or_default());
    html! { @if is_allowed { a.button href=(address) data-dialog { (cx.lang().repair()) "…" } } }
}

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    let found = found(&request)?;
    Ok(shown(&request, &found, StatusCode::OK, None))
}

/// Returns the finding that an address names, if it is still there.
fn found(request: &PageRequest) -> Answer<Finding> {
    let (asked, namespace) = (&request.asked, &request.namespace);
    let subject = match request.segment(2) {
        "groups" => Subject::Group(request.group()?),
        // A job without a configuration has findings, too.
        _ => Subject::Job(namespace.nodes(&request.job()?)?),
    };
    let named = (asked.address.value("code").unwrap_or_default(), asked.address.value("node"));
    finding(&namespace.live, &subject, named, namespace.operations.present())
}

/// Returns the job or the group that a finding is about.
fn subject(lang: Lang, finding: &Finding) -> String {
    match &finding.group {
        Some(group) => format!("{} {group}", lang.group()),
        None => finding.job.clone(),
    }
}

/// Returns a step of a repair.
pub(super) fn step(cx: &Cx<'_>, text: &str) -> Markup {
    translated(cx, None, cx.lang().step_of_repair(text), text)
}

/// Returns the digest of the steps, so that only those are applied that the reader has seen.
fn digest_of(finding: &Finding) -> String {
    let steps = finding.fix.iter().flat_map(Fix::steps).map(ToString::to_string);
    digest(finding.code.as_str(), steps)
}

fn shown(
    request: &PageRequest,
    finding: &Finding,
    status: StatusCode,
    again: Option<Again>,
) -> Response {
    let fault = again.as_ref().and_then(Again::fault);
    request.respond_below(Section::Doctor, status, Lang::repair, |cx| {
        let lang = cx.lang();
        html! {
            section #act-form.card aria-labelledby="act-title" {
                h1 #act-title { (lang.repair()) (lang.colon()) (subject(lang, finding)) }
                p { code { (finding.code) } " " (translated(cx, None, lang.finding_text(&finding.text), &finding.text)) }
                @if let Some(node) = &finding.node { p.sub { code { (node) } } }
                @if matches!(again, Some(Again::Changed)) {
                    p.why role="alert" { b { (lang.repair_has_changed()) } }
                }
                @match &finding.fix {
                    None => { p.why { b { (lang.no_repair_exists()) } } },
                    Some(fix) => {
                        h2 { (lang.steps_of_transaction()) }
                        ol { @for step in fix.steps() { li { (self::step(cx, &step.to_string())) } } }
                    },
                }
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(finding));
                    @if finding.fix.is_some() { (confirmation(cx, fault)) }
                    div.acts {
                        @if finding.fix.is_some() { button.primary type="submit" { (lang.repair()) } }
                        a.button href=(cx.here("doctor")) data-close { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

pub(super) async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let found = found(&request)?;
    request.confirm_age(&fields)?;
    let by = match request.confirmed(&fields, &digest_of(&found)) {
        Ok(by) => by,
        Err((status, again)) => return Ok(shown(&request, &found, status, Some(again))),
    };
    let report = request.namespace.operations.fix(&found, &by).await?;
    if report.has_changed() && report.left.is_empty() && report.failed.is_empty() {
        return Ok(request.lead_to_changed("doctor", report.done.len()));
    }
    let main = |cx: &Cx<'_>| result(cx, &cx.lang().repair(), &report, "doctor");
    Ok(request.respond_below(Section::Doctor, StatusCode::OK, Lang::repair, main))
}
