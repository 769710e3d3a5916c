//! What cannot be used is told, concerns one job, and is tried again when it is worth it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use coordination::{Dialect, JavaFields, JavaFields3, JavaSettings, JobConfig, JobName};
use lite::{
    Error, ErrorHandler, ErrorHandlerType, ErrorHandlers, HandlerSettings, IgnoreErrors,
    InvalidConfig, NewJob, RuntimeJobState, Scheduler, Template, job_fn,
};
use reg_center::{Lifetime, RegistryCenter, Txn};

use crate::support::{Cluster, Runs, path};
use crate::world::{config, create, noting, offering, offering_with, record, remove, shared_by};
use RuntimeJobState::{Refused, Removed, Running, Starting};

/// Replaces what a node holds.
async fn write(cluster: &Cluster, job: &str, below: &[&str], data: &str) {
    let operator = cluster.registry.connect();
    let txn = Txn::new().put(path(job, below), data.to_owned());
    assert!(operator.commit(txn).await.unwrap().is_committed());
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_used_is_told_and_followed_once_it_is_repaired() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (member, told) = offering_with(&cluster, 1, &[noting("report", &runs)], |builder| {
        builder.dialect(Dialect::V2)
    })
    .await;
    type Spoil = fn(&mut JobConfig);
    let rows: [(&str, Spoil, &str); 4] = [
        ("strategy", |c| c.strategy = "RANDOM".into(), "strategy is \"RANDOM\"; valid is one of"),
        ("cron", |c| c.cron = Some("every day".into()), "cron is \"every day\""),
        ("time-zone", |c| c.time_zone = Some("Atlantis".into()), "time_zone is \"Atlantis\""),
        ("dialect", |c| c.java = JavaSettings::of(Dialect::V3), "is of ElasticJob 3.x"),
    ];
    for (job, spoil, reason) in rows {
        let mut spoiled = config(job);
        spoil(&mut spoiled);
        create(&cluster, &spoiled, &record("report", None)).await;
        let refused = told.refused(job).await;
        assert!(refused.contains(reason), "{job}: {refused}");
        assert!(member.scheduler.job(job).is_none(), "{job}");
        cluster.configure(&config(job)).await;
        told.last(job, Running).await;
        assert_eq!(told.of(job), [Starting, Refused { reason: refused }, Running], "{job}");
    }
    create(&cluster, &config("broken"), &record("report", None)).await;
    shared_by(&cluster, "broken", &[1]).await;
    runs.until("runs", |seen| !seen.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_document_that_cannot_be_read_waits_for_its_repair_without_asking_again() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["config"], "{").await;
    let (_member, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let reason = told.refused("r-1").await;
    assert!(reason.starts_with("its configuration cannot be used: "), "{reason}");
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(told.of("r-1").len(), 2, "it is told once");
    cluster.configure(&config("r-1")).await;
    told.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_fails_or_panics_is_contained_and_tried_again() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let calls = Arc::new(AtomicU32::new(0));
    let (code, count) = (runs.clone(), calls.clone());
    let moody =
        Template::new("moody", move |new: NewJob| match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err("the database is not there yet".into()),
            1 => panic!("a bug"),
            2 => Err("the database is not there yet".into()),
            _ => Ok(new.run(code.job())),
        });
    let templates = [moody.unwrap(), noting("report", &runs)];
    let (member, told) = offering(&cluster, 1, &templates).await;
    create(&cluster, &config("m-1"), &record("moody", None)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    told.last("r-1", Running).await;
    told.last("m-1", Running).await;
    let failed = Refused { reason: "the template failed: the database is not there yet".into() };
    let panicked = Refused { reason: "the template panicked: a bug".into() };
    assert_eq!(told.of("m-1"), [Starting, failed.clone(), panicked, failed, Running]);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(member.scheduler.jobs().len(), 2);
}

/// An error whose text has a bug.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("a bug in a text")
    }
}

impl std::error::Error for Unspeakable {}

#[tokio::test(start_paused = true)]
async fn a_template_whose_error_panics_when_it_is_told_is_tried_again() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (code, calls) = (runs.clone(), AtomicU32::new(0));
    let moody =
        Template::new("moody", move |new: NewJob| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Unspeakable.into()),
            _ => Ok(new.run(code.job())),
        });
    let (_member, told) = offering(&cluster, 1, &[moody.unwrap()]).await;
    create(&cluster, &config("m-1"), &record("moody", None)).await;
    let reason = told.refused("m-1").await;
    assert_eq!(reason, "the template failed: an error whose text panics: a bug in a text");
    told.last("m-1", Running).await;
}

/// Makes handlers once its secret is there.
struct Secretive(Arc<AtomicBool>);

impl ErrorHandlerType for Secretive {
    fn name(&self) -> &str {
        "SECRETIVE"
    }

