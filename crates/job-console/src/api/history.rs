//! Fires, counts, events and dropped records of the history.

use axum::Json;
use axum::http::StatusCode;
use jiff::Timestamp;
use job_history::{
    AuditQuery, DropRecord, Error, EventQuery, EventRecord, FireOutcome, FireQuery, FireRecord,
    History, InvalidCursor, StoredAudit,
};
use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::audit::AuditDetail;
use super::input::Query;
use super::paging::{Page, from_cursor, limit, to_cursor};
use super::place::{Place, checked_item};
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if matches!(error, Error::InvalidOption { .. }) {
            return Self::invalid(error.to_string());
        }
        let status = if error.is_retryable() {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::BAD_GATEWAY
        };
        Self::new(status, "history", error.to_string())
    }
}

impl From<InvalidCursor> for Problem {
    fn from(error: InvalidCursor) -> Self {
        Self::invalid(error.to_string())
    }
}

pub(super) fn history(namespace: &Namespace) -> Answer<&History> {
    namespace.history.as_ref().ok_or_else(|| {
        let detail = format!("the console has no history of namespace {:?}", namespace.name);
        Problem::not_found("no-history", detail)
    })
}

/// Conditions and page of fires.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryFiresQuery {
    /// Name of the job.
    job: Option<String>,
    /// Item number.
    #[param(maximum = 99_999)]
    item: Option<u32>,
    /// Outcome, or the present state.
    #[param(example = "failed")]
    outcome: Option<String>,
    /// Instance of the last run.
    instance: Option<String>,
    /// Earliest scheduled fire time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Exclusive end of the scheduled fire times.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// Conditions of counts.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct CountsQuery {
    /// Name of the job.
    job: Option<String>,
    /// Item number.
    #[param(maximum = 99_999)]
    item: Option<u32>,
    /// Instance of the last run.
    instance: Option<String>,
    /// Earliest scheduled fire time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Exclusive end of the scheduled fire times.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

fn fire_query(counts: CountsQuery, outcome: Option<String>) -> Answer<FireQuery> {
    let CountsQuery { job, item, instance, from, until } = counts;
    let words = FireOutcome::words();
    if let Some(word) = outcome.as_deref().filter(|word| !words.contains(word)) {
        let valid = words.join(", ");
        return Err(Problem::invalid(format!("outcome is {word:?}; valid is one of {valid}")));
    }
    let mut query = FireQuery::default();
    if let Some(job) = job {
        query = query.job(job);
    }
    if let Some(item) = item {
        query = query.item(checked_item(Some(item), item)?);
    }
    if let Some(instance) = instance {
        query = query.instance(InstanceId::new(instance));
    }
    if let Some(outcome) = outcome {
        query = query.outcome(FireOutcome::new(outcome));
    }
    if let Some(from) = from {
        query = query.from(from);
    }
    if let Some(until) = until {
        query = query.until(until);
    }
    Ok(query)
}

/// A fire of an item, with its outcome.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct FireDetail {
    /// Job name.
    job: String,
    /// Item number.
    item: u32,
    /// Scheduled fire time; for a manual request, the time of the request.
    #[schema(value_type = String, format = DateTime)]
    fire: Timestamp,
    /// Outcome, or the present state.
    outcome: String,
    /// Reason why it did not run, or error of its run.
    reason: Option<String>,
    /// Source of its last run: `NORMAL`, `MISFIRE`, `FAILOVER`, `MANUAL` or `BACKFILL`.
    source: Option<&'static str>,
    /// Fencing token of its last run; 0 without monitoring.
    token: Option<u64>,
    /// Instance of its last run.
    instance: Option<String>,
    /// Start of its last run.
    #[schema(value_type = Option<String>, format = DateTime)]
    began: Option<Timestamp>,
    /// End of its last run.
    #[schema(value_type = Option<String>, format = DateTime)]
    ended: Option<Timestamp>,
    /// Instance that was gone before it completed a run of this fire.
    left_by: Option<String>,
    /// Exclusive end of the gap that begins with this fire.
    #[schema(value_type = Option<String>, format = DateTime)]
    gap_until: Option<Timestamp>,
    /// Number of fires of that gap.
    gap_count: Option<u32>,
    /// Past fire that the run repeats, if it is of a backfill.
    #[schema(value_type = Option<String>, format = DateTime)]
    past_fire: Option<Timestamp>,
}

