//! A Quartz expression, as a predicate over wall clock times.

use jiff::civil::Date;

use super::date_of;
use super::day::{Days, Weekdays};
use super::field::{self, Set};

#[derive(Clone, Debug)]
pub(super) struct Expression {
    seconds: Set,
    minutes: Set,
    hours: Set,
    days: Days,
    months: Set,
    weekdays: Weekdays,
    years: Option<Vec<i16>>,
}

impl Expression {
    pub(super) fn parse(cron: &str) -> Result<Self, String> {
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
        Ok(Self {
            seconds: field::parse(second, &field::SECOND)?,
            minutes: field::parse(minute, &field::MINUTE)?,
            hours: field::parse(hour, &field::HOUR)?,
            days: Days::parse(day)?,
            months: field::parse(month, &field::MONTH)?,
            weekdays: Weekdays::parse(weekday)?,
            years: field::years(year)?,
        })
    }

    /// Returns true if the fields match a wall clock time, in seconds since 1970 as if it were UTC.
    pub(super) fn matches(&self, wall: i64) -> bool {
        let of_day = wall.rem_euclid(86_400);
        self.seconds.has(of_day % 60)
            && self.minutes.has(of_day / 60 % 60)
            && self.hours.has(of_day / 3_600)
            && date_of(wall).is_some_and(|day| self.fires_on(day))
    }

    pub(super) fn fires_on(&self, day: Date) -> bool {
        self.months.has(i64::from(day.month()))
            && self.years.as_ref().is_none_or(|years| years.contains(&day.year()))
            && (1970..=field::LAST_YEAR).contains(&day.year())
            && self.days.has(day)
            && self.weekdays.has(day)
    }
}
