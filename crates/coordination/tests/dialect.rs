//! Stories in the dialect of ElasticJob 3.x: what stands in its nodes, and that everything works there too.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{
    ConfigState, Dialect, Duty, Event, FireTime, JavaSettings, JobConfig, JobEvent, Layout,
    RunSource, ServerIp, ServerState,
};
use script::{Cluster, job_of};

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

fn job_of_3(items: u32) -> JobConfig {
    JobConfig { java: JavaSettings::of(Dialect::V3), ..job_of(items) }
}

fn settled(instances: usize, items: u32) -> Cluster {
    Cluster::settled_with(instances, &job_of_3(items), |c, _| c.speaking(Dialect::V3))
}

#[test]
fn nodes_hold_what_java_instances_of_3_x_expect() {
    let mut cluster = settled(1, 1);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let rows = [
        ("servers/10.0.0.1", "ENABLED"),
        ("instances/10.0.0.1@-@1", "jobInstanceId: 10.0.0.1@-@1\nserverIp: 10.0.0.1\n# RUST\n"),
        ("sharding/0/instance", "10.0.0.1@-@1"),
        ("sharding/0/running", "10.0.0.1@-@1"),
        ("leader/election/instance", "10.0.0.1@-@1"),
    ];
    for (node, expected) in rows {
        assert_eq!(cluster.data_of(node).as_deref(), Some(expected), "{node}");
    }
}

#[test]
fn servers_are_disabled_and_enabled_in_the_words_of_3_x() {
    let layout = Layout::new(&job_of(1).job_name).speaking(Dialect::V3);
    let ip = ServerIp::new("10.0.0.1").unwrap();
    for (state, data) in [
        (ServerState::Enabled, "ENABLED"),
        (ServerState::Paused, "PAUSED"),
        (ServerState::Disabled, "DISABLED"),
    ] {
        let mut cluster = settled(2, 2);
        cluster.operate(&layout.set_server(&ip, state));
        assert_eq!(cluster.data_of("servers/10.0.0.1").as_deref(), Some(data));
        cluster.run_for(A_WHILE);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        let by_first = cluster.runs_for(fire).filter(|(by, _)| *by == FIRST).count();
        assert_eq!(by_first > 0, state == ServerState::Enabled, "{data}: {}", cluster.story());
    }
}

/// Java instances of 3.x run on servers that hold exactly `ENABLED`; those of 2.1.5 on all that are not disabled.
#[test]
fn in_3_x_a_server_whose_state_nobody_knows_has_no_items_and_is_told() {
    for data in ["", "enabled", "TRUE"] {
        let mut cluster = settled(2, 2);
        cluster.write("servers/10.0.0.2", data);
        cluster.run_for(A_WHILE);
        let second = cluster.id_of(SECOND).clone();
        let of_second = (0..2).filter(|item| cluster.owner(*item) == Some(&second));
        assert_eq!(of_second.count(), 0, "{data:?}: {}", cluster.story());
        let told = cluster.events(FIRST).iter().filter(|event| match event {
            JobEvent::Anomaly { path, reason } => {
                path == "/report/servers/10.0.0.2" && reason.contains("counts as disabled")
            }
            _ => false,
        });
        assert_eq!(told.count(), 1, "{data:?}: {}", cluster.story());
    }
    let mut of_2 = Cluster::settled(2, &job_of(2));
    of_2.write("servers/10.0.0.2", "enabled");
    of_2.run_for(A_WHILE);
    let second = of_2.id_of(SECOND).clone();
    assert!((0..2).any(|item| of_2.owner(item) == Some(&second)), "{}", of_2.story());
}

/// Java's operation API creates one node per instance, and each instance takes its own away.
#[test]
fn an_instance_runs_when_its_trigger_node_appears_each_time() {
    let mut cluster = settled(2, 2);
    for round in 1..=2 {
        cluster.create("trigger/10.0.0.2@-@2", "");
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let manual = |source| source == RunSource::Manual;
        let runs: Vec<_> =
            cluster.runs().filter(|(_, start)| manual(start.source)).map(|(by, _)| by).collect();
        assert_eq!(runs, vec![SECOND; round], "{}", cluster.story());
        assert_eq!(cluster.data_of("trigger/10.0.0.2@-@2"), None, "{}", cluster.story());
    }
}

/// The request was on its way.
#[test]
fn a_request_for_a_java_instance_that_is_gone_leaves_no_node() {
    let mut cluster = settled(1, 2);
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    let node = format!("trigger/{}", java.id());
    let request = loop {
        cluster.step_until_sending(FIRST, Duty::Trigger);
        let commit = cluster.take_back(FIRST, Duty::Trigger);
        if commit.is_about(&node) {
            break commit;
        }
        cluster.send(vec![commit]);
        cluster.execute_all(FIRST);
    };
    cluster.java_crashes(&java);
    assert!(cluster.refuses(request), "{}", cluster.story());
    assert_eq!(cluster.data_of(&node), None, "{}", cluster.story());
}

