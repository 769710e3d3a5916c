//! Configurations: read with their revision, updated under the revision that was read, created.

use axum::Extension;
use axum::http::header::IF_MATCH;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Label, NodeKind, TemplateName, TemplateRecord,
    decode_config,
};
use operations::{Error, JobSnapshot, Updated};
use reg_center::Revision;
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, answer, changed};
use super::config_fields::ConfigFields;
use super::input::Body;
use super::place::{Live, Place};
use crate::access::{Caller, Permission};
use crate::problem::{Answer, Problem};

/// A stored configuration.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Configuration {
    /// Revision, which an update names in `If-Match`.
    revision: u64,
    /// Dialect of the document: `2.1.5` or `3.x`.
    #[schema(example = "2.1.5")]
    dialect: &'static str,
    /// Typed fields; null if the document cannot be read.
    fields: Option<ConfigFields>,
    /// Why the document cannot be read.
    fault: Option<String>,
    /// The document as stored. It may hold secrets, so it is null for callers that may not
    /// configure the job.
    document: Option<String>,
}

/// Returns the configuration of a job. The entity tag is its revision.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/configuration",
    responses(
        (status = 200, description = "The configuration", body = Configuration),
        (status = 304, description = "The client has this version"),
    ),
)]
pub(super) async fn get_configuration(
    live: Live,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let node = job.node(&NodeKind::Config);
    let node = node.ok_or_else(|| Error::NoSuchJob { job: job.job().clone() })?;
    let may_see = caller.check(Permission::Configure, Some(job.job().as_str())).is_ok();
    let revision = node.stat.modified.0;
    let configuration = Configuration {
        revision,
        dialect: job.dialect().as_str(),
        fields: job.config().map(ConfigFields::of),
        fault: job.config_fault().map(str::to_owned),
        document: may_see.then(|| String::from_utf8_lossy(&node.data).into_owned()),
    };
    Ok(fresh.tagged(&revision.to_string(), &headers, configuration))
}

/// A wanted configuration: either fields or a document.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigurationUpdate {
    /// Fields to change; absent fields keep their values.
    fields: Option<ConfigFields>,
    /// A whole document as ElasticJob stores it.
    document: Option<String>,
    /// True to change nothing, and to return the fields that would change: the same as the query
    /// parameter `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Replaces the configuration of a job if it still has the revision in `If-Match`.
#[utoipa::path(
    put,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/configuration",
    params((
        "If-Match" = String, Header,
        description = "Entity tag of the configuration that the update is based on",
        example = "\"17\"",
    )),
    request_body(
        content = ConfigurationUpdate,
        example = json!({ "fields": { "cron": "0 0 4 * * ?" }, "reason": "the backup ends at 03:30" }),
    ),
    responses(
        (status = 200, description = "The effects and the changed fields", body = Updated),
        (status = 412, description = "The configuration has another revision", body = Problem),
        (status = 428, description = "The header If-Match is missing", body = Problem),
    ),
)]
pub(super) async fn update_configuration(
    place: Place,
    intent: Intent,
    headers: HeaderMap,
    Body(body): Body<ConfigurationUpdate>,
) -> Answer<Response> {
    let by = intent.or_dry(body.dry_run).by(body.reason.as_deref())?;
    let (job, expected) = (place.job()?, expected(&headers)?);
    let operations = &place.namespace.operations;
    let wanted = match (body.fields, body.document) {
        (Some(fields), None) => {
            let stored = operations.config(&job).await?;
            if stored.revision != expected {
                return Err(Error::StaleConfig { job, expected, found: stored.revision }.into());
            }
            let unreadable = |reason| Error::Unreadable { job: job.clone(), reason };
            let mut wanted = stored.config.map_err(unreadable)?;
            fields.apply(&mut wanted)?;
            wanted
        }
        (None, Some(document)) => {
            let stored = operations.job(&job).await?;
            document_of(&job, &document, Some(&stored))?
        }
        (Some(_), Some(_)) | (None, None) => return Err(either()),
    };
    let updated = match by {
        Some(by) => operations.update_config(&wanted, expected, &by).await?,
        None => operations.preview_update(&wanted, expected).await?,
    };
    Ok(answer(!updated.report.failed.is_empty(), updated))
}

