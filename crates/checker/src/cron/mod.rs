//! Computes the fires of a schedule by testing every second.
//!
//! This is a second implementation of Quartz expressions, independent of the product's.
//! It is a predicate over wall clock times and favours simplicity over speed.
//! It supports lists, ranges that may wrap around, steps, names, `?`, `L`, `W` and `#`.

mod day;
mod event;
mod excluded;
mod excluded_times;
mod expression;
mod field;
#[cfg(test)]
mod golden;
mod rule;

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use excluded::Excluded;
use excluded_times::ExcludedTimes;
use rule::Rule;

/// Texts of a configuration that determine its fires. Empty texts are absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts<'a> {
    /// Rules, separated by semicolons. Without them there is no schedule.
    pub cron: &'a str,
    /// IANA name, `GMT+8` or `GMT+08:00`; UTC if absent.
    pub time_zone: &'a str,
    /// Days without fires, such as `SAT..SUN,12-25`.
    pub excluded_days: &'a str,
    /// Times without fires, such as `22:00..06:00 # backup`.
    pub excluded_times: &'a str,
    /// Time of the first possible fire.
    pub not_before: &'a str,
    /// Time of the last possible fire.
    pub not_after: &'a str,
    /// Occurrences of a repeated time that fire: `later`, the default, or `both`.
    pub repeated_hour: &'a str,
}

/// Rules in a time zone, with their excluded days and times, and the period of their fires.
///
/// # Examples
/// ```
/// use checker::{Schedule, Texts};
///
/// let texts = Texts { cron: "0 0 9 * * ?", time_zone: "Asia/Shanghai", ..Texts::default() };
/// let schedule = Schedule::parse(&texts)?.ok_or("a cron expression is a schedule")?;
/// assert_eq!(schedule.between(0, 86_400_000).collect::<Vec<_>>(), [3_600_000]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    rules: Vec<Rule>,
    zone: TimeZone,
    excluded: Excluded,
    excluded_times: ExcludedTimes,
    /// First and last second of possible fires.
    period: RangeInclusive<i64>,
    /// Both passes of a repeated hour fire, instead of the second one alone.
    fires_twice: bool,
    /// Delay after the end of runs, in seconds. Such a schedule has no fires of its own.
    fixed_delay: Option<i64>,
    /// Original texts, for comparison.
    text: [String; 7],
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Returns the fires of rules between two instants, both included.
///
/// Instants are in milliseconds since 1970 UTC. The rules are evaluated in UTC.
///
/// # Errors
/// Returns a text that names the invalid field, its value and the valid values.
///
/// # Examples
/// ```
/// assert_eq!(checker::fires_between("0/2 * * * * ?", 1_000, 5_000)?, [2_000, 4_000]);
/// # Ok::<(), String>(())
/// ```
pub fn fires_between(cron: &str, first_ms: i64, last_ms: i64) -> Result<Vec<i64>, String> {
    let schedule = Schedule::parse(&Texts { cron, ..Texts::default() })?;
    Ok(schedule.iter().flat_map(|schedule| schedule.between(first_ms, last_ms)).collect())
}

/// Returns the fires of a stored configuration between two instants, both included.
///
/// Instants are in milliseconds since 1970 UTC. A job that runs on request only has no fires.
///
/// # Errors
/// Returns a text that names the invalid field, its value and the valid values.
///
/// # Examples
/// ```
/// let config = r#"{"shardingTotalCount":1,"cron":"0/2 * * * * ?",
///     "excludedTimes":"00:00:04..01:00 # backup"}"#;
/// assert_eq!(checker::fires_of_config(config, 1_000, 9_000)?, [2_000]);
/// # Ok::<(), String>(())
/// ```
pub fn fires_of_config(config: &str, first_ms: i64, last_ms: i64) -> Result<Vec<i64>, String> {
    let schedule = Schedule::parse(&crate::docs::config(config)?.schedule_texts())?;
    Ok(schedule.iter().flat_map(|schedule| schedule.between(first_ms, last_ms)).collect())
}

/// Step in seconds of the search for days without fires and for changes of the zone's offset.
const BLOCK: i64 = 3_600;

impl Schedule {
    /// Parses the texts of a configuration. Without rules there is no schedule; without a zone it
    /// is UTC.
    ///
    /// # Errors
    /// Returns a text that names the invalid field, its value and the valid values.
    pub fn parse(texts: &Texts<'_>) -> Result<Option<Self>, String> {
        let Texts { cron, time_zone, excluded_days, .. } = *texts;
        let Texts { excluded_times, not_before, not_after, repeated_hour, .. } = *texts;
        let zone = zone_of(time_zone)?;
        if cron.trim().is_empty() {
            return Ok(None);
        }
        let excluded = Excluded::parse(excluded_days)?;
        let times = ExcludedTimes::parse(excluded_times)?;
        let fixed_delay = Rule::fixed_delay(cron).transpose()?;
        let rules = cron.split(';').map(|rule| Rule::parse(rule.trim(), &zone));
        let rules = match fixed_delay {
            Some(_) => Vec::new(),
            None => rules.collect::<Result<_, _>>()?,
        };
        let bound = |text: &str, absent| match text {
            "" => Ok(absent),
            text => rule::second_of(text, &zone),
        };
        let period = bound(not_before, i64::MIN)?..=bound(not_after, i64::MAX)?;
        let fires_twice = match repeated_hour {
            "" | "later" => false,
            "both" => true,
            other => return Err(format!("repeated hour {other:?}; valid is later or both")),
        };
        let text =
            [cron, time_zone, excluded_days, excluded_times, not_before, not_after, repeated_hour];
        let text = text.map(str::to_owned);
        Ok(Some(Self {
            rules,
            zone,
            excluded,
            excluded_times: times,
            period,
            fires_twice,
            fixed_delay,
            text,
        }))
    }

