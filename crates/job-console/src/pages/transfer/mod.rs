//! Transfer: configurations to a file, and from a file by a plan that is confirmed.
//!
//! In reading order: this file (requests) · `forms` (what they show) · `apply` (files of jobs).

mod apply;
mod forms;

use axum::extract::DefaultBodyLimit;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use maud::Markup;
use operations::{By, Export, Report};

use super::act::result;
use super::cx::Cx;
use super::jobs;
use super::request::{Again, Fields, Form, PageRequest, field};
use super::shell::{Body, Section};
use crate::access::Permission;
use crate::api::scan;
use crate::problem::{Answer, Problem};
use crate::routes::Routes;
use crate::selection::Selection;
use crate::server::MAX_BODY_BYTES;
use crate::transfer::{Plan, exported, plan};
use forms::{Given, Preview};

const PATH: &str = "/n/{namespace}/transfer";
const EXPORT: &str = "/n/{namespace}/transfer/export";
const APPLY: &str = "/n/{namespace}/transfer/apply";
/// Maximum number of jobs that a fault names.
const MAX_NAMES: usize = 8;

/// Adds the pages. The caller is checked for each job.
pub(super) fn add(routes: Routes) -> Routes {
    let import = post(submit).layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    let apply = post(apply::submit).layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    routes
        .page_per_job(Permission::Configure, &Method::GET, PATH, get(show))
        .page_per_job(Permission::Configure, &Method::GET, EXPORT, get(download))
        .page_per_job(Permission::Import, &Method::POST, PATH, import)
        .page_per_job(Permission::Import, &Method::GET, APPLY, get(apply::show))
        .page_per_job(Permission::Import, &Method::POST, APPLY, apply)
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    request.respond(status, |cx| Body {
        title: cx.lang().transfer(),
        crumbs: Vec::new(),
        section: Section::Transfer,
        main: main(cx),
        is_live: false,
    })
}

/// Responds with the form, and with the fault of the given document.
async fn form(request: &PageRequest, given: &Given, fault: Option<&str>) -> Answer<Response> {
    request.namespace.loaded()?;
    let (jobs, groups) = (jobs::snapshots(request), request.namespace.live.groups());
    let caller = request.asked.caller.clone();
    let exported = scan(move || exported(jobs.into_iter(), &groups, &caller));
    let (export, left_out) = exported.await?;
    let status = if fault.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(respond(request, status, |cx| forms::form(cx, &export.jobs, &left_out, given, fault)))
}

async fn show(request: PageRequest) -> Answer<Response> {
    // The same selection is offered for both directions.
    let jobs = request.asked.address.value("jobs").unwrap_or_default().to_owned();
    form(&request, &Given { jobs, ..Given::default() }, None).await
}

/// Sends the export as a file, in the form that `ejob export --form json` writes.
async fn download(request: PageRequest) -> Answer<Response> {
    // An export without jobs would be a valid file.
    request.namespace.loaded()?;
    let (jobs, groups) = (jobs::snapshots(&request), request.namespace.live.groups());
    let caller = request.asked.caller.clone();
    let text = scan(move || {
        let (export, _) = exported(jobs.into_iter(), &groups, &caller);
        serde_json::to_string_pretty(&export)
    });
    let text = text.await?.map_err(|error| {
        let detail = format!("the export cannot be written: {error}");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    })?;
    // The name of a namespace has no character that ends a quoted text.
    let name = format!("attachment; filename=\"{}-export.json\"", request.namespace.name);
    let headers = [(CONTENT_TYPE, "application/json".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((headers, text + "\n").into_response())
}

async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    request.namespace.loaded()?;
    let mut given = Given::of(&fields);
    if field(&fields, "step") == Some("edit") {
        return form(&request, &given, None).await;
    }
    // A document has up to 16 MiB, which takes longer to parse than other requests may wait.
    let document = std::mem::take(&mut given.document);
    let (document, read) = scan(move || {
        let read = parsed(&document);
        (document, read)
    })
    .await?;
    given.document = document;
    let export = match read.and_then(|export| selected(export, &given.jobs)) {
        Ok(export) => export,
        Err(fault) => return form(&request, &given, Some(&fault)).await,
    };
    let planned = plan(&request.namespace, &request.asked.caller, &export, given.overwrite).await;
    let planned = match planned {
        Err(problem) if problem.code == "invalid-export" => {
            return form(&request, &given, Some(&problem.detail)).await;
        }
        planned => planned?,
    };
    match confirmed(&request, &fields, &planned.digest)? {
        Ok(by) => {
            let report = request.namespace.operations.import_all(&planned.steps, &by, || ()).await;
            Ok(imported(&request, &planned, &report))
        }
        Err((status, again)) => {
            let preview = Preview { plan: &planned, given: &given, again };
            Ok(respond(&request, status, |cx| forms::preview(cx, &preview)))
        }
    }
}

/// Returns the author of a confirmed plan, or how the plan is shown instead of being written.
fn confirmed(
    request: &PageRequest,
    fields: &Fields,
    digest: &str,
) -> Answer<Result<By, (StatusCode, Option<Again>)>> {
    match field(fields, "step") {
        Some("preview") => Ok(Err((StatusCode::OK, None))),
        Some("write") => match request.confirmed(fields, digest) {
            Err((status, again)) => Ok(Err((status, Some(again)))),
            Ok(by) => {
                request.confirm_age(fields)?;
                Ok(Ok(by))
            }
        },
        other => {
            let detail = format!("step is {other:?}; valid is edit, preview or write");
            Err(Problem::invalid(detail))
        }
    }
}

/// Leads to the jobs, or shows what was not imported.
fn imported(request: &PageRequest, planned: &Plan, report: &Report) -> Response {
    let refused = planned.steps.iter().any(forms::is_refused);
    if report.has_changed() && report.failed.is_empty() && !refused {
        return request.lead_to_changed("jobs", report.done.len());
    }
    respond(request, StatusCode::OK, |cx| result(cx, &cx.lang().import(), report, "transfer"))
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

/// Limits an export to the selected jobs.
fn selected(mut export: Export, jobs: &str) -> Result<Export, String> {
    let selection = Selection::of(Some(jobs));
    let names: Vec<String> = export.jobs.iter().map(|one| one.job.clone()).collect();
    export.select(|job| selection.has(job));
    if export.jobs.is_empty() && !names.is_empty() {
        let (n, first) = (names.len(), names[..names.len().min(MAX_NAMES)].join(", "));
        return Err(format!(
            "jobs is {jobs:?}, which selects none of the {n} jobs of the document, such as {first}"
        ));
    }
    Ok(export)
}

impl Given {
    fn of(fields: &Fields) -> Self {
        // A browser sends the ends of lines with a carriage return.
        let document = field(fields, "document").unwrap_or_default().replace("\r\n", "\n");
        let jobs = field(fields, "jobs").unwrap_or_default().trim().to_owned();
        Self { document, jobs, overwrite: field(fields, "overwrite") == Some("yes") }
    }
}
