//! The schedule of a job: one or more rules, the times without fires, and the period of validity.

mod error;
mod exclusion;
mod rule;
mod texts;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::cron::CronCaveat;
use crate::excluded_days::ExcludedDays;
use crate::excluded_times::ExcludedTimes;
use crate::schedule::{Schedule, Upcoming};
use crate::zone::{OverlapPolicy, Zone};

pub use error::{ScheduleError, ScheduleErrorReason};
pub use exclusion::Exclusion;
pub use rule::ScheduleRule;
pub use texts::{InvalidScheduleText, ScheduleTexts};

/// The fire times of a job: of one or more rules, in a [`Zone`].
///
/// The text form has rules separated by semicolons:
///
/// | rule | fires |
/// |---|---|
/// | `0 0/5 * * * ?` | by a Quartz expression, as a [`CronSchedule`](crate::CronSchedule) |
/// | `@every 90s` | every 90 s, at multiples of 90 s since 1970-01-01T00:00:00Z |
/// | `@every 6h from 2026-01-01T01:00:00` | at that time, and then every six hours |
/// | `@at 2026-12-24T09:00:00` | once |
/// | `@after 5m` | five minutes after the end of each run; alone, without other rules |
///
/// An interval is 1 s to 366 days in whole seconds, with the units `s`, `m` and `h`. It does not
/// drift: fire times depend neither on the start of a process nor on the length of runs.
///
/// A time is in whole seconds of the years 1970 to 2126. Without an offset from UTC, such as `Z`,
/// it is a time on the wall clock of the zone. If it occurs twice, the later one counts.
///
/// If several rules fire at the same instant, the job fires once. At most
/// [`MAX_RULES`](Self::MAX_RULES) rules are valid.
///
/// Fire times depend only on the schedule. Processes that start during an overlap of the wall clock
/// agree with those that started before. (A [`CronSchedule`](crate::CronSchedule) alone follows
/// Quartz, whose answer for an instant in the first pass of an overlap differs.)
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::{ExcludedDays, JobSchedule, Zone};
///
/// let zone = Zone::parse("Asia/Shanghai")?;
/// let schedule = JobSchedule::parse("0 0 9 ? * MON-FRI; @every 12h", &zone)?
///     .with_excluded_days(ExcludedDays::parse("SUN")?)
///     .with_not_after("2026-03-09T12:00:00+08:00".parse()?);
/// let saturday: Timestamp = "2026-03-07T12:00:00+08:00".parse()?;
/// let fires: Vec<String> = schedule.upcoming(saturday).map(|t| t.to_string()).collect();
/// assert_eq!(
///     fires,
///     ["2026-03-07T12:00:00Z", "2026-03-09T00:00:00Z", "2026-03-09T01:00:00Z"]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JobSchedule {
    /// At least one.
    rules: Vec<ScheduleRule>,
    zone: Zone,
    excluded: Option<Arc<ExcludedDays>>,
    excluded_times: Option<Arc<ExcludedTimes>>,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
}

impl JobSchedule {
    /// Maximum number of rules.
    pub const MAX_RULES: usize = 100;

    /// Parses rules, whose wall clock is that of `zone`.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`] names the rule, the reason and what would be valid.
    pub fn parse(text: &str, zone: &Zone) -> Result<JobSchedule, ScheduleError> {
        let texts: Vec<&str> = text.split(';').map(str::trim).collect();
        if texts.len() > Self::MAX_RULES {
            let rules = format!("{} rules", texts.len());
            return Err(ScheduleError::new(rules, ScheduleErrorReason::TooMany));
        }
        let rules = texts.into_iter().map(|text| {
            ScheduleRule::parse(text, zone)
                .map_err(|reason| ScheduleError::new(text.to_owned(), reason))
        });
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let is_delay = |rule: &ScheduleRule| matches!(rule, ScheduleRule::After(_));
        if rules.len() > 1 && rules.iter().any(is_delay) {
            return Err(ScheduleError::new(text.to_owned(), ScheduleErrorReason::NotAlone));
        }
        Ok(JobSchedule {
            rules,
            zone: zone.clone(),
            excluded: None,
            excluded_times: None,
            not_before: None,
            not_after: None,
        })
    }

    /// Sets the rule for times that occur twice on the wall clock. Intervals and single times are
    /// not affected.
    #[must_use]
    pub fn with_overlap(mut self, overlap: OverlapPolicy) -> JobSchedule {
        for rule in &mut self.rules {
            if let ScheduleRule::Cron(cron) = rule {
                *cron = cron.clone().with_overlap(overlap);
            }
        }
        self
    }

