//! Wrong options, and stores that are away, locked, damaged, full of newer tables, or too slow.
#![cfg(feature = "sqlite")]

use crate::support;

use std::path::Path;
use std::time::Duration;

use coordination::{JobEvent, RunSource};
use job_history::{Error, EventQuery, FireQuery, History, HistoryOptions};
use lite::EventSubscriber;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use support::{DEADLINE, Run, Teller, at, open};

const SHORT: Duration = Duration::from_millis(300);

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

async fn execute(connection: &mut SqliteConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

fn teller<S: EventSubscriber>(subscriber: S) -> Teller<S> {
    Teller { subscriber, job: "job", me: 1 }
}

fn run(token: u64) -> Run {
    let fire = i64::try_from(token).unwrap() * 1_000;
    Run { item: 0, fire, source: RunSource::Normal, token }
}

#[tokio::test]
async fn a_wrong_option_is_named_with_its_value_and_what_is_valid() {
    let file = || HistoryOptions::sqlite("unused.db");
    let second = Duration::from_secs(1);
    let rows: [(&str, HistoryOptions, &str); 15] = [
        ("queue_capacity: 0", file().queue_capacity(0), "1 to 1000000"),
        ("queue_capacity: 1000001", file().queue_capacity(1_000_001), "1 to 1000000"),
        ("batch_size: 0", file().batch_size(0), "1 to 10000"),
        ("batch_size: 10001", file().batch_size(10_001), "1 to 10000"),
        ("keep_for: 1s", file().keep_for(second), "1 minute"),
        ("prune_every: 0ns", file().prune_every(Duration::ZERO), "1 second"),
        ("prune_chunk: 0", file().prune_chunk(0), "1 to 100000"),
        ("connect_deadline: 3601s", file().connect_deadline(second * 3_601), "1 hour"),
        ("max_connections: 1", file().max_connections(1), "2 to 100"),
        ("max_connections: 101", file().max_connections(101), "2 to 100"),
        ("host_name: \"\"", file().host_name(""), "1 to 255"),
        ("host_name: ", file().host_name("h".repeat(256)), "1 to 255"),
        ("password: one for a file", file().password("hunter2"), "left out"),
        ("path: \"\"", HistoryOptions::sqlite(""), "the path of a file"),
        ("path: \":memory:\"", HistoryOptions::sqlite(":memory:"), "the path of a file"),
    ];
    for (wrong, options, expected) in rows {
        let shown = format!("{options:?}");
        let in_background = History::open_in_background(options.clone()).unwrap_err();
        let error = History::open(options).await.unwrap_err();
        assert_eq!(error, in_background);
        assert!(matches!(error, Error::InvalidOption { .. }) && !error.is_retryable());
        let text = error.to_string();
        assert!(text.starts_with(wrong) && text.contains(expected), "{wrong}: {text}");
        assert!(!format!("{text} {error:?} {shown}").contains("hunter2"));
    }
    assert!(!Path::new("unused.db").exists(), "nothing is tried before the options are right");
}

/// Rows hold what failed runs have printed.
#[cfg(unix)]
#[tokio::test]
async fn a_file_and_what_sqlite_puts_beside_it_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    teller(history.subscriber()).claims(0, run(1));
    history.flush(DEADLINE).await.unwrap();
    for name in ["h.db", "h.db-wal", "h.db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    history.close(DEADLINE).await.unwrap();
    // An operator may share it: it stays so.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_limit_of_a_page_that_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(HistoryOptions::sqlite(folder.path().join("h.db"))).await;
    for limit in [0, 1_001] {
        let fires = history.fires(&FireQuery::default(), limit, None).await.unwrap_err();
        let events = history.events(&EventQuery::default(), limit, None).await.unwrap_err();
        let expected = format!("limit: {limit} is not valid, it must be 1 to 1000 rows");
        assert_eq!((fires.to_string(), events.to_string()), (expected.clone(), expected));
    }
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_told_at_once_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.db");
    std::fs::write(&garbage, "this is no database, but it is longer than its header ".repeat(99))
        .unwrap();
    let newer = folder.path().join("newer.db");
    open(HistoryOptions::sqlite(&newer)).await.close(DEADLINE).await.unwrap();
    let mut connection = raw(&newer).await;
    execute(&mut connection, "INSERT INTO ejob_history_version VALUES (99, 0)").await;
    connection.close().await.unwrap();
    let rows = [
        (garbage.clone(), "file is not a database"),
        (folder.path().to_owned(), "unable to open database file: is a directory"),
        (folder.path().join("no/such/folder.db"), "No such file or directory (os error 2)"),
        (garbage.join("h.db"), "Not a directory (os error 20)"),
        (newer, "has tables of version 99, this program knows 2"),
    ];
    for (path, expected) in rows {
        let error = History::open(HistoryOptions::sqlite(&path)).await.unwrap_err();
        assert!(!error.is_retryable(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(path.to_str().unwrap()), "{text}");
    }
    let left = std::fs::read(&garbage).unwrap();
    assert!(left.starts_with(b"this is no database"), "what was there is left alone");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up_at_the_deadline_and_its_password_not_shown() {
    // A port that was free a moment ago, and one that takes connections and says nothing.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for port in [gone, silent.local_addr().unwrap().port()] {
        let url = format!("postgres://me:hunter2@127.0.0.1:{port}/jobs");
        let options = HistoryOptions::url(&url).unwrap().connect_deadline(SHORT);
        let error = History::open(options).await.unwrap_err();
        assert!(matches!(error, Error::Away { .. }) && error.is_retryable(), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(&format!("postgres://127.0.0.1:{port}/jobs")), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn without_its_store_a_history_keeps_count_and_keeps_nobody_waiting() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{gone}/jobs");
    let options = HistoryOptions::url(&url).unwrap().connect_deadline(SHORT).queue_capacity(3);
    let history = History::open_in_background(options.batch_size(1)).unwrap();
    let teller = teller(history.subscriber());
    for token in 1..=10 {
        teller.claims(0, run(token));
    }
    let stats = history.wait_for(|stats| stats.retries > 1).await;
    assert_eq!(stats.accepted + stats.dropped, 10);
    assert_eq!((stats.written, stats.waiting()), (0, stats.accepted));
    let text = format!("{stats:?} {history:?}");
    assert!(stats.fault.is_some() && !text.contains("hunter2"), "{text}");
    let error = history.close(SHORT).await.unwrap_err();
    let expected = format!("{} records are not written", stats.accepted);
    assert!(error.to_string().starts_with(&expected), "{error}");
    teller.claims(0, run(11));
    assert_eq!(history.stats().dropped, stats.dropped + 1, "after the end it is counted, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_store_gets_everything_in_the_end_and_the_count_of_what_was_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path).queue_capacity(20).batch_size(5)).await;
    let mut holder = raw(&path).await;
    execute(&mut holder, "BEGIN EXCLUSIVE").await;

    let teller = teller(history.subscriber());
    for token in 1..=100 {
        teller.claims(i64::try_from(token).unwrap(), run(token));
    }
    let stats = history.wait_for(|stats| stats.retries > 0).await;
    assert!(stats.fault.as_deref().unwrap().contains("locked"), "{stats:?}");
    assert_eq!((stats.accepted + stats.dropped, stats.written), (100, 0));
    assert!((20..=25).contains(&stats.accepted), "the queue and a batch: {stats:?}");
    // Meanwhile it can be read.
    assert_eq!(history.counts(&FireQuery::default()).await.unwrap(), []);
    let error = history.flush(SHORT).await.unwrap_err();
    let Error::Unwritten { records, .. } = error else { panic!("{error:?}") };
    assert_eq!(records, stats.accepted);

    execute(&mut holder, "ROLLBACK").await;
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.waiting(), &stats.fault), (0, &None));
    let fires = history.fires(&FireQuery::default(), 1_000, None).await.unwrap().fires;
    assert_eq!(fires.len() as u64, stats.accepted);
    let drops = history.drops(Some(at(0)), Some(at(101))).await.unwrap();
    assert_eq!(drops.iter().map(|row| row.dropped).sum::<u64>(), stats.dropped, "{drops:?}");
    let (first, last) = (drops.first().unwrap().first, drops.last().unwrap().last);
    // The writer may take its first batch before or after the queue is full for the first time.
    assert!((at(21)..=at(26)).contains(&first), "{first}");
    assert_eq!(last, at(100));
    assert_eq!(history.drops(Some(at(101)), None).await.unwrap(), []);
    history.close(DEADLINE).await.unwrap();
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_somebody_takes_away_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mut other = raw(&path).await;
    execute(&mut other, "DROP TABLE ejob_fire; DROP TABLE ejob_history_version").await;
    let teller = teller(history.subscriber());
    teller.claims(0, run(1));
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(history.counts(&FireQuery::default()).await.unwrap()[0].fires, 1);
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_the_store_refuses_keeps_no_other_from_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mut other = raw(&path).await;
    let trigger = "CREATE TRIGGER no_leaders BEFORE INSERT ON ejob_event WHEN NEW.kind = 'became_leader' \
                   BEGIN SELECT RAISE(ABORT, 'no leaders here'); END; BEGIN IMMEDIATE";
    execute(&mut other, trigger).await;
    let teller = teller(history.subscriber());
    teller.claims(0, run(1));
    teller.tell(1, JobEvent::BecameLeader { term: 1 });
    teller.tell(2, JobEvent::LostLeadership);
    teller.claims(3, run(2));
    execute(&mut other, "COMMIT").await;
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.written, stats.refused, stats.waiting()), (3, 1, 0));
    let fires = history.fires(&FireQuery::default(), 9, None).await.unwrap().fires;
    assert_eq!(fires.len(), 2);
    let events = history.events(&EventQuery::default(), 9, None).await.unwrap().events;
    assert_eq!(
        events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
        ["lost_leadership"]
    );
    history.close(DEADLINE).await.unwrap();
}

/// The history is dropped while a scheduler still tells it of something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_when_a_history_is_dropped_is_written_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let teller = teller(history.subscriber());
    for token in 1..=50 {
        teller.claims(0, run(token));
    }
    drop(history);
    let again = open(HistoryOptions::sqlite(&path)).await;
    let wanted = async {
        while again.fires(&FireQuery::default(), 1_000, None).await.unwrap().fires.len() < 50 {}
    };
    tokio::time::timeout(DEADLINE, wanted).await.unwrap();
    again.close(DEADLINE).await.unwrap();
}
