//! What scripts wait for: what they need, and what is promised.

use checker::history::{Fact, ProcessEvent, Record, SessionEvent};
use parking_lot::Mutex;

use super::ClusterError;
use super::history_queries::Seen;
use super::stage::{Played, ScenarioError, Stage};

/// How many periods a cluster has to get ready: processes start, join, and share the items.
const READY: u32 = 10;
/// How many periods everything has to be well again after the last fault is healed.
const WELL: u32 = 16;

impl Stage {
    /// Waits for something that the scenario needs. If it does not come, the run shows nothing.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Played {
        let (period, session) = (self.cluster.period(), self.cluster.session_timeout());
        let looks = |records: &[Record]| holds(Seen::new(records, period, session));
        Ok(self.cluster.until(what, max_periods, &looks).await?)
    }

    /// Waits for something that the product promises. If it does not come, the promise is broken.
    pub(crate) async fn promised(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Played {
        match self.until(what, max_periods, holds).await {
            Err(ScenarioError::Cluster(ClusterError::Timeout { what, max_periods })) => {
                Err(ScenarioError::Broken { what, max_periods })
            }
            other => other,
        }
    }

    /// Waits until there is an answer, and returns it.
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

    /// Returns how much is known by now: a place to look from.
    pub(crate) async fn mark(&mut self) -> Result<usize, ScenarioError> {
        self.find("a look at what is known", 1, |seen| Some(seen.records().len())).await
    }

    /// Waits until there is a leader, and returns its name.
    pub(crate) async fn leader(&mut self) -> Result<String, ScenarioError> {
        self.find("there is a leader", READY, |seen| seen.leader().map(str::to_owned)).await
    }

    /// Waits until a process runs at least so many items at once.
    pub(crate) async fn until_running(&mut self, name: &str, n: usize) -> Played {
        let what = format!("{name} runs {n} items");
        self.until(&what, READY, |seen| seen.running_on(name).len() >= n).await
    }

    /// Waits until a process runs nothing.
    pub(crate) async fn until_idle(&mut self, name: &str) -> Played {
        let what = format!("{name} runs nothing");
        self.until(&what, READY, |seen| seen.running_on(name).is_empty()).await
    }

    /// Waits for the next run that a process begins, and returns its fire.
    pub(crate) async fn next_fire_of(&mut self, name: &str) -> Result<i64, ScenarioError> {
        let mark = self.mark().await?;
        let what = format!("{name} begins a run");
        self.find(&what, READY, |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().find(|run| run.p == name).map(|run| run.id.fire)
        })
        .await
    }

    /// Waits until a fault of this kind has been met so many times by this process.
    pub(crate) async fn until_hit(&mut self, kind: &'static str, name: &str, n: usize) -> Played {
        let what = format!("{kind} at a write of {name}");
        self.until(&what, READY, |seen| {
            seen.hits(kind).filter(|hit| hit.target == name).count() >= n
        })
        .await
    }

    /// Waits until a process has learned this about a session after the mark.
    pub(crate) async fn until_session(
        &mut self,
        name: &str,
        mark: usize,
        wanted: SessionEvent,
    ) -> Played {
        let what = format!("{name} learns that its session is {wanted:?}");
        self.until(&what, READY, |seen| {
            let seen = seen.since(mark);
            seen.records().iter().any(|record| {
                let fact = &record.fact;
                record.p == name && matches!(fact, Fact::Session { ev, .. } if *ev == wanted)
            })
        })
        .await
    }

    /// Waits until a process has joined anew after the mark.
    pub(crate) async fn until_rejoined(&mut self, name: &str, mark: usize) -> Played {
        let what = format!("{name} joins again");
        self.promised(&what, READY, |seen| {
            seen.since(mark).told("joined").any(|told| told.p == name)
        })
        .await
    }

    /// Waits until so many runs by failover have ended well after the mark.
    pub(crate) async fn until_taken_over(&mut self, n: usize, mark: usize, max: u32) -> Played {
        let what = format!("{n} runs are taken over and done");
        self.promised(&what, max, move |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().filter(|run| run.is_failover() && run.is_well()).count() >= n
        })
        .await
    }

    /// Waits until all these items have been run by a process in one fire after the mark.
    pub(crate) async fn until_all_run_by(
        &mut self,
        name: &str,
        items: std::ops::Range<u32>,
        mark: usize,
    ) -> Played {
        let what = format!("{name} runs all items of one fire");
        self.promised(&what, READY, |seen| {
            let mut runs = seen.since(mark).runs();
            runs.retain(|run| run.p == name && run.is_over());
            let has = |item, fire| runs.iter().any(|r| r.id.item == item && r.id.fire == fire);
            runs.iter().any(|run| items.clone().all(|item| has(item, run.id.fire)))
        })
        .await
    }

    /// Waits until the items are shared among so many instances.
    pub(crate) async fn until_shared(&mut self, n: usize) -> Played {
        let what = format!("the items are shared by {n}");
        self.until(&what, READY, move |seen| seen.assigned_for() == Some(n)).await
    }

    /// Has a process leave in order, and waits until it has left.
    pub(crate) async fn close(&mut self, name: &'static str) -> Played {
        let mark = self.mark().await?;
        self.cluster.close(name).await?;
        let what = format!("{name} leaves");
        self.promised(&what, READY, move |seen| {
            seen.since(mark).process(name, ProcessEvent::Left).next().is_some()
        })
        .await
    }

    /// Heals everything and waits until each of these items has been run once more, from beginning to end; then a
    /// little longer, so that promises about progress can be judged.
    pub(crate) async fn rest(&mut self, items: std::ops::Range<u32>) -> Played {
        self.rest_but(items, &[]).await
    }

    /// As [`rest`](Self::rest), without some items, which do not end.
    pub(crate) async fn rest_but(&mut self, items: std::ops::Range<u32>, but: &[u32]) -> Played {
        let mark = self.mark().await?;
        self.cluster.heal().await?;
        self.promised("every item is run again after the healing", WELL, |seen| {
            let runs = seen.since(mark).runs();
            let runs_again = |item| runs.iter().any(|run| run.id.item == item && run.is_over());
            items.clone().filter(|item| !but.contains(item)).all(runs_again)
        })
        .await?;
        self.elapse(self.sessions(1.5) + self.periods(1.5)).await;
        Ok(())
    }
}
