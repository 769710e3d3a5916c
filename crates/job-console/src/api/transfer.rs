//! Export of configurations, and their import.

use std::sync::Arc;

use axum::response::Response;
use axum::{Extension, Json};
use coordination::JobName;
use operations::{Error, Export, ImportStep, Importable, JobSnapshot, Report, export, plan_import};
use serde::{Deserialize, Serialize};
use sharding::StrategyRegistry;

use super::change::{Changed, by, changed};
use super::place::{Live, Place};
use super::scan;
use crate::access::{Caller, Permission};
use crate::bulk::{check_digest, digest};
use crate::problem::{Answer, Problem};

/// Exported configurations.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Exported {
    /// The export, as `ejob import` reads it.
    export: Export,
    /// Jobs that are not exported, with the reason.
    left_out: Vec<LeftOut>,
}

/// A job that is not exported.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct LeftOut {
    /// Job name.
    job: String,
    /// Why it is not exported.
    reason: String,
}

/// Exports the configurations of all jobs that the caller may configure.
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
    let (fresh, jobs) = (live.fresh(), live.jobs());
    let exported = scan(move || {
        let refusal =
            |job: &JobSnapshot| caller.check(Permission::Configure, Some(job.job().as_str())).err();
        let (mut meant, mut left_out): (Vec<Arc<JobSnapshot>>, Vec<LeftOut>) = Default::default();
        for job in jobs {
            match refusal(&job) {
                None => meant.push(job),
                Some(why) => {
                    let (job, reason) = (job.job().to_string(), why.to_string());
                    left_out.push(LeftOut { job, reason });
                }
            }
        }
        let (export, faulty) = export(meant.iter().map(|job| &**job));
        left_out.extend(faulty.into_iter().map(|(job, reason)| LeftOut { job, reason }));
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
    /// True to change nothing, and to return the plan with its digest.
    #[serde(default)]
    dry_run: bool,
    /// Digest of the dry run; required without `dry_run`.
    digest: Option<String>,
    /// Reason, recorded with each change; required without `dry_run`.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Planned import.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ImportPlan {
    /// The steps in the order of the export.
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
    Extension(caller): Extension<Caller>,
    Json(body): Json<ImportRequest>,
) -> Answer<Response> {
    let jobs = body.export.importable().map_err(|error| {
        let status = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "invalid-export", format!("export: {error}"))
    })?;
    for job in &jobs {
        caller.check(Permission::Import, Some(job.config.job_name.as_str()))?;
    }
    let fresh = live.fresh();
    let (steps, digest) = plan(&live, jobs, body.overwrite).await?;
    if body.dry_run {
        return Ok(fresh.answer(ImportPlan { steps, digest }));
    }
    let by = by(&caller, body.reason.as_deref().unwrap_or_default())?;
    check_digest(body.digest.as_deref(), &digest)?;
    let mut report = Report::default();
    for step in &steps {
        if report.causes.iter().any(Error::is_unanswered) {
            report.skip(&step.job, "configuration");
            continue;
        }
        match live.namespace.operations.import(step, &by).await {
            Ok(done) => report.extend(done),
            Err(error) => report.fail(&step.job, "configuration", error),
        }
    }
    Ok(changed(report))
}

/// Plans the import against the read model.
async fn plan(
    place: &Place,
    jobs: Vec<Importable>,
    overwrite: bool,
) -> Answer<(Vec<ImportStep>, String)> {
    let namespace = Arc::clone(&place.namespace);
    scan(move || {
        let stored = |name: &JobName| Ok(namespace.live.job(name));
        let (strategies, now) = (StrategyRegistry::default(), namespace.operations.present());
        let steps = plan_import(&jobs, stored, overwrite, &strategies, now);
        let digest = digest("import", steps.iter().map(ToString::to_string));
        (steps, digest)
    })
    .await
}
