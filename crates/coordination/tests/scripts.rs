//! Stories of a few coordinators on the registry model, step by step: each is a fault that was found once, and says
//! what shall happen instead.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{
    Duty, Event, FireRange, FireTime, JobConfig, JobEvent, MissReason, RunSource, StartItem,
};
use reg_center::Version;
use script::{Cluster, Delivery, Traffic, job_of};
use sharding::{InstanceId, ShardingItem};

const FIRST: usize = 0;
const SECOND: usize = 1;

/// Long enough for everything that needs no reconciliation.
const A_WHILE: Duration = Duration::from_secs(2);
/// Longer than the interval after which everything is looked at again.
const PAST_RECONCILIATION: Duration = Duration::from_secs(11 * 60);

#[test]
fn an_instance_that_leaves_waits_for_its_claims_in_flight() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    assert!(cluster.is_sending(FIRST, Duty::Claim), "nothing in flight\n{}", cluster.story());
    cluster.tell(FIRST, Event::Drain);
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    let runs_unregistered = cluster.is_executing(FIRST) && !cluster.is_registered(FIRST);
    assert!(!runs_unregistered, "it runs while it is not registered\n{}", cluster.story());

    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(FIRST), "it never leaves\n{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0, 1], "once each\n{}", cluster.story());
}

/// Told to leave between the commit of its registration and the moment at which its view shows it.
#[test]
fn an_instance_has_left_only_when_its_registration_is_gone() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    cluster.deliver_all(FIRST);
    cluster.execute(FIRST);
    cluster.reply(FIRST);
    assert!(cluster.is_registered(FIRST), "not registered\n{}", cluster.story());
    cluster.tell(FIRST, Event::Drain);
    cluster.let_time_pass(Duration::from_millis(150));
    cluster.tell(FIRST, Event::Wake);
    assert!(!cluster.has_left(FIRST), "its registration stands\n{}", cluster.story());

    cluster.run_for(A_WHILE);
    let state = (cluster.has_left(FIRST), cluster.is_registered(FIRST));
    assert_eq!(state, (true, false), "(left, registered) in the end\n{}", cluster.story());
}

/// Two instances, of which the follower (or leader) runs an item while an operator removes its registration; its
/// session lives on, as that of a process with several jobs does. The other one has ended its runs.
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
fn an_item_is_not_taken_from_a_living_holder_that_is_no_longer_registered() {
    let Removal { cluster, run, .. } = Removal::of_the_follower();
    let held = cluster.ledger(run.item).is_held(&run.holder, run.token);
    assert!(held, "item {} was taken\n{}", run.item, cluster.story());
}

#[test]
fn an_item_whose_holder_was_removed_runs_elsewhere_after_it_has_ended() {
    let mut removal = Removal::of_the_follower();
    removal.end_the_run();
    let Removal { mut cluster, survivor, run, .. } = removal;
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == run.item);
    let where_it_ran: Vec<_> = runs.map(|(instance, _)| instance).collect();
    assert_eq!(where_it_ran, [survivor], "item {}\n{}", run.item, cluster.story());
}

#[test]
fn a_holder_that_was_removed_leaves_no_running_mark_behind() {
    let mut removal = Removal::of_the_follower();
    removal.end_the_run();
    let Removal { cluster, run, .. } = removal;
    let marked = cluster.truth().item(run.item).running;
    assert!(!marked, "item {} is shown as running\n{}", run.item, cluster.story());
}

#[test]
fn when_the_leader_is_removed_the_survivor_leads_and_owns_all_items() {
    let mut removal = Removal::of_the_leader();
    removal.end_the_run();
    let Removal { cluster, survivor, .. } = removal;
    let heir = Some(cluster.id_of(survivor));
    let who = (cluster.truth().leader(), [cluster.owner(0), cluster.owner(1)]);
    assert_eq!(who, (heir, [heir, heir]), "(leader, owners)\n{}", cluster.story());
}

#[test]
fn a_job_that_is_not_monitored_runs_when_it_is_triggered() {
    let config = JobConfig { failover: false, monitor_execution: false, ..job_of(2) };
    let mut cluster = Cluster::settled(1, &config);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.story());
}

