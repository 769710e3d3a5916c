//! Follows a manual request until its runs are over.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coordination::{FencingToken, JobView, Layout, Ledger, NodeKind, Outcome, decode_ledger};
use serde::Serialize;
use sharding::ShardingItem;
use tokio::time::Instant;

use super::RequestedRun;
use crate::reader::RETRY_PAUSE;
use crate::{Error, Operations, Result};

/// State of one item of a manual request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum ItemRun {
    /// The run has not begun.
    Waiting,
    /// The item runs, or its orphaned run waits for a takeover.
    Running {
        /// Instance that claimed the run.
        holder: String,
    },
    /// The run has ended.
    Ended {
        /// Outcome: `succeeded`, `failed`, `panicked`, `timed_out`, `interrupted` or `cancelled`.
        outcome: &'static str,
        /// Reason of a failure, if the record has one: one line of at most 256 bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run has ended, and a later run has replaced its outcome in the record.
    EndedUnseen,
    /// The run will not begin.
    ///
    /// The item is disabled or gone, the job is gone, or the request has a parameter that can no
    /// longer be delivered: a Java instance leads now, or the job is no longer monitored.
    Dropped,
}

impl ItemRun {
    /// Returns true if the state is final.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Waiting | Self::Running { .. } => false,
            Self::Ended { .. } | Self::EndedUnseen | Self::Dropped => true,
        }
    }
}

impl Operations {
    /// Waits until every run of a request is over, and returns the state of each item. At the
    /// deadline it returns the states so far.
    ///
    /// # Errors
    /// A registry error; [`Error::NewerRecord`] if the state of an item is in such a record.
    ///
    /// # Cancel safety
    /// The future can be dropped and the call repeated. By then later runs may have replaced the
    /// outcomes.
    pub async fn outcome(
        &self,
        request: &RequestedRun,
        deadline: Duration,
    ) -> Result<BTreeMap<u32, ItemRun>> {
        let started = Instant::now();
        let mut progress = Progress::of(request);
        let layout = Layout::new(&request.job).speaking(request.dialect);
        loop {
            let left = deadline.saturating_sub(started.elapsed());
            let is_over = |view: &JobView| progress.update(view);
            let over = self.watch_until(layout.clone(), left, is_over).await?;
            if !over || self.confirm_dropped(&layout, &mut progress).await? {
                let runs = progress.runs.into_iter();
                return Ok(runs.map(|(item, run)| (item.index(), run)).collect());
            }
            tokio::time::sleep(RETRY_PAUSE.min(left)).await;
        }
    }

    /// Reads the items that seem to be dropped again, and returns false if one was not dropped.
    ///
    /// The feed shows the nodes of one transaction one after the other, so the request can be gone
    /// from the view before the records show it. After a `sync` the records are current.
    async fn confirm_dropped(&self, layout: &Layout, progress: &mut Progress<'_>) -> Result<bool> {
        let act = format!("reading what came of a request for job {}", progress.request.job);
        let dropped = progress.dropped();
        if dropped.is_empty() {
            return Ok(true);
        }
        self.reader.retrying(&act, || self.registry().sync()).await?;
        let request = layout.path(&NodeKind::TriggerRequest(progress.request.id.clone()));
        let request = self.reader.retrying(&act, || self.registry().read(&request)).await?;
        let mut confirmed = request.is_none();
        for item in dropped {
            let path = layout.ledger_path(item);
            let node = self.reader.retrying(&act, || self.registry().read(&path)).await?;
            let record = match node.map(|node| decode_ledger(&node.data)).transpose() {
                Ok(record) => record,
                Err(error) if error.is_newer() => {
                    let (job, kind) = (&progress.request.job, NodeKind::Ledger(item));
                    return Err(Error::newer_record(job, &kind, &error));
                }
                Err(_) => None,
            };
            confirmed &= !progress.update_from_record(item, record.as_ref());
        }
        Ok(confirmed)
    }
}

/// Progress of a request, updated from one state of the view after the other.
#[derive(Debug)]
struct Progress<'a> {
    request: &'a RequestedRun,
    runs: BTreeMap<ShardingItem, ItemRun>,
    /// Fencing tokens of the runs that were seen.
    tokens: BTreeMap<ShardingItem, FencingToken>,
}

impl<'a> Progress<'a> {
    fn of(request: &'a RequestedRun) -> Self {
        let runs = request.items.keys().map(|item| (*item, ItemRun::Waiting)).collect();
        Self { request, runs, tokens: BTreeMap::new() }
    }

    /// Updates the open items from a state of the view, and returns true if all are final.
    fn update(&mut self, view: &JobView) -> bool {
        let open: Vec<ShardingItem> =
            self.runs.iter().filter(|(_, run)| !run.is_over()).map(|(item, _)| *item).collect();
        for item in open {
            let now = self.run_of(view, item);
            self.runs.insert(item, now);
        }
        self.runs.values().all(ItemRun::is_over)
    }

    /// Returns the items that seem to be dropped.
    fn dropped(&self) -> Vec<ShardingItem> {
        let dropped = self.runs.iter().filter(|(_, run)| **run == ItemRun::Dropped);
        dropped.map(|(item, _)| *item).collect()
    }

    /// Updates an item whose request node is gone; returns true if the item was not dropped.
    fn update_from_record(&mut self, item: ShardingItem, record: Option<&Ledger>) -> bool {
        let run = self.run_in(record, item, false);
        let is_known = run != ItemRun::Dropped;
        self.runs.insert(item, run);
        is_known
    }

    fn run_of(&mut self, view: &JobView, item: ShardingItem) -> ItemRun {
        let id = &self.request.id;
        let covers_item =
            |of: Option<&BTreeSet<ShardingItem>>| of.is_none_or(|i| i.contains(&item));
        let is_pending = view.requests().any(|(other, of)| other == id && covers_item(of));
        let record = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
        self.run_in(record, item, is_pending)
    }

    fn run_in(&mut self, record: Option<&Ledger>, item: ShardingItem, is_pending: bool) -> ItemRun {
        let RequestedRun { id, at, items, .. } = self.request;
        let Some(record) = record else {
            return if is_pending { ItemRun::Waiting } else { ItemRun::Dropped };
        };
        let before = items.get(&item).copied().unwrap_or_default();
        let ended = |outcome: Option<Outcome>| match outcome {
            Some(outcome) => {
                let reason = record.failure.as_ref().map(ToString::to_string);
                ItemRun::Ended { outcome: outcome.as_str(), reason }
            }
            None => ItemRun::EndedUnseen,
        };
        if record.request.as_ref().is_some_and(|request| *request.id == **id) {
            return ItemRun::Waiting;
        }
        if let Some(run) = record.run().filter(|run| run.fire == *at) {
            self.tokens.insert(item, record.token);
            return ItemRun::Running { holder: run.holder.to_string() };
        }
        match self.tokens.get(&item) {
            Some(token) if *token == record.token => ended(record.outcome),
            Some(_) => ItemRun::EndedUnseen,
            None if is_pending => ItemRun::Waiting,
            None if record.token == before => ItemRun::Dropped,
            None if record.token == before.next() && record.is_idle() => ended(record.outcome),
            None => ItemRun::EndedUnseen,
        }
    }
}
