//! Stories with Java instances in the job: they write owners and marks, look at no records, and claim nothing.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{
    Coordinator, Dialect, Duty, Event, FireTime, JavaSettings, JobConfig, JobEvent, MissReason,
    RunSource,
};
use reg_center::Limits;
use script::{Cluster, JavaPeer, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);

/// A job of `items` with one Java instance that leads and one of ours; each has what `of_ours` says.
fn led_by_java(items: u32, of_ours: &[u32]) -> (Cluster, JavaPeer) {
    let mut cluster = Cluster::unstarted(&job_of(items));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_leads(&java);
    cluster.join();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, items, of_ours);
    (cluster, java)
}

fn assign(cluster: &mut Cluster, java: &JavaPeer, items: u32, of_ours: &[u32]) {
    let ours = cluster.id_of(FIRST).to_string();
    for item in 0..items {
        let owner = if of_ours.contains(&item) { ours.as_str() } else { java.id() };
        cluster.java_assigns(java, item, owner);
    }
    cluster.run_for(A_WHILE);
}

fn sources(cluster: &Cluster) -> Vec<(u32, RunSource)> {
    let mut runs: Vec<_> = cluster.runs().map(|(_, s)| (s.item.index(), s.source)).collect();
    runs.sort_unstable();
    runs
}

/// Ours ends item 0, the Java instance dies in the middle of item 1: ours runs that for the same fire, and nothing else.
fn assert_item_1_is_taken_over(mut cluster: Cluster, java: &JavaPeer, fire: FireTime) {
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(java);
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    let expected = [(0, RunSource::Normal), (1, RunSource::Failover)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "the same fire\n{}", cluster.story());
}

#[test]
fn under_a_java_leader_an_instance_runs_what_it_is_given_and_leads_nothing() {
    let (mut cluster, _java) = led_by_java(4, &[0, 1]);
    for _ in 0..3 {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
}

#[test]
fn nothing_is_claimed_while_a_java_leader_is_about_to_assign_items_anew() {
    for flag in ["leader/sharding/necessary", "leader/sharding/processing"] {
        let (mut cluster, java) = led_by_java(2, &[0]);
        cluster.create(flag, "");
        cluster.run_for(A_WHILE);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run_for(fire).is_empty(), "{flag}: {}", cluster.story());
        assign(&mut cluster, &java, 2, &[1]);
        cluster.remove(flag);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [1], "{flag}: {}", cluster.story());
    }
}

/// The claim was on its way when the flag was raised.
#[test]
fn a_claim_that_has_not_seen_the_flag_of_a_java_leader_fails() {
    let (mut cluster, _java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    let claims = cluster.hold_commits_back();
    cluster.create("leader/sharding/necessary", "");
    cluster.send(claims);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
}

#[test]
fn a_fire_that_came_while_a_java_instance_had_the_item_is_not_run_again() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());

    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
}

#[test]
fn what_a_java_instance_has_left_unfinished_is_taken_over_and_what_it_had_finished_is_not() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    let fire = cluster.fire();
    cluster.java_begins(&java, 1);
    cluster.java_begins(&java, 2);
    cluster.run_for(A_WHILE);
    cluster.java_ends(&java, 2);
    assert_item_1_is_taken_over(cluster, &java, fire);
}

/// A fire comes: the Java instance begins item 1 and is not done with it when ours are done with theirs.
fn fires_while_java_runs_item_1(cluster: &mut Cluster, java: &JavaPeer) -> FireTime {
    let fire = cluster.fire();
    cluster.java_begins(java, 1);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    fire
}

/// The session's nodes go one after the other, and the mark goes first.
#[test]
fn what_a_java_instance_showed_until_it_was_lost_is_taken_over() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = fires_while_java_runs_item_1(&mut cluster, &java);
    cluster.java_ends(&java, 1);
    cluster.deliver_all(FIRST);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
}

/// The Java leader assigns items when the fire comes, and runs them at once.
#[test]
fn what_a_java_leader_began_right_after_it_had_assigned_it_is_taken_over() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.create("leader/sharding/necessary", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.remove("leader/sharding/necessary");
    cluster.java_begins(&java, 1);
    cluster.run_for(A_WHILE);
    assert_item_1_is_taken_over(cluster, &java, fire);
}

/// The Java leader has given the item to itself and taken it over before ours have seen that its holder is gone.
#[test]
fn what_a_java_leader_has_taken_over_at_once_is_not_run_again() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let java = cluster.java_joins("10.0.9.2");
    cluster.java_assigns(&leader, 1, java.id());
    cluster.run_for(A_WHILE);
    let fire = fires_while_java_runs_item_1(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.java_assigns(&leader, 1, leader.id());
    cluster.create("leader/failover/items/1", "");
    cluster.java_takes_over(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&leader);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());
}

/// A Java leader waits until nothing runs, and then gives the item away without a look at its record.
#[test]
fn an_unfinished_run_of_ours_does_not_block_its_item_under_a_java_leader() {
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
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
}

