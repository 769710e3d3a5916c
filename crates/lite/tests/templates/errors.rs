//! Errors of runtime jobs: each is reported, affects one job, and is retried where a retry can
//! succeed.

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

use super::world::{config, create, offering, offering_with, record, recording, remove, shared_by};
use crate::support::{Cluster, Runs, path};
use RuntimeJobState::{Refused, Removed, Running, Starting};

/// Replaces the data of a node.
async fn write(cluster: &Cluster, job: &str, below: &[&str], data: &str) {
    let operator = cluster.registry.connect();
    let txn = Txn::new().put(path(job, below), data.to_owned());
    assert!(operator.commit(txn).await.unwrap().is_committed());
}

#[tokio::test(start_paused = true)]
async fn an_invalid_configuration_is_reported_and_the_job_is_joined_after_its_repair() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (member, states) = offering_with(&cluster, 1, &[recording("report", &runs)], |builder| {
        builder.dialect(Dialect::V2)
    })
    .await;
    type Change = fn(&mut JobConfig);
    let rows: [(&str, Change, &str); 4] = [
        ("strategy", |c| c.strategy = "RANDOM".into(), "strategy is \"RANDOM\"; valid is one of"),
        ("cron", |c| c.cron = Some("every day".into()), "cron is \"every day\""),
        ("time-zone", |c| c.time_zone = Some("Atlantis".into()), "time_zone is \"Atlantis\""),
        ("dialect", |c| c.java = JavaSettings::of(Dialect::V3), "is of ElasticJob 3.x"),
    ];
    for (job, change, reason) in rows {
        let mut invalid = config(job);
        change(&mut invalid);
        create(&cluster, &invalid, &record("report", None)).await;
        let refused = states.refused(job).await;
        assert!(refused.contains(reason), "{job}: {refused}");
        assert!(member.scheduler.job(job).is_none(), "{job}");
        cluster.configure(&config(job)).await;
        states.last(job, Running).await;
        assert_eq!(states.of(job), [Starting, Refused { reason: refused }, Running], "{job}");
    }
    create(&cluster, &config("broken"), &record("report", None)).await;
    shared_by(&cluster, "broken", &[1]).await;
    runs.until("runs", |seen| !seen.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_document_is_not_retried_before_its_repair() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["config"], "{").await;
    let (_member, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let reason = states.refused("r-1").await;
    assert!(reason.starts_with("its configuration cannot be used: "), "{reason}");
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(states.of("r-1").len(), 2, "the refusal is reported once");
    cluster.configure(&config("r-1")).await;
    states.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_fails_or_panics_affects_its_job_only_and_is_retried() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let calls = Arc::new(AtomicU32::new(0));
    let (code, count) = (runs.clone(), calls.clone());
    let unreliable = Template::new("unreliable", move |new: NewJob| {
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err("the database is not ready".into()),
            1 => panic!("a bug"),
            2 => Err("the database is not ready".into()),
            _ => Ok(new.run(code.job())),
        }
    });
    let templates = [unreliable.unwrap(), recording("report", &runs)];
    let (member, states) = offering(&cluster, 1, &templates).await;
    create(&cluster, &config("m-1"), &record("unreliable", None)).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    states.last("r-1", Running).await;
    states.last("m-1", Running).await;
    let failed = Refused { reason: "the template failed: the database is not ready".into() };
    let panicked = Refused { reason: "the template panicked: a bug".into() };
    assert_eq!(states.of("m-1"), [Starting, failed.clone(), panicked, failed, Running]);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    assert_eq!(member.scheduler.jobs().len(), 2);
}

/// An error whose text panics.
#[derive(Debug)]
struct PanickingText;

impl fmt::Display for PanickingText {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("a bug in a text")
    }
}

impl std::error::Error for PanickingText {}

#[tokio::test(start_paused = true)]
async fn a_template_whose_error_text_panics_is_retried() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (code, calls) = (runs.clone(), AtomicU32::new(0));
    let unreliable = Template::new("unreliable", move |new: NewJob| {
        match calls.fetch_add(1, Ordering::SeqCst) {
            0 => Err(PanickingText.into()),
            _ => Ok(new.run(code.job())),
        }
    });
    let (_member, states) = offering(&cluster, 1, &[unreliable.unwrap()]).await;
    create(&cluster, &config("m-1"), &record("unreliable", None)).await;
    let reason = states.refused("m-1").await;
    assert_eq!(reason, "the template failed: an error whose text panics: a bug in a text");
    states.last("m-1", Running).await;
}

/// A type that makes handlers only once its secret exists.
struct NeedsSecret(Arc<AtomicBool>);

impl ErrorHandlerType for NeedsSecret {
    fn name(&self) -> &str {
        "NEEDS_SECRET"
    }

