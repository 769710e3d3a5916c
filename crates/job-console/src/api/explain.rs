//! Reasons why a job or an item does not run, next fires, and previews of moves.

use axum::extract::Query;
use axum::response::Response;
use coordination::{InvalidConfig, ServerIp, instance_id};
use jiff::Timestamp;
use operations::{
    MovePlan, WhatIf, WhyNot, exclusion_at, plan_moves, schedule_of, why_item_not_running_in,
    why_not_running_in,
};
use serde::{Deserialize, Serialize};
use sharding::{InstanceId, InvalidPlacement, PlacementRules, StrategyRegistry};
use trigger::Zone;

use super::place::Live;
use super::scan;
use crate::problem::{Answer, Problem};
use crate::zones::zone_named;

/// Reasons, the most important first. The list is never empty.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Explanation {
    /// The reasons.
    reasons: Vec<Reasoned>,
}

/// One reason, for programs and as a sentence.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Reasoned {
    /// The sentence.
    text: String,
    /// The reason.
    why: WhyNot,
}

impl Explanation {
    fn of(reasons: Vec<WhyNot>) -> Self {
        let reasoned = |why: WhyNot| Reasoned { text: why.to_string(), why };
        Self { reasons: reasons.into_iter().map(reasoned).collect() }
    }
}

/// Explains why a job does not run now.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/why",
    responses((status = 200, description = "The reasons", body = Explanation)),
)]
pub(super) async fn explain_job(live: Live) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let group = live.namespace.live.group_of(&job);
    let now = live.namespace.operations.present();
    let why = move || Explanation::of(why_not_running_in(&job, group.as_deref(), now));
    Ok(fresh.answer(scan(why).await?))
}

/// Explains why an item does not run now.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items/{item}/why",
    responses((status = 200, description = "The reasons", body = Explanation)),
)]
pub(super) async fn explain_item(live: Live) -> Answer<Response> {
    let (fresh, job, item) = (live.fresh(), live.snapshot()?, live.item()?);
    let group = live.namespace.live.group_of(&job);
    let now = live.namespace.operations.present();
    let why = move || Explanation::of(why_item_not_running_in(&job, group.as_deref(), item, now));
    Ok(fresh.answer(scan(why).await?))
}

/// Number and time zone of fires.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FiresQuery {
    /// Number of fires.
    #[param(minimum = 1, maximum = 1000, default = 10)]
    count: Option<u32>,
    /// Only fires after this time; the default is the present time.
    #[param(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Time zone of the field `local`; the default is that of the job.
    #[param(example = "Asia/Shanghai")]
    time_zone: Option<String>,
}

/// Next fires of a job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Fires {
    /// Time zone of the field `local`.
    time_zone: String,
    /// The fires in ascending order; fewer than requested if the schedule ends, none for a job that
    /// runs on request only.
    rows: Vec<NextFire>,
    /// The exclusion that contains the time after which the fires are; null if there is none.
    exclusion: Option<ExcludedUntil>,
}

/// An exclusion of the configuration, in which nothing fires.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct ExcludedUntil {
    /// Reason of the entry, or the entry itself.
    #[schema(example = "backup")]
    reason: String,
    /// First time that is not excluded; null if the exclusion has no end.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
}

/// A scheduled fire.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct NextFire {
    /// Scheduled fire time in UTC.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The same time in the time zone; null if this host does not know the zone of the job.
    #[schema(example = "2024-03-01T09:00:00+08:00")]
    local: Option<String>,
}

