//! Scenario tests of a few coordinators on the registry model, step by step. Each one reproduces a
//! bug that was fixed.

use std::time::Duration;

use crate::script::{Cluster, Delivery, Traffic, job_of};
use coordination::{Duty, Event, FireRange, FireTime, JobEvent, MissReason, RunSource, StartItem};
use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

const FIRST: usize = 0;
const SECOND: usize = 1;

/// Long enough for all steps that do not need the periodic reconciliation.
const A_WHILE: Duration = Duration::from_secs(2);
/// Longer than the reconciliation interval.
const PAST_RECONCILIATION: Duration = Duration::from_secs(11 * 60);

#[test]
fn draining_instance_waits_for_claims_in_flight() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    assert!(
        cluster.has_queued_commit(FIRST, Duty::Claim),
        "no claim in flight\n{}",
        cluster.trace()
    );
    cluster.send_event(FIRST, Event::Drain);
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    let runs_unregistered = cluster.is_executing(FIRST) && !cluster.is_registered(FIRST);
    assert!(!runs_unregistered, "it runs without a registration\n{}", cluster.trace());

    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(FIRST), "it does not leave\n{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "each item runs once\n{}", cluster.trace());
}

/// The drain comes between the commit of the registration and the change that shows it.
#[test]
fn instance_has_left_only_after_deregistration() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    cluster.deliver_all(FIRST);
    cluster.execute(FIRST);
    cluster.reply(FIRST);
    assert!(cluster.is_registered(FIRST), "not registered\n{}", cluster.trace());
    cluster.send_event(FIRST, Event::Drain);
    cluster.advance_clocks(Duration::from_millis(150));
    cluster.send_event(FIRST, Event::Wake);
    assert!(!cluster.has_left(FIRST), "it is still registered\n{}", cluster.trace());

    cluster.run_for(A_WHILE);
    let state = (cluster.has_left(FIRST), cluster.is_registered(FIRST));
    assert_eq!(state, (true, false), "(left, registered)\n{}", cluster.trace());
}

/// Two instances, one of which runs an item while an operator removes its registration. Its
/// session stays alive, as in a process with several jobs. The other one has ended its runs.
struct Removal {
    cluster: Cluster,
    removed: usize,
    survivor: usize,
    run: StartItem,
}

impl Removal {
    fn of_the_leader() -> Self {
        Self::of(|leader| leader)
    }

    fn of_the_follower() -> Self {
        Self::of(|leader| if leader == FIRST { SECOND } else { FIRST })
    }

    fn of(choose: impl Fn(usize) -> usize) -> Self {
        let mut cluster = Cluster::settled(2, &job_of(2));
        cluster.fire();
        cluster.run_for(A_WHILE);
        let removed = choose(cluster.leader().unwrap());
        let survivor = FIRST + SECOND - removed;
        cluster.end_runs(survivor);
        cluster.run_for(A_WHILE);
        let (_, run) = cluster.runs().find(|(instance, _)| *instance == removed).unwrap();
        let run = run.clone();
        let id = cluster.id_of(removed).clone();
        cluster.remove(&format!("instances/{id}"));
        cluster.run_for(A_WHILE);
        Self { cluster, removed, survivor, run }
    }

    fn end_the_run(&mut self) {
        self.cluster.end_runs(self.removed);
        self.cluster.run_for(A_WHILE);
    }
}

#[test]
fn deregistered_holder_with_live_session_keeps_its_run() {
    let Removal { cluster, run, .. } = Removal::of_the_follower();
    let held = cluster.ledger(run.item).is_held(&run.holder, run.token);
    assert!(held, "the run of item {} was taken over\n{}", run.item, cluster.trace());
}

#[test]
fn item_of_deregistered_holder_moves_after_its_run_ends() {
    let mut removal = Removal::of_the_follower();
    removal.end_the_run();
    let Removal { mut cluster, survivor, run, .. } = removal;
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == run.item);
    let where_it_ran: Vec<_> = runs.map(|(instance, _)| instance).collect();
    assert_eq!(where_it_ran, [survivor], "item {}\n{}", run.item, cluster.trace());
}