#[test]
fn a_job_that_is_not_monitored_is_triggered_through_the_nodes_of_3_x() {
    let config = JobConfig { monitor_execution: false, failover: false, ..job_of_3(2) };
    let mut cluster = Cluster::settled_with(2, &config, |c, _| c.speaking(Dialect::V3));
    let layout = Layout::new(&config.job_name).speaking(Dialect::V3);
    let nobody: Option<Vec<_>> = None;
    cluster.operate(&layout.request_run("r", "an operator", 1_700_000_000_001, nobody));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "{}", cluster.story());
    assert!(cluster.nodes_below("trigger").is_empty(), "{}", cluster.story());
}

#[test]
fn what_a_crashed_instance_left_unfinished_is_taken_over() {
    let mut cluster = settled(2, 4);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(SECOND);
    cluster.end_runs(FIRST);
    for _ in 0..4 {
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
    }
    assert_eq!(cluster.items_run_for(fire).len(), 6, "two of four twice\n{}", cluster.story());
    let taken = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover).count();
    assert_eq!(taken, 2, "{}", cluster.story());
}

#[test]
fn a_document_of_the_other_dialect_is_refused_and_the_last_good_one_stays() {
    let mut cluster = settled(1, 2);
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
    let state = cluster.view_of(FIRST).config_state().clone();
    let ConfigState::Invalid { reason, .. } = state else { panic!("{state:?}") };
    assert_eq!(reason, "the document is of ElasticJob 2.1.5, and the job's nodes are of 3.x");
}

/// Java instances of 3.x find out by marks that last what they have to take over.
#[test]
fn with_failover_the_mark_of_a_run_outlives_its_session_and_is_taken_away_by_whoever_sweeps() {
    let mut cluster = settled(2, 2);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item =
        (0..2).find(|item| cluster.owner(*item).unwrap().as_str() == "10.0.0.2@-@2").unwrap();
    let mark = format!("sharding/{item}/running");
    cluster.crash(SECOND);
    assert_eq!(cluster.data_of(&mark).as_deref(), Some("10.0.0.2@-@2"), "{}", cluster.story());
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let failovering = format!("sharding/{item}/failovering");
    assert_eq!(cluster.data_of(&mark).as_deref(), Some("10.0.0.1@-@1"), "{}", cluster.story());
    assert_eq!(cluster.data_of(&failovering).as_deref(), Some("10.0.0.1@-@1"));
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    for node in [mark, failovering, format!("coordination/runs/{item}")] {
        assert_eq!(cluster.data_of(&node), None, "{node}: {}", cluster.story());
    }
}

/// The Java operation API takes an instance out by its node; its code runs on.
#[test]
fn a_run_of_an_instance_that_was_taken_out_is_not_swept_although_its_mark_lasts() {
    let mut cluster = settled(2, 2);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.remove("instances/10.0.0.2@-@2");
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
    cluster.end_runs(SECOND);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
}

/// Its session is over, its persistent mark is not.
#[test]
fn what_a_java_instance_of_3_x_left_unfinished_is_taken_over() {
    let mut cluster = settled(1, 2);
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let item = (0..2).find(|item| cluster.owner(*item).unwrap().as_str() == java.id()).unwrap();
    let fire = cluster.fire();
    cluster.create(&format!("sharding/{item}/running"), java.id());
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    let taken = cluster.runs_for(fire).find(|(_, start)| start.item.index() == item);
    let source = taken.map(|(_, start)| start.source);
    assert_eq!(source, Some(RunSource::Failover), "{}", cluster.story());
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
}

/// Items 0 and 1, one of ours that leads, and a Java instance that has item 1 and shows it as running.
fn with_java(of_3: JobConfig) -> (Cluster, script::JavaPeer, FireTime) {
    let mut cluster = Cluster::settled_with(1, &of_3, |c, _| c.speaking(Dialect::V3));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let of_java = (0..2).find(|i| cluster.owner(*i).unwrap().as_str() == java.id()).unwrap();
    cluster.java_begins_for_good(&java, of_java);
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    (cluster, java, fire)
}

#[test]
fn our_leader_announces_to_java_instances_that_items_move_and_clears_that_afterwards() {
    let (mut cluster, java, _) = with_java(job_of_3(2));
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let announced = cluster.data_of("leader/sharding/necessary");
    assert!(announced.is_some(), "an item that runs is to move\n{}", cluster.story());
    // It takes long: the leader assigns what it can.
    cluster.run_for(Duration::from_secs(15));
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.story());
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.story());
}

#[test]
fn each_announcement_is_waited_for_anew() {
    let (mut cluster, _java, _) = with_java(job_of_3(2));
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(Duration::from_secs(15));
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.story());
    cluster.configure(&job_of_3(3));
    cluster.run_for(A_WHILE);
    let announced = cluster.data_of("leader/sharding/necessary");
    assert!(announced.is_some(), "the item still runs\n{}", cluster.story());
}

