//! Stories of requests that tell their runs something: each run is told what its own request says, whoever runs it, and
//! nobody runs for such a request without being told.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{
    DropReason, Event, JobConfig, JobEvent, MissReason, RequestParameter, RunSource,
};
use reg_center::Limits;
use script::{Cluster, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

fn asked(parameter: &str) -> Event {
    Event::TriggerRequested { parameter: Some(RequestParameter::new(parameter).unwrap()) }
}

/// Lets all runs end as soon as they have begun, for a while.
fn run_through(cluster: &mut Cluster) {
    for _ in 0..20 {
        cluster.run_for(Duration::from_millis(100));
        cluster.end_all_runs();
    }
}

/// Returns the runs of an item in order: why, and what they were told.
fn told(cluster: &Cluster, index: u32) -> Vec<(RunSource, Option<String>)> {
    let of_item = cluster.runs().filter(|(_, start)| start.item.index() == index);
    let parameter = |told: &RequestParameter| told.as_str().to_owned();
    of_item.map(|(_, s)| (s.source, s.request_parameter.as_ref().map(parameter))).collect()
}

fn drops(cluster: &Cluster, instance: usize) -> Vec<DropReason> {
    let reason = |event: &JobEvent| match event {
        JobEvent::RequestDropped { reason, .. } => Some(*reason),
        _ => None,
    };
    cluster.events(instance).iter().filter_map(reason).collect()
}

fn assert_nothing_is_left(cluster: &Cluster, items: u32) {
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "left behind: {left:?}\n{}", cluster.story());
    for i in 0..items {
        let record = cluster.data_of(&format!("ledger/{i}")).unwrap();
        assert!(!record.contains("parameter"), "item {i}: {record}\n{}", cluster.story());
    }
}

#[test]
fn requests_with_different_parameters_each_have_their_own_runs() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    for event in [asked("february"), Event::TriggerRequested { parameter: None }, asked("march")] {
        cluster.tell(FIRST, event);
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.items_run(), [0, 1], "nothing is run beside itself\n{}", cluster.story());
    run_through(&mut cluster);
    use RunSource::{Manual, Normal};
    let is = |text: &str| Some(text.to_owned());
    let expected =
        [(Normal, None), (Manual, is("february")), (Manual, None), (Manual, is("march"))];
    for item in [0, 1] {
        assert_eq!(told(&cluster, item), expected, "item {item}\n{}", cluster.story());
    }
    assert_nothing_is_left(&cluster, 2);
    cluster.fire();
    run_through(&mut cluster);
    assert_eq!(told(&cluster, 0).last(), Some(&(Normal, None)), "{}", cluster.story());
}

#[test]
fn whoever_takes_a_run_over_is_told_the_same() {
    let mut cluster = Cluster::settled(2, &JobConfig { failover: true, ..job_of(2) });
    cluster.tell(FIRST, asked("february"));
    cluster.run_for(A_WHILE);
    let lost = (0..2).find(|i| cluster.owner(*i) == Some(cluster.id_of(SECOND))).unwrap();
    cluster.crash(SECOND);
    run_through(&mut cluster);
    run_through(&mut cluster);
    use RunSource::{Failover, Manual};
    let february = Some("february".to_owned());
    let expected = [(Manual, february.clone()), (Failover, february)];
    assert_eq!(told(&cluster, lost), expected, "{}", cluster.story());
    assert_nothing_is_left(&cluster, 2);
}

/// The reply to the claim is lost: the run is begun by what the registry shows.
#[test]
fn a_run_whose_claim_shows_in_the_registry_alone_is_told() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.tell(FIRST, asked("february"));
    cluster.step_until_sending(FIRST, coordination::Duty::Claim);
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    let expected = [(RunSource::Manual, Some("february".to_owned()))];
    assert_eq!(told(&cluster, 0), expected, "{}", cluster.story());
}

#[test]
fn what_nobody_can_be_told_is_not_run_and_that_is_told() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(2) };
    let mut cluster = Cluster::settled(1, &unmonitored);
    cluster.tell(FIRST, asked("february"));
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST));
    assert_eq!(seen, (vec![], vec![DropReason::ParameterNotCarried]), "{}", cluster.story());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.story());
}

/// Somebody else has left it, or the job was monitored when it was left: the leader drops it.
#[test]
fn a_request_that_is_found_where_nobody_can_be_told_is_dropped() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(2) };
    let mut cluster = Cluster::settled(1, &unmonitored);
    let left = |parameter: &str| format!(r#"{{"by":"console","at":1001{parameter}}}"#);
    cluster.create("coordination/triggers/told", &left(r#","parameter":"february""#));
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST));
    assert_eq!(seen, (vec![], vec![DropReason::ParameterNotCarried]), "{}", cluster.story());
    cluster.create("coordination/triggers/untold", &left(""));
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST).len());
    assert_eq!(seen, (vec![0, 1], 1), "{}", cluster.story());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.story());
}

#[test]
fn a_java_instance_is_not_asked_to_run_what_it_cannot_be_told() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_secs(5));
    let of_java = |i: &u32| cluster.owner(*i).is_some_and(|owner| owner.as_str() == java.id());
    let (of_java, ours): (Vec<u32>, Vec<u32>) = (0..4).partition(of_java);
    assert!(!of_java.is_empty() && !ours.is_empty(), "{}", cluster.story());
    cluster.tell(FIRST, asked("february"));
    run_through(&mut cluster);
    let expected = [(RunSource::Manual, Some("february".to_owned()))];
    for item in ours {
        assert_eq!(told(&cluster, item), expected, "{}", cluster.story());
    }
    let node = format!("instances/{}", java.id());
    assert_eq!(cluster.data_of(&node).as_deref(), Some(""), "asked\n{}", cluster.story());
    let missed = |event: &JobEvent| match event {
        JobEvent::Missed { item, reason: MissReason::ParameterNotCarried, .. } => *item,
        _ => None,
    };
    let missed: Vec<_> = cluster.events(FIRST).iter().filter_map(missed).collect();
    let expected: Vec<_> = of_java.into_iter().map(ShardingItem::new).collect();
    assert_eq!(missed, expected, "{}", cluster.story());
    assert_nothing_is_left(&cluster, 4);
}

