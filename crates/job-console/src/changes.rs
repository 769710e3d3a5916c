//! Runs each change to its end, and those of the API at most once for each idempotency key.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::access::Caller;
use crate::api::is_api;
use crate::problem::{Answer, Problem, panic_text};
use crate::server::MAX_BODY_BYTES;

/// Header with the key of a change.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Header of a repeated answer.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Maximum length of a key, in characters.
pub(crate) const MAX_KEY: usize = 128;

/// Limits of the kept answers.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    number: usize,
    bytes: usize,
    age: Duration,
}

const BOUNDS: Bounds =
    Bounds { number: 10_000, bytes: 32 << 20, age: Duration::from_secs(24 * 60 * 60) };

/// Identity of a change: caller, method, address and key.
type Identity = (String, String, String, String);

/// The first answers of changes with a key.
#[derive(Debug)]
pub(crate) struct Answers {
    hashes: RandomState,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    bounds: Bounds,
    by_identity: HashMap<Identity, Entry>,
    /// Finished changes in the order of their ends, the oldest first.
    finished: VecDeque<(Instant, Identity)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    /// `None` while the change is running.
    answer: Option<Kind>,
}

/// A kept answer.
#[derive(Clone, Debug)]
struct Kind {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    body: Bytes,
}

impl Default for Answers {
    fn default() -> Self {
        let kept = Kept {
            bounds: BOUNDS,
            by_identity: HashMap::new(),
            finished: VecDeque::new(),
            bytes: 0,
        };
        Self { hashes: RandomState::new(), kept: Mutex::new(kept) }
    }
}

/// Runs a change in a task of its own, so that it ends even if the client disconnects.
///
/// Requests that only read end with their client.
pub(crate) async fn run_changes(
    State(answers): State<Arc<Answers>>,
    request: Request,
    next: Next,
) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    let run = async move {
        // A form of a page has no key.
        if !is_api(request.uri().path()) {
            return next.run(request).await;
        }
        match answers.first_or_repeat(request, next).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    };
    let run = tokio::spawn(tracing::Instrument::in_current_span(run));
    run.await.unwrap_or_else(|error| {
        if let Ok(panic) = error.try_into_panic() {
            tracing::error!(panic = panic_text(&*panic), "a change panicked");
        }
        panicked().into_response()
    })
}

fn panicked() -> Problem {
    let detail = "the change ended by a fault of this program; read the job before you repeat it";
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    Problem { outcome_unknown: true, ..Problem::new(status, "internal", detail) }
}

impl Answers {
    async fn first_or_repeat(self: Arc<Self>, request: Request, next: Next) -> Answer<Response> {
        let Some(key) = key(request.headers())? else { return Ok(next.run(request).await) };
        // The route refuses a request without a caller, whose body must not fill the memory.
        let Some(caller) = request.extensions().get::<Caller>() else {
            return Ok(next.run(request).await);
        };
        let caller = caller.name.clone();
        let address = request.uri().to_string();
        let identity = (caller, request.method().to_string(), address, key);
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, MAX_BODY_BYTES).await.map_err(|_| too_large())?;
        let hash = self.hashes.hash_one(&body);
        if let Some(answer) = self.kept.lock().begin(&identity, hash)? {
            return Ok(answer.replay());
        }
        let mut running = Running { answers: Arc::clone(&self), identity, is_over: false };
        let response = next.run(Request::from_parts(parts, Body::from(body))).await;
        let (parts, body) = response.into_parts();
        // Answers of changes are reports in memory, not streams. Without the whole answer, the drop
        // of `running` keeps an unknown outcome.
        let body = to_bytes(body, usize::MAX).await.map_err(|_| panicked())?;
        let content_type = parts.headers.get(CONTENT_TYPE).cloned();
        let answer = Kind { status: parts.status, content_type, body: body.clone() };
        running.end(is_kept(parts.status).then_some(answer));
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}

/// Returns the answer to the repeat of a change whose own answer is too large to keep.
fn without_body(status: StatusCode) -> Kind {
    let detail = format!(
        "the change with this Idempotency-Key has ended with status {}, and its answer was too \
         large to keep; read the jobs",
        status.as_u16()
    );
    Kind::of(&Problem::new(StatusCode::CONFLICT, "answer-not-kept", detail))
}

