//! Prometheus scrapes a real watcher of a job that becomes late.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use server_fixture::{ServerProcess, hand_over, unprivileged};

use super::files::{Files, RULES, SETTINGS};
use super::tools::Tools;
use crate::Error;
use crate::steps::line;

/// Port of Prometheus, on an address of its own.
const PORT: u16 = 9090;
/// Longest wait for each state.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum size of one answer of the metrics port, in bytes.
const MAX_SCRAPE: u64 = 1 << 20;

const JOBS: &str = "[[jobs]]\nname = \"tick\"\nsharding_total_count = 1\ncron = \"0/5 * * * * ?\"\n\
                    script = { command = \"true\" }\n";
const EXPECTATIONS: &str = "[[expect]]\njob = \"tick\"\nlate_after = \"5s\"\n";
const ALERT: &str =
    "ALERTS{alertname=\"ElasticJobExpectationViolated\",expectation=\"late_after\",job=\"tick\"}";

/// Checks that Prometheus reads all metrics and evaluates all expressions, and that the rule of
/// violated expectations becomes pending when the job is late.
pub(super) fn check(tools: &Tools, files: &Files, ejob: &Path) -> Result<(), Error> {
    let folder =
        tempfile::tempdir().map_err(Error::file("create a folder in", Path::new("/tmp")))?;
    let mut stage = Stage::set(tools, files, ejob, folder.path())?;
    stage.await_series(
        "a success of the job",
        "ejob_namespace_last_success_timestamp_seconds{job=\"tick\"}",
    )?;
    stage.await_series(
        "a job in time",
        "ejob_namespace_expectation_violated{job=\"tick\",expectation=\"late_after\"} == 0",
    )?;
    let metrics = scrape(stage.metrics)?;
    check_metrics(tools, folder.path(), &metrics)?;
    let families =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let families: Vec<&str> = families.collect();
    for family in &families {
        stage.require(family, true)?;
    }
    let expressions = files.expressions()?;
    for expression in &expressions {
        stage.query(expression)?;
    }
    println!("{} metrics, {} expressions", families.len(), expressions.len());
    stage.require(ALERT, false)?;
    stage.worker.kill()?;
    stage.await_series("a late item", "ejob_namespace_items{job=\"tick\",state=\"late\"} == 1")?;
    stage.await_series("a pending alert", ALERT)?;
    // All expressions again, now that they have results.
    expressions.iter().try_for_each(|expression| stage.query(expression).map(drop))
}

/// A worker, a watcher and Prometheus.
struct Stage {
    worker: ServerProcess,
    _watcher: ServerProcess,
    prometheus: ServerProcess,
    promtool: PathBuf,
    /// Address of the watcher's metrics port.
    metrics: SocketAddr,
}

impl Stage {
    fn set(tools: &Tools, files: &Files, ejob: &Path, folder: &Path) -> Result<Self, Error> {
        let registry = format!("sqlite:{}", folder.join("registry.db").display());
        let start = |subcommand: &str, file: &str, text: &str| {
            let path = folder.join(file);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
            let mut command = Command::new(ejob);
            command.arg(subcommand).arg(path).args(["--registry", &registry]);
            Ok::<Command, Error>(command)
        };
        let mut worker = ServerProcess::reserve(PORT)?;
        worker.launch(start("worker", "jobs.toml", JOBS)?)?;
        worker.wait_until("ready", LIMIT, |worker| printed(worker, "ready: ").is_some())?;
        let mut watcher = ServerProcess::reserve(PORT)?;
        let mut command = start("watch", "watch.toml", EXPECTATIONS)?;
        command.args(["--metrics-port", "0"]);
        watcher.launch(command)?;
        watcher.wait_until("listening", LIMIT, |watcher| metrics_port(watcher).is_some())?;
        let metrics = metrics_port(&watcher)
            .ok_or_else(|| Error::Monitoring("the watcher names no port".to_owned()))?;
        let prometheus = start_prometheus(tools, files, metrics)?;
        Ok(Self { worker, _watcher: watcher, prometheus, promtool: tools.promtool(), metrics })
    }

    /// Returns the result of an expression.
    fn query(&self, expression: &str) -> Result<Vec<Value>, Error> {
        query(&self.prometheus, &self.promtool, expression)
    }