/// Java instances take from the queue without a look at records.
#[test]
fn what_a_java_instance_has_taken_over_is_not_run_again() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.tell(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).to_string();
    cluster.java_assigns(&java, 0, &newcomer);
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(0)).queued, "{}", cluster.story());

    cluster.java_takes_over(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.tell(1, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "once by us\n{}", cluster.story());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0], "{}", cluster.story());
}

/// Ours lead. One of them is lost in the middle of its item, which waits in the queue; the other one, which leads, is held
/// back, and a Java instance takes the item over. Returns it with the item and the fire.
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
    cluster.tell(FIRST, Event::Paused);
    cluster.crash(1);
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(item)).queued, "{}", cluster.story());
    cluster.java_takes_over(&java, item);
    cluster.run_for(A_WHILE);
    (cluster, java, item, fire)
}

/// The first is let go on. Returns how often the item has been taken over for the fire.
fn takeovers(cluster: &mut Cluster, fire: FireTime) -> usize {
    cluster.tell(FIRST, Event::Resumed);
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    let runs = cluster.runs_for(fire);
    runs.filter(|(_, start)| start.source == RunSource::Failover).count()
}

#[test]
fn what_a_java_instance_had_taken_over_when_it_was_lost_is_run_once_more() {
    let (mut cluster, java, item, fire) = taken_over_by_java(&["10.0.9.2"]);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(item)).queued, "{}", cluster.story());
    assert_eq!(takeovers(&mut cluster, fire), 1, "{}", cluster.story());

    let (mut alone, java, _, fire) = taken_over_by_java(&[]);
    alone.java_crashes(&java);
    assert_eq!(takeovers(&mut alone, fire), 1, "{}", alone.story());
}

/// The session's nodes go one after the other, and the marks go first.
#[test]
fn what_a_java_instance_had_taken_over_is_run_once_more_if_its_marks_go_first() {
    let (mut cluster, java, item, fire) = taken_over_by_java(&["10.0.9.2"]);
    cluster.java_ends_takeover(&java, item);
    cluster.run_for(Duration::from_millis(100));
    cluster.java_crashes(&java);
    assert_eq!(takeovers(&mut cluster, fire), 1, "{}", cluster.story());
}

/// Whoever is idle looks at it while nobody can tell yet whether it was ended.
#[test]
fn what_a_java_instance_has_taken_over_and_ended_is_done_when_it_leaves() {
    for others in [&["10.0.9.2"][..], &[]] {
        let (mut cluster, java, item, fire) = taken_over_by_java(others);
        cluster.tell(FIRST, Event::Resumed);
        cluster.run_for(A_WHILE);
        cluster.java_ends_takeover(&java, item);
        cluster.run_for(A_WHILE);
        let ledger = cluster.ledger(ShardingItem::new(item));
        assert!(ledger.is_idle(), "{}\n{}", ledger.summary(), cluster.story());
        cluster.java_crashes(&java);
        assert_eq!(takeovers(&mut cluster, fire), 0, "{}", cluster.story());
    }
}

/// What a Java instance has left unfinished another one takes over before ours have a record of it, and is lost as well.
#[test]
fn what_two_java_instances_have_left_unfinished_is_taken_over() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let java = cluster.java_joins("10.0.9.2");
    cluster.java_assigns(&leader, 1, java.id());
    cluster.run_for(A_WHILE);
    let fire = fires_while_java_runs_item_1(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.create("leader/failover/items/1", "");
    cluster.java_takes_over(&leader, 1);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&leader);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
}

/// Under a Java leader whoever owns the item puts it back into the queue.
#[test]
fn what_a_java_instance_had_taken_over_is_queued_again_under_a_java_leader() {
    let (mut cluster, leader) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.tell(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).to_string();
    cluster.java_assigns(&leader, 0, &newcomer);
    let java = cluster.java_joins("10.0.9.2");
    cluster.run_for(A_WHILE);
    cluster.java_takes_over(&java, 0);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(0)).queued, "{}", cluster.story());
    cluster.tell(1, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 0], "{}", cluster.story());
}

#[test]
fn a_misfire_mark_of_a_java_instance_is_left_to_it() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let item = (0..2).find(|item| cluster.owner(*item).unwrap().as_str() == java.id()).unwrap();
    cluster.create(&format!("sharding/{item}/misfire"), "");
    cluster.create("leader/failover/items/1", "");
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(item)).misfire, "{}", cluster.story());
    assert!(cluster.truth().item(ShardingItem::new(1)).queued, "{}", cluster.story());
}

#[test]
fn what_a_java_instance_has_marked_as_misfired_is_made_up_for_by_its_heir() {
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
    assert_eq!(sources(&cluster), expected, "{}", cluster.story());
    assert!(!cluster.truth().item(ShardingItem::new(1)).misfire, "{}", cluster.story());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
    assert!(next > fire);
}

