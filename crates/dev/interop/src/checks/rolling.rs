//! Java workers are replaced by Rust workers, one at a time, under one-second jobs, and these by Java workers again: no fire
//! is lost, none runs twice.

use super::Setting;
use super::account::{Account, SECOND};
use super::common::{assigned, between_fires, fires, judge, next_fire, now_ms};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Kind, Worker};
use crate::suite::Report;

const TOTAL: u32 = 6;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let java = [(Kind::Java, "java1", 1), (Kind::Java, "java2", 2), (Kind::Java, "java3", 3)];
    let rust = [(Kind::Rust, "rust1", 1), (Kind::Rust, "rust2", 2), (Kind::Rust, "rust3", 3)];
    let java = cast.all(java).await?;
    let rust = cast.all(rust).await?;
    // Java leads one job until the last of it has gone, Rust the other one from the beginning.
    let mut jobs = [Job::new(&cast, "rolledFromJava"), Job::new(&cast, "rolledUnderRust")];
    jobs[1].join(&rust[0]).await?;
    for worker in &java {
        for job in &mut jobs {
            job.join(worker).await?;
            // A Java leader can forget who joins while it still reshards for somebody else.
            job.assigned().await?;
            next_fire(&cast, job.name, TOTAL).await?;
        }
    }
    for job in &mut jobs {
        job.from = next_fire(&cast, job.name, TOTAL).await?;
    }
    replace(&cast, &mut jobs, &java, &rust, report).await?;
    for job in &mut jobs {
        job.judge("over to Rust", report);
    }
    drop(java);
    let back = [(Kind::Java, "java4", 1), (Kind::Java, "java5", 2), (Kind::Java, "java6", 3)];
    let back = cast.all(back).await?;
    replace(&cast, &mut jobs, &rust, &back, report).await?;
    for job in &mut jobs {
        job.judge("and back to Java", report);
    }
    for worker in &back {
        worker.leave().await?;
    }
    cast.tree.close().await
}

/// Replaces one worker after the other in all jobs; each time fires go by with both and without the old one.
async fn replace(
    cast: &Cast<'_>,
    jobs: &mut [Job<'_>],
    olds: &[Worker],
    news: &[Worker],
    report: &mut Report,
) -> Result<(), Failure> {
    for (old, new) in olds.iter().zip(news) {
        for job in &mut *jobs {
            between_fires(cast, &[job.name], TOTAL).await?;
            job.join(new).await?;
        }
        settle(jobs, report).await;
        // Whoever leaves does so in all jobs at once.
        between_fires(cast, &jobs.iter().map(|job| job.name).collect::<Vec<_>>(), TOTAL).await?;
        old.leave().await?;
        for job in &mut *jobs {
            job.members.retain(|(name, _)| name != old.name());
        }
        settle(jobs, report).await;
    }
    Ok(())
}

/// Lets three fires of every job, the same ones, go by. A job that does not get that far is reported once and not waited for again.
async fn settle(jobs: &mut [Job<'_>], report: &mut Report) {
    for job in jobs.iter_mut().filter(|job| !job.is_stuck) {
        let outcome = job.assigned().await;
        job.stop_at(outcome, report);
    }
    let now = now_ms();
    let last = now - now % SECOND;
    for job in jobs.iter_mut().filter(|job| !job.is_stuck) {
        let outcome = fires(job.cast, job.name, TOTAL, last, 3).await;
        job.stop_at(outcome.map(drop), report);
    }
}

/// One job that goes on while its workers are replaced.
struct Job<'a> {
    cast: &'a Cast<'a>,
    name: &'static str,
    /// The names of its workers and their instances' ids.
    members: Vec<(String, String)>,
    /// The first fire that counts.
    from: i64,
    /// Whether it has been waited for in vain.
    is_stuck: bool,
}

impl<'a> Job<'a> {
    fn new(cast: &'a Cast<'a>, name: &'static str) -> Self {
        Self { cast, name, members: Vec::new(), from: 0, is_stuck: false }
    }

    /// Lets a worker take part unless it does already.
    async fn join(&mut self, worker: &Worker) -> Result<(), Failure> {
        if self.members.iter().all(|(name, _)| name != worker.name()) {
            let id = worker.schedule(&JobPlan::new(self.name, TOTAL)).await?;
            self.members.push((worker.name().to_owned(), id));
        }
        Ok(())
    }

    /// Waits until the items belong to the members.
    async fn assigned(&self) -> Result<(), Failure> {
        let ids: Vec<&str> = self.members.iter().map(|(_, id)| &**id).collect();
        assigned(self.cast, self.name, TOTAL, &ids).await
    }

    /// Reports why the job cannot go on, if it cannot.
    fn stop_at(&mut self, outcome: Result<(), Failure>, report: &mut Report) {
        self.is_stuck = outcome.is_err();
        report.part(outcome);
    }

    /// Judges all fires since the last time but the last, of which some items may not have begun.
    fn judge(&mut self, what: &str, report: &mut Report) {
        let account = Account::of(self.name, &self.cast.log.entries());
        let to = account.last().map_or(self.from, |fire| fire - SECOND);
        let what = format!("fires of {}, {what}", self.name);
        judge(self.cast, self.name, TOTAL, (self.from, to), &what, report);
        self.from = to + SECOND;
    }
}
