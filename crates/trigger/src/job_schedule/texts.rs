//! The schedule of a job from the texts of its configuration.

use jiff::Timestamp;

use crate::excluded_days::ExcludedDays;
use crate::excluded_times::ExcludedTimes;
use crate::schedule::Schedule;
use crate::zone::{OverlapPolicy, Zone};

use super::JobSchedule;
use super::error::ScheduleErrorReason;
use super::rule::parse_time;

/// Texts of a configuration that determine the schedule of a job.
///
/// # Examples
///
/// ```
/// use trigger::{ScheduleTexts, Zone};
///
/// let mut texts = ScheduleTexts::default();
/// assert!(texts.schedule(&Zone::utc())?.is_none(), "the job runs on request only");
/// texts.cron = Some("@every 90s");
/// texts.excluded_days = Some("SUNDAY");
/// let error = texts.schedule(&Zone::utc()).unwrap_err();
/// assert_eq!((error.field, error.value.as_str()), ("excluded_days", "\"SUNDAY\""));
/// # Ok::<(), trigger::InvalidScheduleText>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleTexts<'a> {
    /// Rules, as [`JobSchedule::parse`] takes them. `None` for a job that runs on request only.
    pub cron: Option<&'a str>,
    /// Name of the zone, as [`Zone::parse`] takes it.
    pub time_zone: Option<&'a str>,
    /// Days without fires, as [`ExcludedDays::parse`] takes them.
    pub excluded_days: Option<&'a str>,
    /// Times without fires, as [`ExcludedTimes::parse`] takes them.
    pub excluded_times: Option<&'a str>,
    /// Time of the first possible fire, in the form of an `@at` rule.
    pub not_before: Option<&'a str>,
    /// Time of the last possible fire, in the form of an `@at` rule.
    pub not_after: Option<&'a str>,
    /// Occurrences that count of times that occur twice on the wall clock: `later` or `both`.
    pub repeated_hour: Option<&'a str>,
}

/// A text of a configuration that does not determine a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; valid is {valid}")]
#[non_exhaustive]
pub struct InvalidScheduleText {
    /// Name of the field of [`ScheduleTexts`].
    pub field: &'static str,
    /// The value, in quotes; of a long one, the first 200 characters.
    pub value: String,
    /// Description of valid values.
    pub valid: String,
}

impl ScheduleTexts<'_> {
    /// Returns the schedule; `None` for a job that runs on request only. Without a time zone, the
    /// wall clock is that of `default_zone`.
    ///
    /// # Errors
    ///
    /// [`InvalidScheduleText`] names the field, its value and what would be valid.
    pub fn schedule(
        &self,
        default_zone: &Zone,
    ) -> Result<Option<JobSchedule>, InvalidScheduleText> {
        let zone = match self.time_zone {
            None => default_zone.clone(),
            Some(name) => Zone::parse(name)
                .map_err(|error| InvalidScheduleText::new("time_zone", name, error.valid()))?,
        };
        let Some(cron) = self.cron else { return Ok(None) };
        let mut schedule = JobSchedule::parse(cron, &zone).map_err(|error| {
            let is_expression = matches!(error.reason, ScheduleErrorReason::Cron(_));
            let valid = if is_expression {
                "a Quartz expression such as \"0 0/5 * * * ?\""
            } else {
                "one rule or several"
            };
            InvalidScheduleText::new("cron", cron, format!("{valid}\n{error}"))
        })?;
        if let Some(days) = self.excluded_days {
            let days = ExcludedDays::parse(days).map_err(|error| {
                let valid = format!("days such as SAT..SUN,12-25 ({error})");
                InvalidScheduleText::new("excluded_days", days, valid)
            })?;
            schedule = schedule.with_excluded_days(days);
        }
        if let Some(times) = self.excluded_times {
            let times = ExcludedTimes::parse(times).map_err(|error| {
                let valid = format!("times such as 22:00..06:00 # backup ({error})");
                InvalidScheduleText::new("excluded_times", times, valid)
            })?;
            schedule = schedule.with_excluded_times(times);
        }
        if let Some(first) = self.not_before {
            schedule = schedule.with_not_before(time("not_before", first, &zone)?);
        }
        if let Some(last) = self.not_after {
            schedule = schedule.with_not_after(time("not_after", last, &zone)?);
        }
        match self.repeated_hour {
            None | Some("later") => {}
            Some("both") => schedule = schedule.with_overlap(OverlapPolicy::Both),
            Some(other) => {
                let valid = "later or both".to_owned();
                return Err(InvalidScheduleText::new("repeated_hour", other, valid));
            }
        }
        Ok(Some(schedule))
    }

    /// Returns true if the texts name no zone, and fire times depend on the default one: by an
    /// expression, by excluded days or times, or by a time without an offset from UTC.
    ///
    /// # Examples
    ///
    /// ```
    /// use trigger::ScheduleTexts;
    ///
    /// let mut texts = ScheduleTexts::default();
    /// texts.cron = Some("@every 6h from 2026-01-01T00:00:00Z");
    /// assert!(!texts.depends_on_default_zone());
    /// texts.cron = Some("0 0 3 * * ?");
    /// assert!(texts.depends_on_default_zone());
    /// texts.time_zone = Some("Asia/Shanghai");
    /// assert!(!texts.depends_on_default_zone());
    /// ```
    #[must_use]
    pub fn depends_on_default_zone(&self) -> bool {
        let (None, Some(cron)) = (self.time_zone, self.cron) else { return false };
        let has_offset = |time: &str| time.trim().parse::<Timestamp>().is_ok();
        let is_fixed = |rule: &str| match rule.trim().split_once(' ') {
            Some(("@at", time)) => has_offset(time),
            Some(("@every", rest)) => rest.split_once(" from ").is_none_or(|(_, t)| has_offset(t)),
            Some(("@after", _)) => true,
            _ => false,
        };
        let mut bounds = [self.not_before, self.not_after].into_iter().flatten();
        let has_exclusions = self.excluded_days.is_some() || self.excluded_times.is_some();
        has_exclusions || !cron.split(';').all(is_fixed) || !bounds.all(has_offset)
    }

    /// Checks that the schedule of these texts has a fire after an instant.
    ///
    /// # Errors
    ///
    /// [`InvalidScheduleText`] names the rules, and the texts that limit them.
    pub fn check_fires_after(
        &self,
        schedule: &(impl Schedule + ?Sized),
        now: Timestamp,
    ) -> Result<(), InvalidScheduleText> {
        if schedule.fixed_delay().is_some() || schedule.next_after(now).is_some() {
            return Ok(());
        }
        let limits = [
            ("excluded_days", self.excluded_days),
            ("excluded_times", self.excluded_times),
            ("not_before", self.not_before),
            ("not_after", self.not_after),
        ];
        let limits = limits.into_iter().filter_map(|(field, value)| {
            value.map(|value| format!(", {field} being {}", quoted(value)))
        });
        let limits: String = limits.collect();
        let valid = format!("rules that fire after {now}; these never do{limits}");
        Err(InvalidScheduleText::new("cron", self.cron.unwrap_or_default(), valid))
    }
}