#[test]
fn under_a_java_leader_the_operator_s_trigger_runs_the_items_of_the_instance() {
    let (mut cluster, _java) = led_by_java(3, &[0, 2]);
    let node = format!("instances/{}", cluster.id_of(FIRST));
    cluster.write(&node, "TRIGGER");
    cluster.run_for(A_WHILE);
    let expected = [(0, RunSource::Manual), (2, RunSource::Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.story());
    assert_eq!(cluster.data_of(&node).as_deref(), Some("RUST"));
}

/// A Java instance that believes that nobody leads puts its own node in the place of ours.
#[test]
fn a_leader_whose_node_a_java_instance_has_replaced_writes_nothing_more() {
    let mut cluster = Cluster::unstarted(&job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    cluster.create("sharding/2/disabled", "");
    cluster.deliver_all(FIRST);
    let writes = cluster.hold_commits_back();
    assert_eq!(writes.len(), 1, "{}", cluster.story());
    cluster.java_replaces_the_leader(&java);
    cluster.send(writes);
    cluster.run_for(A_WHILE);
    let noted = cluster.ledger(ShardingItem::new(2)).disabled;
    assert!(!noted, "it has written as the leader\n{}", cluster.story());
}

/// It looks at no records, and begins an item of its cache.
#[test]
fn the_mark_of_a_java_instance_stays_when_a_run_of_ours_ends() {
    let of_3 = JobConfig { java: JavaSettings::of(Dialect::V3), ..job_of(4) };
    for config in [job_of(4), of_3] {
        let dialect = config.java.dialect();
        let mut cluster = match dialect {
            Dialect::V2 => Cluster::settled(1, &config),
            Dialect::V3 => Cluster::settled_with(1, &config, |c, _| c.speaking(Dialect::V3)),
        };
        let java = cluster.java_joins("10.0.9.1");
        cluster.run_for(A_WHILE);
        let ours = cluster.id_of(FIRST).clone();
        let item = (0..4).find(|item| cluster.owner(*item) == Some(&ours)).unwrap();
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.java_begins_all_the_same(&java, item);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let marked = cluster.truth().item(ShardingItem::new(item)).running;
        assert!(marked, "{dialect:?}: {}", cluster.story());
        assert!(cluster.ledger(ShardingItem::new(item)).is_idle(), "{}", cluster.story());
        let node = format!("/report/sharding/{item}/running: {} has started", java.id());
        let told = anomalies(&cluster, FIRST);
        assert_eq!(told.iter().filter(|said| said.starts_with(&node)).count(), 1, "{told:?}");
        let next = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(!cluster.items_run_for(next).contains(&item), "{}", cluster.story());
        cluster.java_ends(&java, item);
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run_for(next).contains(&item), "{dialect:?}: {}", cluster.story());
    }
}

/// Java's statistics show an item for each node.
#[test]
fn what_is_left_of_items_when_there_are_fewer_is_what_java_leaves() {
    let (mut cluster, _java, _) = shared_with_java();
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.nodes_below("sharding"), ["0", "1", "2"], "{}", cluster.story());
    cluster.configure(&job_of(4));
    cluster.run_for(A_WHILE);
    assert!(cluster.owner(3).is_some(), "{}", cluster.story());
}

/// Java's listener that is called once per cluster, and ours.
#[test]
fn callbacks_once_per_cluster_are_told_to_wait_for_the_other_language() {
    let mut cluster = Cluster::settled_with(1, &job_of(4), |c, _| c.calling_back());
    let told = |cluster: &Cluster, node: &str| {
        let node = format!("/report/{node}: ");
        anomalies(cluster, FIRST).iter().filter(|anomaly| anomaly.starts_with(&node)).count()
    };
    cluster.create("guarantee/started/1", "");
    cluster.run_for(A_WHILE);
    assert!(anomalies(&cluster, FIRST).is_empty(), "nobody counts\n{}", cluster.story());
    let java = cluster.java_joins("10.0.9.1");
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.remove("guarantee/started/1");
        cluster.run_for(A_WHILE);
        cluster.create("guarantee/started/1", "");
    }
    assert_eq!(told(&cluster, "guarantee"), 1, "{}", cluster.story());
    assert_eq!(told(&cluster, "coordination/once"), 1, "{}", cluster.story());
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.caller(), None, "{fire} is not begun by all\n{}", cluster.story());
    cluster.end_all_runs();
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.caller(), Some(FIRST), "all items are ours again\n{}", cluster.story());
    cluster.java_joins("10.0.9.2");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(told(&cluster, "guarantee"), 2, "{}", cluster.story());
    assert_eq!(told(&cluster, "coordination/once"), 2, "{}", cluster.story());
}

const LATCHES: [&str; 2] = ["leader/election/latch", "leader/failover/latch"];

fn assert_nobody_stands_in_line(cluster: &Cluster) {
    for latch in LATCHES {
        assert!(cluster.nodes_below(latch).is_empty(), "{latch}: {}", cluster.story());
    }
}

fn anomalies(cluster: &Cluster, instance: usize) -> Vec<String> {
    let told = cluster.events(instance).iter();
    let anomaly = |event: &JobEvent| match event {
        JobEvent::Anomaly { path, reason } => Some(format!("{path}: {reason}")),
        _ => None,
    };
    told.filter_map(anomaly).collect()
}

