//! Scenario tests of requests with a parameter. Each run gets the parameter of its own request on
//! whichever instance it runs, and no run of such a request starts without it.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{DropReason, Event, JobEvent, MissReason, RequestParameter, RunSource};
use reg_center::Limits;
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

fn request_with(parameter: &str) -> Event {
    Event::TriggerRequested { parameter: Some(RequestParameter::new(parameter).unwrap()) }
}

/// Runs the cluster for two seconds and ends all runs soon after they begin.
fn run_through(cluster: &mut Cluster) {
    for _ in 0..20 {
        cluster.run_for(Duration::from_millis(100));
        cluster.end_all_runs();
    }
}

/// Returns the source and the request parameter of each run of an item, in order.
fn runs_of(cluster: &Cluster, index: u32) -> Vec<(RunSource, Option<String>)> {
    let of_item = cluster.runs().filter(|(_, start)| start.item.index() == index);
    let parameter = |parameter: &RequestParameter| parameter.as_str().to_owned();
    of_item.map(|(_, s)| (s.source, s.request_parameter.as_ref().map(parameter))).collect()
}

fn drops(cluster: &Cluster, instance: usize) -> Vec<DropReason> {
    let reason = |event: &JobEvent| match event {
        JobEvent::RequestDropped { reason, .. } => Some(*reason),
        _ => None,
    };
    cluster.events(instance).iter().filter_map(reason).collect()
}

fn assert_no_request_remains(cluster: &Cluster, items: u32) {
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "requests {left:?} remain\n{}", cluster.trace());
    for i in 0..items {
        let record = cluster.data_of(&format!("ledger/{i}")).unwrap();
        assert!(!record.contains("parameter"), "item {i}: {record}\n{}", cluster.trace());
    }
}

#[test]
fn requests_with_different_parameters_run_separately() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    let requests = [
        request_with("february"),
        Event::TriggerRequested { parameter: None },
        request_with("march"),
    ];
    for event in requests {
        cluster.send_event(FIRST, event);
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.items_run(), [0, 1], "an item runs twice at a time\n{}", cluster.trace());
    run_through(&mut cluster);
    use RunSource::{Manual, Normal};
    let some = |text: &str| Some(text.to_owned());
    let expected =
        [(Normal, None), (Manual, some("february")), (Manual, None), (Manual, some("march"))];
    for item in [0, 1] {
        assert_eq!(runs_of(&cluster, item), expected, "item {item}\n{}", cluster.trace());
    }
    assert_no_request_remains(&cluster, 2);
    cluster.fire();
    run_through(&mut cluster);
    assert_eq!(runs_of(&cluster, 0).last(), Some(&(Normal, None)), "{}", cluster.trace());
}

#[test]
fn takeover_keeps_request_parameter() {
    let mut cluster = Cluster::settled(2, &job_of(2).with(|it| it.failover = true));
    cluster.send_event(FIRST, request_with("february"));
    cluster.run_for(A_WHILE);
    let lost = (0..2).find(|i| cluster.owner(*i) == Some(cluster.id_of(SECOND))).unwrap();
    cluster.crash(SECOND);
    run_through(&mut cluster);
    run_through(&mut cluster);
    use RunSource::{Failover, Manual};
    let february = Some("february".to_owned());
    let expected = [(Manual, february.clone()), (Failover, february)];
    assert_eq!(runs_of(&cluster, lost), expected, "{}", cluster.trace());
    assert_no_request_remains(&cluster, 2);
}

/// The reply to the claim is lost, so the run starts by the record in the registry.
#[test]
fn run_with_lost_claim_reply_has_request_parameter() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.send_event(FIRST, request_with("february"));
    cluster.step_until_queued(FIRST, coordination::Duty::Claim);
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    let expected = [(RunSource::Manual, Some("february".to_owned()))];
    assert_eq!(runs_of(&cluster, 0), expected, "{}", cluster.trace());
}

