//! The server over loopback TCP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use job_console::{Console, Limits, Server, UnfinishedChanges};
use reg_center::MemoryRegistry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Shorter than any default.
const SHORT: Duration = Duration::from_millis(100);
/// More than the buffers of a loopback connection hold.
const LARGE: usize = 32 * 1024 * 1024;

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

/// A server whose handlers report and wait.
struct Stage {
    address: SocketAddr,
    serving: JoinHandle<Result<(), UnfinishedChanges>>,
    stop: oneshot::Sender<()>,
    /// A handler has begun.
    begun: mpsc::UnboundedReceiver<()>,
    /// A handler has ended.
    ended: mpsc::UnboundedReceiver<()>,
    /// Permits for the handlers to end.
    gate: Arc<Semaphore>,
}

impl Stage {
    async fn new(limits: Limits) -> Self {
        let (tell_begun, begun) = mpsc::unbounded_channel();
        let (tell_ended, ended) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(0));
        let (at_gate, tell_cut) = (Arc::clone(&gate), tell_ended.clone());
        let wait = move || {
            let (begun, ended, gate) = (tell_begun.clone(), tell_ended.clone(), at_gate.clone());
            async move {
                begun.send(()).unwrap();
                gate.acquire().await.unwrap().forget();
                ended.send(()).unwrap();
                "done"
            }
        };
        let router = Router::new()
            .route(
                "/peer",
                get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| peer.to_string()),
            )
            .route("/wait", get(wait.clone()).post(wait))
            .route("/large", get(async || vec![b'x'; LARGE]))
            .route("/endless", get(async move || endless(tell_cut.clone())))
            .route("/text", get(async || "text ".repeat(1000)))
            .route("/size", post(async |body: Bytes| body.len().to_string()))
            .route("/events", get(events))
            .route(
                "/panic",
                get(async || {
                    if true {
                        panic!("on purpose")
                    }
                })
                .post(panic_at_once),
            );
        Self { begun, ended, gate, ..Self::serving(limits, router).await }
    }

    /// A server of another router, whose handlers neither report nor wait.
    async fn serving(limits: Limits, router: Router) -> Self {
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), limits).await.unwrap();
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(router, async { drop(stopped.await) }));
        let ((_, begun), (_, ended)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        Self { address, serving, stop, begun, ended, gate: Arc::new(Semaphore::new(0)) }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends one request on a connection of its own, and returns everything that is answered.
    async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        send(&mut stream, request).await;
        rest(stream).await
    }
}

async fn panic_at_once() {
    panic!("on purpose")
}

/// A body that never ends by itself, and that reports its end.
fn endless(ended: mpsc::UnboundedSender<()>) -> Body {
    struct AtEnd(mpsc::UnboundedSender<()>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            // The test is over, if its receiver is gone.
            let _ = self.0.send(());
        }
    }
    let chunk = async |at_end: AtEnd| Some((Ok::<_, io::Error>(vec![b'x'; 64 * 1024]), at_end));
    Body::from_stream(futures_util::stream::unfold(AtEnd(ended), chunk))
}

/// A stream of events that never ends by itself.
async fn events() -> impl IntoResponse {
    let first = Ok::<_, io::Error>(Bytes::from_static(b"data: one\n\n"));
    let stream = futures_util::stream::iter([first]);
    let stream = futures_util::StreamExt::chain(stream, futures_util::stream::pending());
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream))
}

