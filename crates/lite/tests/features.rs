//! Features beyond the schedule: catch-up, static sharding, once-per-cluster callbacks, manual
//! requests.

use crate::support;

use std::time::Duration;

use async_trait::async_trait;
use lite::{JobBuilder, JobEvent, OnceContext, OnceListener};
use reg_center::RegistryCenter;
use tokio::sync::mpsc;

use support::{Cluster, Runs, balanced, event, every_ten_seconds, noon, within};

/// Returns the fires of an item's runs, in seconds after noon, with their sources.
fn fires(seen: &[support::Seen], item: u32) -> Vec<(i64, &'static str)> {
    seen.iter().filter(|run| run.item == item).map(|run| (run.at(), run.source)).collect()
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_each_missed_fire_within_the_window_is_run_by_itself() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1)
        .cron(support::EVERY_TEN_SECONDS)
        .catch_up(Duration::from_secs(40), 3);
    let config = config.build().unwrap();
    let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    runs.until("two fires", |seen| seen.len() == 2).await;
    within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();

    // No instance exists for the fires of 30 to 80 seconds.
    cluster.pass(Duration::from_secs(62)).await;
    let next = cluster.member(2);
    next.scheduler.schedule(config, runs.job()).await.unwrap();
    let seen = runs.until("the catch-up", |seen| seen.len() == 7).await;

    let expected = [
        (10, "NORMAL"),
        (20, "NORMAL"),
        (60, "MISFIRE"),
        (70, "MISFIRE"),
        (80, "MISFIRE"),
        (90, "NORMAL"),
        (100, "NORMAL"),
    ];
    assert_eq!(fires(&seen, 0), expected);
}

#[tokio::test(start_paused = true)]
async fn fires_during_which_no_instance_existed_are_reported_as_a_gap() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let config = every_ten_seconds().build().unwrap();
    let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() == 3).await;
    within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();
    cluster.pass(Duration::from_secs(35)).await;

    let next = cluster.member(2);
    let handle = next.scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    let gap = event(&mut events, "a gap", |event| matches!(event, JobEvent::Gap { .. })).await;
    let JobEvent::Gap { gap, .. } = gap.event else { unreachable!("the event was matched") };
    let at = |seconds: i64| noon().as_millisecond() + seconds * 1_000;
    assert_eq!((gap.first.0, gap.until.0, gap.count), (at(20), at(50), Some(3)));
}

#[tokio::test(start_paused = true)]
async fn an_instance_with_a_stable_name_returns_to_its_items() {
    let cluster = Cluster::new();
    let named = |n: u8, name: &str| {
        let name = name.to_owned();
        cluster.member_with(n, |builder| builder.stable_name(name))
    };
    let (one, two) = (named(1, "left"), named(2, "right"));
    let runs = Runs::default();
    let config = JobBuilder::new("job", 4).cron(support::EVERY_TEN_SECONDS).static_sharding(true);
    let config = config.build().unwrap();
    let on_one = one.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    within("the first", on_one.joined()).await.unwrap();
    let on_two = two.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    within("the second", on_two.joined()).await.unwrap();
    // The new number of items reshards; from here on the items stay.
    let more = JobBuilder::new("job", 6).cron(support::EVERY_TEN_SECONDS).static_sharding(true);
    cluster.configure(&more.build().unwrap()).await;
    balanced(&cluster, &[&on_one, &on_two], 6).await;
    let before = cluster.owners("job", 6);

    two.center.close().await.unwrap();
    cluster.pass(Duration::from_secs(30)).await;
    assert_eq!(cluster.owners("job", 6), before, "the items keep their owner");
    let back = named(3, "right");
    let on_back = back.scheduler.schedule(config, runs.job()).await.unwrap();
    balanced(&cluster, &[&on_one, &on_back], 6).await;
    let expected: Vec<_> =
        before.iter().map(|owner| owner.replace("10.0.0.2@-@2", "10.0.0.3@-@3")).collect();
    assert_eq!(cluster.owners("job", 6), expected);
}

