//! What a judge may be told about the machine and the resource.

use std::time::Duration;

/// How strictly times are judged, and what the resource promises.
///
/// Safety is never a matter of these; they decide only about `L` promises, and about which clock readings of different
/// sources count as "before". The session timeout comes from the history.
///
/// # Examples
/// ```
/// use checker::Options;
///
/// // A loaded machine with real processes: three times as patient as in a simulation.
/// let options = Options { scale: 3.0, ..Options::default() };
/// assert_eq!(options.epsilon().as_millis(), 3_000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Factor on all durations below. 1 by default; 3 suits a loaded machine.
    pub scale: f64,
    /// How late a fire may start, and how long something may take that takes a few round trips. 1 s by default.
    pub epsilon: Duration,
    /// How long an election with a resharding and a sweep after it may take, beyond the session timeout. 5 s by
    /// default.
    pub settle: Duration,
    /// How long a graceful leave may take from its beginning. 60 s by default.
    pub drain: Duration,
    /// How far the registry's log and the records of processes may disagree about the order of what happened at
    /// nearly the same time. 5 ms by default; not scaled.
    pub clock_error: Duration,
    /// The resource takes at most one effect per job, item and fire. If not, more than one is counted, not judged.
    pub deduplicated: bool,
    /// Also match runs to fires by time alone, without trust in what they say about themselves.
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
    /// Returns how late a fire may start, scaled.
    #[must_use]
    pub fn epsilon(&self) -> Duration {
        self.scaled(self.epsilon)
    }

    /// Returns a duration times the scale; what is no number or negative counts as 1.
    pub(crate) fn scaled(&self, duration: Duration) -> Duration {
        let scale = if self.scale.is_finite() && self.scale > 0.0 { self.scale } else { 1.0 };
        Duration::try_from_secs_f64(duration.as_secs_f64() * scale).unwrap_or(Duration::MAX)
    }

    /// Returns the bounds in nanoseconds for sessions that time out after so many milliseconds.
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

/// Durations in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Until the registry has ended the session of whoever is gone.
    pub(crate) session: u64,
    pub(crate) epsilon: u64,
    pub(crate) settle: u64,
    pub(crate) drain: u64,
    pub(crate) clock: u64,
}

impl Bounds {
    /// Returns how long after a fault its consequences may last.
    pub(crate) fn recovery(&self) -> u64 {
        self.session.saturating_add(self.settle)
    }
}
