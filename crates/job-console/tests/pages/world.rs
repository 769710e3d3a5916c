//! A namespace with jobs of real schedulers, and requests to its console.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use coordination::{GroupLimits, GroupName, JobName};
use http_body_util::BodyExt as _;
use job_console::Console;
use job_history::{History, HistoryOptions};
use lite::{JobBuilder, Scheduler, ShardingContext, job_fn};
use operations::{By, JobSnapshot, Operations};
use reg_center::{MemoryCenter, MemoryRegistry};
use tower::ServiceExt as _;
use tower_http::compression::CompressionLayer;

use crate::support::for_local_browser;

/// Name of a job whose name, parameter and failure are markup.
pub(crate) const HOSTILE: &str = "<img src=x onerror=\"alert(1)\">'&";
pub(crate) const HOSTILE_FAILURE: &str = "<script>alert('failed & gone')<";

/// More pages than the lists of the tests have.
pub(crate) const MAX_PAGES: usize = 100;
/// Longer than any test needs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// A console of the namespace `orders`.
pub(crate) struct World {
    pub(crate) registry: MemoryRegistry,
    /// The client of the console.
    pub(crate) center: Arc<MemoryCenter>,
    pub(crate) router: Router,
    /// The clients of the two servers.
    pub(crate) members: Vec<Arc<MemoryCenter>>,
    schedulers: Vec<Scheduler>,
    folder: tempfile::TempDir,
    pub(crate) history: History,
}

/// A response whose body was read.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Size of the body, in bytes.
    pub(crate) size: usize,
}

impl World {
    /// Creates a namespace without jobs.
    pub(crate) async fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(history_in(&folder)).await.unwrap();
        // The console reads the store by a connection of its own, as another process would.
        let reader = History::open(history_in(&folder)).await.unwrap();
        Self::with_history(folder, history, reader).await
    }

    /// Creates a namespace without jobs, whose console cannot open its history.
    pub(crate) async fn without_reachable_history() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(history_in(&folder)).await.unwrap();
        let missing = HistoryOptions::sqlite(folder.path().join("missing").join("history.db"));
        let reader = History::open_in_background(missing).unwrap();
        Self::with_history(folder, history, reader).await
    }

    async fn with_history(folder: tempfile::TempDir, history: History, reader: History) -> Self {
        let registry = MemoryRegistry::new();
        let center = Arc::new(registry.connect());
        let router = console(&center, reader);
        loaded(&router).await;
        let (members, schedulers) = (Vec::new(), Vec::new());
        Self { registry, center, router, members, schedulers, folder, history }
    }

    /// Returns the router of another console, which reads the same registry and history anew.
    pub(crate) async fn fresh_router(&self) -> Router {
        let reader = History::open(history_in(&self.folder)).await.unwrap();
        console(&Arc::new(self.registry.connect()), reader)
    }

    /// Creates a namespace with two servers, a job of two items that has run and is in a group with
    /// limits, a job of 60 items, and a job whose name and failure are markup.
    pub(crate) async fn with_jobs() -> Self {
        let mut world = Self::empty().await;
        let group = GroupName::new("database").unwrap();
        let limits = GroupLimits { cluster_concurrency: Some(2), start_rate: None };
        let by = By::new("anna", "first run").unwrap();
        world.operations().set_group(&group, limits, &by).await.unwrap();
        for server in 1..=2_u8 {
            let center = Arc::new(world.registry.connect());
            world.members.push(Arc::clone(&center));
            let builder = Scheduler::builder(center)
                .server_ip(&format!("10.0.0.{server}"))
                .unwrap()
                .instance_name(format!("test-{server}"))
                .event_subscriber(world.history.subscriber());
            world.schedulers.push(builder.build().unwrap());
        }
        for (name, items) in [("report", 2), ("wide", 60), (HOSTILE, 1)] {
            for scheduler in &world.schedulers {
                let handle = scheduler.schedule(config(name, items), job(name)).await.unwrap();
                handle.joined().await.unwrap();
            }
            let by = By::new("anna", "first run").unwrap();
            let name = JobName::new(name).unwrap();
            let run = world.operations().trigger(&name, None, &by).await.unwrap();
            let request = run.request.expect("the job is monitored");
            world.operations().outcome(&request, DEADLINE).await.unwrap();
        }
        world.history.flush(DEADLINE).await.unwrap();
        world.until("n/orders/jobs", |page| page.matches("1 failing").count() == 1).await;
        world
    }

    pub(crate) fn operations(&self) -> Operations {
        Operations::new(Arc::new(self.registry.connect()))
    }

    /// Reads a job from the registry.
    pub(crate) async fn job(&self, name: &str) -> JobSnapshot {
        self.operations().job(&JobName::new(name).unwrap()).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).header("accept", "text/html");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, form: &str) -> Answer {
        let request = Request::post(path)
            .header("accept", "text/html")
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    /// Waits until a page satisfies `wanted`. The page is checked at each event of its stream.
    pub(crate) async fn until(&self, page: &str, wanted: impl Fn(&str) -> bool) {
        let mut stream = Events::of(self, page).await;
        let mut last = String::new();
        let found = tokio::time::timeout(DEADLINE, async {
            loop {
                last = self.get(&format!("/{page}")).await.text;
                if wanted(&last) {
                    return;
                }
                stream.next().await;
            }
        });
        assert!(found.await.is_ok(), "{page} was not as expected within {DEADLINE:?}: {last}");
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        answer_of(&self.router, request).await
    }
}

