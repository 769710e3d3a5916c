//! Windows of the day, on all days or on some.

use std::sync::Arc;

use crate::calendar::{SECONDS_PER_DAY, Wall};
use crate::excluded_days::ExcludedDays;

use super::error::ExcludedTimesErrorReason as Reason;

/// A part of each of some days. The window belongs to the day on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// All days if there are none.
    days: Option<ExcludedDays>,
    /// Second of the day, below 86400.
    from: u32,
    /// Exclusive, from 1 to 86400; not after `from` if the window ends on the next day.
    until: u32,
    pub(super) reason: Arc<str>,
}

impl Window {
    /// Parses days, a part of the day, or both.
    pub(super) fn parse(text: &str, reason: Arc<str>) -> Result<Window, Reason> {
        // Only a part of the day has a colon.
        let begin = text.find(':').map_or(text.len(), |colon| {
            text[..colon].rfind(char::is_whitespace).map_or(0, |space| space + 1)
        });
        let (days, part) = text.split_at_checked(begin).ok_or(Reason::Unknown)?;
        let days = Some(days.trim()).filter(|days| !days.is_empty());
        let days = days.map(ExcludedDays::parse_any).transpose();
        let days = days.map_err(|error| Reason::Days(error.reason))?;
        let (from, until) = if part.is_empty() { (0, SECONDS_PER_DAY) } else { part_of_day(part)? };
        Ok(Window { days, from, until, reason })
    }

    /// Returns true if the window is a day as a whole.
    pub(super) fn is_whole_day(&self) -> bool {
        self.from == 0 && self.until == SECONDS_PER_DAY
    }

    /// Returns the end of the window that contains a reading.
    pub(super) fn end_at(&self, reading: Wall) -> Option<Wall> {
        let (day, second) = reading.day_and_second()?;
        let has = |day: u32| self.days.as_ref().is_none_or(|days| days.has(day));
        if self.from < self.until {
            let is_within = self.from <= second && second < self.until && has(day);
            return is_within.then(|| Wall::new(day, self.until));
        }
        if self.from <= second && has(day) {
            return Some(Wall::new(day + 1, self.until));
        }
        let began = second < self.until && day.checked_sub(1).is_some_and(has);
        began.then(|| Wall::new(day, self.until))
    }
}

/// Parses text such as `22:00..06:00`.
fn part_of_day(text: &str) -> Result<(u32, u32), Reason> {
    let (from, until) = text.split_once("..").ok_or(Reason::Unknown)?;
    let from = time_of_day(from.trim()).filter(|second| *second < SECONDS_PER_DAY);
    let (from, until) = (from.ok_or(Reason::Unknown)?, time_of_day(until.trim()));
    match until.ok_or(Reason::Unknown)? {
        until if until == from => Err(Reason::Backwards),
        // The next midnight is the end of the day.
        0 => Ok((from, SECONDS_PER_DAY)),
        until => Ok((from, until)),
    }
}

/// Parses `HH:MM` or `HH:MM:SS`, up to `24:00`, as a second of the day.
fn time_of_day(text: &str) -> Option<u32> {
    let mut parts = text.split(':').map(two_digits);
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    let is_valid = minute < 60 && second < 60 && parts.next().is_none();
    let seconds = hour * 3_600 + minute * 60 + second;
    (is_valid && seconds <= SECONDS_PER_DAY).then_some(seconds)
}

fn two_digits(text: &str) -> Option<u32> {
    let is_valid = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_valid { text.parse().ok() } else { None }
}
