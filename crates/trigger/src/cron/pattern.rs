//! The wall clock readings of an expression: sets of values, and the search for the next reading.

use crate::bits::{WideSet, contains, first_member, next_member};
use crate::calendar::{MONTHS, Month, Wall};

use super::day_rule::DayTable;
use super::field::{CronField, values};
use super::parse::Fields;

/// The readings of a wall clock that an expression accepts.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    seconds: u64,
    minutes: u64,
    hours: u64,
    /// The first second of a day that the three sets above accept.
    first_time: u32,
    days: DayTable,
    /// The months of all years with at least one accepted day. A search that reaches such a month
    /// thus ends in it.
    months: WideSet<{ MONTHS.div_ceil(64) }>,
}

impl Pattern {
    pub(crate) fn new(fields: &Fields) -> Pattern {
        let seconds = values(CronField::Second, &fields.seconds);
        let minutes = values(CronField::Minute, &fields.minutes);
        let hours = values(CronField::Hour, &fields.hours);
        let days = DayTable::new(&fields.days);
        let first = u64::trailing_zeros;
        let mut pattern = Pattern {
            seconds,
            minutes,
            hours,
            first_time: time(first(hours), first(minutes), first(seconds)),
            days,
            months: WideSet::new(),
        };
        pattern.insert_months(fields);
        pattern
    }

    fn insert_months(&mut self, fields: &Fields) {
        let of_year = values(CronField::Month, &fields.months);
        for item in &fields.years {
            item.for_each_value(CronField::Year, |year| {
                (1..=12)
                    .filter(|month| contains(of_year, *month))
                    .filter_map(|month| Month::new(year, month))
                    .filter(|month| self.days.days_in(*month) != 0)
                    .for_each(|month| self.months.insert(month.0));
            });
        }
    }

    /// Returns the first accepted reading that is not before `from`.
    ///
    /// Searches from the largest unit to the smallest. Once a unit is greater than that of `from`,
    /// all smaller units take their first value, so the search never backtracks.
    pub(crate) fn next_reading(&self, from: Wall) -> Option<Wall> {
        let (day, second) = from.max(Wall::FIRST).day_and_second()?;
        let month = Month::of_day(day);
        if self.months.contains(month.0)
            && let Some(found) = self.in_month(month, day, second)
        {
            return Some(found);
        }
        let month = Month(self.months.next_member(month.0 + 1)?);
        let date = first_member(self.days.days_in(month))?;
        Some(Wall::new(month.first_day() + date - 1, self.first_time))
    }

    /// Returns the first accepted reading from `second` of `day` to the end of its month, which is
    /// an accepted month.
    fn in_month(&self, month: Month, day: u32, second: u32) -> Option<Wall> {
        let days = self.days.days_in(month);
        let date = day + 1 - month.first_day();
        if contains(days, date)
            && let Some(time) = self.time_from(second)
        {
            return Some(Wall::new(day, time));
        }
        let later = next_member(days, date + 1)?;
        Some(Wall::new(month.first_day() + later - 1, self.first_time))
    }

    /// Returns true if a reading is accepted.
    pub(crate) fn accepts(&self, wall: Wall) -> bool {
        let Some((day, second)) = wall.day_and_second() else { return false };
        let month = Month::of_day(day);
        self.months.contains(month.0)
            && contains(self.days.days_in(month), day + 1 - month.first_day())
            && self.time_from(second) == Some(second)
    }

    /// Returns the first accepted time of day, in seconds, that is not before `second`.
    fn time_from(&self, second: u32) -> Option<u32> {
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        if contains(self.hours, hour) {
            if contains(self.minutes, minute)
                && let Some(second) = next_member(self.seconds, second)
            {
                return Some(time(hour, minute, second));
            }
            if let Some(minute) = next_member(self.minutes, minute + 1) {
                return Some(time(hour, minute, self.first_time % 60));
            }
        }
        let hour = next_member(self.hours, hour + 1)?;
        Some(time(hour, 0, self.first_time % 3_600))
    }
}

const fn time(hour: u32, minute: u32, second: u32) -> u32 {
    (hour * 60 + minute) * 60 + second
}