impl From<FireRecord> for FireDetail {
    fn from(fire: FireRecord) -> Self {
        Self {
            job: fire.job,
            item: fire.item.index(),
            fire: fire.fire,
            outcome: fire.outcome.as_str().to_owned(),
            reason: fire.reason,
            source: fire.source.map(|source| source.as_str()),
            token: fire.token.map(|token| token.0),
            instance: fire.instance.map(|id| id.to_string()),
            began: fire.began,
            ended: fire.ended,
            left_by: fire.former_holder.map(|id| id.to_string()),
            gap_until: fire.gap_until,
            gap_count: fire.gap_count,
            past_fire: fire.past_fire,
        }
    }
}

/// Lists fires of the history, the latest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/fires",
    params(HistoryFiresQuery),
    responses((status = 200, description = "A page of fires", body = Page<FireDetail>)),
)]
pub(super) async fn list_fires(
    place: Place,
    Query(query): Query<HistoryFiresQuery>,
) -> Answer<Json<Page<FireDetail>>> {
    let HistoryFiresQuery { job, item, outcome, instance, from, until, limit: given, cursor } =
        query;
    let conditions = fire_query(CountsQuery { job, item, instance, from, until }, outcome)?;
    let after = cursor.map(|text| Ok::<_, Problem>(from_cursor::<String>(&text)?.parse()?));
    let history = history(&place.namespace)?;
    let page = history.fires(&conditions, limit(given)?, after.transpose()?.as_ref()).await?;
    let next = page.next.map(|next| to_cursor(&next.to_string()));
    Ok(Json(Page { rows: page.fires.into_iter().map(FireDetail::from).collect(), next }))
}

/// Number of fires of a job with one outcome.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct CountDetail {
    /// Job name.
    job: String,
    /// The outcome.
    outcome: String,
    /// Number of fires of items.
    fires: u64,
}

/// Number of fires by job and outcome.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Counts {
    /// The numbers.
    rows: Vec<CountDetail>,
}

/// Counts fires of the history by job and outcome.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/counts",
    params(CountsQuery),
    responses((status = 200, description = "The numbers", body = Counts)),
)]
pub(super) async fn count_fires(
    place: Place,
    Query(query): Query<CountsQuery>,
) -> Answer<Json<Counts>> {
    let conditions = fire_query(query, None)?;
    let counts = history(&place.namespace)?.counts(&conditions).await?;
    let detail = |count: job_history::OutcomeCount| CountDetail {
        job: count.job,
        outcome: count.outcome.as_str().to_owned(),
        fires: count.fires,
    };
    Ok(Json(Counts { rows: counts.into_iter().map(detail).collect() }))
}

/// Conditions and page of events.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Name of the job.
    job: Option<String>,
    /// Kind of the events.
    #[param(example = "became_leader")]
    kind: Option<String>,
    /// Earliest time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Exclusive end.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// An event of a job other than a claim or a completion.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct EventDetail {
    /// Time, by the clock of the instance.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Job name.
    job: String,
    /// Instance that reported the event.
    instance: Option<String>,
    /// Kind of the event.
    kind: String,
    /// Item, if the event is about one.
    item: Option<u32>,
    /// Scheduled fire time, if the event is about one fire.
    #[schema(value_type = Option<String>, format = DateTime)]
    fire: Option<Timestamp>,
    /// Description in one sentence.
    text: String,
}

impl From<EventRecord> for EventDetail {
    fn from(event: EventRecord) -> Self {
        Self {
            at: event.at,
            job: event.job,
            instance: event.instance.map(|id| id.to_string()),
            kind: event.kind,
            item: event.item.map(|item| item.index()),
            fire: event.fire,
            text: event.text,
        }
    }
}

