//! Scenario tests of jobs with `overlap = parallel`: fires run beside unfinished runs of their
//! item.

use std::time::Duration;

use crate::script::{Cluster, ended, job_of};
use coordination::{
    Duty, Event, FencingToken, FireTime, JobConfig, JobEvent, Ledger, MissReason, OnceStage,
    Outcome, Overlap, RunSource, Slot, StartItem,
};
use sharding::ShardingItem;

const A_WHILE: Duration = Duration::from_secs(2);
const ITEM: ShardingItem = ShardingItem::new(0);

fn parallel(items: u32, max: u32) -> JobConfig {
    job_of(items).with(|it| it.overlap = Some(Overlap::Parallel(max)))
}

/// Instances whose job has one item, after this many fires whose runs have not ended.
fn overlapping(instances: usize, max: u32, fires: usize) -> (Cluster, Vec<FireTime>) {
    let mut cluster = Cluster::settled(instances, &parallel(1, max));
    let fires = (0..fires).map(|_| next_fire(&mut cluster)).collect();
    (cluster, fires)
}

fn next_fire(cluster: &mut Cluster) -> FireTime {
    let at = cluster.fire();
    cluster.run_for(A_WHILE);
    at
}

fn slot(number: u32) -> Slot {
    Slot { item: ITEM, number }
}

fn record(cluster: &Cluster, number: u32) -> &Ledger {
    cluster.ledger(slot(number).key())
}

fn owner(cluster: &Cluster) -> usize {
    let owner = cluster.owner(0).unwrap();
    (0..9).find(|instance| cluster.id_of(*instance) == owner).unwrap()
}

/// The runs that have begun, each with its slot, its fire and its source.
fn begun(cluster: &Cluster) -> Vec<(u32, FireTime, RunSource)> {
    cluster.runs().map(|(_, start)| (start.slot, start.fire, start.source)).collect()
}

fn end_run_of_slot(cluster: &mut Cluster, number: u32) {
    let instance = cluster.runs().find(|(_, start)| start.slot == number).unwrap().0;
    let is_it = |(_, start): &(usize, &StartItem)| start.slot == number;
    let token = cluster.runs().filter(is_it).map(|(_, start)| start.token).max().unwrap();
    end(cluster, instance, number, token);
}

fn end(cluster: &mut Cluster, instance: usize, number: u32, token: FencingToken) {
    cluster.send_event(instance, ended(slot(number), token, Outcome::Succeeded));
    cluster.run_for(A_WHILE);
}

#[test]
fn fires_run_beside_unfinished_runs_up_to_the_limit() {
    let (mut cluster, fires) = overlapping(1, 3, 4);
    let expected = [0, 1, 2].map(|n| (n, fires[usize::try_from(n).unwrap()], RunSource::Normal));
    assert_eq!(begun(&cluster), expected, "{}", cluster.trace());
    let noted = record(&cluster, 0).misfire.map(|noted| (noted.first, noted.last));
    assert_eq!(noted, Some((fires[3], fires[3])), "the fourth fire met three runs");
    assert_eq!(record(&cluster, 0).further_slots, 2);
    // The noted fire runs in the first slot that is free.
    end_run_of_slot(&mut cluster, 1);
    let replayed = (1, fires[3], RunSource::Misfire);
    assert_eq!(begun(&cluster).last(), Some(&replayed), "{}", cluster.trace());
    assert_eq!(record(&cluster, 0).misfire, None);
    assert_eq!(record(&cluster, 0).last_fire, Some(fires[3]));
    assert_eq!(record(&cluster, 1).token, FencingToken(2));
    // A later fire prefers the first slot.
    end_run_of_slot(&mut cluster, 0);
    end_run_of_slot(&mut cluster, 2);
    let later = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).last(), Some(&(0, later, RunSource::Normal)));
    let succeeded = [0, 1, 2].map(|number| record(&cluster, number).runs.succeeded);
    assert_eq!(succeeded, [1, 1, 1], "each slot counts its runs");
    let is_missed = |event: &JobEvent| matches!(event, JobEvent::Missed { .. });
    assert!(!cluster.events(0).iter().any(is_missed), "{}", cluster.trace());
}

