//! `ejob watch` as a process on a registry file, with workers that are killed.

#[expect(dead_code, reason = "the tests of job-alerts use the rest")]
#[path = "../../job-alerts/tests/support/http.rs"]
mod http;

use std::path::Path;
use std::process::{Output, Stdio};

use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
use reg_center::{Lifetime, NodePath, RegistryCenter as _, Txn};
use tokio::process::Command;

use super::support::World;
use super::worker::{Worker, ask, within};
use http::Server;

const JOBS: &str = r#"
[[jobs]]
name = "count"
sharding_total_count = 1
cron = "0/2 * * * * ?"
script = { shell = "echo it has begun" }
"#;

fn ejob(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EJOB_") {
            command.env_remove(name);
        }
    }
    command.current_dir(folder).args(words).args(["--registry", "sqlite:r.db"]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

async fn run(folder: &Path, words: &[&str]) -> Output {
    within("a command", ejob(folder, words).output()).await.unwrap()
}

async fn worker(folder: &Path) -> Worker {
    Worker::ready(ejob(folder, &["worker", "jobs.toml", "--session-timeout", "2s"])).await
}

/// Starts a watcher, and returns it with its metrics port when it is the sender.
async fn watcher(folder: &Path) -> (Worker, u16) {
    let words = ["watch", "watch.toml", "--session-timeout", "2s", "--metrics-port", "0"];
    let mut watcher = Worker::of(ejob(folder, &words));
    let line = watcher.line().await;
    let port = line.strip_prefix("metrics: http://127.0.0.1:");
    let port = port.and_then(|rest| rest.strip_suffix("/metrics")?.parse().ok());
    let port = port.unwrap_or_else(|| panic!("no port: {line}"));
    watcher.shows("watching; messages go to 1 channel").await;
    watcher.logged("this watcher is the sender").await;
    (watcher, port)
}

async fn stopped(mut watcher: Worker) {
    let id = watcher.child.id().unwrap().to_string();
    let killed = std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(killed.success());
    watcher.shows("stopped").await;
    assert!(within("the end", watcher.child.wait()).await.unwrap().success());
}

fn write(folder: &Path, server: &Server) {
    std::fs::write(folder.join("jobs.toml"), JOBS).unwrap();
    let expectations = format!(
        "group_interval = \"1s\"\n[channels.own]\nkind = \"webhook\"\nurl = \"{}/hook\"\n\
         [[expect]]\njob = \"count\"\nlate_after = \"8s\"\n",
        server.origin
    );
    std::fs::write(folder.join("watch.toml"), expectations).unwrap();
}

#[tokio::test]
async fn killed_worker_is_reported_once_and_its_successor_resolves_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut server = Server::start("200 OK", "", Some("")).await;
    write(path, &server);
    let mut first = worker(path).await;
    let (watching, port) = watcher(path).await;
    // A worker that is killed before it has items leaves no record by which they can be judged.
    first.logged("it has begun").await;
    first.child.kill().await.unwrap();
    let violated = server.next().await.body;
    assert_eq!(violated["message"], 1, "{violated}");
    assert_eq!(violated["violated"][0]["expectation"], "late_after", "{violated}");
    let why = violated["violated"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("item 0 (") && why.contains("has not begun for the fire of"), "{why}");

    let text = ask(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let line = "ejob_namespace_expectation_violated{job=\"count\",expectation=\"late_after\",severity=\"warning\"} 1";
    assert!(text.contains(line), "{text}");
    let checked = run(path, &["watch", "watch.toml", "--check"]).await;
    let text = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(8), "{text}");
    assert!(
        text.contains("late_after") && text.ends_with("2 expectations, 1 violated\n"),
        "{text}"
    );

    stopped(watching).await;
    let (watching, _) = watcher(path).await;
    let _second = worker(path).await;
    let resolved = server.next().await.body;
    assert_eq!(resolved["message"], 2, "the restart sent nothing: {resolved}");
    assert_eq!(resolved["violated"], serde_json::json!([]), "{resolved}");
    assert_eq!(resolved["resolved"][0]["expectation"], "late_after", "{resolved}");
    stopped(watching).await;
    assert!(server.has_no_further_request());
}

