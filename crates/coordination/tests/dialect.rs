//! Scenario tests of the dialect of ElasticJob 3.x: the data of its nodes, and its special rules.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    ConfigState, Dialect, Duty, Event, FireTime, JavaSettings, JobConfig, JobEvent, Layout,
    RunSource, ServerIp, ServerState,
};

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

fn job_of_v3(items: u32) -> JobConfig {
    job_of(items).with(|it| it.java = JavaSettings::of(Dialect::V3))
}

fn settled(instances: usize, items: u32) -> Cluster {
    Cluster::settled_with(instances, &job_of_v3(items), |c, _| c.speaking(Dialect::V3))
}

#[test]
fn nodes_have_data_format_of_3_x() {
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
fn server_states_have_data_format_of_3_x() {
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
        assert_eq!(by_first > 0, state == ServerState::Enabled, "{data}: {}", cluster.trace());
    }
}

/// Java instances of 3.x run on servers whose data are exactly `ENABLED`. Those of 2.1.5 run on all
/// servers that are not disabled.
#[test]
fn server_with_unknown_state_owns_no_items_in_3_x_and_is_reported() {
    for data in ["", "enabled", "TRUE"] {
        let mut cluster = settled(2, 2);
        cluster.write("servers/10.0.0.2", data);
        cluster.run_for(A_WHILE);
        let second = cluster.id_of(SECOND).clone();
        let of_second = (0..2).filter(|item| cluster.owner(*item) == Some(&second));
        assert_eq!(of_second.count(), 0, "{data:?}: {}", cluster.trace());
        let reports = cluster.events(FIRST).iter().filter(|event| match event {
            JobEvent::Anomaly { path, reason } => {
                path == "/report/servers/10.0.0.2" && reason.contains("counts as disabled")
            }
            _ => false,
        });
        assert_eq!(reports.count(), 1, "{data:?}: {}", cluster.trace());
    }
    let mut of_2 = Cluster::settled(2, &job_of(2));
    of_2.write("servers/10.0.0.2", "enabled");
    of_2.run_for(A_WHILE);
    let second = of_2.id_of(SECOND).clone();
    assert!((0..2).any(|item| of_2.owner(item) == Some(&second)), "{}", of_2.trace());
}

/// Java's operation API creates one node for each instance, and each instance deletes its own.
#[test]
fn each_trigger_node_starts_one_manual_run() {
    let mut cluster = settled(2, 2);
    for round in 1..=2 {
        cluster.create("trigger/10.0.0.2@-@2", "");
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let manual = |source| source == RunSource::Manual;
        let runs: Vec<_> =
            cluster.runs().filter(|(_, start)| manual(start.source)).map(|(by, _)| by).collect();
        assert_eq!(runs, vec![SECOND; round], "{}", cluster.trace());
        assert_eq!(cluster.data_of("trigger/10.0.0.2@-@2"), None, "{}", cluster.trace());
    }
}

/// The request is in flight when the Java instance is lost.
#[test]
fn trigger_node_is_not_created_for_lost_java_instance() {
    let mut cluster = settled(1, 2);
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    let node = format!("trigger/{}", java.id());
    let request = loop {
        cluster.step_until_queued(FIRST, Duty::Trigger);
        let commit = cluster.hold_commit(FIRST, Duty::Trigger);
        if commit.writes_to(&node) {
            break commit;
        }
        cluster.requeue(vec![commit]);
        cluster.execute_all(FIRST);
    };
    cluster.java_crashes(&java);
    assert!(cluster.is_rejected(request), "{}", cluster.trace());
    assert_eq!(cluster.data_of(&node), None, "{}", cluster.trace());
}

#[test]
fn unmonitored_job_is_triggered_by_nodes_of_3_x() {
    let config = job_of_v3(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled_with(2, &config, |c, _| c.speaking(Dialect::V3));
    let layout = Layout::new(&config.job_name).speaking(Dialect::V3);
    let all_items: Option<Vec<_>> = None;
    cluster.operate(&layout.request_run("r", "an operator", 1_700_000_000_001, all_items));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "{}", cluster.trace());
    assert!(cluster.nodes_below("trigger").is_empty(), "{}", cluster.trace());
}

#[test]
fn orphaned_runs_of_crashed_instance_are_taken_over() {
    let mut cluster = settled(2, 4);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(SECOND);
    cluster.end_runs(FIRST);
    for _ in 0..4 {
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
    }
    let runs = cluster.items_run_for(fire).len();
    assert_eq!(runs, 6, "four runs and two takeovers\n{}", cluster.trace());
    let takeovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover).count();
    assert_eq!(takeovers, 2, "{}", cluster.trace());
}

