//! Configuration as code.

use axum::response::Response;
use operations::{ApplyPlan, Owner};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, answer, changed};
use super::input::Body;
use super::place::Place;
use crate::apply::{Declared, DeclaringFile, PlannedApply, owner, plan};
use crate::audit_copy;
use crate::bulk::check_digest;
use crate::problem::{Answer, Problem};

/// Maximum number of files.
const MAX_FILES: usize = 1_000;

/// Files that declare the jobs of a namespace, and limits of groups.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyRequest {
    /// The files. No two of them may declare the same job, or different limits of a group.
    #[schema(min_items = 1, max_items = 1000)]
    files: Vec<DeclaringFile>,
    /// Name of this set of files, stored with the jobs that it creates.
    #[serde(default = "default_owner")]
    #[schema(default = "default", max_length = 64)]
    owner: String,
    /// True to remove the jobs that this owner created and no file declares any more.
    #[serde(default)]
    prune: bool,
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

fn default_owner() -> String {
    Owner::default().to_string()
}

/// Planned apply.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct PlanToApply {
    /// Limits of groups to set, and jobs to create, to replace, to keep and to remove.
    plan: ApplyPlan,
    /// Digest of the plan, which the apply has to name.
    digest: String,
}

/// Answer of an apply: a plan, or the effects.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum ApplyAnswer {
    /// Answer of a dry run.
    Plan(PlanToApply),
    /// Effects of the apply.
    Changed(Changed),
}

/// Makes the namespace have the jobs and the limits of groups that files declare, or plans it.
///
/// The limits are set before the jobs change. They need the permission `configure` for all jobs.
/// A dry run returns the plan with a digest. The apply has to name this digest, and fails with 409
/// if the plan is another one by now. Each step is guarded by what it is based on. Jobs with live
/// instances are not removed. Groups that no file declares keep their limits.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/apply",
    request_body = ApplyRequest,
    responses((status = 200, description = "The plan or the effects", body = ApplyAnswer)),
)]
pub(super) async fn apply_files(
    place: Place,
    intent: Intent,
    Body(body): Body<ApplyRequest>,
) -> Answer<Response> {
    let (files, prune) = (body.files, body.prune);
    if !(1..=MAX_FILES).contains(&files.len()) {
        let detail = format!("files has {} files; valid are 1 to {MAX_FILES}", files.len());
        return Err(Problem::invalid(detail));
    }
    let owner = owner(&body.owner).map_err(Problem::invalid)?;
    let declared = Declared { files, owner, prune };
    let PlannedApply { plan, digest } = plan(&place.namespace, &intent.caller, declared).await?;
    let Some(by) = intent.or_dry(body.dry_run).by(body.reason.as_deref())? else {
        return Ok(answer(false, PlanToApply { plan, digest }));
    };
    check_digest(body.digest.as_deref(), &digest)?;
    let report = place.namespace.operations.apply(&plan, &by).await;
    audit_copy::remember(&place.namespace, &report).await;
    Ok(changed(report))
}
