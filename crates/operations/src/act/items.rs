//! Items: disable and enable.

use std::collections::BTreeSet;

use coordination::{JobName, NodeKind, OperatorStep};
use sharding::ShardingItem;

use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

impl Operations {
    /// Disables items: once their records are disabled, they start nothing. Present runs go on, and
    /// the items keep their owners.
    ///
    /// # Errors
    /// [`Error::NoSuch`] if the job has no such item; [`Error::NoSuchJob`], [`Error::Contended`],
    /// or a registry error.
    pub async fn disable_items(
        &self,
        job: &JobName,
        items: &BTreeSet<ShardingItem>,
        by: &By,
    ) -> Result<Report> {
        self.change(job, "disable items", by, |job, _| set(job, items, true)).await
    }

    /// Enables items again.
    ///
    /// # Errors
    /// As [`disable_items`](Self::disable_items).
    pub async fn enable_items(
        &self,
        job: &JobName,
        items: &BTreeSet<ShardingItem>,
        by: &By,
    ) -> Result<Report> {
        self.change(job, "enable items", by, |job, _| set(job, items, false)).await
    }
}

fn set(job: &JobSnapshot, items: &BTreeSet<ShardingItem>, disabled: bool) -> Result<Planned> {
    let mut planned = Planned::default();
    for item in items {
        known(job, *item)?;
        let node = NodeKind::ItemDisabled(*item);
        let version = job.node(&node).map(|node| node.stat.version);
        let target = format!("item {item}");
        match (disabled, version) {
            (true, None) => planned.change(target, "disabled", [OperatorStep::Mark(node)]),
            (true, Some(_)) => planned.keep(target, "it is disabled already"),
            (false, Some(version)) => {
                planned.change(target, "enabled", [OperatorStep::Remove(node, version)]);
            }
            (false, None) => planned.keep(target, "it is enabled already"),
        }
    }
    Ok(planned)
}

/// Rejects an item that the job does not have.
///
/// Without a readable configuration the number of items is unknown, so every item passes.
pub(crate) fn known(job: &JobSnapshot, item: ShardingItem) -> Result<()> {
    let total = job.config().map(|config| config.sharding_total_count);
    if total.is_none_or(|total| item.index() < total) {
        return Ok(());
    }
    let known = format!("{} items, counted from 0", total.unwrap_or_default());
    let (job, name) = (job.job().clone(), item.to_string());
    Err(Error::NoSuch { job, what: "item", name, known })
}
