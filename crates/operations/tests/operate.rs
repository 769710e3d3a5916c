//! Operator actions, and the reactions of running instances.

use crate::support;

use std::time::Duration;

use coordination::{AuditRecord, Dialect, JobName, NodeKind, RequestParameter, ServerState};
use operations::{
    By, DrainMode, Error, ItemRun, JobState, Scope, ServerPattern, item_briefs, job_state,
};
use reg_center::memory::WriteFault;
use reg_center::{Lifetime, MemoryCenter, NodePath, RegistryCenter, Txn};
use sharding::ShardingItem;

use support::{World, by, every_ten_seconds, ip, items, job, on_request, shared_by, within};

fn targets_and_texts(entries: &[operations::Entry]) -> Vec<(&str, &str)> {
    entries.iter().map(|entry| (entry.target.as_str(), entry.what.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn disabled_server_loses_its_items_until_enabled() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();
    let scope = Scope::of_both(job(), ip(1));

    let report = operations.disable(&scope, &by()).await.unwrap();
    assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", "disabled; it was enabled")]);
    let after = world.until("the other to own all items", |job| shared_by(job, &[2])).await;
    assert_eq!(job_state(&after), JobState::Ok);
    let again = operations.disable(&scope, &by()).await.unwrap();
    assert_eq!(targets_and_texts(&again.left), [("server 10.0.0.1", "it is disabled already")]);
    assert!(!again.has_changed() && again.records.is_empty());
    let resumed = operations.resume(&scope, &by()).await.unwrap();
    assert_eq!(targets_and_texts(&resumed.left), [("server 10.0.0.1", "it is disabled")]);

    operations.enable(&scope, &by()).await.unwrap();
    let after = world.until("both to share again", |job| shared_by(job, &[1, 2])).await;
    let fields = |r: &AuditRecord| [&r.who, &r.why, &r.act, &r.target, &r.what].map(String::clone);
    let recorded: Vec<_> = after.audit().map(fields).collect();
    let expected = [
        ["anna", "release 12", "disable", "server 10.0.0.1", "disabled; it was enabled"],
        ["anna", "release 12", "enable", "server 10.0.0.1", "enabled; it was disabled"],
    ];
    assert_eq!(recorded, expected, "only changes are recorded");
}

#[tokio::test(start_paused = true)]
async fn enabling_puts_a_replaced_pause_back() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let scope = Scope::of_both(job(), ip(1));
    let bob = By::new("bob", "new disk").unwrap();
    operations.pause(&scope, &by()).await.unwrap();
    let held = world.now().held_by(&ip(1)).cloned().unwrap();
    assert_eq!((&*held.act, &*held.who, &*held.why), ("pause", "anna", "release 12"));
    assert_eq!(world.now().replaced_pause(&ip(1)), None, "it is still paused");

    // The pause returns after each disablement.
    for act in ["disable", "drain"] {
        let report = match act {
            "drain" => operations.begin_drain(&scope, &bob).await.unwrap(),
            _ => operations.disable(&scope, &bob).await.unwrap(),
        };
        let what = "disabled; it was paused, and enabling it will pause it again";
        assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", what)]);
        assert_eq!(world.now().held_by(&ip(1)).unwrap().act, act);
        assert_eq!(world.now().replaced_pause(&ip(1)), Some(&held));
        let report = operations.enable(&scope, &bob).await.unwrap();
        let what = "paused again: the pause by anna at 2024-02-29T12:00:00Z: release 12";
        assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", what)]);
        assert_eq!(world.stored("/job/servers/10.0.0.1").as_deref(), Some("PAUSED"));
        assert_eq!(world.now().held_by(&ip(1)), Some(&held), "author and reason stay");
        assert_eq!(job_state(&world.now()), JobState::Paused);
    }
    let report = operations.enable(&scope, &bob).await.unwrap();
    assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", "enabled; it was paused")]);

    assert_eq!(world.now().held_by(&ip(1)), None);
    operations.disable(&scope, &by()).await.unwrap();
    assert_eq!(world.now().replaced_pause(&ip(1)), None, "the pause had ended");
    let report = operations.enable(&scope, &by()).await.unwrap();
    assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", "enabled; it was disabled")]);
}

/// Pods come and go by the hundred, and their servers expire at once or one by one.
#[tokio::test(start_paused = true)]
async fn expiries_hide_no_pause_and_no_reason() {
    let world = World::new();
    let config = || on_request().server_ttl(coordination::ServerTtl::Enabled(60));
    let _members = [world.member(1, config()).await, world.member(2, config()).await];
    let operations = world.operations();
    let scope = Scope::of_both(job(), ip(1));
    operations.pause(&scope, &by()).await.unwrap();
    operations.disable(&scope, &by()).await.unwrap();
    for pods in std::iter::once(100).chain([1; 40]) {
        for pod in 0..pods {
            world.write(&[(&*format!("/job/servers/10.0.1.{pod}"), "")], &[]).await;
        }
        world.pass(Duration::from_secs(70)).await;
        world.until("the pods to expire", |job| job.view().servers().count() == 2).await;
    }
    let now = world.now();
    assert_eq!(now.held_by(&ip(1)).map(|record| &*record.act), Some("disable"));
    assert_eq!(now.replaced_pause(&ip(1)).map(|record| &*record.act), Some("pause"));
    assert!(now.audit().any(|record| record.act == "expired"));
    operations.enable(&scope, &by()).await.unwrap();
    assert_eq!(world.stored("/job/servers/10.0.0.1").as_deref(), Some("PAUSED"));
}

#[tokio::test(start_paused = true)]
async fn enabling_pauses_nothing_without_a_record_of_the_pause() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let scope = Scope::of_both(job(), ip(1));
    // Other programs change the node without a record.
    world.replace("/job/servers/10.0.0.1", "PAUSED").await;
    assert_eq!(world.now().held_by(&ip(1)), None);
    let report = operations.disable(&scope, &by()).await.unwrap();
    let what = "disabled; it was paused, and enabling it will not pause it again: no record shows \
                who paused it";
    assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.1", what)]);
    operations.enable(&scope, &by()).await.unwrap();
    assert_eq!(world.stored("/job/servers/10.0.0.1").as_deref(), Some(""));

    operations.pause(&scope, &by()).await.unwrap();
    operations.disable(&scope, &by()).await.unwrap();
    world.replace("/job/servers/10.0.0.1", "").await;
    assert_eq!((world.now().held_by(&ip(1)), world.now().replaced_pause(&ip(1))), (None, None));
    operations.disable(&scope, &by()).await.unwrap();
    assert_eq!(world.now().replaced_pause(&ip(1)), None, "another program has ended the pause");
}

