//! Limits how often a warning is logged.

use std::time::Duration;

use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_secs(60);

/// Lets one warning pass per minute and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogGate {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogGate {
    /// Returns the number of warnings suppressed since the last one that passed, or `None` if this
    /// one is suppressed.
    pub(crate) fn pass(&mut self) -> Option<u64> {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < INTERVAL) {
            self.suppressed += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_warning_a_minute_passes_with_the_suppressed_count() {
        let mut gate = LogGate::default();
        assert_eq!(gate.pass(), Some(0));
        assert_eq!((gate.pass(), gate.pass()), (None, None));
        tokio::time::advance(INTERVAL - Duration::from_millis(1)).await;
        assert_eq!(gate.pass(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(gate.pass(), Some(3));
        assert_eq!(gate.pass(), None);
    }
}
