//! Time bounds of the judgement, and properties of the external resource.

use std::time::Duration;

/// Time bounds of the judgement, and properties of the external resource.
///
/// Safety promises do not depend on the time bounds. The bounds decide about the `L` promises only,
/// and about the order of records of different sources. The session timeout comes from the history.
///
/// # Examples
/// ```
/// use checker::Options;
///
/// // Real processes on a loaded machine: three times the bounds of a simulation.
/// let options = Options { scale: 3.0, ..Options::default() };
/// assert_eq!(options.epsilon().as_millis(), 3_000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Factor on all durations below. Default: 1. Use 3 on a loaded machine.
    pub scale: f64,
    /// Maximum lateness of a fire, and bound on an operation of a few round trips. Default: 1 s.
    pub epsilon: Duration,
    /// Bound on an election with the resharding and the cleanup after it, beyond the session
    /// timeout. Default: 5 s.
    pub settle: Duration,
    /// Bound on a graceful leave. Default: 60 s.
    pub drain: Duration,
    /// Maximum difference between the times of the registry's log and of processes. Default: 5 ms;
    /// it is not scaled.
    pub clock_error: Duration,
    /// The resource accepts at most one effect per job, item and fire. Otherwise further effects
    /// are counted, not judged.
    pub deduplicated: bool,
    /// Also match runs to fires by time alone, without the fire that each run names.
    pub blind: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scale: 1.0,
            epsilon: Duration::from_secs(1),
            settle: Duration::from_secs(5),
            drain: Duration::from_secs(60),
            clock_error: Duration::from_millis(5),
            deduplicated: false,
            blind: false,
        }
    }
}

impl Options {
    /// Returns the maximum lateness of a fire, scaled.
    #[must_use]
    pub fn epsilon(&self) -> Duration {
        self.scaled(self.epsilon)
    }

    /// Returns a scaled duration. A scale that is not a positive number counts as 1.
    pub(crate) fn scaled(&self, duration: Duration) -> Duration {
        let scale = if self.scale.is_finite() && self.scale > 0.0 { self.scale } else { 1.0 };
        Duration::try_from_secs_f64(duration.as_secs_f64() * scale).unwrap_or(Duration::MAX)
    }

    /// Returns the bounds in nanoseconds for a session timeout in milliseconds.
    pub(crate) fn bounds(&self, session_timeout_ms: u64) -> Bounds {
        let ns = |duration: Duration| {
            u64::try_from(self.scaled(duration).as_nanos()).unwrap_or(u64::MAX / 8)
        };
        let session = ns(Duration::from_millis(session_timeout_ms).saturating_mul(5) / 4);
        let (epsilon, settle) = (ns(self.epsilon), ns(self.settle));
        let clock = u64::try_from(self.clock_error.as_nanos()).unwrap_or(u64::MAX / 8);
        Bounds { session, epsilon, settle, drain: ns(self.drain), clock }
    }
}

/// Time bounds in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bound on the time until the registry ends the session of a lost process.
    pub(crate) session: u64,
    pub(crate) epsilon: u64,
    pub(crate) settle: u64,
    pub(crate) drain: u64,
    pub(crate) clock: u64,
}

impl Bounds {
    /// Returns the bound on the recovery after a fault.
    pub(crate) fn recovery(&self) -> u64 {
        self.session.saturating_add(self.settle)
    }
}
