//! The seven fields of an expression: their ranges, their names, and their items.

use std::fmt;

use crate::calendar::{FIRST_YEAR, LAST_YEAR};

/// A field of a cron expression, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CronField {
    /// 0 to 59.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31, or one of the forms with `L` and `W`, or `?`.
    DayOfMonth,
    /// 1 to 12 or `JAN` to `DEC`.
    Month,
    /// 1 to 7 or `SUN` to `SAT`, or one of the forms with `L` and `#`, or `?`. Sunday is 1.
    DayOfWeek,
    /// 1970 to 2126. Other years can be written, but nothing fires in them. The field is optional.
    Year,
}

/// The names of the months. An expression uses their first three letters.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The names of the days of the week. An expression uses their first three letters.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl CronField {
    /// All fields, in the order in which they are written.
    pub const ALL: [CronField; 7] = [
        CronField::Second,
        CronField::Minute,
        CronField::Hour,
        CronField::DayOfMonth,
        CronField::Month,
        CronField::DayOfWeek,
        CronField::Year,
    ];

    /// Returns the valid values of this field as text for people.
    pub const fn valid(self) -> &'static str {
        match self {
            CronField::Second | CronField::Minute => {
                "0-59, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n`, lists `a,b` of them, and `*`"
            }
            CronField::Hour => {
                "0-23, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n`, lists `a,b` of them, and `*`"
            }
            CronField::DayOfMonth => {
                "1-31, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n`, `nW`, lists `a,b` of them, `*`; \
                 or, alone, `L`, `L-n`, `LW`, `L-nW`; or `?` if the day of week is given"
            }
            CronField::Month => {
                "1-12 or JAN-DEC, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n` of numbers, lists \
                 `a,b` of them, and `*`"
            }
            CronField::DayOfWeek => {
                "1-7 (1 is Sunday) or SUN-SAT, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n` of \
                 numbers, lists `a,b` of them, `*`; or, alone, `L`, `dL`, `d#k`; or `?` if the \
                 day of month is given"
            }
            CronField::Year => {
                "years such as 2030 (nothing fires before 1970 or after 2126), ranges `a-b`, steps \
                 `*/n`, `a/n`, `a-b/n`, lists `a,b` of them, and `*`"
            }
        }
    }

    /// Returns the smallest value. For years this is the first year with fires.
    pub(crate) const fn min(self) -> u32 {
        match self {
            CronField::Second | CronField::Minute | CronField::Hour => 0,
            CronField::DayOfMonth | CronField::Month | CronField::DayOfWeek => 1,
            CronField::Year => FIRST_YEAR,
        }
    }

    /// Returns the greatest value. For years this is the last year with fires.
    pub(crate) const fn max(self) -> u32 {
        match self {
            CronField::Second | CronField::Minute => 59,
            CronField::Hour => 23,
            CronField::DayOfMonth => 31,
            CronField::Month => 12,
            CronField::DayOfWeek => 7,
            CronField::Year => LAST_YEAR,
        }
    }

    /// Returns true if a value outside of the range is an error. Years are not checked: Quartz
    /// accepts any year, and `never_fires` reports a year without fires.
    pub(crate) const fn is_range_checked(self) -> bool {
        !matches!(self, CronField::Year)
    }

    /// Returns the greatest step after `*` or a single value.
    pub(crate) const fn max_step(self) -> Option<u32> {
        if self.is_range_checked() { Some(self.max()) } else { None }
    }

    /// Returns the names of the values from 1 on.
    pub(crate) const fn names(self) -> &'static [&'static str] {
        match self {
            CronField::Month => &MONTHS,
            CronField::DayOfWeek => &WEEKDAYS,
            CronField::Second
            | CronField::Minute
            | CronField::Hour
            | CronField::DayOfMonth
            | CronField::Year => &[],
        }
    }

    /// Returns the value of a name of three letters in upper case.
    pub(crate) fn value_of_name(self, name: &str) -> Option<u32> {
        (1..)
            .zip(self.names())
            .find(|(_, full)| name.len() == 3 && full[..3].eq_ignore_ascii_case(name))
            .map(|(value, _)| value)
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CronField::Second => "second",
            CronField::Minute => "minute",
            CronField::Hour => "hour",
            CronField::DayOfMonth => "day of month",
            CronField::Month => "month",
            CronField::DayOfWeek => "day of week",
            CronField::Year => "year",
        })
    }
}

