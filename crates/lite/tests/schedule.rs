//! Schedules and assignment without failures.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lite::{Clock, JobBuilder, JobEvent, JobEvents, MissReason, Outcome, job_fn};
use tokio::sync::{Barrier, Semaphore};

use support::{Cluster, Runs, balanced, event, every_ten_seconds, settled, within};

#[tokio::test(start_paused = true)]
async fn every_item_runs_once_per_fire_on_its_owner() {
    let cluster = Cluster::new();
    let members = [cluster.member(1), cluster.member(2), cluster.member(3)];
    let runs = Runs::default();
    let config = JobBuilder::new("job", 7).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let mut handles = Vec::new();
    for member in &members {
        handles.push(member.scheduler.schedule(config.clone(), runs.job()).await.unwrap());
    }
    balanced(&cluster, &handles.iter().collect::<Vec<_>>(), 7).await;

    let seen = runs.until("five fires", |seen| seen.len() >= 35).await;

    for fire in [10, 20, 30, 40, 50] {
        let mut items: Vec<_> =
            seen.iter().filter(|run| run.at() == fire).map(|run| run.item).collect();
        items.sort_unstable();
        assert_eq!(items, [0, 1, 2, 3, 4, 5, 6], "fire at {fire} s");
    }
    for item in 0..7 {
        let tokens: Vec<_> =
            seen.iter().filter(|run| run.item == item).map(|run| run.token).collect();
        assert!(tokens.is_sorted_by(|a, b| a < b), "item {item}: {tokens:?}");
    }
    let mut instances: Vec<_> = seen.iter().map(|run| run.instance.as_str()).collect();
    instances.sort_unstable();
    instances.dedup();
    assert_eq!(instances, ["10.0.0.1@-@1", "10.0.0.2@-@2", "10.0.0.3@-@3"]);
}

#[tokio::test(start_paused = true)]
async fn the_context_of_a_run_has_its_job_item_fire_and_token() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("report", 2)
        .cron("0 0/5 * * * ?")
        .sharding_item_parameters("0=Beijing,1=Shanghai")
        .job_parameter("monthly")
        .build()
        .unwrap();
    let (sender, mut contexts) = tokio::sync::mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        let sender = sender.clone();
        async move { Ok(sender.send(context)?) }
    });
    let _handle = member.scheduler.schedule(config, job).await.unwrap();

    let first = within("a run", contexts.recv()).await.unwrap();
    let second = within("a run", contexts.recv()).await.unwrap();

    let context = if first.item().index() == 1 { first } else { second };
    assert_eq!(context.job_name().as_str(), "report");
    assert_eq!(context.parameter(), Some("Shanghai"));
    assert_eq!(context.job_parameter(), "monthly");
    assert_eq!(context.sharding_total_count(), 2);
    assert_eq!(context.fire_time().to_string(), "2024-02-29T12:05:00Z");
    assert_eq!(context.fencing_token(), 1);
    assert_eq!(context.idempotency_key(), "report/1/1709208300000");
    assert_eq!(context.execution_id(), "report/1/1709208300000/1");
    assert_eq!(context.task_id(), "report@-@1@-@READY@-@10.0.0.1@-@1");
    assert!(!context.is_cancelled());
}

/// Asserts that no event of a job that has ended reports a fire without a run of its own.
async fn assert_no_miss(mut events: JobEvents) {
    while let Some(record) = events.next().await {
        let is_reported = matches!(
            record.event,
            JobEvent::Gap { .. } | JobEvent::Missed { .. } | JobEvent::MisfireNoted { .. }
        );
        assert!(!is_reported, "{record}");
    }
}

/// Runs a job that fires every ten minutes from noon in UTC on, for 89 000 s, of which the day from
/// 12:30 on is excluded. In this zone that is a day from midnight on: Friday, 1 March.
async fn assert_day_is_excluded(exclude: impl FnOnce(JobBuilder) -> JobBuilder) {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1)
        .cron("0 0/10 * * * ?")
        .time_zone("GMT+11:30")
        .catch_up(Duration::from_secs(2 * 86_400), 500);
    let config = exclude(config).build().unwrap();
    let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let events = handle.events();
    cluster.pass(Duration::from_secs(1_300)).await;
    assert_eq!(runs.all().len(), 2, "the last fires of Thursday");
    let next = handle.status().await.unwrap().next_fire.unwrap();
    assert_eq!(next.to_string(), "2024-03-01T12:30:00Z");

    cluster.pass(Duration::from_secs(87_700)).await;
    let fires: Vec<_> = runs.all().iter().map(|run| (run.at(), run.source)).collect();
    let saturday = 86_400 + 1_800;
    let expected = [600, 1_200, saturday, saturday + 600].map(|at| (at, "NORMAL"));
    assert_eq!(fires, expected);
    within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();
    assert_no_miss(events).await;
}

#[tokio::test(start_paused = true)]
async fn an_excluded_day_has_no_fires_and_none_is_missed() {
    assert_day_is_excluded(|job| job.excluded_days("FRI,12-25")).await;
}

