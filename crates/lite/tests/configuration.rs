//! Configuration: validation, storage, and precedence of the stored configuration.

use crate::support;

use std::future::IntoFuture;
use std::time::Duration;

use coordination::{
    JavaFields, JavaFields2, JavaSettings, JobName, Layout, NodeKind, decode_config,
};
use lite::{Dialect, Error, JobBuilder, JobConfig, Phase};
use reg_center::{RegistryCenter, Txn};

use support::{Cluster, Runs, event, every_ten_seconds, path, within};

fn valid_config() -> JobConfig {
    every_ten_seconds().build().unwrap()
}

#[test]
fn the_builder_error_names_the_field_its_value_and_the_valid_values() {
    type Change = fn(JobBuilder) -> JobBuilder;
    let rows: [(&str, &str, u32, Change, &str, &str, &str); 13] = [
        ("empty name", "", 1, |b| b, "job_name", "\"\"", "empty"),
        ("slash in name", "a/b", 1, |b| b, "job_name", "\"a/b\"", "slash"),
        ("no items", "j", 0, |b| b, "sharding_total_count", "0", "1 to 100000"),
        ("too many items", "j", 100_001, |b| b, "sharding_total_count", "100001", "1 to 100000"),
        ("no cron", "j", 1, |b| b.cron("every day"), "cron", "\"every day\"", "Quartz"),
        ("minute 60", "j", 1, |b| b.cron("0 60 * * * ?"), "cron", "\"0 60 * * * ?\"", "59"),
        ("empty cron", "j", 1, |b| b.cron(" "), "cron", "empty", "no cron at all"),
        ("no zone", "j", 1, |b| b.time_zone("Mars/Base"), "time_zone", "\"Mars/Base\"", "IANA"),
        (
            "parameters",
            "j",
            1,
            |b| b.sharding_item_parameters("0=A,x"),
            "sharding_item_parameters",
            "\"0=A,x\"",
            "0=Beijing",
        ),
        (
            "failover without monitoring",
            "j",
            1,
            |b| b.failover(true).monitor_execution(false),
            "failover",
            "true",
            "monitor_execution",
        ),
        (
            "half a second",
            "j",
            1,
            |b| b.max_time_diff(Duration::from_millis(500)),
            "max_time_diff",
            "500ms",
            "whole seconds",
        ),
        (
            "no difference at all",
            "j",
            1,
            |b| b.max_time_diff(Duration::ZERO),
            "max_time_diff",
            "0ns",
            "at least 1",
        ),
        (
            "half a minute",
            "j",
            1,
            |b| b.reconcile_interval(Duration::from_secs(30)),
            "reconcile_interval",
            "30s",
            "whole minutes",
        ),
    ];
    for (case, name, total, change, field, value, valid) in rows {
        let error = change(JobBuilder::new(name, total)).build().unwrap_err();
        assert_eq!((error.field, error.value.as_str()), (field, value), "{case}");
        assert!(error.valid.contains(valid), "{case}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_configuration_is_rejected_and_nothing_is_written() {
    type Change = fn(&mut JobConfig);
    let rows: [(&str, Change, &str, &str); 6] = [
        ("no items", |c| c.sharding_total_count = 0, "sharding_total_count", "1 to 100000"),
        ("cron", |c| c.cron = Some("x".into()), "cron", "Quartz"),
        ("no future fire", |c| c.cron = Some("0 0 0 1 1 ? 2020".into()), "cron", "never"),
        ("zone", |c| c.time_zone = Some("nowhere".into()), "time_zone", "IANA"),
        ("strategy", |c| c.strategy = "RANDOM".into(), "strategy", "ROUND_ROBIN"),
        (
            "failover",
            |c| (c.failover, c.monitor_execution) = (true, false),
            "failover",
            "monitor_execution",
        ),
    ];
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let before = cluster.everything();
    for (case, change, field, valid) in rows {
        let mut config = valid_config();
        change(&mut config);
        let error = member.scheduler.schedule(config, Runs::default().job()).await.unwrap_err();
        let fault = error.as_invalid_config().unwrap_or_else(|| panic!("{case}: {error}"));
        assert_eq!(fault.field, field, "{case}");
        assert!(fault.valid.contains(valid), "{case}: {error}");
        assert_eq!(cluster.everything(), before, "{case}");
    }
    let job = Runs::default().job();
    let error =
        member.scheduler.schedule(valid_config(), job).max_concurrency(0).await.unwrap_err();
    assert_eq!(error.as_invalid_config().map(|fault| fault.field), Some("max_concurrency"));
    assert_eq!(cluster.everything(), before);
}

#[tokio::test(start_paused = true)]
async fn a_job_name_is_scheduled_only_once_at_a_time() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let handle = member.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap();

    let again = member.scheduler.schedule(valid_config(), Runs::default().job()).await;
    assert!(matches!(again, Err(Error::AlreadyScheduled { .. })));

    handle.shutdown(Duration::from_secs(1)).await.unwrap();
    member.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_stored_configuration_is_in_force_and_the_differences_are_listed() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let first = every_ten_seconds().job_parameter("old").build().unwrap();
    let one = one.scheduler.schedule(first, Runs::default().job()).await.unwrap();
    assert_eq!(one.config_differences(), []);
    let stored = cluster.stored("job", &["config"]);

    let local = JobBuilder::new("job", 5).cron("0 0 * * * ?").job_parameter("new").build().unwrap();
    let two = two.scheduler.schedule(local, Runs::default().job()).await.unwrap();

    let differences = two.config_differences().iter();
    let differences: Vec<_> = differences.map(ToString::to_string).collect();
    let expected = [
        r#"cron: "0/10 * * * * ?" is in force, "0 0 * * * ?" is not"#,
        "sharding_total_count: 3 is in force, 5 is not",
        r#"job_parameter: "old" is in force, "new" is not"#,
    ];
    assert_eq!(differences, expected);
    assert_eq!(cluster.stored("job", &["config"]), stored, "nothing was written");
    within("joining", two.joined()).await.unwrap();
    assert_eq!(two.status().await.unwrap().config.unwrap().job_parameter, "old");
}

#[tokio::test(start_paused = true)]
async fn overwriting_replaces_the_fields_of_this_project_and_keeps_the_others() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let mut first = valid_config();
    first.java.job_class = "com.example.Report".to_owned();
    first.unknown = vec![("label".to_owned(), "\"blue\"".to_owned())];
    let _one = one.scheduler.schedule(first, Runs::default().job()).await.unwrap();

    let local = JobBuilder::new("job", 5).cron("0 0 * * * ?").overwrite(true).build().unwrap();
    let two = two.scheduler.schedule(local.clone(), Runs::default().job()).await.unwrap();

    assert_eq!(two.config_differences(), []);
    let stored = cluster.stored("job", &["config"]).unwrap();
    let stored = decode_config(stored.as_bytes()).unwrap();
    assert_eq!(stored.java.job_class, "com.example.Report");
    assert_eq!(stored.unknown, [("label".to_owned(), "\"blue\"".to_owned())]);
    assert_eq!((stored.cron, stored.sharding_total_count), (local.cron, 5));
}

