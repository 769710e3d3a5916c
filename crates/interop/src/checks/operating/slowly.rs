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
    for job in &jobs {
        job.remove(report).await?;
    }
    Ok(())
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
    let mut requests = Vec::new();
    for job in jobs {
        let before = job.fired().await?;
        let from = now_ms();
        match asker {
            Asker::Operator => {
                job.operator.call("trigger", &[("job", job.job)]).await.map(drop)?;
            }
            Asker::Application => job.rust.trigger(job.job).await?,
        }
        requests.push((job, before, from));
    }
    for (job, before, from) in requests {
        let what = format!("a request by the {asker:?} in {}", job.job);
        let outcome = job.requested(&what, before, from, report).await;
        report.part(outcome);
    }
    Ok(())
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
    /// Waits until all items have ended for a fire that is still to come, and Java is done with it; returns the fire.
    async fn fired(&self) -> Result<i64, Failure> {
        let now = now_ms();
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
        self.fired().await?;
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

    /// Expects that every item has run once more since a time.
    async fn requested(
        &self,
        what: &str,
        before: i64,
        from: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let is_requested = |run: &Run, at| run.job == self.job && is_request(run) && at >= from;
        for worker in [self.rust, self.operator] {
            begins(self.cast, RECOVERY, worker.name(), what, is_requested).await?;
        }
        let after = self.fired().await?;
        let log = self.cast.log.entries();
        let runs = log.iter().filter_map(|entry| Some((entry.begun()?, entry.fact.at)));
        let requested = runs.filter(|(run, at)| is_requested(run, *at));
        let mut items: Vec<u32> = requested.map(|(run, _)| run.item).collect();
        items.sort_unstable();
        report.same(&format!("items that ran for {what}"), &(0..TOTAL).collect(), &items);
        let account = Account::of(self.job, &log).every(PERIOD);
        account.judge(&format!("fires around {what}"), TOTAL, before, after, report);
        let data = self.cast.nodes().text(&format!("/{}/instances/{}", self.job, self.rust_id));
        let expected = "not TRIGGER";
        let is_clear = data.as_ref().is_some_and(|data| data != "TRIGGER");
        let node = format!("data of the Rust instance after {what}");
        report.holds(&node, expected, &format!("{data:?}"), is_clear);
        Ok(())
    }

    /// An instance that lives is removed, together with its server: it ends its part in the job for good.
    async fn remove(&self, report: &mut Report) -> Result<(), Failure> {
        let before = self.fired().await?;
        self.operator.call("remove", &[("job", self.job), ("server", &self.rust.ip)]).await?;
        let nodes = [format!("instances/{}", self.rust_id), format!("servers/{}", self.rust.ip)];
        let nodes = nodes.map(|node| format!("/{}/{node}", self.job));
        assigned(self.cast, self.job, TOTAL, &[&self.java_id]).await?;
        let removed = now_ms();
        let after = self.fired().await?;
        let there = nodes.map(|node| self.cast.nodes().has(&node));
        let what = format!("nodes of the removed instance and of its server in {}", self.job);
        report.same(&what, &[false, false], &there);
        let log = self.cast.log.entries();
        let n_runs = Account::of(self.job, &log).n_runs_of(self.rust.name(), removed);
        report.same("runs of the removed instance", &0, &n_runs);
        let account = Account::of(self.job, &log).every(PERIOD);
        let account = account.with_dealings(self.cast.tree.dealings(self.job));
        let what = format!("fires of {} while a living instance is removed", self.job);
        account.judge(&what, TOTAL, before, after, report);
        Ok(())
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
