//! What an expression means to a wall clock: sets, and the search for the next reading in them.

use crate::bits::{contains, first_member, next_member};
use crate::calendar::{Date, Wall, first_day_of_month};

use super::day_rule::DayTable;
use super::field::Years;

/// The readings of a wall clock that an expression accepts.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) seconds: u64,
    pub(crate) minutes: u64,
    pub(crate) hours: u64,
    pub(crate) days: DayTable,
    pub(crate) months: u64,
    pub(crate) years: Years,
}

impl Pattern {
    /// The first accepted reading that is not before `from`.
    ///
    /// Looks from the largest unit to the smallest. As soon as a unit is greater than that of
    /// `from`, all smaller units take their first value; so no step is ever taken back, and the
    /// loop over months, the only one, ends with the last year.
    pub(crate) fn next_reading(&self, from: Wall) -> Option<Wall> {
        let (day, second) = from.max(Wall::FIRST).day_and_second()?;
        let date = Date::of_day(day);
        self.rest_of_month(date, day, second).or_else(|| self.after_month(date.year, date.month))
    }

    /// Whether a reading is accepted.
    pub(crate) fn accepts(&self, wall: Wall) -> bool {
        let Some((day, second)) = wall.day_and_second() else { return false };
        self.accepts_day(Date::of_day(day), day) && self.time_from(second) == Some(second)
    }

    fn accepts_day(&self, date: Date, day: u32) -> bool {
        self.accepts_month(date) && contains(self.days_of_month(date, day), date.day)
    }

    fn accepts_month(&self, date: Date) -> bool {
        contains(self.months, date.month) && self.years.contains(date.year)
    }

    fn days_of_month(&self, date: Date, day: u32) -> u64 {
        self.days.days_in(date.year, date.month, day + 1 - date.day)
    }

    /// The first reading from `second` of `day` to the end of that month.
    fn rest_of_month(&self, date: Date, day: u32, second: u32) -> Option<Wall> {
        if !self.accepts_month(date) {
            return None;
        }
        let days = self.days_of_month(date, day);
        if contains(days, date.day)
            && let Some(time) = self.time_from(second)
        {
            return Some(Wall::new(day, time));
        }
        let later = next_member(days, date.day + 1)?;
        Some(Wall::new(day - date.day + later, self.first_time()?))
    }

    /// The first reading after the end of a month.
    fn after_month(&self, mut year: u32, mut month: u32) -> Option<Wall> {
        loop {
            (year, month) = self.next_month(year, month)?;
            let first_day = first_day_of_month(year, month);
            if let Some(day) = first_member(self.days.days_in(year, month, first_day)) {
                return Some(Wall::new(first_day + day - 1, self.first_time()?));
            }
        }
    }

    /// The next month in the sets after the given one.
    fn next_month(&self, year: u32, month: u32) -> Option<(u32, u32)> {
        if self.years.contains(year)
            && let Some(later) = next_member(self.months, month + 1)
        {
            return Some((year, later));
        }
        Some((self.years.next_member(year + 1)?, first_member(self.months)?))
    }

    /// The first time of day, in seconds, that is not before `second`.
    fn time_from(&self, second: u32) -> Option<u32> {
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        if contains(self.hours, hour) {
            if contains(self.minutes, minute)
                && let Some(second) = next_member(self.seconds, second)
            {
                return Some(time(hour, minute, second));
            }
            if let Some(minute) = next_member(self.minutes, minute + 1) {
                return Some(time(hour, minute, first_member(self.seconds)?));
            }
        }
        let hour = next_member(self.hours, hour + 1)?;
        Some(time(hour, first_member(self.minutes)?, first_member(self.seconds)?))
    }

    fn first_time(&self) -> Option<u32> {
        let (hour, minute) = (first_member(self.hours)?, first_member(self.minutes)?);
        Some(time(hour, minute, first_member(self.seconds)?))
    }
}

const fn time(hour: u32, minute: u32, second: u32) -> u32 {
    (hour * 60 + minute) * 60 + second
}
