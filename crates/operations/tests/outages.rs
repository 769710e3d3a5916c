//! Errors of a change during which the registry becomes unreachable.

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
async fn unanswered_change_has_an_unknown_outcome() {
    for then in [Then::ReplyLostAndAway, Then::RequestLostAndAway] {
        let world = world(&["job"]).await;
        let changed = operations(&world, then.clone(), 1);
        let error = changed.disable(&Scope::of_both(job(), ip(1)), &by()).await.unwrap_err();
        assert!(error.is_unknown(), "{then:?}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("the outcome of disable of job job is unknown"), "{text}");

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
async fn unreachable_registry_before_the_commit_is_no_unknown_outcome() {
    let world = world(&["job", "other"]).await;
    let operations = operations(&world, Then::Away, 1);
    operations.disable(&Scope::of_both(job(), ip(1)), &by()).await.unwrap();
    let other = JobName::new("other").unwrap();
    let error = operations.disable(&Scope::of_both(other, ip(1)), &by()).await.unwrap_err();
    assert!(!error.is_unknown() && error.is_unanswered(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn incomplete_removal_reports_remaining_nodes() {
    let rows = [
        (Then::Away, "no connection to the registry"),
        (Then::Disturbed("/job/left"), "another client wrote to it during each of 20 passes"),
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
async fn unreachable_registry_stops_a_change_of_all_jobs() {
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
async fn removal_of_a_version_1_job_is_rejected() {
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
