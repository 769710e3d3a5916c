//! The last starts of a job with a start rate.

use reg_center::Version;

use super::JobView;
use crate::{StartLog, StartRate};

impl JobView {
    /// Returns the rate and the time, in milliseconds since 1970 UTC, at which the next run may
    /// begin, if the job has a start rate and has reached it. `now_ms` is the present time.
    #[must_use]
    pub fn starts_again_at(&self, now_ms: i64) -> Option<(StartRate, i64)> {
        let rate = self.config()?.start_rate?;
        let free_at = self.counting_starts(rate, now_ms).free_at(rate)?;
        Some((rate, free_at))
    }

    /// Returns the starts that count at `now_ms`.
    pub(crate) fn counting_starts(&self, rate: StartRate, now_ms: i64) -> StartLog {
        let horizon_ms = self.max_time_diff().horizon_ms(now_ms);
        let log = self.starts.as_ref().map(|starts| &starts.value);
        log.map(|log| log.counting(rate, now_ms, horizon_ms)).unwrap_or_default()
    }

    /// Returns the record of the last starts after `count` more at `now_ms`.
    pub(crate) fn starts_with(&self, count: u32, rate: StartRate, now_ms: i64) -> StartLog {
        let horizon_ms = self.max_time_diff().horizon_ms(now_ms);
        let none = StartLog::default();
        let log = self.starts.as_ref().map_or(&none, |starts| &starts.value);
        log.with(count, rate, now_ms, horizon_ms)
    }

    /// Returns the version of the record of the last starts.
    pub(crate) fn starts_version(&self) -> Option<Version> {
        self.starts.as_ref().map(|starts| starts.version)
    }

    /// Returns true if a later version wrote the record of the last starts.
    pub(crate) fn has_newer_starts(&self) -> bool {
        self.newer.starts
    }
}
