//! Jitter: fires that start later than their scheduled times.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use lite::{Clock, JobBuilder, JobEvent, Scheduler, job_fn};
use parking_lot::Mutex;

use support::log::Log;
use support::{Cluster, Member, Runs, balanced, noon, within};

/// Delays of `job` and `other` with a bound of 30 s, for the fires of 12:00, 12:01 and 12:02, in
/// milliseconds. They must never change.
const OF_JOB: [i64; 3] = [2_153, 1_175, 17_076];
const OF_OTHER: [i64; 3] = [2_361, 719, 11_656];

fn each_minute(name: &str, items: u32) -> JobBuilder {
    JobBuilder::new(name, items).cron("0 * * * * ?").jitter(Duration::from_secs(30))
}

/// Runs of one item: the scheduled fire time in seconds after noon, and the start in milliseconds
/// after noon.
type Begun = Arc<Mutex<Vec<(i64, i64)>>>;

async fn schedule(cluster: &Cluster, scheduler: &Scheduler, config: JobBuilder) -> Begun {
    let begun = Begun::default();
    let (noted, clock) = (begun.clone(), cluster.clock.clone());
    let job = job_fn(move |context| {
        let fire = context.fire_time().duration_since(noon()).as_secs();
        let now = clock.wall().duration_since(noon());
        noted.lock().push((fire, i64::try_from(now.as_millis()).unwrap()));
        async { Ok(()) }
    });
    let handle = scheduler.schedule(config.build().unwrap(), job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    begun
}

/// Advances the clock to this time after noon.
async fn until(cluster: &Cluster, after_noon: Duration) {
    let passed = Duration::try_from(cluster.clock.wall().duration_since(noon())).unwrap();
    cluster.pass(after_noon.checked_sub(passed).unwrap()).await;
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn jobs_with_the_same_schedule_start_apart_and_fires_keep_their_scheduled_times() {
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let job = schedule(&cluster, &scheduler, each_minute("job", 1)).await;
    let other = schedule(&cluster, &scheduler, each_minute("other", 1)).await;

    until(&cluster, seconds(150)).await;

    for (name, begun, delays) in [("job", job, OF_JOB), ("other", other, OF_OTHER)] {
        let expected: Vec<_> = (0..)
            .zip(delays)
            .map(|(minute, delay)| (60 * minute, 60_000 * minute + delay))
            .collect();
        assert_eq!(*begun.lock(), expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_joins_between_a_scheduled_fire_time_and_its_start_takes_part() {
    let cluster = Cluster::new();
    let members = [cluster.member(1), cluster.member(2)];
    let runs = Runs::default();
    let config = each_minute("job", 4).build().unwrap();
    let first = members[0].scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    until(&cluster, seconds(125)).await;
    let second = members[1].scheduler.schedule(config, runs.job()).await.unwrap();
    balanced(&cluster, &[&first, &second], 4).await;

    until(&cluster, seconds(150)).await;

    let mut of_fire: Vec<_> =
        runs.all().into_iter().filter(|run| run.at() == 120).map(|r| (r.item, r.source)).collect();
    of_fire.sort_unstable();
    assert_eq!(of_fire, [0, 1, 2, 3].map(|item| (item, "NORMAL")));
    let by_second = |run: &support::Seen| run.at() == 120 && run.instance.starts_with("10.0.0.2");
    assert_eq!(runs.all().iter().filter(|run| by_second(run)).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_change_starts_a_fire_whose_scheduled_time_has_passed() {
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let job = schedule(&cluster, &scheduler, each_minute("job", 1)).await;
    until(&cluster, seconds(125)).await;

    cluster.configure(&JobBuilder::new("job", 1).cron("30 * * * * ?").build().unwrap()).await;
    until(&cluster, seconds(160)).await;

    let expected = [(0, OF_JOB[0]), (60, 60_000 + OF_JOB[1]), (120, 125_000), (150, 150_000)];
    assert_eq!(*job.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_fire_started_by_a_configuration_change_is_followed_by_no_gap() {
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let runs = Runs::default();
    let config = each_minute("job", 1).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    until(&cluster, seconds(125)).await;

    // The fire of 120 s starts now. Fires up to 123 s precede the change, so the new schedule does
    // not run them.
    cluster.configure(&JobBuilder::new("job", 1).cron("0/3 * * * * ?").build().unwrap()).await;
    let seen = runs.until("fires of the other schedule", |seen| seen.len() >= 6).await;
    within("leaving", handle.shutdown(seconds(1))).await.unwrap();

    let fires: Vec<i64> = seen.iter().map(support::Seen::at).collect();
    assert_eq!(fires[..6], [0, 60, 120, 126, 129, 132]);
    while let Some(record) = events.next().await {
        let is_reported = matches!(record.event, JobEvent::Gap { .. } | JobEvent::Missed { .. });
        assert!(!is_reported, "{record}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_returns_with_another_configuration_starts_no_fire_from_before_it() {
    for by_this_process in [true, false] {
        let cluster = Cluster::new();
        let first = cluster.member(1);
        let runs = Runs::default();
        let before = JobBuilder::new("job", 1).cron("0 0 * * * ?").build().unwrap();
        let handle = first.scheduler.schedule(before, runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        until(&cluster, seconds(62)).await;
        within("leaving", handle.shutdown(seconds(1))).await.unwrap();

        // By this configuration the fire of 60 s starts at 61.175 s, and that of 120 s at 137.076
        // s.
        let config = each_minute("job", 1).overwrite(by_this_process).build().unwrap();
        if !by_this_process {
            cluster.configure(&config).await;
        }
        until(&cluster, seconds(125)).await;
        let again = cluster.member_with(1, |builder| builder.instance_name("again"));
        let handle = again.scheduler.schedule(config, runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        until(&cluster, seconds(170)).await;
        let fires: Vec<i64> = runs.all().iter().map(support::Seen::at).collect();
        // A process that has not written the configuration does not know when it came into force.
        let expected: &[i64] = if by_this_process { &[] } else { &[120] };
        assert_eq!(fires, expected, "written by this process: {by_this_process}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stored_jitter_above_the_interval_is_logged() {
    let (log, _guard) = Log::listen_at(tracing::Level::WARN);
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let runs = Runs::default();
    let config = each_minute("job", 1).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    assert!(!log.text().contains("jitter"), "{}", log.text());

    cluster.configure(&each_minute("job", 1).jitter(seconds(90)).build().unwrap()).await;
    until(&cluster, seconds(270)).await;
    let text = log.text();
    assert!(text.contains("jitter is 90s; valid is less than the 1m from the fire"), "{text}");
    let fires: Vec<i64> = runs.all().iter().map(support::Seen::at).collect();
    assert_eq!(fires[..4], [0, 60, 120, 180], "every fire is run");
}

#[tokio::test(start_paused = true)]
async fn jitter_causes_no_gap_and_no_missed_fire() {
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let runs = Runs::default();
    let config = each_minute("job", 2).catch_up(seconds(3_600), 60).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    until(&cluster, seconds(270)).await;
    let seen = runs.all();
    within("leaving", handle.shutdown(seconds(1))).await.unwrap();

    let fires = |item| -> Vec<_> {
        let of_item = seen.iter().filter(|run| run.item == item);
        of_item.map(|run| (run.at(), run.source)).collect()
    };
    for item in [0, 1] {
        assert_eq!(fires(item), [0, 60, 120, 180, 240].map(|at| (at, "NORMAL")), "item {item}");
    }
    while let Some(record) = events.next().await {
        let is_reported = matches!(record.event, JobEvent::Gap { .. } | JobEvent::Missed { .. });
        assert!(!is_reported, "{record}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_jitter_that_is_not_below_the_interval_is_rejected() {
    let cluster = Cluster::new();
    let Member { scheduler, .. } = cluster.member(1);
    let job = || job_fn(|_| async { Ok(()) });
    let minute = each_minute("job", 1).jitter(seconds(60)).build().unwrap();
    let error = scheduler.schedule(minute, job()).await.unwrap_err().to_string();
    assert!(error.contains("jitter is 60s; valid is less than the 1m from the fire"), "{error}");
    let less = each_minute("job", 1).jitter(Duration::from_millis(59_999)).build().unwrap();
    assert!(scheduler.schedule(less, job()).await.is_ok());
    let error = JobBuilder::new("job", 1).jitter(seconds(1)).build().unwrap_err();
    assert_eq!((error.field, error.value.as_str()), ("jitter", "1000 ms"));
}
