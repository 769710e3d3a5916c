//! The HTTP API, version 1. Each route is declared once, with its document and its permission.
//!
//! In reading order: `place` (names in the path, answers from the read model) · `paging` ·
//! `input` (queries and bodies) · one file for each group of operations ·
//! `change` (parts of all changes) ·
//! `events` · `refusals` (errors of the framework) · `document`.

mod alerts;
mod apply;
mod audit;
mod backfill;
mod bulk;
#[cfg(test)]
mod caller_tests;
mod cancel;
mod change;
mod change_jobs;
mod change_servers;
mod config_fields;
mod configuration;
mod doctor;
mod document;
mod event_ring;
mod events;
mod explain;
mod former;
mod groups;
mod history;
mod input;
mod items;
mod jobs;
mod namespaces;
mod nodes;
mod output;
mod paging;
mod place;
mod refusals;
mod requests;
mod servers;
mod transfer;
mod verification;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde_json::json;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::UtoipaMethodRouterExt as _;
use utoipa_axum::routes;

use crate::access::Permission;
use crate::console::Shared;
use crate::problem::{Answer, Problem};
use crate::routes::Routes;
use crate::server::MAX_BODY_BYTES;
pub(crate) use change::{DRY_RUN, MAX_WAIT};
pub(crate) use document::Signing;
pub(crate) use events::EventHub;
pub(crate) use input::pairs;
pub(crate) use place::invalid_path;
pub(crate) use verification::verdicts;

/// Head of the API's document. The routes add their parts to it.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Elastic Job console",
        description = "Jobs, servers, history and operator actions of the namespaces of a console."
    ),
    components(schemas(Problem, namespaces::DataFreshness, events::GroupsChanged))
)]
struct Document;

/// Page of a list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct PageQuery {
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

pub(crate) fn routes() -> Routes {
    let routes = changes(reads(Routes::new(Document::openapi())));
    bulk_changes(routes)
}

fn reads(routes: Routes) -> Routes {
    const VIEW: Permission = Permission::View;
    routes
        .api(VIEW, routes!(namespaces::list_namespaces))
        .api(VIEW, routes!(namespaces::get_namespace))
        .api(VIEW, routes!(jobs::list_jobs))
        .api(VIEW, routes!(jobs::get_job))
        .api(VIEW, routes!(items::list_items))
        .api(VIEW, routes!(items::get_item))
        .api(VIEW, routes!(items::list_running))
        .api(VIEW, routes!(servers::list_servers))
        .api(VIEW, routes!(servers::get_server))
        .api(VIEW, routes!(servers::list_instances))
        .api(VIEW, routes!(configuration::get_configuration))
        .api(VIEW, routes!(former::list_former_configurations))
        .api(VIEW, routes!(explain::explain_job))
        .api(VIEW, routes!(explain::explain_item))
        .api(VIEW, routes!(explain::list_next_fires))
        .api(VIEW, routes!(explain::plan_job))
        .api(VIEW, routes!(backfill::list_backfills))
        .api(VIEW, routes!(groups::list_groups))
        .api(VIEW, routes!(groups::get_group))
        .api(VIEW, routes!(audit::list_job_audit))
        .api(VIEW, routes!(audit::list_audit))
        .api(VIEW, routes!(nodes::list_nodes))
        .api(VIEW, routes!(doctor::examine_job))
        .api(VIEW, routes!(doctor::examine_all))
        .api(VIEW, routes!(change_jobs::preview_removal))
        .api(VIEW, routes!(requests::get_request))
        .api(VIEW, routes!(history::list_fires))
        .api(VIEW, routes!(history::count_fires))
        .api(VIEW, routes!(history::list_events))
        .api(VIEW, routes!(history::list_drops))
        .api(VIEW, routes!(output::list_output))
        .api(VIEW, routes!(history::list_stored_audit))
        .api(VIEW, routes!(verification::verify_job))
        .api(VIEW, routes!(alerts::list_alerts))
        .api(VIEW, routes!(events::stream_changes))
        .api_per_job(Permission::Configure, routes!(transfer::export_jobs))
}