fn either() -> Problem {
    Problem::invalid("fields and document are both given, or none; valid is one of them")
}

/// Returns the revision in `If-Match`.
pub(super) fn expected(headers: &HeaderMap) -> Answer<Revision> {
    let valid = "valid is the ETag of the configuration, such as \"17\"";
    let Some(given) = headers.get(IF_MATCH) else {
        let detail = format!("header If-Match is missing; {valid}");
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, "no-revision", detail));
    };
    let text = given.to_str().ok().map(str::trim);
    let number = text.and_then(|text| text.strip_prefix('"')?.strip_suffix('"')?.parse().ok());
    number
        .map(Revision)
        .ok_or_else(|| Problem::invalid(format!("header If-Match is {given:?}; {valid}")))
}

/// Reads a document for a job. The Java class of 3.x is not in the document, so it stays as stored.
fn document_of(job: &JobName, document: &str, stored: Option<&JobSnapshot>) -> Answer<JobConfig> {
    let mut config = decode_config(document.as_bytes())
        .map_err(|error| invalid_document(format!("document is not a configuration: {error}")))?;
    if config.job_name != *job {
        let found = &config.job_name;
        return Err(invalid_document(format!(
            "document is of job {found}; valid is a document of job {job}"
        )));
    }
    let stored = stored.and_then(JobSnapshot::config);
    if let Some(stored) = stored
        && config.java.dialect() == Dialect::V3
    {
        config.java.job_class.clone_from(&stored.java.job_class);
    }
    Ok(config)
}

fn invalid_document(detail: String) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-configuration", detail)
}

/// A job to create from a template: either fields or a document.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobCreation {
    /// Template that live processes offer.
    #[schema(example = "report")]
    template: String,
    /// Label, by which processes choose whether they join the job.
    label: Option<String>,
    /// Dialect of a job that is created from fields: `2.1.5` (the default) or `3.x`.
    dialect: Option<String>,
    /// Fields; absent fields have their defaults, and `sharding_total_count` is required.
    fields: Option<ConfigFields>,
    /// A whole document as ElasticJob stores it.
    document: Option<String>,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Creates a job from a template.
#[utoipa::path(
    put,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}",
    request_body(
        content = JobCreation,
        example = json!({
            "template": "report",
            "fields": { "sharding_total_count": 4, "cron": "0 0 3 * * ?" },
            "reason": "a new region",
        }),
    ),
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn create_job(
    place: Place,
    intent: Intent,
    Body(body): Body<JobCreation>,
) -> Answer<Response> {
    let (by, job) = (intent.by(body.reason.as_deref())?, place.job()?);
    let template = TemplateName::new(&body.template).map_err(Error::from)?;
    let label = body.label.as_deref().map(Label::new).transpose().map_err(Error::from)?;
    let config = match (body.fields, body.document) {
        (Some(fields), None) => new_config(job, fields, body.dialect.as_deref())?,
        (None, Some(document)) => document_of(&job, &document, None)?,
        (Some(_), Some(_)) | (None, None) => return Err(either()),
    };
    let template = TemplateRecord { template, label };
    let operations = &place.namespace.operations;
    Ok(changed(match by {
        Some(by) => operations.create_job(&template, &config, &by).await?,
        None => operations.preview_create_job(&template, &config).await?,
    }))
}

fn new_config(job: JobName, fields: ConfigFields, dialect: Option<&str>) -> Answer<JobConfig> {
    if !fields.has_total() {
        let detail = "fields.sharding_total_count is missing; valid is 1 to 100000";
        return Err(Problem::invalid(detail));
    }
    let dialect = match dialect {
        None | Some("2.1.5") => Dialect::V2,
        Some("3.x") => Dialect::V3,
        Some(other) => {
            let detail = format!("dialect is {other:?}; valid is \"2.1.5\" or \"3.x\"");
            return Err(Problem::invalid(detail));
        }
    };
    let mut config = JobConfig::new(job, 1);
    config.java = JavaSettings::of(dialect);
    fields.apply(&mut config)?;
    Ok(config)
}