#[test]
fn a_java_instance_that_is_being_elected_is_not_overtaken() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_stands_in_line(&java, "election", 7);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
    assert_eq!(cluster.waits_for(FIRST), Some("a Java instance to leave a latch"));
    cluster.java_leads(&java);
    cluster.java_leaves_the_line(&java, "election", 7);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
    assert_nobody_stands_in_line(&cluster);
}

/// It was about to stand in line when the Java instance was elected.
#[test]
fn nobody_stands_in_line_for_an_election_that_is_over() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    cluster.step_until_sending(FIRST, Duty::Election);
    let join = cluster.take_back(FIRST, Duty::Election);
    assert!(join.is_about("leader/election/latch"), "{}", cluster.story());
    cluster.java_leads(&java);
    assert!(cluster.refuses(join), "{}", cluster.story());
}

#[test]
fn a_java_instance_that_comes_later_waits_and_finds_a_leader() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    while cluster.nodes_below("leader/election/latch").is_empty() {
        let stepped = cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST);
        assert!(stepped, "nobody stands in line: {}", cluster.story());
    }
    let ours = cluster.nodes_below("leader/election/latch").remove(0);
    assert!(ours.ends_with("-latch-0000000000"), "{ours}");
    cluster.java_stands_in_line(&java, "election", 1);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    cluster.java_leaves_the_line(&java, "election", 1);
    assert_nobody_stands_in_line(&cluster);
}

/// Both contend in the same moment, as they do when a leader goes: the number that ours chooses is too small, and Java waits
/// for ours, which has come later.
#[test]
fn two_that_would_wait_for_each_other_do_not() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.join();
    let mut joins = Vec::new();
    for _ in 0..50 {
        joins = cluster.hold_commits_back();
        if joins.iter().any(|commit| commit.is_about("leader/election/latch")) {
            break;
        }
        cluster.send(std::mem::take(&mut joins));
        let _ = cluster.execute(FIRST) || cluster.reply(FIRST) || cluster.deliver(FIRST);
    }
    assert!(!joins.is_empty(), "nobody stands in line: {}", cluster.story());
    cluster.java_stands_in_line(&java, "election", 41);
    cluster.send(joins);
    cluster.run_for(Duration::from_millis(500));
    let ours = cluster.nodes_below("leader/election/latch").into_iter();
    let numbers: Vec<_> = ours.filter_map(|node| node.rsplit('-').next()?.parse().ok()).collect();
    assert_eq!(numbers.iter().max(), Some(&42_u32), "{numbers:?}\n{}", cluster.story());
    cluster.java_leads(&java);
    cluster.java_leaves_the_line(&java, "election", 41);
    cluster.run_for(Duration::from_millis(500));
    assert_nobody_stands_in_line(&cluster);
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.story());
}

/// Its process was stopped, or its network is gone, and its session lives on.
#[test]
fn a_java_instance_that_never_ends_its_turn_is_told_of_and_somebody_leads() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_stands_in_line(&java, "election", 7);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
    cluster.run_for(3 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    let expected =
        "/report/leader/election/latch: a Java instance has had the turn to elect a leader for 5s";
    assert_eq!(anomalies(&cluster, FIRST), [expected]);
}

/// It has waited for the election before, and has led.
#[test]
fn whoever_stands_in_line_again_waits_again() {
    let mut cluster = Cluster::unstarted(&job_of(2));
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_stands_in_line(&java, "election", 7);
    cluster.join();
    cluster.run_for(4 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.run_for(A_WHILE);
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
    cluster.run_for(2 * A_WHILE);
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
}

/// Java takes in two steps: it looks which item comes first, and then writes that it has it.
#[test]
fn an_item_that_a_java_instance_is_taking_over_is_not_taken_as_well() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = cluster.fire();
    cluster.java_begins(&java, 1);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    let other = cluster.java_joins("10.0.9.2");
    cluster.java_stands_in_line(&other, "failover", 3);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert!(cluster.truth().item(ShardingItem::new(1)).queued, "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());

    cluster.java_takes_over(&other, 1);
    cluster.java_leaves_the_line(&other, "failover", 3);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&other, 1);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "Java has run item 1\n{}", cluster.story());
    assert_nobody_stands_in_line(&cluster);
}

#[test]
fn a_request_of_ours_reaches_everybody_under_a_java_leader() {
    let (mut cluster, java) = led_by_java(3, &[0, 2]);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let expected = [(0, RunSource::Manual), (2, RunSource::Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.story());
    let of_java = format!("instances/{}", java.id());
    assert_eq!(cluster.data_of(&of_java).as_deref(), Some("TRIGGER"), "{}", cluster.story());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.story());
}

/// Java accepts a request by taking it out of its node, and runs.
fn accepts(cluster: &mut Cluster, java: &JavaPeer, items: &[u32]) {
    cluster.write(&format!("instances/{}", java.id()), "");
    for item in items {
        cluster.java_begins(java, *item);
    }
    cluster.run_for(A_WHILE);
    for item in items {
        cluster.java_ends(java, *item);
    }
    cluster.run_for(A_WHILE);
}

fn manual_runs(cluster: &Cluster) -> usize {
    cluster.runs().filter(|(_, start)| start.source == RunSource::Manual).count()
}

