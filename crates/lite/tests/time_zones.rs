//! Time zones of cron expressions.

use crate::support;

use std::time::Duration;

use lite::{Dialect, Error, JobBuilder, JobEvent, Scheduler, SchedulerBuilder};

use support::{Cluster, Runs, Seen, event, noon, within};

/// Half past eight in the evening. In Shanghai, eight hours ahead of UTC all year, it is 12:30 in
/// UTC.
const EVENING: &str = "0 30 20 * * ?";
const HALF_AN_HOUR: i64 = 1_800;
const HOUR: i64 = 3_600;

fn shanghai(builder: SchedulerBuilder) -> SchedulerBuilder {
    builder.default_time_zone("Asia/Shanghai").unwrap()
}

fn fires(seen: &[Seen]) -> Vec<(i64, &'static str)> {
    seen.iter().map(|run| (run.at(), run.source)).collect()
}

/// Stored configurations of Java 2.1.5, and most of 3.x, name no zone.
#[tokio::test(start_paused = true)]
async fn a_configuration_without_a_zone_fires_in_the_default_zone() {
    let (near, nearer) = (Some("GMT+00:05"), Some("GMT+00:20"));
    let rows = [
        ("neither", None, None, "UTC", 30),
        ("the default zone", nearer, None, "GMT+00:20", 10),
        ("both: the job's own", nearer, near, "GMT+00:05", 25),
        ("the job's own", None, near, "GMT+00:05", 25),
    ];
    for (case, default, own, shown, minutes) in rows {
        for dialect in [Dialect::V2, Dialect::V3] {
            let cluster = Cluster::new();
            let member = cluster.member_with(1, |builder| match default {
                Some(zone) => builder.dialect(dialect).default_time_zone(zone).unwrap(),
                None => builder.dialect(dialect),
            });
            let runs = Runs::default();
            let mut config = JobBuilder::new("job", 1).cron("0 30 12 * * ?").build().unwrap();
            config.time_zone = own.map(str::to_owned);
            let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
            within("joining", handle.joined()).await.unwrap();

            let status = handle.status().await.unwrap();
            assert_eq!(status.time_zone.as_deref(), Some(shown), "{case}");
            let next = status.next_fire.unwrap().duration_since(noon()).as_secs();
            assert_eq!(next, minutes * 60, "{case}");
            cluster.pass(Duration::from_secs(3_600)).await;
            assert_eq!(fires(&runs.all()), [(minutes * 60, "NORMAL")], "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn missed_fires_are_caught_up_in_the_default_zone() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, shanghai);
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1).cron("0 30 20-23 * * ?");
    let config = config.catch_up(Duration::from_secs(86_400), 5).build().unwrap();
    let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    let an_hour = Duration::from_secs(3_600);
    cluster.pass(an_hour).await;
    within("leaving", handle.shutdown(Duration::from_secs(1))).await.unwrap();

    // No instance exists for the fires of 21:30 and 22:30. In UTC the first fire would still be in
    // the future.
    cluster.pass(2 * an_hour).await;
    let next = cluster.member_with(2, shanghai);
    next.scheduler.schedule(config, runs.job()).await.unwrap();
    cluster.pass(an_hour).await;
    let expected = [
        (HALF_AN_HOUR, "NORMAL"),
        (HALF_AN_HOUR + HOUR, "MISFIRE"),
        (HALF_AN_HOUR + 2 * HOUR, "MISFIRE"),
        (HALF_AN_HOUR + 3 * HOUR, "NORMAL"),
    ];
    assert_eq!(fires(&runs.all()), expected);
}

#[tokio::test(start_paused = true)]
async fn the_default_zone_applies_after_the_zone_is_removed_from_the_configuration() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, shanghai);
    let runs = Runs::default();
    let mut config =
        JobBuilder::new("job", 1).cron(EVENING).time_zone("Europe/Berlin").build().unwrap();
    let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    assert_eq!(handle.status().await.unwrap().time_zone.as_deref(), Some("Europe/Berlin"));

    config.time_zone = None;
    cluster.configure(&config).await;
    cluster.pass(Duration::from_secs(3_600)).await;
    assert_eq!(fires(&runs.all()), [(HALF_AN_HOUR, "NORMAL")]);
    assert_eq!(handle.status().await.unwrap().time_zone.as_deref(), Some("Asia/Shanghai"));
}

#[tokio::test(start_paused = true)]
async fn a_job_without_cron_has_no_zone() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, shanghai);
    let config = JobBuilder::new("job", 1).build().unwrap();
    let handle = member.scheduler.schedule(config, Runs::default().job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    assert_eq!(handle.status().await.unwrap().time_zone, None);
}

