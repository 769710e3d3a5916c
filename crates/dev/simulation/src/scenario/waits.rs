//! Waits of scripts: for preconditions, and for promises of the product.

use checker::history::RunId;
use checker::history::{Fact, ProcessEvent, Record, SessionEvent};
use parking_lot::Mutex;

use super::ClusterError;
use super::history_queries::Seen;
use super::stage::{ScenarioError, Stage, StepResult};

/// Time for a cluster to get ready, in periods: processes start, join, and share the items.
const READY: u32 = 10;
/// Time for complete recovery after the last fault is healed, in periods.
const WELL: u32 = 16;

impl Stage {
    /// Waits for a precondition of the scenario. If it is not reached, the run proves nothing.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> StepResult {
        let (period, session) = (self.cluster.period(), self.cluster.session_timeout());
        let predicate = |records: &[Record]| holds(Seen::new(records, period, session));
        Ok(self.cluster.until(what, max_periods, &predicate).await?)
    }

    /// Waits for a condition that the product promises. If it is not reached, the promise is
    /// broken.
    pub(crate) async fn until_promised(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> StepResult {
        match self.until(what, max_periods, holds).await {
            Err(ScenarioError::Cluster(ClusterError::Timeout { what, max_periods })) => {
                Err(ScenarioError::Broken { what, max_periods })
            }
            other => other,
        }
    }

    /// Waits until the query returns a value, and returns it.
    pub(crate) async fn find<T: Send>(
        &mut self,
        what: &str,
        max_periods: u32,
        answer: impl Fn(Seen<'_>) -> Option<T> + Sync,
    ) -> Result<T, ScenarioError> {
        let found = Mutex::new(None);
        let keep = |seen: Seen<'_>| {
            let answer = answer(seen);
            let is_found = answer.is_some();
            *found.lock() = answer;
            is_found
        };
        self.until(what, max_periods, keep).await?;
        found.into_inner().ok_or_else(|| {
            let (what, max_periods) = (what.to_owned(), max_periods);
            ClusterError::Timeout { what, max_periods }.into()
        })
    }

    /// Returns the number of records so far, as a position for later queries.
    pub(crate) async fn mark(&mut self) -> Result<usize, ScenarioError> {
        self.find("the number of records", 1, |seen| Some(seen.records().len())).await
    }

    /// Waits for a leader and returns its name.
    pub(crate) async fn leader(&mut self) -> Result<String, ScenarioError> {
        self.find("there is a leader", READY, |seen| seen.leader().map(str::to_owned)).await
    }

    /// Waits until a process runs at least `n` items at once.
    pub(crate) async fn until_running(&mut self, name: &str, n: usize) -> StepResult {
        let what = format!("{name} runs {n} items");
        self.until(&what, READY, |seen| seen.running_on(name).len() >= n).await
    }

    /// Waits until a process runs nothing.
    pub(crate) async fn until_idle(&mut self, name: &str) -> StepResult {
        let what = format!("{name} runs nothing");
        self.until(&what, READY, |seen| seen.running_on(name).is_empty()).await
    }

    /// Waits for the next run that a process begins.
    pub(crate) async fn next_run_of(&mut self, name: &str) -> Result<RunId, ScenarioError> {
        let mark = self.mark().await?;
        let what = format!("{name} begins a run");
        self.find(&what, READY, |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().find(|run| run.p == name).map(|run| run.id.clone())
        })
        .await
    }

    /// Waits for the next run that a process begins, and returns its fire.
    pub(crate) async fn next_fire_of(&mut self, name: &str) -> Result<i64, ScenarioError> {
        Ok(self.next_run_of(name).await?.fire)
    }

    /// Waits until a process was hit by `n` faults of this kind.
    pub(crate) async fn until_hit(
        &mut self,
        kind: &'static str,
        name: &str,
        n: usize,
    ) -> StepResult {
        let what = format!("{kind} at a write of {name}");
        self.until(&what, READY, |seen| {
            seen.hits(kind).filter(|hit| hit.target == name).count() >= n
        })
        .await
    }

    /// Waits until a process has seen this session change after the mark.
    pub(crate) async fn until_session(
        &mut self,
        name: &str,
        mark: usize,
        wanted: SessionEvent,
    ) -> StepResult {
        let what = format!("{name} sees that its session is {wanted:?}");
        self.until(&what, READY, |seen| {
            let seen = seen.since(mark);
            seen.records().iter().any(|record| {
                let fact = &record.fact;
                record.p == name && matches!(fact, Fact::Session { ev, .. } if *ev == wanted)
            })
        })
        .await
    }

    /// Waits until a process has joined after the mark.
    pub(crate) async fn until_rejoined(&mut self, name: &str, mark: usize) -> StepResult {
        let what = format!("{name} joins again");
        self.until_promised(&what, READY, |seen| {
            seen.since(mark).events("joined").any(|event| event.p == name)
        })
        .await
    }

    /// Waits until `n` runs by failover have succeeded after the mark.
    pub(crate) async fn until_taken_over(&mut self, n: usize, mark: usize, max: u32) -> StepResult {
        let what = format!("{n} runs are taken over and succeed");
        self.until_promised(&what, max, move |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().filter(|run| run.is_failover() && run.has_succeeded()).count() >= n
        })
        .await
    }

    /// Waits until a process has run all these items for one fire after the mark.
    pub(crate) async fn until_all_run_by(
        &mut self,
        name: &str,
        items: std::ops::Range<u32>,
        mark: usize,
    ) -> StepResult {
        let what = format!("{name} runs all items of one fire");
        self.until_promised(&what, READY, |seen| {
            let mut runs = seen.since(mark).runs();
            runs.retain(|run| run.p == name && run.has_ended());
            let has = |item, fire| runs.iter().any(|r| r.id.item == item && r.id.fire == fire);
            runs.iter().any(|run| items.clone().all(|item| has(item, run.id.fire)))
        })
        .await
    }

    /// Waits until the items are shared among `n` instances.
    pub(crate) async fn until_shared(&mut self, n: usize) -> StepResult {
        let what = format!("the items are shared among {n} instances");
        self.until(&what, READY, move |seen| seen.assigned_for() == Some(n)).await
    }

    /// Shuts a process down gracefully and waits until it has left.
    pub(crate) async fn close(&mut self, name: &'static str) -> StepResult {
        let mark = self.mark().await?;
        self.cluster.close(name).await?;
        let what = format!("{name} leaves");
        self.until_promised(&what, READY, move |seen| {
            seen.since(mark).process(name, ProcessEvent::Left).next().is_some()
        })
        .await
    }

    /// Heals all faults and waits until each of these items has completed one more run. Then it
    /// waits a little longer, so that promises about progress can be judged.
    pub(crate) async fn heal_and_settle(&mut self, items: std::ops::Range<u32>) -> StepResult {
        self.heal_and_settle_except(items, &[]).await
    }

    /// As [`heal_and_settle`](Self::heal_and_settle), without some items, which do not end.
    pub(crate) async fn heal_and_settle_except(
        &mut self,
        items: std::ops::Range<u32>,
        but: &[u32],
    ) -> StepResult {
        let mark = self.mark().await?;
        self.cluster.heal().await?;
        self.until_promised("every item has run after the healing", WELL, |seen| {
            let runs = seen.since(mark).runs();
            let runs_again = |item| runs.iter().any(|run| run.id.item == item && run.has_ended());
            items.clone().filter(|item| !but.contains(item)).all(runs_again)
        })
        .await?;
        self.elapse(self.sessions(1.5) + self.periods(1.5)).await;
        Ok(())
    }
}