#[test]
fn a_request_reaches_java_instances_under_our_leader_once() {
    let (mut cluster, java, ours) = shared_with_java();
    let node = format!("instances/{}", java.id());
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.story());
    assert_eq!(manual_runs(&cluster), 2, "{}", cluster.story());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.story());
    cluster.end_all_runs();
    let of_java: Vec<_> = (0..4).filter(|item| !ours.contains(item)).collect();
    accepts(&mut cluster, &java, &of_java);
    assert_eq!(cluster.data_of(&node).as_deref(), Some(""), "asked twice\n{}", cluster.story());
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(manual_runs(&cluster), 2, "Java has run the others\n{}", cluster.story());
}

fn missed(cluster: &Cluster) -> Vec<(Option<ShardingItem>, MissReason)> {
    let missed = |event: &JobEvent| match event {
        JobEvent::Missed { item, reason, .. } => Some((*item, *reason)),
        _ => None,
    };
    cluster.events(FIRST).iter().filter_map(missed).collect()
}

/// Only that of an item which an operator has disabled is not run.
#[test]
fn a_request_that_is_handed_on_to_a_java_instance_is_not_told_to_be_missed() {
    let (mut cluster, java, ours) = shared_with_java();
    let mut of_java = (0..4).filter(|item| !ours.contains(item));
    let (disabled, _) = (of_java.next().unwrap(), of_java.next().unwrap());
    cluster.create(&format!("sharding/{disabled}/disabled"), "");
    cluster.run_for(A_WHILE);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let node = format!("instances/{}", java.id());
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.story());
    let expected = [(Some(ShardingItem::new(disabled)), MissReason::ItemDisabled)];
    assert_eq!(missed(&cluster), expected, "{}", cluster.story());
}

#[test]
fn a_java_instance_that_runs_is_asked_when_it_is_done() {
    let (mut cluster, java, ours) = shared_with_java();
    let node = format!("instances/{}", java.id());
    let item = (0..4).find(|item| !ours.contains(item)).unwrap();
    cluster.fire();
    cluster.java_begins(&java, item);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some(""), "{}", cluster.story());
    cluster.java_ends(&java, item);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of(&node).as_deref(), Some("TRIGGER"), "{}", cluster.story());
    assert_eq!(manual_runs(&cluster), 2, "once each\n{}", cluster.story());
}

/// A job that is not monitored has no records and no marks: its items are run by whoever has them.
fn unmonitored_led_by_java(items: u32, of_ours: &[u32]) -> (Cluster, JavaPeer) {
    let config = JobConfig { monitor_execution: false, failover: false, ..job_of(items) };
    let mut cluster = Cluster::unstarted(&config);
    let java = cluster.java_joins("10.0.9.1");
    cluster.java_leads(&java);
    cluster.join();
    cluster.run_for(A_WHILE);
    assign(&mut cluster, &java, items, of_ours);
    (cluster, java)
}

#[test]
fn without_monitoring_ours_run_what_a_java_leader_gives_them() {
    let (mut cluster, java) = unmonitored_led_by_java(4, &[1, 3]);
    for _ in 0..2 {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [1, 3], "{}", cluster.story());
        cluster.end_all_runs();
    }
    assign(&mut cluster, &java, 4, &[0]);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());
    assert!(cluster.nodes_below("ledger").is_empty(), "{}", cluster.story());
}

#[test]
fn without_monitoring_a_fire_waits_until_a_java_leader_has_assigned_items_anew() {
    let (mut cluster, java) = unmonitored_led_by_java(2, &[0]);
    cluster.create("leader/sharding/necessary", "");
    cluster.run_for(A_WHILE);
    let overtaken = cluster.fire();
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
    assign(&mut cluster, &java, 2, &[1]);
    cluster.remove("leader/sharding/necessary");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [1], "{}", cluster.story());
    assert!(cluster.items_run_for(overtaken).is_empty(), "{}", cluster.story());
    let missed = |event: &JobEvent| matches!(event, JobEvent::Missed { item: None, fire, .. } if *fire == overtaken);
    assert!(cluster.events(FIRST).iter().any(missed), "{}", cluster.story());
}

#[test]
fn without_monitoring_items_move_to_a_java_instance_and_back() {
    let config = JobConfig { monitor_execution: false, failover: false, ..job_of(2) };
    let mut cluster = Cluster::settled(1, &config);
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 1, "{}", cluster.story());
    cluster.end_all_runs();
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire).len(), 1, "nothing runs again\n{}", cluster.story());
}

/// Java instances start nothing while they are told that items will be assigned anew: the fire is run by who has the item
/// afterwards. What one of them still runs from before it has seen by itself.
#[test]
fn a_fire_that_comes_while_java_instances_hold_back_is_run_by_who_has_the_item_then() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let of_java = |item: &u32| cluster.owner(*item).unwrap().as_str() == java.id();
    let items: Vec<u32> = (0..4).filter(of_java).collect();
    cluster.fire();
    cluster.java_begins(&java, items[0]);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let flag = "leader/sharding/necessary";
    assert!(cluster.data_of(flag).is_some(), "{}", cluster.story());
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 2, "{}", cluster.story());
    cluster.java_ends(&java, items[0]);
    cluster.run_for(A_WHILE);
    let expected: Vec<u32> = (0..4).filter(|item| *item != items[0]).collect();
    assert_eq!(cluster.items_run_for(fire), expected, "{}", cluster.story());
    assert_eq!(cluster.data_of(flag), None, "{}", cluster.story());
}

