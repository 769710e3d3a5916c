//! Jobs that operators create from a template, with a stored definition.
#![cfg(unix)]

use crate::support;

use coordination::{JavaFields, JavaJobType, Layout, TemplateName, TemplateRecord};
use job_types::{Allow, StoredJob};
use lite::{JobBuilder, JobConfig, NewJob, Outcome, Template};
use reg_center::{RegistryCenter, Txn};

use support::{Log, Stage, run_once, within};

fn script(job: &str, line: &str) -> JobConfig {
    let mut config = JobBuilder::new(job, 1).build().unwrap();
    let JavaFields::V2(java) = &mut config.java.fields else {
        unreachable!("2.1.5 is the default")
    };
    java.job_type = JavaJobType::Script { command_line: Some(line.to_owned()) };
    config
}

#[tokio::test]
async fn definition_of_a_runtime_job_runs_only_if_the_worker_allows_it() {
    let (log, _guard) = Log::listen();
    let stage = Stage::new();
    let stored = StoredJob::new(Allow::nothing().command(["/bin/true"]).unwrap());
    let template = Template::new("stored", move |new: NewJob| Ok(new.run(stored.clone())));
    stage.scheduler.offer(template.unwrap()).await.unwrap();
    let record = TemplateRecord { template: TemplateName::new("stored").unwrap(), label: None };
    let rows = [
        ("allowed", script("good", "/bin/true"), Outcome::Succeeded),
        ("not allowed", script("evil", "/bin/sh -c 'exit 0'"), Outcome::Failed),
        ("no definition", JobBuilder::new("none", 1).build().unwrap(), Outcome::Failed),
    ];
    for (case, config, expected) in rows {
        let ops = Layout::new(&config.job_name).creation(&config, &record, None);
        let txn = ops.into_iter().fold(Txn::new(), Txn::op);
        let operator = stage.registry.connect();
        assert!(operator.commit(txn).await.unwrap().is_committed(), "{case}");
        let taken = async {
            loop {
                if let Some(handle) = stage.scheduler.job(config.job_name.as_str()) {
                    return handle;
                }
                tokio::task::yield_now().await;
            }
        };
        let handle = within("the start of the job", taken).await;
        within("joining", handle.joined()).await.unwrap();
        assert_eq!(run_once(&handle).await, expected, "{case}: {}", log.text());
    }
    let refused =
        "/bin/sh comes from the registry and is not among what this worker's own file allows";
    assert!(log.text().contains(refused), "{}", log.text());
}
