//! The output of `ejob history` for a store.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use coordination::{FencingToken, FireTime, Gap, JobEvent, JobName, Outcome, RunSource};
use jiff::Timestamp;
use job_history::{History, HistoryOptions};
use lite::{EventSubscriber, JobRecord, RunReport};
use sharding::{InstanceId, ShardingItem};

use super::support::{World, document};

const MINUTE_MS: i64 = 60_000;
const CAUSE: &str = "a long story\n\u{1b}[2J";

/// Runs `ejob history` on the store of a folder; its standard output is not a terminal.
fn history(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command.current_dir(folder).env_remove("EJOB_HISTORY").env_remove("EJOB_LOG");
    command.args(["history", "--history", "sqlite:h.db"]).args(words).output().unwrap()
}

fn done(folder: &Path, words: &[&str]) -> String {
    let output = history(folder, words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes a store with two failed runs of job `report`: one 90 minutes ago, one 10 minutes ago.
/// Both have a long reason.
async fn store(folder: &Path) -> i64 {
    let options = HistoryOptions::sqlite(folder.join("h.db"));
    let history = History::open(options).await.unwrap();
    let now = Timestamp::now().as_millisecond() / MINUTE_MS * MINUTE_MS;
    let (job, instance) = (JobName::new("report").unwrap(), InstanceId::new("10.0.0.1@-@7"));
    let (item, source) = (ShardingItem::new(0), RunSource::Normal);
    for (token, minutes) in [(1, 90), (2, 10)] {
        let (token, due) = (FencingToken(token), now - minutes * MINUTE_MS);
        let at = Timestamp::from_millisecond(due).unwrap();
        let (fire, outcome) = (FireTime(due), Outcome::Failed);
        let mut report = RunReport::new(job.clone(), instance.clone(), item, at);
        report.token = token;
        report.outcome = outcome;
        report.cause = Some(CAUSE.repeat(200));
        history.subscriber().on_run_ended(&report);
        let event = JobEvent::Settled { item, fire, source, token, outcome };
        let mut record = JobRecord::new(job.clone(), at, event);
        record.instance = Some(instance.clone());
        history.subscriber().on_event(&record);
    }
    history.close(Duration::from_secs(60)).await.unwrap();
    now
}

#[tokio::test]
async fn long_reason_is_whole_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path()).await;
    let shown = done(folder.path(), &[]);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[1].contains("a long story; \\u{1b}[2J"), "{shown}");
    assert!(lines[1].matches("a long story").count() == 200 && !lines[1].contains('…'), "{shown}");
    let fires = document(done(folder.path(), &["--json"]).as_bytes());
    let expected: String = CAUSE.repeat(200).chars().take(4_000).collect();
    assert_eq!(fires["fires"][0]["reason"], expected);
}

#[tokio::test]
async fn gap_is_shown_with_any_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let now = store(folder.path()).await;
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = History::open(options).await.unwrap();
    let until = now - 5 * MINUTE_MS;
    let rows = [(0, now - 10 * MINUTE_MS, Some(3)), (1, now - 20 * MINUTE_MS, None)];
    for (item, first, count) in rows {
        let gap = Gap {
            first: FireTime(first),
            until: FireTime(until),
            count,
            config: None,
            changed_to: None,
        };
        let event = JobEvent::Gap { item: ShardingItem::new(item), gap };
        let job = JobName::new("report").unwrap();
        let at = Timestamp::from_millisecond(now).unwrap();
        history.subscriber().on_event(&JobRecord::new(job, at, event));
    }
    history.close(Duration::from_secs(60)).await.unwrap();
    let until = Timestamp::from_millisecond(until).unwrap();
    let shown = done(folder.path(), &["--item", "1"]);
    assert!(shown.contains(&format!("the fires up to before {until} were not run: ")), "{shown}");
    let shown = done(folder.path(), &["--outcome", "failed", "--from", "30m"]);
    assert!(
        shown.contains(&format!("a gap of 3 fires up to before {until} begins here")),
        "{shown}"
    );
}

#[tokio::test]
async fn run_of_a_backfill_is_shown_with_its_past_fire() {
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = History::open(options).await.unwrap();
    let (job, instance) = (JobName::new("report").unwrap(), InstanceId::new("10.0.0.1@-@7"));
    let (item, now) = (ShardingItem::new(3), Timestamp::now());
    let (source, outcome) = (RunSource::Backfill, Outcome::Failed);
    let mut report = RunReport::new(job.clone(), instance.clone(), item, now);
    report.past_fire = Some(FireTime(1_709_208_000_000));
    (report.source, report.outcome) = (source, outcome);
    report.cause = Some("the rates are missing".to_owned());
    history.subscriber().on_run_ended(&report);
    let (fire, token) = (report.fire, report.token);
    let settled = JobEvent::Settled { item, fire, source, token, outcome };
    let mut record = JobRecord::new(job, now, settled);
    record.instance = Some(instance);
    history.subscriber().on_event(&record);
    history.close(Duration::from_secs(60)).await.unwrap();
    let shown = done(folder.path(), &["--item", "3"]);
    let why = "for the past fire of 2024-02-29T12:00:00Z; the rates are missing";
    assert!(shown.contains(why), "{shown}");
    let fires = document(done(folder.path(), &["--json"]).as_bytes());
    assert_eq!(fires["fires"][0]["past_fire"], "2024-02-29T12:00:00Z", "{fires}");
}

