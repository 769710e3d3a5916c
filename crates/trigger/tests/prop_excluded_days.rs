//! A schedule without some days, against one that looks at every fire and asks of its day whether it is one of those.

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use trigger::{CronExpression, CronSchedule, ExcludedDays, OverlapPolicy, Zone};

/// Zones in which clocks change at two in the night, at midnight, by half an hour, and in which a day was left out.
const ZONES: [&str; 9] = [
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Havana",
    "Asia/Beirut",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
];

/// Around midnight, and over the day.
const EXPRESSIONS: [&str; 8] = [
    "0 0 0 * * ?",
    "59 59 23 * * ?",
    "0 0/30 * * * ?",
    "0 30 0,23 * * ?",
    "0 0 2,12 ? * MON-FRI",
    "0 15 1 L * ?",
    "30 0 0/3 29 2 ?",
    "0 45 23 ? * 6#3",
];

/// One entry, as text and as what it means.
#[derive(Clone, Debug)]
enum Meant {
    Weekdays(i8, i8),
    DaysOfYear((i8, i8), (i8, i8)),
    Dates(Date, Date),
}

const NAMES: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

impl Meant {
    fn text(&self) -> String {
        match self {
            Self::Weekdays(first, last) => {
                let name = |day: &i8| NAMES[usize::try_from(*day).unwrap() - 1];
                format!("{}..{}", name(first), name(last))
            }
            Self::DaysOfYear((m1, d1), (m2, d2)) => format!("{m1:02}-{d1:02}..{m2:02}-{d2:02}"),
            Self::Dates(first, last) => format!("{first}..{last}"),
        }
    }

    fn holds(&self, date: Date) -> bool {
        let between = |first, last, day| match first <= last {
            true => first <= day && day <= last,
            false => day >= first || day <= last,
        };
        match self {
            Self::Weekdays(first, last) => {
                between(*first, *last, date.weekday().to_monday_one_offset())
            }
            Self::DaysOfYear(first, last) => {
                let (first, last) = (*first, *last);
                let day = (date.month(), date.day());
                match first <= last {
                    true => first <= day && day <= last,
                    false => day >= first || day <= last,
                }
            }
            Self::Dates(first, last) => *first <= date && date <= *last,
        }
    }
}

fn day_of_year() -> impl Strategy<Value = (i8, i8)> {
    (0..366_i32).prop_map(|place| {
        let date = Date::new(2024, 1, 1).unwrap().checked_add(jiff::Span::new().days(place));
        let date = date.unwrap();
        (date.month(), date.day())
    })
}

fn entry(near: Date) -> impl Strategy<Value = Meant> {
    let dates = (-20..20_i32, 0..10_i32).prop_map(move |(from, days)| {
        let plus = |date: Date, days: i32| date.checked_add(jiff::Span::new().days(days)).unwrap();
        let first = plus(near, from);
        Meant::Dates(first, plus(first, days))
    });
    prop_oneof![
        (1..=7_i8, 1..=7_i8).prop_map(|(first, last)| Meant::Weekdays(first, last)),
        (day_of_year(), day_of_year()).prop_map(|(first, last)| Meant::DaysOfYear(first, last)),
        dates,
    ]
}

/// Changes of the clocks in those zones, and ends of months and years.
const CHANGES: [&str; 11] = [
    "2026-03-08T07:00:00Z",
    "2026-11-01T06:00:00Z",
    "2018-11-04T03:00:00Z",
    "2018-02-18T02:00:00Z",
    "2026-03-08T05:00:00Z",
    "2026-03-28T22:00:00Z",
    "2026-04-23T22:00:00Z",
    "2026-04-04T15:00:00Z",
    "2011-12-30T10:00:00Z",
    "2024-02-29T00:00:00Z",
    "2026-12-31T23:59:59Z",
];

/// An instant within some days of a change of the clocks, or any other.
fn instant() -> impl Strategy<Value = Timestamp> {
    let near = (prop::sample::select(&CHANGES[..]), -300_000..200_000_i64).prop_map(|(at, s)| {
        let at: Timestamp = at.parse().unwrap();
        Timestamp::from_second(at.as_second() + s).unwrap()
    });
    let any = (0..4_000_000_000_i64).prop_map(|second| Timestamp::from_second(second).unwrap());
    prop_oneof![3 => near, 1 => any]
}

