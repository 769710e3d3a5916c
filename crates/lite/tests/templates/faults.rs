//! Runtime jobs that are created and removed while connections and sessions are lost.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::Layout;
use lite::{
    ErrorHandler, JobError, JobListener, NewJob, OnceContext, OnceListener, Reaction, RunEnd,
    RunFailure, RuntimeJobState, ShardingContext, Template,
};
use reg_center::{RegistryCenter, Txn};
use tokio::sync::watch;

use super::world::{
    config, create, listed, offering, record, recording, remove, remove_as_java_does, shared_by,
};
use crate::support::{Cluster, Runs, every_ten_seconds, path};
use RuntimeJobState::{Removed, Running, Starting};

#[tokio::test(start_paused = true)]
async fn changes_during_a_lost_connection_are_applied_after_the_reconnection() {
    for loses_session in [false, true] {
        let (cluster, runs) = (Cluster::new(), Runs::default());
        let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
        let (_two, _) = offering(&cluster, 2, &[recording("report", &runs)]).await;
        for job in ["kept", "removed"] {
            create(&cluster, &config(job), &record("report", None)).await;
            shared_by(&cluster, job, &[1, 2]).await;
        }
        let lease = Duration::from_secs(20);
        if loses_session {
            one.center.expire_unnoticed(lease);
        } else {
            one.center.suspend(lease);
        }
        remove(&cluster, "removed").await;
        create(&cluster, &config("made"), &record("report", None)).await;
        shared_by(&cluster, "made", &[2]).await;
        cluster.pass(Duration::from_secs(5)).await;
        assert_eq!(states.of("made"), [], "the process cannot know the new job");
        assert_eq!(states.of("removed"), [Starting, Running], "an unreadable job is not removed");
        one.center.resume();
        for job in ["kept", "made"] {
            shared_by(&cluster, job, &[1, 2]).await;
        }
        states.last("removed", Removed).await;
        assert_eq!(states.of("kept"), [Starting, Running], "loses session: {loses_session}");
        assert_eq!(cluster.stored("removed", &[]), None);
    }
}

#[tokio::test(start_paused = true)]
async fn code_of_a_former_template_never_runs_in_a_job_created_again_with_another_one() {
    let (cluster, old, new) = (Cluster::new(), Runs::default(), Runs::default());
    let templates = [recording("old", &old), recording("new", &new)];
    let (one, states) = offering(&cluster, 1, &templates).await;
    create(&cluster, &config("r-1"), &record("old", None)).await;
    old.until("a fire", |seen| seen.len() >= 2).await;
    // The session is lost while the job is replaced. The driver of the job receives the new session
    // before the watcher receives the change of the index.
    one.center.expire_unnoticed(Duration::from_secs(20));
    remove(&cluster, "r-1").await;
    let n_old = old.all().len();
    let other = config("r-1").with(|it| it.job_parameter = "other".into());
    create(&cluster, &other, &record("new", None)).await;
    one.center.resume();
    new.until("the new code to run", |seen| seen.len() >= 4).await;
    assert_eq!(old.all().len(), n_old, "the old code has not run in the new job");
    assert_eq!(states.of("r-1").last(), Some(&Running));
}

#[tokio::test(start_paused = true)]
async fn code_of_a_former_generation_fails_in_the_next_job_of_its_name() {
    let (cluster, old, calls) = (Cluster::new(), Runs::default(), Calls::default());
    let (noted, called) = (old.clone(), calls.clone());
    let template = Template::new("old", move |new: NewJob| {
        let registration = new.run(noted.job()).listener(called.clone());
        Ok(registration.once_per_cluster(called.clone()).error_handler(called.clone()))
    });
    let (one, _) = offering(&cluster, 1, &[template.unwrap()]).await;
    create(&cluster, &config("r-1"), &record("old", None)).await;
    old.until("a fire", |seen| seen.len() >= 2).await;
    calls.until("both callbacks", |n| n.once == 2).await;
    let mut events = one.scheduler.job("r-1").unwrap().events();
    // The index entry does not change, so the process receives no notification of the replacement.
    // The check of the generation alone must stop the code.
    one.center.expire_unnoticed(Duration::from_secs(20));
    let (n_old, n_calls) = (old.all().len(), calls.all());
    assert_eq!(n_calls, NCalls { before: 2, after: 2, once: 2, failures: 0 });
    let operator = cluster.registry.connect();
    let layout = Layout::new(one.scheduler.job("r-1").unwrap().name());
    let again = Txn::new().delete(layout.template_path()).create(
        layout.template_path(),
        r#"{"template":"new"}"#,
        reg_center::Lifetime::Persistent,
    );
    assert!(operator.commit(again).await.unwrap().is_committed());
    one.center.resume();
    for _ in 0..2 {
        crate::support::settled(&mut events, lite::Outcome::Failed).await;
    }
    // Callbacks after the end of a run would be called within this time.
    cluster.pass(Duration::from_secs(15)).await;
    assert_eq!(old.all().len(), n_old);
    assert_eq!(calls.all(), n_calls, "listeners and handlers of the template are not called");
}

