//! Scenario tests of stale writes: commits that were planned by a view that is no longer current.
//! Each guard must reject its own case, whether or not another guard would reject it too.

use std::time::Duration;

use crate::script::{Cluster, Commit, Delivery, job_of};
use coordination::{Duty, Event, JobConfig};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

/// Returns a cluster of two instances and four items; the first instance leads.
fn two_instances() -> Cluster {
    with_first_as_leader(Cluster::settled(2, &job_of(4)))
}

fn with_first_as_leader(cluster: Cluster) -> Cluster {
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.trace());
    cluster
}

/// Returns an item of the second instance.
fn item_of_second(cluster: &Cluster) -> u32 {
    let second = cluster.id_of(SECOND);
    (0..4).find(|item| cluster.owner(*item) == Some(second)).unwrap()
}

fn assert_rejected(mut cluster: Cluster, commit: Commit) {
    let rejected = cluster.is_rejected(commit);
    assert!(rejected, "the stale commit is written\n{}", cluster.trace());
}

// ---- disabled items ----

/// Returns the leader's commit that copies `disabled` of item 2 to its record.
fn disabling() -> (Cluster, Commit) {
    let mut cluster = two_instances();
    cluster.create("sharding/2/disabled", "");
    let commit = cluster.plan_and_hold(FIRST, Duty::Disabling);
    (cluster, commit)
}

#[test]
fn disabling_conflicts_when_operator_reverted_it() {
    let (mut cluster, commit) = disabling();
    cluster.remove("sharding/2/disabled");
    assert_rejected(cluster, commit);
}

#[test]
fn disabling_conflicts_when_leader_is_deregistered() {
    let (mut cluster, commit) = disabling();
    cluster.remove(&format!("instances/{}", cluster.id_of(FIRST)));
    assert_rejected(cluster, commit);
}

#[test]
fn deposed_leader_cannot_disable_items() {
    let (mut cluster, commit) = disabling();
    cluster.elect(SECOND);
    assert_rejected(cluster, commit);
}

// ---- registration and election ----

#[test]
fn drain_mark_conflicts_when_instance_is_deregistered() {
    let mut cluster = two_instances();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.send_event(SECOND, Event::Drain);
    let drain = cluster.plan_and_hold(SECOND, Duty::Membership);
    cluster.remove(&format!("instances/{}", cluster.id_of(SECOND)));
    assert_rejected(cluster, drain);
}

/// The session ends while the registration is in flight.
#[test]
fn commit_of_former_session_is_not_executed() {
    let mut cluster = two_instances();
    cluster.join();
    let registration = cluster.plan_and_hold(2, Duty::Membership);
    cluster.replace_session(2);
    assert_rejected(cluster, registration);
}

#[test]
fn election_conflicts_when_term_changed() {
    let mut cluster = two_instances();
    cluster.remove("leader/election/instance");
    let election = cluster.plan_and_hold(FIRST, Duty::Election);
    let other = cluster.plan_and_hold(SECOND, Duty::Election);
    assert!(!cluster.is_rejected(other), "{}", cluster.trace());
    cluster.remove("leader/election/instance");
    assert_rejected(cluster, election);
}

// ---- resharding ----

/// Returns the leader's commit that gives items to a third instance that has joined.
fn resharding() -> (Cluster, Commit) {
    let mut cluster = Cluster::starting(2, &job_of(4), Delivery::WholeTransactions);
    cluster.run_for(A_WHILE);
    let mut cluster = with_first_as_leader(cluster);
    cluster.join();
    cluster.deliver_all(2);
    cluster.execute_all(2);
    let assignment = cluster.plan_and_hold(FIRST, Duty::Resharding);
    (cluster, assignment)
}

#[test]
fn assignment_conflicts_when_resharding_was_requested() {
    let (mut cluster, assignment) = resharding();
    cluster.touch("coordination/request");
    assert_rejected(cluster, assignment);
}