/// One item of the list in a field, with its values as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// `*`, `*/n`, `/n`.
    Every { step: u32 },
    /// `v`.
    One(u32),
    /// `v/n`: to the end of the field.
    From { first: u32, step: u32 },
    /// `a-b`, `a-b/n`: wraps at the end of the field if `first > last`.
    Range { first: u32, last: u32, step: u32 },
}

impl Item {
    /// Calls `add` with each value of the field that the item selects.
    pub(crate) fn for_each_value(self, field: CronField, mut add: impl FnMut(u32)) {
        let length = field.max() - field.min() + 1;
        let (first, last, step) = match self {
            Item::Every { step } => (field.min(), field.max(), step.max(1)),
            // A step of zero selects only the first value.
            Item::One(first)
            | Item::From { first, step: 0 }
            | Item::Range { first, step: 0, .. } => (first, first, 1),
            Item::From { first, step } => (first, field.max(), step),
            Item::Range { first, last, step } if first > last => (first, last + length, step),
            Item::Range { first, last, step } => (first, last, step),
        };
        let last = if field.is_range_checked() { last } else { last.min(field.max()) };
        // Years below the first one are skipped at once: there may be millions of them.
        let steps_below = u64::from(field.min().saturating_sub(first)).div_ceil(u64::from(step));
        let mut value = u64::from(first) + steps_below * u64::from(step);
        while value <= u64::from(last) {
            let written = u32::try_from(value).expect("the value is at most `last`, a u32");
            add(if written > field.max() { written - length } else { written });
            value += u64::from(step);
        }
    }
}

/// Returns the values of a field as bits. Not for years, of which there are more than 64.
pub(crate) fn values(field: CronField, items: &[Item]) -> u64 {
    let mut set = 0;
    for item in items {
        item.for_each_value(field, |value| set |= 1 << value);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(field: CronField, item: Item) -> Vec<u32> {
        let mut values = Vec::new();
        item.for_each_value(field, |value| values.push(value));
        values
    }

    #[test]
    fn items_select_their_values() {
        use CronField::*;
        let cases: [(&str, CronField, Item, &[u32]); 14] = [
            ("*", DayOfWeek, Item::Every { step: 1 }, &[1, 2, 3, 4, 5, 6, 7]),
            ("*/0", DayOfWeek, Item::Every { step: 0 }, &[1, 2, 3, 4, 5, 6, 7]),
            ("/5", Month, Item::Every { step: 5 }, &[1, 6, 11]),
            ("7", Month, Item::One(7), &[7]),
            ("50/30", Second, Item::From { first: 50, step: 30 }, &[50]),
            ("7/2", Month, Item::From { first: 7, step: 2 }, &[7, 9, 11]),
            ("7/0", Month, Item::From { first: 7, step: 0 }, &[7]),
            (
                "28-3",
                DayOfMonth,
                Item::Range { first: 28, last: 3, step: 1 },
                &[28, 29, 30, 31, 1, 2, 3],
            ),
            ("22-4/2", Hour, Item::Range { first: 22, last: 4, step: 2 }, &[22, 0, 2, 4]),
            ("2-5/0", Hour, Item::Range { first: 2, last: 5, step: 0 }, &[2]),
            ("2-5/99", Hour, Item::Range { first: 2, last: 5, step: 99 }, &[2]),
            ("1900/50", Year, Item::From { first: 1900, step: 50 }, &[2000, 2050, 2100]),
            (
                "1-2147483647/1000",
                Year,
                Item::Range { first: 1, last: i32::MAX as u32, step: 1000 },
                &[2001],
            ),
            ("3000", Year, Item::One(3000), &[]),
        ];
        for (text, field, item, expected) in cases {
            assert_eq!(listed(field, item), expected, "{text} as {field}");
        }
    }
}
