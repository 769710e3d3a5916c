//! Plays every action of the trait `Cluster` on real processes: each must show in the history.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use crate::support;

use std::time::Duration;

use checker::history::{ExecEvent, Fact, NemesisEvent, ProcessEvent, Record, SessionEvent};
use checker::{History, Verdict, check};
use lite::{JobConfig, JobName};
use testkit::harness::{Action, AdminOp, Cluster, InstOpts, LinkMode, Point, RegEvent, When, Work};
use verify::cluster::{RealBackend, RealCluster};

const N_ITEMS: u32 = 4;
/// Limit of waits in periods, which last for seconds.
const PATIENCE: u32 = 10;

async fn start(backend: RealBackend, run: &str) -> Box<RealCluster> {
    let mut cluster = support::cluster(backend, &format!("{run}-{}", backend.name())).await;
    let name = JobName::new("faults").unwrap();
    let cron = Some(cluster.cron());
    let config = JobConfig::new(name, N_ITEMS).with(|it| {
        it.cron = cron;
        it.failover = true;
    });
    cluster.create_job(config).await.unwrap();
    for (name, server) in [("a", "10.0.0.1"), ("b", "10.0.0.2")] {
        cluster.spawn(name, on(server)).await.unwrap();
    }
    let both = |records: &[Record]| ["a", "b"].iter().all(|name| n_ready(records, name) == 1);
    cluster.until("both ready", PATIENCE, &both).await.unwrap();
    Box::new(cluster)
}

fn on(server: &str) -> InstOpts {
    InstOpts::new(server, Work { periods: 0.2, ..Work::default() })
}

fn of<'a>(records: &'a [Record], name: &'a str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| record.p == name)
}

fn n_ready(records: &[Record], name: &str) -> usize {
    of(records, name)
        .filter(|r| matches!(r.fact, Fact::Process { ev: ProcessEvent::Ready, .. }))
        .count()
}

/// Returns the session events of a process, in order.
fn sessions(records: &[Record], name: &str) -> Vec<SessionEvent> {
    let event = |record: &Record| {
        if let Fact::Session { ev, .. } = &record.fact { Some(*ev) } else { None }
    };
    of(records, name).filter_map(event).collect()
}

fn is_in(records: &[Record], name: &str, expected: SessionEvent) -> bool {
    sessions(records, name).last() == Some(&expected)
}

/// Returns the number of runs that a process has ended with success.
fn n_done(records: &[Record], name: &str) -> usize {
    let done = |record: &&Record| matches!(&record.fact, Fact::Exec { ev: ExecEvent::End, result: Some(result), .. } if result == "ok");
    of(records, name).filter(done).count()
}

fn n_events(records: &[Record], process: &str, expected: &str) -> usize {
    of(records, process)
        .filter(|r| matches!(&r.fact, Fact::Event { name, .. } if name == expected))
        .count()
}

fn n_faults(records: &[Record], kind: &str, ev: NemesisEvent) -> usize {
    let this = |record: &&Record| matches!(&record.fact, Fact::Nemesis { kind: k, ev: e, .. } if k == kind && *e == ev);
    records.iter().filter(this).count()
}

/// Waits until a process has ended another run.
async fn wait_for_progress(cluster: &mut RealCluster, name: &str) {
    let before = n_done(cluster.records().unwrap(), name);
    let more = |records: &[Record]| n_done(records, name) > before;
    cluster.until(&format!("{name} ends another run"), PATIENCE, &more).await.unwrap();
}

/// Waits until all items of a fire have been recorded, so that the next fire is most of a period
/// away.
///
/// A run that ends together with its session belongs to the scenarios.
async fn wait_until_idle(cluster: &mut RealCluster) {
    let settled =
        |records: &[Record]| n_events(records, "a", "settled") + n_events(records, "b", "settled");
    let begun = |records: &[Record]| {
        let started = |r: &&Record| matches!(r.fact, Fact::Exec { ev: ExecEvent::Start, .. });
        records.iter().filter(started).count()
    };
    let before = begun(cluster.records().unwrap());
    let is_idle =
        |records: &[Record]| begun(records) > before && begun(records) == settled(records);
    cluster.until("all items are idle", PATIENCE, &is_idle).await.unwrap();
}

fn point(duty: &str, when: When) -> Point {
    Point { duty: Some(duty.to_owned()), nth: 0, when }
}

/// Ends the run and returns its history, which the checker must accept.
async fn end(mut cluster: Box<RealCluster>) -> Vec<Record> {
    cluster.heal().await.unwrap();
    for name in ["a", "b"] {
        wait_for_progress(&mut cluster, name).await;
    }
    let records = cluster.finish().await.unwrap();
    let report = check(&History::from_records(records.clone()), &verify::run::real_options());
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    records
}