#[tokio::test(start_paused = true)]
async fn excluded_times_have_no_fires_and_none_is_missed() {
    let texts = [
        "FRI 00:00..12:00 # morning; FRI 12:00..24:00 # evening",
        "2024-03-01T00:00..2024-03-02T00:00 # freeze",
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Holiday\nDTSTART:20240229T123000Z\nDURATION:P1D\n\
         END:VEVENT\nEND:VCALENDAR",
    ];
    for text in texts {
        assert_day_is_excluded(|job| job.excluded_times(text)).await;
    }
}

/// The test begins at noon. Each second fire of the interval is one of the expression, too.
#[tokio::test(start_paused = true)]
async fn several_rules_fire_once_where_they_meet_and_only_within_the_period() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1)
        .cron("@every 5m; 0 0/10 * * * ?; @at 2024-02-29T12:17:30Z")
        .not_before("2024-02-29T12:06:00")
        .not_after("2024-02-29T12:20:00Z")
        .catch_up(Duration::from_secs(86_400), 500)
        .build()
        .unwrap();
    let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let events = handle.events();
    cluster.pass(Duration::from_secs(3_600)).await;
    let fires: Vec<_> = runs.all().iter().map(|run| (run.at(), run.source)).collect();
    assert_eq!(fires, [600, 900, 1_050, 1_200].map(|at| (at, "NORMAL")));
    assert_eq!(handle.status().await.unwrap().next_fire, None);
    within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();
    assert_no_miss(events).await;
}

/// The test begins at noon. The only instance leaves before the time and comes back after it.
#[tokio::test(start_paused = true)]
async fn a_single_time_that_no_instance_met_is_caught_up_with_once() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let at = |time: &str| {
        let job = JobBuilder::new("job", 2).cron(format!("@at {time}"));
        job.catch_up(Duration::from_secs(3_600), 1).build().unwrap()
    };
    let config = at("2024-02-29T12:10:00Z");
    for passed in [300, 1_200, 60, 3_600] {
        let member = cluster.member(1);
        let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        cluster.pass(Duration::from_secs(5)).await;
        within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();
        cluster.pass(Duration::from_secs(passed)).await;
    }
    let seen: Vec<_> = runs.all().iter().map(|run| (run.at(), run.source)).collect();
    assert_eq!(seen, [(600, "NORMAL"); 2]);

    let member = cluster.member(1);
    let joins_beyond_the_window = member.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", joins_beyond_the_window.joined()).await.unwrap();
    cluster.pass(Duration::from_secs(60)).await;
    assert_eq!(runs.all().len(), 2);
    within("leaving", joins_beyond_the_window.shutdown(Duration::from_secs(1))).await.unwrap();

    let config = JobBuilder::new("other", 1).cron("@at 2024-02-29T13:00:00Z");
    let config = config.catch_up(Duration::from_secs(86_400), 1).build().unwrap();
    let error = member.scheduler.schedule(config, runs.job()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("these never do"), "a new job has no fire to catch up with: {text}");
    let changed = at("2024-02-29T12:20:00Z").with(|it| it.overwrite = true);
    let error = member.scheduler.schedule(changed, runs.job()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("these never do"), "a change to an ended schedule: {text}");
}

#[tokio::test(start_paused = true)]
async fn cron_is_evaluated_in_the_time_zone_of_the_job() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    // Noon in UTC is 20:00 in Shanghai.
    let config =
        JobBuilder::new("job", 1).cron("0 30 20 * * ?").time_zone("Asia/Shanghai").build().unwrap();
    let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();

    let next = handle.status().await.unwrap().next_fire;
    assert_eq!(next.map(|at| at.to_string()).as_deref(), Some("2024-02-29T12:30:00Z"));
}

