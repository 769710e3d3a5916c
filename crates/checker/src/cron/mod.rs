//! Computes the fires of a schedule by testing every second.
//!
//! This is a second implementation of Quartz expressions, independent of the product's.
//! It is a predicate over wall clock times and favours simplicity over speed.
//! It supports lists, ranges that may wrap around, steps, names, `?`, `L`, `W` and `#`.

mod day;
mod excluded;
mod field;
#[cfg(test)]
mod golden;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use day::{Days, Weekdays};
use excluded::Excluded;
use field::Set;

/// A cron expression in a time zone, with its excluded days.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    seconds: Set,
    minutes: Set,
    hours: Set,
    days: Days,
    months: Set,
    weekdays: Weekdays,
    years: Option<Vec<i16>>,
    zone: TimeZone,
    excluded: Excluded,
    /// Original texts of the expression, the zone and the excluded days, for comparison.
    text: [String; 3],
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Returns the fires of a cron expression between two instants, both included.
///
/// Instants are in milliseconds since 1970 UTC. The expression is evaluated in UTC.
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
    let schedule = Schedule::parse(cron, "", "")?;
    Ok(schedule.iter().flat_map(|schedule| schedule.between(first_ms, last_ms)).collect())
}

/// Step in seconds of the search for days without fires and for changes of the zone's offset.
const BLOCK: i64 = 3_600;

impl Schedule {
    /// Parses an expression, a time zone and the excluded days.
    ///
    /// An empty expression means no schedule, an empty zone UTC, and empty days none.
    pub(crate) fn parse(cron: &str, zone: &str, days: &str) -> Result<Option<Self>, String> {
        let text = [cron, zone, days].map(str::to_owned);
        let zone = time_zone(zone)?;
        if cron.trim().is_empty() {
            return Ok(None);
        }
        let excluded = Excluded::parse(days)?;
        let upper = cron.to_ascii_uppercase();
        let fields: Vec<_> = upper.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
        // Quartz ignores any text after the year.
        let year = fields.get(6).copied().unwrap_or("*");
        let fields = fields.get(..6).unwrap_or(&fields);
        let [second, minute, hour, day, month, weekday] = fields else {
            return Err(format!("{cron:?} has {} fields; valid are 6 or 7", fields.len()));
        };
        if (*day == "?") == (*weekday == "?") {
            return Err(format!("{cron:?}: exactly one of day of month and day of week is '?'"));
        }
        Ok(Some(Self {
            seconds: field::parse(second, &field::SECOND)?,
            minutes: field::parse(minute, &field::MINUTE)?,
            hours: field::parse(hour, &field::HOUR)?,
            days: Days::parse(day)?,
            months: field::parse(month, &field::MONTH)?,
            weekdays: Weekdays::parse(weekday)?,
            years: field::years(year)?,
            zone,
            excluded,
            text,
        }))
    }

    /// Returns true if the schedule fires at this instant, in milliseconds since 1970 UTC.
    #[cfg(test)]
    pub(crate) fn fires_at(&self, ms: i64) -> bool {
        self.between(ms, ms).next() == Some(ms)
    }

    /// Returns the fires between two instants, both included, in milliseconds since 1970 UTC.
    pub(crate) fn between(&self, first: i64, last: i64) -> impl Iterator<Item = i64> + '_ {
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
                if self.matches(at + block.offset) && self.is_last_pass(at) {
                    return Some(at * 1_000);
                }
            }
            None
        })
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
        let may_fire = days.into_iter().any(|day| day.is_some_and(|day| self.fires_on(day)));
        Some(Block { from, until, offset, may_fire })
    }

    fn offset(&self, second: i64) -> Option<i64> {
        let instant = Timestamp::from_second(second).ok()?;
        Some(i64::from(self.zone.to_offset(instant).seconds()))
    }

    /// Returns true if the fields match a wall clock time, in seconds since 1970 as if it were UTC.
    fn matches(&self, wall: i64) -> bool {
        let of_day = wall.rem_euclid(86_400);
        self.seconds.has(of_day % 60)
            && self.minutes.has(of_day / 60 % 60)
            && self.hours.has(of_day / 3_600)
            && date_of(wall).is_some_and(|day| self.fires_on(day))
    }

    fn fires_on(&self, day: Date) -> bool {
        self.months.has(i64::from(day.month()))
            && self.years.as_ref().is_none_or(|years| years.contains(&day.year()))
            && (1970..=field::LAST_YEAR).contains(&day.year())
            && self.days.has(day)
            && self.weekdays.has(day)
            && !self.excluded.has(day)
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
fn time_zone(text: &str) -> Result<TimeZone, String> {
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
