//! Reasons why an item is where it is.

use std::fmt;

use super::Selector;
use crate::strategy::StrategyInput;
use crate::{Assignment, InstanceId, ShardingItem};

/// Reason why a strategy gave an item to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementReason {
    /// No instance may own the item.
    NoInstance,
    /// The pin of the item names its owner.
    Pinned(Selector),
    /// No available instance meets the condition of the pin, so that the item is placed without it.
    PinUnmet(Selector),
    /// The owner keeps the item.
    Kept,
    /// The item had no owner.
    FirstOwner,
    /// The former owner is not available any more.
    OwnerLeft,
    /// The former owner does not meet a required condition.
    Required(Selector),
    /// The former owner does not meet a preferred condition, which others meet.
    Preferred(Selector),
    /// The zone of the former owner has its share of the items.
    ZoneFull(String),
    /// The new owner has joined.
    Joined,
    /// The former owner has its share of the items.
    Balanced,
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoInstance => f.write_str("no instance may own it"),
            Self::Pinned(selector) => write!(f, "pinned to {selector}"),
            Self::PinUnmet(selector) => write!(f, "no available instance has {selector}"),
            Self::Kept => f.write_str("kept where it was"),
            Self::FirstOwner => f.write_str("first owner"),
            Self::OwnerLeft => f.write_str("moved: its owner is not available"),
            Self::Required(selector) => write!(f, "moved: {selector} is required"),
            Self::Preferred(selector) => write!(f, "moved: {selector} is preferred"),
            Self::ZoneFull(zone) => write!(f, "moved: zone {zone} is full"),
            Self::Joined => f.write_str("moved: an instance joined"),
            Self::Balanced => f.write_str("moved: its owner is above its share"),
        }
    }
}

/// Returns the reason for each item by the former owners alone, which every strategy has.
pub(crate) fn by_former_owners(
    input: &StrategyInput<'_>,
    assignment: &Assignment,
) -> Vec<PlacementReason> {
    assignment.iter().map(|(item, owner)| by_former_owner(input, item, owner)).collect()
}

/// Returns the reason for one item by its former owner alone.
pub(crate) fn by_former_owner(
    input: &StrategyInput<'_>,
    item: ShardingItem,
    owner: Option<&InstanceId>,
) -> PlacementReason {
    let former = input.previous.and_then(|previous| previous.owner(item));
    let (Some(owner), Some(former)) = (owner, former) else {
        let unowned = owner.is_none();
        return if unowned { PlacementReason::NoInstance } else { PlacementReason::FirstOwner };
    };
    if owner == former {
        return PlacementReason::Kept;
    }
    if let Some(unmet) = input.rules().unmet(input.attributes_of(former)) {
        return PlacementReason::Required(unmet.clone());
    }
    if !input.instances.contains(former) {
        return PlacementReason::OwnerLeft;
    }
    let joined = input.previous.is_some_and(|previous| !previous.owners().contains(owner));
    if joined { PlacementReason::Joined } else { PlacementReason::Balanced }
}