#[tokio::test(start_paused = true)]
async fn a_job_without_cron_runs_on_request_only() {
    let cluster = Cluster::new();
    let members = [cluster.member(1), cluster.member(2)];
    let runs = Runs::default();
    let config = JobBuilder::new("job", 4).build().unwrap();
    let one = members[0].scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    let two = members[1].scheduler.schedule(config, runs.job()).await.unwrap();
    balanced(&cluster, &[&one, &two], 4).await;
    assert_eq!(one.status().await.unwrap().next_fire, None);
    assert_eq!(runs.all(), []);

    // A request to any instance runs all items on all instances.
    two.trigger().await.unwrap();

    let seen = runs.until("all items", |seen| seen.len() >= 4).await;
    let mut items: Vec<_> = seen.iter().map(|run| run.item).collect();
    items.sort_unstable();
    assert_eq!(items, [0, 1, 2, 3]);
    assert!(seen.iter().all(|run| run.source == "MANUAL"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_paused_instance_starts_nothing_and_records_missed_fires() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let handle =
        member.scheduler.schedule(every_ten_seconds().build().unwrap(), runs.job()).await.unwrap();
    let mut events = handle.events();
    runs.until("the first fire", |seen| seen.len() == 3).await;

    handle.pause().await.unwrap();
    assert!(handle.status().await.unwrap().paused);
    let missed =
        |event: &JobEvent| matches!(event, JobEvent::Missed { reason: MissReason::Paused, .. });
    event(&mut events, "a missed fire", missed).await;
    event(&mut events, "another missed fire", missed).await;
    assert_eq!(runs.all().len(), 3, "no item has run during the pause");

    handle.resume().await.unwrap();
    let seen = runs.until("a fire after the pause", |seen| seen.len() == 6).await;
    assert_eq!(seen.last().map(support::Seen::at), Some(40));
}

#[tokio::test(start_paused = true)]
async fn max_concurrency_limits_the_items_that_run_at_a_time() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, max) = (Arc::clone(&running), Arc::clone(&most));
    // Two runs pass this barrier together. With a lower concurrency the test would hang.
    let gate = Arc::new(Barrier::new(2));
    let job = job_fn(move |_| {
        let (now, max, gate) = (Arc::clone(&now), Arc::clone(&max), Arc::clone(&gate));
        async move {
            max.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            gate.wait().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let config = JobBuilder::new("job", 6).build().unwrap();
    let handle = member.scheduler.schedule(config, job).max_concurrency(2).await.unwrap();
    let mut events = handle.events();
    balanced(&cluster, &[&handle], 6).await;

    handle.trigger().await.unwrap();
    for _ in 0..6 {
        settled(&mut events, Outcome::Succeeded).await;
    }

    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn fires_that_met_a_running_item_are_run_once_afterwards() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    let gate = Arc::new(Semaphore::new(0));
    let (noted, held) = (runs.clone(), Arc::clone(&gate));
    let job = job_fn(move |context| {
        noted.note(&context);
        let held = Arc::clone(&held);
        async move {
            held.acquire().await?.forget();
            Ok(())
        }
    });
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    let mut events = handle.events();
    // The run of 12:00:10 is in progress at 12:00:20 and 12:00:30.
    for waiting in [1, 2] {
        let is_noted = |event: &JobEvent| matches!(event, JobEvent::MisfireNoted { waiting: range, .. } if range.count == waiting);
        event(&mut events, "a misfire", is_noted).await;
    }

    gate.add_permits(2);
    let seen = runs.until("the run afterwards", |seen| seen.len() == 2).await;

    assert_eq!((seen[1].source, seen[1].at()), ("MISFIRE", 30));
}

#[tokio::test(start_paused = true)]
async fn jobs_of_one_scheduler_are_independent() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (often, rarely) = (Runs::default(), Runs::default());
    let config = |name, cron| JobBuilder::new(name, 1).cron(cron).build().unwrap();
    let schedule = |config, runs: &Runs| member.scheduler.schedule(config, runs.job());
    let first = schedule(config("often", "0/10 * * * * ?"), &often).await.unwrap();
    let _second = schedule(config("rarely", "0/30 * * * * ?"), &rarely).await.unwrap();
    often.until("three fires", |seen| seen.len() == 3).await;
    rarely.until("one fire", |seen| seen.len() == 1).await;

    first.shutdown(Duration::from_secs(1)).await.unwrap();
    rarely.until("another fire", |seen| seen.len() == 2).await;

    assert_eq!(often.all().len(), 3, "a job that has left does not fire");
    assert_eq!(member.scheduler.jobs().len(), 2);
    assert!(member.scheduler.job("often").unwrap().has_ended());
}

#[tokio::test(start_paused = true)]
async fn a_fire_during_the_joining_of_the_job_runs_late() {
    type Fault = fn(&reg_center::MemoryCenter);
    let none: Fault = |_| {};
    let cut: Fault = |center| center.suspend(Duration::from_secs(60));
    let rows: [(&str, Fault, Fault, Fault); 2] = [
        ("no connection since the registration", none, cut, |center| center.resume()),
        // Without a snapshot the schedule of the job is unknown.
        ("no snapshot", |center| center.hold_feeds(), none, |center| center.release_feeds()),
    ];
    for (case, before, after, repair) in rows {
        let cluster = Cluster::new();
        let config = every_ten_seconds().build().unwrap();
        // The assignment precedes the fire: another instance owned the items and has left.
        let first = cluster.member(1);
        let handle = first.scheduler.schedule(config.clone(), Runs::default().job()).await.unwrap();
        balanced(&cluster, &[&handle], 3).await;
        handle.shutdown(Duration::from_secs(1)).await.unwrap();
        let member = cluster.member(2);
        let runs = Runs::default();
        let until = |seconds| cluster.clock.sleep_until(Duration::from_secs(seconds));
        until(5).await;
        before(&member.center);
        let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
        after(&member.center);
        until(13).await;
        assert!(!handle.status().await.unwrap().registered, "{case}");
        assert_eq!(runs.all(), [], "{case}");

        repair(&member.center);

        let seen = runs.until("the fire of 12:00:10", |seen| seen.len() == 3).await;
        assert!(seen.iter().all(|run| run.at() == 10), "{case}: {seen:?}");
        assert_eq!(cluster.clock.monotonic().as_secs(), 13, "{case}: at once");
    }
}