/// One of ours leads a job that fires each second, and a Java instance has two of its four items. Returns those, and the fire that
/// has just come.
fn java_has_two_items() -> (Cluster, JavaPeer, [u32; 2], FireTime) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let of_java = |item: &u32| cluster.owner(*item).unwrap().as_str() == java.id();
    let items: Vec<u32> = (0..4).filter(of_java).collect();
    let fire = cluster.fire();
    (cluster, java, items.try_into().unwrap(), fire)
}

/// It is late for the fire, and is told before it gets to it.
#[test]
fn what_a_java_instance_has_not_begun_when_it_is_told_is_run_by_who_has_the_item_then() {
    for (told_after, expected) in [(1, 4), (100, 4), (249, 4), (251, 2), (600, 2)] {
        let (mut cluster, _, _, fire) = java_has_two_items();
        cluster.run_for(Duration::from_millis(told_after));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        cluster.run_for(A_WHILE);
        let found = cluster.items_run_for(fire).len();
        assert_eq!(found, expected, "after {told_after} ms\n{}", cluster.story());
    }
}

/// It marks all its items when it begins, and may have ended when it is told.
#[test]
fn what_a_java_instance_has_begun_when_it_is_told_is_not_run_again() {
    for (has_ended, is_seen_early) in [(false, false), (true, false), (true, true)] {
        let (mut cluster, java, items, mut fire) = java_has_two_items();
        if is_seen_early {
            cluster.run_for(Duration::from_secs(1));
            cluster.end_all_runs();
        }
        // Of the other item the mark comes later, or goes so fast that nobody sees it.
        cluster.java_begins(&java, items[0]);
        cluster.run_for(Duration::from_millis(5));
        if is_seen_early {
            fire = cluster.fire();
        }
        if has_ended {
            cluster.java_ends(&java, items[0]);
        }
        cluster.run_for(Duration::from_millis(5));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        cluster.run_for(Duration::from_millis(20));
        if !has_ended {
            cluster.java_ends(&java, items[0]);
        }
        cluster.run_for(A_WHILE);
        let found = cluster.items_run_for(fire).len();
        assert_eq!(found, 2, "{has_ended} {is_seen_early}\n{}", cluster.story());
        let ours = cluster.id_of(FIRST);
        assert!((0..4).all(|item| cluster.owner(item) == Some(ours)), "{}", cluster.story());
    }
}

/// Whoever of them has the item when it begins that fire would run it again.
#[test]
fn what_ours_have_run_for_a_fire_that_java_instances_hold_back_follows_later() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(Duration::from_millis(300));
    cluster.end_all_runs();
    cluster.run_for(Duration::from_millis(500));
    // It has what is assigned by the next fire, and is about to begin that.
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_millis(200));
    assert!(cluster.data_of(NECESSARY).is_some(), "{}", cluster.story());
    let fire = cluster.fire();
    cluster.run_for(Duration::from_millis(20));
    cluster.end_all_runs();
    let of_java = |cluster: &Cluster| {
        (0..2)
            .filter(|item| cluster.owner(*item).is_some_and(|id| id.as_str() == java.id()))
            .count()
    };
    while cluster.data_of(NECESSARY).is_some() {
        cluster.run_for(Duration::from_millis(10));
    }
    cluster.run_for(Duration::from_millis(300));
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
    assert_eq!(of_java(&cluster), 0, "it would run the item again\n{}", cluster.story());
    cluster.run_for(Duration::from_millis(100));
    assert_eq!(of_java(&cluster), 1, "{}", cluster.story());
    assert_eq!(cluster.data_of(NECESSARY), None, "{}", cluster.story());
}

/// Right before a fire what it sees of the registry may be of before the move when the fire comes; right after it, it may have begun
/// without having shown that yet.
#[test]
fn nothing_moves_among_java_instances_at_a_fire() {
    for (since_fire, not_yet, until) in
        [(10, 230, 270), (100, 100, 270), (400, 0, 420), (800, 300, 1270)]
    {
        let (mut cluster, ..) = java_has_two_items();
        let of_java = |cluster: &Cluster| {
            let ours = cluster.id_of(FIRST);
            (0..4).filter(|item| cluster.owner(*item) != Some(ours)).count()
        };
        cluster.run_for(Duration::from_millis(since_fire));
        cluster.end_all_runs();
        cluster.write("servers/10.0.9.1", "DISABLED");
        if not_yet > 0 {
            cluster.run_for(Duration::from_millis(not_yet));
            assert_eq!(of_java(&cluster), 2, "{since_fire} ms\n{}", cluster.story());
        }
        cluster.run_for(Duration::from_millis(until - not_yet - since_fire));
        assert_eq!(of_java(&cluster), 0, "{since_fire} ms\n{}", cluster.story());
    }
}

