//! Stories of writes that come late: decided on a view to which something has happened since. Each guard must refuse its
//! own, whether or not another one would do so as well.

#![expect(
    clippy::unwrap_used,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{Duty, Event, JobConfig};
use script::{Cluster, Commit, Delivery, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

/// Two instances with four items; the first leads.
fn two() -> Cluster {
    led_by_the_first(Cluster::settled(2, &job_of(4)))
}

fn led_by_the_first(cluster: Cluster) -> Cluster {
    assert_eq!(cluster.leader(), Some(FIRST), "{}", cluster.story());
    cluster
}

/// Returns an item of the second instance.
fn item_of_second(cluster: &Cluster) -> u32 {
    let second = cluster.id_of(SECOND);
    (0..4).find(|item| cluster.owner(*item) == Some(second)).unwrap()
}

fn assert_refused(mut cluster: Cluster, commit: Commit) {
    let refused = cluster.refuses(commit);
    assert!(refused, "it is written\n{}", cluster.story());
}

// ---- what operators wish ----

/// The leader is about to note that an operator has disabled item 2.
fn noting() -> (Cluster, Commit) {
    let mut cluster = two();
    cluster.create("sharding/2/disabled", "");
    let note = cluster.hold_back(FIRST, Duty::Disabling);
    (cluster, note)
}

#[test]
fn what_an_operator_has_taken_back_is_not_noted() {
    let (mut cluster, note) = noting();
    cluster.remove("sharding/2/disabled");
    assert_refused(cluster, note);
}

#[test]
fn a_leader_that_was_taken_out_notes_nothing() {
    let (mut cluster, note) = noting();
    cluster.remove(&format!("instances/{}", cluster.id_of(FIRST)));
    assert_refused(cluster, note);
}

#[test]
fn a_former_leader_notes_nothing() {
    let (mut cluster, note) = noting();
    cluster.elect(SECOND);
    assert_refused(cluster, note);
}

// ---- members ----

#[test]
fn an_instance_that_was_taken_out_does_not_say_that_it_leaves() {
    let mut cluster = two();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.tell(SECOND, Event::Drain);
    let drain = cluster.hold_back(SECOND, Duty::Membership);
    cluster.remove(&format!("instances/{}", cluster.id_of(SECOND)));
    assert_refused(cluster, drain);
}

/// The session ends while its registration is on its way.
#[test]
fn what_a_session_has_asked_for_does_not_happen_in_the_next_one() {
    let mut cluster = two();
    cluster.join();
    let registration = cluster.hold_back(2, Duty::Membership);
    cluster.reconnect(2);
    assert_refused(cluster, registration);
}

#[test]
fn an_election_in_the_term_before_last_fails() {
    let mut cluster = two();
    cluster.remove("leader/election/instance");
    let election = cluster.hold_back(FIRST, Duty::Election);
    let other = cluster.hold_back(SECOND, Duty::Election);
    assert!(!cluster.refuses(other), "{}", cluster.story());
    cluster.remove("leader/election/instance");
    assert_refused(cluster, election);
}

// ---- resharding ----

/// A third instance has joined, and the leader, which has seen all of that, is about to give it items.
fn assigning() -> (Cluster, Commit) {
    let mut cluster = Cluster::starting(2, &job_of(4), Delivery::WholeTransactions);
    cluster.run_for(A_WHILE);
    let mut cluster = led_by_the_first(cluster);
    cluster.join();
    cluster.deliver_all(2);
    cluster.execute_all(2);
    let assignment = cluster.hold_back(FIRST, Duty::Resharding);
    (cluster, assignment)
}

#[test]
fn an_assignment_that_has_not_seen_a_request_for_resharding_fails() {
    let (mut cluster, assignment) = assigning();
    cluster.touch("coordination/request");
    assert_refused(cluster, assignment);
}

#[test]
fn an_assignment_that_has_not_seen_an_owner_change_fails() {
    let (mut cluster, assignment) = assigning();
    (0..4).for_each(|item| cluster.touch(&format!("sharding/{item}/instance")));
    assert_refused(cluster, assignment);
}

/// The third instance dies, the leader assigns again, and then its first assignment arrives.
#[test]
fn an_assignment_that_comes_after_a_later_one_fails() {
    let (mut cluster, assignment) = assigning();
    cluster.report_unknown(&assignment);
    cluster.crash(2);
    cluster.run_for(A_WHILE);
    assert_refused(cluster, assignment);
}

/// The leader is about to retire items 2 and 3.
fn retiring() -> (Cluster, Commit) {
    let mut cluster = two();
    cluster.configure(&job_of(2));
    let retirement = cluster.hold_back(FIRST, Duty::Resharding);
    (cluster, retirement)
}

#[test]
fn an_owner_that_has_changed_is_not_taken_away() {
    let (mut cluster, retirement) = retiring();
    [2, 3].iter().for_each(|item| cluster.touch(&format!("sharding/{item}/instance")));
    assert_refused(cluster, retirement);
}

#[test]
fn a_record_that_has_changed_is_not_retired() {
    let (mut cluster, retirement) = retiring();
    [2, 3].iter().for_each(|item| cluster.touch(&format!("ledger/{item}")));
    assert_refused(cluster, retirement);
}

/// The leader has given items 2 and 3 away; it sees them owned, and their number lowered again, before it sees their
/// records, which may say by then that they run.
#[test]
fn an_owner_is_not_taken_away_beside_a_record_that_is_not_shown_yet() {
    let mut cluster = led_by_the_first(Cluster::settled(2, &job_of(2)));
    cluster.configure(&job_of(4));
    cluster.deliver_all(FIRST);
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    cluster.configure(&job_of(2));
    for node in ["sharding/2/instance", "sharding/3/instance", "coordination/assignment", "config"]
    {
        cluster.deliver_only(FIRST, node);
    }
    cluster.let_time_pass(Duration::from_secs(60));
    cluster.tell(FIRST, Event::Wake);
    let retirement = cluster.take_back(FIRST, Duty::Resharding);
    assert_refused(cluster, retirement);
}

// ---- runs without a holder ----

/// The leader sees an orphan, and that nobody takes orphans over any more, before it sees that the orphan is in the queue.
#[test]
fn an_orphan_is_not_given_up_beside_an_entry_of_the_queue_that_is_not_shown_yet() {
    let mut cluster = two();
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = item_of_second(&cluster);
    cluster.crash(SECOND);
    let sweep = cluster.hold_back(FIRST, Duty::Sweep);
    cluster.report_unknown(&sweep);
    assert!(!cluster.refuses(sweep), "{}", cluster.story());
    assert!(cluster.truth().item(ShardingItem::new(item)).queued, "{}", cluster.story());
    cluster.configure(&JobConfig { failover: false, ..job_of(4) });
    cluster.deliver_only(FIRST, &format!("ledger/{item}"));
    cluster.deliver_only(FIRST, "config");
    cluster.let_time_pass(Duration::from_secs(60));
    cluster.tell(FIRST, Event::Wake);
    let giving_up = cluster.take_back(FIRST, Duty::Sweep);
    assert_refused(cluster, giving_up);
}

/// An operator takes the second instance out while its session lives, and the leader sees what it runs before it sees its mark.
fn sweep_before_the_mark_is_shown(cluster: &mut Cluster, item: u32) -> Commit {
    let second = cluster.id_of(SECOND).clone();
    cluster.remove(&format!("instances/{second}"));
    cluster.deliver_only(FIRST, &format!("ledger/{item}"));
    cluster.deliver_only(FIRST, &format!("instances/{second}"));
    cluster.take_back(FIRST, Duty::Sweep)
}

#[test]
fn a_run_is_not_taken_from_somebody_whose_mark_is_not_shown_yet() {
    let mut cluster = two();
    let item = item_of_second(&cluster);
    cluster.fire();
    for instance in [FIRST, SECOND] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
        assert!(cluster.is_executing(instance), "{}", cluster.story());
    }
    let sweep = sweep_before_the_mark_is_shown(&mut cluster, item);
    assert_refused(cluster, sweep);
}

