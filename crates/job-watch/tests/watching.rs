//! Watchers in paused time: who sends, what is sent again, and what is not.

use coordination::Dialect;
use job_watch::ConditionKind;
use reg_center::memory::WriteFault;
use std::time::Duration;

use super::support::Job;
use super::support::world::{Arrived, Mode, World};

const LATE: &str = "[[expect]]\njob = \"report\"\nlate_after = \"2m\"";

/// A job that has begun its last fire before noon; its fire at noon is late at 120 s.
fn before_noon() -> Job {
    Job::rust(Dialect::V2).ended(0, 1, "succeeded", -600, -590).disabled(1)
}

/// The job after the run for its fire at this time.
fn begun(fire: i64) -> Job {
    let token = 2 + u64::try_from(fire / 600).unwrap();
    before_noon().ended(0, token, "succeeded", fire, fire + 1)
}

/// Returns a world whose watchers have observed the job before its fire at noon.
async fn world() -> World {
    let world = World::new();
    // The watcher has known the job for long: fires before its first observation are not judged.
    world.put(&before_noon()).await;
    let known = serde_json::json!({
        "v": 1, "alerts": {}, "memory": {
            "judged_from": super::support::at(-900).as_millisecond(), "schedule": "0 0/10 * * * ?||",
        },
    });
    let path = reg_center::NodePath::parse("/watch@-@state/jobs/report").unwrap();
    let txn = reg_center::Txn::new();
    let txn = txn.create(path, known.to_string(), reg_center::Lifetime::Persistent);
    use reg_center::RegistryCenter as _;
    assert!(world.registry.connect().commit(txn).await.unwrap().is_committed());
    world
}

fn subjects(arrived: &[Arrived]) -> Vec<(u64, &str)> {
    arrived.iter().map(|one| (one.seconds, one.message.subject.as_str())).collect()
}

const VIOLATED: &str = "[jobs] warning: late_after of job report is violated";
const RESOLVED: &str = "[jobs] warning: late_after of job report is resolved";

#[tokio::test(start_paused = true)]
async fn violation_and_its_end_are_reported_once() {
    let world = world().await;
    let watcher = world.watch(LATE);
    let arrived = world.until_arrived(1).await;
    assert_eq!(subjects(&arrived), [(120, VIOLATED)]);
    let message = &arrived[0].message;
    let why = "item 0 (owner 10.0.0.1@-@1) has not begun for the fire of 2024-02-29T12:00:00Z; it \
               was due by 2024-02-29T12:02:00Z";
    assert!(message.text.ends_with(&format!("since 2024-02-29T12:02:00Z: {why}")), "{message:?}");
    let expected = serde_json::json!({
        "version": 1, "kind": "expectations", "name": "jobs", "message": 1,
        "possible_repeat": false, "summary": VIOLATED, "left_out": 0, "resolved": [],
        "violated": [{
            "job": "report", "expectation": "late_after", "state": "violated",
            "severity": "warning", "labels": {}, "since": "2024-02-29T12:02:00Z", "why": why,
            "resolved": null, "resolved_why": null,
        }],
    });
    assert_eq!(message.body, expected);
    world.pass(400).await;
    assert_eq!(world.arrived().len(), 1);
    world.put(&begun(0)).await;
    let arrived = world.until_arrived(2).await;
    assert_eq!(subjects(&arrived)[1], (520, RESOLVED));
    world.pass(70).await;
    assert_eq!(world.arrived().len(), 2);
    watcher.stop().await;
}

#[tokio::test(start_paused = true)]
async fn continuing_violation_is_repeated_at_intervals() {
    let world = world().await;
    let _watcher = world.watch(&format!("repeat = \"1h\"\n{LATE}"));
    let arrived = world.until_arrived(3).await;
    let still = "[jobs] warning: late_after of job report is still violated";
    assert_eq!(subjects(&arrived), [(120, VIOLATED), (3_720, still), (7_320, still)]);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_watchers_sends_and_the_other_continues() {
    let world = world().await;
    let first = world.watch(LATE);
    world.until_stored("sender", "test@1").await;
    let second = world.watch(LATE);
    world.until_arrived(1).await;
    world.pass(10).await;
    assert!(first.view.is_sender() && !second.view.is_sender());
    first.kill().await;
    world.pass(1_000).await;
    assert!(second.view.is_sender());
    assert_eq!(world.arrived().len(), 1, "the violation was reported: {:?}", world.arrived());
    world.put(&begun(600)).await;
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[1].message.subject, RESOLVED);
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn message_in_doubt_is_sent_once_more_and_never_again() {
    let world = world().await;
    world.set_mode(Mode::Hang);
    let first = world.watch(LATE);
    world.until_arrived(1).await;
    let second = world.watch(LATE);
    first.kill().await;
    let arrived = world.until_arrived(2).await;
    let repeat = format!("[possible repeat] {VIOLATED}");
    assert_eq!(arrived[1].message.subject, repeat);
    assert_eq!(arrived[1].message.body["possible_repeat"], true);
    assert_eq!(arrived[1].message.body["message"], 1);
    second.kill().await;
    world.set_mode(Mode::Accept);
    let third = world.watch(LATE);
    world.pass(3_000).await;
    assert_eq!(world.arrived().len(), 2, "{:?}", world.arrived());
    world.put(&begun(3_000)).await;
    let arrived = world.until_arrived(3).await;
    assert_eq!(arrived[2].message.subject, RESOLVED);
    assert_eq!(arrived[2].message.body["message"], 2);
    third.stop().await;
}

#[tokio::test(start_paused = true)]
async fn message_without_an_answer_is_sent_once_more_by_the_same_watcher() {
    let world = world().await;
    world.set_mode(Mode::Hang);
    let _watcher = world.watch(LATE);
    world.until_arrived(2).await;
    world.pass(3_000).await;
    let repeat = format!("[possible repeat] {VIOLATED}");
    assert_eq!(subjects(&world.arrived()), [(120, VIOLATED), (150, repeat.as_str())]);
}

#[tokio::test(start_paused = true)]
async fn unclear_answer_is_repeated_once_after_a_pause() {
    let world = world().await;
    world.set_mode(Mode::Unclear);
    let _watcher = world.watch(LATE);
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[0].seconds, 120);
    assert!((135..=151).contains(&arrived[1].seconds), "{arrived:?}");
    world.pass(3_000).await;
    let repeat = format!("[possible repeat] {VIOLATED}");
    assert_eq!(world.arrived().len(), 2, "{:?}", world.arrived());
    assert_eq!(world.arrived()[1].message.subject, repeat);
}