#[test]
fn a_trigger_is_not_lost_with_the_reply_to_its_acceptance() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let id = cluster.id_of(FIRST).clone();
    cluster.write(&format!("instances/{id}"), "TRIGGER");
    cluster.deliver_all(FIRST);
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.story());
}

#[test]
fn a_trigger_is_not_doubled_when_the_reply_to_its_request_is_lost() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.execute(FIRST);
    cluster.lose_reply(FIRST);
    // The runs are short, so that nothing keeps a second request from running at once.
    for _ in 0..50 {
        cluster.run_for(Duration::from_millis(20));
        cluster.end_all_runs();
    }
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.story());
}

/// Replies come before changes here, so that the request is seen while no item is known to be assigned.
#[test]
fn a_trigger_before_the_first_assignment_is_not_lost() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.settle_with_replies_first(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "items run\n{}", cluster.story());
}

/// A claim under one configuration is committed, then the configuration changes, and that is heard before the claim.
/// `hear` delivers the news of the claim; returns which configuration the runs saw: its items and its version.
fn configuration_seen_by_runs(hear: impl Fn(&mut Cluster)) -> (Vec<(u32, Version)>, Cluster) {
    let mut cluster = Cluster::settled(1, &job_of(4));
    let fire = cluster.fire();
    cluster.execute(FIRST);
    cluster.configure(&job_of(2));
    cluster.let_the_latest_change_overtake(FIRST);
    cluster.deliver(FIRST);
    hear(&mut cluster);
    let seen = |start: &StartItem| (start.config.sharding_total_count, start.config_version);
    let seen = cluster.runs_for(fire).map(|(_, start)| seen(start)).collect();
    (seen, cluster)
}

#[test]
fn a_run_that_a_reply_starts_sees_the_configuration_that_its_claim_checked() {
    let (seen, cluster) = configuration_seen_by_runs(|cluster| cluster.reply_all(FIRST));
    assert_eq!(seen, [(4, Version(0)); 4], "(items, version)\n{}", cluster.story());
}

#[test]
fn a_run_that_a_change_starts_sees_the_configuration_that_its_claim_checked() {
    let (seen, cluster) = configuration_seen_by_runs(|cluster| cluster.deliver_all(FIRST));
    assert_eq!(seen, [(4, Version(0)); 4], "(items, version)\n{}", cluster.story());
}

#[test]
fn an_unreadable_configuration_leaves_the_last_good_one_in_force() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.write("config", "{");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.story());
}

#[test]
fn a_good_configuration_is_fired_by_although_a_bad_one_came_with_it() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let good = JobConfig { cron: Some("0/7 * * * * ?".into()), ..job_of(2) };
    cluster.configure(&good);
    cluster.write("config", "{");
    cluster.deliver_together(FIRST);
    assert_eq!(cluster.scheduled_by(FIRST), Some(&good), "{}", cluster.story());
}

#[test]
fn an_unfinished_item_beyond_the_new_total_is_not_taken_over() {
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
    assert!(beyond.is_empty(), "{beyond:?}\n{}", cluster.story());
    let busy = (0..4).any(|item| cluster.ledger(ShardingItem::new(item)).is_busy());
    assert!(!busy, "what nobody takes over must end\n{}", cluster.story());
}

/// The fire comes when the new total is known and items are still assigned by the old one.
#[test]
fn an_item_beyond_the_new_total_is_not_claimed_before_the_resharding() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    cluster.configure(&job_of(2));
    for instance in [FIRST, SECOND] {
        cluster.deliver_all(instance);
    }
    let leader = cluster.leader().unwrap();
    assert!(cluster.is_sending(leader, Duty::Resharding), "none to hold\n{}", cluster.story());
    let resharding = cluster.hold_commits_back();
    let fire = cluster.fire();
    for instance in [FIRST, SECOND] {
        cluster.execute_all(instance);
        cluster.reply_all(instance);
    }
    cluster.send(resharding);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.story());
}