#[test]
fn request_with_parameter_is_dropped_and_reported_without_monitoring() {
    let unmonitored = job_of(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(1, &unmonitored);
    cluster.send_event(FIRST, request_with("february"));
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST));
    assert_eq!(seen, (vec![], vec![DropReason::ParameterNotCarried]), "{}", cluster.trace());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.trace());
}

/// Another sender has stored the request, or the job was monitored at that time.
#[test]
fn leader_drops_stored_request_with_parameter_without_monitoring() {
    let unmonitored = job_of(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(1, &unmonitored);
    let request = |parameter: &str| format!(r#"{{"by":"console","at":1001{parameter}}}"#);
    let with_parameter = request(r#","parameter":"february""#);
    cluster.create("coordination/triggers/with-parameter", &with_parameter);
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST));
    assert_eq!(seen, (vec![], vec![DropReason::ParameterNotCarried]), "{}", cluster.trace());
    cluster.create("coordination/triggers/without-parameter", &request(""));
    run_through(&mut cluster);
    let seen = (cluster.items_run(), drops(&cluster, FIRST).len());
    assert_eq!(seen, (vec![0, 1], 1), "{}", cluster.trace());
    assert!(cluster.nodes_below("coordination/triggers").is_empty(), "{}", cluster.trace());
}

#[test]
fn request_with_parameter_is_not_handed_on_to_java_instance() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let java = cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_secs(5));
    let of_java = |i: &u32| cluster.owner(*i).is_some_and(|owner| owner.as_str() == java.id());
    let (of_java, of_rust): (Vec<u32>, Vec<u32>) = (0..4).partition(of_java);
    assert!(!of_java.is_empty() && !of_rust.is_empty(), "{}", cluster.trace());
    cluster.send_event(FIRST, request_with("february"));
    run_through(&mut cluster);
    let expected = [(RunSource::Manual, Some("february".to_owned()))];
    for item in of_rust {
        assert_eq!(runs_of(&cluster, item), expected, "{}", cluster.trace());
    }
    let node = format!("instances/{}", java.id());
    let data = cluster.data_of(&node);
    assert_eq!(data.as_deref(), Some(""), "the request was handed on\n{}", cluster.trace());
    let missed = |event: &JobEvent| match event {
        JobEvent::Missed { item, reason: MissReason::ParameterNotCarried, .. } => *item,
        _ => None,
    };
    let missed: Vec<_> = cluster.events(FIRST).iter().filter_map(missed).collect();
    let expected: Vec<_> = of_java.into_iter().map(ShardingItem::new).collect();
    assert_eq!(missed, expected, "{}", cluster.trace());
    assert_no_request_remains(&cluster, 4);
}

/// A Java instance may take over any item in the queue, and its runs get no parameter.
#[test]
fn orphan_with_parameter_is_not_queued_beside_java_instance() {
    let mut cluster = Cluster::settled(2, &job_of(6));
    cluster.java_joins("10.0.9.1");
    cluster.run_for(Duration::from_secs(5));
    cluster.send_event(FIRST, request_with("february"));
    cluster.run_for(A_WHILE);
    let unfinished = cluster.runs().find(|(instance, _)| *instance == SECOND).unwrap().1.item;
    cluster.end_runs(FIRST);
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    let queued = cluster.nodes_below("leader/failover/items");
    assert!(queued.is_empty(), "{queued:?}\n{}", cluster.trace());
    let is_reported = |event: &JobEvent| match event {
        JobEvent::Orphaned { item, failover, .. } => *item == unfinished && !failover,
        _ => false,
    };
    assert!(cluster.events(FIRST).iter().any(is_reported), "{}", cluster.trace());
    run_through(&mut cluster);
    assert_eq!(runs_of(&cluster, unfinished.index()).len(), 1, "{}", cluster.trace());
    assert_no_request_remains(&cluster, 6);
}

