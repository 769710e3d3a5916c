//! Scenario tests of mixed jobs. Java instances write owners and marks, read no records and claim
//! nothing.

use std::time::Duration;

use crate::script::{Cluster, JavaPeer, job_of};
use coordination::{
    Coordinator, Dialect, Duty, Event, FireTime, JavaSettings, JobEvent, MissReason, RunSource,
};
use reg_center::Limits;
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);

/// Returns a job with a Java leader and a Rust instance, which owns `rust_items` of the items.
fn led_by_java(items: u32, rust_items: &[u32]) -> (Cluster, JavaPeer) {
    let mut cluster = Cluster::without_instances(&job_of(items));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_becomes_leader(&java);
    cluster.join();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, items, rust_items);
    (cluster, java)
}

fn assign(cluster: &mut Cluster, java: &JavaPeer, items: u32, rust_items: &[u32]) {
    let rust_id = cluster.id_of(FIRST).to_string();
    for item in 0..items {
        let owner = if rust_items.contains(&item) { rust_id.as_str() } else { java.id() };
        cluster.java_assigns(java, item, owner);
    }
    cluster.run_for(A_WHILE);
}

fn sources(cluster: &Cluster) -> Vec<(u32, RunSource)> {
    let mut runs: Vec<_> = cluster.runs().map(|(_, s)| (s.item.index(), s.source)).collect();
    runs.sort_unstable();
    runs
}

/// Asserts that the Rust instance takes over only item 1, for the same fire, when the Java instance
/// is lost during its run.
fn assert_item_1_is_taken_over(mut cluster: Cluster, java: &JavaPeer, fire: FireTime) {
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(java);
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    let expected = [(0, RunSource::Normal), (1, RunSource::Failover)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "another fire\n{}", cluster.trace());
}

#[test]
fn rust_instance_runs_its_items_under_java_leader() {
    let (mut cluster, _java) = led_by_java(4, &[0, 1]);
    for _ in 0..3 {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
}

#[test]
fn no_claim_during_resharding_by_java_leader() {
    for flag in ["leader/sharding/necessary", "leader/sharding/processing"] {
        let (mut cluster, java) = led_by_java(2, &[0]);
        cluster.create(flag, "");
        cluster.run_for(A_WHILE);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run_for(fire).is_empty(), "{flag}: {}", cluster.trace());
        assign(&mut cluster, &java, 2, &[1]);
        cluster.remove(flag);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [1], "{flag}: {}", cluster.trace());
    }
}

/// The claim is in flight when the Java leader creates the flag.
#[test]
fn claim_conflicts_when_java_leader_announced_resharding() {
    let (mut cluster, _java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    let claims = cluster.hold_all_commits();
    cluster.create("leader/sharding/necessary", "");
    cluster.requeue(claims);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
}

#[test]
fn fire_of_java_owned_item_is_not_repeated() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());

    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
}

/// The record of the item lacks the fire that the Java instance has run.
#[test]
fn fire_of_item_that_comes_back_from_java_instance_is_not_reported_as_missed() {
    let (mut cluster, java) = led_by_java(2, &[0, 1]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, 2, &[0]);
    let fire = cluster.fire();
    cluster.java_starts_run(&java, 1);
    cluster.run_for(A_WHILE);
    cluster.java_ends_run(&java, 1);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, 2, &[0, 1]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
    assert_eq!(cluster.misses(FIRST), [], "{}", cluster.trace());
}

#[test]
fn interrupted_java_run_is_taken_over_and_ended_one_is_not() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    let fire = cluster.fire();
    cluster.java_starts_run(&java, 1);
    cluster.java_starts_run(&java, 2);
    cluster.run_for(A_WHILE);
    cluster.java_ends_run(&java, 2);
    assert_item_1_is_taken_over(cluster, &java, fire);
}

/// Fires. The Java instance begins item 1, and its run continues after the Rust runs have ended.
fn fire_and_run_item_1_on_java(cluster: &mut Cluster, java: &JavaPeer) -> FireTime {
    let fire = cluster.fire();
    cluster.java_starts_run(java, 1);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    fire
}

/// The nodes of an expired session vanish one after the other, and the mark vanishes first.
#[test]
fn java_run_marked_until_session_loss_is_taken_over() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = fire_and_run_item_1_on_java(&mut cluster, &java);
    cluster.java_ends_run(&java, 1);
    cluster.deliver_all(FIRST);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

/// The Java leader assigns items when the fire comes, and runs its own at once.
#[test]
fn java_run_interrupted_right_after_resharding_is_taken_over() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.create("leader/sharding/necessary", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.remove("leader/sharding/necessary");
    cluster.java_starts_run(&java, 1);
    cluster.run_for(A_WHILE);
    assert_item_1_is_taken_over(cluster, &java, fire);
}

/// The Java leader assigns the item to itself and takes it over before the Rust instance sees the
/// loss of the holder.
#[test]
fn run_taken_over_at_once_by_java_leader_is_not_repeated() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let java = cluster.java_joins("10.0.9.2");
    cluster.java_assigns(&leader, 1, java.id());
    cluster.run_for(A_WHILE);
    let fire = fire_and_run_item_1_on_java(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.java_assigns(&leader, 1, leader.id());
    cluster.create("leader/failover/items/1", "");
    cluster.java_takes_over(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&leader);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
}

