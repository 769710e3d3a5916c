//! Days on which a schedule does not fire.

mod entry;
mod error;

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;

use crate::calendar::{DAYS, Month};

use entry::{Entry, LEAP_YEAR_DAYS, YearDay};
pub use error::{ExcludedDaysError, ExcludedDaysErrorReason};

/// Days without fires: a schedule has no fire time on them.
///
/// The text form has entries separated by commas:
///
/// | entry | days |
/// |---|---|
/// | `SAT` | each Saturday: `MON`, `TUE`, `WED`, `THU`, `FRI`, `SAT`, `SUN` |
/// | `12-25` | 25 December of each year; `02-29` of leap years |
/// | `2026-04-03` | one day, from 1970 to 2126 |
/// | `SAT..SUN` | from the first to the last weekday, both included; may wrap around |
/// | `12-24..01-02` | from the first to the last day of the year; may wrap around |
/// | `2026-07-01..2026-07-14` | from the first to the last date |
///
/// The wall clock of the schedule's zone at the fire time determines the day. Case and spaces
/// around commas and dots are ignored. At most 1000 entries are valid.
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::{CronExpression, CronSchedule, ExcludedDays, Zone};
///
/// let noon = CronExpression::parse("0 0 12 * * ?")?;
/// let noon = CronSchedule::new(noon, Zone::parse("Asia/Shanghai")?);
/// let schedule = noon.with_excluded_days(ExcludedDays::parse("sat .. sun, 10-01..10-07")?);
/// let after: Timestamp = "2026-09-30T12:00:00+08:00".parse()?;
/// let fires: Vec<String> = schedule.upcoming(after).take(2).map(|t| t.to_string()).collect();
/// assert_eq!(fires, ["2026-10-08T04:00:00Z", "2026-10-09T04:00:00Z"]);
/// let days = schedule.excluded_days().map(ToString::to_string);
/// assert_eq!(days.as_deref(), Some("SAT..SUN,10-01..10-07"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: an invalid entry
///
/// ```
/// use trigger::ExcludedDays;
///
/// let error = ExcludedDays::parse("SAT,2026-02-29").unwrap_err();
/// assert_eq!(error.entry, "2026-02-29");
/// assert_eq!(
///     error.to_string(),
///     "excluded days: `2026-02-29` does not exist; valid are weekdays (`SAT`), days of the year \
///      (`12-25`), dates from 1970 to 2126 (`2026-04-03`) and ranges of one kind \
///      (`12-24..01-02`), separated by commas"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedDays {
    entries: Vec<Entry>,
    /// One bit for each weekday, from Sunday on.
    weekdays: u8,
    /// For each month from January on, one bit for each day of the month, from bit 1 on.
    days_of_year: [u32; 12],
    /// Ranges of days counted from 1970-01-01, first and last; ascending, neither overlapping nor
    /// adjacent.
    dates: Vec<(u32, u32)>,
}

impl ExcludedDays {
    /// Maximum number of entries.
    pub const MAX_ENTRIES: usize = 1_000;

    /// Parses a list of days.
    ///
    /// # Errors
    ///
    /// [`ExcludedDaysError`] names the entry and what would be valid. A list that excludes all
    /// weekdays or all days of the year is an error, because nothing would ever fire.
    pub fn parse(text: &str) -> Result<ExcludedDays, ExcludedDaysError> {
        let days = Self::parse_any(text)?;
        let count = days.days_of_year.iter().map(|month| month.count_ones()).sum::<u32>();
        if days.weekdays == 0x7F || count == LEAP_YEAR_DAYS {
            let every = ExcludedDaysErrorReason::EveryDay;
            return Err(ExcludedDaysError::new(text.to_owned(), every));
        }
        Ok(days)
    }

