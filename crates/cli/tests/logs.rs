//! The output of runs by `ejob logs`: as it is stored, and followed until the run ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coordination::{FencingToken, FireTime, JobEvent, JobName, Outcome, RunSource};
use jiff::Timestamp;
use job_history::{History, HistoryOptions};
use lite::{EventSubscriber as _, JobRecord, OutputLine, OutputStream, RunReport};
use sharding::{InstanceId, ShardingItem};

use super::support::document;

/// 2024-02-29T12:00:00Z.
const NOON: i64 = 1_709_208_000_000;

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command.current_dir(folder).env_remove("EJOB_HISTORY").env_remove("EJOB_LOG");
    command.args(["logs", "--history", "sqlite:h.db"]).args(words);
    command
}

fn logs(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

fn shown(folder: &Path, words: &[&str]) -> String {
    let output = logs(folder, words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn fault(folder: &Path, words: &[&str]) -> String {
    let output = logs(folder, words);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn open(folder: &Path) -> History {
    History::open(HistoryOptions::sqlite(folder.join("h.db"))).await.unwrap()
}

/// One run of the job `report`.
#[derive(Clone, Copy)]
struct Run {
    item: u32,
    fire_ms: i64,
    token: u64,
}

impl Run {
    fn claims(self, history: &History) {
        let job = JobName::new("report").unwrap();
        let (item, fire) = (ShardingItem::new(self.item), FireTime(self.fire_ms));
        let (token, source) = (FencingToken(self.token), RunSource::Normal);
        let event = JobEvent::Claimed { item, fire, source, token, past_fire: None };
        let at = Timestamp::from_millisecond(self.fire_ms).unwrap();
        let mut record = JobRecord::new(job, at, event);
        record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
        history.subscriber().on_event(&record);
    }

    fn writes(self, history: &History, seq: u64, stream: OutputStream, text: &str) {
        let job = JobName::new("report").unwrap();
        let (item, instance) = (ShardingItem::new(self.item), InstanceId::new("10.0.0.1@-@7"));
        let mut line = OutputLine::new(job, instance, item, FireTime(self.fire_ms));
        line.token = FencingToken(self.token);
        line.seq = seq;
        line.stream = stream;
        line.text = text.to_owned();
        history.subscriber().on_output(&line);
    }

    fn ends(self, history: &History) {
        let job = JobName::new("report").unwrap();
        let at = Timestamp::from_millisecond(self.fire_ms).unwrap();
        let (item, instance) = (ShardingItem::new(self.item), InstanceId::new("10.0.0.1@-@7"));
        let mut report = RunReport::new(job.clone(), instance.clone(), item, at);
        report.token = FencingToken(self.token);
        history.subscriber().on_run_ended(&report);
        let (fire, token) = (FireTime(self.fire_ms), FencingToken(self.token));
        let (source, outcome) = (RunSource::Normal, Outcome::Succeeded);
        let event = JobEvent::Settled { item, fire, source, token, outcome };
        let mut record = JobRecord::new(job, at, event);
        record.instance = Some(instance);
        history.subscriber().on_event(&record);
    }
}

#[tokio::test]
async fn last_lines_of_a_fire_are_shown_with_gaps_and_without_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(folder.path()).await;
    let (zero, one) =
        (Run { item: 0, fire_ms: NOON, token: 4 }, Run { item: 1, fire_ms: NOON, token: 2 });
    for run in [zero, one, Run { fire_ms: NOON + 60_000, ..zero }] {
        run.claims(&history);
        run.ends(&history);
    }
    for (seq, text) in [(0, "begin"), (1, "\u{1b}[2J clear"), (7, "end")] {
        let stream = if seq == 1 { OutputStream::Stderr } else { OutputStream::Stdout };
        zero.writes(&history, seq, stream, text);
    }
    one.writes(&history, 0, OutputStream::Log, "hello");
    history.close(Duration::from_secs(60)).await.unwrap();

    let noon = ["report", "--fire", "2024-02-29T12:00:00Z"];
    let at = "2024-02-29T12:00:00Z";
    let expected = format!(
        "-- item 0, token 4, 10.0.0.1@-@7\n{at} stdout begin\n{at} stderr \\u{{1b}}[2J clear\n\
         -- 5 lines left out\n{at} stdout end\n-- item 1, token 2, 10.0.0.1@-@7\n{at} log    hello\n"
    );
    assert_eq!(shown(folder.path(), &noon), expected);
    let last = shown(folder.path(), &[&noon[..], &["--limit", "1", "--item", "0"]].concat());
    assert!(last.starts_with("earlier lines exist: raise --limit\n"), "{last}");
    assert!(last.ends_with("stdout end\n") && !last.contains("left out"), "{last}");
    let errors = shown(folder.path(), &[&noon[..], &["--stream", "stderr"]].concat());
    assert!(errors.contains("clear") && !errors.contains("begin"), "{errors}");
    let json = document(shown(folder.path(), &[&noon[..], &["--json"]].concat()).as_bytes());
    assert_eq!(json["lines"][2]["seq"], 7);
    assert_eq!(json["lines"][3]["text"], "hello");

    // The last fire has no output.
    let nothing = shown(folder.path(), &["report"]);
    assert!(
        nothing.contains("no output of job report for the fire of 2024-02-29T12:01:00Z"),
        "{nothing}"
    );
    let error = fault(folder.path(), &["report", "--fire", "2024-02-29T12:00:30Z"]);
    let nearest = "the nearest with a run are 2024-02-29T12:00:00Z, 2024-02-29T12:01:00Z";
    assert!(error.contains(nearest), "{error}");
    let error = fault(folder.path(), &["reprot"]);
    assert!(error.contains("no runs of job reprot; did you mean report?"), "{error}");
    let documents = logs(folder.path(), &["report", "--follow", "--json"]);
    assert_eq!(documents.status.code(), Some(2), "{documents:?}");
    let hint = "--follow is for people; for programs, repeat `ejob logs report --json` without it";
    assert!(String::from_utf8_lossy(&documents.stderr).contains(hint), "{documents:?}");
    let several = logs(folder.path(), &[&noon[..], &["--follow"]].concat());
    assert_eq!(several.status.code(), Some(2), "{several:?}");
    assert!(String::from_utf8_lossy(&several.stderr).contains("has the items 0, 1"), "{several:?}");
}

#[tokio::test]
async fn a_run_is_followed_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(folder.path()).await;
    let run = Run { item: 0, fire_ms: NOON, token: 4 };
    run.claims(&history);
    run.writes(&history, 0, OutputStream::Stdout, "first");
    history.flush(Duration::from_secs(60)).await.unwrap();
    let mut child =
        command(folder.path(), &["report", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = move || lines.next().map(Result::unwrap);
    assert_eq!(next().as_deref(), Some("-- item 0, token 4, 10.0.0.1@-@7"));
    assert!(next().unwrap().ends_with("first"));
    run.writes(&history, 1, OutputStream::Stdout, "second");
    history.flush(Duration::from_secs(60)).await.unwrap();
    let second = tokio::task::spawn_blocking(move || (next(), next)).await.unwrap();
    let (line, mut next) = second;
    assert!(line.unwrap().ends_with("second"));
    run.writes(&history, 2, OutputStream::Stdout, "third");
    run.ends(&history);
    history.flush(Duration::from_secs(60)).await.unwrap();
    let rest = tokio::task::spawn_blocking(move || [next(), next(), next()]).await.unwrap();
    assert!(rest[0].as_deref().unwrap().ends_with("third"), "{rest:?}");
    assert_eq!(rest[1].as_deref(), Some("-- item 0 ended: succeeded"));
    assert_eq!(rest[2], None);
    assert!(child.wait().unwrap().success());
    history.close(Duration::from_secs(60)).await.unwrap();
}