/// A Java leader waits until no item has a mark, and then changes the owner without reading the
/// record.
#[test]
fn orphaned_rust_run_does_not_block_its_item_under_java_leader() {
    let (mut cluster, java) = led_by_java(2, &[0, 1]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).to_string();
    for item in 0..2 {
        cluster.java_assigns(&java, item, &newcomer);
    }
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_runs(1);
    }
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

/// Java instances take items from the queue without reading their records.
#[test]
fn run_taken_over_by_java_instance_is_not_repeated() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.send_event(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).to_string();
    cluster.java_assigns(&java, 0, &newcomer);
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(0)).queued, "{}", cluster.trace());

    cluster.java_takes_over(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.send_event(1, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "the takeover is repeated\n{}", cluster.trace());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0], "{}", cluster.trace());
}

/// Returns a job of two Rust instances in which a Java instance has taken over the item of the lost
/// second one. The first one leads and is paused. Also returns the Java instance, the item and the
/// fire.
fn taken_over_by_java(others: &[&str]) -> (Cluster, JavaPeer, u32, FireTime) {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let second = cluster.id_of(1).clone();
    let item = (0..2).find(|item| cluster.owner(*item) == Some(&second)).unwrap();
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let java = cluster.java_joins("10.0.9.1");
    others.iter().for_each(|ip| drop(cluster.java_joins(ip)));
    cluster.send_event(FIRST, Event::Paused);
    cluster.crash(1);
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(item)).queued, "{}", cluster.trace());
    cluster.java_takes_over(&java, item);
    cluster.run_for(A_WHILE);
    (cluster, java, item, fire)
}

/// Resumes the first instance. Returns how often the item was taken over for the fire.
fn takeovers(cluster: &mut Cluster, fire: FireTime) -> usize {
    cluster.send_event(FIRST, Event::Resumed);
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    let runs = cluster.runs_for(fire);
    runs.filter(|(_, start)| start.source == RunSource::Failover).count()
}

#[test]
fn interrupted_java_takeover_is_taken_over_once() {
    let (mut cluster, java, item, fire) = taken_over_by_java(&["10.0.9.2"]);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(item)).queued, "{}", cluster.trace());
    assert_eq!(takeovers(&mut cluster, fire), 1, "{}", cluster.trace());

    let (mut alone, java, _, fire) = taken_over_by_java(&[]);
    alone.java_crashes(&java);
    assert_eq!(takeovers(&mut alone, fire), 1, "{}", alone.trace());
}

/// The nodes of an expired session vanish one after the other, and the marks vanish first.
#[test]
fn interrupted_java_takeover_is_taken_over_if_marks_vanish_first() {
    let (mut cluster, java, item, fire) = taken_over_by_java(&["10.0.9.2"]);
    cluster.java_ends_takeover(&java, item);
    cluster.run_for(Duration::from_millis(100));
    cluster.java_crashes(&java);
    assert_eq!(takeovers(&mut cluster, fire), 1, "{}", cluster.trace());
}

/// An idle instance must not take the item over while it is uncertain whether the run has ended.
#[test]
fn ended_java_takeover_is_not_repeated_when_instance_leaves() {
    for others in [&["10.0.9.2"][..], &[]] {
        let (mut cluster, java, item, fire) = taken_over_by_java(others);
        cluster.send_event(FIRST, Event::Resumed);
        cluster.run_for(A_WHILE);
        cluster.java_ends_takeover(&java, item);
        cluster.run_for(A_WHILE);
        let ledger = cluster.ledger(ShardingItem::new(item));
        assert!(ledger.is_idle(), "{}\n{}", ledger.summary(), cluster.trace());
        cluster.java_crashes(&java);
        assert_eq!(takeovers(&mut cluster, fire), 0, "{}", cluster.trace());
    }
}

/// A second Java instance takes over the interrupted run of a Java instance before a Rust instance
/// has a record of it, and is lost too.
#[test]
fn run_interrupted_on_two_java_instances_is_taken_over() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let java = cluster.java_joins("10.0.9.2");
    cluster.java_assigns(&leader, 1, java.id());
    cluster.run_for(A_WHILE);
    let fire = fire_and_run_item_1_on_java(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.create("leader/failover/items/1", "");
    cluster.java_takes_over(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&leader);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

/// Under a Java leader the owner of an item puts it back into the queue.
#[test]
fn owner_requeues_interrupted_java_takeover_under_java_leader() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.send_event(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).to_string();
    cluster.java_assigns(&leader, 0, &newcomer);
    let java = cluster.java_joins("10.0.9.2");
    cluster.run_for(A_WHILE);
    cluster.java_takes_over(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(0)).queued, "{}", cluster.trace());
    cluster.send_event(1, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 0], "{}", cluster.trace());
}

#[test]
fn misfire_mark_and_queue_entry_of_java_instance_are_kept() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let item = (0..2).find(|item| cluster.owner(*item).unwrap().as_str() == java.id()).unwrap();
    cluster.create(&format!("sharding/{item}/misfire"), "");
    cluster.create("leader/failover/items/1", "");
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(item)).misfire, "{}", cluster.trace());
    assert!(cluster.registry_view().item(ShardingItem::new(1)).queued, "{}", cluster.trace());
}

#[test]
fn next_owner_replays_misfire_of_java_instance() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.create("sharding/1/misfire", "");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let expected = [(0, RunSource::Normal), (1, RunSource::Misfire)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.trace());
    assert!(!cluster.registry_view().item(ShardingItem::new(1)).misfire, "{}", cluster.trace());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
    assert!(next > fire);
}