    /// Parses a list that may have every day.
    pub(crate) fn parse_any(text: &str) -> Result<ExcludedDays, ExcludedDaysError> {
        use ExcludedDaysErrorReason::TooMany;
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > Self::MAX_ENTRIES {
            return Err(ExcludedDaysError::new(format!("{} entries", parts.len()), TooMany));
        }
        let read = |part: &&str| {
            Entry::parse(part).map_err(|reason| ExcludedDaysError::new((*part).to_owned(), reason))
        };
        let entries: Vec<Entry> = parts.iter().map(read).collect::<Result<_, _>>()?;
        let (mut weekdays, mut days_of_year, mut dates) = (0_u8, [0_u32; 12], Vec::new());
        for entry in &entries {
            match *entry {
                Entry::Weekdays(first, last) => {
                    around(7, first.into(), last.into()).for_each(|day| weekdays |= 1 << day);
                }
                Entry::DaysOfYear(first, last) => {
                    let all = around(LEAP_YEAR_DAYS, first.place(), last.place());
                    for YearDay { month, day } in all.map(YearDay::at) {
                        days_of_year[usize::from(month) - 1] |= 1 << day;
                    }
                }
                Entry::Dates(first, last) => dates.push((day_number(first), day_number(last))),
            }
        }
        Ok(ExcludedDays { entries, weekdays, days_of_year, dates: merged(dates) })
    }

    /// Returns true if a day is excluded; false for days before 1970 and after 2126, on which
    /// nothing fires.
    #[must_use]
    pub fn contains(&self, date: Date) -> bool {
        number_of(date).is_some_and(|day| self.has(day))
    }

    /// Returns true if a day is excluded. The day is counted from 1970-01-01 and below [`DAYS`].
    pub(crate) fn has(&self, day: u32) -> bool {
        let (month, weekday) = (Month::of_day(day), (day + 4) % 7);
        let day_of_month = day - month.first_day() + 1;
        let place = self.dates.partition_point(|(_, last)| *last < day);
        (self.weekdays >> weekday) & 1 == 1
            || (self.days_of_year[month.0 % 12] >> day_of_month) & 1 == 1
            || self.dates.get(place).is_some_and(|(first, _)| *first <= day)
    }

    /// Returns the first day from `day` on that is not excluded; days are counted from 1970-01-01.
    pub(crate) fn next_included(&self, day: u32) -> Option<u32> {
        (day..DAYS).find(|day| !self.has(*day))
    }
}

/// Returns the positions from `first` to `last`, wrapping around after `n`.
fn around(n: u32, first: u32, last: u32) -> impl Iterator<Item = u32> {
    let count = (last + n - first) % n + 1;
    (0..count).map(move |step| (first + step) % n)
}

fn number_of(date: Date) -> Option<u32> {
    let (year, month) = (u32::try_from(date.year()).ok()?, u32::try_from(date.month()).ok()?);
    let day = u32::try_from(date.day()).ok()?;
    Some(Month::new(year, month)?.first_day() + day - 1)
}

/// Returns the number of a day that an entry names.
fn day_number(date: Date) -> u32 {
    number_of(date).expect("the parser accepts only years with fires")
}

