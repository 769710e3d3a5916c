//! Previews of changes equal the reports of the changes.

use crate::support;

use operations::{Change, Error, Scope, preview};

use support::{World, by, ip, items, job, noon, on_request, shared_by};

#[tokio::test(start_paused = true)]
async fn preview_is_the_report_of_the_change_and_writes_nothing() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();
    let (one, all) = (Scope::of_both(job(), ip(1)), Scope::of_job(job()));
    let seen = async |change: Change| {
        let before = operations.job(&job()).await.unwrap();
        let report = preview(&before, &change, noon()).unwrap();
        let after = operations.job(&job()).await.unwrap();
        assert!(before.nodes().eq(after.nodes()), "{change:?} was written");
        (report.done, report.left)
    };
    let of = |report: operations::Report| (report.done, report.left);

    let expected = seen(Change::Pause(one.clone())).await;
    assert_eq!(of(operations.pause(&one, &by()).await.unwrap()), expected);
    let expected = seen(Change::Resume(all.clone())).await;
    assert_eq!(of(operations.resume(&all, &by()).await.unwrap()), expected);
    let expected = seen(Change::Disable(one.clone())).await;
    assert_eq!(of(operations.disable(&one, &by()).await.unwrap()), expected);
    let expected = seen(Change::Enable(all.clone())).await;
    assert_eq!(of(operations.enable(&all, &by()).await.unwrap()), expected);
    let expected = seen(Change::DisableItems(items(&[1]))).await;
    assert_eq!(of(operations.disable_items(&job(), &items(&[1]), &by()).await.unwrap()), expected);
    let expected = seen(Change::EnableItems(items(&[0, 1]))).await;
    let enabled = operations.enable_items(&job(), &items(&[0, 1]), &by()).await.unwrap();
    assert_eq!(of(enabled), expected);
    let expected = seen(Change::Run(None)).await;
    assert_eq!(of(operations.trigger(&job(), None, &by()).await.unwrap().report), expected);
    let expected = seen(Change::ShutDown(one.clone())).await;
    assert_eq!(of(operations.shut_down(&one, &by()).await.unwrap()), expected);
    let expected = seen(Change::RemoveServers(one.clone())).await;
    assert_eq!(of(operations.remove_servers(&one, &by()).await.unwrap()), expected);
    let unknown = preview(
        &operations.job(&job()).await.unwrap(),
        &Change::DisableItems(items(&[9_999])),
        noon(),
    );
    assert!(matches!(unknown, Err(Error::NoSuch { what: "item", .. })), "{unknown:?}");
}
