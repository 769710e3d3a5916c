//! Updates under the revision that was read, and the removal of a job.

use crate::support;

use std::time::Duration;

use coordination::{Dialect, FormerConfig, JavaSettings, JobConfig};
use operations::{By, Error, Removal, Scope};
use reg_center::memory::WriteFault;

use support::{World, by, ip, job, on_request, shared_by, within};

#[tokio::test(start_paused = true)]
async fn update_conflicts_when_revision_is_stale() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let config = stored.config.unwrap();

    let wanted = config.clone().with(|it| it.sharding_total_count = 6);
    let updated = operations.update_config(&wanted, stored.revision, &by()).await.unwrap();
    let changes: Vec<_> = updated.changes.iter().map(ToString::to_string).collect();
    assert_eq!(changes, ["sharding_total_count: 4 -> 6"]);
    let has_six_items =
        |job: &operations::JobSnapshot| job.items().len() == 6 && shared_by(job, &[1]);
    world.until("six items", has_six_items).await;

    let before = world.stored("/job/config");
    let late = config.with(|it| it.job_parameter = "late".into());
    let error = operations.update_config(&late, stored.revision, &by()).await.unwrap_err();
    let found = operations.config(&job()).await.unwrap().revision;
    assert_eq!(error, Error::StaleConfig { job: job(), expected: stored.revision, found });
    assert_eq!(world.stored("/job/config"), before);
    let same = operations.update_config(&wanted, found, &by()).await.unwrap();
    assert_eq!(same.report.left[0].what, "it is as wanted already");
}

#[tokio::test(start_paused = true)]
async fn audit_record_has_short_old_and_new_values_without_secrets() {
    let world = World::new();
    let config = JobConfig::new(job(), 2).with(|it| {
        it.job_parameter = "old".into();
        it.unknown = vec![("token".into(), "\"hunter2\"".into())];
    });
    world.write(&[("/job/config", &coordination::encode_config(&config))], &[]).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let wanted = config.with(|it| {
        it.job_parameter = "x".repeat(1_000);
        it.sharding_total_count = 3;
        it.unknown = vec![("token".into(), "\"hunter3\"".into())];
    });
    let report = operations.update_config(&wanted, stored.revision, &by()).await.unwrap().report;
    let what = world.now().audit().next_back().unwrap().what.clone();
    let head = "x".repeat(79);
    let masked = "unknown_fields: [token], values not shown -> [token], values not shown";
    let expected = format!(
        "sharding_total_count: 2 -> 3; job_parameter: \"old\" -> \"{head}… (1002 bytes); {masked}"
    );
    assert_eq!((&what, &what), (&expected, &report.done[0].what));
}

#[tokio::test(start_paused = true)]
async fn replaced_configuration_is_kept_and_restored() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let first = stored.config.unwrap();
    assert_eq!(world.now().former_configs().unwrap().iter().count(), 0);

    let wrong = first.clone().with(|it| it.sharding_total_count = 6);
    let wrong_by = By::new("bert", "more items").unwrap();
    operations.update_config(&wrong, stored.revision, &wrong_by).await.unwrap();
    let now = world.now();
    let former = now.former_configs().unwrap();
    let [former] = &former.iter().cloned().collect::<Vec<_>>()[..] else { panic!("{former:?}") };
    assert_eq!((&*former.document, &*former.who), (&*stored.document, "bert"));

    let error = operations.restore_config(&job(), former, stored.revision, &by()).await;
    assert!(matches!(error, Err(Error::StaleConfig { .. })), "{error:?}");
    let present = operations.config(&job()).await.unwrap().revision;
    let restored = operations.restore_config(&job(), former, present, &by()).await.unwrap();
    assert_eq!(restored.changes[0].to_string(), "sharding_total_count: 6 -> 4");
    assert_eq!(operations.config(&job()).await.unwrap().config, Ok(first));
    let now = world.now();
    let kept = now.former_configs().unwrap();
    let authors: Vec<_> = kept.iter().map(|former| former.who.clone()).collect();
    assert_eq!(authors, ["bert", "anna"], "the undone configuration is kept as well");
}

#[tokio::test(start_paused = true)]
async fn former_configuration_of_another_job_is_refused() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let document = stored.document.replace("\"job\"", "\"other\"");
    let former = FormerConfig {
        document,
        replaced_ms: 0,
        who: "bert".to_owned(),
        why: "more items".to_owned(),
    };
    let error = operations.restore_config(&job(), &former, stored.revision, &by()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("the former document is of job \"other\""), "{error}");
}

