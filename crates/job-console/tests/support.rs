//! A console over a registry in memory, with jobs of Rust and Java instances.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use coordination::{Dialect, JavaSettings, JobConfig, JobName, Overlap, encode_config};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use job_console::Console;
use job_history::History;
use lite::{GroupLimits, GroupName, JobBuilder, Scheduler, job_fn};
use reg_center::{
    Delegate, Lifetime, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter, Txn,
};
use serde_json::Value;
use tokio::sync::Notify;
use tower::ServiceExt as _;
use tower_http::set_header::SetRequestHeaderLayer;

/// Longer than any step needs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const BASE: &str = "/api/v1/namespaces/orders";

/// Returns a router whose requests come from a browser of this machine, on a page of the console.
pub(crate) fn for_local_browser(router: Router) -> Router {
    let same_origin = HeaderValue::from_static("same-origin");
    let of_a_browser = HeaderName::from_static("sec-fetch-site");
    router
        .layer(MockConnectInfo(SocketAddr::from(([127, 0, 0, 1], 4000))))
        .layer(SetRequestHeaderLayer::if_not_present(of_a_browser, same_origin))
}

/// A client that counts its reads.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) center: MemoryCenter,
    reads: AtomicUsize,
    writes: AtomicUsize,
}

impl Counting {
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    fn count(&self) {
        self.reads.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Delegate for Counting {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn read(&self, path: &NodePath) -> reg_center::Result<Option<Node>> {
        self.count();
        self.center.read(path).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> reg_center::Result<Vec<Option<Node>>> {
        self.count();
        self.center.read_all(paths).await
    }

    async fn children(&self, path: &NodePath) -> reg_center::Result<Option<Vec<String>>> {
        self.count();
        self.center.children(path).await
    }

    async fn sync(&self) -> reg_center::Result<()> {
        self.count();
        self.center.sync().await
    }

    fn watch(&self, root: &NodePath) -> reg_center::Feed {
        self.count();
        self.center.watch(root)
    }

    fn watch_parts(&self, scope: &reg_center::Scope) -> reg_center::Feed {
        self.count();
        self.center.watch_parts(scope)
    }

    async fn commit(&self, txn: Txn) -> reg_center::Result<reg_center::TxnOutcome> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.center.commit(txn).await
    }
}

/// A console, its registry, and the live instances.
pub(crate) struct Site {
    pub(crate) registry: MemoryRegistry,
    pub(crate) counting: Arc<Counting>,
    pub(crate) router: Router,
    /// Runs of the job `long` wait for it.
    pub(crate) release: Arc<Notify>,
    /// Dropping it would end the instances.
    _members: Vec<Scheduler>,
    _sessions: Vec<MemoryCenter>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the answer, which must be a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.status.is_success(), "{} {}", self.status, self.body);
        self
    }

    /// Checks that the answer is this problem, and returns its detail.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> &str {
        assert_eq!((self.status.as_u16(), &self.body["code"]), (status, &code.into()), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.body["status"], status);
        self.body["detail"].as_str().unwrap()
    }

    pub(crate) fn rows(&self) -> &Vec<Value> {
        self.body["rows"].as_array().unwrap_or_else(|| panic!("{self:?}"))
    }
}

impl Site {
    /// Starts a console over an empty registry, and waits until it is loaded.
    pub(crate) async fn empty() -> Self {
        let site = Self::loading(None);
        site.until(BASE, |got| got.body["freshness"]["state"] == "current").await;
        site
    }

    /// Starts a console whose registry does not answer.
    pub(crate) fn without_registry() -> Self {
        Self::start(None, |center| center.suspend(DEADLINE))
    }

    /// Starts a console whose first snapshot is not yet read.
    pub(crate) fn loading(history: Option<History>) -> Self {
        Self::start(history, |_| {})
    }

