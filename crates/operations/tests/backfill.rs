//! Backfills: requests with their previews, progress, cancellation, and what is refused.

use crate::support;

use std::time::Duration;

use coordination::{MAX_BACKFILL_CONCURRENCY, MAX_BACKFILL_FIRES};
use jiff::Timestamp;
use lite::{Dialect, JobBuilder};
use operations::{
    BackfillPreview, BackfillRequest, BackfillState, Error, Report, WhyNot, why_not_running,
};

use support::{World, by, every_ten_seconds, items, job, noon, on_request, within};

const WAIT: Duration = Duration::from_secs(300);

/// A job of two items that fires each day at six, except on Sundays.
fn daily() -> JobBuilder {
    JobBuilder::new("job", 2).cron("0 0 6 * * ?").excluded_days("SUN")
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Three days with fires: 23 and 24 February are a Friday and a Saturday, the 25th is a Sunday.
fn days() -> BackfillRequest {
    BackfillRequest::new(at("2024-02-23T06:00:00Z"), at("2024-02-27T06:00:00Z"))
}

fn texts(report: &Report) -> Vec<(&str, &str)> {
    let entries = report.done.iter().chain(&report.left);
    entries.map(|entry| (entry.target.as_str(), entry.what.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn past_fires_run_again_with_author_and_reason() {
    let world = World::new();
    let _members = [world.member(1, daily()).await, world.member(2, daily()).await];
    let operations = world.operations();
    let BackfillPreview { report: preview, fires, warning, .. } =
        operations.preview_backfill(&job(), &days()).await.unwrap();
    assert!(warning.unwrap().contains("no time_zone"), "{warning:?}");
    let expected = ["2024-02-23T06:00:00Z", "2024-02-24T06:00:00Z", "2024-02-26T06:00:00Z"];
    assert_eq!(fires, expected.map(at), "the end is exclusive, and Sunday is excluded");
    assert!(world.now().backfills().next().is_none(), "a preview changes nothing");

    let requested = operations.backfill(&job(), &days(), &by()).await.unwrap();
    let id = requested.id.unwrap();
    let what = format!(
        "backfill {id}: 3 fires from 2024-02-23T06:00:00Z to 2024-02-26T06:00:00Z, 1 at once, by \
         all items"
    );
    assert_eq!(texts(&requested.report), [("job", what.as_str())]);
    assert_eq!(texts(&preview), [("job", what.replace(&id, "preview").as_str())]);
    let record = &requested.report.records[0].record;
    assert_eq!((&*record.act, &*record.who, &*record.why), ("backfill", "anna", "release 12"));

    let ended = within("the end", operations.backfill_outcome(&job(), &id, WAIT)).await.unwrap();
    assert_eq!((ended.state, ended.done, ended.total), (BackfillState::Done, 3, 3));
    assert_eq!((&*ended.by, &*ended.why, &*ended.items), ("anna", "release 12", &[0, 1][..]));
    let mut runs = world.seen();
    assert!(runs.iter().all(|(_, source, _)| *source == "BACKFILL"), "{runs:?}");
    runs.sort();
    let of_items: Vec<u32> = runs.iter().map(|(item, ..)| *item).collect();
    assert_eq!(of_items, [0, 0, 0, 1, 1, 1]);
    assert_eq!(why_not_running(&world.now(), noon()).len(), 1, "only the next fire");
}

#[tokio::test(start_paused = true)]
async fn second_backfill_is_refused_until_the_first_is_cancelled() {
    let world = World::new();
    let _member = world.member(1, daily()).await;
    world.hold(&[0]);
    let operations = world.operations();
    let request = days().items(Some(items(&[0]))).concurrency(2);
    let id = operations.backfill(&job(), &request, &by()).await.unwrap().id.unwrap();
    world.until_seen("the first run", |seen| seen.len() == 1).await;
    let why = why_not_running(&world.now(), noon());
    let in_progress = |why: &WhyNot| matches!(why, WhyNot::Backfilling { done: 0, total: 3, .. });
    assert!(why.iter().any(in_progress), "{why:?}");
    let error = operations.backfill(&job(), &days(), &by()).await.unwrap_err();
    let Error::BackfillInProgress { id: known, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*known, id);

    let preview = operations.preview_cancel_backfill(&job(), &id).await.unwrap();
    let report = operations.cancel_backfill(&job(), &id, &by()).await.unwrap();
    assert_eq!(texts(&report), texts(&preview));
    let expected =
        (&*format!("backfill {id}"), "cancelled after 0 of 3 fires; runs in progress go on");
    assert_eq!(texts(&report), [expected]);
    let ended = within("the end", operations.backfill_outcome(&job(), &id, WAIT)).await.unwrap();
    assert_eq!(ended.state, BackfillState::Cancelled);
    assert_eq!(ended.cancelled_why.as_deref(), Some("release 12"));
    let again = operations.cancel_backfill(&job(), &id, &by()).await.unwrap();
    assert_eq!(again.left[0].what, "it has ended");
    world.hold(&[]);
    let id = operations.backfill(&job(), &days(), &by()).await.unwrap().id.unwrap();
    let ended = within("the end", operations.backfill_outcome(&job(), &id, WAIT)).await.unwrap();
    assert_eq!(ended.state, BackfillState::Done);
    assert_eq!(world.now().backfills().count(), 2);
    assert_eq!(world.seen().len(), 1 + 6, "the cancelled one has run once");
}

#[tokio::test(start_paused = true)]
async fn invalid_values_are_named_with_the_valid_ones() {
    let world = World::new();
    let _member = world.member(1, every_ten_seconds()).await;
    let operations = world.operations();
    let (from, to) = (at("2024-02-29T00:00:00Z"), at("2024-02-29T01:00:00Z"));
    let too_many = format!(
        "to is 2024-02-29T06:00:00Z, after more than {MAX_BACKFILL_FIRES} fires; valid is a period \
         of at most {MAX_BACKFILL_FIRES} fires: end it at 2024-02-29T02:46:40Z, and continue from \
         there"
    );
    let concurrency =
        format!("concurrency is 17; valid is a number from 1 to {MAX_BACKFILL_CONCURRENCY}");
    let rows = [
        (
            BackfillRequest::new(to, to),
            "from is 2024-02-29T01:00:00Z; valid is a time before 2024-02-29T01:00:00Z",
        ),
        (
            BackfillRequest::new(from, at("2024-02-29T12:00:01Z")),
            "to is 2024-02-29T12:00:01Z; valid is a time until now, 2024-02-29T12:00:00Z",
        ),
        (BackfillRequest::new(from, to).concurrency(17), &concurrency),
        (BackfillRequest::new(from, at("2024-02-29T06:00:00Z")), &too_many),
        (
            BackfillRequest::new(from, to).items(Some(items(&[4]))),
            "job job has no item 4; it has 4 items, counted from 0",
        ),
    ];
    for (request, expected) in rows {
        let error = operations.backfill(&job(), &request, &by()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = operations.cancel_backfill(&job(), "b", &by()).await.unwrap_err().to_string();
    assert_eq!(error, "job job has no backfill b; it has none");
    let exact = BackfillRequest::new(from, at("2024-02-29T02:46:40Z"));
    let fires = operations.preview_backfill(&job(), &exact).await.unwrap().fires;
    assert_eq!(fires.len(), MAX_BACKFILL_FIRES);
}

#[tokio::test(start_paused = true)]
async fn job_that_cannot_run_past_fires_is_refused() {
    let unmonitored = || daily().monitor_execution(false).failover(false);
    let rows = [
        (on_request(), "it has no schedule, so it has no past fires"),
        (
            on_request().cron("@after 5m"),
            "with a fixed delay, the end of each run decides when the next fire comes",
        ),
        (unmonitored(), "without monitoring items have no records to remember their past fires in"),
    ];
    for (config, why) in rows {
        let world = World::new();
        let _member = world.member(1, config).await;
        let error = world.operations().backfill(&job(), &days(), &by()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("a backfill is not possible for job job: {why}"));
    }
}

#[tokio::test(start_paused = true)]
async fn job_with_java_instance_is_refused() {
    let world = World::new();
    let _member = world.member(1, daily()).await;
    let _java = world.write(&[], &[("/job/instances/10.0.0.9@-@9", "")]).await;
    let error = world.operations().backfill(&job(), &days(), &by()).await.unwrap_err();
    let why = "Java instances run an item only for the present time";
    assert_eq!(error.to_string(), format!("a backfill is not possible for job job: {why}"));
}

/// A job in the format of 3.x without Java instances.
#[tokio::test(start_paused = true)]
async fn past_fires_run_again_in_the_dialect_of_3() {
    let world = World::new();
    let _member = world.member_in(1, daily(), Dialect::V3).await;
    let operations = world.operations();
    let id = operations.backfill(&job(), &days(), &by()).await.unwrap().id.unwrap();
    let ended = within("the end", operations.backfill_outcome(&job(), &id, WAIT)).await.unwrap();
    assert_eq!((ended.state, world.seen().len()), (BackfillState::Done, 6));
}

#[tokio::test(start_paused = true)]
async fn period_without_fires_is_left_alone() {
    let world = World::new();
    let _member = world.member(1, daily()).await;
    let sunday = BackfillRequest::new(at("2024-02-25T00:00:00Z"), at("2024-02-26T00:00:00Z"));
    let requested = world.operations().backfill(&job(), &sunday, &by()).await.unwrap();
    assert_eq!(requested.id, None);
    let what = "its schedule has no fires from 2024-02-25T00:00:00Z to 2024-02-26T00:00:00Z";
    assert_eq!(texts(&requested.report), [("job", what)]);
}
