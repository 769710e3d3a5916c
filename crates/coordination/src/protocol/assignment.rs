//! What an assignment was made for, and which items have yet to follow.

use std::collections::BTreeMap;

use sharding::InstanceId;

use crate::FireTime;
use crate::protocol::pending::Pending;

/// The inputs of the current assignment, stored beside it.
///
/// Resharding is needed as long as they differ from what is the case: no request can be lost, because nobody has to
/// remember one. Items that should move but are busy, or did not fit the transaction, are `pending`: their old owner
/// claims nothing for them any more, and the leader moves each as soon as it is idle.
///
/// The default was made for nobody and nothing: it fits no configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssignmentRecord {
    /// The available instances, in the order in which the strategy saw them.
    pub members: Vec<InstanceId>,
    /// The stable names of those members that have one; static sharding gives a name its items back.
    pub(crate) names: BTreeMap<InstanceId, String>,
    /// The number of items.
    pub total_count: u32,
    /// The name of the strategy.
    pub(crate) strategy: String,
    /// The request for resharding that was the last one handled.
    pub handled: u32,
    /// The fire that was due when it was made. A member that came after it runs it for the items that it is given and
    /// that nobody has claimed for it yet.
    pub(crate) due: Option<FireTime>,
    /// Items that have yet to move, with their next owner.
    pub pending: Pending,
    /// The term in which Java instances were told that items will be assigned anew, while something of that is still left
    /// to write. As long as that term lasts, `necessary` is this announcement and no request of somebody else's.
    pub(crate) announced: Option<u32>,
    /// How many items each member has or shall have; nothing for a job of few items. Whoever follows a few items only knows by it that
    /// these are all of its own.
    pub(crate) counts: BTreeMap<InstanceId, u32>,
}
