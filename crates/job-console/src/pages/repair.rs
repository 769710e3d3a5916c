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
use crate::findings::finding;
use crate::problem::Answer;
use crate::routes::Routes;

const PATH: &str = "/n/{namespace}/jobs/{job}/repair";

pub(super) fn add(routes: Routes) -> Routes {
    let repair = Permission::Repair;
    routes.page(repair, &Method::GET, PATH, get(show)).page(
        repair,
        &Method::POST,
        PATH,
        post(submit),
    )
}

/// Returns the link to the repair of a finding, if it has one that the caller may apply.
pub(super) fn link(cx: &Cx<'_>, finding: &Finding) -> Markup {
    let is_allowed = finding.fix.is_some() && cx.may(Permission::Repair, Some(&finding.job));
    let node = finding.node.as_deref().map(|node| format!("&node={}", encoded(node)));
    let address = format!(
        "{}/repair?code={}{}",
        cx.job(&finding.job),
        finding.code,
        node.unwrap_or_default()
    );
    html! { @if is_allowed { a.button href=(address) data-dialog { (cx.lang().repair()) "…" } } }
}

pub(super) async fn show(request: PageRequest) -> Answer<Response> {
    let found = found(&request)?;
    Ok(shown(&request, &found, StatusCode::OK, None))
}

/// Returns the finding that an address names, if it is still there.
fn found(request: &PageRequest) -> Answer<Finding> {
    let (asked, namespace) = (&request.asked, &request.namespace);
    // A job without a configuration has findings, too.
    let job = namespace.nodes(&request.job()?)?;
    let code = asked.address.value("code").unwrap_or_default();
    finding(&job, code, asked.address.value("node"), namespace.operations.present())
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
                h1 #act-title { (lang.repair()) (cx.lang().colon()) (finding.job) }
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
