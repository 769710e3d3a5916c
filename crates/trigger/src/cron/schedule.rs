//! `CronSchedule`: an expression in a time zone.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::calendar::Wall;
use crate::excluded_days::ExcludedDays;
use crate::schedule::{Schedule, Upcoming};
use crate::zone::{OverlapPolicy, Zone};

use super::expression::CronExpression;

/// The fire times of a [`CronExpression`] in a [`Zone`].
///
/// Fires at whole seconds at which the wall clock of the zone matches the expression:
///
/// - A time inside a **gap** (clocks go forward) does not occur and does not fire on that day.
/// - A time inside an **overlap** (clocks go back) occurs twice. It fires once, at its second
///   occurrence, or twice with [`OverlapPolicy::Both`].
/// - A time on one of its [`ExcludedDays`], if it has any, does not fire.
///
/// [`next_after`](Self::next_after) allocates nothing and takes some ten nanoseconds. It takes up
/// to a microsecond or two if the next fire time is many years away or does not exist.
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::{CronExpression, CronSchedule, Zone};
///
/// let noon = CronExpression::parse("0 0 12 ? * MON-FRI")?;
/// let schedule = CronSchedule::new(noon, Zone::parse("Asia/Shanghai")?);
/// let friday: Timestamp = "2026-03-06T12:00:00+08:00".parse()?;
/// let fires: Vec<String> = schedule.upcoming(friday).take(2).map(|t| t.to_string()).collect();
/// assert_eq!(fires, ["2026-03-09T04:00:00Z", "2026-03-10T04:00:00Z"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: when clocks change
///
/// ```
/// # use jiff::Timestamp;
/// # use trigger::{CronExpression, CronSchedule, OverlapPolicy, Zone};
/// let new_york = Zone::parse("America/New_York")?;
/// let half_hours = CronExpression::parse("0 0/30 * * * ?")?;
/// let schedule = CronSchedule::new(half_hours, new_york);
/// let fires = |schedule: &CronSchedule, after: &str| -> Vec<String> {
///     let after = after.parse().expect("a timestamp");
///     schedule.upcoming(after).take(4).map(|t| t.to_string()).collect()
/// };
///
/// // 01:30, then the gap from 02:00 to 03:00.
/// assert_eq!(
///     fires(&schedule, "2026-03-08T01:00:00-05:00"),
///     [
///         "2026-03-08T06:30:00Z",
///         "2026-03-08T07:00:00Z",
///         "2026-03-08T07:30:00Z",
///         "2026-03-08T08:00:00Z"
///     ]
/// );
/// // The overlap from 01:00 to 02:00: without fires in its first hour, or with.
/// assert_eq!(
///     fires(&schedule, "2026-11-01T00:30:00-04:00"),
///     [
///         "2026-11-01T06:00:00Z",
///         "2026-11-01T06:30:00Z",
///         "2026-11-01T07:00:00Z",
///         "2026-11-01T07:30:00Z"
///     ]
/// );
/// assert_eq!(
///     fires(&schedule.with_overlap(OverlapPolicy::Both), "2026-11-01T00:30:00-04:00"),
///     [
///         "2026-11-01T05:00:00Z",
///         "2026-11-01T05:30:00Z",
///         "2026-11-01T06:00:00Z",
///         "2026-11-01T06:30:00Z"
///     ]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CronSchedule {
    expression: CronExpression,
    zone: Zone,
    overlap: OverlapPolicy,
    excluded: Option<Arc<ExcludedDays>>,
}

impl CronSchedule {
    /// Returns the schedule of `expression` in `zone`, with Quartz's rule for overlaps.
    pub fn new(expression: CronExpression, zone: Zone) -> CronSchedule {
        CronSchedule { expression, zone, overlap: OverlapPolicy::default(), excluded: None }
    }

