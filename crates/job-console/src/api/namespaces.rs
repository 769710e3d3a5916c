//! Namespaces, with the age of their data and their numbers of jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use operations::Freshness;
use serde::Serialize;

use super::place::{Place, age_ms};
use crate::namespaces::{Namespace, Namespaces};
use crate::statuses;

/// State of the feed of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DataState {
    /// The first snapshot is being read.
    Loading,
    /// The registry reports each change.
    Current,
    /// Later changes are unknown: the registry does not answer.
    Stale,
}

/// Freshness of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(super) struct DataFreshness {
    /// State of the feed.
    pub(super) state: DataState,
    /// Age of the data, in milliseconds; 0 while it is current or loading.
    pub(super) age_ms: u64,
}

impl DataFreshness {
    pub(super) fn of(freshness: Freshness) -> Self {
        let state = match freshness {
            Freshness::Loading => DataState::Loading,
            Freshness::Current => DataState::Current,
            Freshness::Stale { .. } => DataState::Stale,
        };
        Self { state, age_ms: age_ms(freshness).0 }
    }
}

/// A namespace.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct NamespaceDetail {
    /// Name of the namespace.
    name: String,
    /// Freshness of the data.
    freshness: DataFreshness,
    /// True if the console has a history of the namespace.
    has_history: bool,
    /// Number of jobs with a configuration.
    jobs: usize,
    /// Number of jobs with each status that occurs, which is the status of their rows and of the
    /// filter.
    jobs_by_status: BTreeMap<&'static str, usize>,
    /// Number of live instances. An instance counts once, whatever the number of its jobs.
    instances: usize,
    /// Number of servers that a job knows or that have a live instance.
    servers: usize,
}

/// All namespaces of the console.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct NamespaceList {
    /// The namespaces in the order of their names.
    rows: Vec<NamespaceDetail>,
}

/// Lists the namespaces of the console. While a namespace is loading, its numbers are 0.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces",
    responses((status = 200, description = "All namespaces", body = NamespaceList)),
)]
pub(super) async fn list_namespaces(
    State(namespaces): State<Arc<Namespaces>>,
) -> Json<NamespaceList> {
    Json(NamespaceList { rows: namespaces.all().map(|one| detail(one)).collect() })
}

/// Returns one namespace.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}",
    responses((status = 200, description = "The namespace", body = NamespaceDetail)),
)]
pub(super) async fn get_namespace(place: Place) -> Json<NamespaceDetail> {
    Json(detail(&place.namespace))
}

fn detail(namespace: &Namespace) -> NamespaceDetail {
    let freshness = DataFreshness::of(namespace.live.freshness());
    let (list, servers) = (namespace.live.list(), namespace.live.servers());
    NamespaceDetail {
        name: namespace.name.clone(),
        freshness,
        has_history: namespace.history.is_some(),
        jobs: list.jobs().len(),
        jobs_by_status: statuses::counts(&list, Timestamp::now().as_millisecond()),
        // Each instance is on one server.
        instances: servers.iter().map(|server| server.instances_num).sum(),
        servers: servers.len(),
    }
}
