//! A stop by an error handler while writes or replies of the registry are lost.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::{JobName, Layout, ServerIp, ServerState};
use lite::{
    ErrorHandler, JobBuilder, JobConfig, JobError, JobEvent, JobHandle, MissReason, Outcome,
    Reaction, RunFailure, ShardingContext, StopOnErrors, job_fn,
};
use reg_center::RegistryCenter;
use reg_center::memory::WriteFault;
use tokio::sync::Notify;

use support::log::Log;
use support::{Cluster, Member, Runs, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// An error handler that stops the job when the test notifies it.
struct StopOnNotice(Arc<Notify>);

#[async_trait]
impl ErrorHandler for StopOnNotice {
    fn name(&self) -> &str {
        "stop-on-notice"
    }

    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        self.0.notified().await;
        Ok(Reaction::StopJob)
    }
}

fn config() -> JobConfig {
    JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap()
}

/// A job whose first run fails.
fn failing_once(runs: &Runs, at_first: impl Fn() + Send + Sync + 'static) -> impl lite::Job {
    let runs = runs.clone();
    job_fn(move |context: ShardingContext| {
        runs.note(&context);
        let first = runs.all().len() == 1;
        if first {
            at_first();
        }
        async move { if first { Err("the disk is full".into()) } else { Ok(()) } }
    })
}

/// Registers a job whose first run fails, and whose handler stops it on notice.
async fn stopped_on_notice(member: &Member, runs: &Runs) -> (JobHandle, Arc<Notify>) {
    let notice = Arc::new(Notify::new());
    let job = failing_once(runs, || {});
    let registration = member.scheduler.schedule(config(), job);
    let handle = registration.error_handler(StopOnNotice(notice.clone())).await.unwrap();
    settled(&mut handle.events(), Outcome::Failed).await;
    (handle, notice)
}

fn is_paused(cluster: &Cluster) -> bool {
    cluster.stored("job", &["servers", "10.0.0.1"]).unwrap() == "PAUSED"
}

async fn until_paused(cluster: &Cluster) {
    cluster.until("job", "a paused server", || is_paused(cluster)).await;
}

async fn resume_server(cluster: &Cluster) {
    let layout = Layout::new(&JobName::new("job").unwrap());
    let txn = layout.set_server(&ServerIp::new("10.0.0.1").unwrap(), ServerState::Enabled);
    let operator = cluster.registry.connect();
    assert!(operator.commit(txn).await.unwrap().is_committed());
}

async fn stopped(events: &mut lite::JobEvents) {
    event(events, "the stop", |event| matches!(event, JobEvent::Stopped { .. })).await;
}

#[tokio::test(start_paused = true)]
async fn the_job_goes_on_if_the_view_has_missed_both_the_pause_and_the_resumption() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let center = member.center.clone();
    // From the failure on, this process receives no changes from the registry.
    let job = failing_once(&runs, move || center.hold_feeds());
    let registration = member.scheduler.schedule(config(), job);
    let handle = registration.error_handler(StopOnErrors).await.unwrap();
    stopped(&mut handle.events()).await;
    until_paused(&cluster).await;
    resume_server(&cluster).await;
    member.center.release_feeds();
    runs.until("a run after the resumption", |seen| seen.len() > 1).await;
    let status = handle.status().await.unwrap();
    assert_eq!((status.paused, status.stopped), (false, None));
}

#[tokio::test(start_paused = true)]
async fn a_pause_whose_reply_is_lost_is_not_written_over_a_resumption() {
    let (log, _guard) = Log::listen_at(tracing::Level::WARN);
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let (handle, notice) = stopped_on_notice(&member, &runs).await;
    member.center.fail_next_write(WriteFault::LoseReply);
    notice.notify_one();
    until_paused(&cluster).await;
    resume_server(&cluster).await;
    runs.until("a run after the resumption", |seen| seen.len() > 1).await;
    assert!(!is_paused(&cluster));
    assert_eq!(handle.status().await.unwrap().stopped, None);
    let audit = cluster.stored("job", &["coordination", "audit"]).unwrap();
    assert_eq!(audit.matches(r#""id":"stop-"#).count(), 1, "{audit}");
    let text = log.text();
    assert_eq!(text.matches("retrying each second").count(), 1, "logged once: {text}");
}

#[tokio::test(start_paused = true)]
async fn a_program_cannot_resume_a_stopped_job_before_the_pause_is_in_the_registry() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let (handle, notice) = stopped_on_notice(&member, &runs).await;
    let mut events = handle.events();
    member.center.fail_next_write(WriteFault::LoseRequest);
    notice.notify_one();
    stopped(&mut events).await;
    handle.resume().await.unwrap();
    let status = handle.status().await.unwrap();
    assert!(status.paused && status.stopped.is_some(), "{status:?}");
    until_paused(&cluster).await;
    let is_missed =
        |event: &JobEvent| matches!(event, JobEvent::Missed { reason: MissReason::Paused, .. });
    event(&mut events, "a fire that is missed", is_missed).await;
    assert_eq!(runs.all().len(), 1);

    resume_server(&cluster).await;
    runs.until("a run after the resumption", |seen| seen.len() > 1).await;
    assert!(!handle.status().await.unwrap().paused);
}

#[tokio::test(start_paused = true)]
async fn a_job_stopped_while_it_leaves_is_paused_in_the_registry() {
    for fault in [None, Some(WriteFault::LoseRequest)] {
        let (cluster, runs) = (Cluster::new(), Runs::default());
        let member = cluster.member(1);
        let (handle, notice) = stopped_on_notice(&member, &runs).await;
        let instance = handle.status().await.unwrap().instance.unwrap().to_string();
        let has_left = || cluster.stored("job", &["instances", &instance]).is_none();
        let decision = async {
            cluster.until("job", "the instance to leave", has_left).await;
            if let Some(fault) = fault {
                member.center.fail_next_write(fault);
            }
            notice.notify_one();
        };
        let both = async { tokio::join!(handle.shutdown(10 * SECOND), decision) };
        let (report, ()) = within("the shutdown", both).await;
        assert!(report.unwrap().deregistered);
        assert!(is_paused(&cluster), "{fault:?}");
        assert!(handle.status().await.unwrap().stopped.is_some(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_a_pause_that_cannot_be_written_only_until_its_limit() {
    let (log, _guard) = Log::listen_at(tracing::Level::WARN);
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let (handle, notice) = stopped_on_notice(&member, &runs).await;
    let instance = handle.status().await.unwrap().instance.unwrap().to_string();
    let began = lite::Clock::monotonic(&*cluster.clock);
    let has_left = || cluster.stored("job", &["instances", &instance]).is_none();
    let decision = async {
        cluster.until("job", "the instance to leave", has_left).await;
        member.center.suspend(Duration::from_secs(3_600));
        notice.notify_one();
    };
    let both = async { tokio::join!(handle.shutdown(3 * SECOND), decision) };
    let (report, ()) = within("the shutdown", both).await;
    report.unwrap();
    let took = lite::Clock::monotonic(&*cluster.clock) - began;
    assert!(took >= 4 * SECOND && took < 6 * SECOND, "deadline and twice the grace: {took:?}");
    assert!(log.text().contains("before its server is paused"), "{}", log.text());
}
