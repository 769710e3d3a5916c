//! A scheduler in virtual time feeds a history in real time; the rows are compared with the events.
#![cfg(feature = "sqlite")]

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobEvent, Outcome, RunSource};
use jiff::Timestamp;
use job_history::{EventQuery, FireQuery, FireRecord, History, HistoryOptions};
use lite::{
    Clock, EventSubscriber, JobBuilder, JobRecord, RunReport, Scheduler, TokioClock, job_fn,
};
use parking_lot::Mutex;
use reg_center::{MemoryCenter, MemoryRegistry, RegistryCenter};
use sharding::ShardingItem;
use support::{DEADLINE, at};
use tokio::sync::watch;

/// Subscriber that keeps all records and reports.
#[derive(Clone, Default)]
pub(crate) struct RecordingSubscriber {
    records: Arc<Mutex<Vec<JobRecord>>>,
    reports: Arc<Mutex<Vec<RunReport>>>,
    count: Arc<watch::Sender<usize>>,
}

impl EventSubscriber for RecordingSubscriber {
    fn on_event(&self, record: &JobRecord) {
        self.records.lock().push(record.clone());
        self.count.send_modify(|count| *count += 1);
    }

    fn on_run_ended(&self, report: &RunReport) {
        self.reports.lock().push(report.clone());
        self.count.send_modify(|count| *count += 1);
    }
}

impl RecordingSubscriber {
    async fn until(&self, wanted: impl Fn(&[JobRecord]) -> bool) {
        let mut count = self.count.subscribe();
        while !wanted(&self.records.lock()) {
            count.changed().await.unwrap();
        }
    }
}

struct TestInstance {
    center: Arc<MemoryCenter>,
    scheduler: Scheduler,
}

pub(crate) struct Cluster {
    pub(crate) registry: MemoryRegistry,
    pub(crate) clock: Arc<TokioClock>,
    pub(crate) recorded: RecordingSubscriber,
}

impl Cluster {
    fn instance(&self, n: u8, history: &History) -> TestInstance {
        let center = Arc::new(self.registry.connect());
        let scheduler = Scheduler::builder(center.clone())
            .server_ip(&format!("10.0.0.{n}"))
            .unwrap()
            .instance_name(format!("{n}"))
            .clock(self.clock.clone())
            .event_subscriber(history.subscriber())
            .event_subscriber(self.recorded.clone())
            .build()
            .unwrap();
        TestInstance { center, scheduler }
    }

    /// Item 0 fails, item 1 panics, and item 2 runs until after the next fire. Item 3 never ends on
    /// the first instance.
    fn job(&self) -> impl lite::Job + use<> {
        let clock = self.clock.clone();
        job_fn(move |context| {
            let clock = clock.clone();
            async move {
                let sleep =
                    |seconds| clock.sleep_until(clock.monotonic() + Duration::from_secs(seconds));
                sleep(1).await;
                let is_first = context.instance().as_str().starts_with("10.0.0.1");
                match context.item().index() {
                    0 => Err("the disk is full".into()),
                    1 => panic!("a bug"),
                    2 => {
                        sleep(14).await;
                        Ok(())
                    }
                    _ if is_first => std::future::pending().await,
                    _ => Ok(()),
                }
            }
        })
    }
}

/// Plays a cluster of two instances, one of which dies during a run.
pub(crate) async fn play(cluster: &Cluster, history: &History) {
    let config = || {
        JobBuilder::new("job", 4)
            .cron("0/10 * * * * ?")
            .failover(true)
            .misfire(true)
            .build()
            .unwrap()
    };
    let first = cluster.instance(1, history);
    let handle = first.scheduler.schedule(config(), cluster.job()).await.unwrap();
    handle.joined().await.unwrap();
    let recorded = &cluster.recorded;
    let is_claimed = |record: &JobRecord, n: u32| matches!(record.event, JobEvent::Claimed { item, .. } if item.index() == n);
    recorded.until(|records| records.iter().any(|record| is_claimed(record, 3))).await;
    let second = cluster.instance(2, history);
    let handle = second.scheduler.schedule(config(), cluster.job()).await.unwrap();
    handle.joined().await.unwrap();
    recorded.until(|r| r.iter().any(|r| matches!(r.event, JobEvent::MisfireNoted { .. }))).await;
    first.scheduler.abort();
    first.center.close().await.unwrap();
    let taken_over = |record: &JobRecord| matches!(record.event, JobEvent::Settled { source: RunSource::Failover, item, .. } if item.index() == 3);
    recorded.until(|records| records.iter().any(taken_over)).await;
    let misfired = |record: &JobRecord| {
        matches!(record.event, JobEvent::Settled { source: RunSource::Misfire, .. })
    };
    recorded.until(|records| records.iter().any(misfired)).await;
    second.scheduler.shutdown(Duration::from_secs(60)).await;
}

