//! The stream of a page sends what has changed, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use coordination::JobName;
use http_body_util::BodyExt as _;
use job_console::Console;
use operations::{By, Scope};
use reg_center::MemoryRegistry;
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::markup::elements;
use super::world::{Events, World};

async fn pause(world: &World, job: &str) {
    let scope = Scope::of_job(JobName::new(job).unwrap());
    let by = By::new("anna", "data repair").unwrap();
    world.operations().pause(&scope, &by).await.unwrap();
}

/// Returns the markup of an event.
fn markup(event: &str) -> String {
    event.lines().filter_map(|line| line.strip_prefix("data: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn stream_sends_the_page_then_only_changed_fragments() {
    let world = World::with_jobs().await;
    let mut stream = Events::of(&world, "n/orders/jobs").await;
    let first = markup(&stream.next().await);
    assert!(first.contains("<div id=\"content\">") && first.contains("id=\"fresh\""), "{first}");

    pause(&world, "report").await;
    let mut changes = String::new();
    while !changes.contains("paused") {
        changes.push_str(&markup(&stream.next_change().await));
    }
    assert!(changes.contains("<tr id=\"j-report\">"), "{changes}");
    assert!(!changes.contains("id=\"content\""), "the whole page was sent: {changes}");
    assert!(!changes.contains("<tr id=\"j-wide\">"), "an equal row was sent: {changes}");
    elements(&changes).unwrap();
}

#[tokio::test]
async fn stream_of_a_quiet_page_is_silent_but_for_its_beat() {
    let world = World::with_jobs().await;
    let mut stream = Events::of(&world, "n/orders/jobs/report/configuration").await;
    assert!(stream.next().await.contains("<template>"));
    let next = stream.next().await;
    assert!(next.contains("event: beat"), "{next}");
}

#[tokio::test]
async fn stream_ends_when_the_job_is_removed() {
    let world = World::with_jobs().await;
    let mut stream = Events::of(&world, "n/orders/jobs/report").await;
    let form = "why=gone&name=report&alive=yes";
    let answer = world.post("/n/orders/jobs/report/act/remove", form).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    loop {
        let event = stream.next().await;
        if event.contains("event: end") {
            assert!(event.contains("no-such-job"), "{event}");
            break;
        }
    }
}

#[tokio::test]
async fn stream_rejects_pages_of_other_namespaces() {
    let world = World::empty().await;
    let answer = world.get("/n/orders/stream?page=n%2Fother%2Fjobs").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.text.contains("valid is a page of namespace &quot;orders&quot;"));
}

#[tokio::test]
async fn number_of_streams_is_bounded() {
    let world = World::empty().await;
    let mut streams = Vec::new();
    for _ in 0..512 {
        streams.push(Events::of(&world, "n/orders/about").await);
    }
    let answer = world.get("/n/orders/stream?page=n%2Forders").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    streams.pop();
    Events::of(&world, "n/orders").await;
}

#[tokio::test(start_paused = true)]
async fn stream_ends_after_its_lifetime_so_that_the_caller_is_checked_again() {
    let registry = Arc::new(MemoryRegistry::new().connect());
    let router = Console::new().namespace("orders", registry, None).unwrap().router();
    let request = Request::get("/n/orders/stream?page=n%2Forders%2Fabout");
    let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let started = Instant::now();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        assert!(frame.is_ok());
        assert!(started.elapsed() < Duration::from_secs(310), "the stream goes on");
    }
    assert!(started.elapsed() >= Duration::from_secs(300), "{:?}", started.elapsed());
}