#[test]
fn operator_trigger_runs_items_of_instance_under_java_leader() {
    let (mut cluster, _java) = led_by_java(3, &[0, 2]);
    let node = format!("instances/{}", cluster.id_of(FIRST));
    cluster.write(&node, "TRIGGER");
    cluster.run_for(A_WHILE);
    let expected = [(0, RunSource::Manual), (2, RunSource::Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.trace());
    assert_eq!(cluster.data_of(&node).as_deref(), Some("RUST"));
}

/// The Java instance looked before the Rust leader was elected, and replaces its node.
#[test]
fn rust_leader_cannot_write_after_java_replaced_its_node() {
    let mut cluster = Cluster::without_instances(&job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    cluster.create("sharding/2/disabled", "");
    cluster.deliver_all(FIRST);
    let writes = cluster.hold_all_commits();
    assert_eq!(writes.len(), 1, "{}", cluster.trace());
    cluster.java_replaces_leader(&java);
    cluster.requeue(writes);
    cluster.run_for(A_WHILE);
    let noted = cluster.ledger(ShardingItem::new(2)).disabled;
    assert!(!noted, "the deposed leader has written\n{}", cluster.trace());
}

/// The Java instance reads no record and begins an item that its cache shows as its own.
#[test]
fn release_of_rust_run_keeps_java_mark() {
    let v3 = job_of(4).with(|it| it.java = JavaSettings::of(Dialect::V3));
    for config in [job_of(4), v3] {
        let dialect = config.java.dialect();
        let mut cluster = match dialect {
            Dialect::V2 => Cluster::settled(1, &config),
            Dialect::V3 => Cluster::settled_with(1, &config, |c, _| c.speaking(Dialect::V3)),
        };
        let java = cluster.java_joins("10.0.9.1");
        cluster.run_for(A_WHILE);
        let rust_id = cluster.id_of(FIRST).clone();
        let item = (0..4).find(|item| cluster.owner(*item) == Some(&rust_id)).unwrap();
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.java_starts_run_over_mark(&java, item);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let marked = cluster.registry_view().item(ShardingItem::new(item)).marks.shows_run();
        assert!(marked, "{dialect:?}: {}", cluster.trace());
        assert!(cluster.ledger(ShardingItem::new(item)).is_idle(), "{}", cluster.trace());
        let node = format!("/report/sharding/{item}/running: {} has started", java.id());
        let reported = anomalies(&cluster, FIRST);
        let n_reports = reported.iter().filter(|text| text.starts_with(&node)).count();
        assert_eq!(n_reports, 1, "{reported:?}");
        let next = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(!cluster.items_run_for(next).contains(&item), "{}", cluster.trace());
        cluster.java_ends_run(&java, item);
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run_for(next).contains(&item), "{dialect:?}: {}", cluster.trace());
    }
}

/// Java's statistics show an item for each node below `sharding`.
#[test]
fn retired_items_leave_no_empty_nodes_beside_java_instance() {
    let (mut cluster, _java, _) = shared_with_java();
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.nodes_below("sharding"), ["0", "1", "2"], "{}", cluster.trace());
    cluster.configure(&job_of(4));
    cluster.run_for(A_WHILE);
    assert!(cluster.owner(3).is_some(), "{}", cluster.trace());
}

/// Java counts items below `guarantee`, and Rust instances by records, so neither count completes.
#[test]
fn callbacks_that_wait_for_other_language_are_reported() {
    let mut cluster = Cluster::settled_with(1, &job_of(4), |c, _| c.calling_back());
    let n_reports = |cluster: &Cluster, node: &str| {
        let node = format!("/report/{node}: ");
        anomalies(cluster, FIRST).iter().filter(|anomaly| anomaly.starts_with(&node)).count()
    };
    cluster.create("guarantee/started/1", "");
    cluster.run_for(A_WHILE);
    let reported = anomalies(&cluster, FIRST);
    assert!(reported.is_empty(), "reported without a Java instance\n{}", cluster.trace());
    let java = cluster.java_joins("10.0.9.1");
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.remove("guarantee/started/1");
        cluster.run_for(A_WHILE);
        cluster.create("guarantee/started/1", "");
    }
    assert_eq!(n_reports(&cluster, "guarantee"), 1, "{}", cluster.trace());
    assert_eq!(n_reports(&cluster, "coordination/once"), 1, "{}", cluster.trace());
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let callback = cluster.callback_instance();
    assert_eq!(callback, None, "not all items have begun {fire}\n{}", cluster.trace());
    cluster.end_all_runs();
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let callback = cluster.callback_instance();
    assert_eq!(callback, Some(FIRST), "no callback without Java instances\n{}", cluster.trace());
    cluster.java_joins("10.0.9.2");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(n_reports(&cluster, "guarantee"), 2, "{}", cluster.trace());
    assert_eq!(n_reports(&cluster, "coordination/once"), 2, "{}", cluster.trace());
}

const LATCHES: [&str; 2] = ["leader/election/latch", "leader/failover/latch"];

fn assert_latches_are_empty(cluster: &Cluster) {
    for latch in LATCHES {
        assert!(cluster.nodes_below(latch).is_empty(), "{latch}: {}", cluster.trace());
    }
}