#[tokio::test(start_paused = true)]
async fn update_fails_if_a_later_version_wrote_the_former_configurations() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let newer = r#"[{"v":3}]"#;
    world.write(&[("/job/coordination/former-configs", newer)], &[]).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let wanted = stored.config.unwrap().with(|it| it.sharding_total_count = 6);
    let error = operations.update_config(&wanted, stored.revision, &by()).await.unwrap_err();
    assert!(error.to_string().contains("format version 3"), "{error}");
    assert_eq!(operations.config(&job()).await.unwrap().revision, stored.revision);
    world.replace("/job/coordination/former-configs", "{").await;
    operations.update_config(&wanted, stored.revision, &by()).await.unwrap();
    let now = world.now();
    let kept = now.former_configs().unwrap();
    assert_eq!(kept.iter().count(), 1, "a damaged log is replaced");
}

#[tokio::test(start_paused = true)]
async fn invalid_configuration_is_rejected_with_the_field() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let config = stored.config.unwrap();
    let before = world.stored("/job/config");
    type Change = fn(&mut JobConfig);
    let rows: [(&str, Change); 7] = [
        ("sharding_total_count", |c| c.sharding_total_count = 0),
        ("cron", |c| c.cron = Some("every day".into())),
        ("cron", |c| c.cron = Some("0 0 0 1 1 ? 1999".into())),
        ("cron", |c| (c.java.job_class, c.cron) = ("com.acme.Report".into(), None)),
        ("time_zone", |c| c.time_zone = Some("Atlantis".into())),
        ("strategy", |c| c.strategy = "RANDOM".into()),
        ("dialect", |c| c.java = JavaSettings::of(Dialect::V3)),
    ];
    for (field, change) in rows {
        let mut wanted = config.clone();
        change(&mut wanted);
        let error = operations.update_config(&wanted, stored.revision, &by()).await.unwrap_err();
        assert!(
            matches!(&error, Error::Invalid(invalid) if invalid.field == field),
            "{field}: {error}"
        );
        assert_eq!(world.stored("/job/config"), before, "{field}");
    }
}

#[tokio::test(start_paused = true)]
async fn unreadable_document_is_shown_and_can_be_replaced() {
    let world = World::new();
    world.write(&[("/job/config", "{\"jobName\":\"job\"")], &[]).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    assert!(stored.config.is_err());
    assert_eq!(stored.document, "{\"jobName\":\"job\"");
    let error = operations.trigger(&job(), None, &by()).await.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");

    let repaired = JobConfig::new(job(), 2);
    let updated = operations.update_config(&repaired, stored.revision, &by()).await.unwrap();
    assert_eq!(updated.report.done[0].what, "repaired");
    assert_eq!(operations.config(&job()).await.unwrap().config, Ok(repaired));
}

#[tokio::test(start_paused = true)]
async fn removal_needs_confirmation_and_no_live_instance_unless_forced() {
    let world = World::new();
    let member = world.member(1, on_request()).await;
    let operations = world.operations();
    let preview = operations.preview_removal(&job()).await.unwrap();
    assert_eq!(preview.instances, ["10.0.0.1@-@1"]);

    let remove = async |confirmation: &str, how| {
        operations.remove_job(&job(), confirmation, how, &by()).await
    };
    let error = remove("jobs", Removal::EvenIfAlive).await.unwrap_err();
    assert!(matches!(error, Error::NotConfirmed { .. }), "{error}");
    let error = remove("job", Removal::UnlessAlive).await.unwrap_err();
    assert!(matches!(error, Error::InstancesAlive { .. }), "{error}");
    assert!(shared_by(
        &world.until("the job to be unchanged", |job| shared_by(job, &[1])).await,
        &[1]
    ));

    let report = remove(&preview.confirmation, Removal::EvenIfAlive).await.unwrap();
    assert_eq!(report.done[0].what, "removed; asked to leave: 10.0.0.1@-@1");
    assert_eq!(report.records[0].record.who, "anna");
    assert_eq!(world.stored("/job"), None);
    within("leaving", member.handle.shutdown(Duration::from_secs(60))).await.unwrap();
    assert_eq!(world.stored("/job"), None, "the job was not recreated");
    let error = remove("job", Removal::EvenIfAlive).await.unwrap_err();
    assert_eq!(error, Error::NoSuchJob { job: job() });
}