#[test]
fn deregistered_holder_removes_its_running_mark() {
    let mut removal = Removal::of_the_follower();
    removal.end_the_run();
    let Removal { cluster, run, .. } = removal;
    let marked = cluster.registry_view().item(run.item).marks.shows_run();
    assert!(!marked, "item {} is still marked as running\n{}", run.item, cluster.trace());
}

#[test]
fn survivor_leads_and_owns_all_items_after_leader_removal() {
    let mut removal = Removal::of_the_leader();
    removal.end_the_run();
    let Removal { cluster, survivor, .. } = removal;
    let expected = Some(cluster.id_of(survivor));
    let found = (cluster.registry_view().leader(), [cluster.owner(0), cluster.owner(1)]);
    assert_eq!(found, (expected, [expected, expected]), "(leader, owners)\n{}", cluster.trace());
}

#[test]
fn unmonitored_job_runs_on_manual_request() {
    let config = job_of(2).with(|it| {
        it.failover = false;
        it.monitor_execution = false;
    });
    let mut cluster = Cluster::settled(1, &config);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.trace());
}

#[test]
fn accepted_request_survives_lost_reply() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let id = cluster.id_of(FIRST).clone();
    cluster.write(&format!("instances/{id}"), "TRIGGER");
    cluster.deliver_all(FIRST);
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.trace());
}

#[test]
fn request_with_lost_reply_runs_once() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    // The runs are short, so that a second request would run at once.
    for _ in 0..50 {
        cluster.run_for(Duration::from_millis(20));
        cluster.end_all_runs();
    }
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.trace());
}

/// Replies come before changes, so the request is seen before any item is known to be assigned.
#[test]
fn request_before_first_assignment_is_kept() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.settle_with_replies_first(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.trace());
}

/// Commits a claim and then changes the configuration, with the change delivered before the claim.
/// `deliver_claim` delivers the claim's reply or change. Returns the number of items and the
/// configuration version of each run.
fn configuration_seen_by_runs(
    deliver_claim: impl Fn(&mut Cluster),
) -> (Vec<(u32, Version)>, Cluster) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let fire = cluster.fire();
    cluster.execute(FIRST);
    cluster.configure(&job_of(2));
    cluster.move_latest_change_to_front(FIRST);
    cluster.deliver(FIRST);
    deliver_claim(&mut cluster);
    let seen = |start: &StartItem| (start.config.sharding_total_count, start.config_version);
    let seen = cluster.runs_for(fire).map(|(_, start)| seen(start)).collect();
    (seen, cluster)
}

#[test]
fn run_started_by_reply_uses_configuration_of_its_claim() {
    let (seen, cluster) = configuration_seen_by_runs(|cluster| cluster.reply_all(FIRST));
    assert_eq!(seen, [(4, Version(0)); 4], "(items, version)\n{}", cluster.trace());
}

#[test]
fn run_started_by_change_uses_configuration_of_its_claim() {
    let (seen, cluster) = configuration_seen_by_runs(|cluster| cluster.deliver_all(FIRST));
    assert_eq!(seen, [(4, Version(0)); 4], "(items, version)\n{}", cluster.trace());
}

#[test]
fn unreadable_configuration_keeps_last_good_one() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.write("config", "{");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.trace());
}

#[test]
fn good_configuration_takes_effect_before_unreadable_one() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let good = job_of(2).with(|it| it.cron = Some("0/7 * * * * ?".into()));
    cluster.configure(&good);
    cluster.write("config", "{");
    cluster.deliver_together(FIRST);
    assert_eq!(cluster.scheduled_by(FIRST), Some(&good), "{}", cluster.trace());
}

