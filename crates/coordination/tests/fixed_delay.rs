//! Scenario tests of jobs with a fixed delay: the next fire comes the delay after the last one has
//! ended on all items, whichever instances live.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{CatchUp, Duty, Event, FireTime, JobConfig};

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const DELAY: Duration = Duration::from_secs(10);

fn delayed(items: u32) -> JobConfig {
    job_of(items).with(|it| it.cron = Some("@after 10s".into()))
}

fn next(cluster: &Cluster) -> FireTime {
    cluster.registry_view().delayed_fire().unwrap()
}

/// Waits until the next fire has come, and returns it.
fn until_next(cluster: &mut Cluster) -> FireTime {
    let next = next(cluster);
    let ahead = u64::try_from(next.0 - cluster.wall_ms()).unwrap_or(0);
    cluster.run_for(Duration::from_millis(ahead));
    next
}

/// Ends all runs now, and asserts that the next fire comes the delay later.
fn assert_next_after_end(cluster: &mut Cluster) {
    let ended = cluster.wall_ms();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let delay = i64::try_from(DELAY.as_millis()).unwrap();
    let due = next(cluster).0;
    assert!((ended + delay..ended + delay + 2_000).contains(&due), "{due}\n{}", cluster.trace());
    assert_eq!(due % 1_000, 0);
}

#[test]
fn next_fire_comes_delay_after_end_on_all_items() {
    let mut cluster = Cluster::settled(2, &delayed(3));
    assert_eq!(cluster.runs().count(), 0, "the first fire comes after the delay, too");
    for long in [1, 7, 40] {
        let fire = until_next(&mut cluster);
        assert_eq!(cluster.items_run_for(fire), [0, 1, 2], "{}", cluster.trace());
        cluster.run_for(Duration::from_secs(long));
        cluster.end_runs(FIRST);
        cluster.run_for(DELAY);
        assert_eq!(next(&cluster), fire, "an item still runs\n{}", cluster.trace());
        assert_next_after_end(&mut cluster);
    }
    let fires: std::collections::BTreeSet<_> = cluster.runs().map(|(_, run)| run.fire).collect();
    assert_eq!((fires.len(), cluster.runs().count()), (3, 9), "{}", cluster.trace());
}

#[test]
fn next_fire_survives_loss_of_all_instances() {
    let mut cluster = Cluster::settled(2, &delayed(2));
    until_next(&mut cluster);
    assert_next_after_end(&mut cluster);
    let fire = next(&cluster);
    cluster.crash(FIRST);
    cluster.crash(SECOND);
    cluster.run_for(3 * DELAY);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    assert_next_after_end(&mut cluster);
}

/// The leader is lost between the end of the last run and the record of that.
#[test]
fn next_leader_records_end_that_lost_leader_did_not() {
    let mut cluster = Cluster::settled(2, &delayed(2));
    let fire = until_next(&mut cluster);
    cluster.end_runs(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_runs(SECOND);
    while !cluster.has_queued_commit(FIRST, Duty::Once) {
        let stepped =
            (0..2).any(|of| cluster.deliver(of) || cluster.execute(of) || cluster.reply(of));
        assert!(stepped, "the leader records no end\n{}", cluster.trace());
    }
    let late = cluster.hold_commit(FIRST, Duty::Once);
    cluster.crash(FIRST);
    cluster.run_for(Duration::from_secs(30));
    assert!(cluster.is_rejected(late), "{}", cluster.trace());
    let later: Vec<_> = cluster.runs().map(|(_, run)| run.fire).filter(|at| *at > fire).collect();
    assert_eq!(later.len(), 2, "one fire follows from the end\n{}", cluster.trace());
    assert_eq!(later[0], later[1]);
}

/// Returns the leader's commit that records the end of the only fire.
fn held_end(cluster: &mut Cluster) -> crate::script::Commit {
    until_next(cluster);
    cluster.end_all_runs();
    while !cluster.has_queued_commit(FIRST, Duty::Once) {
        assert!(cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST));
    }
    cluster.hold_commit(FIRST, Duty::Once)
}