#[test]
fn what_a_java_instance_of_3_x_left_unfinished_is_taken_over_once() {
    let (mut cluster, java, fire) = with_java(job_of_3(2));
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
    assert_eq!(failovers.count(), 1, "{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
    for item in 0..2 {
        let mark = format!("sharding/{item}/running");
        assert_eq!(cluster.data_of(&mark), None, "{}", cluster.story());
    }
}

/// A Java survivor has taken it over and removed the mark before ours looked.
#[test]
fn what_a_java_survivor_of_3_x_has_taken_over_is_not_run_again() {
    let (mut cluster, java, fire) = with_java(job_of_3(2));
    let item = (0..2).find(|i| cluster.owner(*i).unwrap().as_str() == java.id()).unwrap();
    let survivor = cluster.java_joins("10.0.9.2");
    cluster.java_crashes(&java);
    cluster.remove(&format!("sharding/{item}/running"));
    cluster.create(&format!("leader/failover/items/{item}"), "");
    cluster.java_takes_over(&survivor, item);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&survivor, item);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 1, "ours has run its own\n{}", cluster.story());
}

/// A5: Java takes nothing over from a server that was disabled or removed.
#[test]
fn what_was_left_unfinished_on_a_server_that_was_disabled_or_removed_before_is_taken_over() {
    type Change = fn(&mut Cluster);
    let rows: [(&str, Change); 2] = [
        ("disabled", |cluster| cluster.write("servers/10.0.9.1", "DISABLED")),
        ("removed", |cluster| cluster.remove("servers/10.0.9.1")),
    ];
    for (case, change) in rows {
        let (mut cluster, java, fire) = with_java(job_of_3(2));
        change(&mut cluster);
        cluster.run_for(A_WHILE);
        cluster.java_crashes(&java);
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
        cluster.run_for(A_WHILE);
        let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
        assert_eq!(failovers.count(), 1, "{case}: {}", cluster.story());
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{case}: {}", cluster.story());
    }
}

/// A7: all are lost, one of ours and a Java instance each in the middle of an item, and three come back in the same moment. In
/// Java neither would be alone, and nobody would mend.
#[test]
fn what_was_left_unfinished_is_mended_once_when_several_come_back_together() {
    let (mut cluster, java, _) = with_java(job_of_3(2));
    let ours = cluster.id_of(FIRST).clone();
    let of_ours = (0..2).find(|item| cluster.owner(*item) == Some(&ours)).unwrap();
    let last = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.java_crashes(&java);
    (0..3).for_each(|_| cluster.join());
    let go_on = |cluster: &mut Cluster| {
        for _ in 0..4 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
        }
    };
    go_on(&mut cluster);
    assert_eq!(cluster.items_run_for(last), [of_ours, of_ours], "{}", cluster.story());
    let next = cluster.fire();
    go_on(&mut cluster);
    assert_eq!(cluster.items_run_for(next), [0, 1], "once each\n{}", cluster.story());
    for item in 0..2 {
        for mark in ["running", "failover", "failovering"] {
            let node = format!("sharding/{item}/{mark}");
            assert_eq!(cluster.data_of(&node), None, "{node}: {}", cluster.story());
        }
    }
    assert!(cluster.nodes_below("leader/failover/items").is_empty(), "{}", cluster.story());
}

/// Failover was turned off while the mark stood: nobody takes it over, and nobody would run the item any more.
#[test]
fn a_mark_that_lasts_does_not_stay_when_failover_is_turned_off() {
    let (mut cluster, java, _) = with_java(job_of_3(2));
    cluster.configure(&JobConfig { failover: false, ..job_of_3(2) });
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
    let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
    assert_eq!(failovers.count(), 0, "{}", cluster.story());
}

/// What was given up without failover is not remembered.
#[test]
fn a_mark_that_is_gone_tells_nothing_when_failover_is_turned_on_again() {
    let (mut cluster, java, fire) = with_java(job_of_3(2));
    cluster.configure(&JobConfig { failover: false, ..job_of_3(2) });
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of_3(2));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 1, "ours has run its own\n{}", cluster.story());
}

/// A4: pid 1 in a container, with the address of the one before.
#[test]
fn a_mark_of_an_earlier_life_with_the_same_id_is_told() {
    let (mut cluster, java, _) = with_java(job_of_3(2));
    cluster.java_crashes(&java);
    let again = cluster.java_joins("10.0.9.1");
    assert_eq!(again.id(), java.id());
    cluster.run_for(A_WHILE);
    for _ in 0..3 {
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
    }
    let told = cluster.events(FIRST).iter().filter(|event| match event {
        JobEvent::Anomaly { reason, .. } => reason.contains("older than the instance"),
        _ => false,
    });
    assert_eq!(told.count(), 1, "{}", cluster.story());
}