#[tokio::test(start_paused = true)]
async fn pause_before_a_repeat_leaves_it_to_the_next_sender() {
    let world = world().await;
    world.set_mode(Mode::Unclear);
    let first = world.watch(LATE);
    world.until_arrived(1).await;
    first.stop().await;
    assert_eq!(world.now(), 120, "the pause does not delay the end of the watcher");
    world.set_mode(Mode::Accept);
    let _second = world.watch(LATE);
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[1].message.subject, format!("[possible repeat] {VIOLATED}"));
    world.pass(3_000).await;
    assert_eq!(world.arrived().len(), 2, "{:?}", world.arrived());
}

#[tokio::test(start_paused = true)]
async fn restart_sends_nothing_twice() {
    let world = world().await;
    let watcher = world.watch(LATE);
    world.until_arrived(1).await;
    world.pass(1).await;
    watcher.stop().await;
    let watcher = world.watch(LATE);
    world.pass(3_000).await;
    assert_eq!(world.arrived().len(), 1, "{:?}", world.arrived());
    watcher.kill().await;
    // The violation ends while no watcher lives.
    world.put(&begun(3_000)).await;
    let _watcher = world.watch(LATE);
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[1].message.subject, RESOLVED);
}

#[tokio::test(start_paused = true)]
async fn refused_message_is_retried_until_it_is_accepted() {
    let world = world().await;
    world.set_mode(Mode::Refuse);
    let _watcher = world.watch(LATE);
    world.until("four attempts", || world.attempts() == 4).await;
    world.set_mode(Mode::Accept);
    let arrived = world.until_arrived(1).await;
    // After pauses of 1, 2, 4 and 8 s.
    assert_eq!(subjects(&arrived), [(135, VIOLATED)]);
    world.pass(1_000).await;
    assert_eq!(world.attempts(), 5);
}

#[tokio::test(start_paused = true)]
async fn refused_message_is_dropped_after_ten_attempts() {
    let world = world().await;
    world.set_mode(Mode::Refuse);
    let _watcher = world.watch(&format!("repeat = \"1h\"\n{LATE}"));
    world.until("ten attempts", || world.attempts() == 10).await;
    world.pass(600).await;
    assert_eq!(world.attempts(), 10);
    world.set_mode(Mode::Accept);
    let arrived = world.until_arrived(1).await;
    assert!(arrived[0].message.subject.ends_with("is still violated"), "{arrived:?}");
}

#[tokio::test(start_paused = true)]
async fn channel_that_panics_leaves_the_outcome_unknown() {
    let world = world().await;
    world.set_mode(Mode::Panic);
    let _watcher = world.watch(LATE);
    let arrived = world.until_arrived(2).await;
    assert!(arrived[1].message.subject.starts_with("[possible repeat]"), "{arrived:?}");
    world.set_mode(Mode::Accept);
    world.put(&begun(0)).await;
    let arrived = world.until_arrived(3).await;
    assert_eq!(arrived[2].message.subject, RESOLVED);
}

#[tokio::test(start_paused = true)]
async fn lost_session_stops_sending_at_once() {
    let world = world().await;
    world.set_mode(Mode::Refuse);
    let watcher = world.watch(LATE);
    world.until("an attempt", || world.attempts() == 1).await;
    watcher.center.suspend(Duration::from_millis(500));
    world.pass(30).await;
    assert_eq!(world.attempts(), 1, "the lease is over");
    world.set_mode(Mode::Accept);
    watcher.center.resume();
    let arrived = world.until_arrived(1).await;
    assert!(arrived[0].message.subject.starts_with("[possible repeat]"), "{arrived:?}");
}