/// Numbers of calls of a template's listeners and error handlers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NCalls {
    before: u32,
    after: u32,
    once: u32,
    failures: u32,
}

#[derive(Clone, Default)]
struct Calls(Arc<watch::Sender<NCalls>>);

impl Calls {
    fn all(&self) -> NCalls {
        *self.0.borrow()
    }

    async fn until(&self, what: &str, wanted: impl Fn(&NCalls) -> bool) {
        let mut calls = self.0.subscribe();
        crate::support::within(what, calls.wait_for(wanted)).await.unwrap();
    }
}

#[async_trait]
impl JobListener for Calls {
    async fn before(&self, _: &ShardingContext) -> Result<(), JobError> {
        self.0.send_modify(|calls| calls.before += 1);
        Ok(())
    }

    async fn after(&self, _: &ShardingContext, _: &RunEnd) -> Result<(), JobError> {
        self.0.send_modify(|calls| calls.after += 1);
        Ok(())
    }
}

#[async_trait]
impl OnceListener for Calls {
    async fn started(&self, _: OnceContext) {
        self.0.send_modify(|calls| calls.once += 1);
    }

    async fn completed(&self, _: OnceContext) {
        self.0.send_modify(|calls| calls.once += 1);
    }
}

#[async_trait]
impl ErrorHandler for Calls {
    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        self.0.send_modify(|calls| calls.failures += 1);
        Ok(Reaction::GoOn)
    }
}

#[tokio::test(start_paused = true)]
async fn repeated_creation_and_removal_ends_with_the_last_job() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    let (two, _) = offering(&cluster, 2, &[recording("report", &runs)]).await;
    for round in 0..10 {
        let parameter = format!("round {round}");
        let config = config("r-1").with(|it| it.job_parameter = parameter.clone());
        create(&cluster, &config, &record("report", None)).await;
        if round % 3 == 2 {
            states.last("r-1", Running).await;
        }
        if round < 9 {
            remove(&cluster, "r-1").await;
        }
    }
    shared_by(&cluster, "r-1", &[1, 2]).await;
    let stored = cluster.stored("r-1", &["config"]).unwrap();
    assert!(stored.contains("round 9"), "{stored}");
    for member in [&one, &two] {
        let status = member.scheduler.job("r-1").unwrap().status().await.unwrap();
        assert_eq!(status.config.unwrap().job_parameter, "round 9");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_java_removes_is_left_and_its_index_entry_is_removed() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (_one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", None)).await;
    shared_by(&cluster, "r-1", &[1]).await;
    remove_as_java_does(&cluster, "r-1").await;
    states.last("r-1", Removed).await;
    assert_eq!(listed(&cluster), [""; 0]);
    assert_eq!(cluster.stored("r-1", &[]), None);
}

#[tokio::test(start_paused = true)]
async fn a_lost_index_entry_is_restored_while_the_job_exists() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (one, states) = offering(&cluster, 1, &[recording("report", &runs)]).await;
    create(&cluster, &config("r-1"), &record("report", Some("eu"))).await;
    shared_by(&cluster, "r-1", &[1]).await;
    let operator = cluster.registry.connect();
    let entry = Layout::new(one.scheduler.job("r-1").unwrap().name()).index_path();
    assert!(operator.commit(Txn::new().delete(entry.clone())).await.unwrap().is_committed());
    let mut feed = operator.watch(&Layout::runtime_index());
    crate::support::within("the entry", async {
        while operator.read(&entry).await.unwrap().is_none() {
            feed.next().await.unwrap();
        }
    })
    .await;
    let node = operator.read(&entry).await.unwrap().unwrap();
    assert_eq!(node.data, r#"{"v":1,"template":"report","label":"eu"}"#);
    assert_eq!(states.of("r-1"), [Starting, Running]);
}

#[tokio::test(start_paused = true)]
async fn a_job_is_joined_when_the_registry_becomes_available() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    create(&cluster, &config("r-1"), &record("report", None)).await;
    let member = cluster.member(1);
    member.center.suspend(Duration::from_secs(20));
    member.scheduler.offer(recording("report", &runs)).await.unwrap();
    cluster.pass(Duration::from_secs(300)).await;
    assert_eq!(member.scheduler.runtime_jobs(), []);
    member.center.resume();
    shared_by(&cluster, "r-1", &[1]).await;
    runs.until("a fire", |seen| seen.len() >= 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_registered_by_the_program_has_no_template_and_no_index_entry() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let config = every_ten_seconds().build().unwrap();
    for n in [1, 2] {
        let member = cluster.member(n);
        member.scheduler.schedule(config.clone(), runs.job()).await.unwrap();
    }
    runs.until("a fire", |seen| seen.len() >= 3).await;
    assert!(
        cluster.registry.snapshot().read(&path("job", &["coordination", "template"])).is_none()
    );
    assert_eq!(listed(&cluster), [""; 0]);
}
