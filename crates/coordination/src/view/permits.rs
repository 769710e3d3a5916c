//! Permits of runs, in a job that limits the runs at the same time.

use reg_center::{Node, SessionId};
use sharding::{InstanceId, ShardingItem};

use super::JobView;
use crate::wire;

/// A permit that a run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitView {
    /// Session that owns the node.
    pub(crate) session: Option<SessionId>,
    /// Item and instance of the run; `None` if the node has other data.
    pub holder: Option<(ShardingItem, InstanceId)>,
}

impl PermitView {
    pub(super) fn of(node: &Node) -> Self {
        let text = std::str::from_utf8(&node.data).ok();
        let holder = text.and_then(|text| {
            let (item, holder) = text.split_once(' ')?;
            Some((wire::item_of(item)?, InstanceId::new(holder)))
        });
        Self { session: node.stat.owner, holder }
    }
}

impl JobView {
    /// Returns the permits that runs have, with their numbers, ascending.
    pub fn permits(&self) -> impl Iterator<Item = (u32, &PermitView)> {
        self.permits.iter().map(|(number, permit)| (*number, permit))
    }

    /// Returns a permit, if a run has it.
    pub(crate) fn permit(&self, number: u32) -> Option<&PermitView> {
        self.permits.get(&number)
    }
}
