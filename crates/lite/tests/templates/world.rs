//! Creation and removal of runtime jobs as operator actions, and the states that processes report.

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

/// States of runtime jobs that one process has published, in order.
#[derive(Clone, Default)]
pub(crate) struct PublishedStates {
    states: Arc<Mutex<Vec<RuntimeJob>>>,
    changed: Arc<Notify>,
}

impl EventSubscriber for PublishedStates {
    fn on_event(&self, _: &JobRecord) {}

    fn on_runtime_job(&self, job: &RuntimeJob) {
        self.states.lock().push(job.clone());
        self.changed.notify_waiters();
    }
}

impl PublishedStates {
    /// Returns all published states of a job, in order.
    pub(crate) fn of(&self, job: &str) -> Vec<RuntimeJobState> {
        let published = self.states.lock();
        let of_job = published.iter().filter(|published| published.job.as_str() == job);
        of_job.map(|published| published.state.clone()).collect()
    }

    /// Waits until a condition holds for the published states of a job.
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
                let states = self.of(job);
                if wanted(&states) {
                    return states;
                }
                changed.await;
            }
        };
        within(what, wait).await
    }

    /// Waits until this is the last published state of a job.
    pub(crate) async fn last(&self, job: &str, state: RuntimeJobState) {
        let what = format!("{job}: {state}");
        self.until(job, &what, |states| states.last() == Some(&state)).await;
    }

    /// Waits until a job is refused, and returns the reason.
    pub(crate) async fn refused(&self, job: &str) -> String {
        let is_refused = |states: &[RuntimeJobState]| {
            matches!(states.last(), Some(RuntimeJobState::Refused { .. }))
        };
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

/// A template whose jobs record their runs.
pub(crate) fn recording(name: &str, runs: &Runs) -> Template {
    let runs = runs.clone();
    Template::new(name, move |new: NewJob| Ok(new.run(runs.job()))).unwrap()
}

/// Adds a member that offers templates, and returns it with the states that it publishes.
pub(crate) async fn offering(
    cluster: &Cluster,
    n: u8,
    templates: &[Template],
) -> (Member, PublishedStates) {
    offering_with(cluster, n, templates, |builder| builder).await
}

pub(crate) async fn offering_with(
    cluster: &Cluster,
    n: u8,
    templates: &[Template],
    options: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
) -> (Member, PublishedStates) {
    let states = PublishedStates::default();
    let subscriber = states.clone();
    let member = cluster.member_with(n, |builder| options(builder.event_subscriber(subscriber)));
    for template in templates {
        member.scheduler.offer(template.clone()).await.unwrap();
    }
    (member, states)
}

/// Creates a job from a template, as `operations` does.
pub(crate) async fn create(cluster: &Cluster, config: &JobConfig, record: &TemplateRecord) {
    let operator = cluster.registry.connect();
    let layout = Layout::new(&config.job_name);
    let entry = operator.read(&layout.index_path()).await.unwrap();
    let ops = layout.creation(config, record, entry.map(|entry| entry.stat.version));
    commit(cluster, ops).await;
}

/// Removes a job while its instances live, as `operations` does.
pub(crate) async fn remove(cluster: &Cluster, job: &str) {
    let layout = Layout::new(&JobName::new(job).unwrap());
    let model = cluster.registry.snapshot();
    let removal = layout.removal(model.subtree(&layout.root()));
    let entry = Txn::new().delete(layout.index_path());
    commit(cluster, removal.first.into_iter().chain(entry.ops().iter().cloned())).await;
    clear(cluster, job).await;
}

/// Deletes the remaining nodes of a job, again after each write of a leaving instance.
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

/// Removes a job but not its index entry, as Java's console does.
pub(crate) async fn remove_as_java_does(cluster: &Cluster, job: &str) {
    clear(cluster, job).await;
}

async fn commit(cluster: &Cluster, ops: impl IntoIterator<Item = Op>) {
    let operator = cluster.registry.connect();
    let txn = ops.into_iter().fold(Txn::new(), Txn::op);
    let outcome = operator.commit(txn).await.unwrap();
    assert!(outcome.is_committed(), "{outcome:?}");
}

/// Waits until these members own all items of a job of two items, and no other member owns any.
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

/// Returns the names of the jobs in the index.
pub(crate) fn listed(cluster: &Cluster) -> Vec<String> {
    let (model, index) = (cluster.registry.snapshot(), Layout::runtime_index());
    let names = model.subtree(&index).filter_map(|node| Layout::indexed_job(&node.path));
    names.map(|name| name.to_string()).collect()
}
