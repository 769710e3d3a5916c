//! A job with pauses between its fires, in which nothing runs but what an operator asks for.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::account::{Account, SECOND, at};
use serde_json::{Value, json};

use super::shown_id;
use crate::checks::common::{RECOVERY, assigned, begins, completes, hold, items_of, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Worker};
use crate::suite::Report;

const JOB: &str = "operatingSlowly";
const TOTAL: u32 = 4;
/// How many milliseconds are between two fires.
const PERIOD: i64 = 5 * SECOND;

/// The operator's own worker takes part in the job, and one of ours.
pub(super) async fn play(
    cast: &Cast<'_>,
    operator: &Worker,
    rust: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let plan = JobPlan { cron: "0/5 * * * * ?".to_owned(), ..JobPlan::new(JOB, TOTAL) };
    let rust_id = rust.schedule(&plan).await?;
    let java_id = operator.schedule(&plan).await?;
    assigned(cast, JOB, TOTAL, &[&rust_id, &java_id]).await?;
    let slow = Slow { cast, operator, rust, rust_id, java_id };
    slow.statistics(report).await?;
    slow.trigger(report).await?;
    slow.remove(report).await
}

struct Slow<'a> {
    cast: &'a Cast<'a>,
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
            let runs = log.iter().filter_map(Entry::ended).filter(|run| run.job == JOB);
            let mut items: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
            for run in runs.filter(|run| run.fire > now) {
                items.entry(run.fire).or_default().insert(run.item);
            }
            let is_done = |fire| log.iter().any(|entry| entry.completed() == Some((JOB, fire)));
            let mut ended = items.iter().filter(|(_, items)| items.iter().copied().eq(0..TOTAL));
            let fire = ended.find(|(fire, _)| is_done(**fire)).map(|(fire, _)| *fire);
            fire.ok_or_else(|| format!("ended after {}: {items:?}", at(now)))
        };
        self.cast.log.wait(RECOVERY, format!("all items of {JOB} end for one fire"), look).await
    }

    /// All items, while one of ours runs and the others do not.
    async fn statistics(&self, report: &mut Report) -> Result<(), Failure> {
        self.fired().await?;
        let held = items_of(self.cast, JOB, &self.rust_id)[0];
        let run = hold(self.cast, self.rust, JOB, held).await?;
        completes(self.cast, self.operator.name(), JOB, run.fire - 1).await?;
        let running = |item: u32| format!("/{JOB}/sharding/{item}/running");
        let alone = self.cast.tree.wait(RECOVERY, format!("item {held} runs alone"), |nodes| {
            let running: Vec<u32> = (0..TOTAL).filter(|item| nodes.has(&running(*item))).collect();
            if running == [held] { Ok(()) } else { Err(format!("{running:?}")) }
        });
        alone.await?;
        let shown = self.operator.call("sharding", &[("job", JOB)]).await?;
        self.rust.work(JOB, 0, &[]).await?;
        let owner = |item: &u32| match items_of(self.cast, JOB, &self.rust_id).contains(item) {
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

    /// A request runs every item once more, on both sides. Java drops one that it gets while it runs.
    async fn trigger(&self, report: &mut Report) -> Result<(), Failure> {
        let before = self.fired().await?;
        let from = now_ms();
        self.operator.call("trigger", &[("job", JOB)]).await?;
        for worker in [self.rust, self.operator] {
            let requested = |run: &Run, at| run.job == JOB && is_request(run) && at >= from;
            begins(self.cast, RECOVERY, worker.name(), "a requested run", requested).await?;
        }
        let after = self.fired().await?;
        let log = self.cast.log.entries();
        let runs = log.iter().filter_map(Entry::begun).filter(|run| run.job == JOB);
        let mut items: Vec<u32> = runs.filter(|run| is_request(run)).map(|run| run.item).collect();
        items.sort_unstable();
        report.same("items that ran on request", &(0..TOTAL).collect(), &items);
        let account = Account::of(JOB, &log).every(PERIOD);
        account.judge("fires before and after the request", TOTAL, before, after, report);
        let data = self.cast.nodes().text(&format!("/{JOB}/instances/{}", self.rust_id));
        report.holds(
            "data of the Rust instance after the request",
            "not TRIGGER",
            &format!("{data:?}"),
            data.is_some_and(|data| data != "TRIGGER"),
        );
        Ok(())
    }

    /// An instance that lives is removed, together with its server: it ends its part in the job for good.
    async fn remove(&self, report: &mut Report) -> Result<(), Failure> {
        let before = self.fired().await?;
        self.operator.call("remove", &[("job", JOB), ("server", &self.rust.ip)]).await?;
        let nodes = [format!("instances/{}", self.rust_id), format!("servers/{}", self.rust.ip)];
        let nodes = nodes.map(|node| format!("/{JOB}/{node}"));
        assigned(self.cast, JOB, TOTAL, &[&self.java_id]).await?;
        let removed = now_ms();
        let after = self.fired().await?;
        let there = nodes.map(|node| self.cast.nodes().has(&node));
        report.same("node of the removed instance, and of its server", &[false, false], &there);
        let log = self.cast.log.entries();
        let n_runs = Account::of(JOB, &log).n_runs_of(self.rust.name(), removed);
        report.same("runs of the removed instance", &0, &n_runs);
        let account = Account::of(JOB, &log).every(PERIOD);
        let account = account.with_dealings(self.cast.tree.dealings(JOB));
        account.judge("fires while a living instance is removed", TOTAL, before, after, report);
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
