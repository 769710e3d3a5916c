//! Scenario tests of backfills.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    Backfill, BackfillCancel, BackfillLog, Duty, FireTime, JobConfig, JobEvent, JobName, Layout,
    OperatorStep, Outcome, RunSource, UnknownFields,
};
use reg_center::Version;
use sharding::ShardingItem;

const A_WHILE: Duration = Duration::from_secs(2);
const FIRES: [i64; 3] = [10_000, 20_000, 30_000];

fn layout(config: &JobConfig) -> Layout {
    Layout::new(&JobName::new(config.job_name.as_str()).unwrap())
}

fn backfill(id: &str, at: i64, items: u32, concurrency: usize) -> Backfill {
    Backfill {
        id: id.into(),
        by: "anna".to_owned(),
        why: "wrong rates".to_owned(),
        at: FireTime(at),
        from_ms: FIRES[0],
        until_ms: FIRES[2] + 1,
        fires: FIRES.map(FireTime).to_vec(),
        total: FIRES.len(),
        items: (0..items).map(ShardingItem::new).collect(),
        concurrency,
        done: 0,
        cancel: None,
        ended_ms: None,
        unknown: UnknownFields::default(),
    }
}

fn store(cluster: &mut Cluster, log: BackfillLog, expect: Option<Version>) {
    let step = OperatorStep::SetBackfills { log, expect };
    let txn = layout(&job_of(1)).change(&[step]);
    cluster.operate(&txn);
}

fn request(cluster: &mut Cluster, wanted: Backfill) {
    let (expect, mut log) =
        cluster.registry_view().backfill_log().map(|(expect, log)| (expect, log.clone())).unwrap();
    log.push(wanted);
    store(cluster, log, expect);
}

fn cancel(cluster: &mut Cluster, id: &str) {
    let (expect, log) = cluster.registry_view().backfill_log().unwrap();
    let cancel = BackfillCancel { by: "ben".to_owned(), why: "enough".to_owned(), at_ms: 1 };
    let cancelled = Backfill { cancel: Some(cancel), ..log.get(id).unwrap().clone() };
    let log = log.with(&cancelled);
    store(cluster, log, expect);
}

fn known(cluster: &Cluster, id: &str) -> Backfill {
    cluster.registry_view().backfills().get(id).unwrap().clone()
}

/// Returns the past fires that an item ran, in order.
fn past_fires(cluster: &Cluster, item: u32) -> Vec<i64> {
    let runs = cluster.runs().map(|(_, start)| start);
    let of_item = runs.filter(|start| start.item.index() == item);
    of_item.filter_map(|start| start.past_fire.map(|fire| fire.0)).collect()
}

/// Returns the past fires that are in progress by the records.
fn in_progress(cluster: &Cluster, items: u32) -> BTreeSet<i64> {
    let of = |item: u32| {
        let ledger = cluster.ledger(ShardingItem::new(item));
        let waits = ledger.request.as_ref().and_then(|request| request.past_fire);
        [waits, ledger.run().and_then(|run| run.past_fire)]
    };
    (0..items).flat_map(of).flatten().map(|fire| fire.0).collect()
}

/// Ends all runs again and again, and returns the greatest number of fires in progress.
fn run_through(cluster: &mut Cluster, items: u32) -> usize {
    let mut most = 0;
    for _ in 0..40 {
        cluster.run_for(Duration::from_millis(50));
        most = most.max(in_progress(cluster, items).len());
        cluster.end_all_runs();
    }
    most
}

#[test]
fn each_item_runs_each_past_fire_once_and_in_order() {
    for (concurrency, expected) in [(1, 1), (2, 2)] {
        let mut cluster = Cluster::settled(2, &job_of(3));
        request(&mut cluster, backfill("b", 901, 3, concurrency));
        let most = run_through(&mut cluster, 3);
        for item in 0..3 {
            assert_eq!(past_fires(&cluster, item), FIRES, "item {item}\n{}", cluster.trace());
        }
        assert!(most <= expected, "{most} fires in progress\n{}", cluster.trace());
        let ended = known(&cluster, "b");
        assert_eq!((ended.done, ended.fires.len()), (3, 0), "{}", cluster.trace());
        assert!(ended.ended_ms.is_some());
        let runs: BTreeSet<_> =
            cluster.runs().map(|(_, start)| (start.source, start.fire.0)).collect();
        let expected = [901, 903, 905].map(|at| (RunSource::Backfill, at));
        assert_eq!(runs, expected.into(), "one identity for each fire");
        let record = cluster.ledger(ShardingItem::new(0));
        assert_eq!((record.last_fire, record.token.0), (None, 3), "{}", record.summary());
    }
}

#[test]
fn concurrency_lets_idle_items_go_ahead_of_a_busy_one() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    request(&mut cluster, backfill("b", 901, 2, 2));
    for _ in 0..20 {
        cluster.run_for(Duration::from_millis(100));
        cluster.end_run(0, 1);
    }
    assert_eq!(past_fires(&cluster, 0), FIRES[..1], "{}", cluster.trace());
    assert_eq!(past_fires(&cluster, 1), FIRES[..2], "the window ends\n{}", cluster.trace());
    assert_eq!(known(&cluster, "b").done, 0);
    run_through(&mut cluster, 2);
    assert_eq!(past_fires(&cluster, 1), FIRES, "{}", cluster.trace());
}

