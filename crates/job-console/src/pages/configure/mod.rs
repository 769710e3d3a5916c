//! Changes of a configuration: the form, the page that shows the differences, and the write under
//! the revision from which the form was made.
//!
//! In reading order: `typed` (values of the form) · `form` · `preview` · `edit`, `restore` and
//! `create` (the requests) · `former` (the list of former configurations).

pub(super) mod create;
mod edit;
mod form;
pub(super) mod former;
pub(super) mod preview;
mod restore;
mod typed;

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::JobName;
use maud::{Markup, html};
use operations::{JobSnapshot, Updated};

use super::cx::Cx;
use super::query::encoded;
use super::request::PageRequest;
use super::shell::{Body, Section};
use crate::access::Permission;
use crate::problem::Answer;
use crate::routes::Routes;

const EDIT: &str = "/n/{namespace}/jobs/{job}/configuration/edit";
/// The job is in the form: a path below the jobs would hide a job of that name.
const CREATE: &str = "/n/{namespace}/create";
const RESTORE: &str = "/n/{namespace}/jobs/{job}/configuration/restore";

/// Adds the routes.
pub(super) fn add(routes: Routes) -> Routes {
    let configure = Permission::Configure;
    routes
        .page(configure, &Method::GET, EDIT, get(edit::show))
        .page(configure, &Method::POST, EDIT, post(edit::submit))
        .page(configure, &Method::GET, RESTORE, get(restore::show))
        .page(configure, &Method::POST, RESTORE, post(restore::submit))
        .page_per_job(Permission::Create, &Method::GET, CREATE, get(create::show))
        .page_per_job(Permission::Create, &Method::POST, CREATE, post(create::submit))
}

/// Returns the value of a field. A field without one has a dash and what that means, because `""`
/// and `none` look like values.
pub(super) fn config_value(cx: &Cx<'_>, field: &str, text: &str) -> Markup {
    match text {
        "\"\"" | "none" => html! { span.dim { "– (" (cx.lang().config_unset(field)) ")" } },
        value => html! { code { (value) } },
    }
}

/// Returns the job that a request names.
fn target(request: &PageRequest) -> Answer<Arc<JobSnapshot>> {
    request.namespace.job(&request.job()?)
}

/// Responds with a page of a job.
fn page(
    request: &PageRequest,
    status: StatusCode,
    content: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    let job = request.segment(3).to_owned();
    request.respond(status, |cx| Body {
        title: cx.lang().change_configuration(),
        crumbs: vec![
            (cx.lang().jobs(), cx.here("jobs")),
            (job.clone(), cx.job(&job)),
            (cx.lang().configuration(), format!("{}/configuration", cx.job(&job))),
        ],
        section: Section::Jobs,
        main: content(cx),
        is_live: false,
    })
}

/// Leads to the configuration, with the number of written changes.
fn done(request: &PageRequest, job: &JobName, updated: &Updated) -> Response {
    let page = format!("jobs/{}/configuration", encoded(job.as_str()));
    match updated.report.done.len() {
        0 => request.lead_to(&page),
        written => request.lead_to_changed(&page, updated.changes.len().max(written)),
    }
}
