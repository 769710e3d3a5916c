//! The simulated cluster without faults, and with single faults; the checker judges each history.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use checker::history::{ExecEvent, Fact, Record, SessionEvent};
use checker::{History, Options, Verdict, check};
use lite::{JobBuilder, JobConfig};
use testkit::harness::{
    Action, AdminOp, Cluster, InstOpts, LinkMode, Point, RegEvent, ScenarioCluster, When, Work,
};
use testkit::run;

fn config(items: u32) -> JobConfig {
    JobBuilder::new("job", items).cron(ScenarioCluster::CRON).failover(true).build().unwrap()
}

fn worker(n: usize, periods: f64) -> InstOpts {
    InstOpts::new(&format!("10.0.0.{n}"), Work { periods, ..Work::default() })
}

async fn cluster(seed: u64, names: &[&str], items: u32, periods: f64) -> ScenarioCluster {
    let mut cluster = ScenarioCluster::new(seed);
    cluster.create_job(config(items)).await.unwrap();
    for (n, name) in names.iter().enumerate() {
        cluster.spawn(name, worker(n + 1, periods)).await.unwrap();
    }
    cluster
}

/// Heals all faults, waits, and returns the history after asserting that it is valid.
async fn judged(mut cluster: ScenarioCluster, case: &str) -> Vec<Record> {
    cluster.heal().await.unwrap();
    cluster.elapse(Duration::from_secs(60)).await;
    let history = History::from_records(Box::new(cluster).finish().await.unwrap());
    let report = check(&history, &Options::default());
    assert_eq!(report.verdict, Verdict::Valid, "{case}: {report}");
    history.records().to_vec()
}

/// A successful run.
#[derive(Debug)]
struct Done {
    fire: i64,
    item: u32,
    source: String,
    p: String,
}

fn done(records: &[Record]) -> Vec<Done> {
    let done = records.iter().filter_map(|record| {
        let Fact::Exec { ev: ExecEvent::End, run, source, result, .. } = &record.fact else {
            return None;
        };
        let source = source.clone();
        let done = Done { fire: run.fire, item: run.item, source, p: record.p.clone() };
        (result.as_deref() == Some("ok")).then_some(done)
    });
    done.collect()
}

fn runs(records: &[Record], process: &str) -> bool {
    let starts = |record: &Record| matches!(record.fact, Fact::Exec { .. });
    records.iter().any(|record| record.p == process && starts(record))
}

fn is_taken_over(records: &[Record], by: &str) -> bool {
    done(records).iter().any(|done| done.source == "FAILOVER" && done.p == by)
}

fn n_sessions(records: &[Record], process: &str) -> usize {
    let opened = |record: &&Record| matches!(&record.fact, Fact::SessionOpened { owner, .. } if owner == process);
    records.iter().filter(opened).count()
}

fn learns(records: &[Record], process: &str, wanted: SessionEvent) -> bool {
    let has_event =
        |record: &Record| matches!(record.fact, Fact::Session { ev, .. } if ev == wanted);
    records.iter().any(|record| record.p == process && has_event(record))
}

#[test]
fn each_fire_of_each_item_runs_once_without_faults() {
    let records = run(async {
        let mut cluster = cluster(1, &["a", "b", "c"], 6, 0.2).await;
        cluster.elapse(Duration::from_secs(65)).await;
        judged(cluster, "without faults").await
    });
    let mut done: Vec<_> = done(&records).iter().map(|done| (done.fire, done.item)).collect();
    let n_done = done.len();
    done.sort_unstable();
    done.dedup();
    assert_eq!(done.len(), n_done, "no fire of an item runs twice");
    assert_eq!(n_done, 6 * 12, "twelve fires in two minutes");
}

#[test]
fn run_of_killed_process_is_taken_over() {
    let records = run(async {
        let mut cluster = cluster(2, &["a", "b"], 4, 0.5).await;
        cluster.until("a runs something", 6, &|records| runs(records, "a")).await.unwrap();
        cluster.kill("a").await.unwrap();
        cluster.until("b takes it over", 6, &|records| is_taken_over(records, "b")).await.unwrap();
        judged(cluster, "a crash").await
    });
    let crash = records
        .iter()
        .position(|r| matches!(&r.fact, Fact::Nemesis { kind, .. } if kind == "crash"));
    let after_death = &records[crash.unwrap()..];
    assert!(after_death.iter().all(|record| record.p != "a"), "a killed process writes no records");
}

#[test]
fn partitioned_process_returns_in_new_session() {
    for mode in [LinkMode::Black, LinkMode::DropRequests, LinkMode::DropReplies] {
        run(async {
            let mut cluster = cluster(3, &["a", "b"], 4, 0.1).await;
            cluster.elapse(Duration::from_secs(12)).await;
            cluster.link("a", mode).await.unwrap();
            cluster.elapse(Duration::from_secs(15)).await;
            cluster.link("a", LinkMode::Pass).await.unwrap();
            let back = |records: &[Record]| n_sessions(records, "a") >= 2;
            cluster.until("a has a new session", 2, &back).await.unwrap();
            judged(cluster, &format!("{mode:?}")).await
        });
    }
}

