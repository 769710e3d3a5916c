//! Failures of code, sessions and processes.

use crate::support;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use lite::{
    Clock as _, EventSubscriber, JobEvent, JobHandle, JobRecord, Outcome, RunReport, job_fn,
};
use reg_center::{RegistryCenter, memory::WriteFault};
use tokio::sync::{Notify, mpsc};

use support::{Cluster, Member, Runs, balanced, event, every_ten_seconds, settled, within};

#[tokio::test(start_paused = true)]
async fn items_that_fail_or_panic_affect_neither_other_items_nor_the_next_fire() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let noted = runs.clone();
    let job = job_fn(move |context| {
        noted.note(&context);
        async move {
            match context.item().index() {
                0 => Err("the disk is full".into()),
                1 => panic!("a bug"),
                _ => Ok(()),
            }
        }
    });
    let handle =
        member.scheduler.schedule(every_ten_seconds().build().unwrap(), job).await.unwrap();
    let mut events = handle.events();

    runs.until("three fires", |seen| seen.len() == 9).await;

    let mut outcomes = Vec::new();
    while outcomes.len() < 6 {
        let record =
            event(&mut events, "a result", |e| matches!(e, JobEvent::Settled { .. })).await;
        if let JobEvent::Settled { item, outcome, .. } = record.event {
            outcomes.push((item.index(), outcome));
        }
    }
    outcomes.sort_unstable();
    let expected = [(0, Outcome::Failed), (1, Outcome::Panicked), (2, Outcome::Succeeded)];
    assert_eq!(outcomes, expected.map(|row| [row; 2]).concat());
}

/// Forwards the ends of runs to the test.
struct Ends(mpsc::UnboundedSender<RunReport>);

impl EventSubscriber for Ends {
    fn on_event(&self, _: &JobRecord) {}