#[test]
fn end_conflicts_when_another_end_was_recorded() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    let late = held_end(&mut cluster);
    cluster.touch("coordination/once");
    assert!(cluster.is_rejected(late), "{}", cluster.trace());
}

#[test]
fn end_conflicts_when_configuration_changed() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    let late = held_end(&mut cluster);
    cluster.configure(&delayed(2));
    assert!(cluster.is_rejected(late), "{}", cluster.trace());
}

#[test]
fn end_with_unknown_outcome_leads_to_one_fire() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    let fire = until_next(&mut cluster);
    cluster.end_all_runs();
    while !cluster.has_queued_commit(FIRST, Duty::Once) {
        assert!(cluster.deliver(FIRST) || cluster.execute(FIRST) || cluster.reply(FIRST));
    }
    cluster.execute_all(FIRST);
    cluster.lose_reply(FIRST);
    let due = next(&cluster);
    cluster.run_for(A_WHILE);
    assert_eq!(next(&cluster), due, "{}", cluster.trace());
    assert!(due > fire);
    until_next(&mut cluster);
    assert_eq!(cluster.runs().count(), 2, "{}", cluster.trace());
}

/// Each of these ends a fire without a successful run of the item.
#[test]
fn fire_ends_for_lost_and_disabled_items() {
    let stays_idle = |config: JobConfig, disturb: fn(&mut Cluster)| {
        let mut cluster = Cluster::settled(2, &config);
        let fire = until_next(&mut cluster);
        disturb(&mut cluster);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        assert!(next(&cluster) > fire, "the job stands still\n{}", cluster.trace());
        let fire = until_next(&mut cluster);
        assert!(cluster.runs_for(fire).count() > 0, "{}", cluster.trace());
    };
    stays_idle(delayed(2), |cluster| cluster.crash(SECOND));
    stays_idle(delayed(2).with(|it| it.failover = false), |cluster| cluster.crash(SECOND));
    stays_idle(delayed(2), |cluster| cluster.request_cancel(0, "wrong input"));
    stays_idle(delayed(2), |cluster| cluster.create("sharding/1/disabled", ""));
    let mut cluster = Cluster::settled(1, &delayed(2));
    cluster.create("sharding/1/disabled", "");
    let fire = until_next(&mut cluster);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
    assert_next_after_end(&mut cluster);
}

#[test]
fn paused_instance_runs_due_fire_once_resumed() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    cluster.send_event(FIRST, Event::Paused);
    let fire = until_next(&mut cluster);
    cluster.run_for(3 * DELAY);
    assert_eq!(cluster.runs().count(), 0, "{}", cluster.trace());
    cluster.send_event(FIRST, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
    assert_next_after_end(&mut cluster);
}

/// A fire that meets a manual run waits for its end.
#[test]
fn due_fire_waits_for_manual_run() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let fire = until_next(&mut cluster);
    cluster.run_for(DELAY);
    assert_eq!((cluster.runs().count(), next(&cluster)), (1, fire), "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
}

#[test]
fn fire_that_met_manual_run_of_item_disabled_meanwhile_ends() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.run_for(A_WHILE);
    let fire = until_next(&mut cluster);
    cluster.run_for(A_WHILE);
    cluster.create("sharding/0/disabled", "");
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(next(&cluster) > fire, "the job stands still\n{}", cluster.trace());
}

#[test]
fn clock_set_back_repeats_no_fire_and_shortens_no_delay() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    let fire = until_next(&mut cluster);
    cluster.set_clocks_back(DELAY / 2);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let later = next(&cluster);
    assert!(later.0 >= fire.0 + 10_000, "{}", cluster.trace());
    until_next(&mut cluster);
    assert_eq!((cluster.runs().count(), cluster.items_run_for(later)), (2, vec![0]));
}

