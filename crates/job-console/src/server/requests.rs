//! Bounds of one request: size, time, compression, and a task for each change.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;

use super::body::Timely;
use super::progress::Tracker;
use super::{Limits, MAX_BODY_BYTES};
use crate::problem::{Problem, panic_text};

/// Asks the reverse proxy nginx not to collect events before it passes them on.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns a router whose requests are bounded. Its changes run in tasks of `changes`.
pub(super) fn within(router: Router, limits: Limits, changes: TaskTracker) -> Router {
    // A layer is outside of those that were added before it.
    router
        .layer(CompressionLayer::new())
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state((limits, changes), bounded))
}

/// Answers a request within its limits, also if its handler panics; a change gets a task.
async fn bounded(
    State((limits, changes)): State<(Limits, TaskTracker)>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(bytes) = declared_bytes(request.headers()).filter(|n| *n > MAX_BODY_BYTES as u64) {
        let detail = format!("the body has {bytes} bytes; valid are up to {MAX_BODY_BYTES}");
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
            .into_response();
    }
    let limit = limits.answer_to(request.method());
    let is_change = !request.method().is_safe();
    let request = request.map(|body| Body::new(Timely::new(body, limits.idle)));
    // The request is gone after a panic, so that no half of its state is seen.
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    let answer = async move { answer.await.unwrap_or_else(|panic| panicked(&*panic, is_change)) };
    if !is_change {
        let answered = tokio::time::timeout(limit, answer).await;
        return answered.unwrap_or_else(|_| late(limit, false));
    }
    match tokio::time::timeout(limit, changes.spawn(answer)).await {
        Ok(Ok(response)) => response,
        // The runtime has ended the task.
        Ok(Err(_)) => internal(true),
        Err(_) => late(limit, true),
    }
}

fn declared_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn late(limit: Duration, outcome_unknown: bool) -> Response {
    let detail = format!("the request was not answered within {limit:?}");
    let problem = Problem::new(StatusCode::GATEWAY_TIMEOUT, "deadline", detail);
    Problem { outcome_unknown, ..problem }.into_response()
}

fn internal(outcome_unknown: bool) -> Response {
    let detail = "the request met a fault of the console; its log has the cause";
    let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail);
    Problem { outcome_unknown, ..problem }.into_response()
}

fn panicked(panic: &(dyn Any + Send), is_change: bool) -> Response {
    tracing::error!(panic = panic_text(panic), "a handler panicked");
    internal(is_change)
}

/// Ends a stream of events at its age, or when the server ends. Other answers stay as they are.
pub(super) fn bound_stream(
    response: Response,
    limits: &Limits,
    ending: &CancellationToken,
    tracker: &Tracker,
) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return response;
    }
    tracker.allow(limits.stream_deadline());
    let (limit, ending) = (limits.stream, ending.clone());
    let end = async move {
        // The age or the end of the server, whichever comes first.
        let _ = tokio::time::timeout(limit, ending.cancelled()).await;
    };
    let mut response =
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))));
    response.headers_mut().insert(NO_BUFFERING, HeaderValue::from_static("no"));
    response
}
