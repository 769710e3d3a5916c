//! Diagnosis: healthy jobs have no findings, each known Java leftover is found, fixes are guarded.

use crate::support;

use std::time::Duration;

use coordination::{Dialect, JavaSettings, JobConfig, encode_config};
use jiff::Timestamp;
use operations::{
    Finding, FindingCode as Code, ItemRun, Severity, diagnose, diagnose_all, why_item_not_running,
    why_not_running,
};
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use sharding::ShardingItem;

use support::{World, by, every_ten_seconds, items, job, noon, on_request, shared_by, within};

const JAVA_INSTANCE: &str = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";

fn config(dialect: Dialect, failover: bool) -> String {
    let mut config = JobConfig::new(job(), 2);
    config.java = JavaSettings::of(dialect);
    (config.failover, config.cron) = (failover, Some("0/1 * * * * ?".into()));
    encode_config(&config)
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Creates a job of two items with a live, leading Java instance of 3.x, and adds the nodes `more`.
async fn java_3(failover: bool, more: &[(&str, &str)]) -> (World, reg_center::MemoryCenter) {
    let world = World::new();
    let config = config(Dialect::V3, failover);
    let base = [
        ("/job/config", &*config),
        ("/job/servers/10.0.0.1", "ENABLED"),
        ("/job/sharding/0/instance", "10.0.0.1@-@7"),
        ("/job/sharding/1/instance", "10.0.0.1@-@7"),
    ];
    let all: Vec<_> = base.iter().chain(more).copied().collect();
    let marks = [
        ("/job/instances/10.0.0.1@-@7", JAVA_INSTANCE),
        ("/job/leader/election/instance", "10.0.0.1@-@7"),
    ];
    let session = world.write(&all, &marks).await;
    (world, session)
}

#[tokio::test(start_paused = true)]
async fn healthy_job_has_no_findings() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let world = World::new();
        let _members = [
            world.member_in(1, on_request(), dialect).await,
            world.member_in(2, on_request(), dialect).await,
        ];
        let now = world.until("both to share", |job| shared_by(job, &[1, 2])).await;
        assert_eq!(codes(&diagnose(&now, Some(&now), noon())), [], "{dialect}");
    }
    let (world, _session) = java_3(true, &[]).await;
    let now = world.now();
    assert_eq!(codes(&diagnose(&now, Some(&now), noon())), []);
}

