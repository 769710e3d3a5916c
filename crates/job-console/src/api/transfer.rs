//! Export of configurations, and their import.

use axum::Extension;
use axum::response::Response;
use operations::{Export, ImportStep};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, changed};
use super::input::Body;
use super::place::Live;
use super::scan;
use crate::access::Caller;
use crate::bulk::check_digest;
use crate::problem::Answer;
use crate::transfer::{LeftOut, Plan, exported, plan};

/// Exported configurations.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Exported {
    /// The export, as `ejob import` reads it.
    export: Export,
    /// Jobs and limits of groups that are not exported, with the reason.
    left_out: Vec<LeftOut>,
}

/// Exports the configurations of all jobs that the caller may configure, and the limits of their
/// groups.
///
/// The documents may hold secrets.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/export",
    responses((status = 200, description = "The configurations", body = Exported)),
)]
pub(super) async fn export_jobs(
    live: Live,
    Extension(caller): Extension<Caller>,
) -> Answer<Response> {
    let (fresh, jobs, groups) = (live.fresh(), live.jobs(), live.namespace.live.groups());
    let exported = scan(move || {
        let (export, left_out) = exported(jobs, &groups, &caller);
        Exported { export, left_out }
    });
    Ok(fresh.answer(exported.await?))
}

/// Configurations to import.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportRequest {
    /// An export.
    export: Export,
    /// True to replace configurations that differ.
    #[serde(default)]
    overwrite: bool,
    /// True to change nothing, and to return the plan with its digest: the same as the query
    /// parameter `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Digest of the dry run; required unless it is a dry run.
    digest: Option<String>,
    /// Reason, recorded with each change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Planned import.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ImportPlan {
    /// The steps: those of groups, then those of jobs in the order of the export.
    steps: Vec<ImportStep>,
    /// Digest of the plan, which the import has to name.
    digest: String,
}

/// Answer of an import: a plan, or the effects.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum ImportAnswer {
    /// Answer of a dry run.
    Plan(ImportPlan),
    /// Effects of the import.
    Changed(Changed),
}

/// Imports configurations, or plans the import.
///
/// A dry run returns the plan with a digest. The import has to name this digest, and fails with 409
/// if the plan is another one by now. Each step is guarded by the revision that it is based on.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/import",
    request_body = ImportRequest,
    responses((status = 200, description = "The plan or the effects", body = ImportAnswer)),
)]
pub(super) async fn import_jobs(
    live: Live,
    intent: Intent,
    Body(body): Body<ImportRequest>,
) -> Answer<Response> {
    let fresh = live.fresh();
    let Plan { steps, digest } =
        plan(&live.namespace, &intent.caller, &body.export, body.overwrite).await?;
    let Some(by) = intent.or_dry(body.dry_run).by(body.reason.as_deref())? else {
        return Ok(fresh.answer(ImportPlan { steps, digest }));
    };
    check_digest(body.digest.as_deref(), &digest)?;
    Ok(changed(live.namespace.operations.import_all(&steps, &by, || ()).await))
}