#[test]
fn a_run_is_not_taken_at_once_from_somebody_whose_mark_is_not_shown_yet() {
    let mut cluster = two();
    let item = item_of_second(&cluster);
    cluster.fire();
    cluster.settle_with_replies_first(FIRST);
    cluster.end_runs(FIRST);
    cluster.settle_with_replies_first(FIRST);
    cluster.execute_all(SECOND);
    cluster.reply_all(SECOND);
    assert!(cluster.is_executing(SECOND), "{}", cluster.story());
    let sweep = sweep_before_the_mark_is_shown(&mut cluster, item);
    assert!(sweep.is_about(&format!("sharding/{item}/failover")), "{}", cluster.story());
    assert_refused(cluster, sweep);
}

/// The leader is idle, and about to take over at once what the second one has left unfinished.
fn about_to_take_over_at_once() -> (Cluster, u32, Commit) {
    takes_over_at_once_in(two())
}

fn takes_over_at_once_in(mut cluster: Cluster) -> (Cluster, u32, Commit) {
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = item_of_second(&cluster);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    cluster.crash(SECOND);
    let sweep = cluster.hold_back(FIRST, Duty::Sweep);
    (cluster, item, sweep)
}

/// A Java instance that this one does not see yet takes turns.
#[test]
fn nothing_is_taken_over_at_once_that_was_queued_since() {
    let (mut cluster, item, sweep) = about_to_take_over_at_once();
    cluster.create(&format!("leader/failover/items/{item}"), "");
    assert_refused(cluster, sweep);
}

