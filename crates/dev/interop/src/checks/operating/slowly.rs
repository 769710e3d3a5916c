//! Operation of jobs with a long period: between their fires only requested runs take place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::shown_id;
use crate::checks::common::{RECOVERY, assigned, begins, completes, hold, items_of, now_ms};
use crate::checks::run_history::{RunHistory, SECOND, at};
use crate::protocol::{JobPlan, Run};
use crate::stage::{CheckEnv, Entry, Failure, Worker};
use crate::suite::Report;

const TOTAL: u32 = 4;
/// Time between two fires, in milliseconds.
const PERIOD: i64 = 5 * SECOND;

/// Checks two jobs with a Java and a Rust worker each: one with a Rust leader, one with a Java
/// leader.
pub(super) async fn check(
    env: &CheckEnv<'_>,
    operator: &Worker,
    rust: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut jobs = Vec::new();
    for (job, leader, follower) in
        [("operatingUnderRust", rust, operator), ("operatingUnderJava", operator, rust)]
    {
        let plan = JobPlan { cron: "0/5 * * * * ?".to_owned(), ..JobPlan::new(job, TOTAL) };
        let ids = [leader.schedule(&plan).await?, follower.schedule(&plan).await?];
        let of = |worker: &Worker| ids[usize::from(worker.name() == follower.name())].clone();
        let (rust_id, java_id) = (of(rust), of(operator));
        jobs.push(Slow { env, job, operator, rust, rust_id, java_id });
    }
    for job in &jobs {
        assigned(env, job.job, TOTAL, &[&job.rust_id, &job.java_id]).await?;
    }
    jobs[0].statistics(report).await?;
    requests(&jobs, Requester::Operator, report).await?;
    requests(&jobs, Requester::Application, report).await?;
    remove(&jobs, report).await
}

/// Origin of a manual request.
#[derive(Clone, Copy, Debug)]
enum Requester {
    /// The operator, by Java's API.
    Operator,
    /// The application of the Rust worker.
    Application,
}