    /// Sets the rule for overlaps.
    #[must_use]
    pub fn with_overlap(self, overlap: OverlapPolicy) -> CronSchedule {
        CronSchedule { overlap, ..self }
    }

    /// Removes the fire times on these days of the wall clock of the zone.
    #[must_use]
    pub fn with_excluded_days(self, days: ExcludedDays) -> CronSchedule {
        CronSchedule { excluded: Some(Arc::new(days)), ..self }
    }

    /// Returns the excluded days, if there are any.
    pub fn excluded_days(&self) -> Option<&ExcludedDays> {
        self.excluded.as_deref()
    }

    /// Returns the expression.
    pub fn expression(&self) -> &CronExpression {
        &self.expression
    }

    /// Returns the zone of the wall clock.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the rule for times that occur twice on the wall clock.
    pub fn overlap(&self) -> OverlapPolicy {
        self.overlap
    }

    /// Returns the first fire time strictly after `after`, or `None` if there is none up to the end
    /// of [`LAST_YEAR`](crate::LAST_YEAR).
    ///
    /// Fire times are whole seconds. `after` may be any time, also long before 1970.
    ///
    /// As in Quartz, the wall clock decides. If `after` lies in the first pass of an overlap, the
    /// readings before it are over, although the second pass repeats them. Stepping from one fire
    /// time to the next skips none. With [`OverlapPolicy::Both`] no reading is skipped in any case.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.zone.next_match(after, self.overlap.of_remaining(), |from| self.next_reading(from))
    }

    /// Returns the first fire time strictly after `after` of those that steps from one fire time to
    /// the next find. It differs from [`next_after`](Self::next_after) in the first pass of an
    /// overlap.
    pub(crate) fn next_step_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.zone.next_match(after, self.overlap.of_instant(), |from| self.next_reading(from))
    }

    /// Returns the first firing reading of the wall clock that is not before `from`.
    fn next_reading(&self, from: Wall) -> Option<Wall> {
        let mut from = from;
        loop {
            let reading = self.expression.pattern().next_reading(from)?;
            let Some(excluded) = &self.excluded else { return Some(reading) };
            let (day, _) = reading.day_and_second()?;
            match excluded.next_included(day)? {
                included if included == day => return Some(reading),
                later => from = Wall::new(later, 0),
            }
        }
    }

    /// Returns the fire times strictly after `after`, in order.
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_, CronSchedule> {
        Upcoming::new(self, after)
    }

    /// Returns true if the wall clock matches the expression at the second of `at`.
    ///
    /// As in Quartz, this is true for both occurrences of a time in an overlap.
    /// [`next_after`](Self::next_after) returns only the later one.
    #[must_use]
    pub fn matches(&self, at: Timestamp) -> bool {
        let reading = self.zone.reading(at);
        self.expression.pattern().accepts(reading) && self.next_reading(reading) == Some(reading)
    }

    /// Returns true if the schedule has no fire time at all: the expression never fires, or only at
    /// times in gaps of this zone or on excluded days.
    pub fn never_fires(&self) -> bool {
        self.next_after(Timestamp::MIN).is_none()
    }
}

impl Schedule for CronSchedule {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        CronSchedule::next_after(self, after)
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

/// Writes text such as `cron 0 0 12 ? * MON-FRI in Asia/Shanghai`.
impl fmt::Display for CronSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cron {} in {}", self.expression, self.zone)?;
        match self.overlap {
            OverlapPolicy::Later => {}
            OverlapPolicy::Both => f.write_str(", twice in overlaps")?,
        }
        match &self.excluded {
            None => Ok(()),
            Some(days) => write!(f, ", not on {days}"),
        }
    }
}

impl fmt::Debug for CronSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CronSchedule")
            .field("expression", &self.expression.as_str())
            .field("zone", &self.zone)
            .field("overlap", &self.overlap)
            .field("excluded", &self.excluded.as_ref().map(ToString::to_string))
            .finish()
    }
}