#[tokio::test(start_paused = true)]
async fn a_scope_names_a_job_or_a_server_or_both() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world
        .write(
            &[
                ("/other/config", &coordination::encode_config(&other())),
                ("/other/servers/10.0.0.1", ""),
                ("/other/servers/10.0.0.10", ""),
            ],
            &[],
        )
        .await;
    let operations = world.operations();

    let report = operations.disable(&Scope::of_server(ip(1)), &by()).await.unwrap();
    let jobs: Vec<_> = report.done.iter().map(|entry| entry.job.as_str()).collect();
    assert_eq!(jobs, ["job", "other"]);
    assert_eq!(world.stored("/other/servers/10.0.0.1").as_deref(), Some("DISABLED"));
    assert_eq!(world.stored("/other/servers/10.0.0.10").as_deref(), Some(""), "no prefix");

    let report = operations.disable(&Scope::of_job(other().job_name), &by()).await.unwrap();
    assert_eq!(targets_and_texts(&report.done), [("server 10.0.0.10", "disabled; it was enabled")]);
    let unknown = Scope::of_both(job(), ip(9));
    let report = operations.disable(&unknown, &by()).await.unwrap();
    let why = "the job does not know it; it has 10.0.0.1";
    assert_eq!(targets_and_texts(&report.left), [("server 10.0.0.9", why)]);
    let nowhere = Scope::of_job(JobName::new("nowhere").unwrap());
    let error = operations.disable(&nowhere, &by()).await.unwrap_err();
    assert_eq!(error.to_string(), "the registry has no job nowhere");
}

