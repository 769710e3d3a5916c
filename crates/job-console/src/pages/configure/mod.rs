//! Changes of a configuration: the form, the page that shows the differences, and the write under
//! the revision from which the form was made.
//!
//! In reading order: `typed` (values of the form) · `form` · `preview` · `edit` and `restore` (the
//! requests) · `former` (the list of former configurations).

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
use coordination::{InvalidConfig, JobName};
use operations::{By, Error, JobSnapshot, Updated};

use super::cx::Cx;
use super::query::encoded;
use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::{Asked, html as respond, see_other};
use crate::access::Permission;
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::Answer;
use crate::routes::Routes;

const EDIT: &str = "/n/{namespace}/jobs/{job}/configuration/edit";
const RESTORE: &str = "/n/{namespace}/jobs/{job}/configuration/restore";

/// Adds the routes.
pub(super) fn add(routes: Routes) -> Routes {
    let configure = Permission::Configure;
    routes
        .page(configure, &Method::GET, EDIT, get(edit::show))
        .page(configure, &Method::POST, EDIT, post(edit::submit))
        .page(configure, &Method::GET, RESTORE, get(restore::show))
        .page(configure, &Method::POST, RESTORE, post(restore::submit))
}

/// Fields of a form.
pub(super) type Fields = [(String, String)];

pub(super) fn field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Returns the namespace and the job of an address.
fn target<'a>(
    namespaces: &'a Namespaces,
    asked: &Asked,
) -> Answer<(&'a Arc<Namespace>, Arc<JobSnapshot>)> {
    let segments = asked.address.segments();
    let segment = |at: usize| segments.get(at).copied().unwrap_or_default();
    let namespace = namespaces.get(segment(1))?;
    let job = JobName::new(segment(3)).map_err(Error::from)?;
    Ok((namespace, namespace.job(&job)?))
}

/// Responds with a page of a job.
fn page(
    (namespaces, namespace): (&Namespaces, &Namespace),
    asked: &Asked,
    status: StatusCode,
    content: impl FnOnce(&Cx<'_>) -> maud::Markup,
) -> Response {
    let names: Vec<&str> = namespaces.all().map(|one| one.name.as_str()).collect();
    let summary = Summary::of(namespace, asked.now);
    let cx = asked.cx(Some(namespace), &names, &summary);
    let segments = cx.address.segments();
    let job = segments.get(3).copied().unwrap_or_default().to_owned();
    let lang = cx.lang();
    let body = Body {
        title: lang.change_configuration(),
        crumbs: vec![
            (lang.jobs(), cx.here("jobs")),
            (job.clone(), cx.job(&job)),
            (lang.configuration(), format!("{}/configuration", cx.job(&job))),
        ],
        section: Section::Jobs,
        main: content(&cx),
        is_live: false,
    };
    respond(status, document(&cx, &body))
}

/// Leads to the configuration, with the number of written changes.
fn done(asked: &Asked, namespace: &Namespace, job: &JobName, updated: &Updated) -> Response {
    let (namespace, job) = (encoded(&namespace.name), encoded(job.as_str()));
    let changed = match updated.report.done.len() {
        0 => String::new(),
        written => format!("?changed={}", updated.changes.len().max(written)),
    };
    see_other(&asked.root, &format!("n/{namespace}/jobs/{job}/configuration{changed}"))
}

/// Why a request is answered by its form: the field, and the fault with the valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) text: String,
}

impl From<InvalidConfig> for Fault {
    fn from(error: InvalidConfig) -> Self {
        Self { field: error.field, text: error.to_string() }
    }
}

/// Returns the author and the reason, or the fault of the reason.
pub(super) fn by(asked: &Asked, fields: &Fields) -> Result<By, Fault> {
    By::new(asked.caller.name.clone(), field(fields, "why").unwrap_or_default().trim())
        .map_err(|error| Fault { field: "why", text: error.to_string() })
}
