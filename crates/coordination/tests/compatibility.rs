//! Scenario tests of records that an earlier or a later version of this project wrote.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{FireTime, JobEvent, LedgerState, RunKind, RunSource};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
/// A record in a shape that this version cannot guess.
const LATER_VERSION: &str = r#"{"v":3,"state":{"new":["shape"]}}"#;
const LATER: &str = r#""later":{"a":[1,"x"]}"#;

/// Adds a field to a record, as a later version would that keeps the format version.
fn add_field(cluster: &mut Cluster, node: &str) {
    let text = cluster.data_of(node).unwrap();
    let start = text.strip_suffix('}').unwrap();
    cluster.write(node, &format!("{start},{LATER}}}"));
    cluster.run_for(A_WHILE);
}

fn assert_kept(cluster: &Cluster, node: &str, step: &str) {
    let text = cluster.data_of(node).unwrap();
    assert!(text.contains(LATER), "{step}: {node} is {text}\n{}", cluster.trace());
}

fn has_anomaly(cluster: &Cluster, instance: usize, node: &str) -> bool {
    cluster.events(instance).iter().any(|event| {
        let JobEvent::Anomaly { path, reason } = event else { return false };
        path.ends_with(node) && reason.contains("format version 3")
    })
}

/// Instance that wrote the records of version 0 and is gone.
const FORMER: &str = "10.0.0.9@-@9";

