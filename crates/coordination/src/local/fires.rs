//! Fires that this process has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reg_center::Version;
use sharding::ShardingItem;

use crate::gap::Schedules;
use crate::{FireTime, Gap, MissReason};

/// Fires of the schedule. They outlast sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fires {
    /// The present due fire. The next fire replaces it. Written by fire events, and by observations
    /// of the assignment record and of the clock; read by claims, misfires, resharding and `java`.
    pub due: Option<Due>,
    /// The present fire, if this instance runs no item for it. The next fire replaces it. Written
    /// by fire events and by observations of the clock; read by the report of missed fires.
    pub missed_by_all: Option<MissedFire>,
    /// The last scheduled fire that this instance has seen, due or not. Written as `due` is; read
    /// by resharding, the search for gaps and `java`.
    pub(crate) last_seen: Option<FireTime>,
    /// The next fire of the schedule when this instance last looked for the end of the schedule, or
    /// the end of time, with the version of its configuration. Written and read by that search.
    pub(crate) next_seen: Option<(Version, FireTime)>,
    /// Time at which this instance compares its clock with the next fire of a fixed delay, on the
    /// monotonic clock. Written by observations of the view; read by the next wake.
    pub(crate) delay_ends: Option<Duration>,
    /// The schedules that this process has seen in force. Written by observations of the view; read
    /// by the search for gaps.
    pub(crate) schedules: Schedules,
    /// The last gaps of each item that this process reported, in the order of the reports. Written
    /// by replies; read by the search for gaps.
    pub(crate) gaps_reported: BTreeMap<ShardingItem, Vec<Gap>>,
    /// A fire of an unmonitored job that waits until the owners or the registry's time are known.
    /// Written and read by the start of unmonitored runs.
    pub(crate) unmonitored: Option<FireTime>,
}

impl Fires {
    /// Returns the last gaps of an item that this process reported.
    pub(crate) fn reported_gaps(&self, item: ShardingItem) -> &[Gap] {
        self.gaps_reported.get(&item).map_or(&[], Vec::as_slice)
    }
}

/// A fire that came while this instance was paused or left, or its server was disabled. This
/// instance does not run it later, even if the reason ends before the next fire.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MissedFire {
    pub at: FireTime,
    pub(crate) reason: MissReason,
    /// The items that this instance had at the fire: it reported them at once. An item that comes
    /// to it later is reported at the next fire, because another owner may still run it until then.
    pub reported: BTreeSet<ShardingItem>,
}

/// A due fire with its neighbors in the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub(crate) at: FireTime,
    /// The next scheduled fire.
    pub(crate) next: Option<FireTime>,
    /// Earlier fires that a job with catch-up still runs, in ascending order. `None` if unknown,
    /// because the fire came from the assignment record or the view does not show all items.
    pub(crate) missed: Option<Vec<FireTime>>,
}

impl Due {
    /// Returns the first fire after `since` that an item has to catch up, and the fire after it.
    pub(crate) fn missed_after(&self, since: FireTime) -> Option<(FireTime, FireTime)> {
        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > since);
        let fire = later.next()?;
        Some((fire, later.next().unwrap_or(self.at)))
    }
}
