//! The stream of a page sends what has changed, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use coordination::{JobConfig, JobName, Layout, NodeKind, ServerIp, encode_config};
use http_body_util::BodyExt as _;
use job_console::Console;
use operations::{By, Scope};
use reg_center::{Lifetime, MemoryRegistry, RegistryCenter as _, Txn};
use sharding::ShardingItem;
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::markup::elements;
use super::world::{DEADLINE, Events, World};
use crate::support::for_local_browser;

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
async fn page_of_a_job_gets_the_numbers_of_other_jobs_and_nothing_else_of_them() {
    let world = World::with_jobs().await;
    let mut stream = Events::of(&world, "n/orders/jobs/report/configuration").await;
    assert!(stream.next().await.contains("id=\"content\""));
    let other = JobName::new("other").unwrap();
    let config = Layout::new(&other).path(&NodeKind::Config);
    let create =
        Txn::new().create(config, encode_config(&JobConfig::new(other, 3)), Lifetime::Persistent);
    world.registry.connect().commit(create).await.unwrap();
    let mut changes = String::new();
    while !changes.contains("<b class=\"n\">4</b>") {
        let change = markup(&stream.next_change().await);
        assert!(change.starts_with("<template><nav id=\"nav\""), "{change}");
        assert_eq!(change.matches("<template>").count(), 1, "{change}");
        changes.push_str(&change);
    }
}

#[tokio::test]
async fn stream_of_a_quiet_page_is_silent_but_for_its_beat() {
    let world = World::with_jobs().await;
    let mut stream = Events::of(&world, "n/orders/jobs/report/configuration").await;
    assert!(stream.next().await.contains("<template>"));
    let next = stream.next().await;
    assert!(next.contains("event: beat"), "{next}");
    // A browser drops events without data, and takes the stream for cut.
    assert!(
        next.lines().any(|line| line.len() > "data: ".len() && line.starts_with("data: ")),
        "{next}"
    );
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
    let console = Console::new().namespace("orders", registry, None).unwrap();
    let router = for_local_browser(console.router());
    let request = Request::get("/n/orders/stream?page=n%2Forders%2Fabout");
    let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let started = Instant::now();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        assert!(frame.is_ok());
        assert!(started.elapsed() < Duration::from_secs(310), "the stream goes on");
    }
    assert!(started.elapsed() >= Duration::from_secs(300), "{:?}", started.elapsed());
}

/// Parts of a page by their ids: rows of tables, and whole fragments.
fn parts(markup: &str) -> BTreeMap<String, String> {
    let rows = markup.split("<tr id=\"").skip(1);
    rows.filter_map(|row| {
        let (id, rest) = row.split_once('"')?;
        let (content, _) = rest.split_once("</tr>")?;
        Some((id.to_owned(), content.to_owned()))
    })
    .collect()
}

/// Returns the parts of the page as a new stream sends them.
async fn fresh(world: &World, page: &str) -> BTreeMap<String, String> {
    parts(&markup(&Events::of(world, page).await.next().await))
}

#[tokio::test]
async fn changes_of_a_stream_add_up_to_the_fresh_page() {
    let world = World::with_jobs().await;
    let operations = world.operations();
    let job = JobName::new("report").unwrap();
    let (all, by) = (Scope::of_job(job.clone()), By::new("anna", "data repair").unwrap());
    let server = Scope::of_both(job.clone(), ServerIp::new("10.0.0.1").unwrap());
    let item = BTreeSet::from([ShardingItem::new(1)]);
    for page in ["n/orders", "n/orders/jobs", "n/orders/jobs/report", "n/orders/servers/10.0.0.1"] {
        let mut stream = Events::of(&world, page).await;
        let mut shown = parts(&markup(&stream.next().await));
        for round in 0..2 {
            operations.pause(&server, &by).await.unwrap();
            operations.disable_items(&job, &item, &by).await.unwrap();
            let run = operations.trigger(&job, None, &by).await.unwrap();
            operations.resume(&all, &by).await.unwrap();
            operations.enable_items(&job, &item, &by).await.unwrap();
            if let Some(request) = run.request {
                operations.outcome(&request, DEADLINE).await.unwrap();
            }
            if round == 0 {
                operations.disable(&server, &by).await.unwrap();
            } else {
                operations.enable(&all, &by).await.unwrap();
            }
        }
        // Each beat is a state without further changes. Rows of other pages have no place here.
        let mut is_equal = false;
        for _ in 0..100 {
            let event = stream.next().await;
            let known = fresh(&world, page).await;
            shown.extend(parts(&markup(&event)));
            shown.retain(|id, _| known.contains_key(id));
            is_equal = event.contains("event: beat") && shown == known;
            if is_equal {
                break;
            }
        }
        assert!(is_equal, "{page} shows {shown:#?}");
    }
}
