//! Rust joins a Java cluster and leaves again.
//!
//! The strategy decides the owners, and every fire of every item runs once, with and without
//! monitoring.

use super::CheckSetup;
use super::common::{assigned, average, between_fires, fires, next_fire, verify};
use super::run_history::RunHistory;
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, Worker};
use crate::suite::Report;

const MONITORED: &str = "joining";
const UNMONITORED: &str = "joiningUnmonitored";
const TOTAL: u32 = 6;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let workers = [(Kind::Java, "javaA", 1), (Kind::Java, "javaB", 2), (Kind::Rust, "rust", 3)];
    let [a, b, rust] = env.all(workers).await?;
    let unmonitored = JobPlan { monitor_execution: false, ..JobPlan::new(UNMONITORED, TOTAL) };
    let mut jobs = Vec::new();
    for plan in [JobPlan::new(MONITORED, TOTAL), unmonitored] {
        jobs.push(Joining { env: &env, plan, java: Vec::new(), verified_to: 0 });
    }
    for job in &mut jobs {
        job.java_only([&a, &b], report).await?;
    }
    for job in &mut jobs {
        job.joined(&rust, report).await?;
    }
    // A Java leader assigns items at a fire, so that an instance should not leave during a fire.
    between_fires(&env, &[MONITORED, UNMONITORED], TOTAL).await?;
    rust.leave().await?;
    for job in &mut jobs {
        job.left(report).await?;
    }
    a.leave().await?;
    b.leave().await?;
    env.tree.close().await
}

/// A job of two Java workers that a Rust worker joins and leaves.
struct Joining<'a> {
    env: &'a CheckEnv<'a>,
    plan: JobPlan,
    java: Vec<String>,
    /// The last verified fire.
    verified_to: i64,
}

impl Joining<'_> {
    /// Lets the Java workers join one after the other.
    ///
    /// A Java leader can miss that an instance joins during a resharding.
    async fn java_only(
        &mut self,
        workers: [&Worker; 2],
        report: &mut Report,
    ) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        for worker in workers {
            if !self.java.is_empty() {
                between_fires(self.env, &[&job], TOTAL).await?;
            }
            self.java.push(worker.schedule(&self.plan).await?);
            assigned(self.env, &job, TOTAL, &self.java).await?;
        }
        self.verified_to = next_fire(self.env, &job, TOTAL).await?;
        self.verify("only the Java instances take part", 3, report).await
    }

    async fn joined(&mut self, rust: &Worker, report: &mut Report) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        let before = self.verified_to;
        between_fires(self.env, &[&job], TOTAL).await?;
        let rust_id = rust.schedule(&self.plan).await?;
        let all: Vec<&str> = self.java.iter().map(|id| &**id).chain([&*rust_id]).collect();
        assigned(self.env, &job, TOTAL, &all).await?;
        let found = self.env.nodes().owners(&job);
        let what = format!("items of {job} after Rust has joined");
        report.same(&what, &average(&job, TOTAL, &all), &found);
        self.verify("Rust joins", 8, report).await?;
        let n_runs = RunHistory::of(&job, &self.env.log.entries()).n_runs_of("rust", before);
        let what = format!("runs of Rust in {job}");
        report.holds(&what, "at least 10", &n_runs.to_string(), n_runs >= 10);
        Ok(())
    }

    async fn left(&mut self, report: &mut Report) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        let java: Vec<&str> = self.java.iter().map(|id| &**id).collect();
        assigned(self.env, &job, TOTAL, &java).await?;
        let found = self.env.nodes().owners(&job);
        let what = format!("items of {job} after Rust has left");
        report.same(&what, &average(&job, TOTAL, &java), &found);
        self.verify("Rust leaves", 5, report).await
    }

    /// Waits for `n` fires, and verifies all fires since the last call.
    async fn verify(&mut self, when: &str, n: i64, report: &mut Report) -> Result<(), Failure> {
        let job = &self.plan.name;
        let from = self.verified_to;
        let last = from.max(next_fire(self.env, job, TOTAL).await?);
        self.verified_to = fires(self.env, job, TOTAL, last, n - 1).await?;
        let what = format!("fires of {job} while {when}");
        verify(self.env, job, TOTAL, (from, self.verified_to), &what, report);
        Ok(())
    }
}