fn other() -> coordination::JobConfig {
    coordination::JobConfig::new(JobName::new("other").unwrap(), 1)
}

#[tokio::test(start_paused = true)]
async fn paused_server_keeps_its_items_and_starts_nothing() {
    let world = World::new();
    let _member = world.member(1, every_ten_seconds()).await;
    let operations = world.operations();
    operations.pause(&Scope::of_job(job()), &by()).await.unwrap();
    let state = world.now().view().server_state(&ip(1));
    assert_eq!(state, Some(ServerState::Paused));

    world.pass(Duration::from_secs(25)).await;
    assert_eq!(world.seen(), []);
    assert!(shared_by(&world.now(), &[1]), "{:?}", item_briefs(&world.now()));
    operations.resume(&Scope::of_job(job()), &by()).await.unwrap();
    world.until_seen("a fire", |seen| seen.len() >= 4).await;
}

#[tokio::test(start_paused = true)]
async fn manual_request_returns_the_outcome_of_each_item() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();

    let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
    assert_eq!(targets_and_texts(&triggered.report.done), [("all items", "asked to run now")]);
    let request = triggered.request.unwrap();
    let outcome = operations.outcome(&request, support::DEADLINE).await.unwrap();
    let ended = ItemRun::Ended { outcome: "succeeded", reason: None };
    assert_eq!(outcome, (0..4).map(|item| (item, ended.clone())).collect());
    let mut ran: Vec<_> =
        world.seen().into_iter().map(|(item, source, _)| (item, source)).collect();
    ran.sort_unstable();
    assert_eq!(ran, [(0, "MANUAL"), (1, "MANUAL"), (2, "MANUAL"), (3, "MANUAL")]);
}

#[tokio::test(start_paused = true)]
async fn unfinished_runs_are_returned_at_the_deadline() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    operations.disable_items(&job(), &items(&[3]), &by()).await.unwrap();
    world.hold(&[1]);

    let triggered = operations.trigger(&job(), Some(&items(&[1, 2, 3])), &by()).await.unwrap();
    assert_eq!(targets_and_texts(&triggered.report.left), [("item 3", "it is disabled")]);
    let request = triggered.request.unwrap();
    let so_far = operations.outcome(&request, Duration::from_secs(30)).await.unwrap();
    let running = ItemRun::Running { holder: "10.0.0.1@-@1".into() };
    let ended = ItemRun::Ended { outcome: "succeeded", reason: None };
    assert_eq!(so_far, [(1, running), (2, ended.clone())].into());
    world.hold(&[]);
    let all = operations.outcome(&request, support::DEADLINE).await.unwrap();
    assert_eq!(all, [(1, ended.clone()), (2, ended)].into());

    let error = operations.trigger(&job(), Some(&items(&[4])), &by()).await.unwrap_err();
    assert_eq!(error.to_string(), "job job has no item 4; it has 4 items, counted from 0");
}

