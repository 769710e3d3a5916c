//! One rule of a schedule, and its text.

use std::fmt;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use crate::calendar::Wall;
use crate::cron::{CronExpression, CronSchedule};
use crate::schedule::{FixedInterval, Once};
use crate::zone::Zone;

use super::error::ScheduleErrorReason;

/// One rule of a [`JobSchedule`](super::JobSchedule).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ScheduleRule {
    /// A cron expression.
    Cron(CronSchedule),
    /// `@every 90s`.
    Every(FixedInterval),
    /// `@at 2026-12-24T09:00:00`.
    At(Once),
    /// `@after 5m`. Its fires follow from the ends of runs, which a schedule does not know.
    After(Duration),
}

/// Longest interval of a rule.
const MAX_INTERVAL: SignedDuration = SignedDuration::from_hours(366 * 24);

impl ScheduleRule {
    pub(super) fn parse(text: &str, zone: &Zone) -> Result<ScheduleRule, ScheduleErrorReason> {
        let (keyword, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        match keyword {
            "" => Err(ScheduleErrorReason::MissingRule),
            "@every" => {
                let (interval, start) = match rest.split_once(" from ") {
                    None => (rest, Timestamp::UNIX_EPOCH),
                    Some((interval, start)) => (interval, parse_time(start.trim(), zone)?),
                };
                let interval = FixedInterval::new(start, parse_interval(interval)?);
                interval.map(ScheduleRule::Every).map_err(|_| ScheduleErrorReason::Interval)
            }
            "@after" => parse_interval(rest).map(ScheduleRule::After),
            "@at" => parse_time(rest, zone).map(|at| ScheduleRule::At(Once::at(at))),
            _ if keyword.starts_with('@') => Err(ScheduleErrorReason::UnknownRule),
            _ => {
                let expression = CronExpression::parse(text).map_err(ScheduleErrorReason::Cron)?;
                Ok(ScheduleRule::Cron(CronSchedule::new(expression, zone.clone())))
            }
        }
    }

    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            ScheduleRule::Cron(cron) => cron.next_step_after(after),
            ScheduleRule::Every(interval) => interval.next_after(after),
            ScheduleRule::At(once) => once.next_after(after),
            ScheduleRule::After(_) => None,
        }
    }

    /// Returns the rule in English, such as `at 09:00:00, on Monday to Friday`.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            ScheduleRule::Cron(cron) => cron.expression().description(),
            ScheduleRule::Every(_) | ScheduleRule::At(_) | ScheduleRule::After(_) => {
                self.to_string()
            }
        }
    }
}

/// Writes text such as `cron 0 0 12 ? * MON-FRI in UTC`, `every 90s from 2026-01-01T00:00:00Z`,
/// `once at 2026-12-24T09:00:00Z` or `5m after the end of each run`.
impl fmt::Display for ScheduleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleRule::Cron(cron) => write!(f, "{cron}"),
            ScheduleRule::Every(interval) => write!(f, "{interval}"),
            ScheduleRule::At(once) => write!(f, "{once}"),
            ScheduleRule::After(delay) => {
                let delay = SignedDuration::try_from(*delay).unwrap_or(MAX_INTERVAL);
                write!(f, "{delay:#} after the end of each run")
            }
        }
    }
}

/// Parses an interval such as `90s` or `1h 30m`.
fn parse_interval(text: &str) -> Result<Duration, ScheduleErrorReason> {
    let interval: SignedDuration = text.parse().map_err(|_| ScheduleErrorReason::Interval)?;
    let is_valid = SignedDuration::from_secs(1) <= interval
        && interval <= MAX_INTERVAL
        && interval.subsec_nanos() == 0;
    let interval = is_valid.then(|| Duration::try_from(interval).ok()).flatten();
    interval.ok_or(ScheduleErrorReason::Interval)
}

/// Parses a time with an offset from UTC, or one on the wall clock of `zone`.
pub(super) fn parse_time(text: &str, zone: &Zone) -> Result<Timestamp, ScheduleErrorReason> {
    let at = if let Ok(instant) = text.parse::<Timestamp>() {
        instant
    } else {
        let reading: DateTime = text.parse().map_err(|_| ScheduleErrorReason::Time)?;
        let seconds = jiff::tz::Offset::UTC.to_timestamp(reading);
        let seconds = seconds.map_err(|_| ScheduleErrorReason::Time)?;
        if seconds.subsec_nanosecond() != 0 {
            return Err(ScheduleErrorReason::Time);
        }
        zone.instant_of(Wall(seconds.as_second()))
            .ok_or_else(|| ScheduleErrorReason::SkippedTime { zone: zone.clone() })?
    };
    let has_fires = zone.reading(at).day_and_second().is_some();
    (has_fires && at.subsec_nanosecond() == 0).then_some(at).ok_or(ScheduleErrorReason::Time)
}
