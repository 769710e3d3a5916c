//! Servers and instances of a namespace.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use coordination::JobName;
use operations::{JobSnapshot, ServerBrief, ServerJob, jobs_of_server};
use serde::{Deserialize, Serialize};

use super::input::Query;
use super::jobs::{JobInstance, instances};
use super::paging::{Page, Paging};
use super::place::Live;
use super::{PageQuery, scan};
use crate::problem::{Answer, Problem};

/// Lists the servers of a namespace in the order of their addresses as text.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/servers",
    params(PageQuery),
    responses((status = 200, description = "A page of servers", body = Page<ServerBrief>)),
)]
pub(super) async fn list_servers(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<String>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, servers) = (live.fresh(), live.namespace.live.servers());
    let rows = servers.iter().map(|brief| (brief.server_ip.clone(), brief));
    Ok(fresh.answer(paging.select_sorted(rows)))
}

/// One server.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ServerDetail {
    /// Summary of the server.
    brief: ServerBrief,
    /// Jobs that know the server, in the order of their names.
    jobs: Vec<ServerJob>,
}

/// Returns one server, with its jobs.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/servers/{server}",
    responses((status = 200, description = "The server", body = ServerDetail)),
)]
pub(super) async fn get_server(live: Live) -> Answer<Response> {
    let (fresh, ip, namespace) = (live.fresh(), live.server()?, &live.namespace);
    let servers = namespace.live.servers();
    let brief = servers.iter().find(|brief| brief.server_ip == ip.as_str()).ok_or_else(|| {
        let detail = format!("no job of namespace {:?} knows server {ip}", namespace.name);
        Problem::not_found("no-such-server", detail)
    })?;
    let names = brief.job_names.iter().filter_map(|name| JobName::new(name).ok());
    let known: Vec<Arc<JobSnapshot>> = names.filter_map(|name| namespace.live.job(&name)).collect();
    let jobs = jobs_of_server(known.iter().map(|job| &**job), &ip);
    Ok(fresh.answer(ServerDetail { brief: brief.clone(), jobs }))
}

/// Conditions and page of a list of instances.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct InstancesQuery {
    /// Only instances of this job.
    job: Option<String>,
    /// Only instances on the server with this address.
    server: Option<String>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

/// A live instance, with its jobs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct InstanceDetail {
    /// Instance id, such as `10.0.0.7@-@4123`.
    instance_id: String,
    /// The instance in each of its jobs, by the name of the job.
    jobs: BTreeMap<String, JobInstance>,
}

/// Lists the live instances of a namespace in the order of their ids.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/instances",
    params(InstancesQuery),
    responses((status = 200, description = "A page of instances", body = Page<InstanceDetail>)),
)]
pub(super) async fn list_instances(
    live: Live,
    Query(query): Query<InstancesQuery>,
) -> Answer<Response> {
    let InstancesQuery { job, server, limit, cursor } = query;
    let paging = Paging::<String>::new(limit, cursor.as_deref())?;
    let (fresh, jobs) = (live.fresh(), live.jobs());
    let page = scan(move || {
        let is_meant = |instance: &JobInstance| {
            server.as_ref().is_none_or(|ip| instance.server_ip.as_ref() == Some(ip))
        };
        let mut all: BTreeMap<String, BTreeMap<String, JobInstance>> = BTreeMap::new();
        for snapshot in jobs.filter(|s| job.as_deref().is_none_or(|job| s.job().as_str() == job)) {
            for instance in instances(&snapshot).into_iter().filter(is_meant) {
                let of_instance = all.entry(instance.instance_id.clone()).or_default();
                of_instance.insert(snapshot.job().to_string(), instance);
            }
        }
        let page = paging.select_sorted(all.into_iter().map(|(id, jobs)| (id.clone(), (id, jobs))));
        page.map(|(instance_id, jobs)| InstanceDetail { instance_id, jobs })
    })
    .await?;
    Ok(fresh.answer(page))
}