#[test]
fn marks_and_records_of_further_slots_have_names_of_their_own() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    assert!(cluster.data_of("sharding/0/running").is_some());
    assert!(cluster.data_of("sharding/0.1/running").is_some(), "{}", cluster.trace());
    assert!(cluster.data_of("ledger/0.1").is_some_and(|record| record.contains("running")));
    end_run_of_slot(&mut cluster, 1);
    assert_eq!(cluster.data_of("sharding/0.1/running"), None, "{}", cluster.trace());
    assert!(cluster.data_of("sharding/0/running").is_some(), "the other run goes on");
}

#[test]
fn lost_holder_of_two_runs_of_an_item_fails_over_both() {
    let (mut cluster, fires) = overlapping(2, 2, 2);
    let holder = owner(&cluster);
    cluster.crash(holder);
    cluster.run_for(Duration::from_secs(5));
    let mut taken: Vec<_> = begun(&cluster).split_off(2);
    taken.sort();
    let expected = [(0, fires[0], RunSource::Failover), (1, fires[1], RunSource::Failover)];
    assert_eq!(taken, expected, "{}", cluster.trace());
    assert_eq!(
        (record(&cluster, 0).token, record(&cluster, 1).token),
        (FencingToken(2), FencingToken(2))
    );
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(record(&cluster, 0).is_idle() && record(&cluster, 1).is_idle());
    let later = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).last(), Some(&(0, later, RunSource::Normal)));
}

#[test]
fn item_moves_only_when_all_of_its_slots_are_idle() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    let former = owner(&cluster);
    end_run_of_slot(&mut cluster, 0);
    cluster.join();
    cluster.run_for(A_WHILE);
    // Static order gives the only item to the newest instance.
    assert_eq!(owner(&cluster), former, "slot 1 has a run: {}", cluster.trace());
    let is_pending = |cluster: &Cluster| cluster.registry_view().next_owner(ITEM).is_some();
    assert!(is_pending(&cluster), "{}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    assert!(!is_pending(&cluster) && owner(&cluster) != former, "{}", cluster.trace());
    let later = next_fire(&mut cluster);
    let (by, start) = cluster.runs().last().unwrap();
    assert_eq!((by, start.slot, start.fire), (owner(&cluster), 0, later), "{}", cluster.trace());
}

#[test]
fn fires_of_a_pending_item_are_noted_while_any_slot_is_busy() {
    let (mut cluster, _) = overlapping(1, 3, 2);
    let former = owner(&cluster);
    end_run_of_slot(&mut cluster, 0);
    cluster.join();
    cluster.run_for(A_WHILE);
    let met = [next_fire(&mut cluster), next_fire(&mut cluster)];
    assert_eq!(owner(&cluster), former, "slot 1 has a run: {}", cluster.trace());
    let noted = record(&cluster, 0).misfire.map(|noted| (noted.first, noted.last));
    assert_eq!(noted, Some((met[0], met[1])), "{}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    cluster.run_for(A_WHILE);
    let (by, start) = cluster.runs().last().unwrap();
    assert_ne!(by, former, "{}", cluster.trace());
    assert_eq!((start.fire, start.source), (met[1], RunSource::Misfire), "{}", cluster.trace());
    let is_missed = |event: &JobEvent| matches!(event, JobEvent::Missed { .. });
    assert!(!cluster.events(former).iter().any(is_missed), "{}", cluster.trace());
}

#[test]
fn fire_cancels_the_run_of_a_further_slot_under_that_policy() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    end_run_of_slot(&mut cluster, 0);
    cluster.configure(&job_of(1).with(|it| it.overlap = Some(Overlap::Cancel)));
    cluster.run_for(A_WHILE);
    let met = next_fire(&mut cluster);
    let cancels: Vec<_> = cluster.cancels(0).iter().map(|cancel| cancel.slot).collect();
    assert_eq!(cancels, [1], "{}", cluster.trace());
    cluster.end_cancelled_runs(0);
    cluster.run_for(A_WHILE);
    assert_eq!(begun(&cluster).last(), Some(&(0, met, RunSource::Misfire)), "{}", cluster.trace());
}

