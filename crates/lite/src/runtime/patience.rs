//! Waiting longer each time.

use std::time::Duration;

use crate::seams::Seams;

/// Delays that double, up to a limit.
#[derive(Debug)]
pub(crate) struct Patience {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Patience {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, next: first }
    }

    /// Returns how long to wait this time.
    pub(crate) fn next(&mut self) -> Duration {
        let now = self.next;
        self.next = now.saturating_mul(2).min(self.max);
        now
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Waits by the clock of a scheduler.
pub(super) async fn sleep(seams: &Seams, time: Duration) {
    let until = seams.clock.monotonic().saturating_add(time);
    seams.clock.sleep_until(until).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_as_long_up_to_the_limit() {
        let mut patience = Patience::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits: Vec<_> = (0..5).map(|_| patience.next().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        patience.reset();
        assert_eq!(patience.next().as_secs(), 1);
    }
}