#[test]
fn configuration_of_other_dialect_is_rejected_and_last_good_one_kept() {
    let mut cluster = settled(1, 2);
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    let state = cluster.view_of(FIRST).config_state().clone();
    let ConfigState::Invalid { reason, .. } = state else { panic!("{state:?}") };
    assert_eq!(reason, "the document is of ElasticJob 2.1.5, and the job's nodes are of 3.x");
}

/// Java instances of 3.x find items to take over by persistent marks.
#[test]
fn persistent_mark_of_lost_instance_is_replaced_at_takeover() {
    let mut cluster = settled(2, 2);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item =
        (0..2).find(|item| cluster.owner(*item).unwrap().as_str() == "10.0.0.2@-@2").unwrap();
    let mark = format!("sharding/{item}/running");
    cluster.crash(SECOND);
    assert_eq!(cluster.data_of(&mark).as_deref(), Some("10.0.0.2@-@2"), "{}", cluster.trace());
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let failovering = format!("sharding/{item}/failovering");
    assert_eq!(cluster.data_of(&mark).as_deref(), Some("10.0.0.1@-@1"), "{}", cluster.trace());
    assert_eq!(cluster.data_of(&failovering).as_deref(), Some("10.0.0.1@-@1"));
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    for node in [mark, failovering, format!("coordination/runs/{item}")] {
        assert_eq!(cluster.data_of(&node), None, "{node}: {}", cluster.trace());
    }
}

/// Java's operation API removes the node of an instance, whose code continues.
#[test]
fn run_of_deregistered_instance_with_live_session_is_not_swept() {
    let mut cluster = settled(2, 2);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.remove("instances/10.0.0.2@-@2");
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    cluster.end_runs(SECOND);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
}

/// The session of the Java instance has ended, and its persistent mark remains.
#[test]
fn interrupted_java_run_of_3_x_is_taken_over() {
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
    let takeover = cluster.runs_for(fire).find(|(_, start)| start.item.index() == item);
    let source = takeover.map(|(_, start)| start.source);
    assert_eq!(source, Some(RunSource::Failover), "{}", cluster.trace());
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
}

/// Returns a job with two items, led by a Rust instance, in which a Java instance owns one item and
/// runs it for the returned fire.
fn with_java_run(config: JobConfig) -> (Cluster, crate::script::JavaPeer, FireTime) {
    let mut cluster = Cluster::settled_with(1, &config, |c, _| c.speaking(Dialect::V3));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let of_java = (0..2).find(|i| cluster.owner(*i).unwrap().as_str() == java.id()).unwrap();
    cluster.java_starts_run_with_persistent_mark(&java, of_java);
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    (cluster, java, fire)
}

#[test]
fn rust_leader_announces_resharding_to_java_and_clears_announcement() {
    let (mut cluster, java, _) = with_java_run(job_of_v3(2));
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let announced = cluster.data_of("leader/sharding/necessary");
    assert!(announced.is_some(), "no announcement of the resharding\n{}", cluster.trace());
    // The wait for the Java run has a bound, after which the leader assigns the other items.
    cluster.run_for(Duration::from_secs(15));
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.trace());
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.trace());
}

#[test]
fn each_announcement_has_its_own_wait() {
    let (mut cluster, _java, _) = with_java_run(job_of_v3(2));
    cluster.write("servers/10.0.9.1", "DISABLED");
    cluster.run_for(Duration::from_secs(15));
    assert_eq!(cluster.data_of("leader/sharding/necessary"), None, "{}", cluster.trace());
    cluster.configure(&job_of_v3(3));
    cluster.run_for(A_WHILE);
    let announced = cluster.data_of("leader/sharding/necessary");
    assert!(announced.is_some(), "no announcement while the item runs\n{}", cluster.trace());
}

#[test]
fn interrupted_java_run_of_3_x_is_taken_over_once() {
    let (mut cluster, java, fire) = with_java_run(job_of_v3(2));
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
    assert_eq!(failovers.count(), 1, "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    for item in 0..2 {
        let mark = format!("sharding/{item}/running");
        assert_eq!(cluster.data_of(&mark), None, "{}", cluster.trace());
    }
}