/// Computes the outcomes of the fires from the events, from the last to the first. The history
/// merges them in the opposite order.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events decide no outcome")]
fn expected(recorded: &RecordingSubscriber) -> BTreeMap<(u32, i64), (String, Option<u64>)> {
    let mut fires = BTreeMap::new();
    let records = recorded.records.lock();
    let mut put = |item: ShardingItem, fire: i64, outcome: &str, token: Option<u64>| {
        fires.entry((item.index(), fire)).or_insert((outcome.to_owned(), token));
    };
    for record in records.iter().rev() {
        match &record.event {
            JobEvent::Settled { item, fire, token, outcome, .. } => {
                put(*item, fire.0, outcome.as_str(), Some(token.0));
            }
            JobEvent::Claimed { item, fire, token, .. } => {
                put(*item, fire.0, "running", Some(token.0));
            }
            JobEvent::Missed { item: Some(item), fire, .. } => put(*item, fire.0, "missed", None),
            JobEvent::MisfireNoted { item, waiting } => {
                put(*item, waiting.last.0, "misfired", None)
            }
            JobEvent::Gap { item, gap } => put(*item, gap.first.0, "gap", None),
            _ => {}
        }
    }
    fires
}

fn actual(fires: &[FireRecord]) -> BTreeMap<(u32, i64), (String, Option<u64>)> {
    let row = |fire: &FireRecord| {
        let key = (fire.item.index(), fire.fire.as_millisecond());
        (key, (fire.outcome.to_string(), fire.token.map(|token| token.0)))
    };
    fires.iter().map(row).collect()
}

#[test]
fn rows_match_the_events_of_the_scheduler() {
    let real =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = real.block_on(History::open(options)).unwrap();
    let recorded = RecordingSubscriber::default();

    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let noon: Timestamp = at(0);
    paused.unwrap().block_on(async {
        let clock = Arc::new(TokioClock::starting_at(noon));
        let cluster =
            Cluster { registry: MemoryRegistry::new(), clock, recorded: recorded.clone() };
        let played = tokio::time::timeout(Duration::from_secs(3_600), play(&cluster, &history));
        played.await.expect("the scenario did not end in time");
    });

    real.block_on(history.flush(DEADLINE)).unwrap();
    let fires = real.block_on(history.fires(&FireQuery::default(), 1_000, None)).unwrap();
    assert_eq!(fires.next, None);
    let fires = fires.fires;
    assert_eq!(actual(&fires), expected(&recorded));
    check_facts(&recorded, &fires);
    check_events(
        &recorded,
        &real.block_on(history.events(&EventQuery::default(), 1_000, None)).unwrap().events,
    );
    let stats = history.stats();
    let all = recorded.records.lock().len() + recorded.reports.lock().len();
    assert_eq!((stats.written, stats.dropped, stats.rejected), (all as u64, 0, 0));
    real.block_on(history.close(DEADLINE)).unwrap();
}

/// Checks that each source occurred, and that the rows have the facts of the reports.
fn check_facts(recorded: &RecordingSubscriber, fires: &[FireRecord]) {
    let reports = recorded.reports.lock();
    let mut sources = BTreeMap::new();
    for fire in fires.iter().filter(|fire| fire.source.is_some()) {
        *sources.entry(fire.source.unwrap()).or_insert(0) += 1;
        let report = reports.iter().find(|report| {
            report.fire.0 == fire.fire.as_millisecond()
                && report.item == fire.item
                && Some(report.token) == fire.token
        });
        let Some(report) = report else { continue };
        assert_eq!(fire.instance.as_ref(), Some(&report.instance), "{fire:?}");
        let ended = report.ended.as_millisecond();
        assert_eq!(fire.ended.map(Timestamp::as_millisecond), Some(ended), "{fire:?}");
        assert!(fire.began.unwrap() <= report.began, "{fire:?}");
        if matches!(report.outcome, Outcome::Failed | Outcome::Panicked) {
            assert_eq!(fire.reason, report.cause, "{fire:?}");
        }
    }
    let seen: Vec<_> = sources.keys().copied().collect();
    assert_eq!(seen, [RunSource::Normal, RunSource::Misfire, RunSource::Failover]);
    for (item, outcome, reason) in [(0, "failed", "the disk is full"), (1, "panicked", "a bug")] {
        let is = |fire: &&FireRecord| fire.item.index() == item && fire.outcome.as_str() == outcome;
        let fire = fires.iter().find(is).unwrap();
        assert_eq!(fire.reason.as_deref(), Some(reason));
    }
    let taken_over = fires.iter().find(|fire| fire.source == Some(RunSource::Failover)).unwrap();
    assert_eq!(taken_over.former_holder.as_ref().unwrap().as_str(), "10.0.0.1@-@1");
}

