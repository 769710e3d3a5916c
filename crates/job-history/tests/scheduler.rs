//! A scheduler in virtual time tells a history in real time what happens; the rows are compared with the events.
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

/// Everything that was told, as it was told.
#[derive(Clone, Default)]
struct Told {
    records: Arc<Mutex<Vec<JobRecord>>>,
    reports: Arc<Mutex<Vec<RunReport>>>,
    count: Arc<watch::Sender<usize>>,
}

impl EventSubscriber for Told {
    fn on_event(&self, record: &JobRecord) {
        self.records.lock().push(record.clone());
        self.count.send_modify(|count| *count += 1);
    }

    fn on_run_ended(&self, report: &RunReport) {
        self.reports.lock().push(report.clone());
        self.count.send_modify(|count| *count += 1);
    }
}

impl Told {
    async fn until(&self, wanted: impl Fn(&[JobRecord]) -> bool) {
        let mut count = self.count.subscribe();
        while !wanted(&self.records.lock()) {
            count.changed().await.unwrap();
        }
    }
}

struct Member {
    center: Arc<MemoryCenter>,
    scheduler: Scheduler,
}

struct Cluster {
    registry: MemoryRegistry,
    clock: Arc<TokioClock>,
    told: Told,
}

impl Cluster {
    fn member(&self, n: u8, history: &History) -> Member {
        let center = Arc::new(self.registry.connect());
        let scheduler = Scheduler::builder(center.clone())
            .server_ip(&format!("10.0.0.{n}"))
            .unwrap()
            .life(format!("{n}"))
            .clock(self.clock.clone())
            .event_subscriber(history.subscriber())
            .event_subscriber(self.told.clone())
            .build()
            .unwrap();
        Member { center, scheduler }
    }

    /// Item 0 fails, item 1 panics, item 2 runs longer than to the next fire, item 3 never ends at the first member.
    fn job(&self) -> impl lite::Job + use<> {
        let clock = self.clock.clone();
        job_fn(move |context| {
            let clock = clock.clone();
            async move {
                let sleep =
                    |seconds| clock.sleep_until(clock.monotonic() + Duration::from_secs(seconds));
                sleep(1).await;
                let at_first = context.instance().as_str().starts_with("10.0.0.1");
                match context.item().index() {
                    0 => Err("the disk is full".into()),
                    1 => panic!("a bug"),
                    2 => {
                        sleep(14).await;
                        Ok(())
                    }
                    _ if at_first => std::future::pending().await,
                    _ => Ok(()),
                }
            }
        })
    }
}

/// Two members, of which one dies within an item.
async fn play(cluster: &Cluster, history: &History) {
    let config = || {
        JobBuilder::new("job", 4)
            .cron("0/10 * * * * ?")
            .failover(true)
            .misfire(true)
            .build()
            .unwrap()
    };
    let first = cluster.member(1, history);
    let handle = first.scheduler.schedule(config(), cluster.job()).await.unwrap();
    handle.joined().await.unwrap();
    let told = &cluster.told;
    let is_claimed = |record: &JobRecord, n: u32| matches!(record.event, JobEvent::Claimed { item, .. } if item.index() == n);
    told.until(|records| records.iter().any(|record| is_claimed(record, 3))).await;
    let second = cluster.member(2, history);
    let handle = second.scheduler.schedule(config(), cluster.job()).await.unwrap();
    handle.joined().await.unwrap();
    told.until(|r| r.iter().any(|r| matches!(r.event, JobEvent::MisfireNoted { .. }))).await;
    first.scheduler.abort();
    first.center.close().await.unwrap();
    let taken_over = |record: &JobRecord| matches!(record.event, JobEvent::Settled { source: RunSource::Failover, item, .. } if item.index() == 3);
    told.until(|records| records.iter().any(taken_over)).await;
    let misfired = |record: &JobRecord| {
        matches!(record.event, JobEvent::Settled { source: RunSource::Misfire, .. })
    };
    told.until(|records| records.iter().any(misfired)).await;
    second.scheduler.shutdown(Duration::from_secs(60)).await;
}