/// Forwards each callback to the test, with the number of its member.
struct ForwardingOnce(u8, mpsc::UnboundedSender<(u8, &'static str, i64)>);

#[async_trait]
impl OnceListener for ForwardingOnce {
    async fn started(&self, context: OnceContext) {
        self.forward("started", &context);
    }

    async fn completed(&self, context: OnceContext) {
        self.forward("completed", &context);
        panic!("a panic of a callback has no effect");
    }
}

impl ForwardingOnce {
    fn forward(&self, stage: &'static str, context: &OnceContext) {
        let at = context.fire_time().duration_since(noon()).as_secs();
        self.1.send((self.0, stage, at)).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn callbacks_are_called_once_per_cluster_and_fire_in_order() {
    let cluster = Cluster::new();
    let members = [cluster.member(1), cluster.member(2), cluster.member(3)];
    let runs = Runs::default();
    let config = JobBuilder::new("job", 6).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let (sender, mut calls) = mpsc::unbounded_channel();
    let mut handles = Vec::new();
    for (n, member) in (1..).zip(&members) {
        let registration = member.scheduler.schedule(config.clone(), runs.job());
        let registration = registration.once_per_cluster(ForwardingOnce(n, sender.clone()));
        handles.push(registration.await.unwrap());
    }
    balanced(&cluster, &handles.iter().collect::<Vec<_>>(), 6).await;
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let (_, stage, at) = within("a callback", calls.recv()).await.unwrap();
        seen.push((at, stage));
    }
    let first = seen[0].0;
    let expected: Vec<_> = [0, 10, 20]
        .into_iter()
        .flat_map(|later| [(first + later, "started"), (first + later, "completed")])
        .collect();
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn requests_during_a_run_are_run_afterwards() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let (clock, noted) = (cluster.clock.clone(), runs.clone());
    let job = lite::job_fn(move |context| {
        noted.note(&context);
        let clock = clock.clone();
        async move {
            let end = lite::Clock::monotonic(&*clock) + Duration::from_secs(4);
            lite::Clock::sleep_until(&*clock, end).await;
            Ok(())
        }
    });
    let config = JobBuilder::new("job", 1).build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    for _ in 0..3 {
        handle.trigger().await.unwrap();
        cluster.pass(Duration::from_secs(1)).await;
    }
    let seen = runs.until("three runs", |seen| seen.len() == 3).await;
    cluster.pass(Duration::from_secs(20)).await;
    assert_eq!(runs.all().len(), 3, "one run per request");
    let (tokens, sources): (Vec<_>, Vec<_>) =
        seen.iter().map(|run| (run.token, run.source)).unzip();
    assert_eq!((tokens, sources), (vec![1, 2, 3], vec!["MANUAL"; 3]));
}

#[tokio::test(start_paused = true)]
async fn a_job_without_schedule_runs_once_per_request_on_all_instances_and_never_by_itself() {
    let cluster = Cluster::new();
    let members = [cluster.member(1), cluster.member(2)];
    let runs = Runs::default();
    let config = JobBuilder::new("job", 4).failover(true).build().unwrap();
    let mut handles = Vec::new();
    for member in &members {
        let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handles.push(handle);
    }
    balanced(&cluster, &handles.iter().collect::<Vec<_>>(), 4).await;
    cluster.pass(Duration::from_secs(3_600)).await;
    assert_eq!(runs.all(), [], "there is no request");
    assert_eq!(handles[0].status().await.unwrap().next_fire, None);

    for asked in 1..=2 {
        handles[1].trigger().await.unwrap();
        let seen = runs.until("the runs of a request", |seen| seen.len() == 4 * asked).await;
        let mut of_request: Vec<_> =
            seen[4 * (asked - 1)..].iter().map(|run| (run.item, run.source)).collect();
        of_request.sort_unstable();
        assert_eq!(of_request, [0, 1, 2, 3].map(|item| (item, "MANUAL")), "request {asked}");
        let instances: std::collections::BTreeSet<_> =
            seen.iter().map(|run| run.instance.as_str()).collect();
        assert_eq!(instances.len(), 2, "both instances ran items: {instances:?}");
        cluster.pass(Duration::from_secs(3_600)).await;
        assert_eq!(runs.all().len(), 4 * asked, "one run per item and request");
    }
}