/// Expects that a request runs every item of each job once more, in both languages.
///
/// Java drops a request that it gets during a run, so that requests come between fires.
async fn requests(
    jobs: &[Slow<'_>],
    requester: Requester,
    report: &mut Report,
) -> Result<(), Failure> {
    let before = fired(jobs).await?;
    let from = now_ms();
    for job in jobs {
        match requester {
            Requester::Operator => {
                job.operator.call("trigger", &[("job", job.job)]).await.map(drop)?;
            }
            Requester::Application => job.rust.trigger(job.job).await?,
        }
    }
    let what = |job: &Slow<'_>| format!("a request by the {requester:?} in {}", job.job);
    for job in jobs {
        let outcome = job.requested(&what(job), from).await;
        report.part(outcome);
    }
    let after = fired(jobs).await?;
    for job in jobs {
        job.ran(&what(job), (before, after), from, report);
    }
    Ok(())
}

/// Removes a living instance and its server from each job. It must leave the job for good.
async fn remove(jobs: &[Slow<'_>], report: &mut Report) -> Result<(), Failure> {
    let before = fired(jobs).await?;
    for job in jobs {
        let arguments = [("job", job.job), ("server", &*job.rust.ip)];
        job.operator.call("remove", &arguments).await?;
    }
    for job in jobs {
        assigned(job.env, job.job, TOTAL, &[&job.java_id]).await?;
    }
    let removed = now_ms();
    let after = fired(jobs).await?;
    for job in jobs {
        job.removed((before, after), removed, report);
    }
    Ok(())
}

/// Waits until all items of all jobs have ended for a future fire, and Java has completed it.
/// Returns the fire.
async fn fired(jobs: &[Slow<'_>]) -> Result<i64, Failure> {
    let (now, mut fire) = (now_ms(), 0);
    for job in jobs {
        fire = job.fired(now).await?;
    }
    Ok(fire)
}

struct Slow<'a> {
    env: &'a CheckEnv<'a>,
    job: &'static str,
    operator: &'a Worker,
    rust: &'a Worker,
    rust_id: String,
    java_id: String,
}

impl Slow<'_> {
    /// Waits until all items have ended for a fire after `now`, and Java has completed it. Returns
    /// the first such fire.
    async fn fired(&self, now: i64) -> Result<i64, Failure> {
        let look = |log: &[Entry]| {
            let runs = log.iter().filter_map(Entry::ended).filter(|run| run.job == self.job);
            let mut items: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
            for run in runs.filter(|run| run.fire > now) {
                items.entry(run.fire).or_default().insert(run.item);
            }
            let is_done =
                |fire| log.iter().any(|entry| entry.completed() == Some((self.job, fire)));
            let mut ended = items.iter().filter(|(_, items)| items.iter().copied().eq(0..TOTAL));
            let fire = ended.find(|(fire, _)| is_done(**fire)).map(|(fire, _)| *fire);
            fire.ok_or_else(|| format!("ended after {}: {items:?}", at(now)))
        };
        self.env
            .log
            .wait(RECOVERY, format!("all items of {} end for one fire", self.job), look)
            .await
    }

    /// Expects correct statistics while a single Rust item runs.
    async fn statistics(&self, report: &mut Report) -> Result<(), Failure> {
        self.fired(now_ms()).await?;
        let held = items_of(self.env, self.job, &self.rust_id)[0];
        let run = hold(self.env, self.rust, self.job, held).await?;
        completes(self.env, self.operator.name(), self.job, run.fire - 1).await?;
        let running = |item: u32| format!("/{}/sharding/{item}/running", self.job);
        let alone = self.env.tree.wait(RECOVERY, format!("only item {held} runs"), |nodes| {
            let running: Vec<u32> = (0..TOTAL).filter(|item| nodes.has(&running(*item))).collect();
            if running == [held] { Ok(()) } else { Err(format!("{running:?}")) }
        });
        alone.await?;
        let shown = self.operator.call("sharding", &[("job", self.job)]).await?;
        self.rust.work(self.job, 0, &[]).await?;
        let owner = |item: &u32| match items_of(self.env, self.job, &self.rust_id).contains(item) {
            true => (&self.rust.ip, &self.rust_id),
            false => (&self.operator.ip, &self.java_id),
        };
        let rows: Vec<Value> = (0..TOTAL)
            .map(|item| {
                let (ip, id) = owner(&item);
                let status = if item == held { "RUNNING" } else { "PENDING" };
                json!([item, ip, shown_id(self.env.release(), id), status, false])
            })
            .collect();
        report.same("all items in Java's statistics", &rows, &item_rows(&shown));
        Ok(())
    }

    /// Waits until both workers have begun a requested run after `from`.
    async fn requested(&self, what: &str, from: i64) -> Result<(), Failure> {
        let is_requested = |run: &Run, at| run.job == self.job && is_request(run) && at >= from;
        for worker in [self.rust, self.operator] {
            begins(self.env, RECOVERY, worker.name(), what, is_requested).await?;
        }
        Ok(())
    }

    /// Expects that every item had one requested run since `from`, and one run for each fire.
    fn ran(&self, what: &str, (before, after): (i64, i64), from: i64, report: &mut Report) {
        let log = self.env.log.entries();
        let since = log.iter().filter(|entry| entry.fact.at >= from).filter_map(Entry::begun);
        let requested = since.filter(|run| run.job == self.job && is_request(run));
        let mut items: Vec<u32> = requested.map(|run| run.item).collect();
        items.sort_unstable();
        report.same(&format!("items that ran for {what}"), &(0..TOTAL).collect(), &items);
        let history = RunHistory::of(self.job, &log).every(PERIOD);
        history.verify(&format!("fires around {what}"), TOTAL, before, after, report);
        let data = self.env.nodes().text(&format!("/{}/instances/{}", self.job, self.rust_id));
        let is_clear = data.as_ref().is_some_and(|data| data != "TRIGGER");
        let node = format!("data of the Rust instance after {what}");
        report.holds(&node, "not TRIGGER", &format!("{data:?}"), is_clear);
    }

    /// Expects that the removed Rust instance does not return, and that every item has run for each
    /// fire.
    fn removed(&self, (before, after): (i64, i64), removed: i64, report: &mut Report) {
        let nodes = [format!("instances/{}", self.rust_id), format!("servers/{}", self.rust.ip)];
        let exist = nodes.map(|node| self.env.nodes().has(&format!("/{}/{node}", self.job)));
        let what = format!("nodes of the removed instance and of its server in {}", self.job);
        report.same(&what, &[false, false], &exist);
        let log = self.env.log.entries();
        let n_runs = RunHistory::of(self.job, &log).n_runs_of(self.rust.name(), removed);
        report.same(&format!("runs of the removed instance in {}", self.job), &0, &n_runs);
        let history = RunHistory::of(self.job, &log).every(PERIOD);
        let history = history.with_owner_changes(self.env.tree.owner_changes(self.job));
        let what = format!("fires of {} while a living instance is removed", self.job);
        history.verify(&what, TOTAL, before, after, report);
    }
}

/// Returns the rows of the items in Java's statistics.
pub(super) fn item_rows(shown: &Value) -> Vec<Value> {
    let fields = ["item", "serverIp", "instanceId", "status", "failover"];
    let rows = shown.as_array().into_iter().flatten();
    rows.map(|row| fields.map(|field| row[field].clone()).into()).collect()
}

/// Returns whether the run has a manual request as its source.
fn is_request(run: &Run) -> bool {
    matches!(&*run.source, "request" | "MANUAL")
}