fn anomalies(cluster: &Cluster, instance: usize) -> Vec<String> {
    let events = cluster.events(instance).iter();
    let anomaly = |event: &JobEvent| match event {
        JobEvent::Anomaly { path, reason } => Some(format!("{path}: {reason}")),
        _ => None,
    };
    events.filter_map(anomaly).collect()
}

#[test]
fn election_waits_for_java_contender() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_joins_latch(&java, "election", 7);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
    assert_eq!(cluster.waits_for(FIRST), Some("a Java instance to leave a latch"));
    cluster.java_becomes_leader(&java);
    cluster.java_leaves_latch(&java, "election", 7);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
    assert_latches_are_empty(&cluster);
}

/// The Rust instance is about to join the latch when the Java instance is elected.
#[test]
fn joining_latch_conflicts_when_leader_was_elected() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    cluster.step_until_queued(FIRST, Duty::Election);
    let join = cluster.hold_commit(FIRST, Duty::Election);
    assert!(join.writes_to("leader/election/latch"), "{}", cluster.trace());
    cluster.java_becomes_leader(&java);
    assert!(cluster.is_rejected(join), "{}", cluster.trace());
}

#[test]
fn later_java_contender_waits_for_rust_election() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    while cluster.nodes_below("leader/election/latch").is_empty() {
        let stepped = cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST);
        assert!(stepped, "the Rust instance does not join the latch: {}", cluster.trace());
    }
    let contender = cluster.nodes_below("leader/election/latch").remove(0);
    assert!(contender.ends_with("-latch-0000000000"), "{contender}");
    cluster.java_joins_latch(&java, "election", 1);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    cluster.java_leaves_latch(&java, "election", 1);
    assert_latches_are_empty(&cluster);
}

/// Both join the latch at once. The Rust contender's number is the lower one and its node the later
/// one, so each would wait for the other.
#[test]
fn rust_contender_reenters_latch_to_avoid_deadlock() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    let mut joins = Vec::new();
    for _ in 0..50 {
        joins = cluster.hold_all_commits();
        if joins.iter().any(|commit| commit.writes_to("leader/election/latch")) {
            break;
        }
        cluster.requeue(std::mem::take(&mut joins));
        let _ = cluster.execute(FIRST) || cluster.reply(FIRST) || cluster.deliver(FIRST);
    }
    assert!(!joins.is_empty(), "the Rust instance does not join the latch: {}", cluster.trace());
    cluster.java_joins_latch(&java, "election", 41);
    cluster.requeue(joins);
    cluster.run_for(Duration::from_millis(500));
    let contenders = cluster.nodes_below("leader/election/latch").into_iter();
    let numbers: Vec<_> =
        contenders.filter_map(|node| node.rsplit('-').next()?.parse().ok()).collect();
    assert_eq!(numbers.iter().max(), Some(&42_u32), "{numbers:?}\n{}", cluster.trace());
    cluster.java_becomes_leader(&java);
    cluster.java_leaves_latch(&java, "election", 41);
    cluster.run_for(Duration::from_millis(500));
    assert_latches_are_empty(&cluster);
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.trace());
}

/// The Java process is stopped or partitioned, and its session is alive.
#[test]
fn stuck_java_contender_is_reported_and_rust_instance_leads() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_joins_latch(&java, "election", 7);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
    cluster.run_for(3 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    let expected =
        "/report/leader/election/latch: a Java instance has had the turn to elect a leader for 5s";
    assert_eq!(anomalies(&cluster, FIRST), [expected]);
}

/// The Rust instance has waited for its turn before, and has led since.
#[test]
fn each_turn_has_its_own_wait() {
    let mut cluster = Cluster::without_instances(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_joins_latch(&java, "election", 7);
    cluster.join();
    cluster.run_for(4 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.run_for(A_WHILE);
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
    cluster.run_for(2 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
}

/// Java takes an item over in two steps: it reads the first queue entry, and then writes its mark.
#[test]
fn takeover_waits_for_turn_of_java_instance() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.java_starts_run(&java, 1);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    let other = cluster.java_joins("10.0.9.2");
    cluster.java_joins_latch(&other, "failover", 3);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.registry_view().item(ShardingItem::new(1)).queued, "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());

    cluster.java_takes_over(&other, 1);
    cluster.java_leaves_latch(&other, "failover", 3);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&other, 1);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "item 1 is repeated\n{}", cluster.trace());
    assert_latches_are_empty(&cluster);
}

#[test]
fn request_of_rust_instance_reaches_all_owners_under_java_leader() {
    let (mut cluster, java) = led_by_java(3, &[0, 2]);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let expected = [(0, RunSource::Manual), (2, RunSource::Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.trace());
    let of_java = format!("instances/{}", java.id());
    assert_eq!(cluster.data_of(&of_java).as_deref(), Some("TRIGGER"), "{}", cluster.trace());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.trace());
}

/// Accepts a request as Java does: it clears its node and runs its items.
fn java_accepts_request(cluster: &mut Cluster, java: &JavaPeer, items: &[u32]) {
    cluster.write(&format!("instances/{}", java.id()), "");
    for item in items {
        cluster.java_starts_run(java, *item);
    }
    cluster.run_for(A_WHILE);
    for item in items {
        cluster.java_ends_run(java, *item);
    }
    cluster.run_for(A_WHILE);
}

fn manual_runs(cluster: &Cluster) -> usize {
    cluster.runs().filter(|(_, start)| start.source == RunSource::Manual).count()
}

