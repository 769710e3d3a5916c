//! Transfer: configurations to a file, and from a file by a plan that is confirmed.
//!
//! In reading order: this file (requests) · `forms` (what they show).

mod forms;

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use maud::Markup;
use operations::{Export, JobSnapshot};

use super::act::check_age;
use super::configure::{Fields, by, field};
use super::cx::{Age, Cx};
use super::query::encoded;
use super::shell::{Body, Section, document};
use super::summary::Summary;
use super::{Asked, html as respond, jobs, see_other};
use crate::access::{Caller, Permission};
use crate::api::scan;
use crate::namespaces::{Namespace, Namespaces};
use crate::problem::{Answer, Problem};
use crate::routes::Routes;
use crate::server::MAX_BODY_BYTES;
use crate::transfer::{Plan, apply, exported, plan};
use forms::{Given, Preview};

const PATH: &str = "/n/{namespace}/transfer";
const EXPORT: &str = "/n/{namespace}/transfer/export";

/// Adds the pages. The caller is checked for each job.
pub(super) fn add(routes: Routes) -> Routes {
    let import = post(submit).layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    routes
        .page_per_job(Permission::Configure, &Method::GET, PATH, get(show))
        .page_per_job(Permission::Configure, &Method::GET, EXPORT, get(download))
        .page_per_job(Permission::Import, &Method::POST, PATH, import)
}

/// A request about a namespace.
struct Request<'a> {
    namespaces: &'a Namespaces,
    namespace: &'a Arc<Namespace>,
    asked: &'a Asked,
}

impl<'a> Request<'a> {
    fn of(namespaces: &'a Namespaces, asked: &'a Asked) -> Answer<Self> {
        let segments = asked.address.segments();
        let namespace = namespaces.get(segments.get(1).copied().unwrap_or_default())?;
        Ok(Self { namespaces, namespace, asked })
    }

    /// Returns the jobs that match the filters of the address.
    fn jobs(&self) -> Vec<Arc<JobSnapshot>> {
        let summary = Summary::of(self.namespace, self.asked.now);
        let names = jobs::matching(&self.asked.cx(Some(self.namespace), &[], &summary));
        // A job that has been removed since the summary does not match any more.
        names.iter().filter_map(|name| self.namespace.job(name).ok()).collect()
    }

    fn respond(&self, status: StatusCode, main: impl FnOnce(&Cx<'_>) -> Markup) -> Response {
        let names: Vec<&str> = self.namespaces.all().map(|one| one.name.as_str()).collect();
        let summary = Summary::of(self.namespace, self.asked.now);
        let cx = self.asked.cx(Some(self.namespace), &names, &summary);
        let body = Body {
            title: cx.lang().transfer(),
            crumbs: Vec::new(),
            section: Section::Transfer,
            main: main(&cx),
            is_live: false,
        };
        respond(status, document(&cx, &body))
    }

    /// Responds with the form, and with the fault of the given document.
    async fn form(&self, given: &Given, fault: Option<&str>) -> Answer<Response> {
        let (jobs, caller) = (self.jobs(), self.asked.caller.clone());
        let (export, left_out) = scan(move || exported(jobs.into_iter(), &caller)).await?;
        let status =
            if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        Ok(self.respond(status, |cx| forms::form(cx, export.jobs.len(), &left_out, given, fault)))
    }
}

async fn show(State(namespaces): State<Arc<Namespaces>>, asked: Asked) -> Answer<Response> {
    Request::of(&namespaces, &asked)?.form(&Given::default(), None).await
}

/// Sends the export as a file, in the form that `ejob export --form json` writes.
async fn download(
    State(namespaces): State<Arc<Namespaces>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Answer<Response> {
    let asked = Asked::new(&uri, &headers, caller);
    let request = Request::of(&namespaces, &asked)?;
    let (jobs, caller) = (request.jobs(), asked.caller.clone());
    let text = scan(move || {
        let (export, _) = exported(jobs.into_iter(), &caller);
        serde_json::to_string_pretty(&export).unwrap_or_default() + "\n"
    });
    // The name of a namespace has no character that ends a quoted text.
    let name = format!("attachment; filename=\"{}-export.json\"", request.namespace.name);
    let headers = [(CONTENT_TYPE, "application/json".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, text.await?).into_response())
}

async fn submit(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    fields: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Answer<Response> {
    let Form(fields) = fields.map_err(|rejection| {
        let text = rejection.body_text();
        let detail =
            format!("the form cannot be read: {text}; valid are up to {MAX_BODY_BYTES} bytes");
        Problem::new(rejection.status(), "invalid-form", detail)
    })?;
    let request = Request::of(&namespaces, &asked)?;
    let given = Given::of(&fields);
    let export = match parsed(&given.document) {
        Ok(export) => export,
        Err(fault) => return request.form(&given, Some(&fault)).await,
    };
    let planned = plan(request.namespace, &asked.caller, &export, given.overwrite).await;
    let planned = match planned {
        Err(problem) if problem.code == "invalid-export" => {
            return request.form(&given, Some(&problem.detail)).await;
        }
        planned => planned?,
    };
    let shown = |status, is_changed, fault| {
        let preview = Preview { plan: &planned, given: &given, is_changed, fault };
        Ok(request.respond(status, |cx| forms::preview(cx, &preview)))
    };
    match field(&fields, "step") {
        Some("edit") => request.form(&given, None).await,
        Some("preview") => shown(StatusCode::OK, false, None),
        Some("write") if field(&fields, "digest") != Some(&*planned.digest) => {
            shown(StatusCode::CONFLICT, true, None)
        }
        Some("write") => match by(&asked, &fields) {
            Err(fault) => shown(StatusCode::BAD_REQUEST, false, Some(fault)),
            Ok(by) => {
                let age = Age::of(request.namespace.live.freshness(), asked.now);
                check_age(age, field(&fields, "stale").unwrap_or_default())?;
                let report = apply(request.namespace, &planned.steps, &by).await;
                Ok(request.result(&planned, &report))
            }
        },
        other => {
            let detail = format!("step is {other:?}; valid is edit, preview or write");
            Err(Problem::invalid(detail))
        }
    }
}

impl Request<'_> {
    /// Leads to the jobs, or shows what was not imported.
    fn result(&self, planned: &Plan, report: &operations::Report) -> Response {
        let refused = planned.steps.iter().any(forms::is_refused);
        if report.has_changed() && report.failed.is_empty() && !refused {
            let namespace = encoded(&self.namespace.name);
            let path = format!("n/{namespace}/jobs?changed={}", report.done.len());
            return see_other(&self.asked.root, &path);
        }
        self.respond(StatusCode::OK, |cx| forms::result(cx, report))
    }
}

/// Reads an export. A parser of YAML reads JSON, too.
fn parsed(document: &str) -> Result<Export, String> {
    // A snippet could show a secret.
    let options = serde_saphyr::options! { with_snippet: false };
    let parsed = serde_saphyr::from_str_with_options(document, options);
    parsed.map_err(|error| {
        format!("document is not an export: {error}; valid is the text that `ejob export` writes")
    })
}

impl Given {
    fn of(fields: &Fields) -> Self {
        // A browser sends the ends of lines with a carriage return.
        let document = field(fields, "document").unwrap_or_default().replace("\r\n", "\n");
        Self { document, overwrite: field(fields, "overwrite") == Some("yes") }
    }
}
