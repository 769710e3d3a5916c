//! State of the holder of a run by its record.
//!
//! No duty decides by other facts that a holder is gone. Runs of Java instances have no records, so
//! `java` judges their holders by marks and registrations.

use sharding::InstanceId;

use super::JobView;
use super::item::ItemView;

/// State of an instance that holds a run, as far as the view shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderState {
    /// The instance is registered.
    Alive,
    /// Neither the instance nor the mark of its session exists. A write that relies on this reads
    /// both again.
    Gone,
    /// The instance is not registered, but its mark exists. An operator can remove an instance
    /// while its session lives and its code runs.
    Unknown,
}

impl JobView {
    /// Returns the state of the holder of an item's run.
    pub(crate) fn holder_state(&self, item: &ItemView, holder: &InstanceId) -> HolderState {
        if self.is_registered(holder) {
            return HolderState::Alive;
        }
        if self.is_unmarked(item) { HolderState::Gone } else { HolderState::Unknown }
    }
}