async fn play_faults_of_processes_sessions_and_links(backend: RealBackend) {
    let mut cluster = start(backend, "acts").await;
    wait_until_idle(&mut cluster).await;
    cluster.pause("a").await.unwrap();
    cluster.elapse(backend.session_timeout() * 2).await;
    cluster.resume("a").await.unwrap();
    let lost = |records: &[Record]| sessions(records, "a").contains(&SessionEvent::Lost);
    cluster.until("a learns that its session is lost", PATIENCE, &lost).await.unwrap();
    wait_for_progress(&mut cluster, "a").await;

    wait_until_idle(&mut cluster).await;
    cluster.expire("b").await.unwrap();
    let replaced = |records: &[Record]| {
        let seen = sessions(records, "b");
        seen.contains(&SessionEvent::Lost) && seen.last() == Some(&SessionEvent::Connected)
    };
    cluster.until("b has another session", PATIENCE, &replaced).await.unwrap();
    wait_for_progress(&mut cluster, "b").await;

    for mode in [LinkMode::Black, LinkMode::DropReplies, LinkMode::DropRequests] {
        wait_until_idle(&mut cluster).await;
        cluster.link("b", mode).await.unwrap();
        let gone = |records: &[Record]| !is_in(records, "b", SessionEvent::Connected);
        cluster.until(&format!("b notices {mode:?}"), PATIENCE, &gone).await.unwrap();
        cluster.link("b", LinkMode::Pass).await.unwrap();
        let back = |records: &[Record]| is_in(records, "b", SessionEvent::Connected);
        cluster.until(&format!("b is back after {mode:?}"), PATIENCE, &back).await.unwrap();
    }
    cluster.link("a", LinkMode::Reset).await.unwrap();
    cluster.link("a", LinkMode::Delay(Duration::from_millis(20))).await.unwrap();
    wait_for_progress(&mut cluster, "a").await;

    cluster.close("a").await.unwrap();
    let exited = |records: &[Record]| {
        of(records, "a").any(|r| matches!(r.fact, Fact::Process { ev: ProcessEvent::Exit, .. }))
    };
    cluster.until("a leaves", PATIENCE, &exited).await.unwrap();
    cluster.spawn("a", on("10.0.0.1")).await.unwrap();
    cluster.until("a is ready again", PATIENCE, &|r| n_ready(r, "a") == 2).await.unwrap();
    let records = end(cluster).await;
    for (kind, n) in [("pause", 1), ("partition", 3), ("delay", 1)] {
        assert_eq!(n_faults(&records, kind, NemesisEvent::Begin), n, "{kind}");
        assert_eq!(n_faults(&records, kind, NemesisEvent::End), n, "{kind}");
    }
    let orphaned = records.iter().filter(|r| {
        matches!(&r.fact, Fact::SessClose { sid, .. } if
        !records.iter().any(|o| matches!(&o.fact, Fact::SessionOpened { sid: s, .. } if s == sid)))
    });
    assert_eq!(orphaned.count(), 0, "every closed session was opened");
}

async fn play_faults_at_writes(backend: RealBackend) {
    let mut cluster = start(backend, "points").await;
    for (duty, nth, when) in
        [("claim", 0, When::After), ("claim", 1, When::Before), ("release", 0, When::After)]
    {
        let at = Point { nth, ..point(duty, when) };
        cluster.inject("a", at, Action::Lose).await.unwrap();
    }
    let lost = |records: &[Record]| {
        n_faults(records, "lose_reply", NemesisEvent::Point) == 2
            && n_faults(records, "lose_request", NemesisEvent::Point) == 1
    };
    cluster.until("three losses", PATIENCE, &lost).await.unwrap();
    wait_for_progress(&mut cluster, "a").await;

    let delay = Action::Delay(Duration::from_millis(100));
    cluster.inject("a", point("release", When::Before), delay).await.unwrap();
    cluster.inject("b", point("claim", When::After), Action::Expire).await.unwrap();
    let expired = |records: &[Record]| {
        n_faults(records, "expire", NemesisEvent::Point) == 1
            && sessions(records, "b").contains(&SessionEvent::Lost)
    };
    cluster.until("b loses its session at a claim", PATIENCE, &expired).await.unwrap();
    wait_for_progress(&mut cluster, "b").await;

    cluster.inject("b", point("claim", When::Before), Action::Pause).await.unwrap();
    let paused = |records: &[Record]| n_faults(records, "pause", NemesisEvent::Begin) == 1;
    cluster.until("b is stopped at a claim", PATIENCE, &paused).await.unwrap();
    cluster.resume("b").await.unwrap();
    wait_for_progress(&mut cluster, "b").await;

    cluster.inject("b", point("claim", When::After), Action::Kill).await.unwrap();
    cluster.inject("a", point("never", When::After), Action::Kill).await.unwrap();
    let taken_over = |records: &[Record]| {
        n_faults(records, "crash", NemesisEvent::Point) == 1
            && n_events(records, "a", "orphaned") + n_events(records, "b", "orphaned") >= 1
    };
    cluster.until("b is killed and its run orphaned", PATIENCE, &taken_over).await.unwrap();
    cluster.spawn("b", on("10.0.0.2")).await.unwrap();
    cluster.until("b is back", PATIENCE, &|r| n_ready(r, "b") == 2).await.unwrap();
    let records = end(cluster).await;
    let skipped = records.iter().filter(|record| {
        matches!(&record.fact, Fact::Nemesis { kind, target, .. } if kind == "injection" && target == "a")
    });
    assert_eq!(skipped.count(), 1, "the point that was not reached");
}