/// The former configurations of the job, oldest first: items and author of each.
async fn former(cluster: &Cluster) -> Vec<(u32, String)> {
    let layout = Layout::new(&JobName::new("job").unwrap());
    let path = layout.path(&NodeKind::FormerConfigs);
    let node = cluster.registry.connect().read(&path).await.unwrap().unwrap();
    let items = |document: &str| decode_config(document.as_bytes()).unwrap().sharding_total_count;
    let log = layout.read_former_configs(&node).unwrap().value;
    log.iter().map(|former| (items(&former.document), former.who.clone())).collect()
}

#[tokio::test(start_paused = true)]
async fn overwritten_configuration_becomes_a_former_one() {
    let cluster = Cluster::new();
    let operator = cluster.registry.connect();
    let overwriting = |items| {
        let config = JobBuilder::new("job", items).cron(support::EVERY_TEN_SECONDS);
        config.overwrite(true).build().unwrap()
    };
    let first = cluster.member(1);
    let _one = first.scheduler.schedule(overwriting(3), Runs::default().job()).await.unwrap();
    let log = ["coordination", "former-configs"];
    assert_eq!(cluster.stored("job", &log), None, "nothing was replaced");
    for (n, items) in [(2, 5), (3, 5), (4, 6)] {
        let member = cluster.member(n);
        let job = Runs::default().job();
        let _handle = member.scheduler.schedule(overwriting(items), job).await.unwrap();
    }
    let replaced = |items, server: &str| (items, server.to_owned());
    assert_eq!(former(&cluster).await, [replaced(3, "10.0.0.2"), replaced(5, "10.0.0.4")]);

    // The log of a later version stays, and the job runs.
    let later = r#"[{"v":99}]"#;
    operator.commit(Txn::new().put(path("job", &log), later)).await.unwrap();
    let (last, runs) = (cluster.member(5), Runs::default());
    let _last = last.scheduler.schedule(overwriting(7), runs.job()).await.unwrap();
    assert_eq!(cluster.stored("job", &log).as_deref(), Some(later));
    let stored = cluster.stored("job", &["config"]).unwrap();
    assert_eq!(decode_config(stored.as_bytes()).unwrap().sharding_total_count, 7);
}