/// What the events say that the fires came to, worked out from the last to the first: the opposite way to the history.
#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else happens is no fate of a fire")]
fn expected(told: &Told) -> BTreeMap<(u32, i64), (String, Option<u64>)> {
    let mut fires = BTreeMap::new();
    let records = told.records.lock();
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
fn the_rows_of_a_history_are_what_the_events_say() {
    let real =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = real.block_on(History::open(options)).unwrap();
    let told = Told::default();

    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let noon: Timestamp = at(0);
    paused.unwrap().block_on(async {
        let clock = Arc::new(TokioClock::starting_at(noon));
        let cluster = Cluster { registry: MemoryRegistry::new(), clock, told: told.clone() };
        let played = tokio::time::timeout(Duration::from_secs(3_600), play(&cluster, &history));
        played.await.expect("the story comes to its end");
    });

    real.block_on(history.flush(DEADLINE)).unwrap();
    let fires = real.block_on(history.fires(&FireQuery::default(), 1_000, None)).unwrap();
    assert_eq!(fires.next, None);
    let fires = fires.fires;
    assert_eq!(actual(&fires), expected(&told));
    check_facts(&told, &fires);
    check_events(
        &told,
        &real.block_on(history.events(&EventQuery::default(), 1_000, None)).unwrap().events,
    );
    let stats = history.stats();
    let all = told.records.lock().len() + told.reports.lock().len();
    assert_eq!((stats.written, stats.dropped, stats.refused), (all as u64, 0, 0));
    real.block_on(history.close(DEADLINE)).unwrap();
}

/// The story has had one of each kind, with the facts of the runs.
fn check_facts(told: &Told, fires: &[FireRecord]) {
    let reports = told.reports.lock();
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
    assert_eq!(taken_over.left_by.as_ref().unwrap().as_str(), "10.0.0.1@-@1");
}

fn check_events(told: &Told, events: &[job_history::EventRecord]) {
    let records = told.records.lock();
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

/// One member that fires each ten seconds, and cannot reach the registry for 35 seconds; then it
/// loses its session.
async fn play_outages(cluster: &Cluster, history: &History) {
    let member = cluster.member(1, history);
    let config = JobBuilder::new("job", 1).cron("0/10 * * * * ?").build().unwrap();
    let job = job_fn(|_| async { Ok(()) });
    member.scheduler.schedule(config, job).await.unwrap().joined().await.unwrap();
    let told = &cluster.told;
    let settled = |record: &JobRecord| matches!(record.event, JobEvent::Settled { .. });
    told.until(|records| records.iter().any(settled)).await;
    member.center.suspend(Duration::from_secs(60));
    let second = Duration::from_secs(1);
    cluster.clock.sleep_until(cluster.clock.monotonic() + second * 35).await;
    member.center.resume();
    let back = |record: &JobRecord| matches!(record.event, JobEvent::Reconnected { .. });
    told.until(|records| records.iter().any(back)).await;
    member.center.expire();
    let started = |record: &JobRecord| matches!(record.event, JobEvent::SessionStarted { .. });
    told.until(|records| records.iter().any(started)).await;
    member.scheduler.shutdown(Duration::from_secs(60)).await;
}

#[test]
fn an_outage_of_the_registry_is_in_the_history_with_its_times() {
    let real =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = HistoryOptions::sqlite(folder.path().join("h.db"));
    let history = real.block_on(History::open(options)).unwrap();
    let told = Told::default();
    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    paused.unwrap().block_on(async {
        let clock = Arc::new(TokioClock::starting_at(at(0)));
        let cluster = Cluster { registry: MemoryRegistry::new(), clock, told: told.clone() };
        let played =
            tokio::time::timeout(Duration::from_secs(3_600), play_outages(&cluster, &history));
        played.await.expect("the story comes to its end");
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
    assert_ne!(sessions[2].instance, sessions[3].instance, "another incarnation");

    let missed = FireQuery::default().outcome(job_history::FireOutcome::missed());
    let missed = real.block_on(history.fires(&missed, 1_000, None)).unwrap().fires;
    let since = format!("the registry could not be reached since {gone}");
    let reasons: Vec<_> = missed.iter().map(|fire| fire.reason.as_deref().unwrap()).collect();
    assert_eq!(reasons, [since.as_str(), &since], "{missed:?}");
    real.block_on(history.close(DEADLINE)).unwrap();
}
