//! Whether the holder of a run is gone: decided here, and nowhere else.

use sharding::InstanceId;

use super::JobView;
use super::items::ItemView;

/// State of an instance that holds a run, as far as the view shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderState {
    /// The instance is registered.
    Alive,
    /// Neither the instance nor the mark of its session exists. A write that relies on this proves it again.
    Gone,
    /// The instance is not registered, but its mark exists: an operator can remove the instance while its session lives and its
    /// code runs.
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