/// A Java instance takes the run over and removes the mark before a Rust instance sees the loss.
#[test]
fn run_taken_over_by_java_instance_of_3_x_is_not_repeated() {
    let (mut cluster, java, fire) = with_java_run(job_of_v3(2));
    let item = (0..2).find(|i| cluster.owner(*i).unwrap().as_str() == java.id()).unwrap();
    let survivor = cluster.java_joins("10.0.9.2");
    cluster.java_crashes(&java);
    cluster.remove(&format!("sharding/{item}/running"));
    cluster.create(&format!("leader/failover/items/{item}"), "");
    cluster.java_takes_over(&survivor, item);
    cluster.run_for(A_WHILE);
    cluster.java_ends_takeover(&survivor, item);
    cluster.run_for(A_WHILE);
    let runs = cluster.items_run_for(fire).len();
    assert_eq!(runs, 1, "only the item of the Rust instance runs here\n{}", cluster.trace());
}

/// Anomaly A5 in `docs/interop.md`: Java instances take nothing over from such a server.
#[test]
fn interrupted_java_run_on_disabled_or_removed_server_is_taken_over() {
    type Change = fn(&mut Cluster);
    let rows: [(&str, Change); 2] = [
        ("disabled", |cluster| cluster.write("servers/10.0.9.1", "DISABLED")),
        ("removed", |cluster| cluster.remove("servers/10.0.9.1")),
    ];
    for (case, change) in rows {
        let (mut cluster, java, fire) = with_java_run(job_of_v3(2));
        change(&mut cluster);
        cluster.run_for(A_WHILE);
        cluster.java_crashes(&java);
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
        cluster.run_for(A_WHILE);
        let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
        assert_eq!(failovers.count(), 1, "{case}: {}", cluster.trace());
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{case}: {}", cluster.trace());
    }
}

/// Anomaly A7 in `docs/interop.md`: a Rust and a Java instance are lost during a run each, and
/// three instances return together. Java recovers such runs only if one instance returns alone.
#[test]
fn interrupted_runs_are_recovered_once_after_all_instances_restart() {
    let (mut cluster, java, _) = with_java_run(job_of_v3(2));
    let lost = cluster.id_of(FIRST).clone();
    let rust_item = (0..2).find(|item| cluster.owner(*item) == Some(&lost)).unwrap();
    let last = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.java_crashes(&java);
    (0..3).for_each(|_| cluster.join());
    let settle = |cluster: &mut Cluster| {
        for _ in 0..4 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
        }
    };
    settle(&mut cluster);
    assert_eq!(cluster.items_run_for(last), [rust_item, rust_item], "{}", cluster.trace());
    let next = cluster.fire();
    settle(&mut cluster);
    assert_eq!(cluster.items_run_for(next), [0, 1], "each item runs once\n{}", cluster.trace());
    for item in 0..2 {
        for mark in ["running", "failover", "failovering"] {
            let node = format!("sharding/{item}/{mark}");
            assert_eq!(cluster.data_of(&node), None, "{node}: {}", cluster.trace());
        }
    }
    assert!(cluster.nodes_below("leader/failover/items").is_empty(), "{}", cluster.trace());
}

/// Failover is turned off while the mark exists. No instance takes the run over, and the mark would
/// block the item.
#[test]
fn persistent_java_mark_is_removed_when_failover_is_off() {
    let (mut cluster, java, _) = with_java_run(job_of_v3(2));
    cluster.configure(&job_of_v3(2).with(|it| it.failover = false));
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    let failovers = cluster.runs().filter(|(_, start)| start.source == RunSource::Failover);
    assert_eq!(failovers.count(), 0, "{}", cluster.trace());
}

/// A run that was given up without failover stays given up.
#[test]
fn removed_java_mark_causes_no_takeover_when_failover_is_on_again() {
    let (mut cluster, java, fire) = with_java_run(job_of_v3(2));
    cluster.configure(&job_of_v3(2).with(|it| it.failover = false));
    cluster.java_crashes(&java);
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of_v3(2));
    cluster.run_for(A_WHILE);
    let runs = cluster.items_run_for(fire).len();
    assert_eq!(runs, 1, "only the item of the Rust instance runs here\n{}", cluster.trace());
}

/// Anomaly A4 in `docs/interop.md`: containers whose process id is always 1 reuse an address.
#[test]
fn java_mark_older_than_its_instance_is_reported() {
    let (mut cluster, java, _) = with_java_run(job_of_v3(2));
    cluster.java_crashes(&java);
    let restarted = cluster.java_joins("10.0.9.1");
    assert_eq!(restarted.id(), java.id());
    cluster.run_for(A_WHILE);
    for _ in 0..3 {
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.end_runs(FIRST);
    }
    let reports = cluster.events(FIRST).iter().filter(|event| match event {
        JobEvent::Anomaly { reason, .. } => reason.contains("older than the instance"),
        _ => false,
    });
    assert_eq!(reports.count(), 1, "{}", cluster.trace());
}