/// The same where something has waited before: then the queue is there, and empty.
#[test]
fn nothing_is_taken_over_at_once_that_was_queued_again() {
    let mut waited = two();
    waited.create("leader/failover/items/0", "");
    waited.remove("leader/failover/items/0");
    let (mut cluster, item, sweep) = takes_over_at_once_in(waited);
    cluster.create(&format!("leader/failover/items/{item}"), "");
    assert_refused(cluster, sweep);
}

#[test]
fn nothing_is_taken_over_at_once_on_a_server_that_was_disabled_since() {
    let (mut cluster, _, sweep) = about_to_take_over_at_once();
    cluster.write("servers/10.0.0.1", "DISABLED");
    assert_refused(cluster, sweep);
}

// ---- requests to run ----

/// The second instance was asked to run the job, and its request waits.
fn requested(job: &JobConfig) -> (Cluster, String) {
    let mut cluster = led_by_the_first(Cluster::settled(2, job));
    cluster.tell(SECOND, Event::TriggerRequested { parameter: None });
    cluster.execute_all(SECOND);
    let id = cluster.nodes_below("coordination/triggers").pop().unwrap();
    (cluster, format!("coordination/triggers/{id}"))
}

/// The leader is about to pass the request on.
fn passing_on() -> (Cluster, Commit, String) {
    let (mut cluster, node) = requested(&job_of(4));
    let commit = cluster.hold_back(FIRST, Duty::Trigger);
    (cluster, commit, node)
}

#[test]
fn a_former_leader_passes_no_request_on() {
    let (mut cluster, commit, _) = passing_on();
    cluster.elect(SECOND);
    assert_refused(cluster, commit);
}

#[test]
fn a_request_is_not_passed_on_under_a_configuration_that_was_replaced() {
    let (mut cluster, commit, _) = passing_on();
    cluster.configure(&job_of(5));
    assert_refused(cluster, commit);
}

#[test]
fn a_request_that_has_changed_is_not_passed_on() {
    let (mut cluster, commit, node) = passing_on();
    cluster.touch(&node);
    assert_refused(cluster, commit);
}

