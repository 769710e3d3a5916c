//! Changes of a namespace as server-sent events.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

use super::event_ring::{Changes, Position, Ring};
use super::namespaces::DataFreshness;
use super::place::Place;
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Minimum time between two events with jobs or groups.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time without an event after which a comment shows that the stream lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Maximum number of streams of a namespace.
const MAX_STREAMS: usize = 1_000;

/// The changes of a namespace, followed since the first request of a stream.
#[derive(Debug)]
pub(crate) struct EventHub {
    follower: OnceLock<Follower>,
    streams: Arc<Semaphore>,
}

impl Default for EventHub {
    fn default() -> Self {
        Self { follower: OnceLock::new(), streams: Arc::new(Semaphore::new(MAX_STREAMS)) }
    }
}

#[derive(Debug)]
struct Follower {
    ring: Arc<Mutex<Ring>>,
    /// Changes with each push, and closes at the end of the registry.
    pushed: watch::Receiver<()>,
    task: JoinHandle<()>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    fn of(namespace: &Arc<Namespace>) -> Self {
        let ring = Arc::new(Mutex::new(Ring::default()));
        let (push, pushed) = watch::channel(());
        let mut updates = namespace.live.updates(INTERVAL);
        let mut freshness = DataFreshness::of(namespace.live.freshness()).state;
        // The namespace owns the task, so the task must not own the namespace.
        let weak = Arc::downgrade(namespace);
        let shared = Arc::clone(&ring);
        let task = tokio::spawn(async move {
            while let Some(update) = updates.next().await {
                let Some(namespace) = weak.upgrade() else { return };
                let now = DataFreshness::of(namespace.live.freshness());
                let has_changed = now.state != freshness;
                freshness = now.state;
                let jobs = update.jobs.iter().map(ToString::to_string).collect();
                let groups = update.groups.iter().map(ToString::to_string).collect();
                let freshness = has_changed.then_some(now);
                shared.lock().push(Changes { jobs, groups, freshness });
                push.send_replace(());
            }
        });
        Self { ring, pushed, task }
    }
}

/// Data of an event `jobs`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct JobsChanged {
    /// Names of jobs that were created, changed or removed.
    jobs: Vec<String>,
}

/// Data of an event `groups`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct GroupsChanged {
    /// Names of groups of jobs whose limits, permits or waiting jobs have changed.
    groups: Vec<String>,
}

/// Streams changes: events `jobs`, `groups`, `freshness` and `reset`.
///
/// `jobs` has the names of changed jobs, and `groups` those of changed groups of jobs, each at most
/// ten times a second. `freshness` has the freshness of the data, at the begin of a stream and when
/// its state changes. The event `reset` means that changes were missed: read everything again. A
/// comment is sent after 15 seconds without an event.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/events",
    params((
        "Last-Event-ID" = Option<String>, Header,
        description = "Id of the last received event, to resume after it",
    )),
    responses((
        status = 200,
        description = "The stream. Each `data` is JSON: of `jobs` as in this schema, of `groups` \
                       as in GroupsChanged, of `freshness` as in DataFreshness, of `reset` an \
                       empty object",
        content_type = "text/event-stream",
        body = JobsChanged,
    )),
)]
pub(super) async fn stream_changes(place: Place, headers: HeaderMap) -> Answer<Response> {
    let hub = &place.namespace.events;
    let permit = Arc::clone(&hub.streams).try_acquire_owned().map_err(|_| {
        let detail = format!("{MAX_STREAMS} streams of this namespace are open; close one first");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", detail)
    })?;
    let follower = hub.follower.get_or_init(|| Follower::of(&place.namespace));
    let given = headers.get("last-event-id").map(|id| id.to_str().unwrap_or_default());
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("");
    let stream = Streamed::begin(follower, place.namespace.live.freshness(), given, permit);
    Ok(Sse::new(stream).keep_alive(keep_alive).into_response())
}

/// State of one stream.
struct Streamed {
    ring: Arc<Mutex<Ring>>,
    pushed: watch::Receiver<()>,
    position: Position,
    /// Events that are sent before the next wait.
    ready: std::collections::VecDeque<Event>,
    _permit: OwnedSemaphorePermit,
}

impl Streamed {
    fn begin(
        follower: &Follower,
        freshness: operations::Freshness,
        last_id: Option<&str>,
        permit: OwnedSemaphorePermit,
    ) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
        let mut pushed = follower.pushed.clone();
        pushed.mark_unchanged();
        let mut streamed = Self {
            ring: Arc::clone(&follower.ring),
            pushed,
            position: follower.ring.lock().end(),
            ready: std::collections::VecDeque::new(),
            _permit: permit,
        };
        let resumed = last_id.map(|id| id.parse::<Position>());
        match resumed {
            Some(Ok(position)) => {
                streamed.position = position;
                streamed.collect();
            }
            Some(Err(())) => streamed.reset(),
            None => {}
        }
        let id = streamed.position.to_string();
        streamed.ready.push_back(event("freshness", &DataFreshness::of(freshness)).id(id));
        stream::unfold(streamed, Self::next)
    }

    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        while self.ready.is_empty() {
            self.pushed.changed().await.ok()?;
            self.collect();
        }
        let event = self.ready.pop_front()?;
        Some((Ok(event), self))
    }

    /// Collects everything after the position. A slow client gets one event for many changes.
    fn collect(&mut self) {
        let (changes, end) = {
            let ring = self.ring.lock();
            (ring.after(self.position), ring.end())
        };
        let Some(changes) = changes else { return self.reset() };
        let begin = std::mem::replace(&mut self.position, end);
        let mut events = Vec::new();
        if !changes.jobs.is_empty() {
            let jobs = changes.jobs.into_iter().collect();
            events.push(event("jobs", &JobsChanged { jobs }));
        }
        if !changes.groups.is_empty() {
            let groups = changes.groups.into_iter().collect();
            events.push(event("groups", &GroupsChanged { groups }));
        }
        if let Some(freshness) = changes.freshness {
            events.push(event("freshness", &freshness));
        }
        // Only the last event has the id of the end: a client that loses its connection before it
        // resumes at the begin, and misses none of them.
        let last = events.pop().map(|event| event.id(end.to_string()));
        let first = events.into_iter().map(|event| event.id(begin.to_string()));
        self.ready.extend(first.chain(last));
    }

    fn reset(&mut self) {
        self.position = self.ring.lock().end();
        let id = self.position.to_string();
        self.ready.push_back(event("reset", &serde_json::json!({})).id(id));
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // Names and numbers are always serializable.
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(data)
}
