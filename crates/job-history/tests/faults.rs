//! Wrong options, and stores that are unavailable, locked, damaged, too new, or too slow.
#![cfg(feature = "sqlite")]

use crate::support;

use std::path::Path;
use std::time::Duration;

use coordination::{JobEvent, RunSource};
use job_history::{Error, EventQuery, FireQuery, History, HistoryOptions};
use lite::EventSubscriber;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use support::{DEADLINE, Publisher, Run, at, open};

const SHORT: Duration = Duration::from_millis(300);

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

async fn execute(connection: &mut SqliteConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

fn publisher<S: EventSubscriber>(subscriber: S) -> Publisher<S> {
    Publisher { subscriber, job: "job", instance_number: 1 }
}

fn run(token: u64) -> Run {
    let fire = i64::try_from(token).unwrap() * 1_000;
    Run { item: 0, fire, source: RunSource::Normal, token }
}

#[tokio::test]
async fn invalid_option_is_named_with_its_value_and_the_valid_range() {
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
    for (invalid, options, expected) in rows {
        let shown = format!("{options:?}");
        let in_background = History::open_in_background(options.clone()).unwrap_err();
        let error = History::open(options).await.unwrap_err();
        assert_eq!(error, in_background);
        assert!(matches!(error, Error::InvalidOption { .. }) && !error.is_retryable());
        let text = error.to_string();
        assert!(text.starts_with(invalid) && text.contains(expected), "{invalid}: {text}");
        assert!(!format!("{text} {error:?} {shown}").contains("hunter2"));
    }
    assert!(!Path::new("unused.db").exists(), "invalid options must not create a file");
}

/// Rows hold the output of failed runs.
#[cfg(unix)]
#[tokio::test]
async fn database_files_are_readable_by_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    publisher(history.subscriber()).claims(0, run(1));
    history.flush(DEADLINE).await.unwrap();
    for name in ["h.db", "h.db-wal", "h.db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    history.close(DEADLINE).await.unwrap();
    // The permissions that an operator sets later are kept.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn invalid_page_limit_is_named() {
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
async fn unusable_file_is_reported_at_once_with_its_path() {
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
        (newer, "has tables of version 99, this program knows 7"),
    ];
    for (path, expected) in rows {
        let error = History::open(HistoryOptions::sqlite(&path)).await.unwrap_err();
        assert!(!error.is_retryable(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(expected) && text.contains(path.to_str().unwrap()), "{text}");
    }
    let left = std::fs::read(&garbage).unwrap();
    assert!(left.starts_with(b"this is no database"), "the content of the file must not change");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn unreachable_server_fails_at_the_deadline_without_its_password() {
    // A port without a listener, and one whose listener never answers.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for port in [gone, silent.local_addr().unwrap().port()] {
        let url = format!("postgres://me:hunter2@127.0.0.1:{port}/jobs");
        let options = HistoryOptions::url(&url).unwrap().connect_deadline(SHORT);
        let error = History::open(options).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }) && error.is_retryable(), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains(&format!("postgres://127.0.0.1:{port}/jobs")), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// The first attempt fails, and the second is under way at the deadline.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn failure_before_the_deadline_is_reported_rather_than_the_deadline() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/jobs", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        drop(listener.accept().await.unwrap());
        let silent = listener.accept().await.unwrap();
        std::future::pending::<()>().await;
        drop(silent);
    });
    let options = HistoryOptions::url(&url).unwrap().connect_deadline(SHORT * 5);
    let error = History::open(options).await.unwrap_err();
    let Error::Unreachable { reason, .. } = &error else { panic!("{error:?}") };
    assert!(!reason.contains("did not answer"), "{reason}");
    server.abort();
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn unreachable_store_never_blocks_and_dropped_records_are_counted() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{gone}/jobs");
    let options = HistoryOptions::url(&url).unwrap().connect_deadline(SHORT).queue_capacity(3);
    let history = History::open_in_background(options.batch_size(1)).unwrap();
    let publisher = publisher(history.subscriber());
    for token in 1..=10 {
        publisher.claims(0, run(token));
    }
    let stats = history.wait_for(|stats| stats.retries > 1).await;
    assert_eq!(stats.accepted + stats.dropped, 10);
    assert_eq!((stats.written, stats.waiting()), (0, stats.accepted));
    let text = format!("{stats:?} {history:?}");
    assert!(stats.fault.is_some() && !text.contains("hunter2"), "{text}");
    let error = history.close(SHORT).await.unwrap_err();
    let expected = format!("{} records are not written", stats.accepted);
    assert!(error.to_string().starts_with(&expected), "{error}");
    publisher.claims(0, run(11));
    assert_eq!(
        history.stats().dropped,
        stats.dropped + 1,
        "records after the close must be counted"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_store_gets_queued_records_and_the_drop_count_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path).queue_capacity(20).batch_size(5)).await;
    let mut holder = raw(&path).await;
    execute(&mut holder, "BEGIN EXCLUSIVE").await;

    let publisher = publisher(history.subscriber());
    for token in 1..=100 {
        publisher.claims(i64::try_from(token).unwrap(), run(token));
    }
    let stats = history.wait_for(|stats| stats.retries > 0).await;
    assert!(stats.fault.as_deref().unwrap().contains("locked"), "{stats:?}");
    assert_eq!((stats.accepted + stats.dropped, stats.written), (100, 0));
    assert!((20..=25).contains(&stats.accepted), "the queue and one batch: {stats:?}");
    // Readers do not wait for the lock.
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
    // The writer may take its first batch before or after the queue becomes full.
    assert!((at(21)..=at(26)).contains(&first), "{first}");
    assert_eq!(last, at(100));
    assert_eq!(history.drops(Some(at(101)), None).await.unwrap(), []);
    history.close(DEADLINE).await.unwrap();
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_tables_are_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mut other = raw(&path).await;
    execute(&mut other, "DROP TABLE ejob_fire; DROP TABLE ejob_history_version").await;
    let publisher = publisher(history.subscriber());
    publisher.claims(0, run(1));
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(history.counts(&FireQuery::default()).await.unwrap()[0].fires, 1);
    history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_record_does_not_block_other_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let mut other = raw(&path).await;
    let trigger = "CREATE TRIGGER no_leaders BEFORE INSERT ON ejob_event WHEN NEW.kind = 'became_leader' \
                   BEGIN SELECT RAISE(ABORT, 'no leaders here'); END; BEGIN IMMEDIATE";
    execute(&mut other, trigger).await;
    let publisher = publisher(history.subscriber());
    publisher.claims(0, run(1));
    publisher.publish(1, JobEvent::BecameLeader { term: 1 });
    publisher.publish(2, JobEvent::LostLeadership);
    publisher.claims(3, run(2));
    execute(&mut other, "COMMIT").await;
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.written, stats.rejected, stats.waiting()), (3, 1, 0));
    let fires = history.fires(&FireQuery::default(), 9, None).await.unwrap().fires;
    assert_eq!(fires.len(), 2);
    let events = history.events(&EventQuery::default(), 9, None).await.unwrap().events;
    assert_eq!(
        events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
        ["lost_leadership"]
    );
    history.close(DEADLINE).await.unwrap();
}

/// The history is dropped while a scheduler still has its subscriber.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_records_are_written_after_the_history_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let publisher = publisher(history.subscriber());
    for token in 1..=50 {
        publisher.claims(0, run(token));
    }
    drop(history);
    let again = open(HistoryOptions::sqlite(&path)).await;
    let wanted = async {
        while again.fires(&FireQuery::default(), 1_000, None).await.unwrap().fires.len() < 50 {}
    };
    tokio::time::timeout(DEADLINE, wanted).await.unwrap();
    again.close(DEADLINE).await.unwrap();
}