/// Whatever is in the queue, a Java instance may run.
#[test]
fn what_is_left_unfinished_is_not_queued_where_a_java_instance_would_run_it_untold() {
    let mut cluster = Cluster::settled(2, &job_of(6));
    cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_secs(5));
    cluster.tell(FIRST, asked("february"));
    cluster.run_for(A_WHILE);
    let unfinished = cluster.runs().find(|(instance, _)| *instance == SECOND).unwrap().1.item;
    cluster.end_runs(FIRST);
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    let queued = cluster.nodes_below("leader/failover/items");
    assert!(queued.is_empty(), "{queued:?}\n{}", cluster.story());
    let is_told_of = |event: &JobEvent| match event {
        JobEvent::Orphaned { item, failover, .. } => *item == unfinished && !failover,
        _ => false,
    };
    assert!(cluster.events(FIRST).iter().any(is_told_of), "{}", cluster.story());
    run_through(&mut cluster);
    assert_eq!(told(&cluster, unfinished.index()).len(), 1, "{}", cluster.story());
    assert_nothing_is_left(&cluster, 6);
}

/// What half of the cluster leaves unfinished is queued, and each run of it taken over, in transactions that fit.
#[test]
fn transactions_with_long_parameters_stay_within_what_the_registry_takes() {
    const LIMITS: Limits = Limits { max_ops: 2_000, max_bytes: 64_000 };
    let config = JobConfig { failover: true, ..job_of(40) };
    let mut cluster =
        Cluster::settled_with(2, &config, |coordinator, _| coordinator.limited_to(LIMITS));
    let longest = "\"".repeat(coordination::MAX_REQUEST_PARAMETER_BYTES);
    cluster.tell(FIRST, asked(&longest));
    cluster.run_for(Duration::from_secs(20));
    assert_eq!(cluster.items_run().len(), 40, "{}", cluster.story());
    let lost: Vec<u32> = cluster
        .runs()
        .filter(|(instance, _)| *instance == SECOND)
        .map(|(_, start)| start.item.index())
        .collect();
    assert_eq!(lost.len(), 20);
    cluster.crash(SECOND);
    (0..8).for_each(|_| run_through(&mut cluster));
    let told_in_vain = || (RunSource::Manual, Some(longest.clone()));
    for item in 0..40 {
        let mut expected = vec![told_in_vain()];
        expected.extend(lost.contains(&item).then(|| (RunSource::Failover, Some(longest.clone()))));
        assert_eq!(told(&cluster, item), expected, "item {item}");
    }
    assert!(cluster.most_bytes() <= LIMITS.max_bytes, "{} bytes", cluster.most_bytes());
    assert_nothing_is_left(&cluster, 40);
}

/// Whoever asked is told, not whoever found out, and all others by whoever takes the request away.
#[test]
fn that_a_request_is_dropped_is_told_where_it_was_asked_for_whatever_becomes_of_the_reply() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(2) };
    let mut cluster = Cluster::settled(2, &unmonitored);
    let leader = cluster.leader().unwrap();
    let asks = FIRST + SECOND - leader;
    let by_one_of_ours = cluster.id_of(asks).to_string();
    let dropped = DropReason::ParameterNotCarried;
    let rows = [
        (by_one_of_ours, [vec![dropped], vec![]]),
        ("console".to_owned(), [vec![dropped], vec![dropped]]),
    ];
    for (by, expected) in rows {
        let left = format!(r#"{{"by":"{by}","at":1001,"parameter":"february"}}"#);
        cluster.create(&format!("coordination/triggers/by-{by}"), &left);
        cluster.step_until_sending(leader, coordination::Duty::Trigger);
        cluster.execute(leader);
        cluster.lose_reply(leader);
        run_through(&mut cluster);
        let told = [drops(&cluster, asks), drops(&cluster, leader)];
        assert_eq!(told, expected, "asked for by {by}\n{}", cluster.story());
        let left = cluster.nodes_below("coordination/triggers");
        assert!(left.is_empty(), "{left:?}\n{}", cluster.story());
    }
    assert_eq!(cluster.items_run(), [0; 0], "{}", cluster.story());
}

/// Each item that has the request has its parameter, so that all of them together are limited.
#[test]
fn what_is_too_much_to_be_told_to_so_many_items_is_refused() {
    const ITEMS: u32 = 5_000;
    let most = coordination::MAX_TOLD_BYTES / 5_000;
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.configure(&job_of(ITEMS));
    cluster.deliver_all(FIRST);
    cluster.tell(FIRST, asked(&"x".repeat(most + 1)));
    assert_eq!(drops(&cluster, FIRST), [DropReason::TooMuchToTell], "{}", cluster.story());
    cluster.tell(FIRST, asked(&"x".repeat(most)));
    assert_eq!(drops(&cluster, FIRST).len(), 1, "{}", cluster.story());
    // A leader has dropped what somebody else had left, or what was asked for when the job had fewer items.
    let told = "x".repeat(most + 1);
    let dropped = format!(r#"{{"by":"console","at":1001,"items":[],"parameter":"{told}"}}"#);
    cluster.create("coordination/triggers/too-much", &dropped);
    cluster.deliver_all(FIRST);
    assert_eq!(drops(&cluster, FIRST), [DropReason::TooMuchToTell; 2], "{}", cluster.story());
}