#[test]
fn request_is_handed_on_once_under_rust_leader() {
    let (mut cluster, java, rust_items) = shared_with_java();
    let node = format!("instances/{}", java.id());
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.trace());
    assert_eq!(manual_runs(&cluster), 2, "{}", cluster.trace());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.trace());
    cluster.end_all_runs();
    let java_items: Vec<_> = (0..4).filter(|item| !rust_items.contains(item)).collect();
    java_accepts_request(&mut cluster, &java, &java_items);
    let data = cluster.data_of(&node);
    assert_eq!(data.as_deref(), Some(""), "the request is handed on twice\n{}", cluster.trace());
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(manual_runs(&cluster), 2, "a Java run is repeated\n{}", cluster.trace());
}

fn missed(cluster: &Cluster) -> Vec<(Option<ShardingItem>, MissReason)> {
    let missed = |event: &JobEvent| match event {
        JobEvent::Missed { item, reason, .. } => Some((*item, *reason)),
        _ => None,
    };
    cluster.events(FIRST).iter().filter_map(missed).collect()
}

/// Only the request of an item that an operator has disabled is missed.
#[test]
fn handed_on_request_is_not_reported_as_missed() {
    let (mut cluster, java, rust_items) = shared_with_java();
    let mut java_items = (0..4).filter(|item| !rust_items.contains(item));
    let (disabled, _) = (java_items.next().unwrap(), java_items.next().unwrap());
    cluster.create(&format!("sharding/{disabled}/disabled"), "");
    cluster.run_for(A_WHILE);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let node = format!("instances/{}", java.id());
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.trace());
    let expected = [(Some(ShardingItem::new(disabled)), MissReason::ItemDisabled)];
    assert_eq!(missed(&cluster), expected, "{}", cluster.trace());
}

#[test]
fn request_is_handed_on_after_java_run_has_ended() {
    let (mut cluster, java, rust_items) = shared_with_java();
    let node = format!("instances/{}", java.id());
    let item = (0..4).find(|item| !rust_items.contains(item)).unwrap();
    cluster.fire();
    cluster.java_starts_run(&java, item);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some(""), "{}", cluster.trace());
    cluster.java_ends_run(&java, item);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.trace());
    assert_eq!(manual_runs(&cluster), 2, "one run of each Rust item\n{}", cluster.trace());
}

/// Returns a job without monitoring, with a Java leader and a Rust instance. It has no records and
/// no marks.
fn unmonitored_led_by_java(items: u32, rust_items: &[u32]) -> (Cluster, JavaPeer) {
    let config = job_of(items).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::without_instances(&config);
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_becomes_leader(&java);
    cluster.join();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, items, rust_items);
    (cluster, java)
}

#[test]
fn unmonitored_rust_instance_runs_its_items_under_java_leader() {
    let (mut cluster, java) = unmonitored_led_by_java(4, &[1, 3]);
    for _ in 0..2 {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [1, 3], "{}", cluster.trace());
        cluster.end_all_runs();
    }
    assign(&mut cluster, &java, 4, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
    assert!(cluster.nodes_below("ledger").is_empty(), "{}", cluster.trace());
}

#[test]
fn unmonitored_fire_waits_for_resharding_by_java_leader() {
    let (mut cluster, java) = unmonitored_led_by_java(2, &[0]);
    cluster.create("leader/sharding/necessary", "");
    cluster.run_for(A_WHILE);
    let replaced = cluster.fire();
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
    assign(&mut cluster, &java, 2, &[1]);
    cluster.remove("leader/sharding/necessary");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [1], "{}", cluster.trace());
    assert!(cluster.items_run_for(replaced).is_empty(), "{}", cluster.trace());
    let is_missed = |event: &JobEvent| match event {
        JobEvent::Missed { item: None, fire, .. } => *fire == replaced,
        _ => false,
    };
    assert!(cluster.events(FIRST).iter().any(is_missed), "{}", cluster.trace());
}

#[test]
fn unmonitored_items_move_to_java_instance_and_back() {
    let config = job_of(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(1, &config);
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 1, "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire).len(), 1, "a run is repeated\n{}", cluster.trace());
}

/// Java instances start nothing while a resharding is announced, so the next owner runs the fire.
/// The run of one item began before the announcement and counts for that item's owner.
#[test]
fn fire_postponed_by_java_instance_is_run_by_next_owner() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let is_java_owned = |item: &u32| cluster.owner(*item).unwrap().as_str() == java.id();
    let items: Vec<u32> = (0..4).filter(is_java_owned).collect();
    cluster.fire();
    cluster.java_starts_run(&java, items[0]);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let flag = "leader/sharding/necessary";
    assert!(cluster.data_of(flag).is_some(), "{}", cluster.trace());
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 2, "{}", cluster.trace());
    cluster.java_ends_run(&java, items[0]);
    cluster.run_for(A_WHILE);
    let expected: Vec<u32> = (0..4).filter(|item| *item != items[0]).collect();
    assert_eq!(cluster.items_run_for(fire), expected, "{}", cluster.trace());
    assert_eq!(cluster.data_of(flag), None, "{}", cluster.trace());
}

/// Returns a job with a Rust leader and a Java instance that owns two of four items, after a fire.
/// The job fires each second. Also returns the Java instance's items and the fire.
fn fired_with_two_java_items() -> (Cluster, JavaPeer, [u32; 2], FireTime) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let is_java_owned = |item: &u32| cluster.owner(*item).unwrap().as_str() == java.id();
    let items: Vec<u32> = (0..4).filter(is_java_owned).collect();
    let fire = cluster.fire();
    (cluster, java, items.try_into().unwrap(), fire)
}

