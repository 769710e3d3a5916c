//! Rolling replacement: Java workers are replaced by Rust workers, one at a time, and these by Java
//! workers.
//!
//! The jobs fire every second. No fire is lost, and no fire runs twice.

use super::CheckSetup;
use super::common::{assigned, between_fires, fires, next_fire, now_ms, verify};
use super::run_history::{RunHistory, SECOND};
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, Worker};
use crate::suite::Report;

const TOTAL: u32 = 6;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let java = [(Kind::Java, "java1", 1), (Kind::Java, "java2", 2), (Kind::Java, "java3", 3)];
    let rust = [(Kind::Rust, "rust1", 1), (Kind::Rust, "rust2", 2), (Kind::Rust, "rust3", 3)];
    let java = env.all(java).await?;
    let rust = env.all(rust).await?;
    // Java is the leader of one job until its last worker leaves. Rust is the leader of the other
    // job from the beginning.
    let mut jobs = [Job::new(&env, "rolledFromJava"), Job::new(&env, "rolledUnderRust")];
    jobs[1].join(&rust[0]).await?;
    for worker in &java {
        for job in &mut jobs {
            job.join(worker).await?;
            // A Java leader can miss that an instance joins during a resharding.
            job.assigned().await?;
            next_fire(&env, job.name, TOTAL).await?;
        }
    }
    for job in &mut jobs {
        job.from = next_fire(&env, job.name, TOTAL).await?;
    }
    replace(&env, &mut jobs, &java, &rust, report).await?;
    for job in &mut jobs {
        job.verify("Java workers replaced by Rust", report);
    }
    drop(java);
    let back = [(Kind::Java, "java4", 1), (Kind::Java, "java5", 2), (Kind::Java, "java6", 3)];
    let back = env.all(back).await?;
    replace(&env, &mut jobs, &rust, &back, report).await?;
    for job in &mut jobs {
        job.verify("Rust workers replaced by Java", report);
    }
    for worker in &back {
        worker.leave().await?;
    }
    env.tree.close().await
}

/// Replaces one worker after the other in all jobs, with fires before and after the old worker
/// leaves.
async fn replace(
    env: &CheckEnv<'_>,
    jobs: &mut [Job<'_>],
    old_workers: &[Worker],
    new_workers: &[Worker],
    report: &mut Report,
) -> Result<(), Failure> {
    for (old, new) in old_workers.iter().zip(new_workers) {
        for job in &mut *jobs {
            between_fires(env, &[job.name], TOTAL).await?;
            job.join(new).await?;
        }
        settle(jobs, report).await;
        // A worker leaves all jobs at once.
        between_fires(env, &jobs.iter().map(|job| job.name).collect::<Vec<_>>(), TOTAL).await?;
        old.leave().await?;
        for job in &mut *jobs {
            job.instances.retain(|(name, _)| name != old.name());
        }
        settle(jobs, report).await;
    }
    Ok(())
}

/// Waits for the same three fires of every job. A job without them is reported once, and later
/// calls skip it.
async fn settle(jobs: &mut [Job<'_>], report: &mut Report) {
    for job in jobs.iter_mut().filter(|job| !job.is_stuck) {
        let outcome = job.assigned().await;
        job.stop_at(outcome, report);
    }
    let now = now_ms();
    let last = now - now % SECOND;
    for job in jobs.iter_mut().filter(|job| !job.is_stuck) {
        let outcome = fires(job.env, job.name, TOTAL, last, 3).await;
        job.stop_at(outcome.map(drop), report);
    }
}

/// One job whose workers are replaced.
struct Job<'a> {
    env: &'a CheckEnv<'a>,
    name: &'static str,
    /// The names of its workers and their instances' ids.
    instances: Vec<(String, String)>,
    /// The first fire to verify.
    from: i64,
    /// An earlier wait for the job has failed.
    is_stuck: bool,
}

impl<'a> Job<'a> {
    fn new(env: &'a CheckEnv<'a>, name: &'static str) -> Self {
        Self { env, name, instances: Vec::new(), from: 0, is_stuck: false }
    }

    /// Schedules the job on a worker unless the worker takes part already.
    async fn join(&mut self, worker: &Worker) -> Result<(), Failure> {
        if self.instances.iter().all(|(name, _)| name != worker.name()) {
            let id = worker.schedule(&JobPlan::new(self.name, TOTAL)).await?;
            self.instances.push((worker.name().to_owned(), id));
        }
        Ok(())
    }

    /// Waits until the instances own the items.
    async fn assigned(&self) -> Result<(), Failure> {
        let ids: Vec<&str> = self.instances.iter().map(|(_, id)| &**id).collect();
        assigned(self.env, self.name, TOTAL, &ids).await
    }

    /// Reports a failed wait and marks the job as stuck.
    fn stop_at(&mut self, outcome: Result<(), Failure>, report: &mut Report) {
        self.is_stuck = outcome.is_err();
        report.part(outcome);
    }

    /// Verifies all fires since the last call, except the last one, whose items may not all have
    /// begun.
    fn verify(&mut self, what: &str, report: &mut Report) {
        let history = RunHistory::of(self.name, &self.env.log.entries());
        let to = history.last().map_or(self.from, |fire| fire - SECOND);
        let what = format!("fires of {}, {what}", self.name);
        verify(self.env, self.name, TOTAL, (self.from, to), &what, report);
        self.from = to + SECOND;
    }
}