/// Lists events of the history, the latest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/events",
    params(EventsQuery),
    responses((status = 200, description = "A page of events", body = Page<EventDetail>)),
)]
pub(super) async fn list_events(
    place: Place,
    Query(query): Query<EventsQuery>,
) -> Answer<Json<Page<EventDetail>>> {
    let EventsQuery { job, kind, from, until, limit: given, cursor } = query;
    let mut conditions = EventQuery::default();
    if let Some(job) = job {
        conditions = conditions.job(job);
    }
    if let Some(kind) = kind {
        conditions = conditions.kind(kind);
    }
    if let Some(from) = from {
        conditions = conditions.from(from);
    }
    if let Some(until) = until {
        conditions = conditions.until(until);
    }
    let after = cursor.map(|text| Ok::<_, Problem>(from_cursor::<String>(&text)?.parse()?));
    let history = history(&place.namespace)?;
    let page = history.events(&conditions, limit(given)?, after.transpose()?.as_ref()).await?;
    let next = page.next.map(|next| to_cursor(&next.to_string()));
    Ok(Json(Page { rows: page.events.into_iter().map(EventDetail::from).collect(), next }))
}

/// Conditions and page of audited changes.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StoredAuditQuery {
    /// Name of the job, which may be removed since.
    job: Option<String>,
    /// Name of the group of jobs.
    group: Option<String>,
    /// Earliest time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Exclusive end.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// Lists audited changes of the history, the latest first, also of groups and of removed jobs.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/audit",
    params(StoredAuditQuery),
    responses((status = 200, description = "A page of audit records", body = Page<AuditDetail>)),
)]
pub(super) async fn list_stored_audit(
    place: Place,
    Query(query): Query<StoredAuditQuery>,
) -> Answer<Json<Page<AuditDetail>>> {
    let StoredAuditQuery { job, group, from, until, limit: given, cursor } = query;
    let mut conditions = AuditQuery::default();
    if let Some(job) = job {
        conditions = conditions.job(job);
    }
    if let Some(group) = group {
        conditions = conditions.group(group);
    }
    if let Some(from) = from {
        conditions = conditions.from(from);
    }
    if let Some(until) = until {
        conditions = conditions.until(until);
    }
    let after = cursor.map(|text| Ok::<_, Problem>(from_cursor::<String>(&text)?.parse()?));
    let history = history(&place.namespace)?;
    let page = history.audit(&conditions, limit(given)?, after.transpose()?.as_ref()).await?;
    let next = page.next.map(|next| to_cursor(&next.to_string()));
    let detail = |found: StoredAudit| AuditDetail::of(&found.subject, found.record);
    Ok(Json(Page { rows: page.records.into_iter().map(detail).collect(), next }))
}

/// Interval of dropped records.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DropsQuery {
    /// Earliest time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Exclusive end.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

/// Records that a process dropped because its queue was full.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct DropDetail {
    /// Random name of the history that dropped them.
    writer: String,
    /// Time of the first dropped record.
    #[schema(value_type = String, format = DateTime)]
    first: Timestamp,
    /// Time of the last dropped record.
    #[schema(value_type = String, format = DateTime)]
    last: Timestamp,
    /// Number of dropped records.
    records: u64,
}

impl From<DropRecord> for DropDetail {
    fn from(lost: DropRecord) -> Self {
        Self { writer: lost.writer, first: lost.first, last: lost.last, records: lost.dropped }
    }
}

/// Dropped records.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Drops {
    /// The intervals, the earliest first, at most 1 000.
    rows: Vec<DropDetail>,
}

/// Lists the intervals in which the history is incomplete.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/drops",
    params(DropsQuery),
    responses((status = 200, description = "The dropped records", body = Drops)),
)]
pub(super) async fn list_drops(
    place: Place,
    Query(query): Query<DropsQuery>,
) -> Answer<Json<Drops>> {
    let drops = history(&place.namespace)?.drops(query.from, query.until).await?;
    Ok(Json(Drops { rows: drops.into_iter().map(DropDetail::from).collect() }))
}