    fn make(&self, _: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        match self.0.load(Ordering::SeqCst) {
            true => Ok(Arc::new(IgnoreErrors)),
            false => Err(InvalidConfig::new("secretive.file", "missing", "there")),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_handler_needs_a_secret_is_taken_once_it_is_there() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let is_there = Arc::new(AtomicBool::new(false));
    let types = ErrorHandlers::default().with(Secretive(is_there.clone()));
    let (_member, told) = offering_with(&cluster, 1, &[noting("report", &runs)], |builder| {
        builder.error_handlers(types)
    })
    .await;
    let error_handler = Some("SECRETIVE".to_owned());
    let fields = JavaFields::V3(JavaFields3 { error_handler, ..JavaFields3::default() });
    let java = JavaSettings { fields, ..JavaSettings::default() };
    create(&cluster, &JobConfig { java, ..config("s-1") }, &record("report", None)).await;
    let reason = told.refused("s-1").await;
    assert!(reason.contains("secretive.file is missing"), "{reason}");
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(told.of("s-1").len(), 2, "it is told once");
    is_there.store(true, Ordering::SeqCst);
    told.last("s-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_record_that_cannot_be_read_is_followed_once_it_is_repaired() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["coordination", "template"], "{").await;
    let (_member, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let reason = told.refused("r-1").await;
    assert!(reason.starts_with("its template cannot be read: "), "{reason}");
    // The job alone is repaired; its entry in the list is as it was.
    write(&cluster, "r-1", &["coordination", "template"], r#"{"template":"report"}"#).await;
    told.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_goes_on_failing_is_asked_ever_more_rarely() {
    let cluster = Cluster::new();
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let failing = Template::new("failing", move |_: NewJob| {
        count.fetch_add(1, Ordering::SeqCst);
        Err("never".into())
    });
    let (_member, told) = offering(&cluster, 1, &[failing.unwrap()]).await;
    create(&cluster, &config("f-1"), &record("failing", None)).await;
    told.refused("f-1").await;
    cluster.pass(Duration::from_secs(3600)).await;
    // After 1, 2, 4 … 256 s, and then every 300 s.
    let calls = calls.load(Ordering::SeqCst);
    assert_eq!(calls, 1 + 9 + (3600 - 511) / 300, "in an hour");
    assert_eq!(told.of("f-1").len(), 2, "it is told once");
}

#[tokio::test(start_paused = true)]
async fn the_registration_of_another_job_is_not_taken() {
    let cluster = Cluster::new();
    let stranger: Scheduler = cluster.member(9).scheduler;
    let strange = Template::new("strange", move |_: NewJob| {
        Ok(stranger.schedule(config("other"), job_fn(|_| async { Ok(()) })))
    });
    let (_member, told) = offering(&cluster, 1, &[strange.unwrap()]).await;
    create(&cluster, &config("s-1"), &record("strange", None)).await;
    assert_eq!(told.refused("s-1").await, "the template returned the registration of another job");
    assert_eq!(cluster.stored("other", &[]), None);
}

#[tokio::test(start_paused = true)]
async fn a_job_cannot_be_both_of_code_and_of_a_template() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    told.last("r-1", Running).await;
    let here = one.scheduler.schedule(config("r-1"), runs.job()).await.unwrap_err();
    assert!(matches!(here, Error::AlreadyScheduled { .. }), "{here}");
    // In another process the registry tells.
    let overwriting = JobConfig { overwrite: true, ..config("r-1") };
    for config in [config("r-1"), overwriting] {
        let two = cluster.member(2);
        let elsewhere = two.scheduler.schedule(config, runs.job()).await.unwrap_err();
        assert_eq!(
            elsewhere.to_string(),
            "job r-1 was made at run time from the template report; offer that template, remove the job, or take another name"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_code_has_taken_here_is_refused_until_that_job_has_ended() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    let handle = one.scheduler.schedule(config("r-1"), runs.job()).await.unwrap();
    // Nobody makes a job over another one; this is the state that somebody leaves who writes nodes by hand.
    let operator = cluster.registry.connect();
    let template = r#"{"template":"report"}"#;
    let entry = coordination::Layout::new(handle.name()).index_path();
    let both = Txn::new()
        .create(path("r-1", &["coordination", "template"]), template, Lifetime::Persistent)
        .create(entry, template, Lifetime::Persistent);
    assert!(operator.commit(both).await.unwrap().is_committed());
    assert_eq!(told.refused("r-1").await, "job r-1 is already scheduled here");
    handle.shutdown(Duration::from_secs(30)).await.unwrap();
    told.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_process_takes_no_more_jobs_than_it_may() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let limited = |builder: lite::SchedulerBuilder| builder.max_runtime_jobs(2);
    let (one, told) = offering_with(&cluster, 1, &[noting("report", &runs)], limited).await;
    for job in ["r-1", "r-2"] {
        create(&cluster, &config(job), &record("report", None)).await;
        told.last(job, Running).await;
    }
    create(&cluster, &config("r-3"), &record("report", None)).await;
    let reason = told.refused("r-3").await;
    assert_eq!(reason, "this process takes no more than 2 jobs, and has as many");
    assert_eq!(one.scheduler.jobs().len(), 2);
    remove(&cluster, "r-1").await;
    told.last("r-3", Running).await;
    told.last("r-1", Removed).await;
}

#[tokio::test(start_paused = true)]
async fn entries_that_mean_nothing_do_no_harm() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let operator = cluster.registry.connect();
    let index = coordination::Layout::runtime_index();
    for (name, data) in [("a@-@b", ""), ("ghost", r#"{"template":"report"}"#), ("odd", "{")] {
        let txn = Txn::new().create(index.join(name).unwrap(), data, Lifetime::Persistent);
        assert!(operator.commit(txn).await.unwrap().is_committed());
    }
    let (one, told) = offering(&cluster, 1, &[noting("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["coordination", "template"], "{").await;
    create(&cluster, &config("r-2"), &record("report", None)).await;
    told.last("r-2", Running).await;
    let ghost = index.join("ghost").unwrap();
    assert!(cluster.registry.snapshot().read(&ghost).is_none(), "the entry of no job goes");
    for job in ["ghost", "odd"] {
        let name = JobName::new(job).unwrap();
        assert!(one.scheduler.runtime_jobs().iter().all(|listed| listed.job != name), "{job}");
    }
}
