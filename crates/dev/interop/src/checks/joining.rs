//! Rust joins a Java cluster: it gets its items by the same strategy, and every fire of every item runs once, whether the
//! job is monitored or not.

use super::Setting;
use super::account::Account;
use super::common::{assigned, average, between_fires, fires, judge, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Kind, Worker};
use crate::suite::Report;

const MONITORED: &str = "joining";
const UNMONITORED: &str = "joiningUnmonitored";
const TOTAL: u32 = 6;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let workers = [(Kind::Java, "javaA", 1), (Kind::Java, "javaB", 2), (Kind::Rust, "rust", 3)];
    let [a, b, rust] = cast.all(workers).await?;
    let unmonitored = JobPlan { monitor_execution: false, ..JobPlan::new(UNMONITORED, TOTAL) };
    let mut jobs = Vec::new();
    for plan in [JobPlan::new(MONITORED, TOTAL), unmonitored] {
        jobs.push(Joining { cast: &cast, plan, java: Vec::new(), seen: 0 });
    }
    for job in &mut jobs {
        job.alone([&a, &b], report).await?;
    }
    for job in &mut jobs {
        job.joined(&rust, report).await?;
    }
    // A Java leader assigns items at a fire; nobody leaves in the middle of that.
    between_fires(&cast, &[MONITORED, UNMONITORED], TOTAL).await?;
    rust.leave().await?;
    for job in &mut jobs {
        job.left(report).await?;
    }
    a.leave().await?;
    b.leave().await?;
    cast.tree.close().await
}

/// A job of two Java workers that a Rust worker joins and leaves.
struct Joining<'a> {
    cast: &'a Cast<'a>,
    plan: JobPlan,
    java: Vec<String>,
    /// The last fire that was judged.
    seen: i64,
}

impl Joining<'_> {
    /// The Java workers join one after the other: a Java leader can forget who joins while it still reshards for somebody
    /// else.
    async fn alone(&mut self, workers: [&Worker; 2], report: &mut Report) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        for worker in workers {
            if !self.java.is_empty() {
                between_fires(self.cast, &[&job], TOTAL).await?;
            }
            self.java.push(worker.schedule(&self.plan).await?);
            assigned(self.cast, &job, TOTAL, &self.java).await?;
        }
        self.seen = next_fire(self.cast, &job, TOTAL).await?;
        self.judge("the Java cluster is alone", 3, report).await
    }

    async fn joined(&mut self, rust: &Worker, report: &mut Report) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        let before = self.seen;
        between_fires(self.cast, &[&job], TOTAL).await?;
        let rust_id = rust.schedule(&self.plan).await?;
        let all: Vec<&str> = self.java.iter().map(|id| &**id).chain([&*rust_id]).collect();
        assigned(self.cast, &job, TOTAL, &all).await?;
        let found = self.cast.nodes().owners(&job);
        let what = format!("items of {job} after Rust has joined");
        report.same(&what, &average(&job, TOTAL, &all), &found);
        self.judge("Rust joins", 8, report).await?;
        let n_runs = Account::of(&job, &self.cast.log.entries()).n_runs_of("rust", before);
        let what = format!("runs of Rust in {job}");
        report.holds(&what, "at least 10", &n_runs.to_string(), n_runs >= 10);
        Ok(())
    }

    async fn left(&mut self, report: &mut Report) -> Result<(), Failure> {
        let job = self.plan.name.clone();
        let java: Vec<&str> = self.java.iter().map(|id| &**id).collect();
        assigned(self.cast, &job, TOTAL, &java).await?;
        let found = self.cast.nodes().owners(&job);
        let what = format!("items of {job} after Rust has left");
        report.same(&what, &average(&job, TOTAL, &java), &found);
        self.judge("Rust leaves", 5, report).await
    }

    /// Waits for so many fires, and judges those since the last time.
    async fn judge(&mut self, when: &str, n: i64, report: &mut Report) -> Result<(), Failure> {
        let job = &self.plan.name;
        let from = self.seen;
        let last = from.max(next_fire(self.cast, job, TOTAL).await?);
        self.seen = fires(self.cast, job, TOTAL, last, n - 1).await?;
        let what = format!("fires of {job} while {when}");
        judge(self.cast, job, TOTAL, (from, self.seen), &what, report);
        Ok(())
    }
}