#[test]
fn new_leader_neither_skips_nor_repeats_a_fire() {
    let mut cluster = Cluster::settled(3, &job_of(3));
    request(&mut cluster, backfill("b", 901, 3, 1));
    cluster.run_for(A_WHILE);
    for _ in 0..2 {
        let leader = cluster.leader().unwrap();
        cluster.crash(leader);
        run_through(&mut cluster, 3);
    }
    for item in 0..3 {
        let mut fires = past_fires(&cluster, item);
        // A takeover starts the run of a lost holder again.
        fires.dedup();
        assert_eq!(fires, FIRES, "item {item}\n{}", cluster.trace());
    }
    assert!(known(&cluster, "b").ended_ms.is_some());
}

#[test]
fn lost_reply_gives_no_fire_twice() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    request(&mut cluster, backfill("b", 901, 2, 1));
    cluster.deliver_all(0);
    assert!(cluster.execute(0), "{}", cluster.trace());
    cluster.lose_reply(0);
    run_through(&mut cluster, 2);
    for item in 0..2 {
        assert_eq!(past_fires(&cluster, item), FIRES, "item {item}\n{}", cluster.trace());
    }
}

#[test]
fn fire_is_not_given_after_cancellation_was_written() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    request(&mut cluster, backfill("b", 901, 2, 1));
    cluster.deliver_all(0);
    let given = cluster.hold_commit(0, Duty::Trigger);
    cancel(&mut cluster, "b");
    assert!(cluster.is_rejected(given), "{}", cluster.trace());
}

#[test]
fn progress_does_not_undo_a_cancellation() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    request(&mut cluster, backfill("b", 901, 2, 1));
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.step_until_queued(0, Duty::Trigger);
    let progress = cluster.hold_commit(0, Duty::Trigger);
    assert!(progress.writes_to("coordination/backfills"), "{}", cluster.trace());
    cancel(&mut cluster, "b");
    assert!(cluster.is_rejected(progress), "{}", cluster.trace());
    assert!(known(&cluster, "b").cancel.is_some());
}

#[test]
fn cancellation_drops_waiting_requests_and_lets_runs_go_on() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_run(0, 0);
    request(&mut cluster, backfill("b", 901, 2, 1));
    cluster.run_for(A_WHILE);
    assert_eq!(past_fires(&cluster, 0), FIRES[..1], "item 0 is idle\n{}", cluster.trace());
    assert!(cluster.ledger(ShardingItem::new(1)).request.is_some(), "item 1 still runs");
    cancel(&mut cluster, "b");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.ledger(ShardingItem::new(1)).request, None, "{}", cluster.trace());
    assert!(cluster.ledger(ShardingItem::new(0)).is_busy(), "its run goes on");
    let cancelled = known(&cluster, "b");
    assert!(cancelled.ended_ms.is_some() && cancelled.cancel.is_some(), "{}", cluster.trace());
    run_through(&mut cluster, 2);
    assert_eq!(past_fires(&cluster, 1), [0; 0], "{}", cluster.trace());
    assert_eq!(cluster.ledger(ShardingItem::new(0)).outcome, Some(Outcome::Succeeded));
    assert_eq!(cluster.items_run_for(fire), [0, 1]);
    let dropped = |event: &JobEvent| matches!(event, JobEvent::Missed { .. });
    assert!(!cluster.events(0).iter().any(dropped), "{}", cluster.trace());
}

#[test]
fn scheduled_fire_comes_before_a_past_one() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let first = cluster.fire();
    cluster.run_for(A_WHILE);
    request(&mut cluster, backfill("b", 901, 1, 1));
    cluster.run_for(A_WHILE);
    let second = cluster.fire();
    cluster.run_for(A_WHILE);
    run_through(&mut cluster, 1);
    let runs: Vec<_> = cluster.runs().map(|(_, start)| start.fire.0).collect();
    assert_eq!(runs, [first.0, second.0, 901, 903, 905], "{}", cluster.trace());
}

#[test]
fn disabled_item_drops_its_fires_and_others_go_on() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.create("sharding/1/disabled", "");
    cluster.run_for(A_WHILE);
    request(&mut cluster, backfill("b", 901, 2, 1));
    run_through(&mut cluster, 2);
    assert_eq!(past_fires(&cluster, 0), FIRES, "{}", cluster.trace());
    assert_eq!(past_fires(&cluster, 1), [0; 0], "{}", cluster.trace());
    assert!(known(&cluster, "b").ended_ms.is_some(), "{}", cluster.trace());
}

#[test]
fn backfill_waits_while_the_job_is_not_monitored() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let unmonitored = job_of(1)
        .with(|it| (it.monitor_execution, it.failover, it.misfire) = (false, false, false));
    cluster.configure(&unmonitored);
    cluster.run_for(A_WHILE);
    request(&mut cluster, backfill("b", 901, 1, 1));
    run_through(&mut cluster, 1);
    assert_eq!(cluster.runs().count(), 0, "{}", cluster.trace());
    cluster.configure(&job_of(1));
    run_through(&mut cluster, 1);
    assert_eq!(past_fires(&cluster, 0), FIRES, "{}", cluster.trace());
}

#[test]
fn backfill_waits_while_java_instances_take_part() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let java = cluster.java_joins("10.0.0.9");
    cluster.run_for(A_WHILE);
    request(&mut cluster, backfill("b", 901, 1, 1));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.ledger(ShardingItem::new(0)).request, None, "{}", cluster.trace());
    cancel(&mut cluster, "b");
    cluster.run_for(A_WHILE);
    assert!(known(&cluster, "b").ended_ms.is_some(), "{}", cluster.trace());
    cluster.java_crashes(&java);
}
