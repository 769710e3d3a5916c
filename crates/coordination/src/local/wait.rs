//! Bounded waits.

use std::time::Duration;

/// A bounded wait on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    /// Start of the wait.
    pub(crate) since: Duration,
    /// True if the bound is reached.
    pub(crate) over: bool,
}

impl Wait {
    /// Returns the wait as of `now`: the known one continued, or a new one.
    pub(crate) fn on(known: Option<Self>, now: Duration, patience: Duration) -> Self {
        let since = known.map_or(now, |known| known.since);
        Self { since, over: since + patience <= now }
    }
}
