//! Present time.

use std::time::Duration;

/// Maximum time between two readings of the wall clock while one of its times is awaited: 5 s. The
/// wall clock can be set, and the monotonic one stands still while the machine is suspended.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// Present time by all clocks. The driver reads them once for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Wall clock of this process, in milliseconds since 1970 UTC.
    pub wall_ms: i64,
    /// Estimate of the registry's clock at `wall_ms`, in milliseconds since 1970 UTC. `None` if the
    /// registry has no clock, or its time is not known yet.
    pub registry_ms: Option<i64>,
    /// Monotonic clock: time since an arbitrary start, for durations.
    pub mono: Duration,
}
