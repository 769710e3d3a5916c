//! Months and wall clock readings as numbers, for all years with fires.

/// The first year in which a cron expression fires, as in Quartz.
pub const FIRST_YEAR: u32 = 1970;

/// The last year in which a cron expression fires: 2126.
///
/// Quartz searches for fire times up to a hundred years after the year in which its JVM loaded the
/// class. Its results for distant years thus change with the day of the restart. This crate reads
/// no clock: the year is fixed at 2026 + 100, so that every process computes the same fire times.
pub const LAST_YEAR: u32 = 2126;

pub(crate) const SECONDS_PER_DAY: u32 = 86_400;

/// The number of months from the first year to the last.
pub(crate) const MONTHS: usize = (LAST_YEAR - FIRST_YEAR + 1) as usize * 12;

/// The number of days in all these months.
pub(crate) const DAYS: u32 = FIRST_DAYS[MONTHS];

/// The first day of each month, counted from 1970-01-01, and the end of the last one.
static FIRST_DAYS: [u32; MONTHS + 1] = first_days();

const fn first_days() -> [u32; MONTHS + 1] {
    let mut first_days = [0; MONTHS + 1];
    let (mut year, mut month, mut place) = (FIRST_YEAR, 1, 0);
    while place < MONTHS {
        first_days[place + 1] = first_days[place] + days_in_month(year, month);
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        place += 1;
    }
    first_days
}

const fn days_in_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A month, counted from January 1970.
///
/// With numbered months the calendar is a table, and a set of months is a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Month(pub(crate) usize);

impl Month {
    /// Returns the month of a year, January being 1; `None` for years without fires.
    pub(crate) fn new(year: u32, month: u32) -> Option<Month> {
        let place = year.checked_sub(FIRST_YEAR)? as usize * 12 + month as usize - 1;
        (place < MONTHS).then_some(Month(place))
    }

    /// Returns the month of a day, which is below [`DAYS`].
    pub(crate) fn of_day(day: u32) -> Month {
        // 400 years have 4800 months and 146097 days. With four days more, this linear estimate is
        // never below the month, and less than one month above it.
        let guess = ((day + 4) * 4_800 / 146_097) as usize;
        Month(guess - usize::from(FIRST_DAYS[guess] > day))
    }

    /// Returns the first day, counted from 1970-01-01.
    pub(crate) fn first_day(self) -> u32 {
        FIRST_DAYS[self.0]
    }

    /// Returns the number of days, 28 to 31.
    pub(crate) fn length(self) -> u32 {
        FIRST_DAYS[self.0 + 1] - self.first_day()
    }

    /// Returns the day of the week of the first day: 0 is Sunday, 6 is Saturday.
    pub(crate) fn first_weekday(self) -> u32 {
        // 1970-01-01 was a Thursday.
        (self.first_day() + 4) % 7
    }
}

/// A reading of a wall clock: the seconds from 1970-01-01T00:00:00 to the date and time that it
/// shows, counted as if there were no time zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wall(pub(crate) i64);

impl Wall {
    /// The first reading at which a schedule can fire.
    pub(crate) const FIRST: Wall = Wall(0);

    /// The end of the readings at which a schedule can fire.
    pub(crate) const END: Wall = Wall(DAYS as i64 * SECONDS_PER_DAY as i64);

    /// Returns the reading on a day (counted from 1970-01-01) at a second of that day.
    pub(crate) fn new(day: u32, second: u32) -> Wall {
        Wall(i64::from(day) * i64::from(SECONDS_PER_DAY) + i64::from(second))
    }

    /// Returns the day, counted from 1970-01-01, and the second of the day; `None` for days without
    /// fires.
    pub(crate) fn day_and_second(self) -> Option<(u32, u32)> {
        let seconds = u64::try_from(self.0).ok()?;
        let per_day = u64::from(SECONDS_PER_DAY);
        let day = u32::try_from(seconds / per_day).ok().filter(|day| *day < DAYS)?;
        let second = u32::try_from(seconds % per_day).ok()?;
        Some((day, second))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::*;

    #[test]
    fn every_day_agrees_with_jiff() {
        let mut date = civil::date(1970, 1, 1);
        for day in 0..DAYS {
            let month = Month::of_day(day);
            let year = u32::try_from(date.year()).unwrap();
            assert_eq!(
                Month::new(year, u32::try_from(date.month()).unwrap()),
                Some(month),
                "{date}"
            );
            assert_eq!(u32::try_from(date.day()).unwrap(), day + 1 - month.first_day(), "{date}");
            assert_eq!(u32::try_from(date.days_in_month()).unwrap(), month.length(), "{date}");
            let first_weekday = date.first_of_month().weekday().to_sunday_zero_offset();
            assert_eq!(u32::try_from(first_weekday).unwrap(), month.first_weekday(), "{date}");
            date = date.tomorrow().unwrap();
        }
        assert_eq!(date, civil::date(2127, 1, 1));
    }

    #[test]
    fn other_years_have_no_months() {
        assert_eq!((Month::new(1969, 12), Month::new(2127, 1)), (None, None));
    }

    #[test]
    fn a_reading_splits_into_day_and_second() {
        for (day, second) in [(0, 0), (1, 0), (20_000, 86_399), (DAYS - 1, 1)] {
            assert_eq!(Wall::new(day, second).day_and_second(), Some((day, second)));
        }
        for outside in [Wall(-1), Wall(i64::MIN), Wall(i64::MAX), Wall::new(DAYS, 0)] {
            assert_eq!(outside.day_and_second(), None);
        }
    }
}