fn case() -> impl Strategy<Value = (Timestamp, Vec<Meant>)> {
    instant().prop_flat_map(|at| {
        let near = TimeZone::UTC.to_datetime(at).date();
        (Just(at), prop::collection::vec(entry(near), 1..4))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_left_of_a_schedule_is_what_does_not_fall_on_an_excluded_day(
        (after, meant) in case(),
        zone in prop::sample::select(&ZONES[..]),
        expression in prop::sample::select(&EXPRESSIONS[..]),
        both in any::<bool>(),
    ) {
        let text = meant.iter().map(Meant::text).collect::<Vec<_>>().join(",");
        // Lists that leave nothing over are refused; rows of the parser's own tests.
        let Ok(days) = ExcludedDays::parse(&text) else { return Ok(()) };
        prop_assert_eq!(&ExcludedDays::parse(&days.to_string()), &Ok(days.clone()));
        let overlap = if both { OverlapPolicy::Both } else { OverlapPolicy::Later };
        let all = CronSchedule::new(CronExpression::parse(expression).unwrap(), Zone::parse(zone).unwrap())
            .with_overlap(overlap);
        let some = all.clone().with_excluded_days(days.clone());
        let clock = TimeZone::get(zone).unwrap();
        let holds = |at: Timestamp| {
            let date = clock.to_datetime(at).date();
            meant.iter().any(|entry| entry.holds(date))
        };
        let looked_at: Vec<Timestamp> = all.upcoming(after).take(100).collect();
        let expected: Vec<Timestamp> = looked_at.iter().copied().filter(|at| !holds(*at)).collect();
        let found: Vec<Timestamp> = some.upcoming(after).take(expected.len()).collect();
        prop_assert_eq!(&found, &expected, "{} in {}, not on {}", expression, zone, text);
        for at in looked_at {
            prop_assert_eq!(some.matches(at), !holds(at), "{}", at);
            prop_assert_eq!(days.contains(clock.to_datetime(at).date()), holds(at), "{}", at);
        }
    }
}

#[test]
fn the_day_is_that_of_the_zone_and_not_that_of_utc() {
    let schedule = |zone: &str, days: &str| {
        let hourly = CronExpression::parse("0 0 * * * ?").unwrap();
        CronSchedule::new(hourly, Zone::parse(zone).unwrap())
            .with_excluded_days(ExcludedDays::parse(days).unwrap())
    };
    let rows = [
        ("UTC", "SAT", "2026-11-20T23:00:00Z", "2026-11-22T00:00:00Z"),
        ("Asia/Shanghai", "SAT", "2026-11-20T15:00:00Z", "2026-11-21T16:00:00Z"),
        // Midnight is not shown on that day: it begins at one.
        ("America/Sao_Paulo", "2018-11-03", "2018-11-03T02:00:00Z", "2018-11-04T03:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T02:00:00Z", "2018-11-05T02:00:00Z"),
        // A day of 25 hours is left out as a whole, both times that one o'clock is shown.
        ("America/New_York", "2026-11-01", "2026-11-01T03:00:00Z", "2026-11-02T05:00:00Z"),
        // There was no such day there.
        ("Pacific/Apia", "2011-12-30", "2011-12-30T09:00:00Z", "2011-12-30T10:00:00Z"),
    ];
    for (zone, days, after, expected) in rows {
        let after: Timestamp = after.parse().unwrap();
        let next = schedule(zone, days).next_after(after);
        assert_eq!(next, Some(expected.parse().unwrap()), "{zone} without {days} after {after}");
    }
    assert_eq!(Weekday::Saturday.to_monday_one_offset(), 6, "the model counts from Monday");
}

#[test]
fn a_schedule_whose_only_days_are_left_out_never_fires() {
    let rows = [
        ("0 0 12 ? * SAT", "SAT", true),
        ("0 0 12 ? * SAT", "2026-01-01..2126-12-31", false),
        ("0 0 12 25 12 ?", "12-24..12-26", true),
        ("0 0 12 * * ?", "1970-01-01..2126-12-31", true),
        ("0 0 12 29 2 ?", "02-28", false),
    ];
    for (expression, days, never) in rows {
        let schedule = CronSchedule::new(CronExpression::parse(expression).unwrap(), Zone::utc())
            .with_excluded_days(ExcludedDays::parse(days).unwrap());
        assert_eq!(schedule.never_fires(), never, "{expression}, not on {days}");
    }
}
