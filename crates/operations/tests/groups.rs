//! Groups of jobs: changes of their limits, and waits of jobs for them.

use coordination::{GroupLimits, GroupName, JobConfig, JobName, StartRate, encode_config};
use operations::{
    Error, Export, ExportError, Finding, FindingCode as Code, GroupSnapshot, Namespace, Removal,
    Severity, WhyNot, diagnose_groups, export, groups_of, plan_group_import,
    why_item_not_running_in,
};
use reg_center::RegistryCenter;
use sharding::ShardingItem;

use crate::support::{World, by, items, job, on_request};

fn group() -> GroupName {
    GroupName::new("db").unwrap()
}

fn runs(max: u32) -> GroupLimits {
    GroupLimits { cluster_concurrency: Some(max), start_rate: None }
}

#[tokio::test(start_paused = true)]
async fn limits_are_replaced_with_an_audit_record() {
    let world = World::new();
    let operations = world.operations();
    assert!(operations.groups().await.unwrap().is_empty());
    let first = operations.set_group(&group(), runs(3), &by()).await.unwrap();
    assert_eq!((first.before, first.after), (Some(GroupLimits::NONE), runs(3)));
    let same = operations.set_group(&group(), runs(3), &by()).await.unwrap();
    assert_eq!(same.record, None, "nothing was written");
    let rate = GroupLimits { cluster_concurrency: None, start_rate: StartRate::parse("9 in 1m") };
    operations.set_group(&group(), rate, &by()).await.unwrap();
    operations.set_group(&group(), GroupLimits::NONE, &by()).await.unwrap();
    let read = operations.group(&group()).await.unwrap();
    assert_eq!(read.view().limits(), Some(GroupLimits::NONE));
    let acts: Vec<_> = read.audit().map(|record| (&*record.act, &*record.what)).collect();
    let expected = [
        ("set group", "no limits -> at most 3 runs at once"),
        ("set group", "at most 3 runs at once -> at most 9 starts in 1m"),
        ("remove group", "at most 9 starts in 1m -> no limits"),
    ];
    assert_eq!(acts, expected);
    let listed = operations.groups().await.unwrap();
    assert_eq!(listed.len(), 1, "the node stays, because its version identifies the limits");
    assert!(!listed[0].is_used());
    let error = operations.set_group(&group(), runs(0), &by()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    let error = operations.preview_set_group(&group(), runs(0)).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
    let preview = operations.preview_set_group(&group(), runs(5)).await.unwrap();
    let change = (preview.before, preview.after, preview.record);
    assert_eq!(change, (Some(GroupLimits::NONE), runs(5), None));
    assert_eq!(operations.groups().await.unwrap(), listed, "a preview writes nothing");
    assert!(operations.job_names().await.unwrap().is_empty(), "a group is no job");
}

#[tokio::test(start_paused = true)]
async fn item_that_waits_for_its_group_names_the_holders() {
    let world = World::new();
    let operations = world.operations();
    operations.set_group(&group(), runs(1), &by()).await.unwrap();
    let _member = world.member(1, on_request().group("db")).await;
    world.hold(&[0, 1]);
    operations.trigger(&job(), Some(&items(&[0])), &by()).await.unwrap();
    world.until("a run", |job| job.is_running(ShardingItem::new(0))).await;
    operations.trigger(&job(), Some(&items(&[1])), &by()).await.unwrap();
    let waits = |job: &operations::JobSnapshot| {
        let ledger = job.view().item(ShardingItem::new(1)).ledger.as_ref();
        ledger.is_some_and(|ledger| ledger.value.request.is_some())
    };
    let now = world.until("a request", waits).await;
    let read = operations.group_of(&now).await.unwrap();
    let reasons = why_item_not_running_in(&now, read.as_ref(), ShardingItem::new(1), world.time());
    let wait = reasons.iter().find(|why| matches!(why, WhyNot::WaitsForGroup { .. }));
    let expected =
        "waits for a permit of the group db (1 of 1 are taken): job item 0 on 10.0.0.1@-@1";
    assert_eq!(wait.map(ToString::to_string).as_deref(), Some(expected), "{reasons:?}");
    world.hold(&[]);
}

/// The groups and the jobs of a namespace.
type Reading = (Vec<GroupSnapshot>, Namespace);

async fn read(world: &World) -> Reading {
    let operations = world.operations();
    let groups = operations.groups().await.unwrap();
    (groups, operations.namespace().await.unwrap())
}

fn diagnosed(now: &Reading, earlier: Option<&Reading>) -> Vec<Finding> {
    diagnose_groups(&now.0, &now.1, earlier.map(|(groups, jobs)| (&**groups, jobs)))
}

fn brief(findings: &[Finding]) -> Vec<(Code, Severity, &str, bool)> {
    let brief = |it: &Finding| {
        let node = it.node.as_deref().unwrap().strip_prefix("/job@-@groups/db/").unwrap();
        (it.code, it.severity, node.to_owned().leak() as &str, it.fix.is_some())
    };
    findings.iter().map(brief).collect()
}

const IN_GROUP: &str = r#"{"v":1,"job":"job","item":1,"by":"10.0.0.9@-@9","token":4}"#;
const PLACE: &str = r#"{"v":1,"by":"10.0.0.9@-@9"}"#;

fn config(name: &str, group: Option<&str>) -> String {
    let mut config = JobConfig::new(JobName::new(name).unwrap(), 2);
    config.group = group.map(|group| GroupName::new(group).unwrap());
    encode_config(&config)
}

#[tokio::test(start_paused = true)]
async fn healthy_group_has_no_findings() {
    let world = World::new();
    let operations = world.operations();
    operations.set_group(&group(), runs(1), &by()).await.unwrap();
    let _member = world.member(1, on_request().group("db")).await;
    world.hold(&[0, 1]);
    operations.trigger(&job(), Some(&items(&[0, 1])), &by()).await.unwrap();
    let is_full = |job: &operations::JobSnapshot| job.items().iter().any(|it| job.is_running(*it));
    world.until("a run", is_full).await;
    let waits = || world.stored("/job@-@groups/db/waiting/job").is_some();
    world.until("the job to wait", |_| waits()).await;
    let now = read(&world).await;
    assert_eq!((now.0[0].view().permits().len(), now.0[0].view().line().len()), (1, 1));
    assert_eq!(diagnosed(&now, Some(&now)), []);
    world.hold(&[]);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_no_session_owns_are_removed_from_the_group() {
    let world = World::new();
    let nodes = [
        ("/job/config", &*config("job", Some("db"))),
        ("/job@-@groups/db/permits/0", IN_GROUP),
        ("/job@-@groups/db/permits/1", "x"),
        ("/job@-@groups/db/waiting/job", PLACE),
    ];
    world.write(&nodes, &[]).await;
    let found = diagnosed(&read(&world).await, None);
    let expected = [
        (Code::OrphanedGroupPermit, Severity::Error, "permits/0", true),
        (Code::OrphanedGroupPermit, Severity::Error, "permits/1", true),
        (Code::StaleGroupPlace, Severity::Warning, "waiting/job", true),
    ];
    assert_eq!(brief(&found), expected);
    let text = "no session owns this permit for item 1 of job, which does not run under token 4: no instance returns it, and it counts against the limit of the group";
    assert_eq!(
        (&*found[0].job, found[0].group.as_deref(), &*found[0].text),
        ("job", Some("db"), text)
    );
    let operations = world.operations();
    for finding in &found {
        let preview = operations.preview_fix(finding).await.unwrap();
        let report = operations.fix(finding, &by()).await.unwrap();
        assert_eq!((report.done.len(), &report.done), (1, &preview.done), "{report}");
        assert_eq!(world.stored(finding.node.as_deref().unwrap()), None);
    }
    assert_eq!(diagnosed(&read(&world).await, None), []);
    let group = operations.group(&group()).await.unwrap();
    let audit: Vec<_> =
        group.audit().map(|record| (&*record.act, &*record.who, &*record.target)).collect();
    let target = "orphaned-group-permit /job@-@groups/db/permits/0";
    assert_eq!((audit.len(), audit[0]), (3, ("fix", "anna", target)));
}

#[tokio::test(start_paused = true)]
async fn fix_of_a_permit_is_void_after_a_change() {
    let world = World::new();
    let nodes =
        [("/job/config", &*config("job", Some("db"))), ("/job@-@groups/db/permits/0", IN_GROUP)];
    world.write(&nodes, &[]).await;
    let found = diagnosed(&read(&world).await, None);
    let operations = world.operations();
    // A run of the item has begun: its record is no longer as the diagnosis saw it.
    world.write(&[("/job/ledger/1", "{}")], &[]).await;
    let error = operations.fix(&found[0], &by()).await.unwrap_err();
    assert!(matches!(error, Error::Group { .. }), "{error}");
    world.replace("/job@-@groups/db/permits/0", IN_GROUP).await;
    let report = operations.fix(&found[0], &by()).await.unwrap();
    assert_eq!((report.done.len(), report.left.len()), (0, 1), "{report}");
    assert!(world.stored("/job@-@groups/db/permits/0").is_some());
}

#[tokio::test(start_paused = true)]
async fn places_of_jobs_that_are_not_in_the_group_are_stale() {
    let world = World::new();
    let (in_other, in_none) = (config("b", Some("other")), config("c", None));
    let in_group = config("d", Some("db"));
    let persistent =
        [("/b/config", &*in_other), ("/c/config", &*in_none), ("/d/config", &*in_group)];
    let places = ["a", "b", "c", "d"].map(|job| format!("/job@-@groups/db/waiting/{job}"));
    let places: Vec<_> = places.iter().map(|path| (&**path, PLACE)).collect();
    let _session = world.write(&persistent, &places).await;
    let now = read(&world).await;
    let found = diagnosed(&now, None);
    let stale = |severity| {
        ["waiting/a", "waiting/b", "waiting/c"]
            .map(|node| (Code::StaleGroupPlace, severity, node, true))
    };
    assert_eq!(brief(&found), stale(Severity::Warning));
    assert_eq!(brief(&diagnosed(&now, Some(&now))), stale(Severity::Error));
    for (finding, start) in found.iter().zip([
        "the job a does not exist, but",
        "the job b is in group other, but",
        "the job c is in no group, but",
    ]) {
        assert!(finding.text.starts_with(start), "{}", finding.text);
    }
    // The job comes back before the fix.
    world.write(&[("/a/config", &*config("a", Some("db")))], &[]).await;
    let operations = world.operations();
    assert!(operations.fix(&found[0], &by()).await.is_err(), "the job exists");
    for finding in &found[1..] {
        assert!(operations.fix(finding, &by()).await.unwrap().has_changed());
    }
    assert_eq!(diagnosed(&read(&world).await, None), []);
}

#[tokio::test(start_paused = true)]
async fn permit_of_a_live_session_without_a_run_is_found_by_two_readings() {
    let world = World::new();
    let permit = [("/job@-@groups/db/permits/0", IN_GROUP)];
    let _session = world.write(&[("/job/config", &*config("job", Some("db")))], &permit).await;
    let now = read(&world).await;
    assert_eq!(diagnosed(&now, None), [], "the run may have ended between the readings");
    let found = diagnosed(&now, Some(&now));
    let expected = (Code::OrphanedGroupPermit, Severity::Error, "permits/0", false);
    assert_eq!(brief(&found), [expected]);
}

#[tokio::test(start_paused = true)]
async fn unreadable_limits_are_found_and_can_be_stored_again() {
    let world = World::new();
    world.write(&[("/job@-@groups/db/limits", "x")], &[]).await;
    let found = diagnosed(&read(&world).await, None);
    let expected = (Code::GroupLimitsUnreadable, Severity::Error, "limits", false);
    assert_eq!(brief(&found), [expected]);
    assert!(found[0].text.ends_with("ejob group set db"), "{}", found[0].text);
    world.operations().set_group(&group(), runs(2), &by()).await.unwrap();
    assert_eq!(diagnosed(&read(&world).await, None), []);
}

#[tokio::test(start_paused = true)]
async fn removed_job_returns_its_permit_and_leaves_the_line() {
    let world = World::new();
    let operations = world.operations();
    operations.set_group(&group(), runs(1), &by()).await.unwrap();
    let member = world.member(1, on_request().group("db")).await;
    world.hold(&[0, 1]);
    operations.trigger(&job(), Some(&items(&[0, 1])), &by()).await.unwrap();
    let waits = || world.stored("/job@-@groups/db/waiting/job").is_some();
    world.until("the job to wait", |_| waits()).await;
    let observer = world.registry.connect();
    let mut changes = observer.watch(&coordination::Layout::groups_root());
    let report = operations.remove_job(&job(), "job", Removal::EvenIfAlive, &by()).await.unwrap();
    assert!(report.records[0].is_removal_of_job(), "{report}");
    world.hold(&[]);
    crate::support::within("the end of the job", async {
        while waits() || world.stored("/job@-@groups/db/permits/0").is_some() {
            changes.next().await.expect("the observer's centre is open");
        }
    })
    .await;
    drop(member);
}

fn rated(max: Option<u32>, rate: &str) -> GroupLimits {
    GroupLimits { cluster_concurrency: max, start_rate: StartRate::parse(rate) }
}

/// Creates a job in the group `db`, and limits of `db` and `idle`.
async fn with_limits() -> World {
    let world = World::new();
    world.write(&[("/job/config", &*config("job", Some("db")))], &[]).await;
    let operations = world.operations();
    operations.set_group(&group(), rated(Some(3), "9 in 1m"), &by()).await.unwrap();
    let idle = GroupName::new("idle").unwrap();
    operations.set_group(&idle, runs(1), &by()).await.unwrap();
    let former = GroupName::new("former").unwrap();
    operations.set_group(&former, runs(1), &by()).await.unwrap();
    operations.set_group(&former, GroupLimits::NONE, &by()).await.unwrap();
    world
}

async fn exported(world: &World) -> Export {
    let (groups, jobs) = read(world).await;
    let (mut export, _) = export(&jobs.jobs);
    assert_eq!(export.add_groups(&groups), []);
    export
}

#[tokio::test(start_paused = true)]
async fn limits_of_groups_are_exported_and_imported() {
    let source = with_limits().await;
    let export = exported(&source).await;
    let names: Vec<_> = export.groups.iter().map(|it| &*it.group).collect();
    assert_eq!(names, ["db", "idle"], "a group without limits is left out");
    let in_use = groups_of(&read(&source).await.1.jobs);
    assert_eq!(in_use, [group()].into(), "a job is in the group");
    let text = serde_json::to_string(&export).unwrap();
    let export: Export = serde_json::from_str(&text).unwrap();

    let target = World::new();
    let operations = target.operations();
    let limits = export.limits().unwrap();
    let plan = async |overwrite| {
        plan_group_import(&limits, &operations.groups().await.unwrap(), overwrite)
    };
    let shown = |steps: &[operations::ImportStep]| -> Vec<String> {
        steps.iter().map(ToString::to_string).collect()
    };
    let steps = plan(false).await;
    let created = [
        "create group db: at most 3 runs at once, at most 9 starts in 1m",
        "create group idle: at most 1 run at once",
    ];
    assert_eq!(shown(&steps), created);
    let report = operations.import_all(&steps, &by(), || ()).await;
    assert_eq!((report.done.len(), report.records.len()), (2, 2), "{report}");
    assert!(!report.records.iter().any(operations::Recorded::is_removal_of_job));
    let stored = operations.group(&group()).await.unwrap();
    assert_eq!(stored.view().limits(), Some(rated(Some(3), "9 in 1m")));
    assert_eq!(stored.audit().map(|record| &*record.who).collect::<Vec<_>>(), ["anna"]);
    let kept =
        ["keep group db: it is as wanted already", "keep group idle: it is as wanted already"];
    assert_eq!(shown(&plan(true).await), kept);

    operations.set_group(&group(), runs(5), &by()).await.unwrap();
    let differs =
        "group db, although it differs: cluster_concurrency: 5 -> 3; start_rate: none -> 9 in 1m";
    let steps = plan(false).await;
    assert_eq!(steps[0].to_string(), format!("keep {differs}"));
    let report = operations.import_all(&steps, &by(), || ()).await;
    assert!(!report.has_changed(), "{report}");
    let steps = plan(true).await;
    let replaced = "replace group db: cluster_concurrency: 5 -> 3; start_rate: none -> 9 in 1m";
    assert_eq!(steps[0].to_string(), replaced);
    operations.set_group(&group(), runs(7), &by()).await.unwrap();
    let stale = operations.import(&steps[0], &by()).await;
    assert!(matches!(stale, Err(Error::Group { .. })), "{stale:?}");
    assert_eq!(operations.group(&group()).await.unwrap().view().limits(), Some(runs(7)));
    operations.import(&plan(true).await[0], &by()).await.unwrap();
    let stored = operations.group(&group()).await.unwrap();
    assert_eq!(stored.view().limits(), Some(rated(Some(3), "9 in 1m")));
}

#[tokio::test(start_paused = true)]
async fn unreadable_limits_are_replaced_on_request_and_not_exported() {
    let world = with_limits().await;
    let limits = exported(&world).await.limits().unwrap();
    world.replace("/job@-@groups/db/limits", "x").await;
    let groups = read(&world).await.0;
    let mut export = Export::of([]);
    let left_out = export.add_groups(&groups);
    assert_eq!((left_out.len(), &*left_out[0].0), (1, "group db"));
    let refused = plan_group_import(&limits, &groups, false);
    assert!(refused[0].to_string().starts_with("refuse group db: the stored limits"));
    let replaced = plan_group_import(&limits, &groups, true);
    let expected = "replace group db: cluster_concurrency: unreadable -> 3; \
                    start_rate: unreadable -> 9 in 1m";
    assert_eq!(replaced[0].to_string(), expected);
    let operations = world.operations();
    operations.import(&replaced[0], &by()).await.unwrap();
    let stored = operations.group(&group()).await.unwrap();
    assert_eq!(stored.view().limits(), Some(rated(Some(3), "9 in 1m")));
}

#[test]
fn earlier_export_without_groups_is_readable() {
    let text = r#"{"format":"ejob-export","version":1,"jobs":[]}"#;
    let export: Export = serde_json::from_str(text).unwrap();
    assert!(export.limits().unwrap().is_empty());
    assert_eq!(serde_json::to_string(&export).unwrap(), text);
}

#[test]
fn wrong_limits_of_an_export_name_field_value_and_valid_values() {
    let rows = [
        (
            r#"{"group":"db","cluster_concurrency":0}"#,
            "group \"db\": cluster_concurrency is 0; valid is 1 to",
        ),
        (r#"{"group":"db","start_rate":"often"}"#, "group \"db\": start_rate is often; valid is"),
        (
            r#"{"group":"db"}"#,
            "group \"db\": limits is none; valid is cluster_concurrency, start_rate",
        ),
        (r#"{"group":"d/b","cluster_concurrency":1}"#, "group name \"d/b\" is not valid"),
        (
            r#"{"group":"db","cluster_concurrency":1},{"group":"db","cluster_concurrency":2}"#,
            "group \"db\" occurs twice",
        ),
    ];
    for (groups, expected) in rows {
        let text =
            format!(r#"{{"format":"ejob-export","version":1,"jobs":[],"groups":[{groups}]}}"#);
        let export: Export = serde_json::from_str(&text).unwrap();
        let error: ExportError = export.limits().unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn selected_jobs_keep_their_groups() {
    let world = with_limits().await;
    world.write(&[("/other/config", &*config("other", Some("idle")))], &[]).await;
    let groups = |export: &Export| -> Vec<String> {
        export.groups.iter().map(|it| it.group.clone()).collect()
    };
    let mut export = exported(&world).await;
    export.select(|_| true);
    assert_eq!(groups(&export), ["db", "idle"]);
    export.select(|job| job == "job");
    assert_eq!(groups(&export), ["db"]);
}
