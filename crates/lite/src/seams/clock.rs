//! The clock seam: the time, and waiting until a time.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

use super::alarm;

/// A wall clock, a monotonic clock and a timer.
///
/// Wall time is for fire times and can jump. Monotonic time is for durations: leases and deadlines.
/// It has an arbitrary start, never goes back, and is the time by which tasks wait.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current wall time of this process.
    fn wall(&self) -> Timestamp;

    /// Returns the time since an arbitrary start, which is fixed for this clock.
    fn monotonic(&self) -> Duration;

    /// Returns a future that is ready when [`monotonic`](Self::monotonic) reaches `deadline`, or at
    /// once if it has passed.
    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()>;

    /// Returns the same future as [`sleep_until`](Self::sleep_until), but as exact as this clock
    /// can be, for the start of fires. The default calls `sleep_until`.
    fn alarm(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.sleep_until(deadline)
    }
}

/// The clocks of the operating system, with tokio's timer.
///
/// Tokio's timer has a resolution of a millisecond and can be more than two of them late. For an
/// [`alarm`](Clock::alarm) a thread of the process sleeps through the last milliseconds, which is
/// exact to some tens of microseconds. If the thread cannot be started, an alarm uses tokio's
/// timer.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        sleep_until(self.origin.checked_add(deadline))
    }

    fn alarm(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        match self.origin.checked_add(deadline) {
            Some(deadline) => Box::pin(wake_at(deadline)),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Time before an alarm at which the thread takes over from tokio's timer. It exceeds the lateness
/// of that timer.
const LAST_STRETCH: Duration = Duration::from_millis(3);

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
async fn wake_at(deadline: Instant) {
    if let Some(before) = deadline.checked_sub(LAST_STRETCH) {
        tokio::time::sleep_until(before).await;
    }
    let rest = deadline.saturating_duration_since(Instant::now());
    if rest.is_zero() {
        return;
    }
    match alarm::set(rest) {
        Ok(woken) => tokio::select! {
            _ = woken => {}
            () = tokio::time::sleep_until(deadline) => {}
        },
        Err(error) => {
            tracing::warn!(%error, "cannot start the thread for exact alarms, using tokio's timer")
        }
    }
    // There is no thread, or a test has paused tokio's clock, which the thread does not follow.
    if Instant::now() < deadline {
        tokio::time::sleep_until(deadline).await;
    }
}

/// Tokio's clock for both times: wall time begins at a given time and advances with tokio's timer.
///
/// In a runtime with paused time a test controls the clock, and hours pass in milliseconds.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use lite::{Clock, TokioClock};
///
/// # let mut runtime = tokio::runtime::Builder::new_current_thread();
/// # runtime.enable_time().start_paused(true).build()?.block_on(async {
/// let noon = "2024-02-29T12:00:00Z".parse()?;
/// let clock = TokioClock::starting_at(noon);
/// clock.sleep_until(Duration::from_secs(3600)).await;
/// assert_eq!(clock.wall().to_string(), "2024-02-29T13:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Timestamp,
    origin: Instant,
}

impl TokioClock {
    /// Returns a clock that shows `start` now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, origin: Instant::now() }
    }
}

impl Clock for TokioClock {
    fn wall(&self) -> Timestamp {
        self.start.saturating_add(self.monotonic()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        sleep_until(self.origin.checked_add(deadline))
    }
}

/// Returns a future for a deadline. A time that the operating system cannot represent never comes.
fn sleep_until(deadline: Option<Instant>) -> BoxFuture<'static, ()> {
    match deadline {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        Some(deadline) => Box::pin(tokio::time::sleep_until(deadline)),
        None => Box::pin(std::future::pending()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn assert_not_early(clock: SystemClock, pause: Duration) {
        let deadline = clock.monotonic() + pause;
        clock.alarm(deadline).await;
        assert!(clock.monotonic() >= deadline, "{pause:?}");
    }

    #[tokio::test]
    async fn an_alarm_is_not_early() {
        for micros in [0, 10, 900, 2_999, 3_001, 7_300] {
            assert_not_early(SystemClock::default(), Duration::from_micros(micros)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_alarm_follows_the_paused_clock_of_a_test() {
        for pause in [Duration::from_millis(1), Duration::from_secs(3_600)] {
            assert_not_early(SystemClock::default(), pause).await;
        }
    }
}