    /// Waits until an expression has a result.
    fn await_series(&mut self, awaited: &'static str, expression: &str) -> Result<(), Error> {
        let Self { prometheus, promtool, .. } = self;
        // Prometheus refuses queries while it starts, so an error ends the wait only at its limit.
        let mut last = None;
        let waited = prometheus.wait_until(awaited, LIMIT, |prometheus| {
            let found = query(prometheus, promtool, expression);
            let exists = found.as_ref().is_ok_and(|found| !found.is_empty());
            last = found.err();
            exists
        });
        match (waited, last) {
            (Err(waited), Some(error)) => {
                Err(Error::Monitoring(format!("{waited}; the last query failed: {error}")))
            }
            (waited, _) => Ok(waited?),
        }
    }

    /// Fails unless an expression has a result, or none.
    fn require(&self, expression: &str, exists: bool) -> Result<(), Error> {
        let found = self.query(expression)?;
        if found.is_empty() != exists {
            return Ok(());
        }
        let expected = if exists { "at least one series" } else { "no series" };
        Err(Error::Monitoring(format!("{expression} is {found:?}, not {expected}")))
    }
}

/// Returns the address that the watcher has printed.
fn metrics_port(watcher: &ServerProcess) -> Option<SocketAddr> {
    printed(watcher, "metrics: http://")?.strip_suffix("/metrics")?.parse().ok()
}

/// Returns the rest of a line that a process has printed.
fn printed(process: &ServerProcess, start: &str) -> Option<String> {
    let log = fs::read_to_string(process.log_path()).ok()?;
    log.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned)
}

fn start_prometheus(
    tools: &Tools,
    files: &Files,
    metrics: SocketAddr,
) -> Result<ServerProcess, Error> {
    let mut prometheus = ServerProcess::reserve(PORT)?;
    let folder = prometheus.folder().to_owned();
    for (name, text) in [(SETTINGS, &files.settings(metrics)?), (RULES, &files.rules().to_owned())]
    {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
    }
    hand_over(&folder)?;
    let mut command = unprivileged(&tools.prometheus())?;
    command.arg(format!("--config.file={SETTINGS}")).arg("--storage.tsdb.path=data");
    command.arg(format!("--web.listen-address={}", prometheus.address()));
    prometheus.launch(command)?;
    let serves = |process: &ServerProcess| TcpStream::connect(process.address()).is_ok();
    prometheus.wait_until("listening", LIMIT, serves)?;
    Ok(prometheus)
}

fn query(
    prometheus: &ServerProcess,
    promtool: &Path,
    expression: &str,
) -> Result<Vec<Value>, Error> {
    let mut command = Command::new(promtool);
    command.args(["query", "instant", "-o", "json"]);
    command.arg(format!("http://{}", prometheus.address())).arg(expression);
    let found = prometheus.run("promtool", command)?;
    let found: Result<Vec<Value>, _> = serde_json::from_str(&found);
    found.map_err(|_| Error::Monitoring(format!("{expression} is no list of series")))
}

/// Requests the metrics as Prometheus does.
fn scrape(address: SocketAddr) -> Result<String, Error> {
    let request = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.take(MAX_SCRAPE).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let line = format!("GET http://{address}/metrics");
    let answer = request().map_err(|source| Error::Start { line: line.clone(), source })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    if head.split(' ').nth(1) != Some("200") {
        return Err(Error::Monitoring(format!("{line} was answered by {head:?}")));
    }
    Ok(body.to_owned())
}

/// Lets `promtool` check the text of a scrape.
fn check_metrics(tools: &Tools, folder: &Path, metrics: &str) -> Result<(), Error> {
    let path = folder.join("metrics.txt");
    fs::write(&path, metrics).map_err(Error::file("write", &path))?;
    let input = File::open(&path).map_err(Error::file("open", &path))?;
    let mut command = Command::new(tools.promtool());
    command.args(["check", "metrics"]).stdin(Stdio::from(input));
    let line = line(&command);
    println!("$ {line}");
    match command.status().map_err(|source| Error::Start { line: line.clone(), source })? {
        status if status.success() => Ok(()),
        status => Err(Error::Command { line, status }),
    }
}