/// The Java instance is late for the fire and sees the announcement before it begins its items.
#[test]
fn fire_not_begun_before_announcement_is_run_by_next_owner() {
    for (announced_after, expected) in [(1, 4), (100, 4), (249, 4), (251, 2), (600, 2)] {
        let (mut cluster, _, _, fire) = fired_with_two_java_items();
        cluster.run_for(Duration::from_millis(announced_after));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        cluster.run_for(A_WHILE);
        let found = cluster.items_run_for(fire).len();
        assert_eq!(found, expected, "after {announced_after} ms\n{}", cluster.trace());
    }
}

/// The Java instance marks its items when it begins, and may have ended before the announcement.
#[test]
fn java_run_begun_before_announcement_is_not_repeated() {
    for (has_ended, is_seen_early) in [(false, false), (true, false), (true, true)] {
        let (mut cluster, java, items, mut fire) = fired_with_two_java_items();
        if is_seen_early {
            cluster.run_for(Duration::from_secs(1));
            cluster.end_all_runs();
        }
        // The mark of the other item comes later, or vanishes before any instance sees it.
        cluster.java_starts_run(&java, items[0]);
        cluster.run_for(Duration::from_millis(5));
        if is_seen_early {
            fire = cluster.fire();
        }
        if has_ended {
            cluster.java_ends_run(&java, items[0]);
        }
        cluster.run_for(Duration::from_millis(5));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        cluster.run_for(Duration::from_millis(20));
        if !has_ended {
            cluster.java_ends_run(&java, items[0]);
        }
        cluster.run_for(A_WHILE);
        let found = cluster.items_run_for(fire).len();
        assert_eq!(found, 2, "{has_ended} {is_seen_early}\n{}", cluster.trace());
        let rust_id = cluster.id_of(FIRST);
        assert!((0..4).all(|item| cluster.owner(item) == Some(rust_id)), "{}", cluster.trace());
    }
}

/// The Java instance leaves right after a short run, and another one announces the resharding. The
/// mark of the run may begin and vanish in one batch, or without any instance seeing it.
#[test]
fn short_java_run_right_before_its_instance_leaves_is_not_repeated() {
    for delivery in ["each change", "one batch", "only the end"] {
        let config = job_of(6).with(|it| it.failover = false);
        let mut cluster = Cluster::settled(1, &config);
        let leaving = cluster.java_joins("10.0.9.1");
        cluster.java_joins("10.0.9.2");
        cluster.run_for(A_WHILE);
        let owned_by = |cluster: &Cluster, id: &str| -> Vec<u32> {
            (0..6).filter(|item| cluster.owner(*item).unwrap().as_str() == id).collect()
        };
        let left = owned_by(&cluster, leaving.id());
        let own = owned_by(&cluster, cluster.id_of(FIRST).as_str());
        let fire = cluster.fire();
        cluster.run_for(Duration::from_millis(80));
        cluster.end_all_runs();
        left.iter().for_each(|item| cluster.java_starts_run(&leaving, *item));
        match delivery {
            "each change" => cluster.run_for(Duration::from_millis(5)),
            "one batch" => {}
            _ => cluster.lose_undelivered(FIRST),
        }
        left.iter().for_each(|item| cluster.java_ends_run(&leaving, *item));
        cluster.java_crashes(&leaving);
        cluster.create(NECESSARY, "");
        if delivery == "one batch" {
            cluster.deliver_together(FIRST);
        }
        cluster.run_for(A_WHILE);
        let trace = cluster.trace();
        assert_eq!(cluster.items_run_for(fire), own, "{delivery}: {left:?} ended\n{trace}");
        let moved = left.iter().any(|item| cluster.owner(*item) == Some(cluster.id_of(FIRST)));
        assert!(moved, "{delivery}: {left:?} stay with a lost instance\n{trace}");
    }
}

/// A Java owner would repeat the item when it begins the postponed fire.
#[test]
fn item_run_for_postponed_fire_moves_to_java_after_that_fire() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(Duration::from_millis(300));
    cluster.end_all_runs();
    cluster.run_for(Duration::from_millis(500));
    // The Java instance gets its items before the next fire, and then begins that fire.
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_millis(200));
    assert!(cluster.data_of(NECESSARY).is_some(), "{}", cluster.trace());
    let fire = cluster.fire();
    cluster.run_for(Duration::from_millis(20));
    cluster.end_all_runs();
    let java_items = |cluster: &Cluster| {
        (0..2)
            .filter(|item| cluster.owner(*item).is_some_and(|id| id.as_str() == java.id()))
            .count()
    };
    while cluster.data_of(NECESSARY).is_some() {
        cluster.run_for(Duration::from_millis(10));
    }
    cluster.run_for(Duration::from_millis(300));
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    assert_eq!(java_items(&cluster), 0, "Java would repeat the item\n{}", cluster.trace());
    cluster.run_for(Duration::from_millis(100));
    assert_eq!(java_items(&cluster), 1, "{}", cluster.trace());
    assert_eq!(cluster.data_of(NECESSARY), None, "{}", cluster.trace());
}

