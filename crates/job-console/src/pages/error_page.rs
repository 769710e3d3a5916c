//! Problems as pages, for browsers.

use axum::extract::Request;
use axum::http::header::{ACCEPT, RETRY_AFTER};
use axum::middleware::Next;
use axum::response::Response;
use maud::html;

use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::{Asked, html as respond};
use crate::access::{Caller, Role};
use crate::problem::Problem;

/// Turns the problem of a response into a page, if a browser has asked for a page.
pub(crate) async fn problems_as_pages(request: Request, next: Next) -> Response {
    let wants_html = request
        .headers()
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accepted| accepted.contains("text/html"));
    if !wants_html || request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let caller = request.extensions().get::<Caller>().cloned();
    let unknown = || Caller { name: String::new(), role: Role::Viewer, jobs: String::new() };
    let asked = Asked::new(request.uri(), request.headers(), caller.unwrap_or_else(unknown))
        .identified(request.extensions());
    let response = next.run(request).await;
    match response.extensions().get::<Problem>() {
        Some(problem) => page(&asked, problem, &response),
        None => response,
    }
}

fn page(asked: &Asked, problem: &Problem, response: &Response) -> Response {
    let summary = Summary::default();
    let cx = asked.cx(None, &[], &summary);
    let lang = cx.lang();
    let main = html! {
        h1 { (lang.problem_title(problem.status)) }
        section.why.bad aria-label=(lang.problem()) {
            div { p lang="en" { (problem.detail) } @if problem.outcome_unknown { p { b { (lang.outcome_unknown()) } } } }
        }
        p { a href=(cx.href("")) { (lang.to_start()) } }
    };
    let title = lang.problem_title(problem.status);
    let body = Body { title, crumbs: Vec::new(), section: Section::Overview, main, is_live: false };
    let mut page = respond(response.status(), document(&cx, &body));
    if let Some(pause) = response.headers().get(RETRY_AFTER) {
        page.headers_mut().insert(RETRY_AFTER, pause.clone());
    }
    page
}