#[test]
fn orphan_beyond_item_count_is_not_taken_over() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.run_for(A_WHILE);
    let before = cluster.runs().count();
    cluster.crash(SECOND);
    for _ in 0..5 {
        cluster.end_runs(FIRST);
        cluster.run_for(A_WHILE);
    }
    let beyond: Vec<_> = cluster.runs().skip(before).filter(|(_, s)| s.item.index() >= 1).collect();
    assert!(beyond.is_empty(), "{beyond:?}\n{}", cluster.trace());
    let busy = (0..4).any(|item| cluster.ledger(ShardingItem::new(item)).is_busy());
    assert!(!busy, "an orphan was not released\n{}", cluster.trace());
}

/// The fire comes when the new number of items is known and items are assigned by the old one.
#[test]
fn item_beyond_item_count_is_not_claimed_before_resharding() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    cluster.configure(&job_of(2));
    for instance in [FIRST, SECOND] {
        cluster.deliver_all(instance);
    }
    let leader = cluster.leader().unwrap();
    let is_planned = cluster.has_queued_commit(leader, Duty::Resharding);
    assert!(is_planned, "the leader plans no resharding\n{}", cluster.trace());
    let resharding = cluster.hold_all_commits();
    let fire = cluster.fire();
    for instance in [FIRST, SECOND] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
    }
    cluster.requeue(resharding);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.trace());
}

/// One of two running items is pending for an instance that has just joined.
#[test]
fn misfires_of_pending_item_are_run_once_by_next_owner() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.join();
    cluster.run_for(A_WHILE);
    let noted: Vec<FireTime> = (0..3)
        .map(|_| {
            let fire = cluster.fire();
            cluster.run_for(A_WHILE);
            fire
        })
        .collect();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);

    let all = Some(FireRange { first: noted[0], last: noted[2], count: 3 });
    let mut replays: Vec<_> =
        cluster.runs_for(noted[2]).map(|(at, start)| (at, start.merged)).collect();
    replays.sort_by_key(|(instance, _)| *instance);
    let expected = [(FIRST, all), (SECOND, all)];
    assert_eq!(replays, expected, "(instance, fires)\n{}", cluster.trace());
}

/// Disables the server of the only instance while a fire comes. Returns the cluster an hour later,
/// and the fire.
fn fired_while_the_server_was_disabled() -> (Cluster, FireTime) {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(Duration::from_secs(3_600));
    (cluster, fire)
}

#[test]
fn fire_on_disabled_server_is_reported_as_missed() {
    let (cluster, fire) = fired_while_the_server_was_disabled();
    let reported = cluster.events(FIRST).iter().any(|event| match event {
        JobEvent::Missed { fire: missed, reason, .. } => {
            (*missed, *reason) == (fire, MissReason::ServerDisabled)
        }
        _ => false,
    });
    assert!(reported, "{:?}\n{}", cluster.events(FIRST), cluster.trace());
}

#[test]
fn fire_missed_on_disabled_server_does_not_run_later() {
    let (mut cluster, _) = fired_while_the_server_was_disabled();
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [] as [u32; 0], "items run\n{}", cluster.trace());
}

/// The only other instance is lost with its claims, so that its items come to an instance that has
/// missed the fire. They have never run: no later run would show a gap.
#[test]
fn items_that_come_after_a_missed_fire_are_reported_at_the_next_one() {
    for (state, reason) in
        [("PAUSED", MissReason::Paused), ("DISABLED", MissReason::ServerDisabled)]
    {
        let mut cluster = Cluster::settled(2, &job_of(2));
        cluster.write("servers/10.0.0.1", state);
        cluster.run_for(A_WHILE);
        let is_own = |item: &u32| cluster.owner(*item) == Some(cluster.id_of(FIRST));
        let had_at_fire: Vec<u32> = [0, 1].into_iter().filter(is_own).collect();
        assert_eq!(had_at_fire.len(), usize::from(state == "PAUSED"), "{state}");
        let fire = cluster.fire();
        let _lost = cluster.hold_all_commits();
        cluster.crash(SECOND);
        cluster.run_for(A_WHILE);
        cluster.write("servers/10.0.0.1", "");
        cluster.run_for(A_WHILE);
        let next = cluster.fire();
        cluster.run_for(A_WHILE);
        let mut misses = cluster.misses(FIRST);
        misses.retain(|(_, of, _)| *of == fire);
        assert!(misses.iter().all(|(.., given)| *given == reason), "{state}\n{}", cluster.trace());
        assert_eq!(misses[0].0, None, "{state}: all items at the fire\n{}", cluster.trace());
        let mut reported = had_at_fire;
        reported.extend(misses[1..].iter().map(|(item, ..)| item.expect("one by one")));
        reported.sort_unstable();
        assert_eq!(reported, [0, 1], "{state}: items reported\n{}", cluster.trace());
        assert!(cluster.items_run_for(fire).is_empty(), "{state}\n{}", cluster.trace());
        assert_eq!(cluster.items_run_for(next), [0, 1], "{state}\n{}", cluster.trace());
    }
}

