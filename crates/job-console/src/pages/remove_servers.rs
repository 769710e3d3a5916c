//! Removal of the servers that match a pattern: what it would remove, and the removal.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use operations::{Entry, Report, Scope};

use super::act::{entries, is_done, result};
use super::configure::preview::confirmation;
use super::cx::Cx;
use super::locale::Lang;
use super::request::{Again, Form, PageRequest};
use super::shell::Section;
use crate::access::Permission;
use crate::bulk::digest;
use crate::problem::Answer;
use crate::routes::Routes;
use crate::selection::servers_of_all_jobs;

const PATH: &str = "/n/{namespace}/servers/removal";

pub(super) fn add(routes: Routes) -> Routes {
    let remove = Permission::Remove;
    routes.page(remove, &Method::GET, PATH, get(show)).page(
        remove,
        &Method::POST,
        PATH,
        post(submit),
    )
}

/// Returns the link to the removal, for callers who may remove servers of all jobs.
pub(super) fn link(cx: &Cx<'_>) -> Markup {
    let address = cx.here("servers/removal");
    html! {
        @if cx.may(Permission::Remove, None) {
            a.button href=(address) { (cx.lang().remove_servers()) "…" }
        }
    }
}

async fn show(request: PageRequest) -> Answer<Response> {
    match pattern(&request) {
        Err(fault) => Ok(form(&request, fault.as_deref())),
        Ok(scope) => {
            let expected = expected(&request, &scope).await?;
            Ok(preview(&request, StatusCode::OK, &expected, None))
        }
    }
}

async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let scope = match pattern(&request) {
        Err(fault) => return Ok(form(&request, fault.as_deref())),
        Ok(scope) => scope,
    };
    request.confirm_age(&fields)?;
    let expected = expected(&request, &scope).await?;
    let by = match request.confirmed(&fields, &digest_of(&expected)) {
        Ok(by) => by,
        Err((status, again)) => return Ok(preview(&request, status, &expected, Some(again))),
    };
    let report = request.namespace.operations.remove_servers(&scope, &by).await?;
    if is_done(&report) {
        return Ok(request.lead_to_changed("servers", report.done.len()));
    }
    Ok(respond(&request, StatusCode::OK, |cx| {
        result(cx, &cx.lang().remove_servers(), &report, "servers")
    }))
}

/// Returns the servers that the address means, or the fault of the pattern; no fault if the address
/// has no pattern.
fn pattern(request: &PageRequest) -> Result<Scope, Option<String>> {
    let text = request.asked.address.value("servers").ok_or(None)?;
    servers_of_all_jobs(text).map_err(Some)
}

async fn expected(request: &PageRequest, scope: &Scope) -> Answer<Report> {
    Ok(request.namespace.operations.preview_removal_of_servers(scope).await?)
}

/// Returns the digest of the expected effects. If they have changed since the preview, it is shown
/// again.
fn digest_of(expected: &Report) -> String {
    let line = |it: &Entry| format!("{} {} {}", it.job, it.target, it.what);
    let lines = expected.done.iter().map(line);
    digest("remove-servers", lines)
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    request.respond_below(Section::Servers, status, Lang::remove_servers, main)
}

fn form(request: &PageRequest, fault: Option<&str>) -> Response {
    let status = if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    respond(request, status, |cx| {
        let lang = cx.lang();
        html! {
            section.card aria-labelledby="removal-title" {
                h1 #removal-title { (lang.remove_servers()) }
                p.sub { (lang.remove_servers_hint()) }
                form.act action=(cx.here("servers/removal")) {
                    div.field {
                        label for="removal-servers" { (lang.address_or_pattern()) }
                        input #removal-servers name="servers" type="text" maxlength="45" required
                            autocomplete="off" spellcheck="false"
                            value=(cx.address.value("servers").unwrap_or_default())
                            aria-invalid=[fault.map(|_| "true")]
                            aria-describedby=[fault.map(|_| "fault-servers")];
                        @if let Some(fault) = fault {
                            p.fault #fault-servers role="alert" lang="en" { (fault) }
                        }
                    }
                    div.acts {
                        button.primary type="submit" { (lang.show_changes()) "…" }
                        a.button href=(cx.here("servers")) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

fn preview(
    request: &PageRequest,
    status: StatusCode,
    expected: &Report,
    again: Option<Again>,
) -> Response {
    let fault = again.as_ref().and_then(Again::fault);
    let has_effect = !expected.done.is_empty();
    respond(request, status, |cx| {
        let lang = cx.lang();
        html! {
            section.card aria-labelledby="removal-title" {
                h1 #removal-title {
                    (lang.remove_servers()) (lang.colon()) (cx.address.value("servers").unwrap_or_default())
                }
                (Again::notice(again.as_ref(), cx))
                (entries(cx, expected))
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(expected));
                    @if has_effect { (confirmation(cx, fault)) }
                    div.acts {
                        @if has_effect {
                            button.primary type="submit" { (lang.remove_servers()) }
                        }
                        a.button href=(cx.here("servers/removal")) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}