fn changes(routes: Routes) -> Routes {
    use Permission::{
        Cancel, Configure, Create, Disable, Drain, Pause, Remove, Repair, Run, ShutDown, Silence,
    };
    routes
        .api(Create, routes!(configuration::create_job))
        .api(Configure, routes!(configuration::update_configuration))
        .api(Configure, routes!(former::restore_configuration))
        .api(Configure, routes!(groups::set_group))
        .api(Configure, routes!(groups::remove_group))
        .api(Run, routes!(change_jobs::run_job))
        .api(Run, routes!(change_jobs::rerun_failed))
        .api(Run, routes!(backfill::request_backfill))
        .api(Cancel, routes!(backfill::cancel_backfill))
        .api(Cancel, routes!(cancel::cancel_runs))
        .api(Pause, routes!(change_servers::pause_job))
        .api(Pause, routes!(change_servers::resume_job))
        .api(Disable, routes!(change_servers::disable_job))
        .api(Disable, routes!(change_servers::enable_job))
        .api(Disable, routes!(change_jobs::disable_items))
        .api(Disable, routes!(change_jobs::enable_items))
        .api(ShutDown, routes!(change_servers::shut_down_job))
        .api(ShutDown, routes!(change_servers::shut_down_instance))
        .api(Remove, routes!(change_jobs::remove_job))
        .api(Repair, routes!(doctor::repair_finding))
        .api(Repair, routes!(doctor::repair_finding_of_group))
        .api(Pause, routes!(change_servers::pause_server))
        .api(Pause, routes!(change_servers::resume_server))
        .api(Disable, routes!(change_servers::disable_server))
        .api(Disable, routes!(change_servers::enable_server))
        .api(ShutDown, routes!(change_servers::shut_down_server))
        .api(Remove, routes!(change_servers::remove_server))
        .api(Remove, routes!(change_servers::remove_servers))
        .api(Pause, routes!(change_servers::pause_server_of_job))
        .api(Pause, routes!(change_servers::resume_server_of_job))
        .api(Disable, routes!(change_servers::disable_server_of_job))
        .api(Disable, routes!(change_servers::enable_server_of_job))
        .api(Drain, routes!(change_servers::drain_server))
        .api(Drain, routes!(change_servers::drain_server_of_all_jobs))
        .api(ShutDown, routes!(change_servers::shut_down_server_of_job))
        .api(Remove, routes!(change_servers::remove_server_of_job))
        .api(Silence, routes!(alerts::silence_expectation))
        .api(Silence, routes!(alerts::end_silence))
}

/// Changes of many jobs, which check the caller for each job.
fn bulk_changes(routes: Routes) -> Routes {
    use Permission::{Cancel, Disable, Import, Pause, Run};
    let import = routes!(transfer::import_jobs);
    let import = import.layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    let apply = routes!(apply::apply_files).layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    routes
        .api_per_job(Run, routes!(bulk::run_jobs))
        .api_per_job(Run, routes!(bulk::rerun_failed_of_jobs))
        .api_per_job(Cancel, routes!(bulk::cancel_runs_of_jobs))
        .api_per_job(Pause, routes!(bulk::pause_jobs))
        .api_per_job(Pause, routes!(bulk::resume_jobs))
        .api_per_job(Disable, routes!(bulk::disable_jobs))
        .api_per_job(Disable, routes!(bulk::enable_jobs))
        .api_per_job(Import, import)
        .api_per_job(Import, apply)
}

/// Adds the routes of the document and of the start, which need no permission because they have no
/// data, and the layers of all routes of the API.
pub(crate) fn finish(
    router: Router<Shared>,
    document: &OpenApi,
    signing: &Signing<'_>,
) -> Router<Shared> {
    let document = Json(document::complete(document, signing));
    let path = |rest: &str| format!("{}/api/v1{rest}", signing.prefix);
    let start = Json(json!({
        "document": path("/openapi.json"),
        "namespaces": path("/namespaces"),
    }));
    let router = router
        .route("/api/v1", get(async || start))
        .route("/api/v1/openapi.json", get(async || document));
    router.layer(middleware::from_fn(refusals::as_problems))
}

/// Returns true if a path is one of the API. The console may be mounted at a prefix, which is then
/// not part of the path.
pub(crate) fn is_api(path: &str) -> bool {
    path.starts_with("/api/")
}

/// Computes something from snapshots of many jobs, on a thread where it delays no other request.
pub(crate) async fn scan<T: Send + 'static>(
    compute: impl FnOnce() -> T + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(compute).await.map_err(|_| {
        let detail = "a fault of this program has ended the request";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    })
}
