//! Jobs that are made and removed as an operator does it, and what processes tell of them.

use std::sync::Arc;

use coordination::{JobConfig, JobName, Label, Layout, TemplateName, TemplateRecord};
use lite::{
    EventSubscriber, JobBuilder, JobRecord, NewJob, RuntimeJob, RuntimeJobState, SchedulerBuilder,
    Template,
};
use parking_lot::Mutex;
use reg_center::{Op, RegistryCenter, Txn};
use tokio::sync::Notify;

use crate::support::{Cluster, EVERY_TEN_SECONDS, Member, Runs, within};

/// What one process has told of jobs that were made at run time, as `job: state`.
#[derive(Clone, Default)]
pub(crate) struct Told {
    states: Arc<Mutex<Vec<RuntimeJob>>>,
    changed: Arc<Notify>,
}

impl EventSubscriber for Told {
    fn on_event(&self, _: &JobRecord) {}

    fn on_runtime_job(&self, job: &RuntimeJob) {
        self.states.lock().push(job.clone());
        self.changed.notify_waiters();
    }
}

impl Told {
    /// Returns all that was told of a job, in order.
    pub(crate) fn of(&self, job: &str) -> Vec<RuntimeJobState> {
        let states = self.states.lock();
        let of_job = states.iter().filter(|told| told.job.as_str() == job);
        of_job.map(|told| told.state.clone()).collect()
    }

    /// Waits until what was told of a job is as wanted.
    pub(crate) async fn until(
        &self,
        job: &str,
        what: &str,
        wanted: impl Fn(&[RuntimeJobState]) -> bool,
    ) -> Vec<RuntimeJobState> {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let told = self.of(job);
                if wanted(&told) {
                    return told;
                }
                changed.await;
            }
        };
        within(what, wait).await
    }

    /// Waits until this is the last that was told of a job.
    pub(crate) async fn last(&self, job: &str, state: RuntimeJobState) {
        let what = format!("{job}: {state}");
        self.until(job, &what, |told| told.last() == Some(&state)).await;
    }

    /// Waits until a job was refused, and returns why.
    pub(crate) async fn refused(&self, job: &str) -> String {
        let is_refused =
            |told: &[RuntimeJobState]| matches!(told.last(), Some(RuntimeJobState::Refused { .. }));
        match self.until(job, "a refusal", is_refused).await.pop() {
            Some(RuntimeJobState::Refused { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }
}

/// A configuration of two items that fires every ten seconds.
pub(crate) fn config(job: &str) -> JobConfig {
    JobBuilder::new(job, 2).cron(EVERY_TEN_SECONDS).build().unwrap()
}

pub(crate) fn record(template: &str, label: Option<&str>) -> TemplateRecord {
    let label = label.map(|label| Label::new(label).unwrap());
    TemplateRecord { template: TemplateName::new(template).unwrap(), label }
}

/// A template whose jobs note their runs.
pub(crate) fn noting(name: &str, runs: &Runs) -> Template {
    let runs = runs.clone();
    Template::new(name, move |new: NewJob| Ok(new.run(runs.job()))).unwrap()
}

/// Adds a member that offers templates, and tells what it tells.
pub(crate) async fn offering(cluster: &Cluster, n: u8, templates: &[Template]) -> (Member, Told) {
    offering_with(cluster, n, templates, |builder| builder).await
}

pub(crate) async fn offering_with(
    cluster: &Cluster,
    n: u8,
    templates: &[Template],
    options: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
) -> (Member, Told) {
    let told = Told::default();
    let subscriber = told.clone();
    let member = cluster.member_with(n, |builder| options(builder.event_subscriber(subscriber)));
    for template in templates {
        member.scheduler.offer(template.clone()).await.unwrap();
    }
    (member, told)
}

/// Makes a job from a template, as `operations` does.
pub(crate) async fn create(cluster: &Cluster, config: &JobConfig, record: &TemplateRecord) {
    let operator = cluster.registry.connect();
    let layout = Layout::new(&config.job_name);
    let entry = operator.read(&layout.index_path()).await.unwrap();
    let ops = layout.creation(config, record, entry.map(|entry| entry.stat.version));
    commit(cluster, ops).await;
}

/// Removes a job, as `operations` does, while its instances live.
pub(crate) async fn remove(cluster: &Cluster, job: &str) {
    let layout = Layout::new(&JobName::new(job).unwrap());
    let model = cluster.registry.snapshot();
    let removal = layout.removal(model.subtree(&layout.root()));
    let entry = Txn::new().delete(layout.index_path());
    commit(cluster, removal.first.into_iter().chain(entry.ops().iter().cloned())).await;
    clear(cluster, job).await;
}

/// Takes away what is left of a job, as often as somebody who leaves writes something.
async fn clear(cluster: &Cluster, job: &str) {
    let layout = Layout::new(&JobName::new(job).unwrap());
    while cluster.registry.snapshot().read(&layout.root()).is_some() {
        let model = cluster.registry.snapshot();
        let removal = layout.removal(model.subtree(&layout.root()));
        let operator = cluster.registry.connect();
        let txn = removal.first.into_iter().chain(removal.rest).fold(Txn::new(), Txn::op);
        let _ = operator.commit(txn).await.unwrap();
        tokio::task::yield_now().await;
    }
}

/// Removes a job without knowing of the list, as Java's console does.
pub(crate) async fn remove_as_java_does(cluster: &Cluster, job: &str) {
    clear(cluster, job).await;
}

async fn commit(cluster: &Cluster, ops: impl IntoIterator<Item = Op>) {
    let operator = cluster.registry.connect();
    let txn = ops.into_iter().fold(Txn::new(), Txn::op);
    let outcome = operator.commit(txn).await.unwrap();
    assert!(outcome.is_committed(), "{outcome:?}");
}

/// Waits until these addresses, and only they, own all items of a job of two items.
pub(crate) async fn shared_by(cluster: &Cluster, job: &str, members: &[u8]) {
    let wanted = || {
        let owners = cluster.owners(job, 2);
        let of = |n: u8| owners.iter().any(|id| id.starts_with(&format!("10.0.0.{n}@")));
        owners.len() == 2
            && members.iter().all(|n| of(*n))
            && owners
                .iter()
                .all(|id| members.iter().any(|n| id.starts_with(&format!("10.0.0.{n}@"))))
    };
    cluster.until(job, &format!("{job} to be shared by {members:?}"), wanted).await;
}

/// Returns the names of the jobs that are on the list.
pub(crate) fn listed(cluster: &Cluster) -> Vec<String> {
    let (model, index) = (cluster.registry.snapshot(), Layout::runtime_index());
    let names = model.subtree(&index).filter_map(|node| Layout::indexed_job(&node.path));
    names.map(|name| name.to_string()).collect()
}