#[tokio::test]
async fn why_names_recent_outages_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = History::open(options).await.unwrap();
    let now = Timestamp::now().as_millisecond() / MINUTE_MS * MINUTE_MS;
    let rows = [(0, 20, 10), (1, 20, 10), (0, 60, 50), (0, 60 * 25, 60 * 24 + 5)];
    for (item, first, until) in rows {
        let [first, until] = [first, until].map(|minutes| FireTime(now - minutes * MINUTE_MS));
        let gap = Gap { first, until, count: Some(2), config: None, changed_to: None };
        let event = JobEvent::Gap { item: ShardingItem::new(item), gap };
        let job = JobName::new("report").unwrap();
        let at = Timestamp::from_millisecond(now).unwrap();
        history.subscriber().on_event(&JobRecord::new(job, at, event));
    }
    history.close(Duration::from_secs(60)).await.unwrap();
    let world = World::new();
    let _member = world.member(1, "report").await;
    let url = format!("sqlite:{}", folder.path().join("h.db").display());
    let shown = world.ejob(&["why", "report", "--history", &url]).await.done();
    let time = |minutes: i64| Timestamp::from_millisecond(now - minutes * MINUTE_MS).unwrap();
    let outage = |items: &str, first, until| {
        let (first, until) = (time(first), time(until));
        let reason = "no instance lived, or none could reach the registry";
        format!(
            "outage: the fires of {items} from {first} to before {until} were not run: {reason}\n"
        )
    };
    let schedule = "the job has no schedule and runs on request only\n";
    let expected = [outage("item 0", 60, 50), outage("items 0-1", 20, 10), schedule.to_owned()];
    assert_eq!(shown, expected.concat());
    let of_item = world.ejob(&["why", "report", "1", "--history", &url, "--json"]).await.json();
    assert_eq!(of_item["outages"].as_array().map(Vec::len), Some(1), "{of_item}");
    assert_eq!(of_item["outages"][0]["first"], time(20).to_string());

    let missing = world.ejob(&["why", "report", "--history", "sqlite:/no/such.db"]).await;
    assert_eq!((missing.exit, &*missing.out), (cli::Exit::Done, schedule), "{missing:?}");
    assert!(missing.err.starts_with("remark: no outages are shown: "), "{missing:?}");
    let missing = ["why", "report", "--history", "sqlite:/no/such.db", "--json"];
    assert_eq!(world.ejob(&missing).await.json()["outages"], serde_json::Value::Null);
}

#[tokio::test]
async fn from_and_until_accept_ages_and_dates() {
    let folder = tempfile::tempdir().unwrap();
    let now = store(folder.path()).await;
    let date = |ms| Timestamp::from_millisecond(ms).unwrap().strftime("%Y-%m-%dT%H:%M").to_string();
    let hour_ago = date(now - 60 * MINUTE_MS);
    let day_ago = date(now - 24 * 60 * MINUTE_MS);
    let rows: [(&[&str], usize); 6] = [
        (&["--from", "1h"], 1),
        (&["--from", "2h ago"], 2),
        (&["--until", "1h"], 1),
        (&["--from", &hour_ago], 1),
        (&["--from", &day_ago[..10]], 2),
        (&["--from", "2h", "--until", "100m"], 0),
    ];
    for (words, expected) in rows {
        let fires = document(done(folder.path(), &[words, &["--json"]].concat()).as_bytes());
        assert_eq!(fires["fires"].as_array().unwrap().len(), expected, "{words:?}: {fires}");
    }
}

#[tokio::test]
async fn empty_answer_repeats_the_conditions() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path()).await;
    let words = ["report", "--outcome", "missed", "--item", "0", "--from", "2024-02-29"];
    let expected = "no fires of job report of item 0 with outcome missed from 2024-02-29T00:00:00Z \
                    in sqlite:h.db\n";
    assert_eq!(done(folder.path(), &words), expected);
    let events = done(folder.path(), &["report", "--events"]);
    assert_eq!(events, "no events of job report in sqlite:h.db\n");
}

#[tokio::test]
async fn job_without_records_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path()).await;
    for words in [&["reprot"][..], &["reprot", "--counts"], &["reprot", "--events", "--json"]] {
        let output = history(folder.path(), words);
        assert_eq!(output.status.code(), Some(4), "{words:?}: {output:?}");
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.contains("sqlite:h.db has no records of a job reprot"), "{line}");
    }
}

#[tokio::test]
async fn lost_records_are_shown_with_their_times() {
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db")).queue_capacity(1);
    let history = History::open(options).await.unwrap();
    // The writer shares this thread, so it writes nothing before the first await.
    for second in 0..5 {
        let at = Timestamp::from_second(second).unwrap();
        let job = JobName::new("report").unwrap();
        let event = JobEvent::LostLeadership;
        history.subscriber().on_event(&JobRecord::new(job, at, event));
    }
    history.close(Duration::from_secs(60)).await.unwrap();
    let line = "lost: 4 records from 1970-01-01T00:00:01Z to 1970-01-01T00:00:04Z: \
                the store could not write them\n";
    let shown = done(folder.path(), &["--events"]);
    assert!(shown.ends_with(line) && shown.lines().count() == 3, "{shown}");
    let shown = document(done(folder.path(), &["--events", "--json"]).as_bytes());
    assert_eq!(
        (&shown["lost"][0]["records"], &shown["events"][0]["kind"]),
        (&4.into(), &"lost_leadership".into())
    );
    let later = done(folder.path(), &["--events", "--from", "1h"]);
    assert!(!later.contains("lost: "), "{later}");
}