/// One of two running items is to move to an instance that has just joined.
#[test]
fn fires_that_meet_an_item_that_is_to_move_are_run_once_by_its_next_owner() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.join();
    cluster.run_for(A_WHILE);
    let met: Vec<FireTime> = (0..3)
        .map(|_| {
            let fire = cluster.fire();
            cluster.run_for(A_WHILE);
            fire
        })
        .collect();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);

    let all = Some(FireRange { first: met[0], last: met[2], count: 3 });
    let mut made_up: Vec<_> =
        cluster.runs_for(met[2]).map(|(at, start)| (at, start.merged)).collect();
    made_up.sort_by_key(|(instance, _)| *instance);
    assert_eq!(made_up, [(FIRST, all), (SECOND, all)], "(where, which fires)\n{}", cluster.story());
}

/// Disables the server of the only instance while a fire comes; returns the cluster an hour later, and the fire.
fn fired_while_the_server_was_disabled() -> (Cluster, FireTime) {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.write("servers/10.0.0.1", "DISABLED");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(Duration::from_secs(3_600));
    (cluster, fire)
}

#[test]
fn a_fire_while_the_server_is_disabled_is_reported_as_missed() {
    let (cluster, fire) = fired_while_the_server_was_disabled();
    let reported = cluster.events(FIRST).iter().any(|event| match event {
        JobEvent::Missed { fire: missed, reason, .. } => {
            (*missed, *reason) == (fire, MissReason::ServerDisabled)
        }
        _ => false,
    });
    assert!(reported, "{:?}\n{}", cluster.events(FIRST), cluster.story());
}

#[test]
fn a_fire_while_the_server_was_disabled_does_not_run_when_it_is_enabled() {
    let (mut cluster, _) = fired_while_the_server_was_disabled();
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [] as [u32; 0], "items run\n{}", cluster.story());
}

#[test]
fn a_corrupt_record_stops_its_own_item_only() {
    let mut cluster = Cluster::settled(1, &job_of(3));
    cluster.write("ledger/1", "garbage");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 2], "items run\n{}", cluster.story());
}

#[test]
fn a_server_node_that_was_removed_is_put_back() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.remove("servers/10.0.0.1");
    cluster.run_for(PAST_RECONCILIATION);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "items run\n{}", cluster.story());
}

/// Disabling keeps later fires from running; a takeover finishes one that began before.
#[test]
fn a_disabled_item_that_was_left_unfinished_is_taken_over() {
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
    assert_eq!(runs, expected, "item {item}\n{}", cluster.story());
}

/// The first instance leads, and has ended its item or not; the second one is lost in the middle of its own, and the first one's sweep is
/// executed. Returns that item, the fire and who ran it.
fn lost_beside_a_leader(is_idle: bool) -> (Cluster, ShardingItem, FireTime, InstanceId) {
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
    cluster.step_until_sending(FIRST, Duty::Sweep);
    cluster.execute_all(FIRST);
    (cluster, item, fire, holder)
}

fn assert_taken_over_once(cluster: &Cluster, item: ShardingItem, fire: FireTime, case: &str) {
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == item);
    let runs: Vec<_> = runs.map(|(instance, start)| (instance, start.source)).collect();
    let expected = [(SECOND, RunSource::Normal), (FIRST, RunSource::Failover)];
    assert_eq!(runs, expected, "{case}: item {item}\n{}", cluster.story());
    assert!(!cluster.truth().item(item).queued, "{case}: {}", cluster.story());
}

#[test]
fn an_idle_leader_takes_over_what_it_finds_with_one_write_and_tells_of_it() {
    for (case, reply_first) in [("the reply comes first", true), ("the change comes first", false)]
    {
        let (mut cluster, item, fire, holder) = lost_beside_a_leader(true);
        if reply_first {
            cluster.reply_all(FIRST);
            cluster.deliver_all(FIRST);
        } else {
            cluster.deliver_all(FIRST);
            cluster.reply_all(FIRST);
        }
        let orphaned = JobEvent::Orphaned { item, fire, holder, failover: true };
        assert!(cluster.events(FIRST).contains(&orphaned), "{case}: {}", cluster.story());
        assert_taken_over_once(&cluster, item, fire, case);
    }
}

