//! Backoff: delays that double.

use std::time::Duration;

use crate::seams::Seams;

/// Delays that double, up to a limit.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, next: first }
    }

    /// Returns the next delay.
    pub(crate) fn next(&mut self) -> Duration {
        let now = self.next;
        self.next = now.saturating_mul(2).min(self.max);
        now
    }

    /// Starts again with the first delay.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Sleeps by the clock of a scheduler.
pub(super) async fn sleep(seams: &Seams, time: Duration) {
    let until = seams.clock.monotonic().saturating_add(time);
    seams.clock.sleep_until(until).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits: Vec<_> = (0..5).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.next().as_secs(), 1);
    }
}