#[test]
fn item_whose_older_record_was_restored_keeps_its_further_slots() {
    let (mut cluster, fires) = overlapping(1, 2, 1);
    let before = cluster.data_of("ledger/0").unwrap();
    let second = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).len(), 2, "{}", cluster.trace());
    cluster.write("ledger/0", &before);
    cluster.run_for(A_WHILE);
    assert_eq!(begun(&cluster).len(), 2, "fire {second} runs already: {}", cluster.trace());
    cluster.join();
    cluster.run_for(A_WHILE);
    end_run_of_slot(&mut cluster, 0);
    assert_eq!(owner(&cluster), 0, "slot 1 has a run since {fires:?}: {}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    assert_eq!(owner(&cluster), 1, "{}", cluster.trace());
}

#[test]
fn fire_of_a_further_slot_is_not_repeated_after_an_older_record_was_restored() {
    let (mut cluster, fires) = overlapping(1, 3, 1);
    let before = cluster.data_of("ledger/0").unwrap();
    let second = next_fire(&mut cluster);
    cluster.write("ledger/0", &before);
    cluster.run_for(A_WHILE);
    // Slot 2 is free, and the restored record has not settled the fire of slot 1.
    let runs = [(0, fires[0], RunSource::Normal), (1, second, RunSource::Normal)];
    assert_eq!(begun(&cluster), runs, "{}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    let third = next_fire(&mut cluster);
    assert_eq!(
        begun(&cluster).last().map(|(_, fire, _)| *fire),
        Some(third),
        "{}",
        cluster.trace()
    );
}

#[test]
fn move_conflicts_when_a_further_slot_began_a_run() {
    let (mut cluster, _) = overlapping(2, 2, 2);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let leader = cluster.leader().unwrap();
    cluster.end_session(1 - leader);
    let held = cluster.plan_and_hold(leader, Duty::Resharding);
    // The record of slot 1 changes, and nothing else that the move depends on.
    cluster.touch("ledger/0.1");
    assert!(cluster.is_rejected(held), "{}", cluster.trace());
}

#[test]
fn fire_passes_over_a_slot_with_the_mark_of_a_run() {
    let (mut cluster, _) = overlapping(1, 3, 3);
    end_run_of_slot(&mut cluster, 1);
    end_run_of_slot(&mut cluster, 2);
    cluster.create("sharding/0.1/running", "");
    let at = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).last(), Some(&(2, at, RunSource::Normal)), "{}", cluster.trace());
}

#[test]
fn run_that_its_record_does_not_show_counts() {
    let (mut cluster, _) = overlapping(1, 3, 3);
    end_run_of_slot(&mut cluster, 1);
    let idle = cluster.data_of("ledger/0.1").unwrap();
    next_fire(&mut cluster);
    cluster.write("ledger/0.1", &idle);
    cluster.configure(&parallel(1, 2));
    cluster.run_for(A_WHILE);
    // Slot 0 is free, and the runs of the other two slots are as many as the job allows now.
    end_run_of_slot(&mut cluster, 0);
    let before = begun(&cluster).len();
    next_fire(&mut cluster);
    assert_eq!(begun(&cluster).len(), before, "{}", cluster.trace());
}

#[test]
fn claim_whose_reply_is_lost_runs_once() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    end_run_of_slot(&mut cluster, 1);
    let before = begun(&cluster).len();
    let at = cluster.fire();
    cluster.step_until_queued(0, Duty::Claim);
    assert!(cluster.execute(0));
    cluster.lose_reply(0);
    cluster.run_for(A_WHILE);
    let later = &begun(&cluster)[before..];
    assert_eq!(later, [(1, at, RunSource::Normal)], "{}", cluster.trace());
}

#[test]
fn noted_fire_runs_at_once_under_a_greater_limit() {
    let (mut cluster, fires) = overlapping(1, 2, 3);
    assert_eq!(begun(&cluster).len(), 2, "{}", cluster.trace());
    cluster.configure(&parallel(1, 3));
    cluster.run_for(A_WHILE);
    let replayed = (2, fires[2], RunSource::Misfire);
    assert_eq!(begun(&cluster).last(), Some(&replayed), "{}", cluster.trace());
}

