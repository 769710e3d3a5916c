//! The snapshots of all groups, and how changes apply to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{GroupName, GroupNode};
use reg_center::Change;

use crate::GroupSnapshot;

/// The groups of a namespace that have nodes.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<GroupName, Arc<GroupSnapshot>>);

impl Groups {
    pub(super) fn get(&self, name: &GroupName) -> Option<&Arc<GroupSnapshot>> {
        self.0.get(name)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<GroupSnapshot>> {
        self.0.values()
    }

    /// Applies a change of a node of a group.
    pub(super) fn apply(&mut self, group: &GroupName, kind: GroupNode, change: &Change) {
        let new = || Arc::new(GroupSnapshot::new(group.clone()));
        // A reader that holds the snapshot keeps it as it is.
        let known = Arc::make_mut(self.0.entry(group.clone()).or_insert_with(new));
        match change {
            Change::Entry(node) | Change::Put(node) => known.put(kind, node),
            Change::Gone { .. } => known.remove(&kind),
            Change::Init | Change::Ready => {}
        }
        if !known.exists() {
            self.0.remove(group);
        }
    }

    /// Replaces all groups by those of a new snapshot of the namespace. Equal groups stay, so that
    /// no reader renders them again. Returns the names of the others.
    pub(super) fn replace(
        &mut self,
        read: BTreeMap<GroupName, GroupSnapshot>,
    ) -> BTreeSet<GroupName> {
        let is_gone = |name: &&GroupName| !read.contains_key(*name);
        let mut changed: BTreeSet<_> = self.0.keys().filter(is_gone).cloned().collect();
        self.0.retain(|name, _| read.contains_key(name));
        for (name, group) in read {
            if self.0.get(&name).is_none_or(|known| **known != group) {
                self.0.insert(name.clone(), Arc::new(group));
                changed.insert(name);
            }
        }
        changed
    }
}