async fn play_faults_of_registry_and_clocks_and_operator_actions(backend: RealBackend) {
    let mut cluster = start(backend, "registry").await;
    let mut events =
        vec![RegEvent::KillLeader, RegEvent::RestartAll(backend.session_timeout() * 2)];
    if backend != RealBackend::Postgres {
        events.extend([
            RegEvent::StopLeader(Duration::from_millis(300)),
            RegEvent::Lag(Duration::from_secs(1)),
            RegEvent::Lag(Duration::ZERO),
        ]);
    }
    let n_outages = events.iter().filter(|event| !matches!(event, RegEvent::Lag(_))).count();
    for event in events {
        wait_until_idle(&mut cluster).await;
        cluster.registry(event).await.unwrap();
        for name in ["a", "b"] {
            wait_for_progress(&mut cluster, name).await;
        }
    }
    cluster.skew("a", 1_500).await.unwrap();
    let skewed = |records: &[Record]| {
        let offset = |r: &Record| r.wt - i64::try_from(r.mt / 1_000_000).unwrap();
        let last = |name| of(records, name).last().map(offset);
        last("a").zip(last("b")).is_some_and(|(a, b)| (a - b - 1_500).abs() < 200)
    };
    cluster.until("a's clock is ahead", PATIENCE, &skewed).await.unwrap();
    cluster.skew("a", 0).await.unwrap();

    cluster.admin(AdminOp::Trigger).await.unwrap();
    let manual = |records: &[Record]| {
        records.iter().any(|r| matches!(&r.fact, Fact::Exec { source, .. } if source == "MANUAL"))
    };
    cluster.until("a run on request", PATIENCE, &manual).await.unwrap();
    let disable = |disabled| AdminOp::Server { ip: "10.0.0.1".to_owned(), disabled };
    cluster.admin(disable(true)).await.unwrap();
    wait_for_progress(&mut cluster, "b").await;
    cluster.admin(disable(false)).await.unwrap();
    for disabled in [true, false] {
        cluster.admin(AdminOp::Item { item: 1, disabled }).await.unwrap();
    }
    let pause = |paused| AdminOp::Pause { ip: "10.0.0.2".to_owned(), paused };
    cluster.admin(pause(true)).await.unwrap();
    wait_for_progress(&mut cluster, "a").await;
    cluster.admin(pause(false)).await.unwrap();
    let rejected = |records: &[Record]| n_events(records, "a", "config_rejected") >= 1;
    cluster.admin(AdminOp::Poison("no JSON".to_owned())).await.unwrap();
    cluster.until("the invalid configuration is rejected", PATIENCE, &rejected).await.unwrap();
    let config = JobConfig::new(JobName::new("faults").unwrap(), N_ITEMS)
        .with(|it| it.cron = Some(cluster.cron()));
    cluster.admin(AdminOp::Configure(Box::new(config))).await.unwrap();
    let n_elected = |records: &[Record]| {
        ["a", "b"].iter().map(|name| n_events(records, name, "became_leader")).sum::<usize>()
    };
    let before = n_elected(cluster.records().unwrap());
    cluster.admin(AdminOp::RemoveLeader).await.unwrap();
    let again = |records: &[Record]| n_elected(records) > before;
    cluster.until("another election", PATIENCE, &again).await.unwrap();
    let records = end(cluster).await;
    assert_eq!(n_faults(&records, "registry_down", NemesisEvent::Begin), n_outages);
    assert_eq!(n_faults(&records, "registry_down", NemesisEvent::End), n_outages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faults_of_processes_sessions_and_links_show_in_the_history() {
    play_faults_of_processes_sessions_and_links(RealBackend::Zookeeper).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faults_happen_at_their_writes() {
    play_faults_at_writes(RealBackend::Zookeeper).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faults_of_registry_and_clocks_and_operator_actions_show_in_the_history() {
    play_faults_of_registry_and_clocks_and_operator_actions(RealBackend::Zookeeper).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs PostgreSQL; `cargo xtask nightly` runs it"]
async fn all_faults_on_a_database_show_in_the_history() {
    play_faults_of_processes_sessions_and_links(RealBackend::Postgres).await;
    play_faults_at_writes(RealBackend::Postgres).await;
    play_faults_of_registry_and_clocks_and_operator_actions(RealBackend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs etcd; `cargo xtask nightly` runs it"]
async fn all_faults_on_etcd_show_in_the_history() {
    play_faults_of_processes_sessions_and_links(RealBackend::Etcd).await;
    play_faults_at_writes(RealBackend::Etcd).await;
    play_faults_of_registry_and_clocks_and_operator_actions(RealBackend::Etcd).await;
}