/// Right before a fire, a Java instance may still see the former owners when the fire comes. Right
/// after it, the Java instance may have begun without a visible mark.
#[test]
fn java_owned_items_do_not_move_near_a_fire() {
    for (since_fire, not_yet, until) in
        [(10, 230, 270), (100, 100, 270), (400, 0, 420), (800, 300, 1270)]
    {
        let (mut cluster, ..) = fired_with_two_java_items();
        let java_items = |cluster: &Cluster| {
            let rust_id = cluster.id_of(FIRST);
            (0..4).filter(|item| cluster.owner(*item) != Some(rust_id)).count()
        };
        cluster.run_for(Duration::from_millis(since_fire));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        if not_yet > 0 {
            cluster.run_for(Duration::from_millis(not_yet));
            assert_eq!(java_items(&cluster), 2, "{since_fire} ms\n{}", cluster.trace());
        }
        cluster.run_for(Duration::from_millis(until - not_yet - since_fire));
        assert_eq!(java_items(&cluster), 0, "{since_fire} ms\n{}", cluster.trace());
    }
}

/// The Java leader is lost right before a fire. The other Java instance announces a resharding and
/// begins nothing. No Rust instance has run the items that move, so they have no records.
#[test]
fn postponed_fire_runs_on_rust_owner_without_record() {
    for leader_items in [[0, 1], [2, 3]] {
        let mut cluster = Cluster::without_instances(&job_of(4));
        let [leader, other] = ["10.0.9.1", "10.0.9.2"].map(|ip| cluster.java_joins(ip));
        cluster.java_becomes_leader(&leader);
        cluster.join();
        cluster.run_for(A_WHILE);
        for item in 0..4 {
            let owner = if leader_items.contains(&item) { &leader } else { &other };
            cluster.java_assigns(&leader, item, owner.id());
        }
        cluster.run_for(A_WHILE);
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.java_crashes(&leader);
        cluster.create(NECESSARY, "");
        cluster.deliver_all(FIRST);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        let rust_id = cluster.id_of(FIRST).clone();
        let rust_items: Vec<u32> =
            (0..4).filter(|item| cluster.owner(*item) == Some(&rust_id)).collect();
        assert_eq!(rust_items.len(), 2, "{}", cluster.trace());
        assert_eq!(cluster.items_run_for(fire), rust_items, "{}", cluster.trace());
    }
}

/// Steps the Rust leader until a node of the job exists, or does not exist.
fn step_until(cluster: &mut Cluster, node: &str, exists: bool) {
    while cluster.data_of(node).is_some() != exists {
        let stepped = cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST);
        assert!(stepped, "{node} should exist: {exists}\n{}", cluster.trace());
    }
}

const NECESSARY: &str = "leader/sharding/necessary";

/// A transaction has room for two of the eight items that are assigned.
#[test]
fn announcement_stays_until_assignment_is_complete() {
    let limits = |c: Coordinator, _| c.limited_to(Limits { max_ops: 28, max_bytes: 1 << 20 });
    let mut cluster = Cluster::settled_with(1, &job_of(8), limits);
    let java = cluster.java_joins("10.0.9.1");
    step_until(&mut cluster, NECESSARY, true);
    step_until(&mut cluster, NECESSARY, false);
    let java_items = (0..8).filter(|item| cluster.owner(*item).unwrap().as_str() == java.id());
    assert_eq!(java_items.count(), 4, "the announcement ends too early\n{}", cluster.trace());
    let before = cluster.traffic();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.traffic().since(before).commits, 0, "{}", cluster.trace());
}

/// The leader has waited for the run up to its bound, and has assigned the other items.
#[test]
fn pending_java_item_moves_only_after_announcement() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let java_item =
        |cluster: &Cluster| (0..4).find(|item| cluster.owner(*item).unwrap().as_str() == java.id());
    let item = java_item(&cluster).unwrap();
    cluster.fire();
    cluster.java_starts_run(&java, item);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(10 * A_WHILE);
    assert_eq!(cluster.data_of(NECESSARY), None, "{}", cluster.trace());
    assert_eq!(java_item(&cluster), Some(item), "{}", cluster.trace());
    cluster.java_ends_run(&java, item);
    step_until(&mut cluster, NECESSARY, true);
    assert_eq!(java_item(&cluster), Some(item), "it moved too early\n{}", cluster.trace());
    step_until(&mut cluster, NECESSARY, false);
    assert_eq!(java_item(&cluster), None, "{}", cluster.trace());
}

/// Anomaly A8 in `docs/interop.md`: Java never begins an item again whose failed run left its mark.
#[test]
fn leftover_mark_of_live_java_instance_is_reported_once() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    cluster.fire();
    cluster.java_starts_run(&java, 1);
    cluster.java_starts_run(&java, 2);
    cluster.run_for(A_WHILE);
    cluster.java_ends_run(&java, 2);
    for _ in 0..3 {
        cluster.fire();
        cluster.java_starts_run(&java, 2);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.java_ends_run(&java, 2);
        cluster.run_for(A_WHILE);
    }
    let reported = anomalies(&cluster, FIRST);
    assert_eq!(reported.len(), 1, "{reported:?}\n{}", cluster.trace());
    assert!(reported[0].starts_with("/report/sharding/1/running: 10.0.9.1@-@4123"), "{reported:?}");
    assert!(reported[0].contains("it runs a later fire already"), "{reported:?}");
}

