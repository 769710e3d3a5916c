//! `ejob worker` as a process, on a real ZooKeeper: its end, and its outlets.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use coordination::{JavaFields, JavaFields3, JobConfig, JobName, Layout, encode_config};
use reg_center::{Lifetime, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use zookeeper_fixture::Server;

const PATIENCE: Duration = Duration::from_secs(120);
/// Job whose item says that it has begun, and ends when a line is written to the pipe `gate`.
const HOLD: &str = r#"
[[jobs]]
name = "hold"
sharding_total_count = 1
failover = true
shutdown_grace = "5s"
script = { shell = "echo it has begun; read line < gate" }
"#;

/// Returns the address of the server that all tests of this file share.
pub(crate) fn address() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("a ZooKeeper server is needed")).connect_string()
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

pub(crate) fn ejob(folder: &Path, namespace: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command
        .current_dir(folder)
        .args(words)
        .args(["--namespace", namespace, "--zookeeper", &address()])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

pub(crate) async fn run(folder: &Path, namespace: &str, words: &[&str]) -> Output {
    within("a command", ejob(folder, namespace, words).output()).await.unwrap()
}

pub(crate) struct Worker {
    pub(crate) child: Child,
    out: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
    before_ready: Vec<String>,
}

impl Worker {
    pub(crate) async fn start(folder: &Path, namespace: &str, options: &[&str]) -> Self {
        Self::spawn(folder, namespace, options).when_ready().await
    }

    /// Starts the command of a worker, and waits until the worker is ready.
    pub(crate) async fn ready(command: Command) -> Self {
        Self::of(command).when_ready().await
    }

    /// Starts a worker without waiting until it is ready.
    fn spawn(folder: &Path, namespace: &str, options: &[&str]) -> Self {
        let words = [&["worker", "jobs.toml", "--server-ip", "10.0.0.1"], options].concat();
        Self::of(ejob(folder, namespace, &words))
    }

    /// Starts any command whose output is read while it runs.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, log, before_ready: Vec::new() }
    }

    async fn when_ready(mut self) -> Self {
        loop {
            let line = self.line().await;
            if line.starts_with("ready: ") {
                return self;
            }
            self.before_ready.push(line);
        }
    }

    /// Returns the port of a line printed before `ready`, such as
    /// `metrics: http://127.0.0.1:9184/metrics`.
    pub(crate) fn port(&self, name: &str) -> u16 {
        let line = self.before_ready.iter().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("{name} is missing: {:?}", self.before_ready));
        let digits = line.rsplit(':').next().unwrap().trim_end_matches("/metrics");
        digits.parse().unwrap()
    }

    pub(crate) async fn line(&mut self) -> String {
        within("a line", self.out.next_line()).await.unwrap().expect("the worker has not ended")
    }

    /// Waits until a line with this beginning is printed.
    pub(crate) async fn shows(&mut self, beginning: &str) {
        within(beginning, async { while !self.line().await.starts_with(beginning) {} }).await;
    }

    pub(crate) async fn logged(&mut self, part: &str) {
        let seen = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if line.contains(part) {
                    return;
                }
            }
            panic!("the log has ended without {part:?}");
        };
        within(part, seen).await;
    }

    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &id]).status().await.unwrap().success());
    }

    /// Waits for the end, and returns the exit code.
    pub(crate) async fn end(self) -> Option<i32> {
        self.end_with_log().await.0
    }

    /// Waits for the end, and returns the exit code and the rest of the log.
    ///
    /// The log has to be read, or the worker would block on a full pipe.
    async fn end_with_log(mut self) -> (Option<i32>, String) {
        let mut log = self.log.into_inner();
        let mut rest = Vec::new();
        let (_, status) = within("the end", async {
            tokio::join!(log.read_to_end(&mut rest), self.child.wait())
        })
        .await;
        (status.unwrap().code(), String::from_utf8(rest).unwrap())
    }
}