#[tokio::test(start_paused = true)]
async fn unknown_outcome_of_a_write_repeats_no_message() {
    for (fault, expected) in [
        (WriteFault::LoseReply, format!("[possible repeat] {VIOLATED}")),
        (WriteFault::LoseRequest, VIOLATED.to_owned()),
    ] {
        let world = world().await;
        let watcher = world.watch(LATE);
        world.pass(60).await;
        watcher.center.fail_next_write(fault);
        let arrived = world.until_arrived(1).await;
        assert_eq!(arrived[0].message.subject, expected, "{fault:?}");
        world.pass(2_000).await;
        assert_eq!(world.arrived().len(), 1, "{fault:?}: {:?}", world.arrived());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_judged_while_the_registry_does_not_answer() {
    let world = world().await;
    let watcher = world.watch(&format!("stale_after = \"5m\"\n{LATE}"));
    world.until_stored("sender", "test@1").await;
    watcher.center.suspend(Duration::from_secs(10));
    let arrived = world.until_arrived(1).await;
    let cut = "[jobs] the registry does not answer for 300 s; expectations are not judged";
    assert_eq!(subjects(&arrived), [(300, cut)]);
    assert_eq!(arrived[0].message.body["kind"], "watcher");
    world.pass(1_000).await;
    assert_eq!(world.arrived().len(), 1, "{:?}", world.arrived());
    world.put(&begun(600)).await;
    watcher.center.resume();
    let arrived = world.until_arrived(2).await;
    let again = "[jobs] the registry answers again; expectations are judged";
    assert_eq!(arrived[1].message.subject, again);
    world.pass(10).await;
    assert_eq!(world.arrived().len(), 2, "two fires were late meanwhile: {:?}", world.arrived());
    watcher.stop().await;
}

#[tokio::test(start_paused = true)]
async fn silence_holds_a_message_back_until_it_expires() {
    let world = world().await;
    let watcher = world.watch(LATE);
    world.until_stored("sender", "test@1").await;
    world.silence(ConditionKind::LateAfter, 1_000).await;
    world.pass(500).await;
    assert!(world.arrived().is_empty());
    watcher.kill().await;
    let _watcher = world.watch(LATE);
    let arrived = world.until_arrived(1).await;
    assert_eq!(subjects(&arrived), [(1_000, VIOLATED)], "the silence survives the watcher");
    world.silence(ConditionKind::LateAfter, 5_000).await;
    world.put(&begun(600)).await;
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[1].message.subject, RESOLVED, "the end is reported");
}

#[tokio::test(start_paused = true)]
async fn violations_by_one_cause_are_grouped() {
    let world = World::new();
    for n in 0..250 {
        let name = coordination::JobName::new(&format!("job-{n:03}")).unwrap();
        let job = Job::rust(Dialect::V3).config(|config| config.job_name = name);
        world.put(&job.killed(1)).await;
    }
    let _watcher = world.watch("[[expect]]\njob = \"job-*\"\ninstances_at_least = 1");
    let arrived = world.until_arrived(3).await;
    assert_eq!(arrived.iter().map(|one| one.seconds).collect::<Vec<_>>(), [0, 60, 120]);
    let count = |one: &Arrived| one.message.body["violated"].as_array().unwrap().len();
    assert_eq!(arrived.iter().map(count).collect::<Vec<_>>(), [100, 100, 50]);
    let first = &arrived[0].message;
    assert_eq!(first.subject, "[jobs] expectations: 100 violated, 0 resolved, 150 more follow");
    assert_eq!(first.text.lines().count(), 22);
    world.pass(1_000).await;
    assert_eq!(world.arrived().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn failed_runs_are_counted_across_a_restart() {
    let failed = |n: i64| before_noon().ended(0, n.unsigned_abs(), "failed", 0, n);
    let world = World::new();
    world.put(&failed(1)).await;
    let file = "[[expect]]\njob = \"report\"\nfailures = 3";
    let first = world.watch(file);
    world.until_stored("jobs/report", "\"count\":1").await;
    world.put(&failed(2)).await;
    world.until_stored("jobs/report", "\"count\":2").await;
    first.kill().await;
    world.put(&failed(3)).await;
    let _second = world.watch(file);
    let arrived = world.until_arrived(1).await;
    assert!(arrived[0].message.text.contains("the last 3 runs of item 0"), "{arrived:?}");
}

#[tokio::test(start_paused = true)]
async fn state_of_a_later_version_is_not_touched() {
    let world = World::new();
    world.put(&before_noon()).await;
    let path = reg_center::NodePath::parse("/watch@-@state/outbox/ops").unwrap();
    let txn = reg_center::Txn::new();
    let txn = txn.create(path, "{\"v\":2}", reg_center::Lifetime::Persistent);
    use reg_center::RegistryCenter as _;
    world.registry.connect().commit(txn).await.unwrap();
    let error = world.watch(LATE).error().await.to_string();
    let expected = "/watch@-@state/outbox/ops has the format version 2, and this program knows up \
                    to 1; use the later program";
    assert_eq!(error, expected);
}
