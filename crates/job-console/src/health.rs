//! The state of the console itself, for load balancers and supervisors. It needs no sign-in.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use job_watch::WatchView;
use operations::Freshness;
use serde::Serialize;

use crate::namespaces::Namespaces;

#[derive(Serialize)]
struct Health {
    /// `ready` once each namespace was read, otherwise `loading`.
    status: &'static str,
    /// `loading`, `current` or `stale` by namespace.
    namespaces: BTreeMap<String, &'static str>,
    /// `running` or `ended`, for each watcher of this process by namespace. The reason can name
    /// parts of the registry, so that only the pages and the API show it, after sign-in.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    watchers: BTreeMap<String, &'static str>,
}

/// Answers 200 once each namespace was read, otherwise 503.
///
/// A namespace whose registry does not answer later is `stale`, and still 200: another console
/// would not show more. The same holds for a watcher of this process that has ended.
pub(crate) async fn health(State(namespaces): State<Arc<Namespaces>>) -> Response {
    let state = |freshness| match freshness {
        Freshness::Loading => "loading",
        Freshness::Current => "current",
        Freshness::Stale { .. } => "stale",
    };
    let state_of_watcher = |watcher: &WatchView| match watcher.ended() {
        Some(_) => "ended",
        None => "running",
    };
    let watchers = namespaces
        .all()
        .filter_map(|namespace| {
            let watcher = namespace.alerts.watcher()?;
            Some((namespace.name.clone(), state_of_watcher(watcher)))
        })
        .collect();
    let namespaces: BTreeMap<_, _> = namespaces
        .all()
        .map(|namespace| (namespace.name.clone(), state(namespace.live.freshness())))
        .collect();
    let (code, status) = match namespaces.values().any(|state| *state == "loading") {
        true => (StatusCode::SERVICE_UNAVAILABLE, "loading"),
        false => (StatusCode::OK, "ready"),
    };
    (code, Json(Health { status, namespaces, watchers })).into_response()
}