#[test]
fn corrupt_record_stops_only_its_item() {
    let mut cluster = Cluster::settled(1, &job_of(3));
    cluster.write("ledger/1", "garbage");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 2], "items run\n{}", cluster.trace());
}

#[test]
fn removed_server_node_is_recreated() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.remove("servers/10.0.0.1");
    cluster.run_for(PAST_RECONCILIATION);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.trace());
}

/// A disabled item starts nothing for later fires. A takeover completes a run that began before.
#[test]
fn orphaned_run_of_disabled_item_is_taken_over() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let (_, unfinished) = cluster.runs().find(|(instance, _)| *instance == SECOND).unwrap();
    let item = unfinished.item;
    cluster.create(&format!("sharding/{item}/disabled"), "");
    cluster.end_runs(FIRST);
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == item);
    let runs: Vec<_> = runs.map(|(instance, start)| (instance, start.source)).collect();
    let expected = [(SECOND, RunSource::Normal), (FIRST, RunSource::Failover)];
    assert_eq!(runs, expected, "item {item}\n{}", cluster.trace());
}

/// Returns a cluster whose first instance leads and has executed its sweep of an orphaned run, with
/// the item, the fire and the lost holder. `is_idle`: the leader has ended its own run.
fn swept_by_leader(is_idle: bool) -> (Cluster, ShardingItem, FireTime, InstanceId) {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let (_, unfinished) = cluster.runs().find(|(instance, _)| *instance == SECOND).unwrap();
    let (item, holder) = (unfinished.item, cluster.id_of(SECOND).clone());
    if is_idle {
        cluster.end_runs(FIRST);
        cluster.run_for(A_WHILE);
    }
    cluster.crash(SECOND);
    cluster.step_until_queued(FIRST, Duty::Sweep);
    cluster.execute_all(FIRST);
    (cluster, item, fire, holder)
}

fn assert_taken_over_once(cluster: &Cluster, item: ShardingItem, fire: FireTime, case: &str) {
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == item);
    let runs: Vec<_> = runs.map(|(instance, start)| (instance, start.source)).collect();
    let expected = [(SECOND, RunSource::Normal), (FIRST, RunSource::Failover)];
    assert_eq!(runs, expected, "{case}: item {item}\n{}", cluster.trace());
    assert!(!cluster.registry_view().item(item).queued, "{case}: {}", cluster.trace());
}

#[test]
fn idle_leader_takes_over_orphan_in_its_sweep_and_reports_it() {
    for (case, reply_first) in [("the reply comes first", true), ("the change comes first", false)]
    {
        let (mut cluster, item, fire, holder) = swept_by_leader(true);
        if reply_first {
            cluster.reply_all(FIRST);
            cluster.deliver_all(FIRST);
        } else {
            cluster.deliver_all(FIRST);
            cluster.reply_all(FIRST);
        }
        let orphaned = JobEvent::Orphaned { item, fire, holder, failover: true };
        assert!(cluster.events(FIRST).contains(&orphaned), "{case}: {}", cluster.trace());
        assert_taken_over_once(&cluster, item, fire, case);
    }
}

