//! Reasons why a job or an item does not run, next fires, and previews of moves.

use axum::response::Response;
use jiff::Timestamp;
use operations::{
    MovePlan, PlanError, WhatIf, WhatIfPart, WhyNot, exclusion_at, plan_moves, schedule_of,
    why_item_not_running_in, why_not_running_in,
};
use serde::{Deserialize, Serialize};
use sharding::StrategyRegistry;
use trigger::Zone;

use super::input::Query;
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

/// Hypothetical change of a job. A part that is not given stays as it is.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PlanQuery {
    /// Addresses of servers on which an instance would join, at most 1000, separated by commas. A
    /// server that is named twice gets two instances.
    #[param(example = "10.0.0.8,10.0.0.9")]
    join: Option<String>,
    /// Weight, zone and labels of the instances that would join.
    #[param(example = "weight=2 zone=a disk=ssd")]
    joining: Option<String>,
    /// Ids of instances that would leave, at most 1000, separated by commas.
    #[param(example = "10.0.0.7@-@4123")]
    leave: Option<String>,
    /// Addresses of servers that would be disabled, at most 1000, separated by commas.
    #[param(example = "10.0.0.7")]
    disable: Option<String>,
    /// Addresses of servers that would be enabled, at most 1000, separated by commas.
    #[param(example = "10.0.0.7")]
    enable: Option<String>,
    /// New number of items.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100_000)]
    sharding_total_count: Option<String>,
    /// New strategy.
    #[param(example = "PLACEMENT")]
    strategy: Option<String>,
    /// New placement rules, one a line or between semicolons.
    #[param(example = "require disk=ssd")]
    placement: Option<String>,
}

impl PlanQuery {
    fn what_if(&self) -> Result<WhatIf, PlanError> {
        let mut what_if = WhatIf::default();
        for (part, text) in [
            (WhatIfPart::Join, &self.join),
            (WhatIfPart::Joining, &self.joining),
            (WhatIfPart::Leave, &self.leave),
            (WhatIfPart::Disable, &self.disable),
            (WhatIfPart::Enable, &self.enable),
            (WhatIfPart::TotalCount, &self.sharding_total_count),
            (WhatIfPart::Strategy, &self.strategy),
            (WhatIfPart::Placement, &self.placement),
        ] {
            if let Some(text) = text {
                what_if.set(part, text)?;
            }
        }
        Ok(what_if)
    }
}

/// Shows the items that would move if instances, servers or the configuration changed.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/plan",
    params(PlanQuery),
    responses((
        status = 200,
        description = "The planned moves, and the owner of each item with its reason",
        body = MovePlan,
    )),
)]
pub(super) async fn plan_job(live: Live, Query(query): Query<PlanQuery>) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let what_if = query.what_if()?;
    let now_ms = live.namespace.operations.present().as_millisecond();
    let strategies = StrategyRegistry::default();
    let plan = scan(move || plan_moves(&job, &what_if, &strategies, now_ms)).await?;
    Ok(fresh.answer(plan?))
}