#[test]
fn long_java_runs_are_not_reported_as_leftovers() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    for _ in 0..4 {
        cluster.java_starts_run(&java, 1);
        cluster.run_for(A_WHILE);
        cluster.fire();
        cluster.java_starts_run(&java, 2);
        for _ in 0..3 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
            cluster.fire();
        }
        cluster.java_ends_run(&java, 1);
        cluster.java_ends_run(&java, 2);
    }
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.trace());
}

/// The mark belongs to a Rust run, although a Java instance owns the item.
#[test]
fn rust_run_of_java_owned_item_is_not_reported_as_leftover() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.java_assigns(&java, 0, java.id());
    cluster.run_for(A_WHILE);
    for _ in 0..4 {
        cluster.fire();
        cluster.java_starts_run(&java, 1);
        cluster.run_for(A_WHILE);
        cluster.java_ends_run(&java, 1);
        cluster.run_for(A_WHILE);
    }
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.trace());
}

/// The Java leader assigns the running item to itself. Later the holder and the leader are lost.
#[test]
fn orphaned_rust_run_of_java_owned_item_is_not_taken_over() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.join();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.java_assigns(&java, 0, java.id());
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.remove("leader/election/instance");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(1), "{}", cluster.trace());
    assert_eq!(sources(&cluster), [(0, RunSource::Normal)], "{}", cluster.trace());
}

/// Returns a job with a Rust leader and a Java instance, and the half of the items that the Rust
/// instance owns.
fn shared_with_java() -> (Cluster, JavaPeer, Vec<u32>) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let rust_id = cluster.id_of(FIRST).clone();
    let items: Vec<_> = (0..4).filter(|item| cluster.owner(*item) == Some(&rust_id)).collect();
    assert_eq!(items.len(), 2, "{}", cluster.trace());
    (cluster, java, items)
}

/// An operator removes the marks of runs in progress.
#[test]
fn sweep_keeps_run_of_registered_holder_beside_java_instance() {
    let (mut cluster, _, items) = shared_with_java();
    cluster.fire();
    cluster.run_for(A_WHILE);
    items.iter().for_each(|item| cluster.remove(&format!("sharding/{item}/running")));
    cluster.run_for(A_WHILE);
    let goes_on = |item: &u32| cluster.ledger(ShardingItem::new(*item)).running().is_some();
    assert!(items.iter().all(goes_on), "a run was released\n{}", cluster.trace());
}

/// Returns a job after a fire that the Rust instance has run, and after the loss of the Java
/// instance. Also returns the fire and the items of the Rust instance.
fn fired_before_a_java_instance_was_lost() -> (Cluster, FireTime, Vec<u32>) {
    let (mut cluster, java, items) = shared_with_java();
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    (cluster, fire, items)
}

/// The record of the item does not show the fire, because the Java instance writes no record.
#[test]
fn fire_of_java_owned_item_is_not_repeated_under_rust_leader() {
    let (mut cluster, fire, items) = fired_before_a_java_instance_was_lost();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.trace());
}

/// The fire comes after a Java instance's request for resharding and before the assignment.
#[test]
fn fire_between_request_and_resharding_is_not_repeated() {
    let (mut cluster, java, items) = shared_with_java();
    cluster.create("leader/sharding/necessary", "");
    cluster.deliver_all(FIRST);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.trace());
}

/// Only an instance that saw the fire knows that a Java instance owned the item.
#[test]
fn newcomer_does_not_inherit_fire_of_java_instance() {
    let (mut cluster, fire, items) = fired_before_a_java_instance_was_lost();
    (0..3).for_each(|_| cluster.join());
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.trace());
}

/// Returns true if a newcomer claims a due fire that it has inherited and that is unclaimed.
fn a_newcomer_claims(beside_java: bool) -> bool {
    let mut cluster = Cluster::settled(1, &job_of(4));
    cluster.fire();
    let _claim = cluster.hold_commit(FIRST, Duty::Claim);
    cluster.join();
    cluster.send_event(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).clone();
    assert!((0..4).any(|item| cluster.owner(item) == Some(&newcomer)), "{}", cluster.trace());
    if beside_java {
        cluster.java_joins("10.0.9.1");
    }
    cluster.deliver_all(1);
    cluster.send_event(1, Event::Resumed);
    cluster.has_queued_commit(1, Duty::Claim)
}

/// The assignment has the due fire until the leader writes another one.
#[test]
fn newcomer_ignores_due_fire_recorded_before_java_instance_joined() {
    assert!(a_newcomer_claims(false), "the newcomer inherits no fire");
    assert!(!a_newcomer_claims(true), "the newcomer claims a fire that Java may have run");
}

/// The items get their records before the sweep records the interrupted run. The reply to that
/// sweep is lost.
#[test]
fn new_record_does_not_hide_interrupted_java_run() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = fire_and_run_item_1_on_java(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.step_until_queued(FIRST, Duty::Sweep);
    let sweep = cluster.hold_commit(FIRST, Duty::Sweep);
    cluster.report_unknown(&sweep);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

/// A complete assignment would leave the Java leader that follows without a reason to assign items.
#[test]
fn disabled_rust_leader_leaves_resharding_request_to_java_leader() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(3));
    cluster.deliver_all(FIRST);
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    cluster.deliver_all(FIRST);
    let held = cluster.hold_all_commits();
    assert!(held.iter().any(|commit| commit.writes_to("necessary")), "{}", cluster.trace());
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.requeue(held);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.trace());
    let request = cluster.data_of("leader/sharding/necessary");
    assert!(request.is_some(), "{} finds no request\n{}", java.id(), cluster.trace());
}
