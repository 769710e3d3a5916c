//! Configuration as code: the namespace has what the files declare, and no other owner loses a job.

use crate::support;

use coordination::{Dialect, GroupLimits, GroupName, JavaSettings, JobConfig, JobName};
use operations::{
    ApplyPlan, Entry, Error, FieldChange, ImportAct, JobSnapshot, Operations, Owner, Report,
    plan_apply, plan_import,
};
use sharding::StrategyRegistry;

use support::{World, by, noon, on_request};

fn config(name: &str) -> JobConfig {
    JobConfig::new(JobName::new(name).unwrap(), 2)
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

async fn plan(operations: &Operations, declared: &[JobConfig], by: &str) -> ApplyPlan {
    let namespace = operations.namespace().await.unwrap();
    plan_apply(declared, &namespace, &owner(by), true, &StrategyRegistry::default(), noon())
}

async fn apply(operations: &Operations, declared: &[JobConfig], owner: &str) -> Report {
    let plan = plan(operations, declared, owner).await;
    operations.apply(&plan, &by()).await
}

async fn names(operations: &Operations) -> Vec<String> {
    let namespace = operations.namespace().await.unwrap();
    namespace.configured().map(|job| job.job().to_string()).collect()
}

async fn job(operations: &Operations, name: &str) -> JobSnapshot {
    operations.job(&JobName::new(name).unwrap()).await.unwrap()
}

fn acts(plan: &ApplyPlan) -> Vec<(&str, &ImportAct)> {
    plan.steps.iter().map(|step| (step.job.as_str(), &step.act)).collect()
}

#[tokio::test(start_paused = true)]
async fn namespace_becomes_what_is_declared_and_a_second_apply_changes_nothing() {
    let world = World::new();
    let operations = world.operations();
    let declared = [config("b"), config("a")];
    let planned = plan(&operations, &declared, "team").await;
    let created = ImportAct::Create { changes: Vec::new() };
    assert_eq!(acts(&planned), [("a", &created), ("b", &created)]);
    assert!(planned.has_changes() && !planned.is_partial());
    assert!(names(&operations).await.is_empty(), "a plan changes nothing");

    let report = operations.apply(&planned, &by()).await;
    assert_eq!((report.done.len(), report.failed.len()), (2, 0), "{report}");
    let again = plan(&operations, &declared, "team").await;
    assert!(!again.has_changes(), "{again:?}");

    let changed = [config("a"), config("b").with(|it| it.failover = true)];
    let planned = plan(&operations, &changed, "team").await;
    let (field, from, to) = ("failover", "false".to_owned(), "true".to_owned());
    let replaced = ImportAct::Replace { changes: vec![FieldChange { field, from, to }] };
    assert_eq!(acts(&planned), [("a", &ImportAct::Same), ("b", &replaced)]);
    operations.apply(&planned, &by()).await;
    let b = job(&operations, "b").await;
    assert!(b.config().unwrap().failover);
    assert_eq!(b.former_configs().unwrap().iter().count(), 1, "the way back is kept");
    assert_eq!(b.audit().next_back().map(|record| &*record.why), Some("release 12"));
}

/// A job that was stored without a strategy keeps average allocation.
#[tokio::test(start_paused = true)]
async fn new_jobs_get_the_default_strategy_and_stored_ones_keep_theirs() {
    let world = World::new();
    let operations = world.operations();
    let present = operations.namespace().await.unwrap();
    let imported = [config("earlier").into()];
    let strategies = StrategyRegistry::default();
    let steps = plan_import(&imported, |name| present.stored(name), false, &strategies, noon());
    operations.import_all(&steps, &by(), || ()).await;
    let declared = [config("earlier"), config("new")];
    apply(&operations, &declared, "team").await;
    let strategy =
        async |name: &str| job(&operations, name).await.config().unwrap().strategy.clone();
    assert_eq!(strategy("earlier").await, "");
    assert_eq!(strategy("new").await, "PLACEMENT");
    let again = plan(&operations, &declared, "team").await;
    assert!(!again.has_changes(), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn prune_removes_only_jobs_that_this_owner_created() {
    let world = World::new();
    let operations = world.operations();
    let _member = world.member(1, on_request()).await;
    apply(&operations, &[config("a"), config("b")], "team").await;
    apply(&operations, &[config("other")], "others").await;

    let planned = plan(&operations, &[config("a")], "team").await;
    let removed: Vec<_> = planned.removals.iter().map(|removal| &*removal.job).collect();
    assert_eq!(removed, ["b"], "neither the registered job nor that of another owner");
    let report = operations.apply(&planned, &by()).await;
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(names(&operations).await, ["a", "job", "other"]);
}

#[tokio::test(start_paused = true)]
async fn prune_keeps_jobs_with_live_instances() {
    let world = World::new();
    let operations = world.operations();
    apply(&operations, &[config("job")], "team").await;
    let _member = world.member(1, on_request()).await;
    let planned = plan(&operations, &[], "team").await;
    assert_eq!(planned.removals.len(), 1);
    let report = operations.apply(&planned, &by()).await;
    assert!(matches!(*report.causes, [Error::InstancesAlive { .. }]), "{report}");
    assert_eq!(names(&operations).await, ["job"]);
}

#[tokio::test(start_paused = true)]
async fn job_of_another_owner_is_refused() {
    let operations = World::new().operations();
    apply(&operations, &[config("a")], "team").await;
    let changed = [config("a").with(|it| it.failover = true)];
    let planned = plan(&operations, &changed, "others").await;
    let reason = "the owner team created it, not others".to_owned();
    assert_eq!(acts(&planned), [("a", &ImportAct::Refused { reason })]);
    assert!(planned.is_partial());
    let report = operations.apply(&planned, &by()).await;
    assert!(!report.has_changed() && report.left.len() == 1, "{report}");
}

/// A job that a program registered keeps the fields of Java, and is never removed.
#[tokio::test(start_paused = true)]
async fn registered_job_is_changed_but_not_adopted() {
    let world = World::new();
    let operations = world.operations();
    let _member = world.member(1, on_request()).await;
    let stored = job(&operations, "job").await.config().unwrap().clone();
    let declared = JobConfig::new(stored.job_name.clone(), stored.sharding_total_count)
        .with(|it| it.description = "declared".to_owned());
    apply(&operations, &[declared], "team").await;
    let changed = job(&operations, "job").await;
    assert_eq!(changed.config().unwrap().description, "declared");
    assert_eq!(Owner::of(changed.config().unwrap()), None);
    assert!(plan(&operations, &[], "team").await.removals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn job_that_changed_since_the_plan_fails_and_the_others_go_on() {
    let operations = World::new().operations();
    apply(&operations, &[config("a"), config("b")], "team").await;
    let wanted = [config("a"), config("b")].map(|it| it.with(|it| it.failover = true));
    let planned = plan(&operations, &wanted, "team").await;
    let a = job(&operations, "a").await;
    let other = a.config().unwrap().clone().with(|it| it.description = "other".to_owned());
    operations.update_config(&other, a.config_revision().unwrap(), &by()).await.unwrap();

    let report = operations.apply(&planned, &by()).await;
    let failed: Vec<_> = report.failed.iter().map(|entry| &*entry.job).collect();
    assert_eq!(failed, ["a"]);
    assert!(matches!(report.causes[0], Error::StaleConfig { .. }), "{report}");
    assert!(job(&operations, "b").await.config().unwrap().failover);
    assert!(!job(&operations, "a").await.config().unwrap().failover);
}

fn db() -> GroupName {
    GroupName::new("db").unwrap()
}

fn runs(max: u32) -> GroupLimits {
    GroupLimits { cluster_concurrency: Some(max), start_rate: None }
}

/// Plans the jobs, of which `grouped` is in the group, and the limits of the group.
async fn plan_with_limits(operations: &Operations, max: u32) -> ApplyPlan {
    let grouped = config("grouped").with(|it| it.group = Some(db()));
    let plan = plan(operations, &[config("alone"), grouped], "team").await;
    plan.with_limits(&[(db(), runs(max))].into(), &operations.groups().await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn limits_of_groups_are_set_before_the_jobs() {
    let operations = World::new().operations();
    operations.set_group(&GroupName::new("other").unwrap(), runs(1), &by()).await.unwrap();
    let planned = plan_with_limits(&operations, 2).await;
    let (field, from, to) = ("cluster_concurrency", "none".to_owned(), "2".to_owned());
    let limits = ImportAct::Create { changes: vec![FieldChange { field, from, to }] };
    let created = ImportAct::Create { changes: Vec::new() };
    let expected = [("group db", &limits), ("alone", &created), ("grouped", &created)];
    assert_eq!(acts(&planned), expected);
    let report = operations.apply(&planned, &by()).await;
    let done: Vec<_> = report.done.iter().map(|entry| &*entry.job).collect();
    assert_eq!(done, ["group db", "alone", "grouped"]);
    assert_eq!(
        (&*report.records[0].record.act, &*report.records[0].record.who),
        ("set group", "anna")
    );

    assert!(!plan_with_limits(&operations, 2).await.has_changes());
    let changed = plan_with_limits(&operations, 4).await;
    assert!(changed.has_changes() && !changed.is_partial());
    let identity = |plan: &ApplyPlan| plan.identity().collect::<Vec<_>>();
    operations.set_group(&db(), runs(3), &by()).await.unwrap();
    let later = plan_with_limits(&operations, 4).await;
    assert_ne!(identity(&changed), identity(&later), "the plan is based on other limits");
    let other = operations.group(&GroupName::new("other").unwrap()).await.unwrap();
    assert_eq!(other.view().limits(), Some(runs(1)), "no file declares the group");
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_group_whose_limits_fail_are_not_tried() {
    let operations = World::new().operations();
    let planned = plan_with_limits(&operations, 2).await;
    operations.set_group(&db(), runs(3), &by()).await.unwrap();
    let report = operations.apply(&planned, &by()).await;
    let names = |entries: &[Entry]| -> Vec<String> {
        entries.iter().map(|entry| entry.job.clone()).collect()
    };
    assert_eq!(names(&report.failed), ["group db"], "{report}");
    assert!(matches!(report.causes[..], [Error::Group { .. }]), "{report}");
    assert_eq!(names(&report.left), ["grouped"], "it would run without its limits");
    assert_eq!(names(&report.done), ["alone"]);
    assert_eq!(operations.group(&db()).await.unwrap().view().limits(), Some(runs(3)));
}

/// The confirmation of the plan names the revision of the configuration.
#[tokio::test(start_paused = true)]
async fn job_that_changed_since_the_plan_is_not_removed() {
    let operations = World::new().operations();
    apply(&operations, &[config("a")], "team").await;
    let planned = plan(&operations, &[], "team").await;
    let a = job(&operations, "a").await;
    let other = a.config().unwrap().clone().with(|it| it.failover = true);
    operations.update_config(&other, a.config_revision().unwrap(), &by()).await.unwrap();
    let report = operations.apply(&planned, &by()).await;
    assert!(matches!(report.causes[..], [Error::NotConfirmed { .. }]), "{report}");
    assert_eq!(names(&operations).await, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn new_job_has_dialect_of_namespace_and_its_owner() {
    let world = World::new();
    let operations = world.operations();
    let v3 = config("old").with(|it| it.java = JavaSettings::of(Dialect::V3));
    world.write(&[("/old/config", &coordination::encode_config(&v3))], &[]).await;
    apply(&operations, &[config("new")], "team").await;
    let new = job(&operations, "new").await;
    assert_eq!(new.dialect(), Dialect::V3);
    assert_eq!(Owner::of(new.config().unwrap()).as_deref(), Some("team"));
    let removals = plan(&operations, &[], "team").await.removals;
    assert_eq!(removals.iter().map(|removal| &*removal.job).collect::<Vec<_>>(), ["new"]);
}

#[test]
fn names_of_owners_are_checked() {
    for text in ["", "a b", "a\"b", "é", &"x".repeat(65)] {
        assert_eq!(Owner::parse(text), Err(Owner::VALID), "{text}");
    }
}
