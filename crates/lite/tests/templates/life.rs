//! From being made to being removed.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::Layout;
use lite::{Error, NewJob, RuntimeJobState, Template, job_fn};
use reg_center::{RegistryCenter, Txn};

use crate::support::{Cluster, Runs, balanced, every_ten_seconds, within};
use crate::world::{
    Told, config, create, listed, noting, offering, offering_with, record, remove, shared_by,
};
use RuntimeJobState::{Left, NoTemplate, OtherLabel, Removed, Running, Starting};

#[tokio::test(start_paused = true)]
async fn a_job_that_is_made_is_joined_by_all_that_offer_its_template_and_by_those_that_come_later()
{
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let report = noting("report", &runs);
    let (_one, told) = offering(&cluster, 1, std::slice::from_ref(&report)).await;
    let (_two, _) = offering(&cluster, 2, std::slice::from_ref(&report)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    let is_shared = |seen: &[crate::support::Seen]| {
        let instances: BTreeSet<&str> = seen.iter().map(|run| run.instance.as_str()).collect();
        instances.len() == 2
    };
    runs.until("both to run items", is_shared).await;
    assert_eq!(told.of("r-1"), [Starting, Running]);

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
async fn the_template_sees_the_stored_configuration_and_sets_what_is_local() {
    let cluster = Cluster::new();
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let template = Template::new("report", move |new: NewJob| {
        let label = new.label().map(ToString::to_string);
        sender.send((new.name().to_string(), new.config().clone(), label)).unwrap();
        Ok(new.run(job_fn(|_| async { Ok(()) })).max_concurrency(1))
    });
    let (member, told) = offering(&cluster, 1, &[template.unwrap()]).await;
    create(&cluster, &config("r-1"), &record("report", Some("eu"))).await;
    told.last("r-1", Running).await;
    let label = Some("eu".to_owned());
    assert_eq!(seen.recv().await.unwrap(), ("r-1".to_owned(), config("r-1"), label));
    let job = member.scheduler.job("r-1").unwrap();
    assert_eq!(job.config_differences(), []);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_removed_while_it_runs_is_left_and_nothing_of_it_comes_back() {
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
    let templates = [slow.unwrap(), noting("report", &other)];
    let (member, told) = offering(&cluster, 1, &templates).await;
    create(&cluster, &config("s-1"), &record("slow", None)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    runs.until("both items to run", |seen| seen.len() == 2).await;
    let handle = member.scheduler.job("s-1").unwrap();

    remove(&cluster, "s-1").await;
    release.notify_waiters();
    told.last("s-1", Removed).await;
    assert!(handle.has_ended());
    assert_eq!(told.of("s-1"), [Starting, Running, Removed]);
    assert!(member.scheduler.job("s-1").is_none(), "what is removed is forgotten");
    let so_far = other.all().len();
    other.until("the other job to go on", |seen| seen.len() > so_far + 4).await;
    assert_eq!(cluster.stored("s-1", &[]), None, "nothing has come back");
    assert_eq!(listed(&cluster), ["r-1"]);
    assert_eq!(runs.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn jobs_survive_the_loss_of_all_processes() {
    let cluster = Cluster::new();
    let before = Runs::default();
    let (one, _) = offering(&cluster, 1, &[noting("report", &before)]).await;
    let (two, _) = offering(&cluster, 2, &[noting("report", &before)]).await;
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
    let (_three, told) = offering(&cluster, 3, &[noting("report", &after)]).await;
    told.last("r-1", Running).await;
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
async fn a_process_without_the_template_says_so_once_and_joins_when_it_has_it() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (_one, _) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let (two, told) = offering(&cluster, 2, &[noting("other", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    told.last("r-1", NoTemplate).await;
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(told.of("r-1"), [NoTemplate]);

    two.scheduler.offer(noting("report", &runs)).await.unwrap();
    shared_by(&cluster, "r-1", &[1, 2]).await;
    assert_eq!(told.of("r-1"), [NoTemplate, Starting, Running]);
    let again = two.scheduler.offer(noting("report", &runs)).await.unwrap_err();
    assert!(matches!(again, Error::AlreadyOffered { .. }), "{again}");
}

#[tokio::test(start_paused = true)]
async fn labels_choose_as_those_of_elasticjob_3_do() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let rows: [(&[&str], _); 3] = [
        (&["eu", "us"], [true, false, false]),
        (&["asia"], [false, true, false]),
        (&[], [true; 3]),
    ];
    let jobs = [("e-1", Some("eu")), ("a-1", Some("asia")), ("n-1", None)];
    let mut members: Vec<(_, Told, _)> = Vec::new();
    for (n, (labels, takes)) in (1..).zip(rows) {
        let choose = |builder: lite::SchedulerBuilder| match labels {
            [] => builder,
            some => builder.labels(some).unwrap(),
        };
        let (member, told) = offering_with(&cluster, n, &[noting("report", &runs)], choose).await;
        members.push((member, told, takes));
    }
    for (job, label) in jobs {
        create(&cluster, &config(job), &record("report", label)).await;
    }
    for (_, told, takes) in &members {
        for ((job, _), takes) in jobs.iter().zip(takes) {
            told.last(job, if *takes { Running } else { OtherLabel }).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_jobs_at_once_are_all_joined_and_all_left() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let (_two, other) = offering(&cluster, 2, &[noting("report", &runs)]).await;
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
        told.last(name, Removed).await;
        other.last(name, Removed).await;
    }
    assert_eq!(one.scheduler.runtime_jobs(), []);
    assert!(one.scheduler.jobs().is_empty());
    let left = cluster.everything();
    assert!(left.iter().all(|(path, _)| !path.contains("r-")), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_an_operator_takes_out_stays_out_until_the_job_is_made_anew() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (_one, _) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let (two, told) = offering(&cluster, 2, &[noting("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    let id = two.scheduler.job("r-1").unwrap().status().await.unwrap().instance.unwrap();
    let operator = cluster.registry.connect();
    let node = crate::support::path("r-1", &["instances", id.as_str()]);
    assert!(operator.commit(Txn::new().delete(node)).await.unwrap().is_committed());
    told.last("r-1", Left).await;
    shared_by(&cluster, "r-1", &[1]).await;
    // Writing its entry again does not bring it back.
    let layout = Layout::new(two.scheduler.job("r-1").unwrap().name());
    let touch = Txn::new().put(layout.index_path(), r#"{"template":"report"}"#);
    assert!(operator.commit(touch).await.unwrap().is_committed());
    cluster.pass(Duration::from_secs(600)).await;
    shared_by(&cluster, "r-1", &[1]).await;

    remove(&cluster, "r-1").await;
    told.last("r-1", Removed).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1, 2]).await;
    assert_eq!(told.of("r-1"), [Starting, Running, Left, Removed, Starting, Running]);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_is_shut_down_leaves_its_jobs_and_takes_no_more() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (member, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    let reports = member.scheduler.shutdown(Duration::from_secs(30)).await;
    assert!(reports.len() == 1 && reports[0].is_clean(), "{reports:?}");
    create(&cluster, &config("r-2"), &record("report", None)).await;
    cluster.pass(Duration::from_secs(60)).await;
    assert_eq!(told.of("r-2"), []);
    assert!(cluster.stored("r-1", &["config"]).is_some(), "the job is there for others");
    let error = member.scheduler.offer(noting("other", &runs)).await.unwrap_err();
    assert!(matches!(error, Error::ShutDown), "{error}");
}

#[tokio::test(start_paused = true)]
async fn jobs_of_code_and_jobs_of_templates_live_side_by_side() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, _) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let config_of_code = every_ten_seconds().build().unwrap();
    let handle = one.scheduler.schedule(config_of_code, runs.job()).await.unwrap();
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    balanced(&cluster, &[&handle], 3).await;
    let names: Vec<_> = one.scheduler.jobs().iter().map(|job| job.name().to_string()).collect();
    assert_eq!(names, ["job", "r-1"]);
}
