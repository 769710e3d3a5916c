//! Cancellation of runs: the requests, their previews, and what is left alone.

use crate::support;

use coordination::{FireTime, Layout, Outcome};
use jiff::Timestamp;
use lite::JobBuilder;
use operations::{
    BackfillRequest, Change, Error, ItemState, JobSnapshot, Report, RunsToCancel, WhyNot,
    item_briefs, preview, why_item_not_running, why_not_running,
};
use reg_center::MemoryCenter;
use reg_center::memory::WriteFault;
use sharding::ShardingItem;
use std::sync::Arc;

use support::{Member, World, by, items, job, noon, on_request, shared_by};

/// Two instances whose runs of all items hang.
async fn hanging(world: &World) -> [Member; 2] {
    let members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    world.hold(&[0, 1, 2, 3]);
    let operations = world.operations();
    let triggered = operations.trigger(&job(), None, &by()).await.unwrap();
    let all = triggered.request.unwrap().items.len();
    world.until_seen("all items to run", |seen| seen.len() == all).await;
    members
}

fn texts(entries: &[operations::Entry]) -> Vec<(&str, bool)> {
    entries.iter().map(|entry| (entry.target.as_str(), entry.as_wanted)).collect()
}

fn outcome(world: &World, item: u32) -> Option<Outcome> {
    world.now().view().item(ShardingItem::new(item)).ledger.as_ref()?.value.outcome
}

#[tokio::test(start_paused = true)]
async fn one_item_is_cancelled_with_author_and_reason() {
    let world = World::new();
    let _members = hanging(&world).await;
    let operations = world.operations();
    let which = RunsToCancel::OfItems(items(&[1]));
    let expected = preview(&world.now(), &Change::Cancel(which.clone()), noon()).unwrap();

    let report = operations.cancel(&job(), &which, &by()).await.unwrap();

    assert_eq!((&report.done, &report.left), (&expected.done, &expected.left));
    assert_eq!(texts(&report.done), [("item 1", false)]);
    let what = &report.done[0].what;
    assert!(what.contains("token 1, is cancelled on 10.0.0."), "{what}");
    assert_eq!(
        (&*report.records[0].record.act, &*report.records[0].record.target),
        ("cancel", "item 1")
    );
    let ended = world.until("the end of the run", |_| outcome(&world, 1).is_some()).await;
    let record = &ended.view().item(ShardingItem::new(1)).ledger.as_ref().unwrap().value;
    assert_eq!(record.outcome, Some(Outcome::Cancelled));
    let request = record.cancel_request().unwrap();
    assert_eq!((request.by(), request.why()), ("anna", "release 12"));
    assert!(!item_briefs(&ended)[1].failing, "an operator wanted it");
    assert_eq!(outcome(&world, 0), None, "the other items run on");
    let again = operations.cancel(&job(), &which, &by()).await.unwrap();
    assert_eq!((texts(&again.left), again.has_changed()), (vec![("item 1", false)], false));
    assert_eq!(again.left[0].what, "it does not run");
}

#[tokio::test(start_paused = true)]
async fn request_is_repeated_after_a_lost_reply_and_written_once() {
    let world = World::new();
    let _members = hanging(&world).await;
    let center: Arc<MemoryCenter> = Arc::new(world.registry.connect());
    center.fail_next_write(WriteFault::LoseReply);
    let operations = operations::Operations::new(center).wall_clock(noon);
    let which = RunsToCancel::OfItems(items(&[0]));
    let report = operations.cancel(&job(), &which, &by()).await.unwrap();
    assert_eq!(texts(&report.done), [("item 0", false)]);
    world.until("the end of the run", |_| outcome(&world, 0).is_some()).await;
    let cancels = world.now().audit().filter(|record| record.act == "cancel").count();
    assert_eq!(cancels, 1);
}

#[tokio::test(start_paused = true)]
async fn all_runs_or_those_of_one_fire_are_cancelled() {
    let world = World::new();
    let _members = hanging(&world).await;
    let operations = world.operations();
    let view = world.now();
    let ledger = |item| &view.view().item(ShardingItem::new(item)).ledger.as_ref().unwrap().value;
    let fire = ledger(0).run().unwrap().fire;
    let other = RunsToCancel::OfFire(FireTime(fire.0 + 2));
    let none = operations.preview_cancel(&job(), &other).await.unwrap();
    assert!(!none.has_changed());
    assert!(none.left[0].what.starts_with("no run for the fire of "), "{}", none.left[0].what);
    let of_fire = operations.preview_cancel(&job(), &RunsToCancel::OfFire(fire)).await.unwrap();
    let all = operations.cancel(&job(), &RunsToCancel::All, &by()).await.unwrap();
    assert_eq!(of_fire.done, all.done);
    let total = view.items().len();
    assert_eq!(all.done.len(), total);
    let is_over = |item| outcome(&world, item) == Some(Outcome::Cancelled);
    let n = u32::try_from(total).unwrap();
    world.until("all runs to end", |_| (0..n).all(is_over)).await;
    let nothing = operations.cancel(&job(), &RunsToCancel::All, &by()).await.unwrap();
    assert_eq!(nothing.left[0].what, "no run is unfinished");
}

