//! Jobs created from templates and removed again, while processes offer the templates.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Label, Layout, RUNTIME_INDEX, TemplateName,
    TemplateRecord,
};
use lite::{NewJob, Scheduler, Template, job_fn};
use operations::{Error, Operations, Removal, WhyNot, job_brief, job_briefs, why_not_running};
use reg_center::memory::WriteFault;
use reg_center::{MemoryCenter, RegistryCenter};

use support::{World, by, job, noon, on_request, within};

fn report(label: Option<&str>) -> TemplateRecord {
    let label = label.map(|label| Label::new(label).unwrap());
    TemplateRecord { template: TemplateName::new("report").unwrap(), label }
}

fn config() -> JobConfig {
    JobConfig::new(job(), 2)
}

/// Adds a process that offers the template `report`.
async fn offering(world: &World, n: u8) -> (Scheduler, Arc<MemoryCenter>) {
    let center = Arc::new(world.registry.connect());
    let builder = Scheduler::builder(center.clone()).server_ip(&format!("10.0.0.{n}")).unwrap();
    let scheduler = builder.instance_name(format!("{n}")).build().unwrap();
    let template = |new: NewJob| Ok(new.run(job_fn(|_| async { Ok(()) })));
    scheduler.offer(Template::new("report", template).unwrap()).await.unwrap();
    (scheduler, center)
}