#[test]
fn a_request_that_has_changed_is_not_taken_away() {
    let (mut cluster, commit, node) = passing_on();
    assert!(!cluster.refuses(commit), "{}", cluster.story());
    cluster.reply_all(SECOND);
    let clearing = cluster.hold_back(SECOND, Duty::Trigger);
    cluster.touch(&node);
    assert_refused(cluster, clearing);
}

/// The second instance is about to accept what an operator has written to its node.
fn accepting() -> (Cluster, Commit, String) {
    let mut cluster = two();
    let node = format!("instances/{}", cluster.id_of(SECOND));
    cluster.write(&node, "TRIGGER");
    let commit = cluster.hold_back(SECOND, Duty::Trigger);
    (cluster, commit, node)
}

#[test]
fn a_second_request_to_an_instance_is_not_accepted_with_the_first() {
    let (mut cluster, commit, node) = accepting();
    cluster.write(&node, "TRIGGER");
    assert_refused(cluster, commit);
}

#[test]
fn a_request_to_an_instance_is_not_accepted_for_items_that_were_assigned_anew() {
    let (mut cluster, commit, _) = accepting();
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_refused(cluster, commit);
}

#[test]
fn an_instance_that_was_asked_meanwhile_is_not_asked_again() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(4) };
    let (mut cluster, _) = requested(&unmonitored);
    let asking = cluster.hold_back(FIRST, Duty::Trigger);
    cluster.write(&format!("instances/{}", cluster.id_of(SECOND)), "TRIGGER");
    assert_refused(cluster, asking);
}

// ---- stale entries ----

#[test]
fn a_former_leader_takes_no_entries_away() {
    let mut cluster = two();
    cluster.create("leader/failover/items/1", "");
    let cleanup = cluster.hold_back(FIRST, Duty::Cleanup);
    cluster.elect(SECOND);
    assert_refused(cluster, cleanup);
}

/// Somebody has marked the item; before the leader takes the mark away, a fire that meets a run is noted.
#[test]
fn the_mark_of_a_misfire_that_was_noted_meanwhile_stays() {
    let mut cluster = two();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.create("sharding/1/misfire", "");
    let cleanup = cluster.hold_back(FIRST, Duty::Cleanup);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let item = ShardingItem::new(1);
    assert!(cluster.ledger(item).misfire.is_some(), "nothing is noted\n{}", cluster.story());
    let refused = cluster.refuses(cleanup);
    assert!(refused && cluster.truth().item(item).misfire, "no mark\n{}", cluster.story());
}

// ---- callbacks ----

/// All items have begun, and the first instance, which alone calls back, is about to say so.
fn calling() -> (Cluster, Commit) {
    let mut cluster = led_by_the_first(Cluster::settled_with(2, &job_of(2), |coordinator, of| {
        if of == FIRST { coordinator.calling_back() } else { coordinator }
    }));
    cluster.fire();
    for instance in [SECOND, FIRST] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
    }
    let call = cluster.hold_back(FIRST, Duty::Once);
    (cluster, call)
}

#[test]
fn an_instance_that_was_taken_out_does_not_call_back() {
    let (mut cluster, call) = calling();
    cluster.remove(&format!("instances/{}", cluster.id_of(FIRST)));
    assert_refused(cluster, call);
}

#[test]
fn nobody_calls_back_on_a_server_that_was_disabled() {
    let (mut cluster, call) = calling();
    cluster.write("servers/10.0.0.1", "DISABLED");
    assert_refused(cluster, call);
}

#[test]
fn nobody_calls_back_on_a_server_that_was_added_again() {
    let (mut cluster, call) = calling();
    cluster.touch("coordination/servers");
    assert_refused(cluster, call);
}

#[test]
fn nobody_calls_back_under_a_configuration_that_was_replaced() {
    let (mut cluster, call) = calling();
    cluster.configure(&job_of(3));
    assert_refused(cluster, call);
}

#[test]
fn nobody_calls_back_by_a_former_assignment() {
    let (mut cluster, call) = calling();
    cluster.touch("coordination/assignment");
    assert_refused(cluster, call);
}
