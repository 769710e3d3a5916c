//! A job that its own error handler has stopped: the reason is shown, and `resume` restarts it.

use crate::support;

use coordination::ServerState;
use lite::{Dialect, JavaFields, JavaFields3, JavaSettings};
use operations::{Scope, WhyNot, why_item_not_running};
use sharding::ShardingItem;

use support::{World, by, every_ten_seconds, ip, job, noon};

#[tokio::test(start_paused = true)]
async fn stopped_job_names_its_error_handler_and_can_be_resumed() {
    let world = World::new();
    world.fail(&[0, 1, 2, 3]);
    let error_handler = Some("THROW".to_owned());
    let fields = JavaFields::V3(JavaFields3 { error_handler, ..JavaFields3::default() });
    let java = JavaSettings { fields, ..JavaSettings::default() };
    let member = world.member_in(1, every_ten_seconds().java_settings(java), Dialect::V3).await;
    let is_paused = |job: &operations::JobSnapshot| {
        job.view().server_state(&ip(1)) == Some(ServerState::Paused)
    };
    let now = world.until("a paused server", is_paused).await;
    assert_eq!(world.seen().len(), 4, "one fire, and no more");
    let reasons = why_item_not_running(&now, ShardingItem::new(0), noon());
    let Some(WhyNot::OwnerHeldBack { owner, server }) = reasons.first() else {
        panic!("{reasons:?}")
    };
    assert_eq!(owner, "10.0.0.1@-@1");
    let who = "server 10.0.0.1 is paused (pause by 10.0.0.1@-@1 at 2024-02-29T12:00:10Z: error handler THROW: item ";
    assert!(server.starts_with(who), "{server}");
    assert!(server.ends_with("failed for the fire of 2024-02-29T12:00:10Z)"), "{server}");
    assert!(!server.contains("it shall fail"), "texts of the job's code are not stored: {server}");
    let status = member.handle.status().await.unwrap();
    assert!(server.contains(&status.stopped.unwrap()), "{server}");

    world.fail(&[]);
    let report = world.operations().resume(&Scope::of_both(job(), ip(1)), &by()).await.unwrap();
    assert!(report.has_changed(), "{report}");
    world.until_seen("the next fire", |seen| seen.len() == 8).await;
    assert_eq!(member.handle.status().await.unwrap().stopped, None);
}