#[tokio::test(start_paused = true)]
async fn job_from_a_template_is_created_run_and_removed() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let world = World::new();
        let operations = world.operations();
        let mut config = config();
        config.java = JavaSettings::of(dialect);
        let report_of = report(Some("eu"));
        let done = operations.create_job(&report_of, &config, &by()).await.unwrap();
        let config = config.with_default_strategy(None);
        assert_eq!(done.done[0].what, "created from the template report, label eu");
        assert_eq!(operations.config(&job()).await.unwrap().config, Ok(config), "{dialect}");
        let snapshot = operations.job(&job()).await.unwrap();
        let signed: Vec<_> = snapshot.audit().map(|r| (&*r.who, &*r.act)).collect();
        assert_eq!(signed, [("anna", "create job")], "{dialect}");
        let brief = job_brief(&snapshot);
        assert_eq!(
            (brief.template.as_deref(), brief.label.as_deref()),
            (Some("report"), Some("eu"))
        );
        assert_eq!(brief.dialect, dialect.as_str());
        let (template, label) = ("report".to_owned(), Some("eu".to_owned()));
        let why = why_not_running(&snapshot, noon());
        assert_eq!(why[0], WhyNot::NoProcessWithTemplate { template, label }, "{dialect}");

        let (_scheduler, _) = offering(&world, 1).await;
        let joined = |job: &operations::JobSnapshot| support::shared_by(job, &[1]);
        world.until("the process to join the job", joined).await;
        let namespace = operations.namespace().await.unwrap();
        assert!(namespace.unread.is_empty(), "{:?}", namespace.unread);
        assert_eq!(job_briefs(&namespace.jobs).len(), 1, "the list of jobs is not a job");
        let removed =
            operations.remove_job(&job(), "job", Removal::EvenIfAlive, &by()).await.unwrap();
        assert_eq!(removed.done[0].what, "removed; asked to leave: 10.0.0.1@-@1");
        assert_eq!(world.stored("/job"), None, "{dialect}");
        assert_eq!(world.stored(&format!("/{RUNTIME_INDEX}/job")), None, "{dialect}");
        operations.create_job(&report(None), &JobConfig::new(job(), 3), &by()).await.unwrap();
        world
            .until("the process to join the new job", |job| job.items().len() == 3 && joined(job))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn creation_is_rejected_when_nodes_exist() {
    let world = World::new();
    let operations = world.operations();
    let _member = world.member(1, on_request()).await;
    let before = world.stored("/job/config");
    let error = operations.create_job(&report(None), &config(), &by()).await.unwrap_err();
    let found = "registered by the code of its instances".to_owned();
    assert_eq!(error, Error::JobExists { job: job(), found });
    assert_eq!(world.stored("/job/config"), before);
    assert_eq!(world.stored("/job/coordination/template"), None);

    let other = JobConfig::new(JobName::new("other").unwrap(), 1);
    operations.create_job(&report(None), &other, &by()).await.unwrap();
    let error = operations.create_job(&report(None), &other, &by()).await.unwrap_err();
    assert!(error.to_string().contains("created from the template report"), "{error}");
    world.write(&[("/left/ledger/0", "")], &[]).await;
    let left = JobConfig::new(JobName::new("left").unwrap(), 1);
    let error = operations.create_job(&report(None), &left, &by()).await.unwrap_err();
    assert!(error.to_string().contains("without a configuration"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn creation_rejects_an_invalid_configuration() {
    let world = World::new();
    let operations = world.operations();
    type Change = fn(&mut JobConfig);
    let rows: [(&str, Change); 5] = [
        ("sharding_total_count", |c| c.sharding_total_count = 0),
        ("cron", |c| c.cron = Some("every day".into())),
        ("cron", |c| c.cron = Some("0 0 0 1 1 ? 1999".into())),
        ("time_zone", |c| c.time_zone = Some("Atlantis".into())),
        ("strategy", |c| c.strategy = "RANDOM".into()),
    ];
    for (field, change) in rows {
        let mut wanted = config();
        change(&mut wanted);
        let error = operations.create_job(&report(None), &wanted, &by()).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid(e) if e.field == field), "{field}: {error}");
    }
    assert_eq!(world.stored("/job"), None);
    assert_eq!(world.stored(&format!("/{RUNTIME_INDEX}")), None);
}

#[tokio::test(start_paused = true)]
async fn creation_with_a_lost_reply_happens_once() {
    for fault in [WriteFault::LoseReply, WriteFault::LoseRequest] {
        for stores_audit in [true, false] {
            let world = World::new();
            let center = Arc::new(world.registry.connect());
            let mut operations = Operations::new(center.clone()).wall_clock(noon);
            if !stores_audit {
                operations = operations.without_stored_audit();
            }
            center.fail_next_write(fault);
            let made = operations.create_job(&report(None), &config(), &by()).await;
            let is_resolved = stores_audit || matches!(fault, WriteFault::LoseRequest);
            match made {
                Ok(report) => assert!(is_resolved && report.has_changed(), "{fault:?}"),
                Err(error) => assert!(!is_resolved && error.is_unknown(), "{fault:?}: {error}"),
            }
            assert!(world.stored("/job/config").is_some(), "{fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_one_of_two_concurrent_creations_succeeds() {
    let world = World::new();
    let (one, two) = (world.operations(), world.operations());
    let (record, config, by) = (report(None), config(), by());
    let both =
        tokio::join!(one.create_job(&record, &config, &by), two.create_job(&record, &config, &by));
    let n_made = [both.0.is_ok(), both.1.is_ok()].iter().filter(|made| **made).count();
    assert_eq!(n_made, 1, "{both:?}");
}

#[tokio::test(start_paused = true)]
async fn stale_index_entry_is_replaced() {
    let world = World::new();
    let operations = world.operations();
    let entry = Layout::new(&job()).index_path();
    world.write(&[(entry.as_str(), r#"{"template":"old"}"#)], &[]).await;
    let (scheduler, _) = offering(&world, 1).await;
    operations.create_job(&report(None), &config(), &by()).await.unwrap();
    world.until("the process to join the job", |job| support::shared_by(job, &[1])).await;
    assert_eq!(world.stored(entry.as_str()).unwrap(), r#"{"v":1,"template":"report"}"#);
    within("leaving", scheduler.shutdown(Duration::from_secs(60))).await;
}

#[tokio::test(start_paused = true)]
async fn change_of_all_jobs_skips_the_index() {
    let world = World::new();
    let operations = world.operations();
    operations.create_job(&report(None), &config(), &by()).await.unwrap();
    let (_scheduler, center) = offering(&world, 1).await;
    world.until("the process to join the job", |job| support::shared_by(job, &[1])).await;
    let scope = operations::Scope::of_server(support::ip(1));
    let report = operations.disable(&scope, &by()).await.unwrap();
    assert!(report.failed.is_empty(), "{report}");
    assert_eq!(report.done.len(), 1, "{report}");
    center.close().await.unwrap();
}