/// A reset is healed within the session; no run is taken over.
#[test]
fn connection_reset_keeps_session_and_runs() {
    let records = run(async {
        let mut cluster = cluster(4, &["a", "b"], 4, 0.5).await;
        cluster.until("a runs something", 6, &|records| runs(records, "a")).await.unwrap();
        cluster.link("a", LinkMode::Reset).await.unwrap();
        let suspended = |records: &[Record]| learns(records, "a", SessionEvent::Suspended);
        cluster.until("a is suspended", 1, &suspended).await.unwrap();
        judged(cluster, "a reset").await
    });
    assert_eq!(n_sessions(&records, "a"), 1);
    assert!(!is_taken_over(&records, "b"));
}

#[test]
fn pause_causes_takeover_only_if_it_outlasts_the_session() {
    for (case, pause, expected) in [("long", 12, true), ("short", 2, false)] {
        let records = run(async {
            let mut cluster = cluster(5, &["a", "b"], 4, 0.6).await;
            cluster.until("a runs something", 6, &|records| runs(records, "a")).await.unwrap();
            cluster.pause("a").await.unwrap();
            cluster.elapse(Duration::from_secs(pause)).await;
            cluster.resume("a").await.unwrap();
            judged(cluster, case).await
        });
        assert_eq!(is_taken_over(&records, "b"), expected, "{case}");
        assert_eq!(n_sessions(&records, "a") > 1, expected, "{case}");
    }
}

#[test]
fn injected_action_happens_at_its_write() {
    let actions = [
        Action::Kill,
        Action::Pause,
        Action::Expire,
        Action::Lose,
        Action::Delay(Duration::from_secs(2)),
    ];
    for (action, when) in actions.into_iter().flat_map(|a| [(a, When::Before), (a, When::After)]) {
        let case = format!("{action:?} {when:?} the claim");
        let records = run(async {
            let mut cluster = cluster(6, &["a", "b"], 4, 0.3).await;
            let point = Point { duty: Some("claim".to_owned()), nth: 0, when };
            cluster.inject("a", point, action).await.unwrap();
            cluster.elapse(Duration::from_secs(25)).await;
            judged(cluster, &case).await
        });
        let fired = |record: &Record| matches!(&record.fact, Fact::Nemesis { why, .. } if why.contains("claim"));
        assert!(records.iter().any(fired), "{case}");
        // Only a killed process stops completing runs.
        assert_eq!(
            done(&records).iter().any(|done| done.p == "a"),
            action != Action::Kill,
            "{case}"
        );
    }
}

#[test]
fn promises_hold_while_registry_is_down_stopped_or_lagging() {
    let events = [
        RegEvent::KillLeader,
        RegEvent::StopLeader(Duration::from_secs(3)),
        RegEvent::RestartAll(Duration::from_secs(10)),
        RegEvent::Lag(Duration::from_secs(3)),
    ];
    for event in events {
        run(async {
            let mut cluster = cluster(7, &["a", "b", "c"], 5, 0.3).await;
            cluster.until("a runs something", 6, &|records| runs(records, "a")).await.unwrap();
            cluster.registry(event).await.unwrap();
            cluster.elapse(Duration::from_secs(25)).await;
            judged(cluster, &format!("{event:?}")).await
        });
    }
}

#[test]
fn operator_actions_take_effect() {
    let ops = [
        AdminOp::Configure(Box::new(config(7))),
        AdminOp::Server { ip: "10.0.0.1".to_owned(), disabled: true },
        AdminOp::Item { item: 1, disabled: true },
        AdminOp::Pause { ip: "10.0.0.1".to_owned(), paused: true },
        AdminOp::RemoveInstance("a".to_owned()),
        AdminOp::RemoveLeader,
        AdminOp::Trigger,
        AdminOp::Cancel { item: 1 },
        AdminOp::Backfill { fires: 2, items: 4, concurrency: 1 },
        AdminOp::CancelBackfill,
    ];
    for op in ops {
        let case = format!("{op:?}");
        let records = run(async {
            let mut cluster = cluster(8, &["a", "b"], 4, 0.2).await;
            cluster.elapse(Duration::from_secs(12)).await;
            cluster.admin(op.clone()).await.unwrap();
            cluster.elapse(Duration::from_secs(30)).await;
            judged(cluster, &case).await
        });
        let n = |source: &str| done(&records).iter().filter(|done| done.source == source).count();
        assert_eq!(n("MANUAL"), if op == AdminOp::Trigger { 4 } else { 0 }, "{case}");
        let is_backfill = matches!(op, AdminOp::Backfill { .. });
        assert_eq!(n("BACKFILL"), if is_backfill { 8 } else { 0 }, "{case}");
    }
}

#[test]
fn graceful_leave_causes_no_takeover() {
    let records = run(async {
        let mut cluster = cluster(9, &["a", "b"], 4, 0.5).await;
        cluster.until("a runs something", 6, &|records| runs(records, "a")).await.unwrap();
        cluster.close("a").await.unwrap();
        let closed = |records: &[Record]| learns(records, "a", SessionEvent::Closed);
        cluster.until("a has left", 3, &closed).await.unwrap();
        judged(cluster, "leaving").await
    });
    assert!(!is_taken_over(&records, "b"));
}