#[tokio::test(start_paused = true)]
async fn requests_with_different_parameters_are_not_merged() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    let parameter = |text: &str| RequestParameter::new(text).unwrap();
    world.hold(&[0]);
    let (all, some) = (None, items(&[0]));
    let first = operations.trigger_with(&job(), all, &parameter("february"), &by()).await.unwrap();
    let what = "asked to run now, with a parameter";
    assert_eq!(targets_and_texts(&first.report.done), [("all items", what)]);
    world.until_seen("the first runs", |seen| seen.len() == 4).await;
    let record = || world.stored("/job/ledger/0").unwrap();
    assert!(
        record().contains(r#""source":"MANUAL","kind":"manual","parameter":"february""#),
        "{}",
        record()
    );
    let second =
        operations.trigger_with(&job(), Some(&some), &parameter("march"), &by()).await.unwrap();
    let waits = |_: &operations::JobSnapshot| record().contains(r#""parameter":"march"}"#);
    world.until("the second request to wait in the record", waits).await;
    assert!(record().contains("february"), "{}", record());
    world.hold(&[]);

    let outcome = operations.outcome(&second.request.unwrap(), support::DEADLINE).await.unwrap();
    assert_eq!(outcome, [(0, ItemRun::Ended { outcome: "succeeded", reason: None })].into());
    let outcome = operations.outcome(&first.request.unwrap(), support::DEADLINE).await.unwrap();
    assert!(outcome.values().all(ItemRun::is_over), "{outcome:?}");
    assert_eq!(world.seen().len(), 5);
    assert!(!record().contains("parameter"), "{}", record());
}

#[tokio::test(start_paused = true)]
async fn request_for_an_item_is_dropped_when_it_is_disabled() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    world.hold(&[0]);
    let first = operations.trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    world.until_seen("a run", |seen| seen.len() == 1).await;
    let second = operations.trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    operations.disable_items(&job(), &items(&[0]), &by()).await.unwrap();
    let is_noted = |job: &operations::JobSnapshot| {
        let record = job.view().item(ShardingItem::new(0)).ledger.as_ref();
        record.is_some_and(|record| record.value.disabled)
    };
    world.until("the record to be disabled", is_noted).await;
    world.hold(&[]);

    let first = operations.outcome(&first.request.unwrap(), support::DEADLINE).await.unwrap();
    assert_eq!(first, [(0, ItemRun::Ended { outcome: "succeeded", reason: None })].into());
    let second = operations.outcome(&second.request.unwrap(), support::DEADLINE).await.unwrap();
    assert_eq!(second, [(0, ItemRun::Dropped)].into());
    assert_eq!(world.seen().len(), 1);
}