async fn send(stream: &mut TcpStream, request: &str) {
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Reads until a text has arrived.
async fn until(stream: &mut TcpStream, part: &str) -> String {
    let mut text = String::new();
    let reading = async {
        while !text.contains(part) {
            let byte = stream.read_u8().await.unwrap_or_else(|error| panic!("{error}: {text:?}"));
            text.push(char::from(byte));
        }
    };
    within(part, reading).await;
    text
}

/// Reads until the end of the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = within("the end of the connection", stream.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn kept_connection_answers_requests_that_know_their_peer() {
    let stage = Stage::new(Limits::default()).await;
    let mut stream = stage.connect().await;
    let own = stream.local_addr().unwrap().to_string();
    for _ in 0..2 {
        send(&mut stream, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n").await;
        until(&mut stream, &own).await;
    }
}

#[tokio::test]
async fn idle_connection_and_slow_headers_are_closed() {
    let stage = Stage::new(Limits::default().with(|it| it.idle = SHORT)).await;
    let mut stream = stage.connect().await;
    send(&mut stream, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(rest(stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(stage.ask("").await, "");
    let slow = stage.ask("GET /peer HTTP/1.1\r\nHost").await;
    assert!(slow.is_empty() || slow.starts_with("HTTP/1.1 408 "), "{slow}");
}

#[tokio::test]
async fn large_bodies_and_heads_are_refused() {
    let stage = Stage::new(Limits::default()).await;
    let n = 16 * 1024 * 1024;
    let declared = format!("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", n + 1);
    let refused = stage.ask(&declared).await;
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    assert!(refused.contains("the body has 16777217 bytes; valid are up to 16777216"), "{refused}");
    let head = "POST /size HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    let exact = format!("{head}Content-Length: {n}\r\n\r\n{}", "x".repeat(n));
    let accepted = stage.ask(&exact).await;
    assert!(accepted.ends_with("\r\n16777216"), "{accepted}");
    let mut stream = stage.connect().await;
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", n + 1);
    send(&mut stream, &chunked).await;
    // The server answers before it has read everything, so the rest may meet a closed connection.
    let _ = stream.write_all("x".repeat(n + 1).as_bytes()).await;
    assert!(rest(stream).await.starts_with("HTTP/1.1 413 "));
    let long = format!("GET /peer HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(80 * 1024));
    let refused = stage.ask(&long).await;
    assert!(refused.starts_with("HTTP/1.1 431 "), "{refused}");
}

#[tokio::test]
async fn console_accepts_imports_up_to_the_limit_of_bodies() {
    let registry = Arc::new(MemoryRegistry::new().connect());
    let console = Console::new().namespace("orders", registry, None).unwrap();
    let stage = Stage::serving(Limits::default(), console.router()).await;
    let health = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let loaded = async { while !stage.ask(health).await.starts_with("HTTP/1.1 200 ") {} };
    within("the first snapshot", loaded).await;
    let export = r#"{"format":"ejob-export","version":1,"jobs":[]}"#;
    let body = format!(r#"{{"export":{export},"reason":"test","dry_run":true}}"#);
    let body = body + &" ".repeat(15 << 20);
    for key in ["", "Idempotency-Key: k\r\n"] {
        let head = "POST /api/v1/namespaces/orders/import HTTP/1.1\r\nHost: localhost\r\n\
                    Connection: close\r\nSec-Fetch-Site: same-origin\r\n\
                    Content-Type: application/json\r\n";
        let request = format!("{head}{key}Content-Length: {}\r\n\r\n{body}", body.len());
        let answer = stage.ask(&request).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains(r#""digest""#), "{answer}");
    }
}

#[tokio::test]
async fn change_has_more_time_than_another_request() {
    let mut stage = Stage::new(Limits::default().with(|it| it.answer = SHORT)).await;
    let mut change = stage.connect().await;
    send(&mut change, "POST /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    within("the begin", stage.begun.recv()).await.unwrap();
    // It begins later than the change, and reaches the limit of other requests.
    let late = stage.ask("GET /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(late.starts_with("HTTP/1.1 504 "), "{late}");
    stage.gate.add_permits(1);
    let done = rest(change).await;
    assert!(done.ends_with("\r\ndone"), "{done}");
}

#[tokio::test]
async fn late_answer_is_a_problem_and_a_change_goes_on() {
    let limits = Limits::default().with(|it| {
        it.answer = SHORT;
        it.change = SHORT;
    });
    let mut stage = Stage::new(limits).await;
    let late = stage.ask("GET /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(late.starts_with("HTTP/1.1 504 "), "{late}");
    assert!(late.contains(r#""outcome_unknown":false"#), "{late}");
    let late = stage.ask("POST /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(late.contains(r#""outcome_unknown":true"#), "{late}");
    stage.gate.add_permits(1);
    within("the end of the change", stage.ended.recv()).await.unwrap();
}

#[tokio::test]
async fn slow_body_ends_at_its_limit() {
    let stage = Stage::new(Limits::default().with(|it| it.idle = SHORT)).await;
    let slow = "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfive.";
    let refused = stage.ask(slow).await;
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
}

#[tokio::test]
async fn panic_of_a_handler_is_a_problem() {
    let stage = Stage::new(Limits::default()).await;
    for method in ["GET", "POST"] {
        let request = format!("{method} /panic HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let answer = stage.ask(&request).await;
        assert!(answer.starts_with("HTTP/1.1 500 "), "{method}: {answer}");
        assert!(answer.contains(r#""code":"internal""#), "{method}: {answer}");
        let outcome = format!(r#""outcome_unknown":{}"#, method == "POST");
        assert!(answer.contains(&outcome), "{method}: {answer}");
    }
}

#[tokio::test]
async fn answers_are_compressed_but_events_are_not() {
    let limits = Limits::default().with(|it| it.stream = SHORT);
    let stage = Stage::new(limits).await;
    let ask = |path: &str, accepts: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: {accepts}\r\n\r\n"
        )
    };
    for encoding in ["gzip", "br"] {
        let answer = stage.ask(&ask("/text", encoding)).await;
        assert!(answer.contains(&format!("content-encoding: {encoding}\r\n")), "{answer}");
        assert!(answer.len() < 1000, "{}", answer.len());
        let events = stage.ask(&ask("/events", encoding)).await;
        assert!(events.contains("data: one\n\n"), "{events}");
        assert!(events.contains("x-accel-buffering: no\r\n"), "{events}");
        assert!(events.ends_with("0\r\n\r\n"), "the stream ends at its age: {events}");
    }
}

#[tokio::test]
async fn stream_of_events_outlasts_the_limits_of_other_answers_and_ends_with_the_server() {
    let limits = Limits::default().with(|it| {
        it.idle = SHORT;
        it.answer = SHORT;
        it.write = SHORT;
    });
    let mut stage = Stage::new(limits).await;
    let mut stream = stage.connect().await;
    send(&mut stream, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n").await;
    until(&mut stream, "data: one\n\n").await;
    // Another exchange that lasts as long as the limits together.
    let mut slow = stage.connect().await;
    send(&mut slow, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").await;
    within("the end of the answer", stage.ended.recv()).await.unwrap();
    assert!(rest(slow).await.len() < LARGE, "an answer without a reader is cut at its limit");
    stage.stop.send(()).unwrap();
    assert_eq!(within("the end of the server", stage.serving).await.unwrap(), Ok(()));
    assert!(rest(stream).await.ends_with("0\r\n\r\n"), "the stream ends in order");
}

#[tokio::test]
async fn limits_may_be_as_long_as_a_duration() {
    let all = Duration::MAX;
    let limits = Limits::default().with(|it| {
        it.idle = all;
        it.answer = all;
        it.change = all;
        it.write = all;
        it.stream = all;
        it.drain = all;
    });
    let stage = Stage::new(limits).await;
    for request in ["GET /peer", "POST /size", "GET /events"] {
        let mut stream = stage.connect().await;
        send(&mut stream, &format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        until(&mut stream, "HTTP/1.1 200 OK\r\n").await;
    }
    stage.stop.send(()).unwrap();
    assert_eq!(within("the end of the server", stage.serving).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn dropped_server_closes_its_connections_before_and_after_the_signal_to_end() {
    for is_ending in [false, true] {
        let mut stage = Stage::new(Limits::default()).await;
        let mut stream = stage.connect().await;
        send(&mut stream, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n").await;
        within("the begin", stage.begun.recv()).await.unwrap();
        if is_ending {
            stage.stop.send(()).unwrap();
            let closed = async { while TcpStream::connect(stage.address).await.is_ok() {} };
            within("the end of the port", closed).await;
        }
        stage.serving.abort();
        assert_eq!(rest(stream).await, "", "{is_ending}");
    }
}

#[tokio::test]
async fn idle_connection_gives_way_but_an_answer_that_is_being_written_does_not() {
    let stage = Stage::new(Limits::default().with(|it| it.max_connections = 1)).await;
    let mut first = stage.connect().await;
    send(&mut first, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let own = first.local_addr().unwrap().to_string();
    until(&mut first, &own).await;
    let mut second = stage.connect().await;
    send(&mut second, "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    until(&mut second, "\r\n\r\n").await;
    assert_eq!(rest(first).await, "", "the idle connection is closed for the second one");
    let mut third = stage.connect().await;
    send(&mut third, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(rest(second).await.len(), LARGE);
    let own = third.local_addr().unwrap().to_string();
    until(&mut third, &own).await;
}

#[tokio::test]
async fn end_of_the_server_completes_answers_and_changes() {
    for method in ["GET", "POST"] {
        let mut stage = Stage::new(Limits::default()).await;
        let mut stream = stage.connect().await;
        send(&mut stream, &format!("{method} /wait HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        within("the begin", stage.begun.recv()).await.unwrap();
        stage.stop.send(()).unwrap();
        // The port is closed while the answer is not complete.
        let closed = async { while TcpStream::connect(stage.address).await.is_ok() {} };
        within("the end of the port", closed).await;
        assert!(!stage.serving.is_finished(), "{method}");
        stage.gate.add_permits(1);
        assert!(rest(stream).await.ends_with("\r\ndone"), "{method}");
        assert_eq!(within("the end", stage.serving).await.unwrap(), Ok(()), "{method}");
    }
}

#[tokio::test]
async fn change_is_completed_although_its_client_has_gone() {
    let mut stage = Stage::new(Limits::default()).await;
    let mut stream = stage.connect().await;
    send(&mut stream, "POST /wait HTTP/1.1\r\nHost: a\r\n\r\n").await;
    within("the begin", stage.begun.recv()).await.unwrap();
    drop(stream);
    stage.stop.send(()).unwrap();
    stage.gate.add_permits(1);
    assert_eq!(within("the end of the server", stage.serving).await.unwrap(), Ok(()));
    assert!(stage.ended.try_recv().is_ok(), "the server has waited for the change");
}

#[tokio::test]
async fn change_that_is_not_complete_at_the_end_is_reported() {
    let mut stage = Stage::new(Limits::default().with(|it| it.drain = SHORT)).await;
    let mut stream = stage.connect().await;
    send(&mut stream, "POST /wait HTTP/1.1\r\nHost: a\r\n\r\n").await;
    within("the begin", stage.begun.recv()).await.unwrap();
    stage.stop.send(()).unwrap();
    let unfinished = within("the end of the server", stage.serving).await.unwrap().unwrap_err();
    assert_eq!((unfinished.count, unfinished.waited), (1, SHORT));
    assert_eq!(rest(stream).await, "");
}