/// Returns true if the change has happened, or may have happened. Other requests changed nothing,
/// so a repeat runs again.
fn is_kept(status: StatusCode) -> bool {
    status.is_success()
        || matches!(status, StatusCode::GATEWAY_TIMEOUT | StatusCode::INTERNAL_SERVER_ERROR)
}

fn too_large() -> Problem {
    let detail = format!("the body is larger than {MAX_BODY_BYTES} bytes, or was not received");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
}

/// Returns the key of a request.
fn key(headers: &HeaderMap) -> Answer<Option<String>> {
    let mut given = headers.get_all(KEY).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let is_valid = (1..=MAX_KEY).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && given.next().is_none();
    if is_valid {
        return Ok(Some(text.to_owned()));
    }
    let valid = format!("valid is one value of 1 to {MAX_KEY} visible ASCII characters");
    Err(Problem::invalid(format!("header Idempotency-Key is {value:?}; {valid}")))
}

/// A running change. If its handler panics, its outcome is kept as unknown.
struct Running {
    answers: Arc<Answers>,
    identity: Identity,
    is_over: bool,
}

impl Running {
    fn end(&mut self, answer: Option<Kind>) {
        self.is_over = true;
        self.answers.kept.lock().end(&self.identity, answer);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            self.end(Some(Kind::of(&panicked())));
        }
    }
}

