//! Runs that a program cancels through its handle.

use crate::support;

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use lite::{
    Clock, Error, FireTime, JobBuilder, JobConfig, JobEvent, JobHandle, Outcome, Overlap,
    RunReport, RunSource, ShardingContext, ShardingItem, job_fn,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use support::{Cluster, EVERY_TEN_SECONDS, Member, Runs, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// A job of one item that runs on request and fails over.
fn on_request() -> JobConfig {
    JobBuilder::new("job", 1).failover(true).build().unwrap()
}

/// Collects the reports of ended runs.
#[derive(Clone, Default)]
struct Reports(Arc<Mutex<Vec<RunReport>>>);

impl lite::EventSubscriber for Reports {
    fn on_event(&self, _: &lite::JobRecord) {}

    fn on_run_ended(&self, report: &RunReport) {
        self.0.lock().push(report.clone());
    }
}

/// Starts the job with code that never returns, waits for its run, and returns the handle.
async fn hanging(member: &Member, reports: &Reports) -> JobHandle {
    let (began, mut begins) = mpsc::unbounded_channel();
    let job = job_fn(move |_| {
        began.send(()).unwrap();
        pending()
    });
    let registration = member.scheduler.schedule(on_request(), job).shutdown_grace(3 * SECOND);
    let handle = registration.event_subscriber(reports.clone()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    within("the beginning", begins.recv()).await;
    handle
}

#[tokio::test(start_paused = true)]
async fn code_that_ignores_its_cancellation_is_dropped_after_the_grace() {
    let (cluster, reports) = (Cluster::new(), Reports::default());
    let member = cluster.member(1);
    let handle = hanging(&member, &reports).await;
    let mut events = handle.events();
    let began = cluster.clock.monotonic();
    let items = within("the request", handle.cancel(None, "wrong\nmonth")).await.unwrap();
    assert_eq!(items, BTreeSet::from([ShardingItem::new(0)]));
    let (mut is_settled, mut reason) = (false, None);
    while !is_settled || reason.is_none() {
        // The two events come in either order.
        let event = within("both events", events.next()).await.unwrap().event;
        if let JobEvent::Settled { outcome, .. } = event {
            is_settled = outcome == Outcome::Cancelled;
        } else if let JobEvent::Cancelled { by, why, .. } = event {
            reason = Some((by, why));
        }
    }
    let took = cluster.clock.monotonic() - began;
    assert!((3 * SECOND..4 * SECOND).contains(&took), "{took:?}");
    let (by, why) = reason.unwrap();
    assert_eq!((by.starts_with("10.0.0.1@-@"), why.as_str()), (true, "wrong month"));
    let ends = reports.0.lock().clone();
    let [end] = &*ends else { panic!("{ends:?}") };
    assert_eq!(end.outcome, Outcome::Cancelled);
    let cause = end.cause.as_deref().unwrap();
    assert!(cause.ends_with(": wrong month (its future was dropped)"), "{cause}");
    let stored = cluster.stored("job", &["ledger", "0"]).unwrap();
    assert!(stored.contains(r#""why":"wrong month""#), "{stored}");
}

#[tokio::test(start_paused = true)]
async fn code_ends_at_its_token_and_may_still_succeed() {
    for (result, expected) in [(Err("half-way"), Outcome::Cancelled), (Ok(()), Outcome::Succeeded)]
    {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let job = job_fn(move |context: ShardingContext| async move {
            context.cancelled().await;
            result.map_err(Into::into)
        });
        let handle = member.scheduler.schedule(on_request(), job).await.unwrap();
        let mut events = handle.events();
        within("joining", handle.joined()).await.unwrap();
        handle.trigger().await.unwrap();
        event(&mut events, "the claim", |e| matches!(e, JobEvent::Claimed { .. })).await;
        let began = cluster.clock.monotonic();
        handle.cancel(None, "wrong month").await.unwrap();
        settled(&mut events, expected).await;
        let took = cluster.clock.monotonic() - began;
        assert!(took < SECOND, "{expected}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_on_another_instance_is_cancelled_and_not_taken_over() {
    let (cluster, reports, runs) = (Cluster::new(), Reports::default(), Runs::default());
    let (one, two) = (cluster.member(1), cluster.member(2));
    let handle = hanging(&one, &reports).await;
    let other = two.scheduler.schedule(on_request(), runs.job()).await.unwrap();
    within("joining", other.joined()).await.unwrap();
    let mut events = handle.events();
    let item = BTreeSet::from([ShardingItem::new(0)]);
    assert_eq!(other.cancel(Some(&item), "stuck").await.unwrap(), item);
    settled(&mut events, Outcome::Cancelled).await;
    assert_eq!(other.cancel(Some(&item), "again").await.unwrap(), BTreeSet::new());
    other.trigger().await.unwrap();
    runs.until("the next request", |seen| !seen.is_empty()).await;
    let sources: Vec<_> = runs.all().into_iter().map(|seen| seen.source).collect();
    assert_eq!(sources, [RunSource::Manual.as_str()]);
}

#[tokio::test(start_paused = true)]
async fn run_of_lost_holder_is_not_taken_over_after_the_request() {
    let (cluster, reports, runs) = (Cluster::new(), Reports::default(), Runs::default());
    let (one, two) = (cluster.member(1), cluster.member(2));
    let _running = hanging(&one, &reports).await;
    let other = two.scheduler.schedule(on_request(), runs.job()).await.unwrap();
    within("joining", other.joined()).await.unwrap();
    let mut events = other.events();
    other.cancel(None, "stuck").await.unwrap();
    one.scheduler.abort();
    one.center.expire();
    event(&mut events, "the end", |e| matches!(e, JobEvent::Cancelled { .. })).await;
    other.trigger().await.unwrap();
    runs.until("the next request", |seen| !seen.is_empty()).await;
    let sources: Vec<_> = runs.all().into_iter().map(|seen| seen.source).collect();
    assert_eq!(sources, [RunSource::Manual.as_str()], "the cancelled run was continued");
}

/// The number of items was lowered while all of them ran.
#[tokio::test(start_paused = true)]
async fn runs_of_items_beyond_a_lowered_number_are_cancelled() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (began, mut begins) = mpsc::unbounded_channel();
    let job = job_fn(move |_| {
        began.send(()).unwrap();
        pending()
    });
    let config = |items| JobBuilder::new("job", items).build().unwrap();
    let handle = member.scheduler.schedule(config(3), job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    for _ in 0..3 {
        within("the beginning", begins.recv()).await;
    }
    cluster.configure(&config(1)).await;
    cluster.pass(SECOND).await;
    let status = handle.status().await.unwrap();
    assert_eq!(status.config.unwrap().sharding_total_count, 1);

    let items =
        |items: &[u32]| items.iter().map(|i| ShardingItem::new(*i)).collect::<BTreeSet<_>>();
    assert_eq!(handle.cancel(Some(&items(&[2])), "wrong").await.unwrap(), items(&[2]));
    assert_eq!(handle.cancel(None, "wrong").await.unwrap(), items(&[0, 1, 2]));
    let error = handle.cancel(Some(&items(&[0, 3])), "wrong").await.unwrap_err();
    assert!(error.to_string().contains("no item 3; valid are 0 to 0"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn only_the_runs_for_the_named_fire_are_cancelled() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let builder = JobBuilder::new("job", 1).cron(EVERY_TEN_SECONDS);
    let config = builder.overlap(Overlap::Parallel(2)).build().unwrap();
    let handle = member.scheduler.schedule(config, job_fn(|_| pending())).await.unwrap();
    let mut events = handle.events();
    let mut fires = Vec::new();
    while fires.len() < 2 {
        let claimed =
            event(&mut events, "a claim", |e| matches!(e, JobEvent::Claimed { .. })).await;
        if let JobEvent::Claimed { fire, .. } = claimed.event {
            fires.push(fire);
        }
    }
    let noted = event(&mut events, "a note", |e| matches!(e, JobEvent::MisfireNoted { .. })).await;
    let JobEvent::MisfireNoted { waiting, .. } = noted.event else { panic!("{noted:?}") };

    let error = handle.cancel_fire(waiting.first, "too slow").await.unwrap_err();
    assert!(matches!(error, Error::CannotCancel { .. }), "{error:?}");
    assert!(error.to_string().contains("waits as a misfire at item 0"), "{error}");
    assert_eq!(handle.cancel_fire(FireTime(1), "too slow").await.unwrap(), BTreeSet::new());
    let items = handle.cancel_fire(fires[1], "too slow").await.unwrap();
    assert_eq!(items, BTreeSet::from([ShardingItem::new(0)]));
    let end = event(&mut events, "the end", |e| matches!(e, JobEvent::Settled { .. })).await;
    let JobEvent::Settled { fire, outcome, .. } = end.event else { panic!("{end:?}") };
    assert_eq!((fire, outcome), (fires[1], Outcome::Cancelled));
    let first = cluster.stored("job", &["ledger", "0"]).unwrap();
    assert!(first.contains(r#""state":"running""#) && !first.contains("too slow"), "{first}");
}

#[tokio::test(start_paused = true)]
async fn request_that_cannot_work_says_why() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let job = || job_fn(|_| async { Ok(()) });
    let unmonitored = JobBuilder::new("plain", 1).monitor_execution(false).build().unwrap();
    let plain = member.scheduler.schedule(unmonitored, job()).await.unwrap();
    let idle = member.scheduler.schedule(on_request(), job()).await.unwrap();
    within("joining", plain.joined()).await.unwrap();
    within("joining", idle.joined()).await.unwrap();
    assert_eq!(idle.cancel(None, "nothing runs").await.unwrap(), BTreeSet::new());
    let beyond = BTreeSet::from([ShardingItem::new(7)]);
    let rows = [
        (plain.cancel(None, "why").await, "it is not monitored"),
        (idle.cancel(Some(&beyond), "why").await, "no item 7; valid are 0 to 0"),
        (idle.cancel(None, " ").await, "the reason is blank"),
    ];
    for (result, expected) in rows {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::CannotCancel { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