#[tokio::test]
async fn silences_are_listed_until_they_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::start("200 OK", "", Some("")).await;
    write(path, &server);
    let _worker = worker(path).await;
    let silence = ["watch", "silence", "count", "late_after"];
    let rows: [(&[&str], i32, &str); 5] = [
        (&["--for", "2h", "--why", "release 12", "--by", "anna"], 0, "is silenced until"),
        (&["--for", "2h"], 2, "the following required arguments were not provided: --why"),
        (&["--for", "soon", "--why", "x"], 2, "valid is a duration with its unit"),
        (&["--why", "x"], 2, "--for"),
        (&["--end", "--why", "done"], 0, "is not silenced any more"),
    ];
    for (n, (words, code, part)) in rows.into_iter().enumerate() {
        let output = run(path, &[&silence, words].concat()).await;
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        assert!(text.contains(part), "{words:?}: {text}");
        let listed = run(path, &["watch", "silences", "--json"]).await;
        let listed = super::support::document(&listed.stdout);
        let expected = usize::from(n < 4);
        assert_eq!(listed["silences"].as_array().unwrap().len(), expected, "{words:?}: {listed}");
        if n == 0 {
            assert_eq!(listed["silences"][0]["why"], "release 12");
            assert_eq!(listed["silences"][0]["by"], "anna");
        }
    }
}

#[tokio::test]
async fn invalid_file_is_refused_with_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let rows = [
        (
            "[[expect]]\njob = \"a\"\nlate = \"2m\"",
            "watch.toml: line 3: late is an unknown key of the table expect",
        ),
        ("[[expect]]\njob = \"a\"\nfailures = 0", "watch.toml: expect[0].failures is 0; valid"),
    ];
    for (text, expected) in rows {
        std::fs::write(path.join("watch.toml"), text).unwrap();
        for words in [&["watch", "watch.toml"][..], &["watch", "watch.toml", "--check"]] {
            let output = run(path, words).await;
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(error.contains(expected), "{error}");
        }
    }
    let output = run(path, &["watch", "none.toml"]).await;
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("none.toml cannot be read: "), "{error}");
}

/// Returns the write of a job of Java instances: one item runs, and one instance lives.
pub(crate) fn java_nodes(name: &str, dialect: Dialect) -> Txn {
    let mut config = JobConfig::new(JobName::new(name).unwrap(), 2);
    config.java = JavaSettings::of(dialect);
    config.cron = Some("0/5 * * * * ?".to_owned());
    let (config, id) = (encode_config(&config), "10.0.0.1@-@7");
    let instance = match dialect {
        Dialect::V2 => String::new(),
        Dialect::V3 => format!("jobInstanceId: {id}\nserverIp: 10.0.0.1\n"),
    };
    let server = if dialect == Dialect::V2 { "" } else { "ENABLED" };
    let at = |path: &str| NodePath::parse(&format!("/{name}/{path}")).unwrap();
    Txn::new()
        .create(at("config"), config, Lifetime::Persistent)
        .create(at("servers/10.0.0.1"), server, Lifetime::Persistent)
        .create(at("sharding/0/instance"), id, Lifetime::Persistent)
        .create(at("sharding/1/instance"), id, Lifetime::Persistent)
        .create(at(&format!("instances/{id}")), instance, Lifetime::Ephemeral)
        .create(at("sharding/0/running"), "", Lifetime::Ephemeral)
}

/// Writes a job of Java instances, which live as long as the returned session.
async fn java(world: &World, name: &str, dialect: Dialect) -> reg_center::MemoryCenter {
    let session = world.registry.connect();
    assert!(session.commit(java_nodes(name, dialect)).await.unwrap().is_committed());
    session
}

/// Writes successes of both items of a Java job as ElasticJob does: in the time of its own zone.
pub(crate) fn write_successes(path: &Path, job: &str, ended: jiff::Timestamp, zone: &str) {
    write_runs(path, job, true, ended, zone);
}

/// Writes a run of each of both items, as [`write_successes`] does.
fn write_runs(path: &Path, job: &str, is_success: bool, ended: jiff::Timestamp, zone: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let ended = ended.in_tz(zone).unwrap().strftime("%Y-%m-%d %H:%M:%S").to_string();
    for item in 0..2 {
        let row = (
            format!("{job}-{item}-{ended}"),
            job,
            format!("{job}@-@0,1@-@READY@-@10.0.0.1@-@7"),
            item,
            &ended,
            is_success,
        );
        let statement = "INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, \
                         execution_source, is_success, start_time, complete_time) \
                         VALUES (?1, ?2, ?3, 'h', '10.0.0.1', ?4, 'NORMAL_TRIGGER', ?6, ?5, ?5)";
        assert_eq!(connection.execute(statement, row).unwrap(), 1);
    }
}

