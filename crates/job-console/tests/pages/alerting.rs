//! Alerts: violations that a watcher has stored, silences by forms and by the API.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use job_console::Console;
use job_watch::{WatchFile, Watcher};
use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter as _, Txn};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::lists::create;
use super::markup::faults;
use super::world::{World, loaded};
use crate::support::for_local_browser;

const ALERTS: &str = "/n/orders/alerts";
const SILENCE: &str = "/n/orders/jobs/job-000/silence?expectation=instances_at_least";
const FILE: &str = "[[expect]]\njob = \"job-*\"\ninstances_at_least = 1\n\
    [[expect]]\njob = \"job-000\"\nseverity = \"critical\"\ninstances_at_least = 2\n\
    [[expect]]\njob = \"missing\"\nfailures = 3\n";

/// Starts a watcher as another process would, until it is dropped.
struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn watch(world: &World) -> Watching {
    let file = WatchFile::parse(FILE).unwrap();
    let watcher = Watcher::new(file, Arc::new(world.registry.connect()), "host@7");
    Watching(tokio::spawn(async move {
        watcher.run(CancellationToken::new()).await.unwrap();
    }))
}

async fn api(world: &World, path: &str, body: &str) -> serde_json::Value {
    let request = Request::post(format!("/api/v1/namespaces/orders{path}"));
    let request = request.header("content-type", "application/json");
    let answer = world.send(request.body(Body::from(body.to_owned())).unwrap()).await;
    serde_json::from_str(&answer.text).unwrap()
}