    fn make(&self, _: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        if self.0.load(Ordering::SeqCst) {
            Ok(Arc::new(IgnoreErrors))
        } else {
            Err(InvalidConfig::new("secret.file", "missing", "an existing file"))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_handler_needs_a_secret_is_joined_once_the_secret_exists() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let exists = Arc::new(AtomicBool::new(false));
    let types = ErrorHandlers::default().with(NeedsSecret(exists.clone()));
    let (_member, states) = offering_with(&cluster, 1, &[recording("report", &runs)], |builder| {
        builder.error_handlers(types)
    })
    .await;
    let error_handler = Some("NEEDS_SECRET".to_owned());
    let fields = JavaFields::V3(JavaFields3 { error_handler, ..JavaFields3::default() });
    let java = JavaSettings { fields, ..JavaSettings::default() };
    create(&cluster, &config("s-1").with(|it| it.java = java), &record("report", None)).await;
    let reason = states.refused("s-1").await;
    assert!(reason.contains("secret.file is missing"), "{reason}");
    cluster.pass(Duration::from_secs(3600)).await;
    assert_eq!(states.of("s-1").len(), 2, "the refusal is reported once");
    exists.store(true, Ordering::SeqCst);
    states.last("s-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_template_record_is_used_after_its_repair() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["coordination", "template"], "{").await;
    let (_member, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let reason = states.refused("r-1").await;
    assert!(reason.starts_with("its template cannot be read: "), "{reason}");
    // Only the node of the job is repaired; its entry in the index stays damaged.
    write(&cluster, "r-1", &["coordination", "template"], r#"{"template":"report"}"#).await;
    states.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_template_is_retried_with_growing_delays() {
    let cluster = Cluster::new();
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let failing = Template::new("failing", move |_: NewJob| {
        count.fetch_add(1, Ordering::SeqCst);
        Err("never".into())
    });
    let (_member, states) = offering(&cluster, 1, &[failing.unwrap()]).await;
    create(&cluster, &config("f-1"), &record("failing", None)).await;
    states.refused("f-1").await;
    cluster.pass(Duration::from_secs(3600)).await;
    // After 1, 2, 4 … 256 s, and then every 300 s.
    let calls = calls.load(Ordering::SeqCst);
    assert_eq!(calls, 1 + 9 + (3600 - 511) / 300, "in an hour");
    assert_eq!(states.of("f-1").len(), 2, "the refusal is reported once");
}

#[tokio::test(start_paused = true)]
async fn the_registration_of_another_job_is_refused() {
    let cluster = Cluster::new();
    let other_scheduler: Scheduler = cluster.member(9).scheduler;
    let wrong = Template::new("wrong", move |_: NewJob| {
        Ok(other_scheduler.schedule(config("other"), job_fn(|_| async { Ok(()) })))
    });
    let (_member, states) = offering(&cluster, 1, &[wrong.unwrap()]).await;
    create(&cluster, &config("s-1"), &record("wrong", None)).await;
    assert_eq!(
        states.refused("s-1").await,
        "the template returned the registration of another job"
    );
    assert_eq!(cluster.stored("other", &[]), None);
}

#[tokio::test(start_paused = true)]
async fn a_program_cannot_register_a_runtime_job() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    states.last("r-1", Running).await;
    let same_process = one.scheduler.schedule(config("r-1"), runs.job()).await.unwrap_err();
    assert!(matches!(same_process, Error::AlreadyScheduled { .. }), "{same_process}");
    // Another process reads the template from the registry.
    let overwriting = config("r-1").with(|it| it.overwrite = true);
    for config in [config("r-1"), overwriting] {
        let two = cluster.member(2);
        let other_process = two.scheduler.schedule(config, runs.job()).await.unwrap_err();
        assert_eq!(
            other_process.to_string(),
            "job r-1 was made at run time from the template report; offer that template, remove the job, or take another name"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_runtime_job_is_refused_while_the_program_has_a_job_of_its_name() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let handle = one.scheduler.schedule(config("r-1"), runs.job()).await.unwrap();
    // `operations` never creates a job over another one, but a client can write these nodes by
    // hand.
    let operator = cluster.registry.connect();
    let template = r#"{"template":"report"}"#;
    let entry = coordination::Layout::new(handle.name()).index_path();
    let both = Txn::new()
        .create(path("r-1", &["coordination", "template"]), template, Lifetime::Persistent)
        .create(entry, template, Lifetime::Persistent);
    assert!(operator.commit(both).await.unwrap().is_committed());
    let reason = states.refused("r-1").await;
    assert_eq!(reason, "job r-1 is already scheduled in this process");
    handle.shutdown(Duration::from_secs(30)).await.unwrap();
    states.last("r-1", Running).await;
}

#[tokio::test(start_paused = true)]
async fn a_process_joins_at_most_its_maximum_of_runtime_jobs() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let limited = |builder: lite::SchedulerBuilder| builder.max_runtime_jobs(2);
    let (one, states) = offering_with(&cluster, 1, &[recording("report", &runs)], limited).await;
    for job in ["r-1", "r-2"] {
        create(&cluster, &config(job), &record("report", None)).await;
        states.last(job, Running).await;
    }
    create(&cluster, &config("r-3"), &record("report", None)).await;
    let reason = states.refused("r-3").await;
    assert_eq!(reason, "this process already has its maximum of 2 runtime jobs");
    assert_eq!(one.scheduler.jobs().len(), 2);
    remove(&cluster, "r-1").await;
    states.last("r-3", Running).await;
    states.last("r-1", Removed).await;
}

#[tokio::test(start_paused = true)]
async fn invalid_entries_of_the_index_have_no_effect_on_other_jobs() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let operator = cluster.registry.connect();
    let index = coordination::Layout::runtime_index();
    let invalid = [("a@-@b", ""), ("no-job", r#"{"template":"report"}"#), ("odd", "{")];
    for (name, data) in invalid {
        let txn = Txn::new().create(index.join(name).unwrap(), data, Lifetime::Persistent);
        assert!(operator.commit(txn).await.unwrap().is_committed());
    }
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    write(&cluster, "r-1", &["coordination", "template"], "{").await;
    create(&cluster, &config("r-2"), &record("report", None)).await;
    states.last("r-2", Running).await;
    let no_job = index.join("no-job").unwrap();
    let entry = cluster.registry.snapshot().read(&no_job).cloned();
    assert!(entry.is_none(), "the entry without a job is removed");
    for job in ["no-job", "odd"] {
        let name = JobName::new(job).unwrap();
        assert!(one.scheduler.runtime_jobs().iter().all(|listed| listed.job != name), "{job}");
    }
}
