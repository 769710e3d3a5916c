//! `ejob verify` on the history of real workers, one of which is killed during a run.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::Command;

use super::support::document;
use super::worker::{Worker, within};

/// A fire every four seconds. While the file `hold` exists, runs do not end.
const JOBS: &str = r#"
[[jobs]]
name = "count"
cron = "0/10 * * * * ?"
sharding_total_count = 2
failover = true
misfire = true
script = { shell = "if [ -e hold ]; then read line < gate; fi" }
"#;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("jobs.toml"), JOBS).unwrap();
        let gate = folder.path().join("gate");
        assert!(std::process::Command::new("mkfifo").arg(gate).status().unwrap().success());
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn ejob(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EJOB_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.0.path()).args(words);
        command.args(["--registry", "sqlite:registry.db", "--history", "sqlite:h.db"]);
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    async fn worker(&self, ip: &str) -> Worker {
        let words = ["worker", "jobs.toml", "--session-timeout", "2s", "--server-ip", ip];
        Worker::ready(self.ejob(&words)).await
    }

    async fn run(&self, words: &[&str]) -> Output {
        within("a command", self.ejob(words).output()).await.unwrap()
    }

    /// Reads the fires, latest first, until they satisfy a condition.
    async fn fires_until(&self, what: &str, is_met: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let read = async {
            loop {
                let output = self.run(&["history", "--json", "--limit", "1000"]).await;
                let fires =
                    document(&output.stdout)["fires"].as_array().cloned().unwrap_or_default();
                if is_met(&fires) {
                    return fires;
                }
            }
        };
        within(what, read).await
    }

    /// Verifies the fires between two fires, and returns the exit code and the document.
    async fn verified(&self, from: &str, to: &str) -> (Option<i32>, Value) {
        let output = self.run(&["verify", "count", "--from", from, "--to", to, "--json"]).await;
        (output.status.code(), document(&output.stdout))
    }
}

fn count(fires: &[Value], field: &str, word: &str) -> usize {
    fires.iter().filter(|fire| fire[field] == word).count()
}

fn delete(path: &Path, fire: &str, item: i64) {
    let ms = fire.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let store = rusqlite::Connection::open(path).unwrap();
    let sql = "DELETE FROM ejob_fire WHERE fire_ms = ?1 AND item = ?2";
    assert_eq!(store.execute(sql, (ms, item)).unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fire_of_a_killed_worker_is_explained_and_a_deleted_one_is_found() {
    let place = Place::new();
    let first = place.worker("10.0.0.1").await;
    place.fires_until("runs", |fires| count(fires, "outcome", "succeeded") >= 2).await;
    std::fs::write(place.path("hold"), "").unwrap();
    place.fires_until("held runs", |fires| count(fires, "outcome", "running") == 2).await;
    let second = place.worker("10.0.0.2").await;
    std::fs::remove_file(place.path("hold")).unwrap();
    // The killed worker loses the records that it has not written yet, so it is killed when both
    // misfires are in the store and the next ones are seconds away.
    place.fires_until("misfires", |fires| count(fires, "outcome", "misfired") >= 2).await;
    first.signal("-KILL").await;
    first.end().await;
    place.fires_until("takeovers", |fires| count(fires, "source", "FAILOVER") == 2).await;
    let later = |fires: &[Value]| {
        let takeover = fires.iter().position(|fire| fire["source"] == "FAILOVER");
        takeover.is_some_and(|n| count(&fires[..n], "outcome", "succeeded") >= 6)
    };
    let fires = place.fires_until("later runs", later).await;
    second.signal("-TERM").await;
    assert_eq!(second.end().await, Some(0));

    let time = |fire: &Value| fire["fire"].as_str().unwrap().to_owned();
    let (from, to) = (time(fires.last().unwrap()), time(&fires[0]));
    let (code, found) = place.verified(&from, &to).await;
    assert_eq!((code, &found["explained"]), (Some(0), &true.into()), "{found}");
    let counts = &found["counts"];
    assert!(counts["run"].as_u64() >= Some(6), "{counts}");
    let verdicts = found["fires"].as_array().unwrap();
    let taken_over = |it: &Value| {
        it["reason"]
            .as_str()
            .is_some_and(|reason| reason.starts_with("taken over from 10.0.0.1@-@"))
    };
    assert_eq!(verdicts.iter().filter(|it| taken_over(it)).count(), 2, "{found}");

    let ran = verdicts.iter().find(|it| it["verdict"] == "run").unwrap();
    delete(&place.path("h.db"), ran["fire"].as_str().unwrap(), ran["item"].as_i64().unwrap());
    let (code, found) = place.verified(&from, &to).await;
    assert_eq!((code, &found["counts"]["unexplained"]), (Some(8), &1.into()), "{found}");
    let words = ["verify", "count", "--from", &from, "--to", &to, "--verdict", "unexplained"];
    let output = place.run(&words).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let row = format!("{}  {}     unexplained  -        ", time(ran), ran["item"]);
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>()[..3], ["FIRE", "ITEM", "VERDICT"]);
    assert!(lines[1].starts_with(&row), "{row}: {text}");
    assert!(lines[2].contains(" run, 0 run twice, ") && lines[2].contains(", 1 unexplained, "));

    let first_fire = verdicts.iter().filter(|it| it["fire"] == ran["fire"]);
    for left in first_fire.filter(|it| it["item"] != ran["item"]) {
        delete(&place.path("h.db"), left["fire"].as_str().unwrap(), left["item"].as_i64().unwrap());
    }
    let second = verdicts.iter().find(|it| it["fire"] != ran["fire"]).unwrap();
    let output = place.run(&["verify", "count", "--from", &from, "--to", &to]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let hint = format!("`--from {}` leaves the fires before it out", time(second));
    assert!(text.contains(&hint), "{hint}: {text}");
}
