//! Workers and operators on each kind of registry, named by its address.

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;

use super::worker::{Worker, within};

const JOBS: &str = r#"
[[jobs]]
name = "count"
sharding_total_count = 2
failover = true
script = { shell = "echo part $EJOB_SHARDING_ITEM" }
"#;

/// A folder with the file of the job, and a registry.
struct Place {
    folder: tempfile::TempDir,
    address: String,
}

impl Place {
    fn new(address: impl Into<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jobs.toml"), JOBS).unwrap();
        Self { folder, address: address.into() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ejob(&self, address: &str, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EJOB_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.path()).args(words).args(["--registry", address]);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    async fn worker(&self) -> Worker {
        let words = ["worker", "jobs.toml", "--session-timeout", "2s", "--history", "sqlite:h.db"];
        Worker::ready(self.ejob(&self.address, &words)).await
    }

    async fn run_at(&self, address: &str, words: &[&str]) -> Output {
        within("a command", self.ejob(address, words).output()).await.unwrap()
    }

    /// Runs a command that succeeds, and returns its output.
    async fn done(&self, words: &[&str]) -> String {
        let output = self.run_at(&self.address, words).await;
        assert_eq!(output.status.code(), Some(0), "{words:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Reads the history until it has this number of successful runs: a worker writes its records
    /// behind the runs, and those that are not written yet are lost with a killed worker.
    async fn history_has(&self, runs: usize) {
        let history = ["history", "--history", "sqlite:h.db"];
        let read = async { while self.done(&history).await.matches("succeeded").count() < runs {} };
        within("the history", read).await;
    }

    /// Runs a command on another registry, and returns its exit code and everything that it prints.
    async fn at(&self, address: &str, words: &[&str]) -> (Option<i32>, String) {
        let output = self.run_at(address, words).await;
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }
}

/// Works with a registry from its first use to the move to another one.
async fn used(address: &str, other: &str) {
    let place = Place::new(address);
    let (code, text) = place.at(address, &["jobs"]).await;
    assert_eq!(code, Some(4), "no worker has used the registry: {text}");

    let worker = place.worker().await;
    let run = ["trigger", "count", "--wait", "1m"];
    let ran = place.done(&run).await;
    assert!(ran.ends_with("0     succeeded\n1     succeeded\n"), "{ran}");
    place.history_has(2).await;
    // A worker that was killed leaves its session to the registry, and its job to the next one.
    worker.signal("-KILL").await;
    worker.end().await;
    let worker = place.worker().await;
    let ran = place.done(&run).await;
    assert!(ran.ends_with("0     succeeded\n1     succeeded\n"), "{ran}");

    let jobs = place.done(&["jobs"]).await;
    assert!(jobs.contains("count  OK     2      1 "), "{jobs}");
    assert_eq!(place.done(&["doctor"]).await, "found in 1 job: nothing\n");
    assert!(place.done(&["dump", "count"]).await.contains("/config | {"));
    let audit = place.done(&["audit", "count"]).await;
    assert_eq!(audit.matches("trigger").count(), 4, "action and reason of two requests: {audit}");
    let measured = place.done(&["bench", "--rounds", "3", "--sessions", "1"]).await;
    assert!(measured.contains("MEDIAN"), "{measured}");

    worker.signal("-TERM").await;
    assert_eq!(worker.end().await, Some(0));
    let history = place.done(&["history", "--history", "sqlite:h.db"]).await;
    assert_eq!(history.matches("succeeded").count(), 4, "two runs of two items: {history}");

    place.done(&["export", "-f", "jobs.yaml"]).await;
    let (code, text) = place.at(other, &["import", "jobs.yaml"]).await;
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("would create count\n"), "{text}");
    let (code, text) = place.at(other, &["jobs"]).await;
    assert_eq!(code, Some(4), "the dry run has created nothing: {text}");
    let (code, text) = place.at(other, &["import", "jobs.yaml", "--apply"]).await;
    assert_eq!((code, &*text), (Some(0), "done: count, configuration: stored\n"));
    let document = ["config", "get", "count", "--document"];
    assert_eq!(place.at(other, &document).await.1, place.done(&document).await);
}

#[tokio::test]
async fn apply_is_previewed_before_its_registry_exists() {
    let place = Place::new("sqlite:new.db");
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let group = "[[groups]]\nname = 'db'\ncluster_concurrency = 2\n";
    std::fs::write(files.join("jobs.toml"), format!("{group}{JOBS}group = 'db'\n")).unwrap();
    let (code, text) = place.at(&place.address, &["apply", "files", "--dry-run"]).await;
    let expected = "would create group db: at most 2 runs at once\nwould create count\n\
                    nothing was changed\n";
    assert_eq!((code, &*text), (Some(1), expected));
    assert!(!place.path().join("new.db").exists(), "a dry run creates nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_is_used_from_first_worker_to_export() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    used(&file("registry.db"), &file("other.db")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zookeeper_is_used_from_first_worker_to_export() {
    let servers = super::worker::address();
    let namespace = |name: &str| format!("zk://{servers}/{name}");
    used(&namespace("used"), &namespace("used-other")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watched_list_follows_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(format!("sqlite:{}", folder.path().join("registry.db").display()));
    let first = place.worker().await;
    let mut list = Worker::of(place.ejob(&place.address, &["jobs", "--watch"]));
    list.shows("count  OK     2      1 ").await;
    let second = place.worker().await;
    list.shows("count  OK     2      2 ").await;
    second.signal("-KILL").await;
    second.end().await;
    list.shows("count  OK     2      1 ").await;
    list.signal("-INT").await;
    assert_eq!(list.end().await, Some(0));
    for words in [
        &["jobs", "--watch", "--json"][..],
        &["servers", "--watch", "-o", "yaml"],
        &["why", "count", "--watch", "--json"],
        &["top", "--json"],
    ] {
        let output = place.run_at(&place.address, words).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("for people; for programs, repeat"), "{error}");
    }
    drop(first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_other_commands_follow_the_workers() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(format!("sqlite:{}", folder.path().join("registry.db").display()));
    let first = place.worker().await;
    let rows: [(&[&str], &str, &str); 4] = [
        (&["instances", "--watch"], "instances: 1", "instances: 0"),
        (&["servers", "--watch"], "servers: 1", "servers: 1"),
        (&["job", "count", "--watch"], "state     OK", "state     NO_INSTANCE"),
        (&["why", "count", "--watch"], "job: count", "no instance is alive"),
    ];
    let mut watched = Vec::new();
    for (words, before, after) in rows {
        let mut command = Worker::of(place.ejob(&place.address, words));
        command.shows(before).await;
        watched.push((command, after));
    }
    first.signal("-TERM").await;
    first.end().await;
    for (mut command, after) in watched {
        command.shows(after).await;
        command.signal("-INT").await;
        assert_eq!(command.end().await, Some(0));
    }
    let missing = place.run_at(&place.address, &["job", "coutn", "--watch"]).await;
    assert_eq!(missing.status.code(), Some(4), "{missing:?}");
}

/// Registries on servers other than ZooKeeper.
mod servers {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs PostgreSQL; `cargo xtask ci` runs it"]
    async fn postgres_is_used_from_first_worker_to_export() {
        let server = postgres_fixture::Server::start().expect("a PostgreSQL server is needed");
        let namespace = |name: &str| format!("{}?namespace={name}", server.url());
        used(&namespace("used"), &namespace("other")).await;
        let place = Place::new("");
        let elsewhere = namespace("used&schema=elsewhere");
        let (code, text) = place.at(&elsewhere, &["jobs"]).await;
        assert_eq!(code, Some(4), "{text}");
        let (code, text) = place.at(&elsewhere, &["jobs"]).await;
        assert_eq!(code, Some(4), "a command that reads creates no schema: {text}");
        let missing = namespace("used").replace("/postgres?", "/nowhere?");
        let (code, text) = place.at(&missing, &["jobs"]).await;
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("nowhere"), "{text}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs etcd; `cargo xtask ci` runs it"]
    async fn etcd_is_used_from_first_worker_to_export() {
        let server = etcd_fixture::Server::start().expect("an etcd server is needed");
        let namespace = |name: &str| format!("etcd://{}/{name}", server.address());
        used(&namespace("used"), &namespace("other")).await;
        let place = Place::new(namespace("used"));
        let words = ["worker", "jobs.toml", "--session-timeout", "1s"];
        let (code, text) = place.at(&namespace("used"), &words).await;
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("--session-timeout is \"1s\"; valid: 2 s to 1 h"), "{text}");
    }
}

#[tokio::test]
async fn servers_that_do_not_answer_are_named() {
    // Nothing listens on the discard port of the loopback address.
    let place = Place::new("");
    for server in ["postgres://worker@127.0.0.1:9/jobs", "etcd://127.0.0.1:9/jobs"] {
        let (code, text) = place.at(server, &["jobs", "--connect-timeout", "1s"]).await;
        assert_eq!(code, Some(3), "{server}: {text}");
        assert!(text.contains("127.0.0.1:9") && text.contains("check --registry"), "{text}");
        let (code, text) = place.at(server, &["jobs", "--sasl-user", "me"]).await;
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("which only ZooKeeper has, but the registry is"), "{text}");
    }
}