fn check_events(recorded: &RecordingSubscriber, events: &[job_history::EventRecord]) {
    let records = recorded.records.lock();
    let mut expected: Vec<_> = records
        .iter()
        .filter(|r| !matches!(r.event, JobEvent::Claimed { .. } | JobEvent::Settled { .. }))
        .map(|r| (r.at.as_millisecond(), r.event.to_string(), r.instance.clone()))
        .collect();
    let mut actual: Vec<_> = events
        .iter()
        .map(|e| (e.at.as_millisecond(), e.text.clone(), e.instance.clone()))
        .collect();
    expected.sort();
    actual.sort();
    assert_eq!(actual, expected);
}

/// Plays one instance with a fire every ten seconds. It cannot reach the registry for 35 seconds,
/// and then it loses its session.
async fn play_outages(cluster: &Cluster, history: &History) {
    let instance = cluster.instance(1, history);
    let config = JobBuilder::new("job", 1).cron("0/10 * * * * ?").build().unwrap();
    let job = job_fn(|_| async { Ok(()) });
    instance.scheduler.schedule(config, job).await.unwrap().joined().await.unwrap();
    let recorded = &cluster.recorded;
    let settled = |record: &JobRecord| matches!(record.event, JobEvent::Settled { .. });
    recorded.until(|records| records.iter().any(settled)).await;
    instance.center.suspend(Duration::from_secs(60));
    let second = Duration::from_secs(1);
    cluster.clock.sleep_until(cluster.clock.monotonic() + second * 35).await;
    instance.center.resume();
    let back = |record: &JobRecord| matches!(record.event, JobEvent::Reconnected { .. });
    recorded.until(|records| records.iter().any(back)).await;
    instance.center.expire();
    let started = |record: &JobRecord| matches!(record.event, JobEvent::SessionStarted { .. });
    recorded.until(|records| records.iter().any(started)).await;
    instance.scheduler.shutdown(Duration::from_secs(60)).await;
}

#[test]
fn registry_outage_is_recorded_with_its_times() {
    let real =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = real.block_on(History::open(options)).unwrap();
    let recorded = RecordingSubscriber::default();
    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    paused.unwrap().block_on(async {
        let clock = Arc::new(TokioClock::starting_at(at(0)));
        let cluster =
            Cluster { registry: MemoryRegistry::new(), clock, recorded: recorded.clone() };
        let played =
            tokio::time::timeout(Duration::from_secs(3_600), play_outages(&cluster, &history));
        played.await.expect("the scenario did not end in time");
    });
    real.block_on(history.flush(DEADLINE)).unwrap();
    let events = real.block_on(history.events(&EventQuery::default(), 1_000, None)).unwrap().events;
    let of_sessions = ["suspended", "reconnected", "session_lost", "session_started"];
    let sessions: Vec<_> =
        events.iter().rev().filter(|event| of_sessions.contains(&event.kind.as_str())).collect();
    let kinds: Vec<_> = sessions.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, of_sessions);
    let (gone, back) = (sessions[0].at, sessions[1].at);
    assert_eq!(back.duration_since(gone).as_secs(), 35);
    let outage = format!("from {gone} to {back}");
    assert!(sessions[1].text.contains(&outage), "{outage}: {}", sessions[1].text);
    assert_ne!(
        sessions[2].instance, sessions[3].instance,
        "the new session must have a new instance id"
    );

    let missed = FireQuery::default().outcome(job_history::FireOutcome::missed());
    let missed = real.block_on(history.fires(&missed, 1_000, None)).unwrap().fires;
    let since = format!("the registry could not be reached since {gone}");
    let reasons: Vec<_> = missed.iter().map(|fire| fire.reason.as_deref().unwrap()).collect();
    assert_eq!(reasons, [since.as_str(), &since], "{missed:?}");
    real.block_on(history.close(DEADLINE)).unwrap();
}