fn time(field: &'static str, text: &str, zone: &Zone) -> Result<Timestamp, InvalidScheduleText> {
    parse_time(text, zone).map_err(|reason| {
        let valid = format!(
            "a time such as 2026-12-24T09:00:00 or 2026-12-24T09:00:00Z (the text {reason})"
        );
        InvalidScheduleText::new(field, text, valid)
    })
}

impl InvalidScheduleText {
    fn new(field: &'static str, value: &str, valid: String) -> InvalidScheduleText {
        InvalidScheduleText { field, value: quoted(value), valid }
    }
}

/// Maximum number of characters of a text in an error: excluded times may have thousands.
const SHOWN: usize = 200;

/// Returns a text in quotes, or the begin of it.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", text.split_at(end).0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fire_times_depend_on_the_default_zone_by_each_text_of_the_wall_clock() {
        let of = |cron| ScheduleTexts { cron: Some(cron), ..ScheduleTexts::default() };
        let every = of("@every 90s");
        let (local, fixed) = (Some("2026-01-01T00:00:00"), Some("2026-01-01T00:00:00+08:00"));
        let rows = [
            ("on request", ScheduleTexts::default(), false),
            ("expression", of("0 0/5 * * * ?"), true),
            ("interval", every, false),
            ("local start", of("@every 6h from 2026-01-01T00:00:00"), true),
            ("fixed start", of("@every 6h from 2026-01-01T00:00:00Z"), false),
            ("local time", of("@at 2026-12-24T09:00:00"), true),
            ("fixed time", of("@at 2026-12-24T09:00:00Z"), false),
            ("delay", of("@after 5m"), false),
            ("one of several", of("@every 90s; 0 0 3 * * ?"), true),
            ("excluded days", ScheduleTexts { excluded_days: Some("SUN"), ..every }, true),
            (
                "excluded times",
                ScheduleTexts { excluded_times: Some("22:00..06:00"), ..every },
                true,
            ),
            ("local bound", ScheduleTexts { not_before: local, ..every }, true),
            ("fixed bound", ScheduleTexts { not_after: fixed, ..every }, false),
            ("named zone", ScheduleTexts { time_zone: Some("UTC"), ..of("0 0 3 * * ?") }, false),
        ];
        for (case, texts, expected) in rows {
            assert_eq!(texts.depends_on_default_zone(), expected, "{case}");
        }
    }
}
