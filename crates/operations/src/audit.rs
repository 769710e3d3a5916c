//! Audited changes of jobs and groups, and the list of targets in an audit record.

use std::collections::BTreeSet;

use coordination::{AuditRecord, AuditSubject, GroupNode, Layout, NodeKind, Slot};
use sharding::ShardingItem;

use crate::{GroupSnapshot, JobSnapshot, Operations, Result};

const ITEM: &str = "item ";

impl Operations {
    /// Reads the last audited changes of a job or a group, oldest first: one node. Empty if there
    /// are none, and if the log is damaged, which the [doctor](crate::diagnose) reports.
    ///
    /// # Errors
    /// [`Error::Deadline`](crate::Error::Deadline), or a registry error.
    pub async fn audit(&self, subject: &AuditSubject) -> Result<Vec<AuditRecord>> {
        let log = match subject {
            AuditSubject::Job(job) => {
                let layout = Layout::new(job);
                let node = self.reader.read(&layout.path(&NodeKind::Audit)).await?;
                node.and_then(|node| layout.read_audit(&node).ok())
            }
            AuditSubject::Group(group) => {
                let node = self.reader.read(&Layout::group_path(group, &GroupNode::Audit)).await?;
                node.and_then(|node| Layout::read_group_audit(&node).ok())
            }
        };
        let records = log.iter().flat_map(|log| log.value.records());
        Ok(records.cloned().collect())
    }
}

/// Returns the last audited changes of these jobs and groups, each with its subject. Those of one
/// subject are oldest first.
pub fn audited_changes<'a>(
    jobs: impl IntoIterator<Item = &'a JobSnapshot>,
    groups: impl IntoIterator<Item = &'a GroupSnapshot>,
) -> impl Iterator<Item = (AuditSubject, &'a AuditRecord)> {
    let of_jobs = jobs.into_iter().flat_map(|job| {
        let subject = AuditSubject::from(job.job());
        job.audit().map(move |record| (subject.clone(), record))
    });
    let of_groups = groups.into_iter().flat_map(|group| {
        let subject = AuditSubject::from(group.view().name());
        group.audit().map(move |record| (subject.clone(), record))
    });
    of_jobs.chain(of_groups)
}

/// Targets of an audited change, such as `item 1, item 2`, as its record names them.
///
/// # Examples
/// ```
/// use operations::AuditTargets;
///
/// let targets = AuditTargets::of("item 1, item 12, …");
/// assert!(targets.has_item(12) && !targets.has_item(2));
/// assert!(targets.has("item 1") && targets.is_cut());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditTargets<'a> {
    targets: BTreeSet<&'a str>,
    items: BTreeSet<u32>,
    is_cut: bool,
}

impl<'a> AuditTargets<'a> {
    /// Target of a change of all items of a job, in place of a list of them.
    pub const ALL_ITEMS: &'static str = "all items";

    /// Parses [`AuditRecord::target`].
    #[must_use]
    pub fn of(target: &'a str) -> Self {
        let mut targets: BTreeSet<&str> = target.split(AuditRecord::SEPARATOR).collect();
        let is_cut = targets.remove(AuditRecord::CUT);
        // A run in a further slot, such as `item 3.1`, is one of its item.
        let number = |name: &str| name.split('.').next().and_then(|item| item.parse().ok());
        let items = targets.iter().filter_map(|one| number(one.strip_prefix(ITEM)?));
        Self { items: items.collect(), targets, is_cut }
    }

    /// Returns true if the record names the target, such as `server 10.0.0.1`.
    #[must_use]
    pub fn has(&self, target: &str) -> bool {
        self.targets.contains(target)
    }

    /// Returns true if the record names the item, or all items.
    #[must_use]
    pub fn has_item(&self, item: u32) -> bool {
        self.items.contains(&item) || self.has(Self::ALL_ITEMS)
    }

    /// Returns true if the record does not name all targets of the change.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns true if the record may be of a change of the target without naming it: its list is
    /// cut, and has targets of the same kind.
    pub(crate) fn may_lack(&self, target: &str) -> bool {
        let kind = kind_of(target);
        self.is_cut && !self.has(target) && self.targets.iter().any(|one| kind_of(one) == kind)
    }
}

/// Returns the first word of a target.
fn kind_of(target: &str) -> &str {
    target.split(' ').next().unwrap_or_default()
}

/// Returns an item as a target.
pub(crate) fn item_target(item: ShardingItem) -> String {
    format!("{ITEM}{item}")
}

/// Returns the run in a slot as a target.
pub(crate) fn slot_target(slot: Slot) -> String {
    format!("{ITEM}{slot}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_list_may_be_about_each_target_of_its_kind() {
        let (yes, no, unknown) = ((true, false), (false, false), (false, true));
        for (text, expected) in [
            ("server 10.0.0.1, server 10.0.0.2", yes),
            ("server 10.0.0.3, server 10.0.0.2, …", yes),
            ("server 10.0.0.1, server 10.0.0.3, …", unknown),
            ("server 10.0.0.21", no),
            ("item 1, item 2, …", no),
            ("all items", no),
        ] {
            let (targets, target) = (AuditTargets::of(text), "server 10.0.0.2");
            assert_eq!((targets.has(target), targets.may_lack(target)), expected, "{text}");
        }
    }

    #[test]
    fn target_of_a_record_has_its_items() {
        for (target, item, expected) in [
            ("all items", 7, true),
            ("item 1, item 12", 12, true),
            ("item 1, item 12", 2, false),
            ("item 1, …", 1, true),
            ("item 3.1", 3, true),
            ("item 3.1", 1, false),
            ("instance 10.0.0.1@-@7", 1, false),
        ] {
            assert_eq!(AuditTargets::of(target).has_item(item), expected, "{target} {item}");
        }
    }

    #[test]
    fn written_list_is_read_again_up_to_its_cut() {
        for items in [3_u32, 500] {
            let targets: Vec<_> = (0..items).map(|n| item_target(ShardingItem::new(n))).collect();
            let text = AuditRecord::list(targets.iter().map(String::as_str));
            assert!(text.len() <= AuditRecord::MAX_TEXT_BYTES, "{text}");
            let read = AuditTargets::of(&text);
            let named = (0..items).take_while(|item| read.has_item(*item)).count();
            assert_eq!(read.is_cut(), named < targets.len(), "{text}");
            assert_eq!(read.targets.len(), named, "{text}");
        }
    }
}