#[test]
fn an_unknown_default_zone_is_rejected_with_the_valid_forms() {
    let registry = reg_center::MemoryRegistry::new();
    for name in ["Mars/Base", "", "GMT+25", "Shanghai"] {
        let builder = Scheduler::builder(std::sync::Arc::new(registry.connect()));
        let Err(Error::Config(fault)) = builder.default_time_zone(name) else {
            panic!("{name:?} was accepted");
        };
        assert_eq!((fault.field, fault.value), ("default_time_zone", format!("{name:?}")));
        assert!(fault.valid.contains("IANA"), "{}", fault.valid);
    }
}

/// Java would treat the unknown zone as GMT.
#[tokio::test(start_paused = true)]
async fn an_unknown_stored_zone_leaves_the_last_valid_schedule_in_force() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, shanghai);
    let runs = Runs::default();
    let mut config = JobBuilder::new("job", 1).cron(EVENING).build().unwrap();
    let handle = member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();

    config.time_zone = Some("GMT+99".to_owned());
    cluster.configure(&config).await;
    let rejected = |e: &JobEvent| matches!(e, JobEvent::ConfigRejected { .. });
    event(&mut events, "the rejection", rejected).await;
    let status = handle.status().await.unwrap();
    assert!(status.config_fault.unwrap().starts_with("time_zone is \"GMT+99\"; valid is"));
    cluster.pass(Duration::from_secs(3_600)).await;
    assert_eq!(fires(&runs.all()), [(HALF_AN_HOUR, "NORMAL")]);
}

/// Java instances of 3.x fail at every read of such a zone, those of 2.1.5 at a job without cron.
#[tokio::test(start_paused = true)]
async fn a_configuration_that_java_instances_cannot_read_is_not_written() {
    const CLASS: &str = "com.example.Report";
    let zoned = || JobBuilder::new("job", 1).cron(EVENING).time_zone("Asia/Shanghai");
    let on_request = || JobBuilder::new("job", 1);
    let (v2, v3) = (Dialect::V2, Dialect::V3);
    let rows = [
        ("3.x, a zone, with a class", v3, zoned().java_class(CLASS), Some("time_zone")),
        ("3.x, a zone, without", v3, zoned(), None),
        ("3.x, an offset", v3, zoned().time_zone("GMT+08:00").java_class(CLASS), None),
        ("3.x, no cron, with a class", v3, on_request().java_class(CLASS), None),
        ("2.1.5, no cron, with a class", v2, on_request().java_class(CLASS), Some("cron")),
        ("2.1.5, no cron, without", v2, on_request(), None),
        ("2.1.5, a zone, with a class", v2, zoned().java_class(CLASS), None),
    ];
    for (case, dialect, builder, field) in rows {
        let cluster = Cluster::new();
        let member = cluster.member_with(1, |builder| builder.dialect(dialect));
        let before = cluster.everything();
        let config = builder.build().unwrap();
        let result = member.scheduler.schedule(config, Runs::default().job()).await;
        let refused = result.as_ref().err().map(|e| e.as_invalid_config().unwrap().field);
        assert_eq!(refused, field, "{case}");
        if field.is_some() {
            assert_eq!(cluster.everything(), before, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn overwriting_a_java_job_with_a_configuration_that_java_cannot_read_is_rejected() {
    let valid = || JobBuilder::new("job", 1).cron(EVENING);
    let rows = [
        (Dialect::V3, valid().time_zone("Asia/Shanghai"), "time_zone"),
        (Dialect::V2, JobBuilder::new("job", 1), "cron"),
    ];
    for (dialect, local, field) in rows {
        let cluster = Cluster::new();
        let one = cluster.member_with(1, |builder| builder.dialect(dialect));
        let of_java = valid().java_class("com.example.Report").build().unwrap();
        let _one = one.scheduler.schedule(of_java, Runs::default().job()).await.unwrap();
        let before = cluster.stored("job", &["config"]);

        // Without `overwrite` the stored configuration stays in force, so the local one is
        // accepted.
        let two = cluster.member(2);
        let stored_wins = local.clone().build().unwrap();
        let two = two.scheduler.schedule(stored_wins, Runs::default().job()).await.unwrap();
        assert_eq!(two.config_differences()[0].field, field, "{dialect}");

        let three = cluster.member(3);
        let config = local.overwrite(true).build().unwrap();
        let error = three.scheduler.schedule(config, Runs::default().job()).await.unwrap_err();
        assert_eq!(error.as_invalid_config().unwrap().field, field, "{dialect}");
        assert_eq!(cluster.stored("job", &["config"]), before, "{dialect}");
    }
}