/// The Java leader is lost right before a fire, and the other Java instance, which says so, begins nothing. Nobody of ours has
/// run the items that come here, so that they have no records yet.
#[test]
fn what_java_instances_hold_back_is_run_by_ours_although_it_has_no_record() {
    for of_leader in [[0, 1], [2, 3]] {
        let mut cluster = Cluster::unstarted(&job_of(4));
        let [leader, other] = ["10.0.9.1", "10.0.9.2"].map(|ip| cluster.java_joins(ip));
        cluster.java_leads(&leader);
        cluster.join();
        cluster.run_for(A_WHILE);
        for item in 0..4 {
            let owner = if of_leader.contains(&item) { &leader } else { &other };
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
        let ours = cluster.id_of(FIRST).clone();
        let mine: Vec<u32> = (0..4).filter(|item| cluster.owner(*item) == Some(&ours)).collect();
        assert_eq!(mine.len(), 2, "{}", cluster.story());
        assert_eq!(cluster.items_run_for(fire), mine, "{}", cluster.story());
    }
}

/// Lets our leader do one thing after the other until a node of the job is there, or is not.
fn step_until(cluster: &mut Cluster, node: &str, there: bool) {
    while cluster.data_of(node).is_some() != there {
        let goes_on = cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST);
        assert!(goes_on, "{node} is not as wanted: {}", cluster.story());
    }
}

const NECESSARY: &str = "leader/sharding/necessary";

/// A transaction takes two items, and eight are to be assigned.
#[test]
fn java_instances_go_on_when_an_assignment_is_written_to_its_end() {
    let limits = |c: Coordinator, _| c.limited_to(Limits { max_ops: 28, max_bytes: 1 << 20 });
    let mut cluster = Cluster::settled_with(1, &job_of(8), limits);
    let java = cluster.java_joins("10.0.9.1");
    step_until(&mut cluster, NECESSARY, true);
    step_until(&mut cluster, NECESSARY, false);
    let of_java = (0..8).filter(|item| cluster.owner(*item).unwrap().as_str() == java.id());
    assert_eq!(of_java.count(), 4, "they go on too early\n{}", cluster.story());
    let before = cluster.traffic();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.traffic().since(before).commits, 0, "{}", cluster.story());
}

/// The leader has waited for the run as long as it waits, and has assigned the rest.
#[test]
fn java_instances_are_told_before_items_follow_from_them() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let of_java =
        |cluster: &Cluster| (0..4).find(|item| cluster.owner(*item).unwrap().as_str() == java.id());
    let item = of_java(&cluster).unwrap();
    cluster.fire();
    cluster.java_begins(&java, item);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(10 * A_WHILE);
    assert_eq!(cluster.data_of(NECESSARY), None, "{}", cluster.story());
    assert_eq!(of_java(&cluster), Some(item), "{}", cluster.story());
    cluster.java_ends(&java, item);
    step_until(&mut cluster, NECESSARY, true);
    assert_eq!(of_java(&cluster), Some(item), "it has moved before\n{}", cluster.story());
    step_until(&mut cluster, NECESSARY, false);
    assert_eq!(of_java(&cluster), None, "{}", cluster.story());
}

/// A8: an item that failed stays marked, and Java never begins it again.
#[test]
fn a_mark_that_a_living_java_instance_has_left_behind_is_told_once() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    cluster.fire();
    cluster.java_begins(&java, 1);
    cluster.java_begins(&java, 2);
    cluster.run_for(A_WHILE);
    cluster.java_ends(&java, 2);
    for _ in 0..3 {
        cluster.fire();
        cluster.java_begins(&java, 2);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.java_ends(&java, 2);
        cluster.run_for(A_WHILE);
    }
    let told = anomalies(&cluster, FIRST);
    assert_eq!(told.len(), 1, "{told:?}\n{}", cluster.story());
    assert!(told[0].starts_with("/report/sharding/1/running: 10.0.9.1@-@4123"), "{told:?}");
    assert!(told[0].contains("it runs a later fire already"), "{told:?}");
}

#[test]
fn a_java_instance_that_works_long_and_often_is_not_suspected() {
    let (mut cluster, java) = led_by_java(3, &[0]);
    for _ in 0..4 {
        cluster.java_begins(&java, 1);
        cluster.run_for(A_WHILE);
        cluster.fire();
        cluster.java_begins(&java, 2);
        for _ in 0..3 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
            cluster.fire();
        }
        cluster.java_ends(&java, 1);
        cluster.java_ends(&java, 2);
    }
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.story());
}

/// The mark of the run is ours, although the item is a Java instance's.
#[test]
fn a_run_of_ours_is_not_suspected_when_its_item_was_given_to_a_java_instance() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.java_assigns(&java, 0, java.id());
    cluster.run_for(A_WHILE);
    for _ in 0..4 {
        cluster.fire();
        cluster.java_begins(&java, 1);
        cluster.run_for(A_WHILE);
        cluster.java_ends(&java, 1);
        cluster.run_for(A_WHILE);
    }
    assert!(anomalies(&cluster, FIRST).is_empty(), "{}", cluster.story());
}