#[test]
fn takeover_with_lost_reply_starts_when_view_shows_it() {
    let (mut cluster, item, fire, _) = swept_by_leader(true);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    assert_taken_over_once(&cluster, item, fire, "the reply is lost");
}

/// The view shows the record after the orphan before the reply to the sweep arrives.
#[test]
fn orphan_is_reported_when_change_precedes_reply() {
    let (mut cluster, item, fire, holder) = swept_by_leader(false);
    cluster.deliver_all(FIRST);
    cluster.reply_all(FIRST);
    let orphaned = JobEvent::Orphaned { item, fire, holder, failover: true };
    assert!(cluster.events(FIRST).contains(&orphaned), "{}", cluster.trace());
}

#[test]
fn reply_after_lease_expired_starts_no_run() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute(FIRST);
    let claimed = (0..2).all(|item| cluster.ledger(ShardingItem::new(item)).is_busy());
    assert!(claimed, "the claim is not committed\n{}", cluster.trace());
    cluster.send_event(FIRST, Event::Suspended);
    cluster.send_event(FIRST, Event::LeaseExpired);
    cluster.reply(FIRST);
    assert_eq!(cluster.items_run(), [] as [u32; 0], "items run\n{}", cluster.trace());
}

/// Returns both ways of delivery, each with few and with many items.
fn sizes() -> impl Iterator<Item = (Delivery, u32)> {
    let deliveries = [Delivery::ChangeByChange, Delivery::WholeTransactions];
    deliveries.into_iter().flat_map(|delivery| [1, 10, 100].map(|items| (delivery, items)))
}

#[test]
fn first_assignment_takes_few_commits_for_any_item_count() {
    for (delivery, items) in sizes() {
        let mut cluster = Cluster::starting(1, &job_of(items), delivery);
        cluster.run_for(A_WHILE);
        let assigned = (0..items).all(|item| cluster.owner(item).is_some());
        assert!(assigned, "{items} items, {delivery:?}: no assignment\n{}", cluster.trace());
        let Traffic { commits, conflicts } = cluster.traffic();
        assert!(
            commits <= 6 && conflicts <= 1,
            "{items} items, {delivery:?}: {commits} commits, {conflicts} conflicts\n{}",
            cluster.trace()
        );
    }
}

/// One commit claims. The first item that ends needs a release, and those that end while it is in
/// flight need another one.
#[test]
fn fire_takes_few_commits_and_no_conflict_for_any_item_count() {
    for (delivery, items) in sizes() {
        let mut cluster = Cluster::starting(1, &job_of(items), delivery);
        cluster.run_for(A_WHILE);
        let before = cluster.traffic();
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let ran = cluster.items_run_for(fire).len();
        assert_eq!(ran, items as usize, "items, {delivery:?}\n{}", cluster.trace());
        let Traffic { commits, conflicts } = cluster.traffic().since(before);
        assert!(
            commits <= 4 && conflicts == 0,
            "{items} items, {delivery:?}: {commits} commits, {conflicts} conflicts\n{}",
            cluster.trace()
        );
    }
}

/// The claims of the former owners arrive too late, and the newcomer has seen no fire.
#[test]
fn new_owner_runs_fire_that_was_due_at_resharding() {
    let mut cluster = Cluster::settled(2, &job_of(6));
    let fire = cluster.fire();
    let late_claims = cluster.hold_all_commits();
    cluster.join();
    cluster.run_for(A_WHILE);
    cluster.requeue(late_claims);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let by_newcomer = cluster.runs_for(fire).filter(|(instance, _)| *instance == 2).count();
    assert!(by_newcomer > 0, "the newcomer runs no item for the fire\n{}", cluster.trace());
    assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3, 4, 5], "{}", cluster.trace());
}

/// All instances were lost when the fire was due. It is a gap, and no instance runs it later.
#[test]
fn fire_due_before_all_instances_were_lost_does_not_run() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let fire = cluster.fire();
    let _lost = cluster.hold_all_commits();
    cluster.write("sharding/0/instance", "unknown");
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
}
