//! Groups of jobs: limits, permits, waiting jobs, and changes of the limits.

use axum::Json;
use axum::response::Response;
use coordination::{AuditRecord, GroupLimits, JobName};
use jiff::Timestamp;
use operations::{GroupChange, GroupSnapshot};
use serde::{Deserialize, Serialize};

use super::PageQuery;
use super::change::{Intent, Reason};
use super::input::{Body, Query};
use super::paging::{Page, Paging};
use super::place::{Live, Place};
use crate::groups::{group_of, limits, shown, since};
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Maximum number of permits, of waiting jobs and of jobs of a group in a list of groups.
const MAX_IN_LIST: usize = 100;
/// Maximum number of permits, of waiting jobs and of jobs in the answer about one group.
const MAX_OF_GROUP: usize = 1_000;

/// The limits of a group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct GroupLimitsDetail {
    /// Maximum number of items of all jobs of the group that run at the same time; null without a
    /// limit.
    cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period, such as
    /// `10 in 1m`; null without a limit.
    #[schema(example = "10 in 1m")]
    start_rate: Option<String>,
}

impl From<GroupLimits> for GroupLimitsDetail {
    fn from(limits: GroupLimits) -> Self {
        let GroupLimits { cluster_concurrency, start_rate } = limits;
        Self { cluster_concurrency, start_rate: start_rate.map(|rate| rate.to_string()) }
    }
}

/// A run that has a permit of a group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct GroupPermitDetail {
    /// Number of the permit.
    number: u32,
    /// Job of the run; null, as are `item` and `holder`, if the node cannot be read.
    job: Option<String>,
    /// Item of the run.
    item: Option<u32>,
    /// Instance that claimed the run.
    holder: Option<String>,
    /// Time at which the run took the permit; null if neither the registry nor the record of the
    /// run has it.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

/// A job that waits for its group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct WaitingJob {
    /// Job name.
    job: String,
    /// Instance that waits for the job; null if the node cannot be read.
    by: Option<String>,
    /// Time at which the job took its place; null if the registry does not know it.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
}

/// An audited change of the limits of a group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct GroupRecord {
    /// Identity of the change, unique within the group.
    id: String,
    /// Time of the change by the operator's clock, in milliseconds since 1970 UTC.
    at_ms: i64,
    /// Author.
    who: String,
    /// Reason.
    why: String,
    /// `set group` or `remove group`.
    act: String,
    /// Limits before and after the change.
    #[schema(example = "no limits -> at most 3 runs at once")]
    what: String,
}

impl From<&AuditRecord> for GroupRecord {
    fn from(record: &AuditRecord) -> Self {
        let AuditRecord { id, at_ms, who, why, act, what, .. } = record.clone();
        Self { id, at_ms, who, why, act, what }
    }
}

/// A group of jobs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct GroupDetail {
    /// Group name.
    group: String,
    /// The limits; null if they cannot be read: no run of the jobs begins then.
    limits: Option<GroupLimitsDetail>,
    /// Number of permits that runs have.
    permits_taken: usize,
    /// The permits that runs have, with their numbers, ascending: at most 1000, and 100 in a list.
    permits: Vec<GroupPermitDetail>,
    /// Time at which the next run may begin, if the group has reached its start rate.
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_again_at: Option<Timestamp>,
    /// Number of jobs that wait.
    waiting_count: usize,
    /// The jobs that wait, in the order of their places: at most 1000, and 100 in a list.
    waiting: Vec<WaitingJob>,
    /// Number of jobs whose configurations name the group.
    jobs_count: usize,
    /// These jobs in the order of their names: at most 1000, and 100 in a list.
    jobs: Vec<String>,
    /// The last audited changes of the limits, the newest first.
    changes: Vec<GroupRecord>,
}

impl GroupDetail {
    fn of(namespace: &Namespace, group: &GroupSnapshot, max: usize) -> Self {
        let (view, now) = (group.view(), namespace.operations.present());
        let moment = |ms: Option<i64>| Timestamp::from_millisecond(ms?).ok();
        let permits = view.permits().take(max).map(|(number, permit)| {
            let holder = permit.holder.as_ref();
            GroupPermitDetail {
                number,
                job: holder.map(|run| run.job.to_string()),
                item: holder.map(|run| run.item.index()),
                holder: holder.map(|run| run.holder.to_string()),
                since: since(&namespace.live, permit),
            }
        });
        let line = view.line();
        let waiting = line.iter().take(max).map(|(job, place)| WaitingJob {
            job: job.to_string(),
            by: place.by.as_ref().map(ToString::to_string),
            since: moment(place.since_ms),
        });
        let jobs = namespace.live.jobs_of_group(view.name());
        Self {
            group: view.name().to_string(),
            limits: view.limits().map(GroupLimitsDetail::from),
            permits_taken: view.permits().len(),
            permits: permits.collect(),
            starts_again_at: moment(
                view.starts_again_at(now.as_millisecond()).map(|(_, at_ms)| at_ms),
            ),
            waiting_count: line.len(),
            waiting: waiting.collect(),
            jobs_count: jobs.len(),
            jobs: jobs.iter().take(max).map(JobName::to_string).collect(),
            changes: group.audit().rev().map(GroupRecord::from).collect(),
        }
    }
}

