//! The preview of an action on a whole job shows what the action does, and writes nothing.

use operations::{JobAction, JobSnapshot, Report, preview};

use crate::support::{World, by, job, noon, on_request, shared_by};

/// Returns the targets that a report lists as done, and as left alone.
fn targets(report: &Report) -> [Vec<&str>; 2] {
    [&report.done, &report.left].map(|list| list.iter().map(|entry| &*entry.target).collect())
}

#[tokio::test(start_paused = true)]
async fn preview_lists_the_targets_of_the_action() {
    let world = World::new();
    let _members = [world.member(1, on_request()).await, world.member(2, on_request()).await];
    world.until("both to share", |job| shared_by(job, &[1, 2])).await;
    let operations = world.operations();
    for action in JobAction::ALL {
        let before: JobSnapshot = operations.job(&job()).await.unwrap();
        let preview = preview(&before, &action.change(&job()), noon()).unwrap();
        let after = operations.job(&job()).await.unwrap();
        assert!(before.nodes().eq(after.nodes()), "{action} writes nothing in a preview");
        let report = operations.act(&job(), action, &by()).await.unwrap();
        assert_eq!(targets(&preview), targets(&report), "{action}");
        assert!(preview.records.is_empty(), "{action}");
    }
}

#[tokio::test(start_paused = true)]
async fn preview_fails_like_the_action() {
    let world = World::new();
    let _session = world.write(&[("/job/config", "{")], &[]).await;
    let preview = preview(&world.now(), &JobAction::Run.change(&job()), noon()).unwrap_err();
    let error = world.operations().act(&job(), JobAction::Run, &by()).await.unwrap_err();
    assert_eq!(preview, error);
}