/// A job as instances without format versions left it: a run whose holder is gone, a run in the
/// failover queue, and a misfire that waits for its replay.
#[test]
fn records_of_version_0_are_continued() {
    let mut cluster = Cluster::without_instances(&job_of(3));
    let fire = cluster.wall_ms() - 60_000;
    let run = format!(r#""holder":"{FORMER}","fire":{fire},"source":"NORMAL""#);
    let rest = format!(r#""token":7,"last":{fire},"config":0"#);
    let missed = format!(r#""misfire":{{"first":{fire},"last":{fire},"count":1}}"#);
    let assignment = format!(r#"{{"members":["{FORMER}"],"total":3,"strategy":"","handled":0}}"#);
    let nodes = [
        ("coordination/term", format!(r#"{{"leader":"{FORMER}"}}"#)),
        ("coordination/assignment", assignment),
        ("ledger/0", format!(r#"{{"state":"running",{run},{rest}}}"#)),
        ("ledger/1", format!(r#"{{"state":"orphan",{run},{rest}}}"#)),
        ("leader/failover/items/1", String::new()),
        ("ledger/2", format!(r#"{{"state":"idle",{rest},{missed}}}"#)),
    ];
    nodes.iter().for_each(|(node, data)| cluster.create(node, data));
    (0..3).for_each(|item| cluster.create(&format!("sharding/{item}/instance"), FORMER));

    cluster.join();
    cluster.join();
    cluster.run_for(A_WHILE);
    let sources: Vec<_> = (0..3).map(|item| source_of(&cluster, item)).collect();
    let expected = [RunSource::Failover, RunSource::Failover, RunSource::Misfire].map(Some);
    assert_eq!(sources, expected, "{}", cluster.trace());
    assert_eq!(cluster.items_run_for(FireTime(fire)), [0, 1, 2], "{}", cluster.trace());
    for item in (0..3).map(ShardingItem::new) {
        assert_eq!(cluster.ledger(item).token.0, 8, "{item}\n{}", cluster.trace());
    }
    let rewritten = nodes.iter().filter(|(node, _)| !node.starts_with("leader"));
    for (node, _) in rewritten {
        let text = cluster.data_of(node).unwrap();
        assert!(text.starts_with(r#"{"v":1,"#), "{node} is {text}");
    }
}

fn source_of(cluster: &Cluster, item: u32) -> Option<RunSource> {
    match &cluster.ledger(ShardingItem::new(item)).state {
        LedgerState::Running(run) => Some(run.source),
        LedgerState::Idle | LedgerState::Orphan(_) | LedgerState::Retired => None,
    }
}

#[test]
fn fields_of_later_version_survive_each_change_of_a_record() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let nodes: Vec<String> = (0..4).map(|item| format!("ledger/{item}")).collect();
    nodes.iter().for_each(|node| add_field(&mut cluster, node));
    add_field(&mut cluster, "coordination/assignment");
    let all_kept = |cluster: &Cluster, step: &str| {
        nodes.iter().for_each(|node| assert_kept(cluster, node, step));
        assert_kept(cluster, "coordination/assignment", step);
    };

    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3], "{}", cluster.trace());
    all_kept(&cluster, "claim");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    all_kept(&cluster, "complete");

    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let tokens: Vec<_> = (0..4).map(|i| cluster.ledger(ShardingItem::new(i)).token.0).collect();
    assert!(tokens.contains(&3), "no run was taken over: {tokens:?}\n{}", cluster.trace());
    all_kept(&cluster, "takeover");

    let before = cluster.data_of("coordination/assignment");
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_ne!(cluster.data_of("coordination/assignment"), before, "{}", cluster.trace());
    all_kept(&cluster, "resharding");
}

#[test]
fn ledger_record_of_later_version_stops_its_item_alone() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    cluster.write("ledger/0", LATER_VERSION);
    cluster.run_for(A_WHILE);
    let owner = cluster.owner(0).cloned();
    for instance in [FIRST, SECOND] {
        assert!(has_anomaly(&cluster, instance, "ledger/0"), "{}", cluster.trace());
    }
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [1, 2, 3], "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.owner(0).cloned(), owner, "the item moved\n{}", cluster.trace());
    let holder = [FIRST, SECOND].into_iter().find(|n| Some(cluster.id_of(*n)) == owner.as_ref());
    cluster.crash(holder.unwrap());
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(2));
    cluster.run_for(A_WHILE);
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [1], "{}", cluster.trace());
    assert_eq!(cluster.data_of("ledger/0").as_deref(), Some(LATER_VERSION), "{}", cluster.trace());
}

/// The version of the term or of the assignment decides who may run what, so that an instance that
/// cannot read it neither leads nor starts runs.
#[test]
fn term_or_assignment_of_later_version_stops_the_job_and_stays() {
    for node in ["coordination/assignment", "coordination/term"] {
        let mut cluster = Cluster::settled(2, &job_of(4));
        let former = cluster.data_of(node).unwrap();
        cluster.write(node, LATER_VERSION);
        cluster.run_for(A_WHILE);
        cluster.join();
        cluster.crash(FIRST);
        cluster.run_for(A_WHILE);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0; 0], "{node}\n{}", cluster.trace());
        assert_eq!(cluster.data_of(node).as_deref(), Some(LATER_VERSION), "{node}");
        assert!(has_anomaly(&cluster, SECOND, node), "{node}\n{}", cluster.trace());
        let waits_for = cluster.waits_for(SECOND);
        assert!(waits_for.is_some_and(|text| text.contains("an update")), "{waits_for:?}");
        let spent = cluster.traffic();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.traffic().since(spent).commits, 0, "{node}\n{}", cluster.trace());

        cluster.write(node, &former);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3], "{node}\n{}", cluster.trace());
    }
}

#[test]
fn request_and_calls_of_later_version_stay_and_do_not_stop_the_job() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    let nodes = ["coordination/triggers/later", "coordination/once"];
    nodes.iter().for_each(|node| cluster.create_or_write(node, LATER_VERSION));
    for _ in 0..2 {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.return_callbacks().len(), 0, "{}", cluster.trace());
    for node in nodes {
        assert_eq!(cluster.data_of(node).as_deref(), Some(LATER_VERSION), "{}", cluster.trace());
        assert!(has_anomaly(&cluster, FIRST, node), "{node}\n{}", cluster.trace());
    }
}

/// A takeover has the same source for both kinds of runs.
#[test]
fn takeover_keeps_the_kind_of_a_manual_run() {
    let mut cluster = Cluster::settled(2, &job_of(1));
    cluster.create("coordination/triggers/r", r#"{"v":1,"by":"anna","at":1001}"#);
    cluster.run_for(A_WHILE);
    let holder = [FIRST, SECOND].into_iter().find(|n| cluster.is_executing(*n)).unwrap();
    cluster.crash(holder);
    cluster.run_for(A_WHILE);
    let LedgerState::Running(run) = &cluster.ledger(ShardingItem::new(0)).state else {
        panic!("the run was not taken over\n{}", cluster.trace());
    };
    assert_eq!((run.source, run.kind), (RunSource::Failover, RunKind::Manual));
    let text = cluster.data_of("ledger/0").unwrap();
    assert!(text.contains(r#""source":"FAILOVER","kind":"manual""#), "{text}");
}