#[test]
fn what_a_leader_has_perhaps_taken_over_begins_when_the_view_shows_it() {
    let (mut cluster, item, fire, _) = lost_beside_a_leader(true);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    assert_taken_over_once(&cluster, item, fire, "the reply is lost");
}

/// The change reaches the instance that made it before the reply does.
#[test]
fn an_unfinished_run_is_told_of_although_the_view_shows_the_next_record_before_the_reply() {
    let (mut cluster, item, fire, holder) = lost_beside_a_leader(false);
    cluster.deliver_all(FIRST);
    cluster.reply_all(FIRST);
    let orphaned = JobEvent::Orphaned { item, fire, holder, failover: true };
    assert!(cluster.events(FIRST).contains(&orphaned), "{}", cluster.story());
}

#[test]
fn a_late_reply_after_the_lease_has_expired_starts_nothing() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute(FIRST);
    let claimed = (0..2).all(|item| cluster.ledger(ShardingItem::new(item)).is_busy());
    assert!(claimed, "the claim was not committed\n{}", cluster.story());
    cluster.tell(FIRST, Event::Suspended);
    cluster.tell(FIRST, Event::LeaseExpired);
    cluster.reply(FIRST);
    assert_eq!(cluster.items_run(), [] as [u32; 0], "items run\n{}", cluster.story());
}

/// One instance in each way of delivery, with few items and with many.
fn sizes() -> impl Iterator<Item = (Delivery, u32)> {
    let deliveries = [Delivery::ChangeByChange, Delivery::WholeTransactions];
    deliveries.into_iter().flat_map(|delivery| [1, 10, 100].map(|items| (delivery, items)))
}

#[test]
fn the_first_assignment_takes_few_commits_however_many_items_there_are() {
    for (delivery, items) in sizes() {
        let mut cluster = Cluster::starting(1, &job_of(items), delivery);
        cluster.run_for(A_WHILE);
        let assigned = (0..items).all(|item| cluster.owner(item).is_some());
        assert!(assigned, "{items} items, {delivery:?}: not assigned\n{}", cluster.story());
        let Traffic { commits, conflicts } = cluster.traffic();
        assert!(
            commits <= 6 && conflicts <= 1,
            "{items} items, {delivery:?}: {commits} commits, {conflicts} conflicts\n{}",
            cluster.story()
        );
    }
}

/// One commit claims; the first item to end and those that end while its release is under way need one each.
#[test]
fn a_fire_takes_few_commits_and_no_conflict_however_many_items_there_are() {
    for (delivery, items) in sizes() {
        let mut cluster = Cluster::starting(1, &job_of(items), delivery);
        cluster.run_for(A_WHILE);
        let before = cluster.traffic();
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let ran = cluster.items_run_for(fire).len();
        assert_eq!(ran, items as usize, "items, {delivery:?}\n{}", cluster.story());
        let Traffic { commits, conflicts } = cluster.traffic().since(before);
        assert!(
            commits <= 4 && conflicts == 0,
            "{items} items, {delivery:?}: {commits} commits, {conflicts} conflicts\n{}",
            cluster.story()
        );
    }
}

/// The claims of the former owners come too late, and the newcomer has seen no fire.
#[test]
fn a_fire_that_was_due_when_a_newcomer_got_its_items_is_run_by_the_newcomer() {
    let mut cluster = Cluster::settled(2, &job_of(6));
    let fire = cluster.fire();
    let late_claims = cluster.hold_commits_back();
    cluster.join();
    cluster.run_for(A_WHILE);
    cluster.send(late_claims);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let newcomers = cluster.runs_for(fire).filter(|(instance, _)| *instance == 2).count();
    assert!(newcomers > 0, "the newcomer got no items in time\n{}", cluster.story());
    assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3, 4, 5], "{}", cluster.story());
}

/// Everybody was gone when it was due: what nobody was there for is a gap, and not run a day late.
#[test]
fn a_fire_that_was_due_in_a_former_life_of_the_cluster_is_not_run_by_the_next() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let fire = cluster.fire();
    let _lost = cluster.hold_commits_back();
    cluster.write("sharding/0/instance", "nobody");
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
}
