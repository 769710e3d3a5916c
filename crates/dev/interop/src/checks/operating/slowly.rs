//! Jobs with pauses between their fires, in which nothing runs but what an operator asks for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::shown_id;
use crate::checks::account::{Account, SECOND, at};
use crate::checks::common::{RECOVERY, assigned, begins, completes, hold, items_of, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Worker};
use crate::suite::Report;

const TOTAL: u32 = 4;
/// How many milliseconds are between two fires.
const PERIOD: i64 = 5 * SECOND;

/// The operator's own worker takes part in two jobs, and one of ours: ours leads one, Java the other one.
pub(super) async fn play(
    cast: &Cast<'_>,
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
        jobs.push(Slow { cast, job, operator, rust, rust_id, java_id });
    }
    for job in &jobs {
        assigned(cast, job.job, TOTAL, &[&job.rust_id, &job.java_id]).await?;
    }
    jobs[0].statistics(report).await?;
    requests(&jobs, Asker::Operator, report).await?;
    requests(&jobs, Asker::Application, report).await?;
    remove(&jobs, report).await
}

/// Who asks for runs.
#[derive(Clone, Copy, Debug)]
enum Asker {
    /// Java's API.
    Operator,
    /// The application that our worker is part of.
    Application,
}

/// In each job a request runs every item once more, on both sides. Java drops one that it gets while it runs.
async fn requests(jobs: &[Slow<'_>], asker: Asker, report: &mut Report) -> Result<(), Failure> {
    let before = fired(jobs).await?;
    let from = now_ms();
    for job in jobs {
        match asker {
            Asker::Operator => {
                job.operator.call("trigger", &[("job", job.job)]).await.map(drop)?;
            }
            Asker::Application => job.rust.trigger(job.job).await?,
        }
    }
    let what = |job: &Slow<'_>| format!("a request by the {asker:?} in {}", job.job);
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

/// An instance that lives is removed from each job, together with its server: it ends its part in it for good.
async fn remove(jobs: &[Slow<'_>], report: &mut Report) -> Result<(), Failure> {
    let before = fired(jobs).await?;
    for job in jobs {
        let arguments = [("job", job.job), ("server", &*job.rust.ip)];
        job.operator.call("remove", &arguments).await?;
    }
    for job in jobs {
        assigned(job.cast, job.job, TOTAL, &[&job.java_id]).await?;
    }
    let removed = now_ms();
    let after = fired(jobs).await?;
    for job in jobs {
        job.removed((before, after), removed, report);
    }
    Ok(())
}

/// Waits until all items of all jobs have ended for a fire that is still to come, and Java is done with it; returns the fire.
async fn fired(jobs: &[Slow<'_>]) -> Result<i64, Failure> {
    let (now, mut fire) = (now_ms(), 0);
    for job in jobs {
        fire = job.fired(now).await?;
    }
    Ok(fire)
}

struct Slow<'a> {
    cast: &'a Cast<'a>,
    job: &'static str,
    operator: &'a Worker,
    rust: &'a Worker,
    rust_id: String,
    java_id: String,
}

impl Slow<'_> {
    /// Waits until all items have ended for a fire after a time, and Java is done with it; returns the first such fire.
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
        self.cast
            .log
            .wait(RECOVERY, format!("all items of {} end for one fire", self.job), look)
            .await
    }

    /// All items, while one of ours runs and the others do not.
    async fn statistics(&self, report: &mut Report) -> Result<(), Failure> {
        self.fired(now_ms()).await?;
        let held = items_of(self.cast, self.job, &self.rust_id)[0];
        let run = hold(self.cast, self.rust, self.job, held).await?;
        completes(self.cast, self.operator.name(), self.job, run.fire - 1).await?;
        let running = |item: u32| format!("/{}/sharding/{item}/running", self.job);
        let alone = self.cast.tree.wait(RECOVERY, format!("item {held} runs alone"), |nodes| {
            let running: Vec<u32> = (0..TOTAL).filter(|item| nodes.has(&running(*item))).collect();
            if running == [held] { Ok(()) } else { Err(format!("{running:?}")) }
        });
        alone.await?;
        let shown = self.operator.call("sharding", &[("job", self.job)]).await?;
        self.rust.work(self.job, 0, &[]).await?;
        let owner = |item: &u32| match items_of(self.cast, self.job, &self.rust_id).contains(item) {
            true => (&self.rust.ip, &self.rust_id),
            false => (&self.operator.ip, &self.java_id),
        };
        let rows: Vec<Value> = (0..TOTAL)
            .map(|item| {
                let (ip, id) = owner(&item);
                let status = if item == held { "RUNNING" } else { "PENDING" };
                json!([item, ip, shown_id(self.cast.release(), id), status, false])
            })
            .collect();
        report.same("all items in Java's statistics", &rows, &item_rows(&shown));
        Ok(())
    }

    /// Waits until both have begun to run what was asked for after a time.
    async fn requested(&self, what: &str, from: i64) -> Result<(), Failure> {
        let is_requested = |run: &Run, at| run.job == self.job && is_request(run) && at >= from;
        for worker in [self.rust, self.operator] {
            begins(self.cast, RECOVERY, worker.name(), what, is_requested).await?;
        }
        Ok(())
    }

    /// Expects that every item has run once more since a time, and for each fire.
    fn ran(&self, what: &str, (before, after): (i64, i64), from: i64, report: &mut Report) {
        let log = self.cast.log.entries();
        let since = log.iter().filter(|entry| entry.fact.at >= from).filter_map(Entry::begun);
        let requested = since.filter(|run| run.job == self.job && is_request(run));
        let mut items: Vec<u32> = requested.map(|run| run.item).collect();
        items.sort_unstable();
        report.same(&format!("items that ran for {what}"), &(0..TOTAL).collect(), &items);
        let account = Account::of(self.job, &log).every(PERIOD);
        account.judge(&format!("fires around {what}"), TOTAL, before, after, report);
        let data = self.cast.nodes().text(&format!("/{}/instances/{}", self.job, self.rust_id));
        let is_clear = data.as_ref().is_some_and(|data| data != "TRIGGER");
        let node = format!("data of the Rust instance after {what}");
        report.holds(&node, "not TRIGGER", &format!("{data:?}"), is_clear);
    }

    /// Expects that our instance is gone for good, and that every item has run for each fire.
    fn removed(&self, (before, after): (i64, i64), removed: i64, report: &mut Report) {
        let nodes = [format!("instances/{}", self.rust_id), format!("servers/{}", self.rust.ip)];
        let there = nodes.map(|node| self.cast.nodes().has(&format!("/{}/{node}", self.job)));
        let what = format!("nodes of the removed instance and of its server in {}", self.job);
        report.same(&what, &[false, false], &there);
        let log = self.cast.log.entries();
        let n_runs = Account::of(self.job, &log).n_runs_of(self.rust.name(), removed);
        report.same(&format!("runs of the removed instance in {}", self.job), &0, &n_runs);
        let account = Account::of(self.job, &log).every(PERIOD);
        let account = account.with_dealings(self.cast.tree.dealings(self.job));
        let what = format!("fires of {} while a living instance is removed", self.job);
        account.judge(&what, TOTAL, before, after, report);
    }
}

/// Returns what Java's statistics show of each item.
pub(super) fn item_rows(shown: &Value) -> Vec<Value> {
    let fields = ["item", "serverIp", "instanceId", "status", "failover"];
    let rows = shown.as_array().into_iter().flatten();
    rows.map(|row| fields.map(|field| row[field].clone()).into()).collect()
}

/// Tells whether somebody has asked for the run.
fn is_request(run: &Run) -> bool {
    matches!(&*run.source, "request" | "MANUAL")
}