    fn start(history: Option<History>, prepare: impl FnOnce(&MemoryCenter)) -> Self {
        let registry = MemoryRegistry::new();
        let counting = Arc::new(Counting {
            center: registry.connect(),
            reads: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
        });
        prepare(&counting.center);
        let center: Arc<dyn RegistryCenter> = counting.clone();
        let console = Console::new().namespace("orders", center, history).unwrap();
        let router = for_local_browser(console.router());
        let release = Arc::new(Notify::new());
        Self { registry, counting, router, release, _members: Vec::new(), _sessions: Vec::new() }
    }

    /// Starts a console over jobs of all kinds: `report` (Rust, item 1 fails), `long` (Rust, runs,
    /// in the group `db`), `java-2` (2.1.5), `java-3` (3.x), `damaged` (unreadable) and `left` (no
    /// configuration).
    pub(crate) async fn populated() -> Self {
        Self::populated_with(None).await
    }

    /// Starts a console as [`populated`](Self::populated), with a history.
    pub(crate) async fn populated_with(history: Option<History>) -> Self {
        let mut site = Self::loading(history);
        site.until(BASE, |got| got.body["freshness"]["state"] == "current").await;
        site.add_rust().await;
        site.add_java().await;
        site.post(&format!("{BASE}/jobs/report/run"), r#"{"reason":"test"}"#).await.ok();
        site.post(&format!("{BASE}/jobs/long/run"), r#"{"reason":"test"}"#).await.ok();
        let report = format!("{BASE}/jobs/report");
        site.until(&report, |got| got.body["brief"]["status"] == "FAILING").await;
        site.until(&format!("{BASE}/running"), |got| got.rows().len() == 4).await;
        site.until(&format!("{BASE}/jobs/java-3"), |got| got.status.is_success()).await;
        site
    }

    async fn add_rust(&mut self) {
        let center = Arc::new(self.registry.connect());
        let scheduler = Scheduler::builder(center).server_ip("10.0.0.1").unwrap();
        let scheduler = scheduler.instance_name("1".to_owned()).build().unwrap();
        let report = JobBuilder::new("report", 2).cron("0 0 0 1 1 ? 2090");
        let fails = job_fn(async |context: lite::ShardingContext| match context.item().index() {
            0 => Ok(()),
            _ => Err("the disk is full".into()),
        });
        let report = scheduler.schedule(report.build().unwrap(), fails).await.unwrap();
        let release = Arc::clone(&self.release);
        let waits = job_fn(move |_: lite::ShardingContext| {
            let release = Arc::clone(&release);
            async move {
                release.notified().await;
                Ok(())
            }
        });
        let limits = GroupLimits { cluster_concurrency: Some(5), start_rate: None };
        scheduler.define_group(GroupName::new("db").unwrap(), limits).await.unwrap();
        let long = JobBuilder::new("long", 2).group("db").build().unwrap();
        let long = scheduler.schedule(long, waits).await.unwrap();
        within("joining", async { (report.joined().await, long.joined().await) }).await.0.unwrap();
        self._members.push(scheduler);
        for job in ["report", "long"] {
            let path = format!("{BASE}/jobs/{job}");
            self.until(&path, |got| got.body["brief"]["status"] == "OK").await;
        }
    }

    /// Adds the nodes of Java instances, without any node of this project.
    async fn add_java(&mut self) {
        let id = "10.0.0.9@-@7";
        for (job, dialect) in [("java-2", Dialect::V2), ("java-3", Dialect::V3)] {
            let config = document(job, dialect);
            let server = if dialect == Dialect::V2 { "" } else { "ENABLED" };
            let instance = if dialect == Dialect::V2 {
                String::new()
            } else {
                format!("jobInstanceId: {id}\nserverIp: 10.0.0.9\n")
            };
            self.write(&[
                (format!("/{job}/config"), config),
                (format!("/{job}/servers/10.0.0.9"), server.to_owned()),
                (format!("/{job}/sharding/0/instance"), id.to_owned()),
                (format!("/{job}/sharding/1/instance"), id.to_owned()),
                (format!("/{job}/sharding/1/running"), String::new()),
            ])
            .await;
            let session = self.registry.connect();
            for (path, data) in
                [("instances/10.0.0.9@-@7", &*instance), ("leader/election/instance", id)]
            {
                let path = NodePath::parse(&format!("/{job}/{path}")).unwrap();
                let txn = Txn::new().create(path, data.to_owned(), Lifetime::Ephemeral);
                assert!(session.commit(txn).await.unwrap().is_committed());
            }
            self._sessions.push(session);
        }
        self.write(&[
            ("/damaged/config".to_owned(), "{".to_owned()),
            ("/left/servers/10.0.0.8".to_owned(), String::new()),
        ])
        .await;
    }

    /// Writes persistent nodes.
    pub(crate) async fn write(&self, nodes: &[(String, String)]) {
        let center = self.registry.connect();
        for (path, data) in nodes {
            let path = NodePath::parse(path).unwrap();
            let txn = Txn::new().create(path, data.clone(), Lifetime::Persistent);
            assert!(center.commit(txn).await.unwrap().is_committed(), "{data}");
        }
    }

    /// Adds jobs of 2.1.5 without instances, and waits until the console shows the last one.
    pub(crate) async fn add_idle(&self, names: &[&str]) {
        for name in names {
            let nodes = [
                (format!("/{name}/config"), document(name, Dialect::V2)),
                (format!("/{name}/servers/10.0.0.1"), String::new()),
            ];
            self.write(&nodes).await;
        }
        let Some(last) = names.last() else { return };
        let path = format!("{BASE}/jobs/{last}");
        self.until(&path, |got| got.body["servers"].as_array().is_some_and(|s| s.len() == 1)).await;
    }

    /// Adds a job with a late item, as [`create_late`] does.
    pub(crate) async fn add_late(&self, job: &str) -> MemoryCenter {
        create_late(&self.registry, job, 1).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Got {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Got { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Got {
        self.change(Method::POST, path, &[], body).await
    }

    pub(crate) async fn change(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Got {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    /// Repeats a read after each change of the namespace, until its answer is as wanted.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Got) -> bool) -> Got {
        let mut stream = self.stream(&[]).await;
        within(path, async {
            loop {
                let got = self.get(path).await;
                if wanted(&got) {
                    return got;
                }
                stream.next().await;
            }
        })
        .await
    }

    /// Opens the stream of changes.
    pub(crate) async fn stream(&self, headers: &[(&str, &str)]) -> Stream {
        let mut request = Request::get(format!("{BASE}/events"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { body: response.into_body(), text: String::new() }
    }
}

/// A stream of server-sent events.
pub(crate) struct Stream {
    body: Body,
    text: String,
}

/// An event, or a comment with an empty name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sent {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Stream {
    /// Waits for the next event or comment.
    pub(crate) async fn next(&mut self) -> Sent {
        let block = within("an event", async {
            loop {
                if let Some((block, rest)) = self.text.split_once("\n\n") {
                    let (block, rest) = (block.to_owned(), rest.to_owned());
                    self.text = rest;
                    return block;
                }
                let frame = self.body.frame().await.expect("the stream goes on").unwrap();
                let data = frame.into_data().unwrap();
                self.text.push_str(std::str::from_utf8(&data).unwrap());
            }
        })
        .await;
        let mut sent = Sent::default();
        for line in block.lines() {
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut sent.name),
                Some(("id", id)) => id.clone_into(&mut sent.id),
                Some(("data", data)) => sent.data = serde_json::from_str(data).unwrap(),
                Some(_) | None => {}
            }
        }
        sent
    }
}

/// Waits for a future with a deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {DEADLINE:?}"),
    }
}

/// Returns a stored configuration of a job with two items, as Java writes it.
pub(crate) fn document(job: &str, dialect: Dialect) -> String {
    let mut config = JobConfig::new(JobName::new(job).unwrap(), 2);
    config.java = JavaSettings::of(dialect);
    config.cron = Some("0 0 3 * * ?".to_owned());
    encode_config(&config)
}

/// Creates a job whose owner has started none of the due fires of its items. The owner
/// lives as long as the returned client.
pub(crate) async fn create_late(registry: &MemoryRegistry, job: &str, items: u32) -> MemoryCenter {
    create_late_limited(registry, job, items, None).await
}

/// Creates a late job as [`create_late`] does, with a limit of its runs at the same time.
pub(crate) async fn create_late_limited(
    registry: &MemoryRegistry,
    job: &str,
    items: u32,
    limit: Option<u32>,
) -> MemoryCenter {
    let mut config = JobConfig::new(JobName::new(job).unwrap(), items);
    config.cluster_concurrency = limit;
    config.cron = Some("0 * * * * ?".to_owned());
    config.java = JavaSettings::of(Dialect::V3);
    let instance = "jobInstanceId: 10.0.0.9@-@7\nserverIp: 10.0.0.9\n# RUST\n";
    let minute = Timestamp::now().as_millisecond() / 60_000 * 60_000;
    let (last, next) = (minute - 600_000, minute - 540_000);
    let record =
        format!(r#"{{"v":1,"token":1,"last":{last},"next":{next},"config":0,"state":"idle"}}"#);
    let mut nodes = vec![
        (format!("/{job}/config"), encode_config(&config)),
        (format!("/{job}/instances/10.0.0.9@-@7"), instance.to_owned()),
        (format!("/{job}/servers/10.0.0.9"), "ENABLED".to_owned()),
    ];
    let of_items = |path: &dyn Fn(u32) -> String, data: &str| {
        (0..items).map(|item| (path(item), data.to_owned())).collect::<Vec<_>>()
    };
    nodes.extend(of_items(&|item| format!("/{job}/sharding/{item}/instance"), "10.0.0.9@-@7"));
    // The records are written last: their owner was ready for the next fires.
    nodes.extend(of_items(&|item| format!("/{job}/ledger/{item}"), &record));
    let center = registry.connect();
    for (path, data) in nodes {
        let is_instance = path.contains("/instances/");
        let life = if is_instance { Lifetime::Ephemeral } else { Lifetime::Persistent };
        let txn = Txn::new().create(NodePath::parse(&path).unwrap(), data, life);
        assert!(center.commit(txn).await.unwrap().is_committed(), "{path}");
    }
    center
}

/// Creates a job whose only item has unfinished runs in slots 0 and 1. Their holder lives as long
/// as the returned client.
pub(crate) async fn create_parallel(registry: &MemoryRegistry, job: &str) -> MemoryCenter {
    let mut config = JobConfig::new(JobName::new(job).unwrap(), 1);
    config.cron = Some("0 0 3 * * ?".to_owned());
    config.overlap = Some(Overlap::Parallel(2));
    config.java = JavaSettings::of(Dialect::V3);
    let instance = "jobInstanceId: 10.0.0.9@-@7\nserverIp: 10.0.0.9\n# RUST\n";
    let run = |fire: i64| {
        let run = format!(r#""holder":"10.0.0.9@-@7","fire":{fire},"source":"NORMAL","token":7"#);
        format!(r#"{{"v":1,"state":"running",{run},"last":{fire},"began":{fire},"config":0}}"#)
    };
    let nodes = [
        ("config", &*encode_config(&config)),
        ("instances/10.0.0.9@-@7", instance),
        ("servers/10.0.0.9", "ENABLED"),
        ("sharding/0/instance", "10.0.0.9@-@7"),
        ("ledger/0", &run(1_709_208_000_000)),
        ("ledger/0.1", &run(1_709_294_400_000)),
    ];
    let center = registry.connect();
    for (path, data) in nodes {
        let is_instance = path.starts_with("instances/");
        let life = if is_instance { Lifetime::Ephemeral } else { Lifetime::Persistent };
        let path = NodePath::parse(&format!("/{job}/{path}")).unwrap();
        let txn = Txn::new().create(path, data.to_owned(), life);
        assert!(center.commit(txn).await.unwrap().is_committed(), "{data}");
    }
    center
}