fn history_in(folder: &tempfile::TempDir) -> HistoryOptions {
    HistoryOptions::sqlite(folder.path().join("history.db"))
}

fn console(center: &Arc<MemoryCenter>, reader: History) -> Router {
    let console = Console::new().namespace("orders", center.clone(), Some(reader)).unwrap();
    // The server of the console compresses; a mounted router is compressed by its program.
    for_local_browser(console.router()).layer(CompressionLayer::new())
}

/// Waits until a console has read the namespace. Before that, pages may lack jobs, and forms are
/// refused.
pub(crate) async fn loaded(router: &Router) {
    let mut stream = Events::of_router(router, "n/orders").await;
    let page = || Request::get("/n/orders").body(Body::empty()).unwrap();
    while !answer_of(router, page()).await.text.contains("class=\"fresh ok\"") {
        stream.next().await;
    }
}

async fn respond(router: &Router, request: Request<Body>) -> Response {
    let response = tokio::time::timeout(DEADLINE, router.clone().oneshot(request));
    response.await.expect("the console answers").unwrap()
}

pub(crate) async fn answer_of(router: &Router, request: Request<Body>) -> Answer {
    let response = respond(router, request).await;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer { status, headers, text: String::from_utf8_lossy(&body).into_owned(), size: body.len() }
}

/// The stream of a page.
pub(crate) struct Events {
    body: Body,
    unread: String,
}

impl Events {
    pub(crate) async fn of(world: &World, page: &str) -> Self {
        Self::of_router(&world.router, page).await
    }

    pub(crate) async fn of_router(router: &Router, page: &str) -> Self {
        let page = page.replace('&', "%26");
        let path = format!("/n/orders/stream?page={page}");
        let response = respond(router, Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::OK);
        Self { body: response.into_body(), unread: String::new() }
    }

    /// Returns the next event.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.unread = rest;
                return event;
            }
            let frame = tokio::time::timeout(DEADLINE, self.body.frame()).await;
            let frame = frame.expect("the stream goes on").expect("the stream is open").unwrap();
            let data = frame.into_data().unwrap();
            self.unread.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// Returns the next event that has markup.
    pub(crate) async fn next_change(&mut self) -> String {
        loop {
            let event = self.next().await;
            if event.contains("<template>") {
                return event;
            }
        }
    }
}

fn config(name: &str, items: u32) -> lite::JobConfig {
    let builder = JobBuilder::new(name, items);
    let builder = if name == "report" { builder.group("database") } else { builder };
    let config = builder
        .cron("0 0 2 * * ?")
        .time_zone("Asia/Shanghai")
        .sharding_item_parameters("0=<b>Beijing</b>,1=Shanghai")
        .description("sums & <averages>");
    config.build().unwrap()
}

/// Returns code that fails if the name of the job is markup.
fn job(name: &'static str) -> impl lite::Job {
    job_fn(move |_: ShardingContext| async move {
        if name == HOSTILE { Err(HOSTILE_FAILURE.into()) } else { Ok(()) }
    })
}