#[test]
fn assignment_conflicts_when_owner_changed() {
    let (mut cluster, assignment) = resharding();
    (0..4).for_each(|item| cluster.touch(&format!("sharding/{item}/instance")));
    assert_rejected(cluster, assignment);
}

/// The third instance is lost and the leader assigns again, before the first assignment arrives.
#[test]
fn assignment_conflicts_after_later_assignment() {
    let (mut cluster, assignment) = resharding();
    cluster.report_unknown(&assignment);
    cluster.crash(2);
    cluster.run_for(A_WHILE);
    assert_rejected(cluster, assignment);
}

/// Returns the leader's commit that retires items 2 and 3.
fn retirement() -> (Cluster, Commit) {
    let mut cluster = two_instances();
    cluster.configure(&job_of(2));
    let retirement = cluster.plan_and_hold(FIRST, Duty::Resharding);
    (cluster, retirement)
}

#[test]
fn retirement_conflicts_when_owner_changed() {
    let (mut cluster, retirement) = retirement();
    [2, 3].iter().for_each(|item| cluster.touch(&format!("sharding/{item}/instance")));
    assert_rejected(cluster, retirement);
}

#[test]
fn retirement_conflicts_when_record_changed() {
    let (mut cluster, retirement) = retirement();
    [2, 3].iter().for_each(|item| cluster.touch(&format!("ledger/{item}")));
    assert_rejected(cluster, retirement);
}

/// The leader has assigned items 2 and 3. Its view shows their owners and the decreased number of
/// items before their records, which can show runs by then.
#[test]
fn retirement_conflicts_when_view_lacks_record() {
    let mut cluster = with_first_as_leader(Cluster::settled(2, &job_of(2)));
    cluster.configure(&job_of(4));
    cluster.deliver_all(FIRST);
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    cluster.configure(&job_of(2));
    for node in ["sharding/2/instance", "sharding/3/instance", "coordination/assignment", "config"]
    {
        cluster.deliver_only(FIRST, node);
    }
    cluster.advance_clocks(Duration::from_secs(60));
    cluster.send_event(FIRST, Event::Wake);
    let retirement = cluster.hold_commit(FIRST, Duty::Resharding);
    assert_rejected(cluster, retirement);
}

// ---- orphaned runs ----

/// The leader's view shows the orphan, and failover as off, before the orphan's queue entry.
#[test]
fn orphan_release_conflicts_when_view_lacks_queue_entry() {
    let mut cluster = two_instances();
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = item_of_second(&cluster);
    cluster.crash(SECOND);
    let sweep = cluster.plan_and_hold(FIRST, Duty::Sweep);
    cluster.report_unknown(&sweep);
    assert!(!cluster.is_rejected(sweep), "{}", cluster.trace());
    assert!(cluster.registry_view().item(ShardingItem::new(item)).queued, "{}", cluster.trace());
    cluster.configure(&job_of(4).with(|it| it.failover = false));
    cluster.deliver_only(FIRST, &format!("ledger/{item}"));
    cluster.deliver_only(FIRST, "config");
    cluster.advance_clocks(Duration::from_secs(60));
    cluster.send_event(FIRST, Event::Wake);
    let release = cluster.hold_commit(FIRST, Duty::Sweep);
    assert_rejected(cluster, release);
}

/// Returns the sweep of a leader whose view shows the run of the second instance before its mark.
/// An operator has removed that instance's node, and its session is alive.
fn sweep_before_mark_is_shown(cluster: &mut Cluster, item: u32) -> Commit {
    let second = cluster.id_of(SECOND).clone();
    cluster.remove(&format!("instances/{second}"));
    cluster.deliver_only(FIRST, &format!("ledger/{item}"));
    cluster.deliver_only(FIRST, &format!("instances/{second}"));
    cluster.hold_commit(FIRST, Duty::Sweep)
}

#[test]
fn sweep_conflicts_when_view_lacks_holder_mark() {
    let mut cluster = two_instances();
    let item = item_of_second(&cluster);
    cluster.fire();
    for instance in [FIRST, SECOND] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
        assert!(cluster.is_executing(instance), "{}", cluster.trace());
    }
    let sweep = sweep_before_mark_is_shown(&mut cluster, item);
    assert_rejected(cluster, sweep);
}

