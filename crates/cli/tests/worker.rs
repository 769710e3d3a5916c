//! `ejob worker` as a process, on a real ZooKeeper: how it ends, and where it tells what happened.

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
/// An item that says that it has begun, and ends when somebody writes into the pipe `gate`.
const HOLD: &str = r#"
[[jobs]]
name = "hold"
sharding_total_count = 1
failover = true
shutdown_grace = "5s"
script = { shell = "echo it has begun; read line < gate" }
"#;

/// The server of all tests of this file; it ends with this process.
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
}

impl Worker {
    pub(crate) async fn start(folder: &Path, namespace: &str, options: &[&str]) -> Self {
        Self::spawn(folder, namespace, options).when_ready().await
    }

    /// Starts the command of a worker and waits until it is ready.
    pub(crate) async fn ready(command: Command) -> Self {
        Self::of(command).when_ready().await
    }

    /// Starts a worker without reading what it prints.
    fn spawn(folder: &Path, namespace: &str, options: &[&str]) -> Self {
        let words = [&["worker", "jobs.toml", "--server-ip", "10.0.0.1"], options].concat();
        Self::of(ejob(folder, namespace, &words))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, log }
    }

    async fn when_ready(mut self) -> Self {
        assert!(self.line().await.starts_with("ready: "));
        self
    }

    pub(crate) async fn line(&mut self) -> String {
        within("a line", self.out.next_line()).await.unwrap().expect("the worker is there")
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

    /// Returns the exit code. The log is read on, so that nobody waits for somebody to read it.
    pub(crate) async fn end(mut self) -> Option<i32> {
        let mut log = self.log.into_inner();
        let mut rest = Vec::new();
        let (_, status) = within("the end", async {
            tokio::join!(log.read_to_end(&mut rest), self.child.wait())
        })
        .await;
        status.unwrap().code()
    }
}

