//! Tests with a store whose disk is full for a while, and the log lines about it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use coordination::{FencingToken, FireTime, JobEvent, JobName, RunSource};
use jiff::Timestamp;
use lite::{EventSubscriber, JobRecord};
use parking_lot::Mutex;
use sharding::{InstanceId, ShardingItem};

use crate::{FireQuery, History, HistoryOptions, HistoryStats};

const DEADLINE: Duration = Duration::from_secs(60);
/// Number of pages that no test fills.
const NO_LIMIT: u32 = 1_000_000;

/// Captured log lines.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Captures the log of this thread until the guard is dropped.
    fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let lines = self.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
        tracing::subscriber::set_default(subscriber.with_writer(move || lines.clone()).finish())
    }

    fn with(&self, part: &str) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0.lock()).into_owned();
        text.lines().filter(|line| line.contains(part)).map(str::to_owned).collect()
    }
}

async fn open(options: HistoryOptions) -> History {
    History::open(options).await.unwrap()
}

fn record(n: u32, event: JobEvent) -> JobRecord {
    let at = Timestamp::from_second(i64::from(n)).unwrap();
    let mut record = JobRecord::new(JobName::new("job").unwrap(), at, event);
    record.instance = Some(InstanceId::new("10.0.0.1@-@7"));
    record
}

fn claims(history: &History, range: std::ops::Range<u32>) {
    for n in range {
        let (item, fire) = (ShardingItem::new(n), FireTime(i64::from(n) * 1_000));
        let (source, token) = (RunSource::Normal, FencingToken(1));
        let event = JobEvent::Claimed { item, fire, source, token, past_fire: None };
        history.subscriber().on_event(&record(n, event));
    }
}

async fn until(history: &History, wanted: impl Fn(&HistoryStats) -> bool) -> HistoryStats {
    tokio::time::timeout(DEADLINE, history.wait_for(wanted)).await.unwrap()
}

#[tokio::test]
async fn queued_records_are_written_once_the_disk_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(HistoryOptions::sqlite(folder.path().join("h.db"))).await;
    history.store.limit_pages(1).await;
    let lines = Lines::default();
    let log = lines.capture();
    claims(&history, 0..300);
    let stats = until(&history, |stats| stats.retries > 2).await;
    assert_eq!((stats.written, stats.accepted, stats.dropped), (0, 300, 0));
    let fault = stats.fault.unwrap();
    assert!(fault.contains("full"), "the reason must stay the full disk: {fault}");

    history.store.limit_pages(NO_LIMIT).await;
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.written, stats.rejected, stats.fault), (300, 0, None));
    let counts = history.counts(&FireQuery::default()).await.unwrap();
    assert_eq!(counts[0].fires, 300);
    history.close(DEADLINE).await.unwrap();
    drop(log);
    assert_eq!(
        lines.with("cannot be written").len(),
        1,
        "each reason must be logged once: {lines:?}"
    );
    assert_eq!(lines.with("can be written again").len(), 1, "{lines:?}");
}

#[tokio::test]
async fn records_dropped_during_a_full_disk_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = open(options.queue_capacity(100).batch_size(50)).await;
    history.store.limit_pages(1).await;
    let lines = Lines::default();
    let log = lines.capture();
    claims(&history, 0..50);
    until(&history, |stats| stats.retries > 0).await;
    claims(&history, 50..1_000);
    let stats = history.stats();
    assert_eq!((stats.accepted, stats.dropped), (150, 850));
    assert_eq!(lines.with("queue is full").len(), 1, "{lines:?}");

    history.store.limit_pages(NO_LIMIT).await;
    history.flush(DEADLINE).await.unwrap();
    let drops = history.drops(None, None).await.unwrap();
    let sums: Vec<_> = drops.iter().map(|row| (row.dropped, row.first, row.last)).collect();
    let second = |n| Timestamp::from_second(n).unwrap();
    assert_eq!(sums, [(850, second(150), second(999))]);
    history.close(DEADLINE).await.unwrap();
    drop(log);
    let lost = lines.with("850");
    let has_times = lost.iter().any(|line| line.contains("02:30Z") && line.contains("16:39Z"));
    assert!(has_times, "the log must have the number and times of the dropped records: {lines:?}");
}

#[tokio::test]
async fn each_reason_of_a_store_outage_is_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let history = open(HistoryOptions::sqlite(&path)).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut holder = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut holder).await.unwrap();
    let lines = Lines::default();
    let log = lines.capture();
    claims(&history, 0..300);
    until(&history, |stats| stats.fault.as_ref().is_some_and(|why| why.contains("locked"))).await;
    history.store.limit_pages(1).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    until(&history, |stats| stats.fault.as_ref().is_some_and(|why| why.contains("full"))).await;
    history.store.limit_pages(NO_LIMIT).await;
    history.flush(DEADLINE).await.unwrap();
    history.close(DEADLINE).await.unwrap();
    drop(log);
    let warnings = lines.with("cannot be written");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("locked") && warnings[1].contains("full"), "{warnings:?}");
}