#[test]
fn change_of_delay_counts_from_last_end() {
    let mut cluster = Cluster::settled(1, &delayed(1));
    let start = next(&cluster).0 - 10_000;
    cluster.configure(&delayed(1).with(|it| it.cron = Some("@after 1m".into())));
    assert_eq!(next(&cluster).0, start + 60_000);
    cluster.configure(&job_of(1));
    assert_eq!(cluster.registry_view().delayed_fire(), None);
}

/// Returns a job with a fixed delay of an hour.
fn hourly(items: u32) -> JobConfig {
    delayed(items).with(|it| it.cron = Some("@after 1h".into()))
}

/// Asserts that all runs end now, and that the next fire comes the hour later.
fn assert_next_after_an_hour(cluster: &mut Cluster) {
    let ended = cluster.wall_ms();
    let before = cluster.runs().count();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.runs().count(), before, "no delay\n{}", cluster.trace());
    let due = next(cluster).0 - ended;
    assert!((3_600_000..3_602_000).contains(&due), "{due} ms\n{}", cluster.trace());
}

/// The hour after the last recorded end passes while the fire runs.
#[test]
fn longer_delay_does_not_replace_a_fire_in_progress() {
    let mut cluster = Cluster::settled(2, &delayed(3));
    let fire = until_next(&mut cluster);
    cluster.configure(&hourly(3));
    assert_eq!(next(&cluster), fire, "{}", cluster.trace());
    cluster.run_for(Duration::from_secs(5_000));
    cluster.end_runs(SECOND);
    cluster.run_for(A_WHILE);
    assert_next_after_an_hour(&mut cluster);
    assert_eq!((cluster.items_run(), next(&cluster) > fire), (vec![0, 1, 2], true));
    let later = until_next(&mut cluster);
    assert_eq!(cluster.items_run_for(later), [0, 1, 2], "{}", cluster.trace());
}

/// The other item has not begun the fire when the delay becomes longer.
#[test]
fn longer_delay_does_not_replace_a_fire_that_one_item_has_run() {
    let mut cluster = Cluster::settled(2, &delayed(2));
    cluster.send_event(SECOND, Event::Paused);
    let fire = until_next(&mut cluster);
    assert_eq!(cluster.runs_for(fire).count(), 1, "{}", cluster.trace());
    cluster.configure(&hourly(2));
    cluster.run_for(Duration::from_secs(5_000));
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.runs().count(), 1, "the other item has not run\n{}", cluster.trace());
    cluster.send_event(SECOND, Event::Resumed);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    assert_next_after_an_hour(&mut cluster);
}

#[test]
fn shorter_delay_waits_for_the_fire_in_progress() {
    let mut cluster = Cluster::settled(1, &hourly(2));
    let fire = until_next(&mut cluster);
    cluster.configure(&delayed(2));
    cluster.run_for(3 * DELAY);
    assert_eq!(next(&cluster), fire, "{}", cluster.trace());
    assert_next_after_end(&mut cluster);
}

#[test]
fn fields_that_contradict_a_fixed_delay_are_rejected() {
    type Change = fn(&mut JobConfig);
    let rows: [(Change, &str); 8] = [
        (|c| (c.monitor_execution, c.failover) = (false, false), "monitor_execution"),
        (|c| c.catch_up = Some(CatchUp { window_seconds: 60, max: 1 }), "catch_up"),
        (|c| c.jitter_ms = Some(5), "jitter"),
        (|c| c.excluded_days = Some("SAT".into()), "excluded_days"),
        (|c| c.excluded_times = Some("22:00..06:00".into()), "excluded_times"),
        (|c| c.not_before = Some("2026-01-01T00:00".into()), "not_before"),
        (|c| c.not_after = Some("2026-01-01T00:00".into()), "not_after"),
        (|c| c.repeated_hour = Some("both".into()), "repeated_hour"),
    ];
    assert_eq!(delayed(1).check(), Ok(()));
    for (change, field) in rows {
        let error = delayed(1).with(change).check().unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.valid.contains("@after"), "{error}");
    }
    let java = delayed(1).with(|it| it.java.job_class = "a.b.C".to_owned());
    assert_eq!(java.check_for_java().unwrap_err().field, "cron");
}