/// A record that this version cannot read is no proof that the request was dropped.
#[tokio::test(start_paused = true)]
async fn outcome_is_an_error_if_a_later_version_wrote_the_record() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    world.hold(&[0]);
    let report = operations.trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    world.until_seen("a run", |seen| seen.len() == 1).await;
    world.replace("/job/ledger/0", r#"{"v":3}"#).await;
    let request = report.request.unwrap();
    let error = operations.outcome(&request, support::DEADLINE).await.unwrap_err();
    assert!(matches!(error, Error::NewerRecord { .. }), "{error}");
    assert!(error.to_string().starts_with("ledger/0 of job job cannot be used"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn requests_are_limited_without_monitoring_or_instances() {
    let world = World::new();
    let member = world.member(1, on_request().monitor_execution(false)).await;
    let operations = world.operations();
    let error = operations.trigger(&job(), Some(&items(&[1])), &by()).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error}");
    let february = RequestParameter::new("february").unwrap();
    let error = operations.trigger_with(&job(), None, &february, &by()).await.unwrap_err();
    let expected = "a run with a parameter is not possible for job job: without monitoring items have no records to wait in";
    assert_eq!(error.to_string(), expected);
    let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
    assert_eq!(triggered.request, None, "no record shows the outcome");
    world.until_seen("all items", |seen| seen.len() == 4).await;

    within("leaving", member.handle.shutdown(Duration::from_secs(1))).await.unwrap();
    let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
    let why = "no instance is alive to run it";
    assert_eq!(targets_and_texts(&triggered.report.left), [("job", why)]);
}

#[tokio::test(start_paused = true)]
async fn shutdown_instance_leaves_and_removed_server_is_deleted() {
    let world = World::new();
    let members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();

    let unknown = sharding::InstanceId::new("10.0.0.1@-@9");
    let error = operations.shut_down_instance(&job(), &unknown, &by()).await.unwrap_err();
    let expected = "job job has no instance 10.0.0.1@-@9; it has 10.0.0.1@-@1, 10.0.0.2@-@2";
    assert_eq!(error.to_string(), expected);
    let scope = Scope::of_both(job(), ip(1));
    operations.shut_down(&scope, &by()).await.unwrap();
    world.until("the other to own all items", |job| shared_by(job, &[2])).await;
    // Waits for the end that the operator has requested, without a request of its own.
    within("the end", members[0].handle.shutdown(Duration::from_secs(60))).await.unwrap();
    assert!(members[0].handle.has_ended());
    assert!(world.now().node(&NodeKind::Server(ip(1))).is_some(), "the server stays");

    let report = operations.remove_servers(&Scope::of_job(job()), &by()).await.unwrap();
    let expected =
        [("server 10.0.0.1", "removed"), ("server 10.0.0.2", "removed; shut down: 10.0.0.2@-@2")];
    assert_eq!(targets_and_texts(&report.done), expected);
    let after = world.until("no instance", |job| job.instances().is_empty()).await;
    assert_eq!(after.view().servers().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_runs_and_lists_the_rest_at_its_deadline() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    let both = world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let on_one = |job: &operations::JobSnapshot| -> Vec<u32> {
        let one = sharding::InstanceId::new("10.0.0.1@-@1");
        job.view().items_of(&one).map(|(item, _)| item.index()).collect()
    };
    let held = on_one(&both)[0];
    world.hold(&[held]);
    let operations = world.operations();
    operations.trigger(&job(), Some(&items(&[held])), &by()).await.unwrap();
    world.until_seen("the run", |seen| seen.len() == 1).await;

    let deadline = Duration::from_secs(30);
    let (job, server, by) = (job(), ip(1), by());
    let drain = || operations.drain(&job, &server, DrainMode::Disable, &by, deadline);
    let drained = drain().await.unwrap();
    assert!(!drained.complete);
    assert_eq!((drained.running, drained.owned), (vec![held], vec![held]));
    world.hold(&[]);
    let drained = drain().await.unwrap();
    assert!(drained.complete && drained.running.is_empty() && drained.owned.is_empty());
    let error = operations.drain(&job, &ip(9), DrainMode::Pause, &by, deadline).await;
    assert!(matches!(error, Err(Error::NoSuch { what: "server", .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn parameter_size_is_bounded_over_all_items() {
    let world = World::new();
    // The highest number of items for a parameter of maximum length, and one more.
    let most = (16 << 20) / coordination::MAX_REQUEST_PARAMETER_BYTES;
    let config = lite::JobBuilder::new("job", u32::try_from(most).unwrap() + 1);
    let _member = world.member(1, config).await;
    let operations = world.operations();
    let longest = "x".repeat(coordination::MAX_REQUEST_PARAMETER_BYTES);
    let longest = coordination::RequestParameter::new(&longest).unwrap();
    let error = operations.trigger_with(&job(), None, &longest, &by()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter is a text of 4096 bytes for 4097 items of job job; valid are up to 16777216 bytes for all items together: use a shorter text, or fewer items at a time"
    );
    assert_eq!(world.now().audit().count(), 0, "nothing was requested");
    let some = (0..u32::try_from(most).unwrap()).collect::<Vec<_>>();
    world.hold(&some);
    let requested = operations.trigger_with(&job(), Some(&items(&some)), &longest, &by()).await;
    assert!(requested.unwrap().report.has_changed());
    let short = coordination::RequestParameter::new("x").unwrap();
    let requested = operations.trigger_with(&job(), None, &short, &by()).await;
    assert!(requested.unwrap().report.has_changed());
}

#[tokio::test(start_paused = true)]
async fn request_for_all_items_skips_disabled_ones() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let operations = world.operations();
    operations.disable_items(&job(), &items(&[1]), &by()).await.unwrap();
    let some = operations.trigger(&job(), None, &by()).await.unwrap().report;
    let left: Vec<_> = some.left.iter().map(|entry| (&*entry.target, entry.as_wanted)).collect();
    assert_eq!((some.done.len(), left), (3, vec![("item 1", true)]), "{some}");
    let none = operations.trigger(&job(), Some(&items(&[1])), &by()).await.unwrap();
    assert_eq!(none.request, None);
    assert!(none.report.left.iter().all(|entry| !entry.as_wanted), "{}", none.report);
}

#[tokio::test(start_paused = true)]
async fn lost_reply_never_repeats_a_change() {
    for fault in [WriteFault::LoseReply, WriteFault::LoseRequest] {
        let world = World::new();
        let _member = world.member(1, on_request()).await;
        let center = std::sync::Arc::new(world.registry.connect());
        let operations = operations::Operations::new(center.clone());
        center.fail_next_write(fault);
        let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
        let request = triggered.request.unwrap();
        operations.outcome(&request, support::DEADLINE).await.unwrap();
        assert_eq!(world.seen().len(), 4, "{fault:?}");
        assert_eq!(world.now().audit().count(), 1, "{fault:?}");

        let unstored = operations.without_stored_audit();
        center.fail_next_write(fault);
        let error = unstored.disable(&Scope::of_job(job()), &by()).await.unwrap_err();
        assert!(error.is_unknown(), "{fault:?}: {error}");
    }
}

/// No change overwrites the audit log of a later version: it fails as a whole.
#[tokio::test(start_paused = true)]
async fn change_fails_if_a_later_version_wrote_the_audit_log() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let log = r#"[{"v":3,"changes":[]}]"#;
    world.write(&[("/job/coordination/audit", log)], &[]).await;
    let operations = world.operations();
    let error = operations.pause(&Scope::of_job(job()), &by()).await.unwrap_err();
    assert!(matches!(error, Error::NewerRecord { .. }), "{error}");
    assert!(error.to_string().contains("format version 3"), "{error}");
    assert_eq!(world.now().view().server_state(&ip(1)), Some(ServerState::Enabled));
    assert_eq!(world.stored("/job/coordination/audit").unwrap(), log);
    world.replace("/job/coordination/audit", "{").await;
    operations.pause(&Scope::of_job(job()), &by()).await.unwrap();
    assert_eq!(world.now().audit().count(), 1, "a damaged log is replaced");
}

#[tokio::test(start_paused = true)]
async fn unreachable_registry_is_an_error_not_an_absence() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let center = std::sync::Arc::new(world.registry.connect());
    let operations = operations::Operations::new(center.clone());
    center.suspend(Duration::ZERO);
    let error = operations.job(&job()).await.unwrap_err();
    assert!(matches!(error, Error::Registry { .. }), "{error}");
    assert!(operations.namespace().await.is_err());
    center.resume();
    center.close().await.unwrap();
    assert!(matches!(operations.namespace().await.unwrap_err(), Error::Registry { .. }));
}

/// Creates a job with a live Java instance and a Rust instance, in either dialect.
async fn mixed(dialect: Dialect, data: &str) -> (World, support::Member, MemoryCenter) {
    let world = World::new();
    let member = world.member_in(1, on_request(), dialect).await;
    let state = if dialect == Dialect::V3 { "ENABLED" } else { "" };
    let nodes = [("/job/servers/10.0.0.2", state)];
    let java = world.write(&nodes, &[("/job/instances/10.0.0.2@-@9", data)]).await;
    world.until("both to share", |job| job.instances().len() == 2).await;
    (world, member, java)
}

const YAML: &str = "jobInstanceId: 10.0.0.2@-@9\nserverIp: 10.0.0.2\n";

#[tokio::test(start_paused = true)]
async fn with_java_each_live_instance_is_triggered_in_its_dialect() {
    let rows = [
        (Dialect::V2, "", "/job/instances/10.0.0.2@-@9", "TRIGGER"),
        (Dialect::V3, YAML, "/job/trigger/10.0.0.2@-@9", ""),
    ];
    for (dialect, data, node, expected) in rows {
        let (world, _rust, java) = mixed(dialect, data).await;
        let operations = world.operations();
        let error = operations.trigger(&job(), Some(&items(&[0])), &by()).await.unwrap_err();
        assert!(matches!(error, Error::NotSupported { .. }), "{dialect}: {error}");

        let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
        assert_eq!(triggered.request, None);
        let targets: Vec<_> =
            targets_and_texts(&triggered.report.done).into_iter().map(|(to, _)| to).collect();
        assert_eq!(targets, ["instance 10.0.0.1@-@1", "instance 10.0.0.2@-@9"], "{dialect}");
        assert_eq!(world.stored(node).as_deref(), Some(expected), "{dialect}");
        let again = operations.trigger(&job(), None, &by()).await.unwrap().report;
        let waits = ("instance 10.0.0.2@-@9", "it has an earlier request that it has not seen yet");
        assert!(targets_and_texts(&again.left).contains(&waits), "{dialect}: {again}");

        java.close().await.unwrap();
        let report = operations.trigger(&job(), None, &by()).await.unwrap().report;
        assert!(!report.to_string().contains("10.0.0.2"), "{dialect}: {report}");
        let leftover = world.stored("/job/instances/10.0.0.2@-@9");
        assert_eq!(leftover, None, "{dialect}: a request creates no instance node");
    }
}

#[tokio::test(start_paused = true)]
async fn server_states_are_written_in_the_dialect_of_the_job() {
    let rows = [(Dialect::V2, "", ""), (Dialect::V3, YAML, "ENABLED")];
    for (dialect, data, enabled) in rows {
        let (world, _rust, _java) = mixed(dialect, data).await;
        let operations = world.operations();
        let scope = Scope::of_both(job(), ip(2));
        let stored = || world.stored("/job/servers/10.0.0.2");
        let paused = operations.pause(&scope, &by()).await.unwrap();
        assert_eq!(paused.has_changed(), dialect == Dialect::V3, "{dialect}: {paused}");
        assert!(paused.to_string().contains("Java"), "{dialect}: {paused}");
        operations.disable(&scope, &by()).await.unwrap();
        assert_eq!(stored().as_deref(), Some("DISABLED"), "{dialect}");
        operations.enable(&scope, &by()).await.unwrap();
        let comes_back = if paused.has_changed() { "PAUSED" } else { enabled };
        assert_eq!(stored().as_deref(), Some(comes_back), "{dialect}");
        operations.resume(&scope, &by()).await.unwrap();
        assert_eq!(stored().as_deref(), Some(enabled), "{dialect}");
    }
}

/// The request waits in the records until the servers are resumed, and the report says so.
#[tokio::test(start_paused = true)]
async fn request_for_a_paused_job_reports_what_it_waits_for() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| support::shared_by(job, &[1, 2])).await;
    let operations = world.operations();
    operations.pause(&Scope::of_both(job(), ip(2)), &by()).await.unwrap();
    let of_two = world.now().items().into_iter().find(|item| {
        world.now().owner(*item).is_some_and(|owner| owner.as_str() == "10.0.0.2@-@2")
    });
    let item = of_two.unwrap().index();
    let asked = operations.trigger(&job(), Some(&items(&[item])), &by()).await.unwrap();
    let held = |ip: u8| {
        let said = "pause by anna at 2024-02-29T12:00:00Z: release 12";
        format!("server 10.0.0.{ip} is paused ({said})")
    };
    let expected = format!("asked to run now; items {item} wait until it is resumed: {}", held(2));
    assert_eq!(asked.report.done[0].what, expected);

    operations.pause(&Scope::of_job(job()), &by()).await.unwrap();
    let asked = operations.trigger(&job(), None, &by()).await.unwrap();
    let what = &asked.report.done[0].what;
    let expected =
        "asked to run now; it waits until a server is resumed: server 10.0.0.1 is paused";
    assert!(what.starts_with(expected), "{what}");
    let waits = |job: &operations::JobSnapshot| item_briefs(job).iter().all(|item| item.requested);
    let now = world.until("the request to reach the items", waits).await;
    assert_eq!(job_state(&now), JobState::Paused);
    operations.resume(&Scope::of_job(job()), &by()).await.unwrap();
    operations.outcome(&asked.request.unwrap(), support::DEADLINE).await.unwrap();
    let all =
        world.seen().iter().map(|(item, ..)| *item).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(all, (0..4).collect());
}

#[tokio::test(start_paused = true)]
async fn rerun_requests_only_failed_items() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.fail(&[2]);
    let operations = world.operations();
    let first = operations.trigger(&job(), None, &by()).await.unwrap();
    let outcome = operations.outcome(&first.request.unwrap(), support::DEADLINE).await.unwrap();
    let reason = Some("it shall fail".to_owned());
    assert_eq!(outcome[&2], ItemRun::Ended { outcome: "failed", reason: reason.clone() });
    assert_eq!(item_briefs(&world.now())[2].failure, reason);
    assert_eq!(job_state(&world.now()), JobState::Failing);

    world.fail(&[]);
    let again = operations.rerun_failed(&job(), &by()).await.unwrap();
    assert_eq!(targets_and_texts(&again.report.done), [("item 2", "asked to run now")]);
    let outcome = operations.outcome(&again.request.unwrap(), support::DEADLINE).await.unwrap();
    assert_eq!(outcome, [(2, ItemRun::Ended { outcome: "succeeded", reason: None })].into());
    assert_eq!(item_briefs(&world.now())[2].failure, None);
    let nothing = operations.rerun_failed(&job(), &by()).await.unwrap();
    assert_eq!((nothing.report.has_changed(), nothing.request), (false, None));
}

#[tokio::test(start_paused = true)]
async fn items_shown_as_failing_are_the_items_of_a_rerun() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.fail(&[2]);
    let operations = world.operations();
    let first = operations.trigger(&job(), None, &by()).await.unwrap();
    operations.outcome(&first.request.unwrap(), support::DEADLINE).await.unwrap();
    let record = world.stored("/job/ledger/1").unwrap();
    let interrupted = record.replace("\"succeeded\"", "\"interrupted\"");
    assert_ne!(record, interrupted);
    world.replace("/job/ledger/1", &interrupted).await;
    let shown = |job: &operations::JobSnapshot| {
        let failing = item_briefs(job).into_iter().filter(|item| item.failing);
        failing.map(|item| item.item).collect::<Vec<_>>()
    };
    assert_eq!(shown(&world.now()), [1, 2]);
    assert_eq!(operations::job_brief(&world.now()).failing_items, 2);

    // A run in progress is the retry of its item.
    world.hold(&[1]);
    let retry = operations.trigger(&job(), Some(&items(&[1])), &by()).await.unwrap();
    let runs = |job: &operations::JobSnapshot| item_briefs(job)[1].running;
    let now = world.until("the retry", runs).await;
    assert_eq!(shown(&now), [1, 2]);
    let again = operations.rerun_failed(&job(), &by()).await.unwrap();
    assert_eq!(targets_and_texts(&again.report.done), [("item 2", "asked to run now")]);
    assert_eq!(targets_and_texts(&again.report.left), [("item 1", "a run of it is in progress")]);
    assert!(again.report.left[0].as_wanted);
    world.hold(&[]);
    let outcome = operations.outcome(&retry.request.unwrap(), support::DEADLINE).await.unwrap();
    assert_eq!(outcome, [(1, ItemRun::Ended { outcome: "succeeded", reason: None })].into());
}

#[tokio::test(start_paused = true)]
async fn concurrent_changes_are_all_recorded() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let each = async |item: u32| {
        world.operations().disable_items(&job(), &items(&[item]), &by()).await.unwrap()
    };
    let reports = tokio::join!(each(0), each(1), each(2), each(3));
    for report in [reports.0, reports.1, reports.2, reports.3] {
        assert!(report.has_changed(), "{report}");
    }
    let targets: std::collections::BTreeSet<_> =
        world.now().audit().map(|record| record.target.clone()).collect();
    assert_eq!(targets, ["item 0", "item 1", "item 2", "item 3"].map(String::from).into());
}

