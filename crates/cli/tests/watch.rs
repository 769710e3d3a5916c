//! `ejob watch` as a process on a registry file, with workers that are killed.

#[expect(dead_code, reason = "the tests of job-alerts use the rest")]
#[path = "../../job-alerts/tests/support/http.rs"]
mod http;

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;

use super::worker::{Worker, within};
use http::Server;

const JOBS: &str = r#"
[[jobs]]
name = "count"
sharding_total_count = 1
cron = "0/2 * * * * ?"
script = { shell = "true" }
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

async fn watcher(folder: &Path) -> Worker {
    let words = ["watch", "watch.toml", "--session-timeout", "2s", "--metrics-port", "0"];
    let mut watcher = Worker::of(ejob(folder, &words));
    watcher.shows("watching; messages go to 1 channel").await;
    watcher.logged("this watcher is the sender").await;
    watcher
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
         [[expect]]\njob = \"count\"\nlate_after = \"4s\"\n",
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
    let watching = watcher(path).await;
    first.child.kill().await.unwrap();
    let violated = server.next().await.body;
    assert_eq!(violated["message"], 1, "{violated}");
    assert_eq!(violated["violated"][0]["expectation"], "late_after", "{violated}");
    let why = violated["violated"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("item 0 (") && why.contains("has not begun for the fire of"), "{why}");

    let checked = run(path, &["watch", "watch.toml", "--check"]).await;
    let text = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(8), "{text}");
    assert!(
        text.contains("late_after") && text.ends_with("2 expectations, 1 violated\n"),
        "{text}"
    );

    stopped(watching).await;
    let watching = watcher(path).await;
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
        ("[[expect]]\njob = \"a\"\nlate = \"2m\"", "watch.toml: line 3: unknown field `late`"),
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
