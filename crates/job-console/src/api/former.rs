//! Former configurations: the replaced ones, and the way back to one.

use axum::Extension;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use coordination::{FormerConfig, RecordError};
use operations::{Error, FieldChange, JobSnapshot, Updated, differences};
use serde::{Deserialize, Serialize};

use super::change::{Intent, answer};
use super::configuration::expected;
use super::input::Body;
use super::place::{Live, Place};
use crate::access::{Caller, Permission};
use crate::problem::{Answer, Problem};

/// The configurations of a job that operators, and programs with `overwrite`, have replaced.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct FormerConfigurations {
    /// Revision of the present configuration, which a restoration names in `If-Match`.
    revision: u64,
    /// The former configurations, the one that was replaced last first.
    rows: Vec<FormerConfiguration>,
}

/// A former configuration.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct FormerConfiguration {
    /// Number of the configuration at this revision: 1 was replaced last.
    index: u32,
    /// Time of the replacement by the author's clock, in milliseconds since 1970 UTC.
    replaced_ms: i64,
    /// Author of the change that replaced it.
    who: String,
    /// Reason of that change.
    why: String,
    /// Fields that differ from the present configuration, from the present value to the restored
    /// one; null if one of the two cannot be read.
    changes: Option<Vec<FieldChange>>,
    /// Why `changes` is null.
    fault: Option<String>,
    /// The document as it was stored. It may hold secrets, so it is null for callers that may not
    /// configure the job.
    document: Option<String>,
}

impl FormerConfiguration {
    fn of(job: &JobSnapshot, index: u32, former: &FormerConfig, shows_document: bool) -> Self {
        let changes = changes(job, former);
        Self {
            index,
            replaced_ms: former.replaced_ms,
            who: former.who.clone(),
            why: former.why.clone(),
            fault: changes.as_ref().err().map(ToString::to_string),
            changes: changes.ok(),
            document: shows_document.then(|| former.document.clone()),
        }
    }
}

/// Returns the fields that restoring a configuration would change.
fn changes(job: &JobSnapshot, former: &FormerConfig) -> operations::Result<Vec<FieldChange>> {
    let wanted = job.restored(former)?;
    let present = job.config().ok_or_else(|| Error::Unreadable {
        job: job.job().clone(),
        reason: job.config_fault().unwrap_or("it does not exist").to_owned(),
    })?;
    Ok(differences(present, &wanted))
}

/// Returns the former configurations, the one that was replaced last first.
fn newest_first(job: &JobSnapshot) -> Answer<Vec<FormerConfig>> {
    let unreadable = |error: &RecordError| {
        let code = if error.is_newer() { "newer-record" } else { "unreadable-record" };
        let detail = format!("the former configurations of job {}: {error}", job.job());
        Problem::new(StatusCode::CONFLICT, code, detail)
    };
    let former = job.former_configs().map_err(unreadable)?;
    Ok(former.iter().rev().cloned().collect())
}

/// Lists the former configurations of a job, the last replaced first.
///
/// The entity tag is the revision of the present configuration, and with it the numbers of the
/// former ones.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/configuration/former",
    responses(
        (status = 200, description = "The former configurations", body = FormerConfigurations),
        (status = 304, description = "The client has this version"),
    ),
)]
pub(super) async fn list_former_configurations(
    live: Live,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let shows_document = caller.check(Permission::Configure, Some(job.job().as_str())).is_ok();
    let former = newest_first(&job)?;
    let numbered = (1..).zip(&former);
    let rows = numbered.map(|(n, one)| FormerConfiguration::of(&job, n, one, shows_document));
    let revision = job.config_revision().unwrap_or_default().0;
    let body = FormerConfigurations { revision, rows: rows.collect() };
    Ok(fresh.tagged(&revision.to_string(), &headers, body))
}

/// A former configuration to restore.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Restoration {
    /// Number of the configuration in the list of the revision in `If-Match`: 1 was replaced last.
    #[schema(minimum = 1, example = 1)]
    index: u32,
    /// True to change nothing, and to return the fields that would change: the same as the query
    /// parameter `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Replaces the configuration of a job by a former one, if it still has the revision in `If-Match`.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/configuration/restore",
    params((
        "If-Match" = String, Header,
        description = "Entity tag of the list of former configurations",
        example = "\"17\"",
    )),
    request_body(
        content = Restoration,
        example = json!({ "index": 1, "reason": "the new schedule overlaps the backup" }),
    ),
    responses(
        (status = 200, description = "The effects and the changed fields", body = Updated),
        (status = 412, description = "The configuration has another revision", body = Problem),
        (status = 428, description = "The header If-Match is missing", body = Problem),
    ),
)]
pub(super) async fn restore_configuration(
    place: Place,
    intent: Intent,
    headers: HeaderMap,
    Body(body): Body<Restoration>,
) -> Answer<Response> {
    let by = intent.or_dry(body.dry_run).by(body.reason.as_deref())?;
    let (job, expected) = (place.job()?, expected(&headers)?);
    let operations = &place.namespace.operations;
    let snapshot = operations.job(&job).await?;
    // The number is one of the list that belongs to this revision.
    let found = snapshot.config_revision().ok_or_else(|| Error::NoSuchJob { job: job.clone() })?;
    if found != expected {
        return Err(Error::StaleConfig { job, expected, found }.into());
    }
    let former = newest_first(&snapshot)?;
    let index = usize::try_from(body.index).ok().and_then(|index| index.checked_sub(1));
    let wanted = index.and_then(|index| former.get(index)).ok_or_else(|| {
        let valid = match former.len() {
            0 => "none is valid: the configuration has not been replaced".to_owned(),
            n => format!("valid is 1 to {n}"),
        };
        Problem::invalid(format!("index is {}; {valid}", body.index))
    })?;
    let updated = match by {
        Some(by) => operations.restore_config(&job, wanted, expected, &by).await?,
        None => operations.preview_update(&snapshot.restored(wanted)?, expected).await?,
    };
    Ok(answer(!updated.report.failed.is_empty(), updated))
}