impl Kept {
    /// Returns the answer of an earlier request, or begins a new change.
    fn begin(&mut self, identity: &Identity, hash: u64) -> Answer<Option<Kind>> {
        self.drop_old();
        let conflict = |status, code, detail: &str| Err(Problem::new(status, code, detail));
        match self.by_identity.get(identity) {
            Some(entry) if entry.hash != hash => {
                let detail = "header Idempotency-Key names an earlier request with another body; \
                              valid is a new key for each new change";
                conflict(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused", detail)
            }
            Some(Entry { answer: None, .. }) => {
                let detail = "the first request with this Idempotency-Key is still running";
                conflict(StatusCode::CONFLICT, "still-running", detail)
            }
            Some(Entry { answer: Some(answer), .. }) => Ok(Some(answer.clone())),
            None if self.by_identity.len() - self.finished.len() >= self.bounds.number => {
                let detail = "too many changes with an Idempotency-Key are running";
                conflict(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
            }
            None => {
                self.by_identity.insert(identity.clone(), Entry { hash, answer: None });
                Ok(None)
            }
        }
    }

    fn end(&mut self, identity: &Identity, answer: Option<Kind>) {
        let Some(answer) = answer else {
            self.by_identity.remove(identity);
            return;
        };
        let is_large = answer.body.len() > self.bounds.bytes / 4;
        let answer = if is_large { without_body(answer.status) } else { answer };
        let Some(entry) = self.by_identity.get_mut(identity) else { return };
        self.bytes += answer.body.len();
        entry.answer = Some(answer);
        self.finished.push_back((Instant::now(), identity.clone()));
        self.drop_old();
    }

    /// Forgets the oldest answers beyond the limits.
    fn drop_old(&mut self) {
        while let Some((ended, _)) = self.finished.front() {
            let fits = self.finished.len() <= self.bounds.number && self.bytes <= self.bounds.bytes;
            if fits && ended.elapsed() <= self.bounds.age {
                return;
            }
            let Some((_, identity)) = self.finished.pop_front() else { return };
            let entry = self.by_identity.remove(&identity);
            let answer = entry.and_then(|entry| entry.answer);
            self.bytes -= answer.map_or(0, |answer| answer.body.len());
        }
    }
}

impl Kind {
    fn of(problem: &Problem) -> Self {
        let status = StatusCode::from_u16(problem.status).unwrap_or_default();
        let content_type = Some(HeaderValue::from_static("application/problem+json"));
        let body = serde_json::to_vec(problem).unwrap_or_default().into();
        Self { status, content_type, body }
    }

    fn replay(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        let headers = response.headers_mut();
        headers.remove(CONTENT_TYPE);
        if let Some(kind) = self.content_type {
            headers.insert(CONTENT_TYPE, kind);
        }
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
        response
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::post;
    use tokio::sync::Notify;
    use tower::ServiceExt as _;

    use super::*;

    fn identity(key: &str) -> Identity {
        ("anna".to_owned(), "POST".to_owned(), "/".to_owned(), key.to_owned())
    }

    fn answer(bytes: usize) -> Option<Kind> {
        let body = vec![b' '; bytes].into();
        Some(Kind { status: StatusCode::OK, content_type: None, body })
    }

    #[tokio::test(start_paused = true)]
    async fn kept_answers_are_bounded_in_number_size_and_age() {
        let mut kept = Answers::default().kept.into_inner();
        kept.bounds = Bounds { number: 2, bytes: 2_000, age: Duration::from_secs(60) };
        let add = |kept: &mut Kept, key: &str, bytes| {
            assert!(kept.begin(&identity(key), 1).unwrap().is_none(), "{key}");
            kept.end(&identity(key), answer(bytes));
        };
        for key in ["a", "b", "c"] {
            add(&mut kept, key, 1);
        }
        assert_eq!((kept.by_identity.len(), kept.bytes), (2, 2), "the number is bounded");
        assert!(kept.begin(&identity("c"), 1).unwrap().is_some());
        kept.bounds.number = 100;
        for key in ["d", "e", "f", "g"] {
            add(&mut kept, key, 500);
        }
        assert_eq!((kept.by_identity.len(), kept.bytes), (4, 2_000), "the size is bounded");
        add(&mut kept, "h", 501);
        let repeat = kept.begin(&identity("h"), 1).unwrap().unwrap();
        assert_eq!(repeat.status, StatusCode::CONFLICT, "a large answer is not kept");
        assert!(kept.bytes <= 2_000, "{}", kept.bytes);
        add(&mut kept, "f2", 1);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(kept.begin(&identity("f2"), 1).unwrap().is_none(), "the age is bounded");
    }

    #[tokio::test]
    async fn running_changes_are_bounded() {
        let mut kept = Answers::default().kept.into_inner();
        kept.bounds.number = 1;
        assert!(kept.begin(&identity("a"), 1).unwrap().is_none());
        assert_eq!(kept.begin(&identity("b"), 1).unwrap_err().code, "busy");
        assert_eq!(kept.begin(&identity("a"), 1).unwrap_err().code, "still-running");
        assert_eq!(kept.begin(&identity("a"), 2).unwrap_err().code, "idempotency-key-reused");
    }

    /// Returns a router with a form that reports its begin, waits, and reports its end.
    fn router(begin: &Arc<Notify>, end: &Arc<Notify>, ended: &Arc<Notify>) -> Router {
        let (begin, end, ended) = (Arc::clone(begin), Arc::clone(end), Arc::clone(ended));
        let form = async move || {
            begin.notify_one();
            end.notified().await;
            ended.notify_one();
        };
        let faulty = async || -> StatusCode { unreachable!("a fault of the handler") };
        let answers = Arc::new(Answers::default());
        Router::new()
            .route("/n/orders/act/pause", post(form))
            .route("/n/orders/act/resume", post(faulty))
            .layer(axum::middleware::from_fn_with_state(answers, run_changes))
    }

    fn request(path: &str) -> Request {
        Request::post(path).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn change_by_a_form_ends_after_the_client_has_disconnected() {
        let (begin, end, ended) = Default::default();
        let router = router(&begin, &end, &ended);
        let mut disconnected = Box::pin(router.oneshot(request("/n/orders/act/pause")));
        let deadline = Duration::from_secs(30);
        let begun = futures_util::future::select(disconnected.as_mut(), Box::pin(begin.notified()));
        tokio::time::timeout(deadline, begun).await.unwrap();
        drop(disconnected);
        end.notify_one();
        tokio::time::timeout(deadline, ended.notified()).await.unwrap();
    }

    #[tokio::test]
    async fn panic_of_a_change_by_a_form_leaves_its_outcome_unknown() {
        let (begin, end, ended) = Default::default();
        let router = router(&begin, &end, &ended);
        let answer = router.oneshot(request("/n/orders/act/resume")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let problem = answer.extensions().get::<Problem>().unwrap();
        assert!(problem.outcome_unknown, "{problem:?}");
    }
}