fn matching(pattern: &str) -> Scope {
    Scope::matching(None, ServerPattern::parse(pattern).unwrap())
}

#[tokio::test(start_paused = true)]
async fn pattern_removes_servers_that_match_and_preview_changes_nothing() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    let session = world.registry.connect();
    for ip in ["10.0.1.1", "10.0.1.2", "10.0.2.1"] {
        let path = NodePath::parse(&format!("/job/servers/{ip}")).unwrap();
        session.commit(Txn::new().create(path, "", Lifetime::Persistent)).await.unwrap();
    }
    let operations = world.operations();
    let expected = [("server 10.0.1.1", "removed"), ("server 10.0.1.2", "removed")];
    let preview = operations.preview_removal_of_servers(&matching("10.0.1.*")).await.unwrap();
    assert_eq!(targets_and_texts(&preview.done), expected);
    assert_eq!(world.now().view().servers().count(), 4, "a preview changes nothing");

    let report = operations.remove_servers(&matching("10.0.1.*"), &by()).await.unwrap();
    assert_eq!(targets_and_texts(&report.done), expected);
    let left: Vec<_> = world.now().view().servers().map(|(ip, _)| ip.to_string()).collect();
    assert_eq!(left, ["10.0.0.1", "10.0.2.1"]);
    let again = operations.remove_servers(&matching("10.0.1.*"), &by()).await.unwrap();
    assert_eq!(again, operations::Report::default(), "the caller reports that nothing matches");
}