/// Creates a folder with the file of the job `hold`, and its pipe.
pub(crate) fn folder_with_gate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobs.toml"), HOLD).unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(gate).status().unwrap().success());
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signal_lets_runs_finish() {
    let folder = folder_with_gate();
    let mut worker = Worker::start(folder.path(), "/drained", &[]).await;
    assert!(run(folder.path(), "/drained", &["trigger", "hold"]).await.status.success());
    worker.logged("it has begun").await;
    worker.signal("-TERM").await;
    let leaving = "leaving: runs may go on for 30s; a second signal stops at once";
    assert_eq!(worker.line().await, leaving);
    let opened = within("the run to wait at its gate", async {
        tokio::fs::write(folder.path().join("gate"), "on\n").await
    });
    opened.await.unwrap();
    assert_eq!(worker.line().await, "hold: left; 1 run under way: 1 finished");
    assert_eq!(worker.end().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_log_has_one_document_per_line() {
    let folder = folder_with_gate();
    let mut command = ejob(folder.path(), "/logged", &["worker", "jobs.toml"]);
    command.env("EJOB_LOG_FORMAT", "json").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let joined = within("the line of joining", async {
        while let Some(line) = log.next_line().await.unwrap() {
            let line: serde_json::Value = serde_json::from_str(&line).expect("a JSON document");
            assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
            if line["fields"]["message"] == "joined" {
                return line;
            }
        }
        panic!("the log has ended");
    });
    let joined = joined.await;
    assert_eq!(joined["span"]["job"], "hold", "{joined}");
    within("the end", child.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_signal_stops_at_once() {
    let folder = folder_with_gate();
    let mut worker = Worker::start(folder.path(), "/stopped", &[]).await;
    assert!(run(folder.path(), "/stopped", &["trigger", "hold"]).await.status.success());
    worker.logged("it has begun").await;
    worker.signal("-INT").await;
    assert!(worker.line().await.starts_with("leaving: "));
    worker.signal("-TERM").await;
    assert_eq!(worker.line().await, "stopped at once: runs were interrupted");
    assert_eq!(worker.end().await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_ends_when_operators_have_shut_down_its_jobs() {
    let folder = folder_with_gate();
    let mut worker = Worker::start(folder.path(), "/ended", &[]).await;
    let shutdown = ["shutdown", "hold", "--why", "a new release"];
    assert!(run(folder.path(), "/ended", &shutdown).await.status.success());
    assert_eq!(worker.line().await, "leaving: an operator has shut all jobs down");
    assert_eq!(worker.line().await, "hold: left; no run was under way");
    assert_eq!(worker.end().await, Some(0));
}

/// A job with a damaged stored configuration joins only after a repair.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ready_line_names_joined_jobs_only() {
    let options = ZookeeperOptions::parse_url(&format!("zk://{}/unready", address())).unwrap();
    let registry = ZookeeperCenter::connect(options).await.unwrap();
    let path = Layout::new(&JobName::new("damaged").unwrap()).config_path();
    let txn = Txn::new().create(path, "{", Lifetime::Persistent);
    registry.commit(txn).await.unwrap();
    let rows = [
        ("[[jobs]]\nname='damaged'\nsharding_total_count=1\nscript={command='true'}\n", "nothing"),
        (
            "[[jobs]]\nname='damaged'\nsharding_total_count=1\nscript={command='true'}\n\
             [[jobs]]\nname='good'\nsharding_total_count=1\nscript={command='true'}\n",
            "good",
        ),
    ];
    // Both run at the same time, because each waits 30 s for the damaged job.
    let workers = rows.map(|(file, joined)| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
        let words = ["worker", "jobs.toml", "--server-ip", "10.0.0.1"];
        let mut command = ejob(folder.path(), "/unready", &words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        (folder, child, joined)
    });
    for (_folder, mut child, joined) in workers {
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let registry = within("a line", out.next_line()).await.unwrap().unwrap();
        assert!(registry.starts_with("registry: zk://"), "{registry}");
        let ready = within("a line", out.next_line()).await.unwrap().unwrap();
        assert_eq!(ready, format!("ready: {joined} on server 10.0.0.1; not yet: damaged"));
        within("the end", child.kill()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_lines_name_fields_in_which_the_stored_configuration_wins() {
    let folder = tempfile::tempdir().unwrap();
    let declare = |cron: &str, retries: &str| {
        let text = format!(
            "[[jobs]]\nname='report'\nsharding_total_count=1\ncron='{cron}'\n{retries}\
             script={{command='true'}}\n\
             [[jobs]]\nname='same'\nsharding_total_count=1\nscript={{command='true'}}\n"
        );
        std::fs::write(folder.path().join("jobs.toml"), text).unwrap();
    };
    let cron = async || {
        let shown = run(folder.path(), "/edited", &["config", "get", "report", "--json"]).await;
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown["config"]["cron"].as_str().unwrap().to_owned()
    };
    let end = async |worker: Worker| {
        worker.signal("-TERM").await;
        assert_eq!(worker.end().await, Some(0));
    };
    declare("0 0 4 1 1 ?", "");
    end(Worker::start(folder.path(), "/edited", &[]).await).await;

    declare("0 0 3 1 1 ?", "failover=true\n");
    let mut worker = Worker::spawn(folder.path(), "/edited", &[]);
    let registry = format!("registry: zk://{}/edited", address());
    let expected = [
        &*registry,
        "job report: stored cron = \"0 0 4 1 1 ?\" wins over the file's \"0 0 3 1 1 ?\"",
        "job report: stored failover = false wins over the file's true",
        "to make jobs.toml win: `ejob worker jobs.toml --overwrite`, or for one job \
         `ejob config set report --jobs jobs.toml`",
        "ready: report, same on server 10.0.0.1",
    ];
    for line in expected {
        assert_eq!(worker.line().await, line);
    }
    assert_eq!(cron().await, "0 0 4 1 1 ?");
    end(worker).await;

    end(Worker::start(folder.path(), "/edited", &["--overwrite"]).await).await;
    assert_eq!(cron().await, "0 0 3 1 1 ?");
    // The option is for one start and is not stored, so that file and registry agree.
    let diff = ["config", "diff", "report", "--jobs", "jobs.toml"];
    let diff = run(folder.path(), "/edited", &diff).await;
    assert_eq!((diff.status.code(), &*diff.stdout), (Some(0), &b"no difference\n"[..]), "{diff:?}");
}

/// The job `made` was created from a template, so its code cannot be registered. The last fire of
/// `past` was long ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_job_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let job = |name: &str| {
        format!("[[jobs]]\nname='{name}'\nsharding_total_count=1\nscript={{command='true'}}\n")
    };
    let past = job("past") + "cron='0 0 0 1 1 ? 2020'\n";
    std::fs::write(folder.path().join("jobs.toml"), job("made") + &past + &job("good")).unwrap();
    let options = ZookeeperOptions::parse_url(&format!("zk://{}/partly", address())).unwrap();
    ZookeeperCenter::connect(options).await.unwrap();
    let create = ["create", "made", "--template", "t", "sharding_total_count=1"];
    let created = run(folder.path(), "/partly", &create).await;
    assert!(created.status.success(), "{created:?}");
    let mut worker = Worker::spawn(folder.path(), "/partly", &[]);
    assert!(worker.line().await.starts_with("registry: zk://"));
    let why = "job made was made at run time from the template t; offer that template, remove the \
               job, or take another name";
    assert_eq!(worker.line().await, format!("job made: not registered: {why}"));
    let never = "job past: not registered: invalid configuration: cron is \"0 0 0 1 1 ? 2020\"; \
                 valid is rules that fire after ";
    let line = worker.line().await;
    assert!(line.starts_with(never), "{line}");
    let ready = "ready: good on server 10.0.0.1; not registered: made, past";
    assert_eq!(worker.line().await, ready);
    let done = run(folder.path(), "/partly", &["trigger", "good", "--wait", "1m"]).await;
    assert!(done.status.success(), "{done:?}");
    worker.signal("-TERM").await;
    assert!(worker.line().await.starts_with("leaving: "));
    assert!(worker.line().await.starts_with("good: "));
    assert_eq!(worker.line().await, format!("made: not registered: {why}"));
    assert!(worker.line().await.starts_with("past: not registered: "));
    assert_eq!(worker.end().await, Some(1));

    // If no job can be registered, the worker ends.
    std::fs::write(folder.path().join("jobs.toml"), job("made")).unwrap();
    let output = run(folder.path(), "/partly", &["worker", "jobs.toml"]).await;
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.ends_with(&format!("error: {why}\n")), "{line}");
}

/// The store accepts connections but never answers.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signal_ends_a_worker_that_opens_a_history() {
    let folder = folder_with_gate();
    let store = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://anna@{}/history", store.local_addr().unwrap());
    let words = ["worker", "jobs.toml", "--history", &url];
    let mut command = ejob(folder.path(), "/unopened", &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _held = within("the worker at its store", store.accept()).await.unwrap();
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    let output = within("the end", child.wait_with_output()).await.unwrap();
    assert_eq!(output.stdout, b"stopped before the worker was connected\n", "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Sends a request to a port, and returns the answer when the connection is closed.
pub(crate) async fn ask(port: u16, request: &str) -> String {
    let asked = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    within("an answer", asked).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_serves_metrics_dumps_and_a_history() {
    let folder = tempfile::tempdir().unwrap();
    let file = "jobs: [{name: count, sharding_total_count: 2, script: {command: 'true'}}]\n";
    std::fs::write(folder.path().join("jobs.yaml"), file).unwrap();
    std::fs::write(
        folder.path().join("jobs.toml"),
        "[[jobs]]\nname='count'\nsharding_total_count=2\nscript={command='true'}\n",
    )
    .unwrap();
    let check = run(folder.path(), "/outlets", &["worker", "jobs.yaml", "--check"]).await;
    assert!(check.stdout.ends_with(b"1 job can be used\n"), "{check:?}");
    let store = ["--history", "sqlite:history.db"];
    let ports = ["--metrics-port", "0", "--dump-port", "0"];
    let worker = Worker::start(folder.path(), "/outlets", &[&store[..], &ports].concat()).await;
    let (metrics, dump) = (worker.port("metrics: "), worker.port("dumps: "));
    let trigger = run(folder.path(), "/outlets", &["trigger", "count", "--wait", "1m"]).await;
    assert!(trigger.status.success(), "{trigger:?}");

    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let figures = ask(metrics, request).await;
    assert!(figures.contains("ejob_runs_total{job=\"count\""), "{figures}");
    let nodes = ask(dump, "dump@count\n").await;
    assert!(nodes.contains("/count/config | "), "{nodes}");

    worker.signal("-TERM").await;
    assert_eq!(worker.end().await, Some(0));
    let counts = [&["history", "count", "--counts"][..], &store].concat();
    let counts = run(folder.path(), "/outlets", &counts).await;
    let counts = String::from_utf8(counts.stdout).unwrap();
    assert_eq!(counts, "JOB    OUTCOME    FIRES\ncount  succeeded  2\n");
    let fires = [&["history", "--item", "1", "--json"][..], &store].concat();
    let fires = run(folder.path(), "/outlets", &fires).await;
    let fires = super::support::document(&fires.stdout);
    assert_eq!(fires["fires"][0]["outcome"], "succeeded", "{fires}");
    let events = [&["history", "count", "--events"][..], &store].concat();
    let events = run(folder.path(), "/outlets", &events).await;
    assert!(
        String::from_utf8(events.stdout).unwrap().contains("joined"),
        "the event `joined` is missing"
    );
}

/// Many idle clients and few descriptors must affect neither runs nor scrapes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_clients_do_not_exhaust_descriptors_or_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[jobs]]\nname='count'\nsharding_total_count=2\nscript={command='true'}\n";
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let mut command = Command::new("sh");
    let script = r#"ulimit -n 256; exec "$0" "$@""#;
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_ejob"), "worker", "jobs.toml"])
        .args(["--metrics-port", "0", "--dump-port", "0"])
        .args(["--namespace", "/idle", "--zookeeper", &address()])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let worker = Worker::ready(command).await;
    let ports = [worker.port("metrics: "), worker.port("dumps: ")];
    let mut idle = Vec::new();
    for port in ports.into_iter().flat_map(|port| [port; 400]) {
        let connected = TcpStream::connect(("127.0.0.1", port)).await;
        idle.push(connected.unwrap());
    }
    let figures = ask(ports[0], "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(figures.starts_with("HTTP/1.1 200 OK"), "{figures}");
    assert!(ask(ports[1], "dump@count\n").await.contains("/count/config | "));
    let trigger = run(folder.path(), "/idle", &["trigger", "count", "--wait", "1m"]).await;
    assert!(trigger.status.success(), "{trigger:?}");
    // The worker has closed the first of the idle connections.
    let closed = within("the end of an idle connection", idle[0].read(&mut [0])).await;
    assert!(!closed.is_ok_and(|n| n > 0));

    worker.signal("-TERM").await;
    let (code, log) = worker.end_with_log().await;
    assert_eq!(code, Some(0));
    let about_clients = log.lines().filter(|line| line.contains(" suppressed=")).count();
    assert!((1..=10).contains(&about_clients), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_scrape_is_disconnected_and_wrong_one_is_answered() {
    let folder = folder_with_gate();
    let worker = Worker::start(folder.path(), "/slow", &["--metrics-port", "0"]).await;
    let port = worker.port("metrics: ");
    let mut slow = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    slow.write_all(b"GET /metrics HTTP/1.1\r\nhost:").await.unwrap();
    let long = format!("GET / HTTP/1.1\r\nlong: {}\r\n\r\n", "x".repeat(100_000));
    let rows = [
        ("GET /other HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 404 "),
        ("POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n", "HTTP/1.1 405 "),
        ("GET /health HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 200 "),
        ("nonsense\r\n\r\n", "HTTP/1.1 400 "),
    ];
    for (request, expected) in rows {
        let answer = ask(port, request).await;
        assert!(answer.starts_with(expected), "{request:?}: {answer}");
    }
    // The connection may be reset before the request is written, or answered before the reset.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let _ = stream.write_all(long.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = within("the end of a long request", stream.read_to_end(&mut answer)).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
    let closed = within("the end of a slow request", slow.read(&mut [0])).await;
    assert!(!closed.is_ok_and(|n| n > 0));
    worker.signal("-TERM").await;
    assert_eq!(worker.end().await, Some(0));
}

/// The stored error handler is checked before anything starts, against the worker's own file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_error_handler_must_be_allowed_by_the_file() {
    let slack = ("slack.webhook".to_owned(), "${env:HOLD_WEBHOOK}".to_owned());
    let fields = JavaFields::V3(JavaFields3 {
        error_handler: Some("SLACK".to_owned()),
        props: [slack].into(),
        ..JavaFields3::default()
    });
    let mut config = JobConfig::new(JobName::new("hold").unwrap(), 1);
    config.failover = true;
    config.java.fields = fields;
    let options = ZookeeperOptions::parse_url(&format!("zk://{}/alerts", address())).unwrap();
    let registry = ZookeeperCenter::connect(options).await.unwrap();
    let path = Layout::new(&config.job_name).config_path();
    let txn = Txn::new().create(path, encode_config(&config), Lifetime::Persistent);
    registry.commit(txn).await.unwrap();

    let folder = folder_with_gate();
    let allow =
        "[allow]\nalert_hosts = ['https://hooks.example.com']\nsecrets = ['${env:HOLD_WEBHOOK}']\n";
    let worker = |folder: &Path| {
        let mut worker =
            ejob(folder, "/alerts", &["worker", "jobs.toml", "--server-ip", "10.0.0.1"]);
        worker.env("HOLD_WEBHOOK", "https://hooks.example.com/t0ps3cret");
        worker
    };
    let refused = within("a refusal", worker(folder.path()).output()).await.unwrap();
    let line = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{line}");
    assert!(line.contains("slack.webhook") && line.contains("permits none"), "{line}");
    std::fs::write(folder.path().join("jobs.toml"), format!("{allow}{HOLD}")).unwrap();
    let mut command = worker(folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let registry = within("a line", out.next_line()).await.unwrap();
    assert!(registry.is_some_and(|line| line.starts_with("registry: zk://")));
    let ready = within("a line", out.next_line()).await.unwrap();
    assert_eq!(ready.as_deref(), Some("ready: hold on server 10.0.0.1"));
    within("the end", child.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn script_inherits_the_environment_without_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let file = r#"
[[jobs]]
name = "look"
sharding_total_count = 1
script = { shell = '[ -z "$EJOB_HISTORY_PASSWORD" ] && [ "$ANOTHER" = kept ]' }
"#;
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let mut command = ejob(folder.path(), "/credentials", &["worker", "jobs.toml"]);
    command.env("EJOB_HISTORY_PASSWORD", "t0ps3cret").env("ANOTHER", "kept");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let registry = within("a line", out.next_line()).await.unwrap();
    assert!(registry.is_some_and(|line| line.starts_with("registry: zk://")));
    let ready = within("a line", out.next_line()).await.unwrap();
    assert!(ready.is_some_and(|line| line.starts_with("ready: look")));
    let run = run(folder.path(), "/credentials", &["trigger", "look", "--wait", "1m"]).await;
    let output = String::from_utf8(run.stdout).unwrap();
    assert!(output.ends_with("0     succeeded\n"), "{output}");
    within("the end", child.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unresolvable_hosts_are_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let ejob = |addresses: String| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        command
            .args(["jobs", "--namespace", "/nowhere", "--connect-timeout", "1h"])
            .args(["--zookeeper", &addresses])
            .current_dir(folder.path())
            .env("EJOB_LOG", "warn,zookeeper_client=off")
            .stdin(Stdio::null());
        command
    };
    let none = within("a refusal", ejob("no-such-host.invalid".to_owned()).output()).await.unwrap();
    let text = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(3), "{text}");
    let expected = "error: no host of the registry can be resolved: no-such-host.invalid (";
    assert!(text.starts_with(expected), "{text}");
    let addresses = format!("no-such-host.invalid,{}", address());
    let one = within("an answer of the other host", ejob(addresses).output()).await.unwrap();
    let text = String::from_utf8(one.stderr).unwrap();
    assert!(text.contains("cannot be resolved") && text.contains("no-such-host.invalid"), "{text}");
    assert!(text.contains("error: there is no namespace /nowhere"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn low_limit_of_open_files_is_an_error() {
    for limit in ["12", "16", "63"] {
        let script =
            format!(r#"ulimit -n {limit}; exec "$0" jobs --namespace /a --zookeeper 127.0.0.1:1"#);
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ejob")]);
        let output = within("a refusal", command.output()).await.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        let expected =
            format!("error: the limit of open files (ulimit -n) is {limit}; valid is 64 or more\n");
        assert_eq!((output.status.code(), text), (Some(1), expected));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_with_credentials_warns_about_open_nodes() {
    let folder = folder_with_gate();
    std::fs::write(folder.path().join("digest"), "anna:secret\n").unwrap();
    let digest = ["--digest-file", "digest"];
    let warnings = |worker: &Worker| -> Vec<String> {
        let lines = worker.before_ready.iter().filter(|line| line.starts_with("warning: "));
        lines.cloned().collect()
    };
    // Without credentials all nodes are open, as intended.
    let open = Worker::start(folder.path(), "/open", &[]).await;
    assert_eq!(warnings(&open), Vec::<String>::new());
    open.signal("-TERM").await;
    assert_eq!(open.end().await, Some(0));
    let mut late = Worker::start(folder.path(), "/open", &digest).await;
    let expected = "warning: /open and 2 more can be changed without credentials: \
                    its access control list is world:anyone:cdrwa";
    assert_eq!(warnings(&late), [expected]);
    late.logged("can be changed without credentials").await;
    late.signal("-TERM").await;
    assert_eq!(late.end().await, Some(0));
    let doctor = async |words: &[&str]| {
        let output = run(folder.path(), "/open", &[&["doctor"], words].concat()).await;
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(doctor(&[]).await, "", "without credentials all nodes are open, as intended");
    for words in [&digest[..], &["hold", "--digest-file", "digest"]] {
        let remark = doctor(words).await;
        assert!(remark.starts_with("remark: /open and 2 more can be changed"), "{remark}");
    }

    let closed = Worker::start(folder.path(), "/closed", &digest).await;
    assert_eq!(warnings(&closed), Vec::<String>::new());
    closed.signal("-TERM").await;
    assert_eq!(closed.end().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_rejects_a_job_name_that_zookeeper_rejects() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[jobs]]\nname='report 🚀'\nsharding_total_count=1\nscript={command='true'}\n";
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let check = run(folder.path(), "/emoji", &["worker", "jobs.toml", "--check"]).await;
    let text = String::from_utf8(check.stderr).unwrap();
    assert_eq!(check.status.code(), Some(2), "{text}");
    assert!(text.contains("it has a character beyond U+FFFF, such as an emoji"), "{text}");
}

/// Each event is one line of bounded length, whatever the value in the registry contains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_registry_values_are_escaped_and_bounded() {
    let options = ZookeeperOptions::parse_url(&format!("zk://{}/hostile", address())).unwrap();
    let registry = ZookeeperCenter::connect(options).await.unwrap();
    let layout = Layout::new(&JobName::new("hold").unwrap());
    let mut config = JobConfig::new(JobName::new("hold").unwrap(), 1);
    config.java.fields = JavaFields::V3(JavaFields3::default());
    let server = layout.root().join("servers").unwrap().join("10.0.0.9").unwrap();
    let garbage = format!("\u{1b}[2J\r\nERROR forged\u{202e}{}", "x".repeat(600_000));
    let txn = Txn::new()
        .create(layout.config_path(), encode_config(&config), Lifetime::Persistent)
        .create(server, garbage, Lifetime::Persistent);
    assert!(registry.commit(txn).await.unwrap().is_committed());

    let folder = folder_with_gate();
    let worker = Worker::start(folder.path(), "/hostile", &[]).await;
    let dump = run(folder.path(), "/hostile", &["dump", "hold"]).await;
    worker.signal("-TERM").await;
    let (code, log) = worker.end_with_log().await;
    assert_eq!(code, Some(0));
    assert!(log.contains("neither ENABLED, DISABLED nor PAUSED"), "{}", log.len());
    assert!(log.lines().all(|line| line.len() < 3_000), "{}", log.len());
    let dump = String::from_utf8(dump.stdout).unwrap();
    let is_plain = |c: char| c == '\n' || c.is_ascii_graphic() || c == ' ' || c == '…';
    assert!(dump.chars().all(is_plain) && log.chars().all(is_plain));
    assert!(dump.lines().all(|line| line.starts_with("/hold")));
}