/// Scripts of a backfill see the past fire as their fire time.
#[tokio::test(start_paused = true)]
async fn run_of_a_backfill_is_cancelled_by_its_past_fire() {
    let world = World::new();
    let daily = JobBuilder::new("job", 2).cron("0 0 6 * * ?");
    let _member = world.member(1, daily).await;
    world.hold(&[0, 1]);
    let operations = world.operations();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let days = BackfillRequest::new(at("2024-02-23T06:00:00Z"), at("2024-02-25T06:00:00Z"));
    operations.backfill(&job(), &days, &by()).await.unwrap();
    world.until_seen("both items to run", |seen| seen.len() == 2).await;
    let [first, second] = ["2024-02-23T06:00:00Z", "2024-02-24T06:00:00Z"]
        .map(|text| RunsToCancel::OfFire(FireTime(at(text).as_millisecond())));
    let report = operations.cancel(&job(), &second, &by()).await.unwrap();
    assert!(!report.has_changed(), "the second fire has not begun: {report:?}");
    let report = operations.cancel(&job(), &first, &by()).await.unwrap();
    assert_eq!(texts(&report.done), [("item 0", false), ("item 1", false)]);
    world.until_seen("the second fire to begin", |seen| seen.len() == 4).await;
}

#[tokio::test(start_paused = true)]
async fn item_beyond_a_lowered_number_is_cancelled_while_it_runs() {
    let world = World::new();
    let _members = hanging(&world).await;
    let fewer = on_request().build().unwrap().with(|config| config.sharding_total_count = 1);
    world.replace("/job/config", &coordination::encode_config(&fewer)).await;
    let which = RunsToCancel::OfItems(items(&[3]));
    let report = world.operations().cancel(&job(), &which, &by()).await.unwrap();
    assert_eq!(texts(&report.done), [("item 3", false)]);
    world.until("the end", |_| outcome(&world, 3) == Some(Outcome::Cancelled)).await;
    let error = world.operations().cancel(&job(), &which, &by()).await.unwrap_err();
    assert!(matches!(error, Error::NoSuch { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn why_names_author_and_reason_until_the_run_has_ended() {
    let world = World::new();
    let [one, two] = hanging(&world).await;
    let owner = world.now().owner(ShardingItem::new(0)).unwrap().to_string();
    drop(if owner.starts_with("10.0.0.1@") { one } else { two });
    let which = RunsToCancel::OfItems(items(&[0]));
    world.operations().cancel(&job(), &which, &by()).await.unwrap();
    let reasons = why_item_not_running(&world.now(), ShardingItem::new(0), noon());
    let (by, why, at_ms) = ("anna".to_owned(), "release 12".to_owned(), noon().as_millisecond());
    let expected = WhyNot::Cancelled { by, why, at_ms };
    assert!(reasons.contains(&expected), "{reasons:?}");
    let text = expected.to_string();
    assert_eq!(
        text,
        "anna cancelled its run at 2024-02-29T12:00:00Z: release 12; its holder ends it, or the leader"
    );
}

/// The sessions of all instances have ended, and no instance is alive to take a run over.
#[tokio::test(start_paused = true)]
async fn run_of_a_lost_holder_is_orphaned() {
    let world = World::new();
    let _members = hanging(&world).await;
    let model = world.registry.snapshot();
    let root = Layout::new(&job()).root();
    let lasting = model.subtree(&root).filter(|node| node.stat.owner.is_none()).cloned().collect();
    let now = JobSnapshot::of_nodes(&job(), lasting);
    let item = ShardingItem::new(0);
    let brief = item_briefs(&now).remove(0);
    assert_eq!((brief.running, brief.orphaned, brief.status), (false, true, ItemState::Unowned));
    let holder = now.lost_holder(item).map(ToString::to_string);
    assert!(holder.is_some());
    let reasons = why_item_not_running(&now, item, noon());
    assert!(reasons.contains(&WhyNot::Orphaned { holder }), "{reasons:?}");
    assert!(!reasons.iter().any(|why| matches!(why, WhyNot::Runs { .. })), "{reasons:?}");
    let reasons = why_not_running(&now, noon());
    assert!(reasons.contains(&WhyNot::OrphanedItems { items: vec![0, 1, 2, 3] }), "{reasons:?}");
    let which = Change::Cancel(RunsToCancel::OfItems(items(&[0])));
    let what = &preview(&now, &which, noon()).unwrap().done[0].what;
    assert!(what.ends_with("token 1, is ended by the leader"), "{what}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_cancelled_is_rejected_with_the_reason() {
    let world = World::new();
    let _member = world.member(1, on_request().monitor_execution(false)).await;
    let operations = world.operations();
    let of = |which: RunsToCancel| {
        let operations = operations.clone();
        async move { operations.cancel(&job(), &which, &by()).await }
    };
    let error = of(RunsToCancel::All).await.unwrap_err();
    assert!(matches!(error, Error::NotSupported { .. }), "{error:?}");
    assert!(error.to_string().contains("without monitoring runs have no records"), "{error}");

    let world = World::new();
    let _members = hanging(&world).await;
    let unknown = RunsToCancel::OfItems(items(&[0, 99]));
    let error = world.operations().cancel(&job(), &unknown, &by()).await.unwrap_err();
    assert!(matches!(error, Error::NoSuch { .. }), "{error:?}");
    let untouched = world.now().audit().filter(|record| record.act == "cancel").count();
    assert_eq!(untouched, 0, "one unknown item rejects the whole request");
    let _: Report = world.operations().preview_cancel(&job(), &RunsToCancel::All).await.unwrap();
}