/// Merges overlapping and adjacent ranges, in ascending order.
fn merged(mut dates: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    dates.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(dates.len());
    for (first, last) in dates {
        match merged.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

impl FromStr for ExcludedDays {
    type Err = ExcludedDaysError;

    fn from_str(text: &str) -> Result<ExcludedDays, ExcludedDaysError> {
        ExcludedDays::parse(text)
    }
}

/// Writes the entries in upper case and without spaces; parsing the text gives the same days.
impl fmt::Display for ExcludedDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, entry) in self.entries.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{entry}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> Option<(String, ExcludedDaysErrorReason)> {
        ExcludedDays::parse(text).err().map(|error| (error.entry, error.reason))
    }

    #[test]
    fn an_invalid_entry_is_reported() {
        use ExcludedDaysErrorReason::{
            Backwards, EveryDay, MissingEntry, NoSuchDay, TooMany, Unalike, Unknown,
        };
        let many = vec!["SAT"; ExcludedDays::MAX_ENTRIES + 1].join(",");
        let every = "SUN..FRI,sat";
        let rows = [
            ("", "", MissingEntry),
            ("SAT,,SUN", "", MissingEntry),
            ("SAT,", "", MissingEntry),
            ("SATURDAY", "SATURDAY", Unknown),
            ("1", "1", Unknown),
            ("12/25", "12/25", Unknown),
            ("2026-1-2", "2026-1-2", Unknown),
            ("+026-01-02", "+026-01-02", Unknown),
            ("12-24..", "12-24..", Unknown),
            ("12-24..12-25..12-26", "12-24..12-25..12-26", Unknown),
            ("SAT,02-30", "02-30", NoSuchDay),
            ("13-01", "13-01", NoSuchDay),
            ("00-10", "00-10", NoSuchDay),
            ("2025-02-29", "2025-02-29", NoSuchDay),
            ("1969-12-31", "1969-12-31", NoSuchDay),
            ("2127-01-01", "2127-01-01", NoSuchDay),
            ("SAT..12-25", "SAT..12-25", Unalike),
            ("2026-12-24..01-02", "2026-12-24..01-02", Unalike),
            ("2026-12-24..2026-12-23", "2026-12-24..2026-12-23", Backwards),
            (every, every, EveryDay),
            ("01-01..12-31", "01-01..12-31", EveryDay),
            (&many, "1001 entries", TooMany),
        ];
        for (text, entry, expected) in rows {
            assert_eq!(reason(text), Some((entry.to_owned(), expected)), "{text}");
        }
    }

    #[test]
    fn each_kind_of_entry_contains_exactly_its_days() {
        let rows: [(&str, &[&str], &[&str]); 8] = [
            ("SAT", &["2026-11-21", "1970-01-03"], &["2026-11-20", "2026-11-22"]),
            ("FRI..MON", &["2026-11-20", "2026-11-21", "2026-11-23"], &["2026-11-24"]),
            ("12-25", &["1970-12-25", "2126-12-25"], &["2026-12-24", "2026-11-25"]),
            ("02-29", &["2024-02-29"], &["2024-02-28", "2025-02-28", "2025-03-01"]),
            ("12-30..01-02", &["2025-12-30", "2026-01-02"], &["2025-12-29", "2026-01-03"]),
            ("01-02..12-31", &["2026-06-01", "2024-02-29"], &["2026-01-01"]),
            ("2026-04-03", &["2026-04-03"], &["2025-04-03", "2026-04-02"]),
            (
                "2026-12-30..2027-01-02",
                &["2026-12-31", "2027-01-02"],
                &["2027-12-31", "2027-01-03"],
            ),
        ];
        for (text, held, others) in rows {
            let days = ExcludedDays::parse(text).unwrap();
            let holds = |date: &&str| days.contains(date.parse().unwrap());
            assert!(held.iter().all(holds), "{text}: {held:?}");
            assert!(!others.iter().any(holds), "{text}: {others:?}");
        }
        let days = ExcludedDays::parse("THU").unwrap();
        assert!(!days.contains("1969-12-25".parse().unwrap()), "nothing fires before 1970");
    }

    #[test]
    fn dates_may_come_in_any_order_and_overlap() {
        let text = "2026-05-03..2026-05-05,2026-05-01,2026-05-04..2026-05-09,2026-05-02";
        let days = ExcludedDays::parse(text).unwrap();
        assert_eq!(days.dates.len(), 1, "{:?}", days.dates);
        assert_eq!(days.to_string(), text);
        let first = number_of("2026-05-01".parse().unwrap()).unwrap();
        assert_eq!(days.next_included(first), Some(first + 9));
        assert_eq!(days.next_included(first - 1), Some(first - 1));
    }

    #[test]
    fn no_day_follows_if_all_days_are_excluded() {
        let days = ExcludedDays::parse("1970-01-01..2126-12-31").unwrap();
        assert_eq!(days.next_included(0), None);
    }
}
