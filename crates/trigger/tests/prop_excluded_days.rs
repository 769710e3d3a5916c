//! Schedules with excluded days, compared with a filter that checks the day of every fire.

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use trigger::{CronExpression, CronSchedule, ExcludedDays, OverlapPolicy, Zone};

/// Zones with clock changes at 02:00, at midnight and by half an hour, and one zone that skipped a
/// day.
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

/// Expressions around midnight, and over the whole day.
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

/// One entry, as an independent model.
#[derive(Clone, Debug)]
enum EntryModel {
    Weekdays(i8, i8),
    DaysOfYear((i8, i8), (i8, i8)),
    Dates(Date, Date),
}

const NAMES: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

impl EntryModel {
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
        let between = |first, last, day| {
            if first <= last { first <= day && day <= last } else { day >= first || day <= last }
        };
        match self {
            Self::Weekdays(first, last) => {
                between(*first, *last, date.weekday().to_monday_one_offset())
            }
            Self::DaysOfYear(first, last) => {
                let (first, last) = (*first, *last);
                let day = (date.month(), date.day());
                if first <= last {
                    first <= day && day <= last
                } else {
                    day >= first || day <= last
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

fn entry(near: Date) -> impl Strategy<Value = EntryModel> {
    let dates = (-20..20_i32, 0..10_i32).prop_map(move |(from, days)| {
        let plus = |date: Date, days: i32| date.checked_add(jiff::Span::new().days(days)).unwrap();
        let first = plus(near, from);
        EntryModel::Dates(first, plus(first, days))
    });
    prop_oneof![
        (1..=7_i8, 1..=7_i8).prop_map(|(first, last)| EntryModel::Weekdays(first, last)),
        (day_of_year(), day_of_year())
            .prop_map(|(first, last)| EntryModel::DaysOfYear(first, last)),
        dates,
    ]
}

/// Clock changes in those zones, and ends of months and years.
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

/// Returns an instant within some days of a clock change, or any other.
fn instant() -> impl Strategy<Value = Timestamp> {
    let near = (prop::sample::select(&CHANGES[..]), -300_000..200_000_i64).prop_map(|(at, s)| {
        let at: Timestamp = at.parse().unwrap();
        Timestamp::from_second(at.as_second() + s).unwrap()
    });
    let any = (0..4_000_000_000_i64).prop_map(|second| Timestamp::from_second(second).unwrap());
    prop_oneof![3 => near, 1 => any]
}

fn case() -> impl Strategy<Value = (Timestamp, Vec<EntryModel>)> {
    instant().prop_flat_map(|at| {
        let near = TimeZone::UTC.to_datetime(at).date();
        (Just(at), prop::collection::vec(entry(near), 1..4))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_schedule_keeps_exactly_the_fires_outside_of_excluded_days(
        (after, entries) in case(),
        zone in prop::sample::select(&ZONES[..]),
        expression in prop::sample::select(&EXPRESSIONS[..]),
        both in any::<bool>(),
    ) {
        let text = entries.iter().map(EntryModel::text).collect::<Vec<_>>().join(",");
        // Lists that exclude all days are errors; the tests of the parser cover them.
        let Ok(days) = ExcludedDays::parse(&text) else { return Ok(()) };
        prop_assert_eq!(&ExcludedDays::parse(&days.to_string()), &Ok(days.clone()));
        let overlap = if both { OverlapPolicy::Both } else { OverlapPolicy::Later };
        let all = CronSchedule::new(CronExpression::parse(expression).unwrap(), Zone::parse(zone).unwrap())
            .with_overlap(overlap);
        let some = all.clone().with_excluded_days(days.clone());
        let clock = TimeZone::get(zone).unwrap();
        let holds = |at: Timestamp| {
            let date = clock.to_datetime(at).date();
            entries.iter().any(|entry| entry.holds(date))
        };
        let all_fires: Vec<Timestamp> = all.upcoming(after).take(100).collect();
        let expected: Vec<Timestamp> = all_fires.iter().copied().filter(|at| !holds(*at)).collect();
        let found: Vec<Timestamp> = some.upcoming(after).take(expected.len()).collect();
        prop_assert_eq!(&found, &expected, "{} in {}, not on {}", expression, zone, text);
        for at in all_fires {
            prop_assert_eq!(some.matches(at), !holds(at), "{}", at);
            prop_assert_eq!(days.contains(clock.to_datetime(at).date()), holds(at), "{}", at);
        }
    }
}

#[test]
fn the_zone_determines_the_day_of_a_fire() {
    let schedule = |zone: &str, days: &str| {
        let hourly = CronExpression::parse("0 0 * * * ?").unwrap();
        CronSchedule::new(hourly, Zone::parse(zone).unwrap())
            .with_excluded_days(ExcludedDays::parse(days).unwrap())
    };
    let rows = [
        ("UTC", "SAT", "2026-11-20T23:00:00Z", "2026-11-22T00:00:00Z"),
        ("Asia/Shanghai", "SAT", "2026-11-20T15:00:00Z", "2026-11-21T16:00:00Z"),
        // That day has no midnight: it begins at 01:00.
        ("America/Sao_Paulo", "2018-11-03", "2018-11-03T02:00:00Z", "2018-11-04T03:00:00Z"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T02:00:00Z", "2018-11-05T02:00:00Z"),
        // A day of 25 hours is excluded as a whole, with both occurrences of 01:00.
        ("America/New_York", "2026-11-01", "2026-11-01T03:00:00Z", "2026-11-02T05:00:00Z"),
        // That day did not exist in the zone.
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
fn a_schedule_with_all_its_days_excluded_never_fires() {
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
