//! The civil calendar as arithmetic on small numbers, and the span of years in which anything fires.

/// The first year in which a cron expression fires, as in Quartz.
pub const FIRST_YEAR: u32 = 1970;

/// The last year in which a cron expression fires: 2126.
///
/// Quartz looks for fire times up to a hundred years after the year in which its JVM loaded the
/// class, so its answers for far years change with the day of the restart. Nothing here reads a
/// clock; the year is fixed at 2026 + 100, and every process gives the same answer.
pub const LAST_YEAR: u32 = 2126;

pub(crate) const SECONDS_PER_DAY: u32 = 86_400;

/// Days from 0000-03-01, on which a 400-year era of the calendar begins, to 1970-01-01.
const DAYS_TO_1970: u32 = 719_468;
const DAYS_PER_ERA: u32 = 146_097;

/// A reading of a wall clock: the seconds that a clock without zone would count from
/// 1970-01-01T00:00:00 to the date and time that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wall(pub(crate) i64);

impl Wall {
    /// The first reading in which anything fires.
    pub(crate) const FIRST: Wall = Wall(0);

    /// The reading on the given day (counted from 1970-01-01) at the given second of that day.
    pub(crate) fn new(day: u32, second: u32) -> Wall {
        Wall(i64::from(day) * i64::from(SECONDS_PER_DAY) + i64::from(second))
    }

    /// The day, counted from 1970-01-01, and the second of the day; `None` outside of the years
    /// that can be counted, which is far outside of those in which anything fires.
    pub(crate) fn day_and_second(self) -> Option<(u32, u32)> {
        let seconds = u64::try_from(self.0).ok()?;
        let per_day = u64::from(SECONDS_PER_DAY);
        let day = u32::try_from(seconds / per_day).ok().filter(|day| *day < u32::MAX / 8)?;
        let second = u32::try_from(seconds % per_day).ok()?;
        Some((day, second))
    }
}

/// A date of the proleptic Gregorian calendar. Months and days count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

impl Date {
    /// The date of a day counted from 1970-01-01.
    ///
    /// Years begin in March here, so that the leap day is the last day of a year and the lengths
    /// of months follow a line of slope 153 / 5 (Howard Hinnant's `civil_from_days`).
    pub(crate) fn of_day(day: u32) -> Date {
        let day = day + DAYS_TO_1970;
        let (era, day_of_era) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
        let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Date {
            year: 400 * era + year_of_era + u32::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        }
    }
}

/// The first day of a month, counted from 1970-01-01; the inverse of [`Date::of_day`].
pub(crate) fn first_day_of_month(year: u32, month: u32) -> u32 {
    let (year, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month_from_march + 2) / 5;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970
}

/// The number of days of a month, 28 to 31.
pub(crate) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        // From January to July the odd months are long, from August on the even ones.
        _ => 30 + ((month + month / 8) & 1),
    }
}

fn is_leap(year: u32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The day of the week of a day counted from 1970-01-01, a Thursday: 0 is Sunday, 6 is Saturday.
pub(crate) fn weekday(day: u32) -> u32 {
    (day + 4) % 7
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::*;

    #[test]
    fn every_day_agrees_with_jiff() {
        let mut expected = civil::date(1970, 1, 1);
        for day in 0..first_day_of_month(LAST_YEAR + 2, 1) {
            let date = Date::of_day(day);
            let year = i16::try_from(date.year).unwrap();
            let (month, day_of_month) =
                (i8::try_from(date.month).unwrap(), i8::try_from(date.day).unwrap());
            assert_eq!(civil::date(year, month, day_of_month), expected);
            assert_eq!(first_day_of_month(date.year, date.month) + date.day - 1, day);
            let length = u32::try_from(expected.days_in_month()).unwrap();
            assert_eq!(days_in_month(date.year, date.month), length, "{expected}");
            let from_sunday = u32::try_from(expected.weekday().to_sunday_zero_offset()).unwrap();
            assert_eq!(weekday(day), from_sunday, "{expected}");
            expected = expected.tomorrow().unwrap();
        }
    }

    #[test]
    fn a_reading_splits_into_day_and_second() {
        for (day, second) in [(0, 0), (1, 0), (20_000, 86_399), (57_000, 1)] {
            assert_eq!(Wall::new(day, second).day_and_second(), Some((day, second)));
        }
        for out_of_count in [-1, i64::MIN, i64::MAX] {
            assert_eq!(Wall(out_of_count).day_and_second(), None);
        }
    }
}
