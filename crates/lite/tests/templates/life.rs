//! The lifecycle of runtime jobs, from creation to removal.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::Layout;
use lite::{Error, NewJob, RuntimeJobState, Template, job_fn};
use reg_center::{RegistryCenter, Txn};

use super::world::{
    PublishedStates, config, create, listed, offering, offering_with, record, recording, remove,
    shared_by,
};
use crate::support::{Cluster, Runs, balanced, every_ten_seconds, within};
use RuntimeJobState::{Left, NoTemplate, OtherLabel, Removed, Running, Starting};

#[tokio::test(start_paused = true)]
async fn a_new_job_is_joined_by_all_processes_with_its_template_and_by_later_ones() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let report = recording("report", &runs);
    let (_one, states) = offering(&cluster, 1, std::slice::from_ref(&report)).await;
    let (_two, _) = offering(&cluster, 2, std::slice::from_ref(&report)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    let is_shared = |seen: &[crate::support::Seen]| {
        let instances: BTreeSet<&str> = seen.iter().map(|run| run.instance.as_str()).collect();
        instances.len() == 2
    };
    runs.until("both to run items", is_shared).await;
    assert_eq!(states.of("r-1"), [Starting, Running]);

    let (three, later) = offering(&cluster, 3, &[report]).await;
    later.last("r-1", Running).await;
    let handle = three.scheduler.job("r-1").unwrap();
    within("joining", handle.joined()).await.unwrap();
    let jobs = three.scheduler.runtime_jobs();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].template.as_ref().unwrap().as_str(), "report");
    assert_eq!(jobs[0].state, Running);
}

#[tokio::test(start_paused = true)]
async fn the_template_reads_the_stored_configuration_and_sets_local_options() {
    let cluster = Cluster::new();
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let template = Template::new("report", move |new: NewJob| {
        let label = new.label().map(ToString::to_string);
        sender.send((new.name().to_string(), new.config().clone(), label)).unwrap();
        Ok(new.run(job_fn(|_| async { Ok(()) })).max_concurrency(1))
    });
    let (member, states) = offering(&cluster, 1, &[template.unwrap()]).await;
    create(&cluster, &config("r-1"), &record("report", Some("eu"))).await;
    states.last("r-1", Running).await;
    let label = Some("eu".to_owned());
    assert_eq!(seen.recv().await.unwrap(), ("r-1".to_owned(), config("r-1"), label));
    let job = member.scheduler.job("r-1").unwrap();
    assert_eq!(job.config_differences(), []);
}