/// The runs of one of two instances become orphans and are taken over, in transactions that fit.
#[test]
fn transactions_with_long_parameters_respect_registry_limits() {
    const LIMITS: Limits = Limits { max_ops: 2_000, max_bytes: 64_000 };
    let config = job_of(40).with(|it| it.failover = true);
    let mut cluster =
        Cluster::settled_with(2, &config, |coordinator, _| coordinator.limited_to(LIMITS));
    let longest = "\"".repeat(coordination::MAX_REQUEST_PARAMETER_BYTES);
    cluster.send_event(FIRST, request_with(&longest));
    cluster.run_for(Duration::from_secs(20));
    assert_eq!(cluster.items_run().len(), 40, "{}", cluster.trace());
    let lost: Vec<u32> = cluster
        .runs()
        .filter(|(instance, _)| *instance == SECOND)
        .map(|(_, start)| start.item.index())
        .collect();
    assert_eq!(lost.len(), 20);
    cluster.crash(SECOND);
    (0..8).for_each(|_| run_through(&mut cluster));
    let first_run = || (RunSource::Manual, Some(longest.clone()));
    for item in 0..40 {
        let mut expected = vec![first_run()];
        expected.extend(lost.contains(&item).then(|| (RunSource::Failover, Some(longest.clone()))));
        assert_eq!(runs_of(&cluster, item), expected, "item {item}");
    }
    assert!(cluster.max_bytes() <= LIMITS.max_bytes, "{} bytes", cluster.max_bytes());
    assert_no_request_remains(&cluster, 40);
}

/// The sender reports the drop of its own request, although the leader finds it. The leader reports
/// a request of any other sender when it removes the request.
#[test]
fn dropped_request_is_reported_by_its_sender_although_reply_is_lost() {
    let unmonitored = job_of(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(2, &unmonitored);
    let leader = cluster.leader().unwrap();
    let sender = FIRST + SECOND - leader;
    let by_sender = cluster.id_of(sender).to_string();
    let dropped = DropReason::ParameterNotCarried;
    let rows = [
        (by_sender, [vec![dropped], vec![]]),
        ("console".to_owned(), [vec![dropped], vec![dropped]]),
    ];
    for (by, expected) in rows {
        let request = format!(r#"{{"by":"{by}","at":1001,"parameter":"february"}}"#);
        cluster.create(&format!("coordination/triggers/by-{by}"), &request);
        cluster.step_until_queued(leader, coordination::Duty::Trigger);
        cluster.execute(leader);
        cluster.lose_reply(leader);
        run_through(&mut cluster);
        let reported = [drops(&cluster, sender), drops(&cluster, leader)];
        assert_eq!(reported, expected, "request of {by}\n{}", cluster.trace());
        let left = cluster.nodes_below("coordination/triggers");
        assert!(left.is_empty(), "{left:?}\n{}", cluster.trace());
    }
    assert_eq!(cluster.items_run(), [0; 0], "{}", cluster.trace());
}

/// The record of each item stores the parameter, so the total size of one request has a bound.
#[test]
fn request_is_dropped_when_total_parameter_size_is_too_large() {
    const ITEMS: u32 = 5_000;
    let max_bytes = coordination::MAX_REQUEST_BYTES / 5_000;
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.configure(&job_of(ITEMS));
    cluster.deliver_all(FIRST);
    cluster.send_event(FIRST, request_with(&"x".repeat(max_bytes + 1)));
    assert_eq!(drops(&cluster, FIRST), [DropReason::ParameterTooLarge], "{}", cluster.trace());
    cluster.send_event(FIRST, request_with(&"x".repeat(max_bytes)));
    assert_eq!(drops(&cluster, FIRST).len(), 1, "{}", cluster.trace());
    // The leader has dropped a request of another sender, or one from a time with fewer items.
    let parameter = "x".repeat(max_bytes + 1);
    let dropped = format!(r#"{{"by":"console","at":1001,"items":[],"parameter":"{parameter}"}}"#);
    cluster.create("coordination/triggers/too-much", &dropped);
    cluster.deliver_all(FIRST);
    assert_eq!(drops(&cluster, FIRST), [DropReason::ParameterTooLarge; 2], "{}", cluster.trace());
}
