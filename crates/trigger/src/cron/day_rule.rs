//! Rules for the days of a month, evaluated once for each shape that a month can have.

use crate::calendar::Month;

use super::field::{CronField, Item, values};

/// The combined meaning of the fields day of month and day of week, of which exactly one is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DayRule {
    /// Days by number; numbers that a month does not have are ignored.
    Days(Vec<Item>),
    /// `L`, `L-n`: the last day, or `before` days before it.
    LastDay { before: u32 },
    /// `nW`: the working day (Monday to Friday) nearest to a day, within the month.
    NearestWeekday { day: u32 },
    /// `LW`, `L-nW`: the working day nearest to the last day, or to a day before it.
    NearestWeekdayToLastDay { before: u32 },
    /// Days of the week by number, 1 for Sunday.
    Weekdays(Vec<Item>),
    /// `dL`: the last such day of the week.
    LastWeekday { weekday: u32 },
    /// `d#k`: the `nth` such day of the week, in months that have it.
    NthWeekday { weekday: u32, nth: u32 },
}

const SHORTEST: u32 = 28;
const SUNDAY: u32 = 0;
const SATURDAY: u32 = 6;

/// Length of a month and the day of the week (0 for Sunday) of its first day. A [`DayRule`] depends
/// on nothing else.
#[derive(Clone, Copy, Debug)]
struct MonthShape {
    length: u32,
    first_weekday: u32,
}

impl MonthShape {
    /// Returns the day of the week of a day, which may lie after the end of the month.
    fn weekday_of(self, day: u32) -> u32 {
        (self.first_weekday + day - 1) % 7
    }

    /// Returns the days as bits, bit 1 for the first day.
    fn all_days(self) -> u64 {
        (1 << (self.length + 1)) - 2
    }

    fn only(self, day: u32) -> u64 {
        1 << day & self.all_days()
    }

    fn days_on(self, weekday: u32) -> impl DoubleEndedIterator<Item = u32> {
        (1..=self.length).filter(move |day| self.weekday_of(*day) == weekday)
    }

    /// Returns the working day nearest to `day` within the month.
    fn nearest_weekday(self, day: u32) -> Option<u32> {
        // Parity: Quartz 2.3.2 steps back to a Friday before it checks that the day exists. The day
        // after the last day thus means the last day if it falls on a Saturday.
        let exists =
            day <= self.length || (day == self.length + 1 && self.weekday_of(day) == SATURDAY);
        exists.then(|| match self.weekday_of(day) {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.length => day - 2,
            SUNDAY => day + 1,
            _ => day,
        })
    }

    /// Returns the days of `rule` in a month of this shape, as bits.
    fn days(self, rule: &DayRule) -> u64 {
        let days_before_end = |before| self.length.checked_sub(before).filter(|day| *day > 0);
        let one = |day: Option<u32>| day.map_or(0, |day| self.only(day));
        match rule {
            DayRule::Days(items) => values(CronField::DayOfMonth, items) & self.all_days(),
            DayRule::LastDay { before } => one(days_before_end(*before)),
            DayRule::NearestWeekday { day } => one(self.nearest_weekday(*day)),
            DayRule::NearestWeekdayToLastDay { before } => {
                one(days_before_end(*before).and_then(|day| self.nearest_weekday(day)))
            }
            DayRule::Weekdays(items) => {
                let weekdays = values(CronField::DayOfWeek, items);
                (1..=self.length)
                    .filter(|day| crate::bits::contains(weekdays, self.weekday_of(*day) + 1))
                    .fold(0, |days, day| days | 1 << day)
            }
            DayRule::LastWeekday { weekday } => one(self.days_on(weekday - 1).next_back()),
            DayRule::NthWeekday { weekday, nth } => {
                one(self.days_on(weekday - 1).nth(*nth as usize - 1))
            }
        }
    }
}

/// The days of a rule, for each of the 28 shapes of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DayTable([[u32; 7]; 4]);

impl DayTable {
    pub(crate) fn new(rule: &DayRule) -> DayTable {
        let mut table = [[0; 7]; 4];
        for (length, row) in (SHORTEST..).zip(&mut table) {
            for (first_weekday, days) in (SUNDAY..).zip(row) {
                let shape = MonthShape { length, first_weekday };
                *days = u32::try_from(shape.days(rule)).expect("day 31 is the highest bit");
            }
        }
        DayTable(table)
    }

    /// Returns the days in a month, as bits.
    pub(crate) fn days_in(&self, month: Month) -> u64 {
        let row = &self.0[(month.length() - SHORTEST) as usize];
        u64::from(row[month.first_weekday() as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(rule: &DayRule, year: u32, month: u32) -> Vec<u32> {
        let days = DayTable::new(rule).days_in(Month::new(year, month).unwrap());
        (0..=31).filter(|day| crate::bits::contains(days, *day)).collect()
    }

    #[test]
    fn rules_choose_days() {
        type Case = (&'static str, DayRule, (u32, u32), &'static [u32]);
        let cases: [Case; 20] = [
            (
                "30,31 in a short month",
                DayRule::Days(vec![Item::Range { first: 30, last: 31, step: 1 }]),
                (2026, 4),
                &[30],
            ),
            ("L in a leap year", DayRule::LastDay { before: 0 }, (2024, 2), &[29]),
            ("L-3", DayRule::LastDay { before: 3 }, (2026, 2), &[25]),
            ("L-30 of 30 days", DayRule::LastDay { before: 30 }, (2026, 4), &[]),
            ("15W on a Saturday", DayRule::NearestWeekday { day: 15 }, (2026, 8), &[14]),
            ("15W on a Sunday", DayRule::NearestWeekday { day: 15 }, (2026, 11), &[16]),
            ("15W on a Monday", DayRule::NearestWeekday { day: 15 }, (2026, 6), &[15]),
            ("1W on a Saturday", DayRule::NearestWeekday { day: 1 }, (2026, 8), &[3]),
            ("31W on a Sunday", DayRule::NearestWeekday { day: 31 }, (2026, 5), &[29]),
            ("31W of 30 days", DayRule::NearestWeekday { day: 31 }, (2026, 4), &[]),
            (
                "31W of 30 days, then a Saturday",
                DayRule::NearestWeekday { day: 31 },
                (2027, 4),
                &[30],
            ),
            ("LW on a Sunday", DayRule::NearestWeekdayToLastDay { before: 0 }, (2026, 5), &[29]),
            (
                "L-1W on a Saturday",
                DayRule::NearestWeekdayToLastDay { before: 1 },
                (2026, 5),
                &[29],
            ),
            ("L-28W of 28 days", DayRule::NearestWeekdayToLastDay { before: 28 }, (2026, 2), &[]),
            ("SUN", DayRule::Weekdays(vec![Item::One(1)]), (2026, 2), &[1, 8, 15, 22]),
            ("6L", DayRule::LastWeekday { weekday: 6 }, (2026, 2), &[27]),
            ("1L", DayRule::LastWeekday { weekday: 1 }, (2026, 5), &[31]),
            ("1#5", DayRule::NthWeekday { weekday: 1, nth: 5 }, (2026, 5), &[31]),
            ("1#5 in a month of four", DayRule::NthWeekday { weekday: 1, nth: 5 }, (2026, 4), &[]),
            ("2#1", DayRule::NthWeekday { weekday: 2, nth: 1 }, (2026, 6), &[1]),
        ];
        for (case, rule, (year, month), expected) in cases {
            assert_eq!(days(&rule, year, month), expected, "{case} in {year}-{month:02}");
        }
    }
}
