//! Expectations with their states, and silences.

use axum::Json;
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::change::Intent;
use super::input::{Body, Query};
use super::paging::{Page, Paging};
use super::place::{Live, Place};
use crate::alerts::{Row, Standing, end_of, expectation};
use crate::problem::{Answer, Problem};

/// Conditions and page of expectations.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AlertsQuery {
    /// State of the expectations.
    #[param(example = "violated")]
    state: Option<String>,
    /// Name of the job.
    job: Option<String>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// Expectations of the jobs of a namespace.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Alerts {
    /// Name of the watcher that is elected to send messages; null if there is none.
    sender: Option<String>,
    /// True if this console runs a watcher, so that all expectations are listed. Otherwise, the
    /// list has the violations that the sender has stored, and the silences.
    judges_all: bool,
    /// Reason why the watcher of this console has ended; null if it runs, or if there is none.
    watcher_ended: Option<String>,
    /// Stored documents of watchers that cannot be read, each with its path and the reason: at most
    /// 100. Their violations and silences are not listed.
    unreadable: Vec<String>,
    /// Number of all documents that cannot be read.
    unreadable_count: usize,
    /// A page of expectations, in the order of jobs and kinds.
    #[serde(flatten)]
    page: Page<AlertDetail>,
}

/// An expectation of a job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AlertDetail {
    /// Job name.
    job: String,
    /// Kind of the expectation.
    #[schema(example = "late_after")]
    expectation: &'static str,
    /// `violated`, `unknown`, `pending`, `suspended`, `ok`, or `not_judged` if only a silence is
    /// known.
    state: &'static str,
    /// `info`, `warning` or `critical`; null if it is not known.
    severity: Option<&'static str>,
    /// Begin of the violation.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// End of the running deadline.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Reason of the state.
    why: Option<String>,
    /// Time of the last message about the violation.
    #[schema(value_type = Option<String>, format = DateTime)]
    reported: Option<Timestamp>,
    /// Silence of the expectation.
    silence: Option<SilenceDetail>,
}

/// A period in which no message is sent about an expectation.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct SilenceDetail {
    /// End of the silence.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Author.
    by: String,
    /// Reason.
    why: String,
}

impl From<Row> for AlertDetail {
    fn from(row: Row) -> Self {
        let silence = |silence: job_watch::Silence| SilenceDetail {
            until: Timestamp::from_millisecond(silence.until).ok(),
            by: silence.by,
            why: silence.why,
        };
        Self {
            job: row.job,
            expectation: row.expectation.as_str(),
            state: row.state.word(),
            severity: row.severity.map(job_watch::Severity::as_str),
            since: row.since,
            until: row.until,
            why: row.why,
            reported: row.reported,
            silence: row.silence.map(silence),
        }
    }
}

/// Maximum number of sent documents that cannot be read.
const MAX_UNREADABLE: usize = 100;

/// Lists what is expected of the jobs, with its state and its silence.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/alerts",
    params(AlertsQuery),
    responses((status = 200, description = "A page of expectations", body = Alerts)),
)]
pub(super) async fn list_alerts(live: Live, Query(query): Query<AlertsQuery>) -> Answer<Response> {
    let AlertsQuery { state, job, limit, cursor } = query;
    let state = state.map(|word| {
        Standing::of_word(&word).ok_or_else(|| {
            let valid = Standing::ALL.map(Standing::word).join(", ");
            Problem::invalid(format!("state is {word:?}; valid is one of {valid}"))
        })
    });
    let state = state.transpose()?;
    let paging = Paging::<(String, String)>::new(limit, cursor.as_deref())?;
    let (fresh, alerts) = (live.fresh(), &live.namespace.alerts);
    let rows = alerts.rows(live.namespace.operations.present()).into_iter();
    let rows = rows.filter(|row| state.is_none_or(|state| row.state == state));
    let rows = rows.filter(|row| job.as_ref().is_none_or(|job| row.job == *job));
    let keyed = rows.map(|row| ((row.job.clone(), row.expectation.to_string()), row));
    let page = paging.select(keyed).map(AlertDetail::from);
    let (unreadable, unreadable_count) = alerts.stored.unreadable(MAX_UNREADABLE);
    Ok(fresh.answer(Alerts {
        sender: alerts.stored.sender(),
        judges_all: alerts.judges(),
        watcher_ended: alerts.ended().map(str::to_owned),
        unreadable,
        unreadable_count,
        page,
    }))
}

/// A silence to begin; a former one of the expectation is replaced.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SilenceRequest {
    /// Kind of the expectation.
    #[schema(example = "late_after")]
    expectation: String,
    /// Length of the silence, in seconds.
    #[schema(minimum = 1, maximum = 31_622_400, example = 7_200)]
    seconds: u64,
    /// Reason, stored with the silence: 1 to 512 bytes without control characters. Required unless
    /// it is a dry run.
    #[schema(min_length = 1, max_length = 512, example = "release 12")]
    reason: Option<String>,
}

/// A silence to end.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SilenceEnd {
    /// Kind of the expectation.
    #[schema(example = "late_after")]
    expectation: String,
    /// Reason: 1 to 512 bytes without control characters. The log of the console has it. Required
    /// unless it is a dry run.
    #[schema(min_length = 1, max_length = 512, example = "release 12 is done")]
    reason: Option<String>,
}

/// The silence of an expectation after a change.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Silenced {
    /// Job name.
    job: String,
    /// Kind of the expectation.
    expectation: &'static str,
    /// End of the silence; null if it was ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

/// Holds messages about an expectation of a job back for a time. The job need not exist.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/silence",
    request_body = SilenceRequest,
    responses((status = 200, description = "The silence", body = Silenced)),
)]
pub(super) async fn silence_expectation(
    place: Place,
    intent: Intent,
    Body(body): Body<SilenceRequest>,
) -> Answer<Json<Silenced>> {
    let until = end_of("seconds", body.seconds)?;
    change(&place, &intent, &body.expectation, Some(until), body.reason.as_deref()).await
}

/// Ends the silence of an expectation of a job.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/end-silence",
    request_body = SilenceEnd,
    responses((status = 200, description = "The ended silence", body = Silenced)),
)]
pub(super) async fn end_silence(
    place: Place,
    intent: Intent,
    Body(body): Body<SilenceEnd>,
) -> Answer<Json<Silenced>> {
    change(&place, &intent, &body.expectation, None, body.reason.as_deref()).await
}

async fn change(
    place: &Place,
    intent: &Intent,
    text: &str,
    until: Option<Timestamp>,
    reason: Option<&str>,
) -> Answer<Json<Silenced>> {
    let (by, job, kind) = (intent.by(reason)?, place.job()?, expectation(text)?);
    if let Some(by) = by {
        place.namespace.alerts.silence(&job, kind, until, &by).await?;
    }
    Ok(Json(Silenced { job: job.to_string(), expectation: kind.as_str(), until }))
}
