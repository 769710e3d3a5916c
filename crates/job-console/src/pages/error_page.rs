//! Problems as pages, for browsers.

use axum::extract::Request;
use axum::http::header::{ACCEPT, REFRESH, RETRY_AFTER};
use axum::http::{HeaderValue, Method};
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
    let is_get = request.method() == Method::GET;
    let caller = request.extensions().get::<Caller>().cloned();
    let unknown = || Caller { name: String::new(), role: Role::Viewer, jobs: String::new() };
    let asked = Asked::new(request.uri(), request.headers(), caller.unwrap_or_else(unknown))
        .identified(request.extensions());
    let response = next.run(request).await;
    match response.extensions().get::<Problem>() {
        Some(problem) => page(&asked, problem, &response, is_get),
        None => response,
    }
}

fn page(asked: &Asked, problem: &Problem, response: &Response, is_get: bool) -> Response {
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
    if is_get && problem.code == Problem::LOADING {
        // The browser loads the page again by itself, after a second. A form is not sent twice.
        page.headers_mut().insert(REFRESH, HeaderValue::from_static("1"));
    }
    page
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::response::IntoResponse as _;

    use super::*;

    #[test]
    fn page_of_a_namespace_that_is_being_read_is_loaded_again() {
        let caller = Caller { name: "anna".to_owned(), role: Role::Viewer, jobs: "*".to_owned() };
        let asked = Asked::new(&"/n/orders".parse().unwrap(), &HeaderMap::new(), caller);
        let refresh = |problem: Problem, is_get: bool| {
            let response = problem.clone().into_response();
            page(&asked, &problem, &response, is_get).headers().get(REFRESH).cloned()
        };
        let after_a_second = Some(HeaderValue::from_static("1"));
        assert_eq!(refresh(Problem::loading("orders"), true), after_a_second);
        assert_eq!(refresh(Problem::loading("orders"), false), None);
        assert_eq!(refresh(Problem::invalid("page is 0"), true), None);
    }
}
