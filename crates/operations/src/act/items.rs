//! Items: disable and enable.

use std::collections::BTreeSet;

use coordination::{JobName, NodeKind, OperatorStep};
use sharding::ShardingItem;

use crate::audit::item_target;
use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Maximum number of operations that a transaction has beside those of the items.
const OTHER_OPS: usize = 10;

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
        self.change_items(job, "disable items", items, true, by).await
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
        self.change_items(job, "enable items", items, false, by).await
    }

    /// Changes as many items at once as fit into a transaction of the registry, each part with an
    /// audit record of its own.
    async fn change_items(
        &self,
        job: &JobName,
        act: &'static str,
        items: &BTreeSet<ShardingItem>,
        disabled: bool,
        by: &By,
    ) -> Result<Report> {
        let at_once = self.registry().limits().max_ops.saturating_sub(OTHER_OPS).max(1);
        let all: Vec<_> = items.iter().copied().collect();
        let mut report = Report::default();
        for part in all.chunks(at_once) {
            let plan = |job: &JobSnapshot, _: &str| {
                // One unknown item rejects the whole request, also in a later part.
                all.iter().try_for_each(|item| known(job, *item))?;
                Ok(set(job, part, disabled))
            };
            match self.change(job, act, by, plan).await {
                Ok(changed) => report.extend(changed),
                Err(error) if report.is_empty() => return Err(error),
                Err(error) => {
                    report.fail(job.as_str(), &format!("items {} and later", part[0]), error);
                    break;
                }
            }
        }
        Ok(report)
    }
}

pub(super) fn set(job: &JobSnapshot, items: &[ShardingItem], disabled: bool) -> Planned {
    let mut planned = Planned::default();
    for item in items {
        let node = NodeKind::ItemDisabled(*item);
        let version = job.node(&node).map(|node| node.stat.version);
        let target = item_target(*item);
        match (disabled, version) {
            (true, None) => planned.change(target, "disabled", [OperatorStep::Mark(node)]),
            (true, Some(_)) => planned.keep(target, "it is disabled already"),
            (false, Some(version)) => {
                planned.change(target, "enabled", [OperatorStep::Remove(node, version)]);
            }
            (false, None) => planned.keep(target, "it is enabled already"),
        }
    }
    planned
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