/// Lists the next fires of a job.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/fires",
    params(FiresQuery),
    responses((status = 200, description = "The next fires", body = Fires)),
)]
pub(super) async fn list_next_fires(
    live: Live,
    Query(query): Query<FiresQuery>,
) -> Answer<Response> {
    let count = query.count.unwrap_or(10);
    if !(1..=1_000).contains(&count) {
        return Err(Problem::invalid(format!("count is {count}; valid is 1 to 1000")));
    }
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let config = job.config().cloned().ok_or_else(|| unreadable(&job))?;
    let after = query.after.unwrap_or_else(|| live.namespace.operations.present());
    let (time_zone, zone) = match query.time_zone {
        Some(name) => {
            let zone = Zone::parse(&name).map_err(|error| {
                Problem::invalid(format!("time_zone is {name:?}; valid is {}", error.valid()))
            })?;
            let canonical = zone.name().to_owned();
            let zone = zone_named(&canonical);
            (canonical, zone)
        }
        None => {
            let schedule = schedule_of(&config).map_err(operations::Error::from)?;
            let zone = schedule.map(|schedule| schedule.zone().name().to_owned());
            let name = zone.unwrap_or_else(|| "UTC".to_owned());
            let zone = zone_named(&name);
            (name, zone)
        }
    };
    let found = move || (job.next_fires(after, count as usize), exclusion_at(&config, after));
    let (fires, exclusion) = scan(found).await?;
    let exclusion = exclusion.map(|it| ExcludedUntil { reason: it.reason, until: it.until });
    let local = |at: Timestamp| {
        let zoned = at.to_zoned(zone.clone()?);
        Some(zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    };
    let rows = fires.map_err(operations::Error::from)?;
    let rows = rows.into_iter().map(|at| NextFire { at, local: local(at) }).collect();
    Ok(fresh.answer(Fires { time_zone, rows, exclusion }))
}

fn unreadable(job: &operations::JobSnapshot) -> Problem {
    let reason = job.config_fault().unwrap_or("there is none").to_owned();
    operations::Error::Unreadable { job: job.job().clone(), reason }.into()
}

/// Hypothetical change of a job.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PlanQuery {
    /// Addresses of servers on which an instance would join, separated by commas.
    #[param(example = "10.0.0.8,10.0.0.9")]
    join: Option<String>,
    /// Ids of instances that would leave, separated by commas.
    leave: Option<String>,
    /// Addresses of servers that would be disabled, separated by commas.
    disable: Option<String>,
    /// Addresses of servers that would be enabled, separated by commas.
    enable: Option<String>,
    /// New number of items.
    #[param(minimum = 1, maximum = 100_000)]
    sharding_total_count: Option<u32>,
    /// New strategy.
    strategy: Option<String>,
    /// New placement rules, one a line or between semicolons.
    #[param(example = "require disk=ssd")]
    placement: Option<String>,
    /// Weight, zone and labels of the instances that would join.
    #[param(example = "weight=2 zone=a disk=ssd")]
    joining: Option<String>,
}

/// Shows the items that would move if instances, servers or the configuration changed.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/plan",
    params(PlanQuery),
    responses((status = 200, description = "The planned moves", body = MovePlan)),
)]
pub(super) async fn plan_job(live: Live, Query(query): Query<PlanQuery>) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let what_if = what_if(query)?;
    if let Some(id) = what_if.leave.iter().find(|id| !job.view().is_registered(id)) {
        let live: Vec<String> = job.instances().iter().map(ToString::to_string).collect();
        let detail = format!("leave is {id}; job {} has instances {live:?}", job.job());
        return Err(Problem::not_found("no-such-target", detail));
    }
    let now_ms = live.namespace.operations.present().as_millisecond();
    let strategies = StrategyRegistry::default();
    let plan = scan(move || plan_moves(&job, &what_if, &strategies, now_ms)).await?;
    let plan: MovePlan = plan.map_err(|reason| {
        Problem::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "invalid-plan", reason)
    })?;
    Ok(fresh.answer(plan))
}

fn what_if(query: PlanQuery) -> Answer<WhatIf> {
    let join = servers(query.join)?;
    let join = join.iter().enumerate().map(|(n, ip)| instance_id(ip, &format!("new-{}", n + 1)));
    let mut what_if = WhatIf::default();
    what_if.join = join.collect::<Result<_, _>>().map_err(operations::Error::from)?;
    what_if.leave = listed(query.leave.as_deref()).map(InstanceId::new).collect();
    what_if.disable = servers(query.disable)?;
    what_if.enable = servers(query.enable)?;
    what_if.total_count = query.sharding_total_count;
    what_if.strategy = query.strategy;
    let rules = query.placement.as_deref().map(PlacementRules::parse);
    what_if.placement = rules
        .transpose()
        .map_err(|error| Problem::invalid(InvalidConfig::placement(&error).to_string()))?;
    let joining = query.joining.as_deref().map(str::parse);
    what_if.joining = joining
        .transpose()
        .map_err(|error: InvalidPlacement| Problem::invalid(format!("joining: {error}")))?
        .unwrap_or_default();
    Ok(what_if)
}

fn servers(text: Option<String>) -> Answer<Vec<ServerIp>> {
    let servers = listed(text.as_deref()).map(ServerIp::new);
    Ok(servers.collect::<Result<_, _>>().map_err(operations::Error::from)?)
}

fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}