    /// Removes the fire times on these days of the wall clock of the zone.
    #[must_use]
    pub fn with_excluded_days(self, days: ExcludedDays) -> JobSchedule {
        JobSchedule { excluded: Some(Arc::new(days)), ..self }
    }

    /// Removes the fire times in these times.
    #[must_use]
    pub fn with_excluded_times(self, times: ExcludedTimes) -> JobSchedule {
        JobSchedule { excluded_times: Some(Arc::new(times)), ..self }
    }

    /// Removes the fire times before an instant.
    #[must_use]
    pub fn with_not_before(self, first: Timestamp) -> JobSchedule {
        JobSchedule { not_before: Some(first), ..self }
    }

    /// Removes the fire times after an instant.
    #[must_use]
    pub fn with_not_after(self, last: Timestamp) -> JobSchedule {
        JobSchedule { not_after: Some(last), ..self }
    }

    /// Returns the rules in the order of the text.
    pub fn rules(&self) -> &[ScheduleRule] {
        &self.rules
    }

    /// Returns the zone of the wall clock.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the days without fires, if there are any.
    pub fn excluded_days(&self) -> Option<&ExcludedDays> {
        self.excluded.as_deref()
    }

    /// Returns the times without fires, if there are any.
    pub fn excluded_times(&self) -> Option<&ExcludedTimes> {
        self.excluded_times.as_deref()
    }

    /// Returns the rules in English, such as `at 09:00:00, on Monday to Friday; every 90s`.
    #[must_use]
    pub fn description(&self) -> String {
        let rules: Vec<String> = self.rules.iter().map(ScheduleRule::description).collect();
        rules.join("; ")
    }

    /// Returns warnings about valid cron expressions that may not do what their author expects.
    #[must_use]
    pub fn caveats(&self) -> Vec<CronCaveat> {
        let of_rule = |rule: &ScheduleRule| match rule {
            ScheduleRule::Cron(cron) => cron.expression().caveats(),
            ScheduleRule::Every(_) | ScheduleRule::At(_) | ScheduleRule::After(_) => Vec::new(),
        };
        self.rules.iter().flat_map(of_rule).collect()
    }

    /// Returns the delay after the end of runs, if that is the rule. Such a schedule has no fire
    /// times of its own.
    #[must_use]
    pub fn fixed_delay(&self) -> Option<Duration> {
        match self.rules.as_slice() {
            [ScheduleRule::After(delay)] => Some(*delay),
            _ => None,
        }
    }

    /// Returns the first fire time strictly after `after`, or `None` if there is none up to the end
    /// of [`LAST_YEAR`](crate::LAST_YEAR). Allocates nothing.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = self.not_before.map_or(after, |first| after.max(just_before(first)));
        let fires = self.rules.iter().filter_map(|rule| self.next_of(rule, after));
        fires.min().filter(|fire| self.not_after.is_none_or(|last| *fire <= last))
    }

    /// Returns the first fire time of a rule after an instant that nothing excludes.
    fn next_of(&self, rule: &ScheduleRule, after: Timestamp) -> Option<Timestamp> {
        let mut after = after;
        loop {
            let fire = rule.next_after(after)?;
            let included = self.first_included(fire)?;
            if included == fire {
                return Some(fire);
            }
            after = just_before(included);
        }
    }

    /// Returns the fire times strictly after `after`, in order.
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_, JobSchedule> {
        Upcoming::new(self, after)
    }
}

/// Returns the last instant before another one.
fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN)
}

impl Schedule for JobSchedule {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        JobSchedule::next_after(self, after)
    }

    fn describe(&self) -> String {
        self.to_string()
    }

    fn fixed_delay(&self) -> Option<Duration> {
        JobSchedule::fixed_delay(self)
    }
}

/// Writes text such as `cron 0 0 9 ? * MON-FRI in Asia/Shanghai; every 12h, not on SUN`.
impl fmt::Display for JobSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, rule) in self.rules.iter().enumerate() {
            write!(f, "{}{rule}", if place == 0 { "" } else { "; " })?;
        }
        if let Some(days) = &self.excluded {
            write!(f, ", not on {days}")?;
        }
        if let Some(times) = &self.excluded_times {
            write!(f, ", without {times}")?;
        }
        if let Some(first) = self.not_before {
            write!(f, ", not before {first}")?;
        }
        if let Some(last) = self.not_after {
            write!(f, ", not after {last}")?;
        }
        Ok(())
    }
}