#[tokio::test]
async fn namespace_without_a_watcher_says_how_one_is_started() {
    let world = World::empty().await;
    // The states of watchers are read apart from the jobs.
    world.until("n/orders/alerts", |page| page.contains("No watcher runs")).await;
    let page = world.get(ALERTS).await.text;
    assert_eq!(faults(&page), [""; 0]);
    for expected in ["No watcher runs", "ejob watch watch.toml", "ejob console --watch watch.toml"]
    {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

#[tokio::test]
async fn stored_violations_are_shown_and_silenced_by_a_form() {
    let world = World::empty().await;
    create(&world, 2).await;
    let _watching = watch(&world);
    let is_shown = |page: &str| page.matches(">violated</span>").count() == 3;
    world.until("n/orders/alerts", is_shown).await;
    let page = world.get(ALERTS).await.text;
    assert_eq!(faults(&page), [""; 0]);
    assert!(page.contains("<code>host@7</code>") && page.contains("critical"), "{page}");
    assert!(page.contains("Alerts <b class=\"n bad\">3</b>"), "{page}");
    let one = world.get(&format!("{ALERTS}?q=job-000&state=violated")).await.text;
    assert_eq!(one.matches("<tr id=\"w-").count(), 1);

    assert!(page.contains("enough instances live<div"), "{page}");
    let job = world.get("/n/orders/jobs/job-000").await.text;
    assert_eq!(faults(&job), [""; 0]);
    assert!(job.contains("This expectation is violated: enough instances live</b>"), "{job}");

    let form = world.get(SILENCE).await.text;
    assert_eq!(faults(&form), [""; 0]);
    for (fields, status) in [
        ("step=begin&seconds=7200&why=", StatusCode::BAD_REQUEST),
        ("step=begin&seconds=0&why=release", StatusCode::BAD_REQUEST),
        ("step=begin&seconds=99999999&why=release", StatusCode::BAD_REQUEST),
        ("step=fly&why=release", StatusCode::BAD_REQUEST),
        ("step=begin&seconds=7200&why=release+12", StatusCode::SEE_OTHER),
    ] {
        let answer = world.post(SILENCE, fields).await;
        assert_eq!(answer.status, status, "{fields}: {}", answer.text);
    }
    let is_silenced = |page: &str| page.contains("by console: release 12");
    world.until("n/orders/alerts", is_silenced).await;
    let page = world.get(ALERTS).await.text;
    assert!(page.contains("Alerts <b class=\"n bad\">2</b>"), "{page}");
    let answer = world.post(SILENCE, "step=end&why=done").await;
    assert_eq!(answer.headers["location"], "../../../../n/orders/alerts");
    world.until("n/orders/alerts", |page| !is_silenced(page)).await;
}

#[tokio::test]
async fn unreadable_documents_of_watchers_are_named() {
    let world = World::empty().await;
    create(&world, 1).await;
    let path = NodePath::parse("/watch@-@state/jobs/job-000").unwrap();
    let damaged = Txn::new().create(path, "{", Lifetime::Persistent);
    assert!(world.registry.connect().commit(damaged).await.unwrap().is_committed());
    let is_shown = |page: &str| page.contains("/watch@-@state/jobs/job-000 cannot be read: ");
    world.until("n/orders/alerts", is_shown).await;
    assert_eq!(faults(&world.get(ALERTS).await.text), [""; 0]);
    let all = world.get("/api/v1/namespaces/orders/alerts").await.text;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert!(is_shown(all["unreadable"][0].as_str().unwrap()), "{all}");
}

#[tokio::test]
async fn end_of_the_watcher_is_shown_and_its_states_are_not() {
    let registry = MemoryRegistry::new();
    let file = WatchFile::parse(FILE).unwrap();
    let watcher = Watcher::new(file, Arc::new(registry.connect()), "host@7");
    let console = Console::new().namespace("orders", Arc::new(registry.connect()), None).unwrap();
    let console = console.watcher("orders", watcher.view()).unwrap();
    let router = for_local_browser(console.router());
    loaded(&router).await;
    let get = async |path: &str| {
        let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let health = get("/health").await;
    assert!(health.contains(r#""watchers":{"orders":"running"}"#), "{health}");
    let stop = CancellationToken::new();
    stop.cancel();
    watcher.run(stop).await.unwrap();
    let health = get("/health").await;
    assert!(health.contains(r#""watchers":{"orders":"ended"}"#), "{health}");
    for path in [ALERTS, "/n/orders"] {
        let page = get(path).await;
        assert_eq!(faults(&page), [""; 0]);
        assert!(page.contains("The watcher of this console has ended"), "{page}");
        assert!(page.contains("it was stopped"), "{page}");
    }
    let all = get("/api/v1/namespaces/orders/alerts").await;
    assert!(all.contains(r#""judges_all":false,"watcher_ended":"it was stopped""#), "{all}");
}

#[tokio::test]
async fn api_lists_alerts_and_changes_silences() {
    let world = World::empty().await;
    create(&world, 1).await;
    let silence = r#"{"expectation":"late_after","seconds":60,"reason":"release 12"}"#;
    let begun = api(&world, "/jobs/job-000/silence", silence).await;
    assert_eq!((&begun["job"], &begun["expectation"]), (&"job-000".into(), &"late_after".into()));
    world.until("n/orders/alerts", |page| page.contains("release 12")).await;
    let all = world.get("/api/v1/namespaces/orders/alerts?state=not_judged").await.text;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all["sender"], &all["judges_all"]), (&serde_json::Value::Null, &false.into()));
    assert_eq!(all["rows"][0]["silence"]["why"], "release 12");
    let wrong = r#"{"expectation":"late","reason":"release 12"}"#;
    let wrong = api(&world, "/jobs/job-000/end-silence", wrong).await;
    let detail = wrong["detail"].as_str().unwrap();
    assert!(detail.contains("valid is one of exists, late_after"), "{detail}");
    let end = r#"{"expectation":"late_after","reason":"done"}"#;
    assert_eq!(
        api(&world, "/jobs/job-000/end-silence", end).await["until"],
        serde_json::Value::Null
    );
    world.until("n/orders/alerts", |page| !page.contains("release 12")).await;
}
