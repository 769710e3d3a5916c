//! Retry policy of a run, with a backoff that doubles.

use std::time::Duration;

use coordination::InvalidConfig;

/// Number of attempts within one run, and the delays between them.
///
/// | option | default |
/// |---|---|
/// | [`first_delay`](Self::first_delay) | 1 s |
/// | [`max_delay`](Self::max_delay) | 1 min |
/// | [`after_panics`](Self::after_panics) | no |
///
/// An attempt that returns an error or exceeds its [`timeout`](crate::Registration::timeout) is
/// retried. An attempt that returns `Ok`, or was cancelled, is not.
///
/// ```text
/// max_attempts 4, first_delay 1 s, max_delay 3 s
/// attempts:  [1 fails]--1 s--[2 fails]----2 s----[3 fails]------3 s------[4 fails] -> failed
/// ```
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use lite::RetryPolicy;
///
/// let policy =
///     RetryPolicy::new(5).first_delay(Duration::from_secs(2)).max_delay(Duration::from_secs(10));
/// let delays: Vec<_> = (1..=4).map(|attempt| policy.delay_after(attempt).as_secs()).collect();
/// assert_eq!(delays, [2, 4, 8, 10]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    max_attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
    after_panics: bool,
}

impl RetryPolicy {
    /// Returns a policy of at most `max_attempts` attempts in one run, the first one included: 2 or
    /// more.
    #[must_use]
    pub fn new(max_attempts: u32) -> Self {
        Self {
            max_attempts,
            first_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
            after_panics: false,
        }
    }

    /// Sets the delay after the first attempt, more than zero. Each further delay is twice as long
    /// as the previous one.
    #[must_use]
    pub fn first_delay(self, first_delay: Duration) -> Self {
        Self { first_delay, ..self }
    }

    /// Sets the maximum delay, no less than the first delay.
    #[must_use]
    pub fn max_delay(self, max_delay: Duration) -> Self {
        Self { max_delay, ..self }
    }

    /// Sets whether an attempt that panicked is retried. Default: no, because most panics are bugs
    /// that a retry repeats.
    #[must_use]
    pub fn after_panics(self, after_panics: bool) -> Self {
        Self { after_panics, ..self }
    }

    /// Returns the delay after an attempt, counted from 1.
    #[must_use]
    pub fn delay_after(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.first_delay.saturating_mul(factor).min(self.max_delay)
    }

    pub(crate) fn retries_panics(&self) -> bool {
        self.after_panics
    }

    pub(crate) fn is_last(&self, attempt: u32) -> bool {
        attempt >= self.max_attempts
    }

    /// Checks the values of the policy. The registration does so before anything is written.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the first invalid value and the valid ones.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        let Self { max_attempts, first_delay, max_delay, .. } = self;
        if *max_attempts < 2 {
            let valid = "2 or more, or no retry at all";
            return Err(InvalidConfig::new("retry.max_attempts", max_attempts, valid));
        }
        if first_delay.is_zero() {
            let found = format!("{first_delay:?}");
            return Err(InvalidConfig::new("retry.first_delay", found, "more than zero"));
        }
        if max_delay < first_delay {
            let valid = format!("no less than the first delay, {first_delay:?}");
            return Err(InvalidConfig::new("retry.max_delay", format!("{max_delay:?}"), valid));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_never_overflow() {
        let policy = RetryPolicy::new(u32::MAX).max_delay(Duration::MAX);
        let rows = [(1, 1), (2, 2), (3, 4), (32, 1 << 31), (33, u64::from(u32::MAX))];
        for (attempt, seconds) in rows {
            assert_eq!(policy.delay_after(attempt).as_secs(), seconds, "after attempt {attempt}");
        }
        let bounded = policy.max_delay(Duration::from_secs(3));
        assert_eq!(bounded.delay_after(u32::MAX), Duration::from_secs(3));
    }
}