/// A Java leader gives the item to itself while it runs, and leads no longer when the instance is lost that runs it.
#[test]
fn an_unfinished_run_of_ours_is_given_up_if_its_item_was_given_to_a_java_instance() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    cluster.join();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.java_assigns(&java, 0, java.id());
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.remove("leader/election/instance");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(1), "{}", cluster.story());
    assert_eq!(sources(&cluster), [(0, RunSource::Normal)], "{}", cluster.story());
}

/// Returns a cluster that one of ours leads, with a Java instance, and the items of ours: half of them.
fn shared_with_java() -> (Cluster, JavaPeer, Vec<u32>) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let ours = cluster.id_of(FIRST).clone();
    let items: Vec<_> = (0..4).filter(|item| cluster.owner(*item) == Some(&ours)).collect();
    assert_eq!(items.len(), 2, "{}", cluster.story());
    (cluster, java, items)
}

/// An operator takes away the marks of runs that go on.
#[test]
fn beside_a_java_instance_a_run_is_not_taken_from_somebody_who_is_registered() {
    let (mut cluster, _, items) = shared_with_java();
    cluster.fire();
    cluster.run_for(A_WHILE);
    items.iter().for_each(|item| cluster.remove(&format!("sharding/{item}/running")));
    cluster.run_for(A_WHILE);
    let goes_on = |item: &u32| cluster.ledger(ShardingItem::new(*item)).running().is_some();
    assert!(items.iter().all(goes_on), "somebody has given it up\n{}", cluster.story());
}

/// Returns a cluster in which ours has run its items for the fire, and a Java instance, which had the others, is gone.
fn fired_before_a_java_instance_was_lost() -> (Cluster, FireTime, Vec<u32>) {
    let (mut cluster, java, items) = shared_with_java();
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    (cluster, fire, items)
}

/// The record of the item, which its Java instance has not looked at, says nothing of the fire.
#[test]
fn a_fire_that_came_while_a_java_instance_had_the_item_is_not_run_again_under_our_leader() {
    let (mut cluster, fire, items) = fired_before_a_java_instance_was_lost();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.story());
}

/// It came between the request of a Java instance for resharding and what our leader made of it.
#[test]
fn a_fire_that_came_before_a_java_instance_was_told_whose_items_are_is_not_run_again() {
    let (mut cluster, java, items) = shared_with_java();
    cluster.create("leader/sharding/necessary", "");
    cluster.deliver_all(FIRST);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.story());
}

/// Only who was there when the fire came knows that a Java instance had the item.
#[test]
fn a_newcomer_is_not_told_of_a_fire_that_a_java_instance_may_have_run() {
    let (mut cluster, fire, items) = fired_before_a_java_instance_was_lost();
    (0..3).for_each(|_| cluster.join());
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), items, "{}", cluster.story());
}

/// Returns whether a newcomer claims a fire that was assigned to it, and that nobody else has claimed.
fn a_newcomer_claims(beside_java: bool) -> bool {
    let mut cluster = Cluster::settled(1, &job_of(4));
    cluster.fire();
    let _claim = cluster.take_back(FIRST, Duty::Claim);
    cluster.join();
    cluster.tell(1, Event::Paused);
    cluster.run_for(A_WHILE);
    let newcomer = cluster.id_of(1).clone();
    assert!((0..4).any(|item| cluster.owner(item) == Some(&newcomer)), "{}", cluster.story());
    if beside_java {
        cluster.java_joins("10.0.9.1");
    }
    cluster.deliver_all(1);
    cluster.tell(1, Event::Resumed);
    cluster.is_sending(1, Duty::Claim)
}

/// The assignment tells of the fire until the leader has made another one.
#[test]
fn a_newcomer_does_not_believe_an_assignment_from_before_a_java_instance_came() {
    assert!(a_newcomer_claims(false), "there is nothing that it could claim");
    assert!(!a_newcomer_claims(true), "it claims what the Java instance may run");
}

/// The items get their records before the sweep, whose reply is lost, has noted what the Java instance left unfinished.
#[test]
fn what_a_java_instance_has_left_unfinished_does_not_count_as_done() {
    let (mut cluster, java) = led_by_java(2, &[0]);
    let fire = fires_while_java_runs_item_1(&mut cluster, &java);
    cluster.java_crashes(&java);
    cluster.step_until_sending(FIRST, Duty::Sweep);
    let sweep = cluster.take_back(FIRST, Duty::Sweep);
    cluster.report_unknown(&sweep);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
}

/// What it was about to assign would leave nothing for the Java instance that leads next to see.
#[test]
fn a_leader_that_is_disabled_leaves_word_whatever_it_was_about_to_assign() {
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
    let on_its_way = cluster.hold_commits_back();
    assert!(on_its_way.iter().any(|commit| commit.is_about("necessary")), "{}", cluster.story());
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.send(on_its_way);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), None, "{}", cluster.story());
    let word = cluster.data_of("leader/sharding/necessary");
    assert!(word.is_some(), "{} has nothing to go by\n{}", java.id(), cluster.story());
}
