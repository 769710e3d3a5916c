//! One entry of a list of excluded days.

use std::fmt;

use jiff::civil::Date;

use crate::calendar::{FIRST_YEAR, LAST_YEAR};

use super::error::ExcludedDaysErrorReason as Reason;

/// The days of a leap year.
pub(super) const LEAP_YEAR_DAYS: u32 = 366;

/// Names of the weekdays by number; Sunday is 0.
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Days in each month of a leap year.
const MONTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Days from the first to the last, both included; a single day is both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Sunday is 0.
    Weekdays(u8, u8),
    DaysOfYear(YearDay, YearDay),
    Dates(Date, Date),
}

/// A day that recurs each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct YearDay {
    /// 1 to 12.
    pub(super) month: u8,
    /// 1 to 31.
    pub(super) day: u8,
}

impl YearDay {
    /// Returns its position in a leap year, from 0.
    pub(super) fn place(self) -> u32 {
        let before = MONTHS.iter().take(usize::from(self.month) - 1).sum::<u32>();
        before + u32::from(self.day) - 1
    }

    /// Returns the day at a position in a leap year, below 366.
    pub(super) fn at(place: u32) -> YearDay {
        let (mut month, mut day) = (1, place + 1);
        for length in MONTHS {
            if day <= length {
                break;
            }
            (month, day) = (month + 1, day - length);
        }
        YearDay { month, day: u8::try_from(day).unwrap_or(u8::MAX) }
    }
}

/// One end of an entry.
#[derive(Clone, Copy)]
enum Day {
    Weekday(u8),
    OfYear(YearDay),
    Date(Date),
}

impl Entry {
    pub(super) fn parse(text: &str) -> Result<Entry, Reason> {
        if text.is_empty() {
            return Err(Reason::MissingEntry);
        }
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (Day::parse(first.trim())?, Day::parse(last.trim())?),
            None => (Day::parse(text)?, Day::parse(text)?),
        };
        match (first, last) {
            (Day::Weekday(first), Day::Weekday(last)) => Ok(Entry::Weekdays(first, last)),
            (Day::OfYear(first), Day::OfYear(last)) => Ok(Entry::DaysOfYear(first, last)),
            (Day::Date(first), Day::Date(last)) if first <= last => Ok(Entry::Dates(first, last)),
            (Day::Date(_), Day::Date(_)) => Err(Reason::Backwards),
            _ => Err(Reason::Unalike),
        }
    }
}

impl Day {
    fn parse(text: &str) -> Result<Day, Reason> {
        let is_named = |name: &&str| name.eq_ignore_ascii_case(text);
        if let Some(weekday) = (0..).zip(&WEEKDAYS).find(|(_, name)| is_named(name)) {
            return Ok(Day::Weekday(weekday.0));
        }
        let numbers: Vec<Option<u8>> = match text.as_bytes() {
            [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] => {
                [[y1, y2], [y3, y4], [m1, m2], [d1, d2]].map(two_digits).into()
            }
            [m1, m2, b'-', d1, d2] => [[m1, m2], [d1, d2]].map(two_digits).into(),
            _ => return Err(Reason::Unknown),
        };
        let numbers: Vec<u8> = numbers.into_iter().collect::<Option<_>>().ok_or(Reason::Unknown)?;
        match numbers[..] {
            [century, year, month, day] => {
                let year = 100 * i16::from(century) + i16::from(year);
                date(year, month, day).map(Day::Date)
            }
            [month, day] => {
                // Days of the year include February 29.
                date(2024, month, day).map(|_| Day::OfYear(YearDay { month, day }))
            }
            _ => Err(Reason::Unknown),
        }
    }
}

fn two_digits([tens, ones]: [&u8; 2]) -> Option<u8> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| byte - b'0');
    Some(10 * digit(tens)? + digit(ones)?)
}

fn date(year: i16, month: u8, day: u8) -> Result<Date, Reason> {
    let known = u32::try_from(year).is_ok_and(|year| (FIRST_YEAR..=LAST_YEAR).contains(&year));
    let parts = (i8::try_from(month), i8::try_from(day));
    match parts {
        (Ok(month), Ok(day)) if known => Date::new(year, month, day).map_err(|_| Reason::NoSuchDay),
        _ => Err(Reason::NoSuchDay),
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn range(
            f: &mut fmt::Formatter<'_>,
            first: &dyn fmt::Display,
            last: &dyn fmt::Display,
            single: bool,
        ) -> fmt::Result {
            if single { write!(f, "{first}") } else { write!(f, "{first}..{last}") }
        }
        match self {
            Entry::Weekdays(first, last) => {
                let name = |day: &u8| WEEKDAYS.get(usize::from(*day)).copied().unwrap_or_default();
                range(f, &name(first), &name(last), first == last)
            }
            Entry::DaysOfYear(first, last) => range(f, first, last, first == last),
            Entry::Dates(first, last) => range(f, first, last, first == last),
        }
    }
}

impl fmt::Display for YearDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}-{:02}", self.month, self.day)
    }
}
