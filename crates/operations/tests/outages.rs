//! What is told of a change when the registry goes while it is made: that nobody knows, what was done, and what was not tried.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobName, TemplateName, TemplateRecord, encode_config};
use operations::{Error, Operations, Removal, Scope};

use support::accident::{Accident, Then};
use support::{World, by, ip, job, noon};

fn operations(world: &World, then: Then, at: usize) -> Operations {
    Operations::new(Arc::new(Accident::new(&world.registry, then, at))).wall_clock(noon)
}

/// A world with the stored configurations of jobs, each with the server `10.0.0.1`.
async fn world(jobs: &[&str]) -> World {
    let world = World::new();
    for name in jobs {
        let config = encode_config(&JobConfig::new(JobName::new(name).unwrap(), 2));
        let (path, server) = (format!("/{name}/config"), format!("/{name}/servers/10.0.0.1"));
        world.write(&[(&*path, &*config), (&*server, "")], &[]).await;
    }
    world
}

#[tokio::test(start_paused = true)]
async fn a_change_after_which_the_registry_goes_may_have_happened() {
    for then in [Then::ReplyLostAndAway, Then::RequestLostAndAway] {
        let world = world(&["job"]).await;
        let changed = operations(&world, then.clone(), 1);
        let error = changed.disable(&Scope::of_both(job(), ip(1)), &by()).await.unwrap_err();
        assert!(error.is_unknown(), "{then:?}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("nobody can tell whether disable of job job"), "{text}");

        let record = TemplateRecord { template: TemplateName::new("report").unwrap(), label: None };
        let config = JobConfig::new(JobName::new("new").unwrap(), 2);
        let made = operations(&world, then.clone(), 1);
        let error = made.create_job(&record, &config, &by()).await.unwrap_err();
        assert!(error.is_unknown(), "{then:?}: {error}");
        let is_there = world.stored("/new/config").is_some();
        assert_eq!(is_there, then == Then::ReplyLostAndAway, "{then:?}");

        let removing = operations(&world, then.clone(), 1);
        let how = Removal::UnlessAlive;
        let error = removing.remove_job(&job(), "job", how, &by()).await.unwrap_err();
        assert!(error.is_unknown(), "{then:?}: {error}");
        let is_there = world.stored("/job/config").is_some();
        assert_eq!(is_there, then == Then::RequestLostAndAway, "{then:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_was_away_before_anything_was_sent_leaves_nothing_open() {
    let world = world(&["job", "other"]).await;
    let operations = operations(&world, Then::Away, 1);
    operations.disable(&Scope::of_both(job(), ip(1)), &by()).await.unwrap();
    let other = JobName::new("other").unwrap();
    let error = operations.disable(&Scope::of_both(other, ip(1)), &by()).await.unwrap_err();
    assert!(!error.is_unknown() && error.is_unanswered(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn of_a_job_that_is_removed_and_not_gone_it_is_told_that_nodes_are_left() {
    let rows = [
        (Then::Away, "no connection to the registry"),
        (Then::Disturbed("/job/left"), "somebody has written to it in each of 20 passes"),
    ];
    for (then, cause) in rows {
        let world = world(&["job"]).await;
        let operations = operations(&world, then.clone(), 1);
        let how = Removal::UnlessAlive;
        let error = operations.remove_job(&job(), "job", how, &by()).await.unwrap_err();
        assert!(matches!(error, Error::Remains { .. }), "{then:?}: {error}");
        let text = error.to_string();
        assert!(text.contains(cause) && text.ends_with("repeat the removal"), "{text}");
        assert_eq!(world.stored("/job/config"), None, "{then:?}");
        world.operations().remove_job(&job(), "job", how, &by()).await.unwrap();
        assert_eq!(world.stored("/job"), None, "{then:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn once_the_registry_is_away_the_other_jobs_of_a_server_are_not_tried() {
    let rows = [(Then::Away, 1, Some("b")), (Then::ReplyLostAndAway, 0, Some("a"))];
    for (then, done, failed) in rows {
        let world = world(&["a", "b", "c", "d"]).await;
        let operations = operations(&world, then.clone(), 1);
        let started = tokio::time::Instant::now();
        let report = operations.disable(&Scope::of_server(ip(1)), &by()).await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
        assert_eq!(report.done.len(), done, "{then:?}: {report}");
        let names: Vec<_> = report.failed.iter().map(|entry| &*entry.job).collect();
        assert_eq!(names.first().copied(), failed, "{then:?}: {report}");
        assert_eq!((names.len(), report.causes.len()), (1, 1), "{then:?}: {report}");
        let untried: Vec<_> = report.left.iter().map(|entry| (&*entry.what, &*entry.job)).collect();
        let last = ("not tried, as the registry did not answer", "d");
        assert_eq!(untried.last(), Some(&last), "{then:?}: {report}");
        assert_eq!(untried.len(), 3 - done, "{then:?}: {report}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_of_version_1_is_not_removed_and_nothing_of_it_is_touched() {
    let world = World::new();
    let nodes = [("/job/config", ""), ("/job/config/shardingTotalCount", "3")];
    world.write(&nodes, &[]).await;
    let operations = world.operations();
    let preview = operations.preview_removal(&job()).await.unwrap_err();
    let removed = operations.remove_job(&job(), "job", Removal::EvenIfAlive, &by()).await;
    for error in [preview, removed.unwrap_err()] {
        assert!(matches!(error, Error::NotSupported { .. }), "{error}");
        assert!(error.to_string().contains("as ElasticJob 1.x writes them"), "{error}");
    }
    assert!(world.stored("/job/config/shardingTotalCount").is_some());
}