#[tokio::test]
async fn each_known_leftover_is_found_at_its_node() {
    type Row<'a> = (&'a str, bool, &'a [(&'a str, &'a str)], Code, Option<&'a str>, Severity, bool);
    let gone = "10.0.0.2@-@9";
    let rows: [Row<'_>; 19] = [
        (
            "a run mark of a lost instance",
            true,
            &[("/job/sharding/0/running", gone)],
            Code::OrphanedRunMark,
            Some("A3"),
            Severity::Error,
            true,
        ),
        (
            "a takeover mark of a lost instance",
            true,
            &[("/job/sharding/0/failovering", gone)],
            Code::OrphanedTakeoverMark,
            Some("A6"),
            Severity::Warning,
            true,
        ),
        (
            "a queue entry out of range",
            true,
            &[("/job/leader/failover/items/7", "")],
            Code::StaleQueueEntry,
            Some("A22"),
            Severity::Warning,
            true,
        ),
        (
            "a queue entry without failover",
            false,
            &[("/job/leader/failover/items/1", "")],
            Code::StaleQueueEntry,
            Some("A22"),
            Severity::Warning,
            true,
        ),
        (
            "an orphan",
            true,
            &[("/job/leader/failover/items/1", "")],
            Code::Orphan,
            None,
            Severity::Info,
            false,
        ),
        (
            "a manual request of a lost instance",
            false,
            &[("/job/trigger/10.0.0.2@-@9", "")],
            Code::OrphanedTrigger,
            None,
            Severity::Info,
            true,
        ),
        (
            "a dead server",
            false,
            &[("/job/servers/10.0.0.9", "DISABLED")],
            Code::DeadServer,
            None,
            Severity::Info,
            false,
        ),
        (
            "a server of 2.1.5",
            false,
            &[("/job/servers/10.0.1.1", "")],
            Code::MixedEncoding,
            None,
            Severity::Error,
            true,
        ),
        (
            "an item with an invalid name",
            false,
            &[("/job/sharding/x", "")],
            Code::StrayNode,
            None,
            Severity::Error,
            false,
        ),
        (
            "a node of 1.x",
            false,
            &[("/job/execution/0/completed", "")],
            Code::Version1,
            None,
            Severity::Warning,
            false,
        ),
        (
            "a resharding flag without a session",
            false,
            &[("/job/leader/sharding/processing", "")],
            Code::Processing,
            Some("A11"),
            Severity::Error,
            true,
        ),
        (
            "a record that cannot be read",
            false,
            &[("/job/ledger/0", "{")],
            Code::BadRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "an item record of a later version",
            false,
            &[("/job/ledger/0", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "an assignment of a later version",
            false,
            &[("/job/coordination/assignment", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "a request of a later version",
            false,
            &[("/job/coordination/triggers/r", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "calls of a later version",
            false,
            &[("/job/coordination/once", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "an audit log of a later version",
            false,
            &[("/job/coordination/audit", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "former configurations of a later version",
            false,
            &[("/job/coordination/former-configs", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
        (
            "a template of a later version",
            false,
            &[("/job/coordination/template", LATER_VERSION)],
            Code::NewerRecord,
            None,
            Severity::Error,
            false,
        ),
    ];
    for (case, failover, more, code, fault, severity, has_fix) in rows {
        let (world, _session) = java_3(failover, more).await;
        let findings = diagnose(&world.now(), None, noon());
        let Some(found) = findings.iter().find(|finding| finding.code == code) else {
            panic!("{case}: {findings:#?}");
        };
        let shown = (found.fault, found.severity, found.fix.is_some());
        assert_eq!(shown, (fault, severity, has_fix), "{case}: {found}");
        if code != Code::Version1 {
            assert_eq!(found.node.as_deref(), Some(more[0].0), "{case}");
        }
    }
}

/// A record that this version cannot read, and so must not change.
const LATER_VERSION: &str = r#"{"v":3}"#;

#[tokio::test]
async fn fixed_findings_do_not_recur() {
    let more = [
        ("/job/sharding/0/running", "10.0.0.2@-@9"),
        ("/job/leader/failover/items/7", ""),
        ("/job/trigger/10.0.0.2@-@9", ""),
        ("/job/leader/sharding/processing", ""),
        ("/job/coordination/triggers/op-1", "{\"by\":\"anna\",\"at\":1}"),
    ];
    let (world, _session) = java_3(true, &more).await;
    let operations = world.operations();
    for finding in
        diagnose(&world.now(), None, noon()).iter().filter(|finding| finding.fix.is_some())
    {
        let expected = operations.preview_fix(finding).await.unwrap();
        let report = operations.fix(finding, &by()).await.unwrap();
        assert_eq!((&expected.done, &expected.left), (&report.done, &report.left), "{finding}");
        assert!(report.has_changed(), "{finding}: {report}");
    }
    for (path, _) in more {
        assert_eq!(world.stored(path), None, "{path}");
    }
    assert_eq!(
        world.stored("/job/leader/failover/items/0").as_deref(),
        Some(""),
        "Java runs it again"
    );
    assert_eq!(codes(&diagnose(&world.now(), None, noon())), [Code::Orphan]);
    assert_eq!(world.now().audit().filter(|record| record.act == "fix").count(), 5);
}

#[tokio::test]
async fn fix_is_void_when_node_changed_or_instance_returned() {
    let (world, session) = java_3(true, &[("/job/sharding/0/running", "10.0.0.2@-@9")]).await;
    let operations = world.operations();
    let findings = diagnose(&world.now(), None, noon());
    let run = findings.iter().find(|finding| finding.code == Code::OrphanedRunMark).unwrap();
    let back = NodePath::parse("/job/instances/10.0.0.2@-@9").unwrap();
    session
        .commit(Txn::new().create(back.clone(), JAVA_INSTANCE, Lifetime::Ephemeral))
        .await
        .unwrap();
    let report = operations.fix(run, &by()).await.unwrap();
    let why = "a precondition no longer holds: go on only if instances/10.0.0.2@-@9 is absent";
    assert_eq!((report.has_changed(), report.left[0].what.as_str()), (false, why));

    session.commit(Txn::new().delete(back)).await.unwrap();
    let mark = NodePath::parse("/job/sharding/0/running").unwrap();
    // Delete and create: the version is the same as before, but the node is another one.
    session.commit(Txn::new().delete(mark.clone())).await.unwrap();
    session.commit(Txn::new().create(mark, "10.0.0.2@-@9", Lifetime::Persistent)).await.unwrap();
    let report = operations.fix(run, &by()).await.unwrap();
    let why = "the node has changed since the diagnosis: examine the job again";
    assert_eq!((report.has_changed(), report.left[0].what.as_str()), (false, why));
    assert!(world.stored("/job/sharding/0/running").is_some());
}

#[tokio::test]
async fn leftover_fix_never_removes_a_live_instance() {
    let world = World::new();
    let config = config(Dialect::V2, false);
    let leftover = "/job/instances/10.0.0.9@-@9";
    let nodes = [("/job/config", &*config), ("/job/servers/10.0.0.9", ""), (leftover, "TRIGGER")];
    let session = world.write(&nodes, &[]).await;
    let operations = world.operations();
    let found = || {
        let findings = diagnose(&world.now(), None, noon());
        findings.into_iter().find(|finding| finding.code == Code::LeftoverInstance)
    };
    operations.fix(&found().unwrap(), &by()).await.unwrap();
    assert_eq!(world.stored(leftover).as_deref(), Some(""), "sealed");
    let removal = found().unwrap();

    let path = NodePath::parse(leftover).unwrap();
    session.commit(Txn::new().delete(path.clone())).await.unwrap();
    session.commit(Txn::new().create(path, "", Lifetime::Ephemeral)).await.unwrap();
    assert!(!operations.fix(&removal, &by()).await.unwrap().has_changed());
    assert!(world.stored(leftover).is_some(), "the live instance stays");
    session.close().await.unwrap();

    let leftover_again = [(leftover, "")];
    world.write(&leftover_again, &[]).await;
    for _ in 0..2 {
        operations.fix(&found().unwrap(), &by()).await.unwrap();
    }
    assert_eq!((world.stored(leftover), found()), (None, None));
}

#[tokio::test]
async fn fault_in_both_snapshots_is_reported_as_stuck() {
    let (world, session) = java_3(false, &[("/job/leader/sharding/necessary", "")]).await;
    let owner = NodePath::parse("/job/sharding/1/instance").unwrap();
    session.commit(Txn::new().delete(owner)).await.unwrap();
    let before = world.now();
    let severities = |findings: &[Finding]| -> Vec<(Code, Severity)> {
        findings.iter().map(|finding| (finding.code, finding.severity)).collect()
    };
    let once = severities(&diagnose(&before, None, noon()));
    assert_eq!(once, [(Code::Unassigned, Severity::Warning), (Code::Necessary, Severity::Info)]);
    let twice = severities(&diagnose(&world.now(), Some(&before), noon()));
    assert_eq!(twice, [(Code::Unassigned, Severity::Error), (Code::Necessary, Severity::Warning)]);
}

#[tokio::test]
async fn stale_java_mark_is_found_once_its_instance_runs_a_later_fire() {
    let holder = "10.0.0.1@-@7";
    let (world, session) = java_3(false, &[]).await;
    let mark = |item: u32| NodePath::parse(&format!("/job/sharding/{item}/running")).unwrap();
    let begin = async |item| {
        session.commit(Txn::new().create(mark(item), holder, Lifetime::Ephemeral)).await.unwrap();
    };
    begin(0).await;
    begin(1).await;
    let before = world.now();
    assert_eq!(
        codes(&diagnose(&world.now(), Some(&before), noon())),
        [],
        "a long run looks the same"
    );
    session.commit(Txn::new().delete(mark(1))).await.unwrap();
    begin(1).await;
    let findings = diagnose(&world.now(), Some(&before), noon());
    assert_eq!(codes(&findings), [Code::RunKept]);
    assert_eq!(findings[0].node.as_deref(), Some("/job/sharding/0/running"));
}

#[tokio::test]
async fn mark_older_than_its_instance_is_reported_without_fix() {
    let world = World::new();
    let config = config(Dialect::V3, true);
    let holder = "10.0.0.1@-@1";
    let data = "jobInstanceId: 10.0.0.1@-@1\nserverIp: 10.0.0.1\n";
    let nodes = [
        ("/job/config", &*config),
        ("/job/servers/10.0.0.1", "ENABLED"),
        ("/job/sharding/0/instance", holder),
        ("/job/sharding/1/instance", holder),
        ("/job/sharding/0/running", holder),
    ];
    let marks = [("/job/instances/10.0.0.1@-@1", data), ("/job/leader/election/instance", holder)];
    let _session = world.write(&nodes, &marks).await;
    let findings = diagnose(&world.now(), None, noon());
    assert_eq!(codes(&findings), [Code::RunOfEarlierIncarnation]);
    assert_eq!((findings[0].fault, findings[0].fix.is_none()), (Some("A4"), true));
}

/// Leftovers of a Java instance at an item of a Rust instance.
const LEFT: [(&str, &str); 2] =
    [("/job/leader/failover/items/9", ""), ("/job/sharding/2/running", "10.0.0.2@-@9")];

#[tokio::test(start_paused = true)]
async fn leftovers_that_rust_instances_clean_up_have_no_fix() {
    let world = World::new();
    let config = every_ten_seconds().failover(true);
    let member = world.member_in(1, config, Dialect::V3).await;
    world.until("all assigned", |job| shared_by(job, &[1])).await;
    world.write(&LEFT, &[]).await;
    let found = diagnose(&world.now(), None, noon());
    let run = found.iter().find(|finding| finding.code == Code::OrphanedRunMark).unwrap();
    assert_eq!(run.fix, None);
    world.until("the repair by the instance", |job| diagnose(job, None, noon()).is_empty()).await;
    within("leaving", member.handle.shutdown(support::DEADLINE)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn stale_mark_does_not_block_a_manual_request() {
    let world = World::new();
    let config = on_request().failover(true);
    let _member = world.member_in(1, config, Dialect::V3).await;
    world.until("all assigned", |job| shared_by(job, &[1])).await;
    world.write(&LEFT[1..], &[]).await;
    let operations = world.operations();
    let asked = operations.trigger(&job(), Some(&items(&[2])), &by()).await.unwrap();
    let request = asked.request.unwrap();
    let outcome = operations.outcome(&request, support::DEADLINE).await.unwrap();
    assert_eq!(outcome, [(2, ItemRun::Ended { outcome: "succeeded", reason: None })].into());
}

/// The record is reset while the item runs: the mark stays until the run ends, and a second
/// diagnosis confirms the finding.
#[tokio::test(start_paused = true)]
async fn mark_without_recorded_run_is_found_and_confirmed() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let world = World::new();
        let _member = world.member_in(1, on_request().failover(true), dialect).await;
        world.until("all assigned", |job| shared_by(job, &[1])).await;
        let older = world.stored("/job/ledger/2").unwrap();
        world.hold(&[2]);
        let operations = world.operations();
        operations.trigger(&job(), Some(&items(&[2])), &by()).await.unwrap();
        let item = ShardingItem::new(2);
        world.until("the run", |job| job.is_running(item)).await;
        assert_eq!(
            codes(&diagnose(&world.now(), None, noon())),
            [],
            "{dialect}: a run is no finding"
        );

        world.replace("/job/ledger/2", &older).await;
        let before = world.now();
        let found = diagnose(&before, None, noon());
        assert_eq!(codes(&found), [Code::RunNotRecorded], "{dialect}");
        assert_eq!(found[0].severity, Severity::Warning, "{dialect}");
        assert_eq!(found[0].node.as_deref(), Some("/job/sharding/2/running"), "{dialect}");
        assert!(found[0].text.contains("10.0.0.1@-@1"), "{dialect}: {}", found[0].text);
        let again = diagnose(&world.now(), Some(&before), noon());
        assert_eq!(again[0].severity, Severity::Error, "{dialect}");
        let why = operations::why_item_not_running(&world.now(), item, support::noon());
        let holder = "10.0.0.1@-@1".to_owned();
        assert_eq!(why[0], operations::WhyNot::MarkedOnly { holder }, "{dialect}");

        world.hold(&[]);
        let now = world.until("the mark to go", |job| !job.is_running(item)).await;
        assert_eq!(codes(&diagnose(&now, Some(&before), noon())), [], "{dialect}");
        let asked = operations.trigger(&job(), Some(&items(&[2])), &by()).await.unwrap();
        let outcome = operations.outcome(&asked.request.unwrap(), support::DEADLINE).await;
        let expected = ItemRun::Ended { outcome: "succeeded", reason: None };
        assert_eq!(outcome.unwrap(), [(2, expected)].into(), "{dialect}: the item runs again");
    }
}

#[tokio::test(start_paused = true)]
async fn paused_servers_and_failing_items_are_reported() {
    let world = World::new();
    let _member = world.member(1, on_request()).await;
    world.until("all assigned", |job| shared_by(job, &[1])).await;
    let operations = world.operations();
    let run_all = || async {
        let asked = operations.trigger(&job(), None, &by()).await.unwrap();
        operations.outcome(&asked.request.unwrap(), support::DEADLINE).await.unwrap();
        diagnose(&world.now(), None, noon())
    };
    world.fail(&[1, 2]);
    let found = run_all().await;
    assert_eq!((codes(&found), found[0].severity), (vec![Code::Failing], Severity::Warning));
    let text = "the last runs of items 1, 2 failed; item 1 failed at 2024-02-29T12:00:00";
    assert!(found[0].text.starts_with(text), "{}", found[0].text);
    assert!(found[0].text.ends_with(": it shall fail"), "{}", found[0].text);
    world.fail(&[0, 1, 2, 3]);
    let found = run_all().await;
    assert_eq!((codes(&found), found[0].severity), (vec![Code::Failing], Severity::Error));
    world.fail(&[]);
    assert_eq!(codes(&run_all().await), []);

    operations.pause(&operations::Scope::of_job(job()), &by()).await.unwrap();
    let found = diagnose(&world.now(), None, noon());
    assert_eq!((codes(&found), found[0].severity), (vec![Code::HeldBack], Severity::Info));
    let text = "no item of the job starts: server 10.0.0.1 is paused (pause by anna at 2024-02-29T";
    assert!(found[0].text.starts_with(text), "{}", found[0].text);
}

#[tokio::test]
async fn diagnosis_of_a_namespace_reports_unreadable_jobs() {
    let (world, _session) = java_3(false, &[]).await;
    world
        .write(&[("/left/servers/10.0.0.1", ""), ("/a@-@b", ""), ("/bad/config", "cron")], &[])
        .await;
    let namespace = world.operations().namespace().await.unwrap();
    let findings = diagnose_all(&namespace, None, noon());
    let shown: Vec<_> = findings.iter().map(|finding| (&*finding.job, finding.code)).collect();
    let expected = [
        ("a@-@b", Code::Unread),
        ("bad", Code::BadConfig),
        ("left", Code::NoConfig),
        ("left", Code::DeadServer),
    ];
    assert_eq!(shown, expected);
    let json = serde_json::to_value(&findings[1]).unwrap();
    assert_eq!((&json["code"], &json["severity"]), (&"bad-config".into(), &"error".into()));
}

#[test]
fn docs_list_every_finding_code() {
    let page = include_str!("../../../docs/operations.md");
    for code in Code::ALL {
        assert!(page.contains(&format!("| `{code}` |")), "{code} has no row in docs/operations.md");
    }
}

const FUTURE: &str = "2025-02-28T12:00:00Z";

/// Runs all items of a job that fires every ten seconds, and sets the last fire of item 0 to one in
/// a year.
async fn run_ahead(world: &World) -> support::Member {
    let member = world.member(1, every_ten_seconds()).await;
    world.until_seen("all items to run", |seen| seen.len() == 4).await;
    let rest =
        |job: &operations::JobSnapshot| job.items().iter().all(|item| !job.is_running(*item));
    world.until("all runs to end", rest).await;
    let stored = world.stored("/job/ledger/0").unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&stored).unwrap();
    record["last"] = FUTURE.parse::<Timestamp>().unwrap().as_millisecond().into();
    world.replace("/job/ledger/0", &record.to_string()).await;
    member
}

#[tokio::test(start_paused = true)]
async fn future_fire_in_a_record_is_reported_and_repaired() {
    let world = World::new();
    let _member = run_ahead(&world).await;
    world.pass(Duration::from_secs(25)).await;
    let item = ShardingItem::new(0);
    let ran = |seen: &[support::Seen]| seen.iter().filter(|(item, ..)| *item == 0).count();
    assert_eq!(ran(&world.seen()), 1, "the item runs no fire before the future one");
    let (job, now) = (world.now(), world.time());

    let findings = diagnose(&job, None, now);

    assert_eq!(codes(&findings), [Code::FutureFire]);
    assert_eq!(findings[0].severity, Severity::Error);
    assert_eq!(findings[0].node.as_deref(), Some("/job/ledger/0"));
    let why: Vec<_> =
        why_item_not_running(&job, item, now).iter().map(ToString::to_string).collect();
    assert!(why[0].contains(FUTURE) && why[0].contains("ejob doctor job --fix"), "{why:?}");
    assert!(
        why[1].contains("2025-02-28T12:00:10Z"),
        "the next fire is after the future one: {why:?}"
    );
    assert!(why_not_running(&job, now)[0].to_string().contains(FUTURE));
    let token =
        |job: &operations::JobSnapshot| job.view().item(item).ledger.as_ref().unwrap().value.token;

    let report = world.operations().fix(&findings[0], &by()).await.unwrap();

    assert!(report.has_changed(), "{report}");
    let fixed = world.now();
    let last = fixed.view().item(item).ledger.as_ref().unwrap().value.last_fire.unwrap();
    assert_eq!(Timestamp::from_millisecond(last.0).unwrap().to_string(), "2024-02-29T12:00:30Z");
    assert_eq!(token(&fixed), token(&job));
    assert_eq!(fixed.audit().filter(|record| record.act == "fix").count(), 1);
    assert_eq!(codes(&diagnose(&fixed, None, now)), []);
    world.until_seen("item 0 to run again", |seen| ran(seen) == 2).await;
}

#[tokio::test(start_paused = true)]
async fn future_fire_has_no_fix_while_the_item_runs() {
    let world = World::new();
    let member = run_ahead(&world).await;
    world.hold(&[0]);
    within("the request", member.handle.trigger()).await.unwrap();
    let running = |job: &operations::JobSnapshot| job.is_running(ShardingItem::new(0));
    let job = world.until("item 0 to run", running).await;
    let findings = diagnose(&job, None, world.time());
    let found = findings.iter().find(|finding| finding.code == Code::FutureFire).unwrap();
    assert!(found.fix.is_none() && found.text.contains("once its run has ended"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn future_fire_within_the_time_difference_is_no_finding() {
    for (case, field, after) in [
        ("not compared", "\"maxTimeDiff\":\"off\",", Duration::ZERO),
        ("at the bound", "", Duration::from_secs(60)),
    ] {
        let world = World::new();
        let _member = run_ahead(&world).await;
        let config = world.stored("/job/config").unwrap();
        world.replace("/job/config", &config.replacen('{', &format!("{{{field}"), 1)).await;
        let future: Timestamp = FUTURE.parse().unwrap();
        let now = if after.is_zero() { world.time() } else { future - after };
        assert_eq!(codes(&diagnose(&world.now(), None, now)), [], "{case}");
    }
}

/// Returns the finding about server 9, which has no instance.
async fn idle_server(world: &World, state: &str, config: &str) -> Finding {
    let nodes = [
        ("/job/config", config),
        ("/job/servers/10.0.0.9", state),
        ("/job/coordination/request", ""),
    ];
    drop(world.write(&nodes, &[]).await);
    let mut findings = diagnose(&world.now(), None, noon());
    findings.retain(|finding| finding.code == Code::DeadServer);
    findings.pop().unwrap()
}

#[tokio::test(start_paused = true)]
async fn repair_removes_enabled_server_without_instance() {
    let world = World::new();
    let finding = idle_server(&world, "", &encode_config(&JobConfig::new(job(), 1))).await;
    let report = world.operations().fix(&finding, &by()).await.unwrap();
    assert!(report.has_changed(), "{report}");
    assert_eq!(world.now().view().servers().count(), 0);
    let record = world.now().audit().next_back().cloned().unwrap();
    assert_eq!((&*record.act, &*record.why), ("fix", "release 12"));
}

/// Each registration raises the counter of requests.
#[tokio::test(start_paused = true)]
async fn server_that_came_back_is_not_removed() {
    let world = World::new();
    let finding = idle_server(&world, "", &encode_config(&JobConfig::new(job(), 1))).await;
    let path = NodePath::parse("/job/coordination/request").unwrap();
    world.registry.connect().commit(Txn::new().put(path, "")).await.unwrap();
    let report = world.operations().fix(&finding, &by()).await.unwrap();
    assert!(!report.has_changed(), "{report}");
    assert_eq!(world.now().view().servers().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn server_that_operator_or_java_needs_has_no_repair() {
    let plain = JobConfig::new(job(), 1);
    let mut with_class = plain.clone();
    with_class.java.job_class = "a.b.C".to_owned();
    let disabled = plain.clone().with(|config| config.disabled = true);
    for (case, state, config) in [
        ("an operator disabled it", "DISABLED", plain),
        ("a Java job", "", with_class),
        ("new servers are disabled", "", disabled),
    ] {
        let finding = idle_server(&World::new(), state, &encode_config(&config)).await;
        assert_eq!(finding.fix, None, "{case}");
    }
}