#[tokio::test(start_paused = true)]
async fn removal_with_unknown_outcome_is_completed() {
    for fault in [WriteFault::LoseReply, WriteFault::LoseRequest] {
        let world = World::new();
        let member = world.member(1, on_request()).await;
        within("leaving", member.handle.shutdown(Duration::from_secs(60))).await.unwrap();
        let center = std::sync::Arc::new(world.registry.connect());
        let operations = operations::Operations::new(center.clone());
        let preview = operations.preview_removal(&job()).await.unwrap();
        center.fail_next_write(fault);
        let confirmation = &preview.confirmation;
        let removed =
            operations.remove_job(&job(), confirmation, Removal::UnlessAlive, &by()).await;
        assert!(removed.unwrap().has_changed(), "{fault:?}");
        assert_eq!(world.stored("/job"), None, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn preview_does_not_confirm_removal_after_a_change() {
    let world = World::new();
    world
        .write(&[("/job/config", &coordination::encode_config(&JobConfig::new(job(), 2)))], &[])
        .await;
    let operations = world.operations();
    let preview = operations.preview_removal(&job()).await.unwrap();
    let stored = operations.config(&job()).await.unwrap();
    let wanted = JobConfig::new(job(), 3);
    operations.update_config(&wanted, stored.revision, &by()).await.unwrap();
    let how = Removal::UnlessAlive;
    let error = operations.remove_job(&job(), &preview.confirmation, how, &by()).await.unwrap_err();
    assert!(matches!(error, Error::NotConfirmed { .. }), "{error}");
    assert!(world.stored("/job/config").is_some());
    let scope = Scope::of_both(job(), ip(1));
    let left = operations.remove_servers(&scope, &by()).await.unwrap().left;
    assert_eq!(left[0].what, "the job does not know it; it has none");
}

#[test]
fn secret_fields_are_compared_but_masked() {
    let with = |password: &str| {
        let mut config = JobConfig::new(job(), 2);
        let mut java = coordination::JavaFields3::default();
        java.props.insert("smtp.password".into(), password.into());
        java.extra_configurations = format!("jobExtraConfigurations:\n- password: {password}\n");
        config.java.fields = coordination::JavaFields::V3(java);
        config.unknown = vec![("token".into(), password.into())];
        config
    };
    let changes = operations::differences(&with("hunter2"), &with("hunter3"));
    let fields: Vec<_> = changes.iter().map(|change| change.field).collect();
    assert_eq!(fields, ["java_props", "java_extra_configurations", "unknown_fields"]);
    assert!(!format!("{changes:?}").contains("hunter"), "{changes:?}");

    let with = |password: &str| {
        let mut config = JobConfig::new(job(), 2);
        let coordination::JavaFields::V2(java) = &mut config.java.fields else { panic!("2.1.5") };
        let command_line = Some(format!("load --password {password}"));
        java.job_type = coordination::JavaJobType::Script { command_line };
        java.other_properties = vec![("smtp_password".into(), format!("{password:?}"))];
        java.monitor_port = i32::try_from(password.len()).unwrap();
        config
    };
    let changes = operations::differences(&with("hunter2"), &with("hunter22"));
    let shown: Vec<_> = changes.iter().map(ToString::to_string).collect();
    let job_type = "java_job_type: SCRIPT, a command line of 23 bytes, not shown -> SCRIPT, a command line of 24 bytes, not shown";
    let names = "[smtp_password], values not shown";
    assert_eq!(
        shown,
        [job_type, "java_monitor_port: 7 -> 8", &format!("java_props: {names} -> {names}")]
    );
}

#[tokio::test(start_paused = true)]
async fn periods_of_configurations_show_replacements_without_a_log() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let stored = operations.config(&job()).await.unwrap();
    let wanted = stored.config.unwrap().with(|it| it.sharding_total_count = 6);
    operations.update_config(&wanted, stored.revision, &by()).await.unwrap();
    let items = |job: &operations::JobSnapshot| -> Vec<_> {
        let periods = operations::config_periods(job).into_iter();
        let items = periods.map(|period| {
            let config = period.config.ok().map(|config| config.sharding_total_count);
            (config, period.doubt.is_some())
        });
        items.collect()
    };
    assert_eq!(items(&world.now()), [(Some(4), false), (Some(6), false)]);

    let document = world.stored("/job/config").unwrap();
    world.replace("/job/config", &document).await;
    let (before, present) = (None, (Some(6), true));
    assert_eq!(items(&world.now()), [(before, true), present]);
}
