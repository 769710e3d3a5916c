//! Groups of jobs: changes of their limits, and waits of jobs for them.

use coordination::{GroupLimits, GroupName, StartRate};
use operations::{Error, WhyNot, why_item_not_running};
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
    let now = operations.with_group(now).await.unwrap();
    let reasons = why_item_not_running(&now, ShardingItem::new(1), world.time());
    let wait = reasons.iter().find(|why| matches!(why, WhyNot::WaitsForGroup { .. }));
    let expected =
        "waits for a permit of the group db (1 of 1 are taken): job item 0 on 10.0.0.1@-@1";
    assert_eq!(wait.map(ToString::to_string).as_deref(), Some(expected), "{reasons:?}");
    world.hold(&[]);
}
