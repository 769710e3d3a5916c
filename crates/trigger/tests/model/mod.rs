//! Random expressions with an independent model that decides second by second: sets of numbers,
//! jiff's calendar and jiff's time zones, without any search.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use trigger::OverlapPolicy;

type Set = BTreeSet<i64>;

/// An expression as text, with the sets that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) text: String,
    seconds: Set,
    minutes: Set,
    hours: Set,
    days: Days,
    months: Set,
    /// Empty means every year.
    years: Set,
}

#[derive(Clone, Debug)]
enum Days {
    OfMonth(Set),
    BeforeLast {
        before: i64,
        working: bool,
    },
    NearestWorking(i64),
    /// 1 is Sunday.
    OfWeek(Set),
    LastOfWeek(i64),
    NthOfWeek(i64, i64),
}

impl Model {
    /// Returns true if a schedule of the expression fires at a full second.
    pub(crate) fn fires(&self, at: Timestamp, zone: &TimeZone, overlap: OverlapPolicy) -> bool {
        self.accepts(at, zone) && (overlap == OverlapPolicy::Both || !is_shown_again(at, zone))
    }

    fn accepts(&self, at: Timestamp, zone: &TimeZone) -> bool {
        let shown = zone.to_datetime(at);
        self.seconds.contains(&shown.second().into())
            && self.minutes.contains(&shown.minute().into())
            && self.hours.contains(&shown.hour().into())
            && self.months.contains(&shown.month().into())
            && (self.years.is_empty() || self.years.contains(&shown.year().into()))
            && self.days.accept(shown.date())
    }
}

/// Returns true if the wall clock shows the same reading again later.
pub(crate) fn is_shown_again(at: Timestamp, zone: &TimeZone) -> bool {
    match zone.to_ambiguous_timestamp(zone.to_datetime(at)).offset() {
        AmbiguousOffset::Fold { before, .. } => zone.to_offset(at) == before,
        AmbiguousOffset::Gap { .. } | AmbiguousOffset::Unambiguous { .. } => false,
    }
}

impl Days {
    fn accept(&self, date: Date) -> bool {
        let number = |date: Date| i64::from(date.weekday().to_sunday_one_offset());
        let weekday =
            |number: i64| Weekday::from_sunday_one_offset(i8::try_from(number).unwrap()).unwrap();
        match self {
            Days::OfMonth(days) => days.contains(&date.day().into()),
            Days::BeforeLast { before, working } => {
                let day = i64::from(date.days_in_month()) - before;
                day > 0
                    && if *working {
                        nearest_working(date, day)
                    } else {
                        i64::from(date.day()) == day
                    }
            }
            Days::NearestWorking(day) => nearest_working(date, *day),
            Days::OfWeek(days) => days.contains(&number(date)),
            Days::LastOfWeek(day) => date.nth_weekday_of_month(-1, weekday(*day)).unwrap() == date,
            Days::NthOfWeek(day, nth) => date
                .nth_weekday_of_month(i8::try_from(*nth).unwrap(), weekday(*day))
                .is_ok_and(|nth| nth == date),
        }
    }
}

/// Returns true if `date` is the working day (Monday to Friday) nearest to a day of its month, in
/// the same month.
fn nearest_working(date: Date, day: i64) -> bool {
    let length = i64::from(date.days_in_month());
    let is_working = |day: &i64| {
        let date = Date::new(date.year(), date.month(), i8::try_from(*day).unwrap()).unwrap();
        !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday)
    };
    // Quartz's behaviour for a day that does not exist.
    if day > length {
        let after = date.last_of_month().tomorrow().unwrap();
        let is_accident = day == length + 1 && after.weekday() == Weekday::Saturday;
        return is_accident && i64::from(date.day()) == length;
    }
    let nearest = (1..=length).filter(is_working).min_by_key(|working| (working - day).abs());
    nearest == Some(date.day().into())
}

pub(crate) fn time_zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

/// Returns the values from `first` to `last` by `step`, wrapping around the end of the field.
fn around(min: i64, max: i64, first: i64, last: i64, step: i64) -> Set {
    let mut values = Set::new();
    let mut value = first;
    let mut left = if last >= first { last - first } else { last - first + (max - min + 1) };
    loop {
        values.insert(value);
        if step == 0 || left < step {
            return values;
        }
        left -= step;
        for _ in 0..step {
            value = if value == max { min } else { value + 1 };
        }
    }
}

