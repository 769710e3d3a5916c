//! Previews of changes equal the reports of the changes.

use std::time::Duration;

use coordination::{JobConfig, JobName, RequestParameter, TemplateName, TemplateRecord};
use operations::{Change, DrainMode, Entry, Error, Removal, Report, Scope, preview};

use crate::support;

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

fn of(report: &Report) -> (Vec<Entry>, Vec<Entry>) {
    assert!(report.failed.is_empty(), "{report}");
    (report.done.clone(), report.left.clone())
}

#[tokio::test(start_paused = true)]
async fn previews_of_the_registry_are_the_reports_of_the_changes() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();
    let (server, wait) = (Scope::of_server(ip(1)), Duration::from_secs(60));

    let expected = operations.preview(&server, &Change::Pause(server.clone())).await.unwrap();
    assert!(expected.has_changed() && expected.records.is_empty(), "{expected}");
    assert_eq!(of(&operations.pause(&server, &by()).await.unwrap()), of(&expected));
    let expected = operations.preview(&server, &Change::Resume(server.clone())).await.unwrap();
    assert_eq!(of(&operations.resume(&server, &by()).await.unwrap()), of(&expected));

    let month = RequestParameter::new("2024-02").unwrap();
    let expected = operations.preview_trigger(&job(), None, Some(&month)).await.unwrap();
    let run = operations.trigger_with(&job(), None, &month, &by()).await.unwrap();
    assert_eq!(of(&run.report), of(&expected));
    operations.outcome(&run.request.unwrap(), wait).await.unwrap();

    let mode = DrainMode::Disable;
    let expected = operations.preview_drain(&job(), &ip(1), mode).await.unwrap();
    assert!(!expected.complete && !expected.owned.is_empty(), "{expected:?}");
    let drained = operations.drain(&job(), &ip(1), mode, &by(), wait).await.unwrap();
    assert_eq!(of(&drained.report), of(&expected.report));
    assert!(operations.preview_drain(&job(), &ip(1), mode).await.unwrap().complete);
    let unknown = operations.preview_drain(&job(), &ip(9), mode).await;
    assert!(matches!(unknown, Err(Error::NoSuch { what: "server", .. })), "{unknown:?}");
    // No other server could take the items, so the drain would wait for their runs only.
    let expected = operations.preview_drain_server(&ip(2), mode).await.unwrap();
    assert!(expected.jobs[0].complete && !expected.jobs[0].owned.is_empty(), "{expected:?}");
    let drained = operations.drain_server(&ip(2), mode, &by(), wait).await.unwrap();
    assert_eq!(of(&drained.report), of(&expected.report));

    let alive = operations.preview_remove_job(&job(), "job", Removal::UnlessAlive).await;
    assert!(matches!(alive, Err(Error::InstancesAlive { .. })), "{alive:?}");
    let other = operations.preview_remove_job(&job(), "x", Removal::EvenIfAlive).await;
    assert!(matches!(other, Err(Error::NotConfirmed { .. })), "{other:?}");
    let how = Removal::EvenIfAlive;
    let expected = operations.preview_remove_job(&job(), "job", how).await.unwrap();
    assert_eq!(of(&operations.remove_job(&job(), "job", how, &by()).await.unwrap()), of(&expected));
}

#[tokio::test(start_paused = true)]
async fn preview_of_a_creation_is_its_report() {
    let world = World::new();
    let operations = world.operations();
    let template = TemplateRecord { template: TemplateName::new("report").unwrap(), label: None };
    let config = JobConfig::new(JobName::new("other").unwrap(), 1);
    let expected = operations.preview_create_job(&template, &config).await.unwrap();
    assert_eq!(world.stored("/other/config"), None, "a preview writes nothing");
    let created = operations.create_job(&template, &config, &by()).await.unwrap();
    assert_eq!(of(&created), of(&expected));
    let exists = operations.preview_create_job(&template, &config).await;
    assert!(matches!(exists, Err(Error::JobExists { .. })), "{exists:?}");
}