#[tokio::test]
async fn runs_of_java_jobs_are_judged_by_a_history() {
    let world = World::new();
    let _fresh = java(&world, "fresh", Dialect::V3).await;
    let _old = java(&world, "old", Dialect::V2).await;
    let _silent = java(&world, "silent", Dialect::V3).await;
    let folder = tempfile::tempdir().unwrap();
    let (file, history) = (folder.path().join("watch.toml"), folder.path().join("h.db"));
    let expectation = "[[expect]]\njob = \"*\"\nmust_succeed_within = \"1h\"\nfailures = 3\n";
    std::fs::write(&file, expectation).unwrap();
    let store = job_history::History::open(job_history::HistoryOptions::sqlite(&history)).await;
    store.unwrap().close(super::support::PATIENCE).await.unwrap();
    let (now, zone) = (jiff::Timestamp::now(), "Asia/Shanghai");
    write_successes(&history, "fresh", now, zone);
    write_successes(&history, "old", now - jiff::SignedDuration::from_hours(2), zone);
    let failed = [3, 2, 1].map(|n| now - jiff::SignedDuration::from_mins(n));
    for ended in failed {
        write_runs(&history, "old", false, ended, zone);
    }
    write_runs(&history, "fresh", false, failed[0], zone);

    let url = format!("sqlite:{}", history.display());
    let check = ["watch", file.to_str().unwrap(), "--check", "--json", "--history", &url];
    let output = world.ejob(&[&check[..], &["--java-zone", zone]].concat()).await;
    assert_eq!(output.exit.code(), 8, "{output:?}");
    let found = output.json();
    let states: Vec<[&str; 3]> = found["expectations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            ["job", "expectation", "state"].map(|name| row[name].as_str().unwrap_or_default())
        })
        .collect();
    let expected = [("fresh", "ok"), ("old", "violated"), ("silent", "unknown")];
    let expected: Vec<[&str; 3]> = expected
        .iter()
        .flat_map(|(job, state)| {
            ["must_succeed_within", "failures"].map(|expectation| [*job, expectation, *state])
        })
        .collect();
    assert_eq!(states, expected);

    let none = format!("sqlite:{}", folder.path().join("none.db").display());
    let rows: [(&str, &[&str], i32, &str); 4] = [
        (&url, &[], 2, "--history needs --java-zone"),
        (&url, &["--java-zone", "Mars"], 2, "valid is an IANA name such as Asia/Shanghai"),
        (&none, &["--java-zone", "GMT+8"], 4, "there is no history at "),
        (&none, &["--java-zone", zone], 4, "there is no history at "),
    ];
    for (url, more, code, expected) in rows {
        let words = [&check[..3], &["--history", url], more].concat();
        let output = world.ejob(&words).await;
        assert_eq!(i32::from(output.exit.code()), code, "{output:?}");
        assert!(output.err.contains(expected), "{output:?}");
    }
}

#[tokio::test]
async fn java_namespaces_are_judged_by_the_known_facts() {
    let world = World::new();
    let _old = java(&world, "old", Dialect::V2).await;
    let _new = java(&world, "new", Dialect::V3).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watch.toml");
    let keys = "late_after = \"2s\"\nmust_succeed_within = \"1h\"\nfailures = 1\nat_most = \"1h\"";
    let text = format!("[[expect]]\njob = \"*\"\n{keys}\ninstances_at_least = 1\n");
    std::fs::write(&file, text).unwrap();
    let words = ["watch", file.to_str().unwrap(), "--check", "--json"];
    let output = world.ejob(&words).await;
    assert_eq!(output.exit.code(), 0, "{output:?}");
    let found = output.json();
    let rows = found["expectations"].as_array().unwrap().iter();
    let states: Vec<String> = rows
        .map(|row| [&row["job"], &row["expectation"], &row["state"]].map(|v| v.as_str().unwrap()))
        .map(|row| row.join(" "))
        .collect();
    let expected = |job: &str| {
        let states = [
            "late_after unknown",
            "must_succeed_within unknown",
            "at_most ok",
            "failures unknown",
            "instances_at_least ok",
        ];
        states.map(|state| format!("{job} {state}"))
    };
    assert_eq!(states, [expected("new"), expected("old")].concat());
    std::fs::write(&file, "[[expect]]\njob = \"*\"\ninstances_at_least = 2\n").unwrap();
    let output = world.ejob(&["watch", file.to_str().unwrap(), "--check"]).await;
    assert_eq!(output.exit.code(), 8, "{output:?}");
    assert!(output.out.contains("1 of at least 2 instances are alive"), "{output:?}");
    assert_eq!(world.stored("/watch@-@state"), None, "a check writes nothing");
}
