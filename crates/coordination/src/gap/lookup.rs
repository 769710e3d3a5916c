//! Lookup of fires in the schedule of a configuration.

use std::fmt;
use std::sync::Arc;

use crate::{CatchUp, FireTime, JobConfig};

/// Maximum number of fires that are counted. A longer gap has no count.
const MAX_COUNTED: usize = 10_000;

/// Looks up fires in the schedule of a configuration.
///
/// The arguments are the configuration, the exclusive bounds of the fire times, and the maximum
/// number of fires. The fires are ascending. A job without a schedule has none.
pub type ScheduleLookup =
    Arc<dyn Fn(&JobConfig, FireTime, FireTime, usize) -> Vec<FireTime> + Send + Sync>;

/// Lookup as a part of settings. Functions cannot be compared, so that all lookups count as equal.
#[derive(Clone, Default)]
pub(crate) struct Lookup(pub(crate) Option<ScheduleLookup>);

impl Lookup {
    /// Returns true if schedules can be looked up.
    pub(crate) fn is_available(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the first fire after a time. `None` if there is none, or no lookup.
    pub(crate) fn next_after(&self, config: &JobConfig, after: FireTime) -> Option<FireTime> {
        let lookup = self.0.as_ref()?;
        lookup(config, after, FireTime(i64::MAX), 1).first().copied()
    }

    /// Returns the last fire of a schedule without fires after `present`. `None` if it is not
    /// within the window of the catch-up.
    pub(crate) fn last_before_end(
        &self,
        config: &JobConfig,
        policy: CatchUp,
        present: FireTime,
    ) -> Option<FireTime> {
        let (mut before, mut end) = (policy.window_start(present), present);
        self.next_after(config, before)?;
        // The schedule has a fire after `before` and none after `end`.
        while end.0 - before.0 > 1 {
            let middle = FireTime(before.0 + (end.0 - before.0) / 2);
            match self.next_after(config, middle) {
                Some(_) => before = middle,
                None => end = middle,
            }
        }
        Some(end)
    }

    /// Returns the fires that a job with catch-up still runs before `at`, ascending: the latest
    /// ones within its window, after `since`. Without `since` no record owes an earlier fire.
    pub(crate) fn missed_before(
        &self,
        config: &JobConfig,
        policy: CatchUp,
        (since, at): (Option<FireTime>, FireTime),
    ) -> Vec<FireTime> {
        let (Some(lookup), Some(since)) = (&self.0, since) else { return Vec::new() };
        let after = since.max(policy.window_start(at));
        let mut missed = lookup(config, after, at, usize::MAX);
        let surplus =
            missed.len().saturating_sub(usize::try_from(policy.max).unwrap_or(usize::MAX));
        missed.split_off(surplus)
    }

    /// Counts the fires from `first` to before `until`. `None` if there are none, or more than
    /// `MAX_COUNTED`.
    pub(crate) fn count(
        &self,
        config: &JobConfig,
        first: FireTime,
        until: FireTime,
    ) -> Option<u32> {
        let lookup = self.0.as_ref()?;
        let fires = lookup(config, FireTime(first.0.saturating_sub(1)), until, MAX_COUNTED + 1);
        let count = Some(fires.len()).filter(|count| (1..=MAX_COUNTED).contains(count))?;
        u32::try_from(count).ok()
    }

    /// Returns the fires from `first` to `last`, both included, if there are exactly `count`.
    pub(crate) fn exactly(
        &self,
        config: &JobConfig,
        (first, last): (FireTime, FireTime),
        count: u32,
    ) -> Option<Vec<FireTime>> {
        let (lookup, count) = (self.0.as_ref()?, usize::try_from(count).ok()?);
        let (after, before) = (first.0.saturating_sub(1), last.0.saturating_add(1));
        let fires = lookup(config, FireTime(after), FireTime(before), count.saturating_add(1));
        (fires.len() == count).then_some(fires)
    }
}

impl PartialEq for Lookup {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Lookup {}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}