    fn on_run_ended(&self, report: &RunReport) {
        self.0.send(report.clone()).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_report_has_the_times_and_the_error_of_the_run() {
    let cluster = Cluster::new();
    let (ends, mut reports) = mpsc::unbounded_channel();
    let member = cluster.member_with(1, |builder| builder.event_subscriber(Ends(ends)));
    let clock = cluster.clock.clone();
    let job = job_fn(move |context| {
        let clock = clock.clone();
        async move {
            clock.sleep_until(clock.monotonic() + Duration::from_secs(2)).await;
            match context.item().index() {
                0 => Err("the disk is full".into()),
                1 => panic!("a bug"),
                _ => Ok(()),
            }
        }
    });
    // Without monitoring no event has the start of a run.
    for (n, monitored) in [(1, true), (2, false)] {
        let config = lite::JobBuilder::new(format!("job{n}"), 3).monitor_execution(monitored);
        let handle = member.scheduler.schedule(config.build().unwrap(), job.clone());
        let handle = handle.await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handle.trigger().await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let report = within("a report", reports.recv()).await.unwrap();
            assert_eq!(report.ended.duration_since(report.began).as_secs(), 2, "{report:?}");
            assert_eq!(report.token.0 > 0, monitored, "{report:?}");
            assert_eq!(report.source.as_str(), "MANUAL");
            seen.push((report.item.index(), report.outcome, report.cause));
        }
        seen.sort_unstable();
        let cause = |text: &str| Some(text.to_owned());
        let expected = [
            (0, Outcome::Failed, cause("the disk is full")),
            (1, Outcome::Panicked, cause("a bug")),
            (2, Outcome::Succeeded, None),
        ];
        assert_eq!(seen, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_recorded_as_the_outcome() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let job = job_fn(|context| {
        assert!(context.item().index() > 9, "never true");
        async { Ok(()) }
    });
    let handle =
        member.scheduler.schedule(every_ten_seconds().build().unwrap(), job).await.unwrap();
    let mut events = handle.events();
    for _ in 0..3 {
        settled(&mut events, Outcome::Panicked).await;
    }
}

/// Two members with one item each. The code hangs on member 1 and finishes on member 2.
struct HungOnOne {
    one: Member,
    two: Member,
    on_one: JobHandle,
    on_two: JobHandle,
    runs: Runs,
    dropped: mpsc::UnboundedReceiver<()>,
}

/// Notifies the test when it is dropped.
struct DropNotice(mpsc::UnboundedSender<()>);

impl Drop for DropNotice {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

async fn hung_on_one(cluster: &Cluster) -> HungOnOne {
    let (one, two) = (cluster.member(1), cluster.member(2));
    let runs = Runs::default();
    let config = lite::JobBuilder::new("job", 2)
        .cron(support::EVERY_TEN_SECONDS)
        .failover(true)
        .build()
        .unwrap();
    let (notices, dropped) = mpsc::unbounded_channel();
    let noted = runs.clone();
    let hangs = job_fn(move |context| {
        noted.note(&context);
        let notice = DropNotice(notices.clone());
        async move {
            let _notice = notice;
            pending().await
        }
    });
    let on_one = one.scheduler.schedule(config.clone(), hangs).await.unwrap();
    let on_two = two.scheduler.schedule(config, runs.job()).await.unwrap();
    balanced(cluster, &[&on_one, &on_two], 2).await;
    HungOnOne { one, two, on_one, on_two, runs, dropped }
}

#[tokio::test(start_paused = true)]
async fn the_unfinished_item_of_a_crashed_process_is_taken_over() {
    let cluster = Cluster::new();
    let HungOnOne { one, two: _two, on_two, runs, mut dropped, .. } = hung_on_one(&cluster).await;
    let mut events = on_two.events();
    let seen = runs.until("both items", |seen| seen.len() >= 2).await;
    let lost = seen.iter().find(|run| run.instance.ends_with("@-@1")).unwrap().clone();

    one.scheduler.abort();
    one.center.close().await.unwrap();

    let is_takeover = |run: &support::Seen| run.source == "FAILOVER";
    let seen = runs.until("a takeover", |seen| seen.iter().any(is_takeover)).await;
    let takeover = seen.iter().find(|run| is_takeover(run)).unwrap();
    assert_eq!((takeover.item, takeover.fire), (lost.item, lost.fire), "the same item and fire");
    assert_eq!(takeover.instance, "10.0.0.2@-@2");
    assert!(takeover.token > lost.token);
    within("the end of the lost run", dropped.recv()).await;
    // From the next fire on the remaining instance owns both items.
    settled(&mut events, Outcome::Succeeded).await;
    balanced(&cluster, &[&on_two], 2).await;
    let next = takeover.fire + Duration::from_secs(10);
    let next_fire = |seen: &[support::Seen]| seen.iter().filter(|run| run.fire >= next).count();
    runs.until("the next fire", |seen| next_fire(seen) == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_is_stopped_when_the_lease_of_its_session_ends() {
    let cluster = Cluster::new();
    let mut hung = hung_on_one(&cluster).await;
    hung.runs.until("both items", |seen| seen.len() >= 2).await;
    let before = cluster.clock.clone();
    let suspended_at = lite::Clock::monotonic(&*before);

    // The connection is suspended, and the lease of the session lasts four more seconds.
    hung.one.center.suspend(Duration::from_secs(4));
    within("the run being stopped", hung.dropped.recv()).await;

    let stopped_at = lite::Clock::monotonic(&*before);
    let took = stopped_at - suspended_at;
    assert!((4.0..4.1).contains(&took.as_secs_f64()), "stopped after {took:?}");
    let status = hung.on_one.status().await.unwrap();
    assert_eq!(status.waiting_for, Some("a connection to the registry"));

    // The session still exists, so the instance keeps its id, and the run is taken over.
    hung.one.center.resume();
    let takeover = |seen: &[support::Seen]| seen.iter().any(|run| run.source == "FAILOVER");
    hung.runs.until("a takeover", takeover).await;
    let status = hung.on_one.status().await.unwrap();
    assert_eq!(status.instance.map(|id| id.to_string()).as_deref(), Some("10.0.0.1@-@1"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_loss_shorter_than_the_lease_stops_no_run() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (go, runs) = (Arc::new(Notify::new()), Runs::default());
    let (wait, noted) = (Arc::clone(&go), runs.clone());
    let job = job_fn(move |context| {
        noted.note(&context);
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            Ok(())
        }
    });
    let config = lite::JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS);
    let handle = member.scheduler.schedule(config.build().unwrap(), job).await.unwrap();
    let mut events = handle.events();
    runs.until("a run", |seen| seen.len() == 1).await;

    member.center.suspend(Duration::from_secs(60));
    go.notify_one();
    // The end of the run is recorded after the reconnection. The status is answered after the
    // session's change, because that is more urgent.
    let status = handle.status().await.unwrap();
    assert_eq!(status.waiting_for, Some("a connection to the registry"));
    member.center.resume();

    let record = settled(&mut events, Outcome::Succeeded).await;
    assert_eq!(record.instance.map(|id| id.to_string()).as_deref(), Some("10.0.0.1@-@1"));
}

#[tokio::test(start_paused = true)]
async fn after_a_lost_session_the_instance_has_another_id() {
    let cluster = Cluster::new();
    let mut hung = hung_on_one(&cluster).await;
    hung.runs.until("both items", |seen| seen.len() >= 2).await;
    let mut events = hung.on_one.events();

    hung.one.center.expire();

    within("the run being stopped", hung.dropped.recv()).await;
    let joined =
        event(&mut events, "joining again", |e| matches!(e, JobEvent::Joined { .. })).await;
    let instance = joined.instance.unwrap();
    assert_ne!(instance.as_str(), "10.0.0.1@-@1");
    assert!(instance.as_str().starts_with("10.0.0.1@-@1-"), "{instance}");
    assert_eq!(cluster.stored("job", &["instances", "10.0.0.1@-@1"]), None);
    assert!(cluster.stored("job", &["instances", instance.as_str()]).is_some());
    // Another instance, or this one in its new session, takes over the run of the lost session.
    let takeover = |seen: &[support::Seen]| seen.iter().any(|run| run.source == "FAILOVER");
    hung.runs.until("a takeover", takeover).await;
}

#[tokio::test(start_paused = true)]
async fn a_write_with_a_lost_reply_runs_nothing_twice() {
    let rows = [WriteFault::LoseReply, WriteFault::LoseRequest];
    for fault in rows {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let runs = Runs::default();
        let config = lite::JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS);
        let handle = member.scheduler.schedule(config.build().unwrap(), runs.job()).await.unwrap();
        balanced(&cluster, &[&handle], 1).await;

        // The next write is the claim of the first fire.
        member.center.fail_next_write(fault);
        let seen = runs.until("three fires", |seen| seen.len() == 3).await;

        let fires: Vec<_> = seen.iter().map(support::Seen::at).collect();
        assert_eq!(fires, [10, 20, 30], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_when_its_registry_centre_is_closed() {
    let cluster = Cluster::new();
    let mut hung = hung_on_one(&cluster).await;
    hung.runs.until("both items", |seen| seen.len() >= 2).await;
    let mut events = hung.on_one.events();

    hung.one.center.close().await.unwrap();

    within("the run being stopped", hung.dropped.recv()).await;
    within("the end of the events", async { while events.next().await.is_some() {} }).await;
    assert!(hung.on_one.has_ended());
    assert!(matches!(hung.on_one.pause().await, Err(lite::Error::Stopped { .. })));
    drop((hung.two, hung.on_two));
}
