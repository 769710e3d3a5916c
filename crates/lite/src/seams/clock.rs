//! The clock seam: what time it is, and waiting for a time.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

use super::alarm;

/// Two clocks, and a way to wait.
///
/// Wall time is what people write down: fire times. It can jump. Monotonic time is for how long: leases, deadlines.
/// It starts anywhere, never goes back, and is the only one that is waited for.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns what time this process believes it is.
    fn wall(&self) -> Timestamp;

    /// Returns the time since an arbitrary start that does not change during the life of the clock.
    fn monotonic(&self) -> Duration;

    /// Returns a future that is ready when [`monotonic`](Self::monotonic) has reached `deadline`; at once if it has.
    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()>;

    /// As [`sleep_until`](Self::sleep_until), and as little late as this clock can be: fires begin by it. The default is as
    /// late as `sleep_until`.
    fn alarm(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.sleep_until(deadline)
    }
}

/// The clocks of the operating system, with tokio's timer to wait.
///
/// That timer goes by milliseconds and can be more than two of them late. For an [`alarm`](Clock::alarm) a thread of the
/// process sleeps through the last of them, which is exact to some tens of microseconds; where that thread cannot be started
/// an alarm is as late as tokio's timer.
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

/// How long before an alarm the thread takes over from tokio's timer: longer than that is late.
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
        Err(error) => tracing::warn!(%error, "no thread for exact alarms"),
    }
    // There is no thread, or a test has stopped tokio's clock: threads sleep by another one.
    if Instant::now() < deadline {
        tokio::time::sleep_until(deadline).await;
    }
}

/// Tokio's clock for both: wall time begins where you say and goes on with tokio's timer.
///
/// In a runtime with paused time a test decides what time it is, and hours pass in milliseconds.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use lite::{Clock, TokioClock};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
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

/// A time beyond what the operating system can express never comes.
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
    async fn an_alarm_goes_by_the_clock_of_a_test() {
        for pause in [Duration::from_millis(1), Duration::from_secs(3_600)] {
            assert_not_early(SystemClock::default(), pause).await;
        }
    }
}
