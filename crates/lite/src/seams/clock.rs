//! The clock seam: what time it is, and waiting for a time.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

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
}

/// The clocks of the operating system, with tokio's timer to wait.
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