/// Returns one item of a list: its text and its values.
fn item(min: i64, max: i64, names: &'static [&'static str]) -> BoxedStrategy<(String, Set)> {
    let value = min..=max;
    let step = 0..=max;
    let name = move |value: i64| names[usize::try_from(value - min).unwrap()];
    let all = move |step: i64| around(min, max, min, max, step.max(1));
    let numbers = prop_oneof![
        1 => Just(("*".to_owned(), all(1))),
        2 => step.clone().prop_map(move |step| (format!("*/{step}"), all(step))),
        1 => step.clone().prop_map(move |step| (format!("/{step}"), all(step))),
        6 => value.clone().prop_map(|value| (value.to_string(), Set::from([value]))),
        1 => value.clone().prop_map(|value| (format!("{value:03}"), Set::from([value]))),
        2 => (value.clone(), step.clone()).prop_map(move |(first, step)| {
            (format!("{first}/{step}"), around(min, max, first, max, step))
        }),
        3 => (value.clone(), value.clone()).prop_map(move |(first, last)| {
            (format!("{first}-{last}"), around(min, max, first, last, 1))
        }),
        2 => (value.clone(), value.clone(), 0..200_i64).prop_map(move |(first, last, step)| {
            (format!("{first}-{last}/{step}"), around(min, max, first, last, step))
        }),
    ];
    if names.is_empty() {
        return numbers.boxed();
    }
    prop_oneof![
        2 => numbers,
        1 => value.clone().prop_map(move |value| (name(value).to_owned(), Set::from([value]))),
        1 => (value.clone(), value).prop_map(move |(first, last)| {
            (format!("{}-{}", name(first), name(last)), around(min, max, first, last, 1))
        }),
    ]
    .boxed()
}

fn list(
    min: i64,
    max: i64,
    names: &'static [&'static str],
) -> impl Strategy<Value = (String, Set)> {
    prop::collection::vec(item(min, max, names), 1..4).prop_map(|items| {
        let texts: Vec<_> = items.iter().map(|(text, _)| text.as_str()).collect();
        (texts.join(","), items.iter().flat_map(|(_, values)| values).copied().collect())
    })
}

const MONTHS: [&str; 12] =
    ["JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT"];

/// Returns day of month and day of week, with their meaning.
fn days() -> impl Strategy<Value = (String, String, Days)> {
    let open = || "?".to_owned();
    prop_oneof![
        3 => Just(("*".to_owned(), open(), Days::OfMonth((1..=31).collect()))),
        3 => list(1, 31, &[]).prop_map(move |(text, days)| (text, open(), Days::OfMonth(days))),
        1 => (0..=30_i64, any::<bool>()).prop_map(move |(before, working)| {
            let suffix = if working { "W" } else { "" };
            (format!("L-{before}{suffix}"), open(), Days::BeforeLast { before, working })
        }),
        1 => any::<bool>().prop_map(move |working| {
            let text = if working { "LW" } else { "l" };
            (text.to_owned(), open(), Days::BeforeLast { before: 0, working })
        }),
        1 => (1..=31_i64).prop_map(move |day| (format!("{day}W"), open(), Days::NearestWorking(day))),
        3 => list(1, 7, &WEEKDAYS).prop_map(move |(text, days)| (open(), text, Days::OfWeek(days))),
        1 => (1..=7_i64).prop_map(move |day| (open(), format!("{day}L"), Days::LastOfWeek(day))),
        1 => (1..=7_i64, 1..=5_i64).prop_map(move |(day, nth)| {
            (open(), format!("{day}#{nth}"), Days::NthOfWeek(day, nth))
        }),
    ]
}

fn years() -> impl Strategy<Value = (String, Set)> {
    prop_oneof![
        6 => Just((String::new(), Set::new())),
        1 => Just((" *".to_owned(), Set::new())),
        1 => (1970..2127_i64).prop_map(|year| (format!(" {year}"), Set::from([year]))),
        1 => (1970..2127_i64, 0..50_i64).prop_map(|(first, more)| {
            (format!(" {first}-{}", first + more), (first..=first + more).collect())
        }),
    ]
}

/// Returns expressions of all forms. Times of day are mostly dense, so that many fires happen.
pub(crate) fn model() -> impl Strategy<Value = Model> {
    let every = || Just(("*".to_owned(), (0..60).collect::<Set>()));
    let every_hour = Just(("*".to_owned(), (0..24).collect::<Set>()));
    let every_month = Just(("*".to_owned(), (1..=12).collect::<Set>()));
    let zero = || Just(("0".to_owned(), Set::from([0])));
    (
        prop_oneof![1 => every(), 2 => zero(), 2 => list(0, 59, &[])],
        prop_oneof![1 => every(), 1 => zero(), 2 => list(0, 59, &[])],
        prop_oneof![2 => every_hour, 1 => list(0, 23, &[])],
        days(),
        prop_oneof![3 => every_month, 1 => list(1, 12, &MONTHS)],
        years(),
    )
        .prop_map(|(seconds, minutes, hours, (of_month, of_week, days), months, years)| {
            Model {
                text: format!(
                    "{} {} {} {of_month} {} {of_week}{}",
                    seconds.0, minutes.0, hours.0, months.0, years.0
                ),
                seconds: seconds.1,
                minutes: minutes.1,
                hours: hours.1,
                days,
                months: months.1,
                years: years.1,
            }
        })
}