/// Java fails at properties that it does not know. Other programs may use a stored property that is
/// unknown here.
#[tokio::test(start_paused = true)]
async fn overwriting_java_settings_keeps_unknown_properties() {
    let of_2 = |fields| JavaSettings { fields: JavaFields::V2(fields), ..JavaSettings::default() };
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let later = vec![("later".to_owned(), "1.0".to_owned())];
    let mut first = valid_config();
    first.java = of_2(JavaFields2 { other_properties: later.clone(), ..JavaFields2::default() });
    let _one = one.scheduler.schedule(first, Runs::default().job()).await.unwrap();

    let port = JavaFields2 { monitor_port: 9888, ..JavaFields2::default() };
    let local = every_ten_seconds().java_settings(of_2(port.clone())).overwrite(true);
    let local = local.build().unwrap();
    let _two = two.scheduler.schedule(local, Runs::default().job()).await.unwrap();

    let stored = cluster.stored("job", &["config"]).unwrap();
    let stored = decode_config(stored.as_bytes()).unwrap();
    assert_eq!(stored.java, of_2(JavaFields2 { other_properties: later, ..port }));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_stored_configuration_stops_only_its_own_job_until_it_is_repaired() {
    let cluster = Cluster::new();
    let operator = cluster.registry.connect();
    let broken = path("broken", &["config"]);
    let txn = Txn::new().create(broken.clone(), "{oops", reg_center::Lifetime::Persistent);
    operator.commit(txn).await.unwrap();
    let member = cluster.member(1);
    let (runs, other) = (Runs::default(), Runs::default());
    let config = |name| JobBuilder::new(name, 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();

    let handle = member.scheduler.schedule(config("broken"), runs.job()).await.unwrap();
    let _other = member.scheduler.schedule(config("fine"), other.job()).await.unwrap();
    other.until("three fires of the other job", |seen| seen.len() == 3).await;

    assert_eq!(runs.all(), []);
    let status = handle.status().await.unwrap();
    assert_eq!(status.phase, Phase::Active);
    assert_eq!(status.waiting_for, Some("a usable configuration"));
    assert!(status.config_fault.unwrap().contains("JSON"));
    let stored = cluster.stored("broken", &["config"]);
    assert_eq!(stored.as_deref(), Some("{oops"), "the document is unchanged");

    let repaired = coordination::encode_config(&config("broken"));
    operator.commit(Txn::new().put(broken, repaired)).await.unwrap();
    runs.until("a fire of the repaired job", |seen| !seen.is_empty()).await;
    assert_eq!(handle.status().await.unwrap().config_fault, None);
}

#[tokio::test(start_paused = true)]
async fn overwriting_repairs_an_unreadable_stored_configuration() {
    let cluster = Cluster::new();
    let operator = cluster.registry.connect();
    let txn =
        Txn::new().create(path("job", &["config"]), "{oops", reg_center::Lifetime::Persistent);
    operator.commit(txn).await.unwrap();
    let member = cluster.member(1);
    let runs = Runs::default();

    let config = every_ten_seconds().overwrite(true).build().unwrap();
    let _handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() == 3).await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_schedule_leaves_the_last_valid_one_in_force() {
    let cluster = Cluster::new();
    let operator = cluster.registry.connect();
    let member = cluster.member(1);
    let runs = Runs::default();
    let handle = member.scheduler.schedule(valid_config(), runs.job()).await.unwrap();
    let mut events = handle.events();
    runs.until("a fire", |seen| seen.len() == 3).await;

    let mut invalid = valid_config();
    invalid.cron = Some("whenever".to_owned());
    let document = coordination::encode_config(&invalid);
    operator.commit(Txn::new().put(path("job", &["config"]), document)).await.unwrap();

    let rejected = |e: &lite::JobEvent| matches!(e, lite::JobEvent::ConfigRejected { .. });
    event(&mut events, "the rejection", rejected).await;
    assert!(handle.status().await.unwrap().config_fault.unwrap().contains("whenever"));
    runs.until("a fire of the former schedule", |seen| seen.len() == 6).await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_schedule_takes_effect_at_once() {
    let cluster = Cluster::new();
    let operator = cluster.registry.connect();
    let member = cluster.member(1);
    let runs = Runs::default();
    let _handle = member.scheduler.schedule(valid_config(), runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() == 3).await;

    let mut changed = valid_config();
    changed.cron = Some("0/3 * * * * ?".to_owned());
    let document = coordination::encode_config(&changed);
    operator.commit(Txn::new().put(path("job", &["config"]), document)).await.unwrap();

    let seen = runs.until("two more fires", |seen| seen.len() == 9).await;
    let fires: Vec<_> = seen.iter().map(support::Seen::at).collect();
    assert_eq!(fires, [10, 10, 10, 12, 12, 12, 15, 15, 15]);
}

#[tokio::test(start_paused = true)]
async fn registration_times_out_with_the_condition_it_waited_for() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, |b| b.connect_deadline(Duration::from_secs(7)));
    member.center.suspend(Duration::from_secs(60));

    let error = member.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap_err();

    let job = JobName::new("job").unwrap();
    let expected =
        format!("job {job}: timed out after 7s, waiting for a connection to the registry");
    assert_eq!(error.to_string(), expected);
    assert!(error.is_retryable());

    // The name is released, and a registration that connects in time succeeds.
    let registration = member.scheduler.schedule(valid_config(), Runs::default().job());
    let late = async {
        lite::Clock::sleep_until(&*cluster.clock, Duration::from_secs(10)).await;
        member.center.resume();
    };
    let (handle, ()) = tokio::join!(registration.into_future(), late);
    handle.unwrap();
}

#[test]
fn an_invalid_identity_is_rejected() {
    let registry = reg_center::MemoryRegistry::new();
    let builder = || lite::Scheduler::builder(std::sync::Arc::new(registry.connect()));
    assert!(matches!(builder().server_ip("localhost"), Err(Error::Name(_))));
    assert!(matches!(builder().instance_name("a@-@b").build(), Err(Error::Name(_))));
}

#[tokio::test(start_paused = true)]
async fn a_job_on_a_server_that_starts_disabled_joins() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = every_ten_seconds().disabled(true).build().unwrap();
    let handle = member.scheduler.schedule(config, Runs::default().job()).await.unwrap();

    let begun = lite::Clock::monotonic(&*cluster.clock);
    handle.joined().await.unwrap();
    handle.joined().await.unwrap();

    assert_eq!(lite::Clock::monotonic(&*cluster.clock), begun, "`joined` does not wait");
    let status = handle.status().await.unwrap();
    assert!(status.registered && !status.available, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn joined_times_out_with_the_condition_it_waited_for() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, |b| b.connect_deadline(Duration::from_secs(7)));
    let handle = member.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap();
    member.center.suspend(Duration::from_secs(60));

    let error = within("an error", handle.joined()).await.unwrap_err();

    let expected = "job job: timed out after 7s, waiting for this instance to be registered; \
         the job waits for a connection to the registry";
    assert_eq!(error.to_string(), expected);
    assert!(error.is_retryable());
    member.center.resume();
    within("joining after the reconnection", handle.joined()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_job_is_stored_in_the_dialect_of_the_scheduler_and_other_instances_use_it() {
    let cluster = Cluster::new();
    let one = cluster.member_with(1, |builder| builder.dialect(Dialect::V3));
    let two = cluster.member(2);
    let (runs, others) = (Runs::default(), Runs::default());
    let _one = one.scheduler.schedule(valid_config(), runs.job()).await.unwrap();
    let two = two.scheduler.schedule(valid_config(), others.job()).await.unwrap();
    assert_eq!(two.config_differences(), []);
    within("joining", two.joined()).await.unwrap();

    let stored = cluster.stored("job", &["config"]).unwrap();
    assert!(stored.starts_with("cron: 0/10 * * * * ?\ndescription: ''\n"), "{stored}");
    for (n, server) in [(1, "10.0.0.1"), (2, "10.0.0.2")] {
        assert_eq!(cluster.stored("job", &["servers", server]).as_deref(), Some("ENABLED"));
        let instance = cluster.stored("job", &["instances", &format!("{server}@-@{n}")]);
        let expected = format!("jobInstanceId: {server}@-@{n}\nserverIp: {server}\n# RUST\n");
        assert_eq!(instance.as_deref(), Some(expected.as_str()));
    }
    runs.until("three fires of the first", |seen| seen.len() >= 3).await;
    others.until("three fires of the second", |seen| seen.len() >= 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_stored_in_another_dialect_is_refused_and_not_changed() {
    let cluster = Cluster::new();
    let one = cluster.member(1);
    let two = cluster.member_with(2, |builder| builder.dialect(Dialect::V3));
    let _one = one.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap();
    let before = cluster.stored("job", &["config"]);
    let error = two.scheduler.schedule(valid_config(), Runs::default().job()).await.unwrap_err();
    let expected =
        "job job: its stored configuration is of ElasticJob 2.1.5, and 3.x was asked for";
    assert_eq!(error.to_string(), expected);
    assert_eq!(cluster.stored("job", &["config"]), before);
}

#[tokio::test(start_paused = true)]
async fn overwriting_in_the_dialect_of_3_x_terminates_although_the_document_has_no_class() {
    let cluster = Cluster::new();
    let mut config = every_ten_seconds().overwrite(true).build().unwrap();
    config.java = JavaSettings::of(Dialect::V3);
    config.java.job_class = "com.example.Report".to_owned();
    for n in 1..=2 {
        let member = cluster.member(n);
        let handle =
            member.scheduler.schedule(config.clone(), Runs::default().job()).await.unwrap();
        assert_eq!(handle.config_differences(), []);
    }
}

/// A Java instance finds its class there, and can take part in the job.
#[tokio::test(start_paused = true)]
async fn the_class_of_a_java_job_is_stored_at_the_place_of_its_dialect() {
    let java = "com.example.Report";
    for dialect in [Dialect::V2, Dialect::V3] {
        let cluster = Cluster::new();
        let one = cluster.member_with(1, |builder| builder.dialect(dialect));
        let config = every_ten_seconds().java_class(java).build().unwrap();
        let handle = one.scheduler.schedule(config, Runs::default().job()).await.unwrap();
        assert_eq!(handle.config_differences(), [], "{dialect}");
        let config = cluster.stored("job", &["config"]).unwrap();
        let (root, in_document) = (cluster.stored("job", &[]), config.contains(java));
        let (expected_root, expected) = match dialect {
            Dialect::V2 => ("", true),
            Dialect::V3 => (java, false),
        };
        assert_eq!((root.as_deref(), in_document), (Some(expected_root), expected), "{dialect}");

        // A different class is not used and is reported, unless it overwrites.
        let mut other = every_ten_seconds().java_class("com.example.Other").build().unwrap();
        let two = cluster.member_with(2, |builder| builder.dialect(dialect));
        let handle = two.scheduler.schedule(other.clone(), Runs::default().job()).await.unwrap();
        let [difference] = handle.config_differences() else { panic!("{dialect}: one") };
        let shown = difference.to_string();
        let text = r#"java_class: "com.example.Report" is in force, "com.example.Other" is not"#;
        assert_eq!(shown, text, "{dialect}");

        other.overwrite = true;
        let three = cluster.member_with(3, |builder| builder.dialect(dialect));
        let handle = three.scheduler.schedule(other, Runs::default().job()).await.unwrap();
        assert_eq!(handle.config_differences(), [], "{dialect}");
        let config = cluster.stored("job", &["config"]).unwrap();
        let root = cluster.stored("job", &[]).unwrap();
        assert!(format!("{root}{config}").contains("com.example.Other"), "{dialect}: {config}");
    }
}

#[tokio::test(start_paused = true)]
async fn debug_of_a_status_is_one_line_without_java_settings() {
    let registry = lite::MemoryRegistry::new();
    let scheduler = lite::Scheduler::builder(&registry).server_ip("10.0.0.1").unwrap();
    let scheduler = scheduler.build().unwrap();
    let config = JobBuilder::new("job", 3).cron("0 0 3 1 1 ? 2099").failover(true).build().unwrap();
    let handle = scheduler.schedule(config, Runs::default().job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let status = handle.status().await.unwrap();
    let shown = format!("{status:?}");
    let config = "config: cron = \"0 0 3 1 1 ? 2099\", sharding_total_count = 3, failover = true, \
                  strategy = \"PLACEMENT\" }";
    assert!(shown.starts_with("JobStatus { job: \"job\", phase: "), "{shown}");
    assert!(shown.contains("next_fire: 2099-01-01T03:00:00Z, "), "{shown}");
    assert!(shown.ends_with(config), "{shown}");
    for word in ["dangdang", "None", "Some"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
}

/// The assignment of a custom strategy is checked before anything is written.
#[tokio::test(start_paused = true)]
async fn an_incomplete_assignment_of_a_strategy_changes_nothing_and_is_reported() {
    #[derive(Debug)]
    struct Half;
    impl lite::ShardingStrategy for Half {
        fn name(&self) -> &str {
            "HALF"
        }

        fn assign(&self, input: &lite::StrategyInput<'_>) -> lite::Assignment {
            lite::Assignment::unassigned(input.total_count / 2)
        }
    }
    let registry = lite::MemoryRegistry::new();
    let mut strategies = lite::StrategyRegistry::default();
    strategies.register(std::sync::Arc::new(Half));
    let builder = lite::Scheduler::builder(&registry).strategies(strategies);
    let scheduler = builder.server_ip("10.0.0.1").unwrap().build().unwrap();
    let config = JobBuilder::new("job", 4).strategy("HALF").build().unwrap();
    let (sender, mut faults) = tokio::sync::mpsc::unbounded_channel();
    let subscriber = move |record: &lite::JobRecord| {
        if let lite::JobEvent::StrategyFailed { reason } = &record.event {
            let _ = sender.send(reason.clone());
        }
    };
    let registration = scheduler.schedule(config, Runs::default().job());
    let _handle = registration.event_subscriber(subscriber).await.unwrap();
    let fault = within("a fault", faults.recv()).await.unwrap();
    assert_eq!(fault, "HALF assigned 2 items; the job has 4");
}