/// A folder with the job that holds, and its pipe.
fn folder_with_gate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobs.toml"), HOLD).unwrap();
    let gate = folder.path().join("gate");
    assert!(std::process::Command::new("mkfifo").arg(gate).status().unwrap().success());
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_lets_runs_finish() {
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
async fn log_lines_are_documents_if_programs_read_them() {
    let folder = folder_with_gate();
    let mut command = ejob(folder.path(), "/logged", &["worker", "jobs.toml"]);
    command.env("EJOB_LOG_FORMAT", "json").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let joined = within("the line of joining", async {
        while let Some(line) = log.next_line().await.unwrap() {
            let line: serde_json::Value = serde_json::from_str(&line).expect("a document");
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
async fn a_second_signal_stops_at_once() {
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
async fn a_worker_ends_when_an_operator_has_shut_its_jobs_down() {
    let folder = folder_with_gate();
    let mut worker = Worker::start(folder.path(), "/ended", &[]).await;
    let shutdown = ["shutdown", "hold", "--why", "a new release"];
    assert!(run(folder.path(), "/ended", &shutdown).await.status.success());
    assert_eq!(worker.line().await, "leaving: an operator has shut all jobs down");
    assert_eq!(worker.line().await, "hold: left; no run was under way");
    assert_eq!(worker.end().await, Some(0));
}

/// A job whose stored configuration is damaged takes no part until it is repaired.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_jobs_that_have_joined_are_ready() {
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
    // Both at the same time, as each waits for the job that does not come.
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
        let ready = within("a line", out.next_line()).await.unwrap().unwrap();
        assert_eq!(ready, format!("ready: {joined} on server 10.0.0.1; not yet: damaged"));
        within("the end", child.kill()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_lines_name_the_fields_in_which_the_stored_configuration_wins() {
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
    let expected = [
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
    // The option is for one start: nothing of it is stored, so that the file and the store agree.
    let diff = ["config", "diff", "report", "--jobs", "jobs.toml"];
    let diff = run(folder.path(), "/edited", &diff).await;
    assert_eq!((diff.status.code(), &*diff.stdout), (Some(0), &b"no difference\n"[..]), "{diff:?}");
}

/// The job `made` is there already, made from a template, so that no code can be registered for it. The last fire of `past`
/// was long ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cannot_be_registered_does_not_stop_the_others() {
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
    let why = "job made was made at run time from the template t; offer that template, remove the \
               job, or take another name";
    assert_eq!(worker.line().await, format!("job made: not registered: {why}"));
    let never = "job past: not registered: invalid configuration: cron is \"0 0 0 1 1 ? 2020\"; \
                 valid is an expression that fires after ";
    let line = worker.line().await;
    assert!(line.starts_with(never), "{line}");
    let ready = "ready: good on server 10.0.0.1; not registered: made, past";
    assert_eq!(worker.line().await, ready);
    let done = run(folder.path(), "/partly", &["trigger", "good", "--wait", "1m"]).await;
    assert!(done.status.success(), "{done:?}");
    worker.signal("-TERM").await;
    assert!(worker.line().await.starts_with("leaving: "));
    assert!(worker.line().await.starts_with("good: "));
    assert_eq!(worker.line().await, format!("made: was not registered: {why}"));
    assert!(worker.line().await.starts_with("past: was not registered: "));
    assert_eq!(worker.end().await, Some(1));

    // Where no job can be registered the worker ends.
    std::fs::write(folder.path().join("jobs.toml"), job("made")).unwrap();
    let output = run(folder.path(), "/partly", &["worker", "jobs.toml"]).await;
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.ends_with(&format!("error: {why}\n")), "{line}");
}

/// A store that takes connections and says nothing.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_is_heard_while_a_history_is_opened() {
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
    assert_eq!(output.stdout, b"stopped before it was connected\n", "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A port that was free a moment ago.
fn port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Asks a port, and returns what it answers until the connection is closed.
async fn ask(port: u16, request: &str) -> String {
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
async fn what_happens_is_told_to_metrics_dumps_and_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let file = "jobs: [{name: count, sharding_total_count: 2, script: {command: 'true'}}]\n";
    std::fs::write(folder.path().join("jobs.yaml"), file).unwrap();
    std::fs::write(
        folder.path().join("jobs.toml"),
        "[[jobs]]\nname='count'\nsharding_total_count=2\nscript={command='true'}\n",
    )
    .unwrap();
    let check = run(folder.path(), "/told", &["worker", "jobs.yaml", "--check"]).await;
    assert!(check.stdout.ends_with(b"1 job can be used\n"), "{check:?}");
    let (metrics, dump) = (port(), port());
    let (metrics_text, dump_text) = (metrics.to_string(), dump.to_string());
    let store = ["--history", "sqlite:history.db"];
    let ports = ["--metrics-port", &metrics_text, "--dump-port", &dump_text];
    let worker = Worker::start(folder.path(), "/told", &[&store[..], &ports].concat()).await;
    let trigger = run(folder.path(), "/told", &["trigger", "count", "--wait", "1m"]).await;
    assert!(trigger.status.success(), "{trigger:?}");

    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let figures = ask(metrics, request).await;
    assert!(figures.contains("ejob_runs_total{job=\"count\""), "{figures}");
    let nodes = ask(dump, "dump@count\n").await;
    assert!(nodes.contains("/count/config | "), "{nodes}");

    worker.signal("-TERM").await;
    assert_eq!(worker.end().await, Some(0));
    let counts = [&["history", "count", "--counts"][..], &store].concat();
    let counts = run(folder.path(), "/told", &counts).await;
    let counts = String::from_utf8(counts.stdout).unwrap();
    assert_eq!(counts, "JOB    OUTCOME    FIRES\ncount  succeeded  2\n");
    let fires = [&["history", "--item", "1", "--json"][..], &store].concat();
    let fires = run(folder.path(), "/told", &fires).await;
    let fires = super::support::document(&fires.stdout);
    assert_eq!(fires["fires"][0]["outcome"], "succeeded", "{fires}");
    let events = [&["history", "count", "--events"][..], &store].concat();
    let events = run(folder.path(), "/told", &events).await;
    assert!(String::from_utf8(events.stdout).unwrap().contains("joined"), "no event of joining");
}

/// What a stored configuration chooses is looked at before anything starts, and goes by the worker's own file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_configuration_chooses_its_error_handler_among_what_the_file_allows() {
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
    let ready = within("a line", out.next_line()).await.unwrap();
    assert_eq!(ready.as_deref(), Some("ready: hold on server 10.0.0.1"));
    within("the end", child.kill()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_has_the_environment_of_the_worker_but_not_its_credentials() {
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
    let ready = within("a line", out.next_line()).await.unwrap();
    assert!(ready.is_some_and(|line| line.starts_with("ready: look")));
    let run = run(folder.path(), "/credentials", &["trigger", "look", "--wait", "1m"]).await;
    let told = String::from_utf8(run.stdout).unwrap();
    assert!(told.ends_with("0     succeeded\n"), "{told}");
    within("the end", child.kill()).await.unwrap();
}
