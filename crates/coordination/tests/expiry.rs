//! Scenario tests of servers that expire: instances come and go in virtual time, and crash,
//! register or are deposed while a server expires.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::script::{Cluster, Commit, job_of};
use coordination::{Duty, Event, JobConfig, ServerTtl};

const FIRST: usize = 0;
const SECOND: usize = 1;
const THIRD: usize = 2;
const A_SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(86_400);
/// A server expires at the first look after its time to live; looks are this far apart.
const LOOKS: Duration = Duration::from_secs(86_400 / 16);

fn servers(cluster: &Cluster) -> Vec<String> {
    cluster.nodes_below("servers")
}

/// Returns the number of children of each node of the job that has any.
fn add_shape(cluster: &Cluster, node: &str, shape: &mut BTreeMap<String, usize>) {
    let children = cluster.nodes_below(node);
    if !children.is_empty() {
        shape.insert(node.to_owned(), children.len());
    }
    for child in children {
        let child = if node.is_empty() { child } else { format!("{node}/{child}") };
        add_shape(cluster, &child, shape);
    }
}

/// Returns the children of the nodes of a job, except those of one name.
fn shape_without(cluster: &Cluster, name: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for node in ["servers", "instances", "leader", "coordination", "sharding", "ledger", "trigger"]
    {
        add_shape(cluster, node, &mut found);
    }
    let is_there = cluster.data_of(&format!("coordination/{name}")).is_some();
    *found.get_mut("coordination").unwrap() -= usize::from(is_there);
    found
}

/// Lets one instance after the other take the place of the oldest. Each second one leaves in order,
/// the others crash.
fn replace_instances(cluster: &mut Cluster, n: usize) {
    for oldest in 0..n {
        cluster.join();
        cluster.run_for(A_SECOND);
        if oldest % 2 == 0 {
            cluster.send_event(oldest, Event::Drain);
            cluster.run_for(A_SECOND);
            assert!(cluster.has_left(oldest), "{}", cluster.trace());
        }
        cluster.crash(oldest);
        cluster.run_for(A_SECOND);
    }
}

#[test]
fn five_hundred_instances_that_came_and_went_leave_nothing() {
    let fresh = Cluster::settled(3, &job_of(3));
    let mut cluster = Cluster::settled(3, &job_of(3));
    replace_instances(&mut cluster, 500);
    assert_eq!(servers(&cluster).len(), 503, "{}", cluster.trace());
    cluster.run_for(TTL + LOOKS + A_SECOND);
    assert_eq!(servers(&cluster).len(), 3, "{}", cluster.trace());
    assert_eq!(shape_without(&cluster, "audit"), shape_without(&fresh, "audit"));
    let audit = cluster.data_of("coordination/audit").unwrap();
    assert!(audit.contains(r#""act":"expired""#), "{audit}");
}

#[test]
fn next_leader_counts_time_before_its_election() {
    let mut cluster = Cluster::settled(3, &job_of(3));
    cluster.crash(THIRD);
    cluster.run_for(TTL / 2);
    let leader = cluster.leader().unwrap();
    cluster.crash(leader);
    cluster.run_for(TTL / 2 + LOOKS * 2);
    let left = servers(&cluster);
    assert_eq!(left.len(), 2, "the server of the third instance has expired: {left:?}");
    cluster.run_for(TTL / 2);
    assert_eq!(servers(&cluster).len(), 1, "{}", cluster.trace());
}

/// Two instances, of which the first leads, and the leader's plan to remove the server of a third.
fn expiring() -> (Cluster, Commit) {
    expiring_with(&job_of(3))
}

fn expiring_with(config: &JobConfig) -> (Cluster, Commit) {
    let mut cluster = Cluster::settled(3, config);
    cluster.elect(FIRST);
    cluster.run_for(A_SECOND);
    cluster.crash(THIRD);
    cluster.run_for(LOOKS);
    cluster.advance_clocks(TTL);
    cluster.send_event(FIRST, Event::Wake);
    let commit = cluster.plan_and_hold(FIRST, Duty::Cleanup);
    assert!(commit.writes_to("servers/10.0.0.3"), "{}", cluster.trace());
    (cluster, commit)
}

#[test]
fn registration_wins_over_expiry() {
    let (mut cluster, expiry) = expiring();
    let back = cluster.join_on_server_of(THIRD);
    cluster.deliver_all(back);
    cluster.execute_all(back);
    assert!(cluster.is_registered(back), "{}", cluster.trace());
    assert!(cluster.is_rejected(expiry), "{}", cluster.trace());
    cluster.run_for(A_SECOND);
    assert!(servers(&cluster).contains(&"10.0.0.3".to_owned()), "{}", cluster.trace());
}

/// The instance has decided to register before its server expired.
#[test]
fn instance_creates_its_server_again_if_expiry_came_first() {
    let (mut cluster, expiry) = expiring();
    let back = cluster.join_on_server_of(THIRD);
    cluster.deliver_all(back);
    assert!(!cluster.is_rejected(expiry), "{}", cluster.trace());
    assert!(!servers(&cluster).contains(&"10.0.0.3".to_owned()));
    cluster.run_for(A_SECOND);
    assert!(cluster.is_registered(back), "{}", cluster.trace());
    assert!(servers(&cluster).contains(&"10.0.0.3".to_owned()), "{}", cluster.trace());
    let owners = (0..3).filter_map(|item| cluster.owner(item).cloned());
    assert!(owners.collect::<Vec<_>>().contains(cluster.id_of(back)), "{}", cluster.trace());
}

#[test]
fn deposed_leader_cannot_remove_server() {
    let (mut cluster, expiry) = expiring();
    cluster.elect(SECOND);
    assert!(cluster.is_rejected(expiry), "{}", cluster.trace());
}

#[test]
fn expiry_conflicts_when_operator_disabled_server() {
    let (mut cluster, expiry) = expiring();
    cluster.write("servers/10.0.0.3", "DISABLED");
    assert!(cluster.is_rejected(expiry), "{}", cluster.trace());
    cluster.run_for(TTL * 2);
    assert!(servers(&cluster).contains(&"10.0.0.3".to_owned()), "{}", cluster.trace());
}

#[test]
fn expiry_conflicts_when_configuration_changed() {
    let (mut cluster, expiry) = expiring();
    cluster.configure(&job_of(3).with(|config| config.server_ttl = ServerTtl::Off));
    assert!(cluster.is_rejected(expiry), "{}", cluster.trace());
}

/// A cluster whose servers have instances reads and writes nothing for the sake of expiry.
#[test]
fn expiry_costs_no_request_while_all_servers_have_instances() {
    let commits = |ttl| {
        let config = job_of(3).with(|config| config.server_ttl = ttl);
        let mut cluster = Cluster::settled(3, &config);
        cluster.run_for(TTL * 2);
        cluster.traffic()
    };
    assert_eq!(commits(ServerTtl::default()), commits(ServerTtl::Off));
}