#[test]
fn runs_that_began_under_a_greater_limit_count() {
    let (mut cluster, _) = overlapping(1, 3, 3);
    cluster.configure(&parallel(1, 2));
    cluster.run_for(A_WHILE);
    // Slot 0 is free, and the other two runs are as many as the job allows now.
    end_run_of_slot(&mut cluster, 0);
    let met = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).len(), 3, "{}", cluster.trace());
    assert_eq!(record(&cluster, 0).misfire.map(|noted| noted.last), Some(met));
    end_run_of_slot(&mut cluster, 2);
    assert_eq!(begun(&cluster).last(), Some(&(0, met, RunSource::Misfire)), "{}", cluster.trace());
}

#[test]
fn job_without_parallel_runs_any_more_waits_for_the_last_run() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    cluster.configure(&job_of(1));
    cluster.run_for(A_WHILE);
    end_run_of_slot(&mut cluster, 0);
    let met = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).len(), 2, "{}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    assert_eq!(begun(&cluster).last(), Some(&(0, met, RunSource::Misfire)), "{}", cluster.trace());
}

#[test]
fn manual_request_waits_for_the_first_slot() {
    let (mut cluster, _) = overlapping(1, 2, 1);
    cluster.send_event(0, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(begun(&cluster).len(), 1, "{}", cluster.trace());
    let met = next_fire(&mut cluster);
    assert_eq!(begun(&cluster).last(), Some(&(1, met, RunSource::Normal)), "{}", cluster.trace());
    end_run_of_slot(&mut cluster, 0);
    let (number, _, source) = begun(&cluster)[2];
    assert_eq!((number, source), (0, RunSource::Manual), "{}", cluster.trace());
}

#[test]
fn manual_request_does_not_run_in_a_free_further_slot() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    end_run_of_slot(&mut cluster, 1);
    cluster.send_event(0, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    assert_eq!(begun(&cluster).len(), 2, "slot 0 has a run: {}", cluster.trace());
    end_run_of_slot(&mut cluster, 0);
    let (number, _, source) = begun(&cluster)[2];
    assert_eq!((number, source), (0, RunSource::Manual), "{}", cluster.trace());
}

#[test]
fn disabled_item_starts_no_run_in_a_further_slot() {
    let (mut cluster, _) = overlapping(1, 2, 1);
    cluster.create("sharding/0/disabled", "");
    cluster.run_for(A_WHILE);
    next_fire(&mut cluster);
    assert_eq!(begun(&cluster).len(), 1, "{}", cluster.trace());
}

#[test]
fn request_to_cancel_ends_the_run_of_its_slot_alone() {
    let (mut cluster, _) = overlapping(1, 2, 2);
    let further = slot(1).key().index();
    cluster.request_cancel(further, "too slow");
    cluster.run_for(A_WHILE);
    let cancels: Vec<_> =
        cluster.cancels(0).iter().map(|cancel| (cancel.item, cancel.slot)).collect();
    assert_eq!(cancels, [(ITEM, 1)], "{}", cluster.trace());
    cluster.end_cancelled_runs(0);
    cluster.run_for(A_WHILE);
    assert_eq!(record(&cluster, 1).outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
    assert!(record(&cluster, 0).is_busy());
    let cancelled = |event: &JobEvent| matches!(event, JobEvent::Cancelled { item, why, .. } if *item == ITEM && why == "too slow");
    assert_eq!(cluster.events(0).iter().filter(|event| cancelled(event)).count(), 1);
}

#[test]
fn limit_of_the_job_counts_runs_in_all_slots() {
    let config = parallel(2, 2).with(|it| it.cluster_concurrency = Some(3));
    let mut cluster = Cluster::settled(1, &config);
    next_fire(&mut cluster);
    next_fire(&mut cluster);
    assert_eq!(cluster.runs().count(), 3, "{}", cluster.trace());
    cluster.end_runs(0);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.runs().count(), 4, "the last fire is still due: {}", cluster.trace());
}

#[test]
fn fire_whose_slot_waits_for_a_permit_until_the_next_fire_is_missed_for_the_limit() {
    let config = parallel(1, 2).with(|it| it.cluster_concurrency = Some(1));
    let mut cluster = Cluster::settled(1, &config);
    next_fire(&mut cluster);
    let waiting = next_fire(&mut cluster);
    assert_eq!(cluster.runs().count(), 1, "{}", cluster.trace());
    next_fire(&mut cluster);
    let expected = [(Some(ITEM.index()), waiting, MissReason::LimitReached)];
    assert_eq!(cluster.misses(0), expected, "{}", cluster.trace());
}

#[test]
fn fewer_items_retire_an_item_once_its_slots_are_idle() {
    let mut cluster = Cluster::settled(1, &parallel(2, 2));
    next_fire(&mut cluster);
    next_fire(&mut cluster);
    let of_last = |number| Slot { item: ShardingItem::new(1), number }.key();
    cluster.configure(&parallel(1, 2));
    cluster.run_for(A_WHILE);
    let last = |cluster: &Cluster| cluster.ledger(of_last(0)).summary();
    assert!(cluster.end_run(0, 1), "slot 0 of item 1 ends");
    cluster.run_for(A_WHILE);
    assert_ne!(last(&cluster), "retired", "slot 1 has a run: {}", cluster.trace());
    cluster.end_runs(0);
    cluster.run_for(A_WHILE);
    assert_eq!(last(&cluster), "retired", "{}", cluster.trace());
    assert!(cluster.ledger(of_last(1)).is_idle());
    let misses = |event: &JobEvent| matches!(event, JobEvent::Missed { reason, .. } if *reason != MissReason::ItemRetired);
    assert!(!cluster.events(0).iter().any(misses), "{}", cluster.trace());
}

#[test]
fn completed_callback_waits_for_runs_in_further_slots() {
    let config = parallel(1, 2);
    let mut cluster =
        Cluster::settled_with(1, &config, |coordinator, _| coordinator.calling_back());
    let mut completed = Vec::new();
    let mut settle = |cluster: &mut Cluster| {
        for _ in 0..4 {
            cluster.run_for(A_WHILE);
            let calls = cluster.return_callbacks().into_iter().map(|(_, call)| call);
            let ends = calls.filter(|call| call.stage == OnceStage::Completed);
            completed.extend(ends.map(|call| call.fire));
        }
        completed.clone()
    };
    next_fire(&mut cluster);
    let last = next_fire(&mut cluster);
    settle(&mut cluster);
    end_run_of_slot(&mut cluster, 0);
    assert_eq!(settle(&mut cluster), [], "slot 1 has a run: {}", cluster.trace());
    end_run_of_slot(&mut cluster, 1);
    assert_eq!(settle(&mut cluster), [last], "{}", cluster.trace());
}

/// A narrow watch does not cover further slots.
#[test]
fn all_instances_watch_all_items_of_job_with_parallel_runs() {
    const ITEMS: u32 = 64;
    let mut cluster = Cluster::settled(4, &parallel(ITEMS, 2));
    cluster.run_for(Duration::from_secs(10));
    for _ in 0..2 {
        next_fire(&mut cluster);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    for instance in 0..4 {
        assert_eq!(cluster.view_of(instance).items().count(), 64, "{instance}");
    }
    next_fire(&mut cluster);
    let met = next_fire(&mut cluster);
    let all: Vec<_> = (0..ITEMS).collect();
    assert_eq!(cluster.items_run_for(met), all, "{}", cluster.trace());
}

/// The end of a run in a further slot would not be seen.
#[test]
fn watch_stays_wide_until_runs_of_former_slots_have_ended() {
    const LONG: Duration = Duration::from_secs(10);
    let mut cluster = Cluster::settled(4, &parallel(64, 2));
    let fires = [next_fire(&mut cluster), next_fire(&mut cluster)];
    cluster.configure(&job_of(64));
    let items_seen = |cluster: &mut Cluster| {
        cluster.run_for(LONG);
        next_fire(cluster);
        let mut seen: Vec<_> =
            (0..4).map(|instance| cluster.view_of(instance).items().count()).collect();
        seen.sort_unstable();
        seen
    };
    assert_eq!(items_seen(&mut cluster), [64; 4], "runs of {fires:?} go on: {}", cluster.trace());
    cluster.end_all_runs();
    assert_eq!(items_seen(&mut cluster), [16, 16, 16, 64], "{}", cluster.trace());
}