#[tokio::test(start_paused = true)]
async fn a_job_removed_while_it_runs_is_left_and_none_of_its_nodes_is_recreated() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (begun, hold) = (runs.clone(), std::sync::Arc::new(tokio::sync::Notify::new()));
    let release = hold.clone();
    let slow = Template::new("slow", move |new: NewJob| {
        let (begun, hold) = (begun.clone(), hold.clone());
        Ok(new.run(job_fn(move |context: lite::ShardingContext| {
            let hold = hold.clone();
            begun.note(&context);
            async move {
                hold.notified().await;
                Ok(())
            }
        })))
    });
    let other = Runs::default();
    let templates = [slow.unwrap(), recording("report", &other)];
    let (member, states) = offering(&cluster, 1, &templates).await;
    create(&cluster, &config("s-1"), &record("slow", None)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    runs.until("both items to run", |seen| seen.len() == 2).await;
    let handle = member.scheduler.job("s-1").unwrap();

    remove(&cluster, "s-1").await;
    release.notify_waiters();
    states.last("s-1", Removed).await;
    assert!(handle.has_ended());
    assert_eq!(states.of("s-1"), [Starting, Running, Removed]);
    assert!(member.scheduler.job("s-1").is_none(), "the handle of a removed job is dropped");
    let so_far = other.all().len();
    other.until("the other job to go on", |seen| seen.len() > so_far + 4).await;
    assert_eq!(cluster.stored("s-1", &[]), None, "no node was recreated");
    assert_eq!(listed(&cluster), ["r-1"]);
    assert_eq!(runs.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn runtime_jobs_survive_the_loss_of_all_processes() {
    let cluster = Cluster::new();
    let before = Runs::default();
    let (one, _) = offering(&cluster, 1, &[recording("report", &before)]).await;
    let (two, _) = offering(&cluster, 2, &[recording("report", &before)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    before.until("a fire", |seen| seen.len() >= 2).await;
    for member in [one, two] {
        member.scheduler.abort();
        member.center.close().await.unwrap();
    }
    let n_before = before.all().len();
    cluster.pass(Duration::from_secs(60)).await;

    let after = Runs::default();
    let (_three, states) = offering(&cluster, 3, &[recording("report", &after)]).await;
    states.last("r-1", Running).await;
    let seen = after.until("all items", |seen| seen.len() >= 4).await;
    assert_eq!(before.all().len(), n_before);
    for item in 0..2 {
        let tokens = |seen: &[crate::support::Seen]| -> Vec<u64> {
            seen.iter().filter(|run| run.item == item).map(|run| run.token).collect()
        };
        let (last, first) = (tokens(&before.all()).into_iter().max(), tokens(&seen)[0]);
        assert!(last.is_some_and(|last| first > last), "item {item}: {first} after {last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_without_the_template_reports_it_once_and_joins_when_it_offers_it() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (_one, _) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let (two, states) = offering(&cluster, 2, &[recording("other", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    states.last("r-1", NoTemplate).await;
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(states.of("r-1"), [NoTemplate]);

    two.scheduler.offer(recording("report", &runs)).await.unwrap();
    shared_by(&cluster, "r-1", &[1, 2]).await;
    assert_eq!(states.of("r-1"), [NoTemplate, Starting, Running]);
    let again = two.scheduler.offer(recording("report", &runs)).await.unwrap_err();
    assert!(matches!(again, Error::AlreadyOffered { .. }), "{again}");
}

#[tokio::test(start_paused = true)]
async fn labels_select_jobs_as_in_elasticjob_3() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let rows: [(&[&str], _); 3] = [
        (&["eu", "us"], [true, false, false]),
        (&["asia"], [false, true, false]),
        (&[], [true; 3]),
    ];
    let jobs = [("e-1", Some("eu")), ("a-1", Some("asia")), ("n-1", None)];
    let mut members: Vec<(_, PublishedStates, _)> = Vec::new();
    for (n, (labels, accepted)) in (1..).zip(rows) {
        let with_labels = |builder: lite::SchedulerBuilder| match labels {
            [] => builder,
            some => builder.labels(some).unwrap(),
        };
        let offered = [recording("report", &runs)];
        let (member, states) = offering_with(&cluster, n, &offered, with_labels).await;
        members.push((member, states, accepted));
    }
    for (job, label) in jobs {
        create(&cluster, &config(job), &record("report", label)).await;
    }
    for (_, states, accepted) in &members {
        for ((job, _), accepted) in jobs.iter().zip(accepted) {
            states.last(job, if *accepted { Running } else { OtherLabel }).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_jobs_at_once_are_all_joined_and_all_left() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let (_two, other) = offering(&cluster, 2, &[recording("report", &runs)]).await;
    let names: Vec<String> = (0..100).map(|n| format!("r-{n:03}")).collect();
    let make = names.iter().map(|name| async {
        create(&cluster, &config(name), &record("report", None)).await;
    });
    futures_util::future::join_all(make).await;
    for name in &names {
        shared_by(&cluster, name, &[1, 2]).await;
    }
    let is_running = |job: &lite::RuntimeJob| job.state == Running;
    assert_eq!(one.scheduler.runtime_jobs().iter().filter(|job| is_running(job)).count(), 100);
    runs.until("two hundred items", |seen| seen.len() >= 200).await;
    for name in &names {
        remove(&cluster, name).await;
    }
    for name in &names {
        states.last(name, Removed).await;
        other.last(name, Removed).await;
    }
    assert_eq!(one.scheduler.runtime_jobs(), []);
    assert!(one.scheduler.jobs().is_empty());
    let left = cluster.everything();
    assert!(left.iter().all(|(path, _)| !path.contains("r-")), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_removed_by_an_operator_stays_out_until_the_job_is_created_again() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (_one, _) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let (two, states) = offering(&cluster, 2, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    let id = two.scheduler.job("r-1").unwrap().status().await.unwrap().instance.unwrap();
    let operator = cluster.registry.connect();
    let node = crate::support::path("r-1", &["instances", id.as_str()]);
    assert!(operator.commit(Txn::new().delete(node)).await.unwrap().is_committed());
    states.last("r-1", Left).await;
    shared_by(&cluster, "r-1", &[1]).await;
    // A rewrite of the index entry does not bring the instance back.
    let layout = Layout::new(two.scheduler.job("r-1").unwrap().name());
    let touch = Txn::new().put(layout.index_path(), r#"{"template":"report"}"#);
    assert!(operator.commit(touch).await.unwrap().is_committed());
    cluster.pass(Duration::from_secs(600)).await;
    shared_by(&cluster, "r-1", &[1]).await;

    remove(&cluster, "r-1").await;
    states.last("r-1", Removed).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    assert_eq!(states.of("r-1"), [Starting, Running, Left, Removed, Starting, Running]);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_is_shut_down_leaves_its_jobs_and_joins_no_more() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (member, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    let reports = member.scheduler.shutdown(Duration::from_secs(30)).await;
    assert!(reports.len() == 1 && reports[0].is_clean(), "{reports:?}");
    create(&cluster, &config("r-2"), &record("report", None)).await;
    cluster.pass(Duration::from_secs(60)).await;
    assert_eq!(states.of("r-2"), []);
    assert!(cluster.stored("r-1", &["config"]).is_some(), "the job still exists");
    let error = member.scheduler.offer(recording("other", &runs)).await.unwrap_err();
    assert!(matches!(error, Error::ShutDown), "{error}");
}

#[tokio::test(start_paused = true)]
async fn jobs_of_the_program_and_runtime_jobs_are_independent() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, _) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let config_of_program = every_ten_seconds().build().unwrap();
    let handle = one.scheduler.schedule(config_of_program, runs.job()).await.unwrap();
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    balanced(&cluster, &[&handle], 3).await;
    let names: Vec<_> = one.scheduler.jobs().iter().map(|job| job.name().to_string()).collect();
    assert_eq!(names, ["job", "r-1"]);
}
