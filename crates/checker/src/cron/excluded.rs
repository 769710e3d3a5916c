//! Excluded days of a schedule: a list of entries, each of which excludes some dates.

use std::ops::RangeInclusive;

use jiff::ToSpan as _;
use jiff::civil::Date;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 1_000;
/// Valid years of a date.
const YEARS: RangeInclusive<i16> = 1970..=2126;

/// Excluded days; none if the text is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Excluded(Vec<Entry>);

/// Range of days, both ends included. Weekdays and days of the year may wrap around.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// Monday is 1.
    Weekdays(i8, i8),
    /// Month and day.
    DaysOfYear((i8, i8), (i8, i8)),
    Dates(Date, Date),
}

impl Excluded {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let excluded = Self::any(text)?;
        if excluded.excludes_every_day() {
            return Err(format!("{text:?} excludes every day of the week or of the year"));
        }
        Ok(excluded)
    }

    /// Parses entries that may exclude every day.
    pub(super) fn any(text: &str) -> Result<Self, String> {
        let count = text.split(',').count();
        if count > MAX_ENTRIES {
            return Err(format!("{count} entries; valid is 1 to {MAX_ENTRIES}"));
        }
        let entries = text.split(',').map(|entry| {
            let entry = entry.trim();
            let (first, last) = entry.split_once("..").unwrap_or((entry, entry));
            Entry::parse(&first.trim().to_ascii_uppercase(), &last.trim().to_ascii_uppercase())
                .ok_or_else(|| {
                    format!("excluded day {entry:?} is neither a day nor a range of days")
                })
        });
        entries.collect::<Result<_, _>>().map(Self)
    }

    /// Returns true if the weekdays alone, or the days of the year alone, exclude every day.
    fn excludes_every_day(&self) -> bool {
        let has = |day: &dyn Fn(&Entry) -> bool| self.0.iter().any(day);
        let on_weekday = |weekday: i8| {
            has(&|entry| match entry {
                Entry::Weekdays(first, last) => in_range(*first, weekday, *last),
                Entry::DaysOfYear(..) | Entry::Dates(..) => false,
            })
        };
        let on_day = |date: Date| {
            has(&|entry| match entry {
                Entry::DaysOfYear(first, last) => {
                    in_range(*first, (date.month(), date.day()), *last)
                }
                Entry::Weekdays(..) | Entry::Dates(..) => false,
            })
        };
        let leap_year = Date::constant(2024, 1, 1).series(1.day()).take(366);
        (1..=7).all(on_weekday) || leap_year.into_iter().all(on_day)
    }

    pub(super) fn has(&self, date: Date) -> bool {
        self.0.iter().any(|entry| match *entry {
            Entry::Weekdays(first, last) => {
                in_range(first, date.weekday().to_monday_one_offset(), last)
            }
            Entry::DaysOfYear(first, last) => in_range(first, (date.month(), date.day()), last),
            Entry::Dates(first, last) => first <= date && date <= last,
        })
    }
}

fn in_range<T: PartialOrd>(first: T, day: T, last: T) -> bool {
    if first <= last { first <= day && day <= last } else { day >= first || day <= last }
}

impl Entry {
    fn parse(first: &str, last: &str) -> Option<Self> {
        if let (Some(first), Some(last)) = (weekday(first), weekday(last)) {
            return Some(Self::Weekdays(first, last));
        }
        if let (Some(first), Some(last)) = (day_of_year(first), day_of_year(last)) {
            return Some(Self::DaysOfYear(first, last));
        }
        let (first, last): (Date, Date) = (date(first)?, date(last)?);
        (first <= last).then_some(Self::Dates(first, last))
    }
}

fn weekday(text: &str) -> Option<i8> {
    let names = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
    (1..).zip(names).find(|(_, name)| *name == text).map(|(number, _)| number)
}

/// Parses a day such as `12-25`. 29 February is valid.
fn day_of_year(text: &str) -> Option<(i8, i8)> {
    let date = date(&format!("2024-{text}"))?;
    Some((date.month(), date.day()))
}

fn date(text: &str) -> Option<Date> {
    if text.len() != "2026-12-25".len() {
        return None;
    }
    let date: Date = text.parse().ok()?;
    YEARS.contains(&date.year()).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_exclude_the_days_that_they_name() {
        let rows = [
            ("", "2026-11-21", Some(false)),
            ("sat", "2026-11-21", Some(true)),
            ("FRI .. MON", "2026-11-23", Some(true)),
            ("FRI..MON", "2026-11-24", Some(false)),
            ("SUN,12-25", "2026-12-25", Some(true)),
            ("12-24..01-02", "2027-01-02", Some(true)),
            ("12-24..01-02", "2027-01-03", Some(false)),
            ("02-29", "2024-02-29", Some(true)),
            ("2026-07-01..2026-07-14", "2026-07-14", Some(true)),
            ("2026-07-01..2026-07-14", "2027-07-14", Some(false)),
            ("SAT,", "2026-11-21", None),
            ("SAT..12-25", "2026-11-21", None),
            ("2026-07-14..2026-07-01", "2026-11-21", None),
            ("02-30", "2026-11-21", None),
            ("MON..SUN", "2026-11-21", None),
            ("SUN..FRI,SAT", "2026-11-21", None),
            ("MON..SAT,12-25", "2026-11-22", Some(false)),
            ("01-01..12-31", "2026-11-21", None),
            ("07-01..06-30", "2026-11-21", None),
            ("01-01..12-30,MON", "2026-12-31", Some(false)),
            ("1969-12-31", "2026-11-21", None),
            ("1970-01-01..2126-12-31", "2026-11-21", Some(true)),
            ("2127-01-01", "2026-11-21", None),
            (&vec!["SAT"; 1_000].join(","), "2026-11-21", Some(true)),
            (&vec!["SAT"; 1_001].join(","), "2026-11-21", None),
        ];
        for (text, day, expected) in rows {
            let excluded = Excluded::parse(text);
            let has = excluded.map(|excluded| excluded.has(day.parse().unwrap()));
            assert_eq!(has.ok(), expected, "{text} on {day}");
        }
    }
}