#[test]
fn immediate_takeover_conflicts_when_view_lacks_holder_mark() {
    let mut cluster = two_instances();
    let item = item_of_second(&cluster);
    cluster.fire();
    cluster.settle_with_replies_first(FIRST);
    cluster.end_runs(FIRST);
    cluster.settle_with_replies_first(FIRST);
    cluster.execute_all(SECOND);
    cluster.reply_all(SECOND);
    assert!(cluster.is_executing(SECOND), "{}", cluster.trace());
    let sweep = sweep_before_mark_is_shown(&mut cluster, item);
    assert!(sweep.writes_to(&format!("sharding/{item}/failover")), "{}", cluster.trace());
    assert_rejected(cluster, sweep);
}

/// Returns the sweep by which an idle leader takes over the lost second instance's item at once.
fn immediate_takeover() -> (Cluster, u32, Commit) {
    immediate_takeover_in(two_instances())
}

fn immediate_takeover_in(mut cluster: Cluster) -> (Cluster, u32, Commit) {
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = item_of_second(&cluster);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    cluster.crash(SECOND);
    let sweep = cluster.plan_and_hold(FIRST, Duty::Sweep);
    (cluster, item, sweep)
}

/// The leader's view does not show yet that a Java instance has joined, with which it takes turns.
#[test]
fn immediate_takeover_conflicts_when_item_was_queued() {
    let (mut cluster, item, sweep) = immediate_takeover();
    cluster.create(&format!("leader/failover/items/{item}"), "");
    assert_rejected(cluster, sweep);
}

/// The node of the queue exists and is empty, because an item was queued before.
#[test]
fn immediate_takeover_conflicts_when_item_was_queued_again() {
    let mut cluster = two_instances();
    cluster.create("leader/failover/items/0", "");
    cluster.remove("leader/failover/items/0");
    let (mut cluster, item, sweep) = immediate_takeover_in(cluster);
    cluster.create(&format!("leader/failover/items/{item}"), "");
    assert_rejected(cluster, sweep);
}

#[test]
fn immediate_takeover_conflicts_when_server_was_disabled() {
    let (mut cluster, _, sweep) = immediate_takeover();
    cluster.write("servers/10.0.0.1", "DISABLED");
    assert_rejected(cluster, sweep);
}

// ---- manual requests ----

/// Returns a cluster with a waiting request of the second instance, and the request's node.
fn requested(job: &JobConfig) -> (Cluster, String) {
    let mut cluster = with_first_as_leader(Cluster::settled(2, job));
    cluster.send_event(SECOND, Event::TriggerRequested { parameter: None });
    cluster.execute_all(SECOND);
    let id = cluster.nodes_below("coordination/triggers").pop().unwrap();
    (cluster, format!("coordination/triggers/{id}"))
}

/// Returns the leader's commit that passes a request on, and the request's node.
fn passing_on() -> (Cluster, Commit, String) {
    let (mut cluster, node) = requested(&job_of(4));
    let commit = cluster.plan_and_hold(FIRST, Duty::Trigger);
    (cluster, commit, node)
}

#[test]
fn deposed_leader_cannot_pass_request_on() {
    let (mut cluster, commit, _) = passing_on();
    cluster.elect(SECOND);
    assert_rejected(cluster, commit);
}

#[test]
fn passing_on_request_conflicts_when_configuration_changed() {
    let (mut cluster, commit, _) = passing_on();
    cluster.configure(&job_of(5));
    assert_rejected(cluster, commit);
}

#[test]
fn passing_on_request_conflicts_when_request_changed() {
    let (mut cluster, commit, node) = passing_on();
    cluster.touch(&node);
    assert_rejected(cluster, commit);
}

