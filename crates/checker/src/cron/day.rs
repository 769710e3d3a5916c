//! Day of month and day of week, with the special forms of each.

use jiff::civil::{Date, Weekday};

use super::field::{self, DAY, Set, WEEKDAY, field_error};

/// Value of the day-of-month field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Days {
    /// `?`
    Any,
    Set(Set),
    /// `L` and `L-3`: number of days before the last day of the month.
    BeforeLast(i64),
    /// `15W`: the weekday nearest to this day.
    Nearest(i64),
    /// `LW` and `L-3W`.
    NearestToLast(i64),
}

impl Days {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "?" {
            return Ok(Self::Any);
        }
        let error = || field_error(text, &DAY);
        if let Some(rest) = text.strip_prefix('L') {
            let (rest, nearest) = match rest.strip_suffix('W') {
                Some(rest) => (rest, true),
                None => (rest, false),
            };
            let before = match rest.strip_prefix('-') {
                Some(days) => field::number(days).filter(|days| *days <= 30).ok_or_else(error)?,
                None if rest.is_empty() => 0,
                None => return Err(error()),
            };
            return Ok(if nearest {
                Self::NearestToLast(before)
            } else {
                Self::BeforeLast(before)
            });
        }
        match text.strip_suffix('W') {
            Some(day) => field::value(day, &DAY).map(Self::Nearest).ok_or_else(error),
            None => field::parse(text, &DAY).map(Self::Set),
        }
    }

    pub(super) fn has(self, date: Date) -> bool {
        let (day, length) = (i64::from(date.day()), i64::from(date.days_in_month()));
        match self {
            Self::Any => true,
            Self::Set(set) => set.has(day),
            Self::BeforeLast(before) => day == length - before,
            // Quartz 2.3.2 allows one day past the end of the month: `31W` fires on 30 June if 1
            // July is a Saturday.
            Self::Nearest(target) if target == length + 1 => {
                day == length && date.weekday() == Weekday::Friday
            }
            Self::Nearest(target) => is_nearest_weekday(date, target, length),
            Self::NearestToLast(before) => is_nearest_weekday(date, length - before, length),
        }
    }
}

/// Returns true if `date` is the weekday (Monday to Friday) nearest to day `target` of its month.
fn is_nearest_weekday(date: Date, target: i64, length: i64) -> bool {
    if target < 1 || target > length {
        return false;
    }
    let day = i64::from(date.day());
    // The day of week of the target; Sunday is 0.
    let weekday = (i64::from(date.weekday().to_sunday_zero_offset()) + target - day).rem_euclid(7);
    let nearest = match weekday {
        6 if target == 1 => 3,
        6 => target - 1,
        0 if target == length => target - 2,
        0 => target + 1,
        _ => target,
    };
    day == nearest
}

/// Value of the day-of-week field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weekdays {
    /// `?`
    Any,
    Set(Set),
    /// `6L`: the last such weekday of the month.
    Last(i64),
    /// `6#3`: the third such weekday of the month.
    Nth(i64, i64),
}

impl Weekdays {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let error = || field_error(text, &WEEKDAY);
        if text == "?" {
            return Ok(Self::Any);
        }
        if text == "L" {
            // In this field a single `L` means Saturday, not "last".
            return field::parse("7", &WEEKDAY).map(Self::Set);
        }
        if let Some(day) = text.strip_suffix('L') {
            return field::value(day, &WEEKDAY).map(Self::Last).ok_or_else(error);
        }
        let Some((day, nth)) = text.split_once('#') else {
            return field::parse(text, &WEEKDAY).map(Self::Set);
        };
        let nth = field::number(nth).filter(|nth| (1..=5).contains(nth)).ok_or_else(error)?;
        field::value(day, &WEEKDAY).map(|day| Self::Nth(day, nth)).ok_or_else(error)
    }

    pub(super) fn has(self, date: Date) -> bool {
        let weekday = i64::from(date.weekday().to_sunday_zero_offset()) + 1;
        let (day, length) = (i64::from(date.day()), i64::from(date.days_in_month()));
        match self {
            Self::Any => true,
            Self::Set(set) => set.has(weekday),
            Self::Last(wanted) => weekday == wanted && day + 7 > length,
            Self::Nth(wanted, nth) => weekday == wanted && (day - 1) / 7 + 1 == nth,
        }
    }
}