    /// Returns the delay after the end of runs in seconds, if that is the rule. Such a schedule has
    /// no fires of its own.
    #[must_use]
    pub fn fixed_delay(&self) -> Option<i64> {
        self.fixed_delay
    }

    /// Returns true if the schedule fires at this instant, in milliseconds since 1970 UTC.
    #[cfg(test)]
    pub(crate) fn fires_at(&self, ms: i64) -> bool {
        self.between(ms, ms).next() == Some(ms)
    }

    /// Returns the fires between two instants, both included, in milliseconds since 1970 UTC.
    ///
    /// It tests every second of a day with fires, so bound the time between the instants.
    pub fn between(&self, first: i64, last: i64) -> impl Iterator<Item = i64> + '_ {
        let (mut second, end) = (first.div_euclid(1_000), last.div_euclid(1_000));
        if first.rem_euclid(1_000) != 0 {
            second += 1;
        }
        let mut block = Block::default();
        std::iter::from_fn(move || {
            while second <= end {
                if !(block.from..block.until).contains(&second) {
                    block = self.block(second)?;
                }
                if !block.may_fire {
                    second = block.until;
                    continue;
                }
                let at = second;
                second += 1;
                if self.fires(at, block.offset) {
                    return Some(at * 1_000);
                }
            }
            None
        })
    }

    /// Returns true if the schedule certainly has no fire after an instant, in milliseconds since
    /// 1970 UTC. A schedule without single times alone, and without an end, always has one.
    pub(crate) fn has_ended_by(&self, ms: i64) -> bool {
        let at = |rule: &Rule| match rule {
            Rule::At(at) => Some(*at),
            Rule::Cron(_) | Rule::Every { .. } => None,
        };
        let last_time: Option<Vec<_>> = self.rules.iter().map(at).collect();
        let last_time = last_time.and_then(|times| times.into_iter().max()).unwrap_or(i64::MAX);
        let end = last_time.min(*self.period.end());
        let end = end.checked_mul(1_000);
        end.is_some_and(|end| self.between(ms.saturating_add(1), end).next().is_none())
    }

    /// Returns the block of seconds around `second` with one offset, and on one day where possible.
    fn block(&self, second: i64) -> Option<Block> {
        let mut from = second.div_euclid(BLOCK) * BLOCK;
        let mut until = from + BLOCK;
        let offset = self.offset(second)?;
        // In a block in which the offset changes, each second becomes a block of its own.
        if self.offset(from)? != offset || self.offset(until - 1)? != offset {
            (from, until) = (second, second + 1);
        }
        let days = [from + offset, until - 1 + offset].map(date_of);
        let may_fire = days
            .into_iter()
            .any(|day| day.is_some_and(|day| !self.excluded.has(day) && self.may_fire_on(day)));
        Some(Block { from, until, offset, may_fire })
    }

    fn may_fire_on(&self, day: Date) -> bool {
        self.rules.iter().any(|rule| rule.may_fire_on(day))
    }

    fn offset(&self, second: i64) -> Option<i64> {
        let instant = Timestamp::from_second(second).ok()?;
        Some(i64::from(self.zone.to_offset(instant).seconds()))
    }

    /// Returns true if a rule fires at a second at which the zone has this offset.
    fn fires(&self, second: i64, offset: i64) -> bool {
        let wall = second + offset;
        let is_possible = self.period.contains(&second)
            && date_of(wall).is_some_and(|day| !self.excluded.has(day));
        let fires = |rule: &Rule| match rule {
            Rule::Cron(expression) => {
                expression.matches(wall) && (self.fires_twice || self.is_last_pass(second))
            }
            Rule::Every { interval, start } => *start <= second && (second - start) % interval == 0,
            Rule::At(at) => *at == second,
        };
        is_possible && self.rules.iter().any(fires) && !self.excluded_times.has(second, wall)
    }

    /// Returns true unless the wall clock time of this instant is repeated later: only the second
    /// pass fires.
    fn is_last_pass(&self, second: i64) -> bool {
        let Ok(instant) = Timestamp::from_second(second) else { return false };
        let offset = self.zone.to_offset(instant);
        let wall: DateTime = offset.to_datetime(instant);
        match self.zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Fold { after, .. } => offset == after,
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => true,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    from: i64,
    until: i64,
    offset: i64,
    may_fire: bool,
}

fn date_of(wall: i64) -> Option<Date> {
    let instant = Timestamp::from_second(wall).ok()?;
    Some(Offset::UTC.to_datetime(instant).date())
}

/// Parses an IANA name, `GMT+8` or `GMT+08:00`. The empty text means UTC.
fn zone_of(text: &str) -> Result<TimeZone, String> {
    if text.is_empty() {
        return Ok(TimeZone::UTC);
    }
    let fixed = text.strip_prefix("GMT").and_then(fixed_offset);
    match fixed {
        Some(seconds) => Offset::from_seconds(seconds)
            .map(TimeZone::fixed)
            .map_err(|error| format!("time zone {text:?}: {error}")),
        None => TimeZone::get(text).map_err(|error| format!("time zone {text:?}: {error}")),
    }
}

/// Parses an offset such as `+8`, `-0330` or `+08:00`.
fn fixed_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
}