/// Lists the groups that have limits, permits, waiting jobs or jobs, in the order of their names.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/groups",
    params(PageQuery),
    responses((status = 200, description = "A page of groups", body = Page<GroupDetail>)),
)]
pub(super) async fn list_groups(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<String>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, namespace) = (live.fresh(), &live.namespace);
    let groups = shown(&namespace.live);
    let rows = groups.iter().map(|group| (group.view().name().to_string(), group));
    let page = paging.select_sorted(rows);
    Ok(fresh.answer(page.map(|group| GroupDetail::of(namespace, group, MAX_IN_LIST))))
}

/// Returns one group.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/groups/{group}",
    responses((status = 200, description = "The group", body = GroupDetail)),
)]
pub(super) async fn get_group(live: Live) -> Answer<Response> {
    let (fresh, name, namespace) = (live.fresh(), live.group()?, &live.namespace);
    let group = group_of(namespace, &name)?;
    Ok(fresh.answer(GroupDetail::of(namespace, &group, MAX_OF_GROUP)))
}

/// Wanted limits of a group. A limit that is not given is removed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupLimitsUpdate {
    /// Maximum number of items of all jobs of the group that run at the same time, from 1.
    #[schema(minimum = 1, example = 4)]
    cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period, such as
    /// `10 in 1m`: 1 to 1000 in 1s to 24h.
    #[schema(example = "10 in 1m")]
    start_rate: Option<String>,
    /// Reason, recorded with the change: 1 to 512 bytes without control characters. Required unless
    /// it is a dry run.
    #[schema(min_length = 1, max_length = 512, example = "the database is slow")]
    reason: Option<String>,
}

/// A change of the limits of a group.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct GroupChanged {
    /// Group name.
    group: String,
    /// Limits before the change; null if they could not be read.
    before: Option<GroupLimitsDetail>,
    /// Limits after the change.
    after: GroupLimitsDetail,
    /// The audit record; null if nothing was written, because the limits were as wanted, or because
    /// it is a dry run.
    record: Option<GroupRecord>,
}

impl From<GroupChange> for GroupChanged {
    fn from(change: GroupChange) -> Self {
        Self {
            group: change.group.to_string(),
            before: change.before.map(GroupLimitsDetail::from),
            after: change.after.into(),
            record: change.record.as_ref().map(GroupRecord::from),
        }
    }
}

/// Replaces the limits of a group. The group needs no job.
#[utoipa::path(
    put,
    path = "/api/v1/namespaces/{namespace}/groups/{group}",
    request_body = GroupLimitsUpdate,
    responses((status = 200, description = "The change", body = GroupChanged)),
)]
pub(super) async fn set_group(
    place: Place,
    intent: Intent,
    Body(body): Body<GroupLimitsUpdate>,
) -> Answer<Json<GroupChanged>> {
    let wanted = || {
        let limits = limits(body.cluster_concurrency, body.start_rate.as_deref());
        limits.map_err(|fault| Problem::invalid(fault.text))
    };
    change(&place, &intent, body.reason.as_deref(), wanted).await
}

/// Removes the limits of a group. Its jobs stay in it, and are not limited.
#[utoipa::path(
    delete,
    path = "/api/v1/namespaces/{namespace}/groups/{group}",
    request_body = Reason,
    responses((status = 200, description = "The change", body = GroupChanged)),
)]
pub(super) async fn remove_group(
    place: Place,
    intent: Intent,
    Body(body): Body<Reason>,
) -> Answer<Json<GroupChanged>> {
    change(&place, &intent, body.reason.as_deref(), || Ok(GroupLimits::NONE)).await
}

async fn change(
    place: &Place,
    intent: &Intent,
    reason: Option<&str>,
    wanted: impl FnOnce() -> Answer<GroupLimits>,
) -> Answer<Json<GroupChanged>> {
    let (by, group, wanted) = (intent.by(reason)?, place.group()?, wanted()?);
    let operations = &place.namespace.operations;
    let change = match by {
        Some(by) => operations.set_group(&group, wanted, &by).await?,
        None => operations.preview_set_group(&group, wanted).await?,
    };
    Ok(Json(change.into()))
}