#[test]
fn request_removal_conflicts_when_request_changed() {
    let (mut cluster, commit, node) = passing_on();
    assert!(!cluster.is_rejected(commit), "{}", cluster.trace());
    cluster.reply_all(SECOND);
    let removal = cluster.plan_and_hold(SECOND, Duty::Trigger);
    cluster.touch(&node);
    assert_rejected(cluster, removal);
}

/// Returns the commit by which the second instance accepts a request at its node, and that node.
fn accepting() -> (Cluster, Commit, String) {
    let mut cluster = two_instances();
    let node = format!("instances/{}", cluster.id_of(SECOND));
    cluster.write(&node, "TRIGGER");
    let commit = cluster.plan_and_hold(SECOND, Duty::Trigger);
    (cluster, commit, node)
}

#[test]
fn acceptance_conflicts_when_second_request_was_written() {
    let (mut cluster, commit, node) = accepting();
    cluster.write(&node, "TRIGGER");
    assert_rejected(cluster, commit);
}

#[test]
fn acceptance_conflicts_when_items_were_reassigned() {
    let (mut cluster, commit, _) = accepting();
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_rejected(cluster, commit);
}

#[test]
fn trigger_write_conflicts_when_instance_was_triggered() {
    let unmonitored = job_of(4).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let (mut cluster, _) = requested(&unmonitored);
    let trigger = cluster.plan_and_hold(FIRST, Duty::Trigger);
    cluster.write(&format!("instances/{}", cluster.id_of(SECOND)), "TRIGGER");
    assert_rejected(cluster, trigger);
}

// ---- stale marks and queue entries ----

#[test]
fn deposed_leader_cannot_clean_up() {
    let mut cluster = two_instances();
    cluster.create("leader/failover/items/1", "");
    let cleanup = cluster.plan_and_hold(FIRST, Duty::Cleanup);
    cluster.elect(SECOND);
    assert_rejected(cluster, cleanup);
}

/// The item has a stale misfire mark. Before the leader removes the mark, a misfire is noted.
#[test]
fn cleanup_conflicts_when_misfire_was_noted() {
    let mut cluster = two_instances();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.create("sharding/1/misfire", "");
    let cleanup = cluster.plan_and_hold(FIRST, Duty::Cleanup);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = ShardingItem::new(1);
    let is_noted = cluster.ledger(item).misfire.is_some();
    assert!(is_noted, "no misfire is noted\n{}", cluster.trace());
    let rejected = cluster.is_rejected(cleanup);
    let marked = cluster.registry_view().item(item).misfire;
    assert!(rejected && marked, "the misfire mark is removed\n{}", cluster.trace());
}

// ---- callbacks ----

/// Returns the commit of the first instance's callback after all items have begun.
fn callback() -> (Cluster, Commit) {
    let mut cluster =
        with_first_as_leader(Cluster::settled_with(2, &job_of(2), |coordinator, of| {
            if of == FIRST { coordinator.calling_back() } else { coordinator }
        }));
    cluster.fire();
    for instance in [SECOND, FIRST] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
    }
    let call = cluster.plan_and_hold(FIRST, Duty::Once);
    (cluster, call)
}

#[test]
fn callback_conflicts_when_instance_is_deregistered() {
    let (mut cluster, call) = callback();
    cluster.remove(&format!("instances/{}", cluster.id_of(FIRST)));
    assert_rejected(cluster, call);
}

#[test]
fn callback_conflicts_when_server_was_disabled() {
    let (mut cluster, call) = callback();
    cluster.write("servers/10.0.0.1", "DISABLED");
    assert_rejected(cluster, call);
}

#[test]
fn callback_conflicts_when_server_was_recreated() {
    let (mut cluster, call) = callback();
    cluster.touch("coordination/servers");
    assert_rejected(cluster, call);
}

#[test]
fn callback_conflicts_when_configuration_changed() {
    let (mut cluster, call) = callback();
    cluster.configure(&job_of(3));
    assert_rejected(cluster, call);
}

#[test]
fn callback_conflicts_when_assignment_changed() {
    let (mut cluster, call) = callback();
    cluster.touch("coordination/assignment");
    assert_rejected(cluster, call);
}
