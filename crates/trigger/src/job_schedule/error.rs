//! Errors of the rules of a schedule.

use crate::cron::CronParseError;
use crate::zone::Zone;

/// An error in the rules of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
#[non_exhaustive]
pub struct ScheduleError {
    /// The invalid rule, or the number of rules.
    pub rule: String,
    /// The reason.
    pub reason: ScheduleErrorReason,
}

/// Reason why a rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleErrorReason {
    /// The rule is an invalid cron expression.
    #[error(transparent)]
    Cron(CronParseError),
    /// The text before, between or after the semicolons is empty.
    #[error("is an empty rule")]
    MissingRule,
    /// The rule begins with `@` and an unknown word.
    #[error("has none of the valid forms")]
    UnknownRule,
    /// The interval is missing, not between 1 s and 366 days, or not in whole seconds.
    #[error("has no interval of 1s to 8784h in whole seconds")]
    Interval,
    /// The time is missing, not in the years 1970 to 2126, or not in whole seconds.
    #[error("has no time in whole seconds of the years 1970 to 2126")]
    Time,
    /// Clocks of the zone skip the time.
    #[error("has a time that clocks skip in {zone}")]
    SkippedTime {
        /// The zone of the wall clock.
        zone: Zone,
    },
    /// A delay after the end of runs is combined with other rules.
    #[error("stands beside other rules, although the end of a run alone decides when it fires")]
    NotAlone,
    /// The schedule has more than 100 rules.
    #[error("exceed the maximum of 100")]
    TooMany,
}

/// Valid forms of a rule.
pub(super) const VALID_RULES: &str = "Quartz expressions (`0 0/5 * * * ?`), intervals \
    (`@every 90s`, `@every 6h from 2026-01-01T01:00:00`) and times (`@at 2026-12-24T09:00:00`), \
    separated by semicolons, or one delay after the end of runs (`@after 5m`)";

impl ScheduleError {
    pub(super) fn new(rule: String, reason: ScheduleErrorReason) -> ScheduleError {
        ScheduleError { rule, reason }
    }

    fn text(&self) -> String {
        let Self { rule, reason } = self;
        if let ScheduleErrorReason::Cron(error) = reason {
            return error.to_string();
        }
        format!("`{rule}` {reason}; valid are {VALID_RULES}")
    }
}
