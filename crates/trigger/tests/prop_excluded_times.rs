//! Schedules with excluded times, compared with a filter that checks the reading of every fire.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};
use proptest::prelude::*;
use trigger::{ExcludedTimes, JobSchedule, OverlapPolicy, Zone};

/// Zones, each with an instant near a clock change.
const CHANGES: [(&str, &str); 8] = [
    ("UTC", "2026-02-28T12:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/Havana", "2026-11-01T05:00:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Africa/Cairo", "2026-10-29T21:00:00Z"),
];

const RULES: [&str; 6] = [
    "0 0/10 * * * ?",
    "0 0 0 * * ?",
    "59 59 23,1 * * ?",
    "0 30 0/3 ? * SAT,SUN; @every 95m",
    "@every 6h from 2011-12-01T01:00:00Z",
    "0 15 1 * * ?; 0 45 1 * * ?",
];

const NAMES: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

/// One entry, as an independent model: a predicate of a reading.
#[derive(Clone, Debug)]
enum EntryModel {
    /// Weekdays by bits, Monday being bit 0, and the minutes of the day.
    Window(u8, u32, u32),
    Span(DateTime, DateTime),
    /// Start, length in minutes, days from one occurrence to the next, number of occurrences, and
    /// the zone; none is that of the schedule.
    Event(DateTime, u32, u32, u32, Option<&'static str>),
}

impl EntryModel {
    fn text(&self) -> String {
        match self {
            Self::Window(weekdays, from, until) => {
                let days: Vec<&str> =
                    (0..7).filter(|day| weekdays >> day & 1 == 1).map(|day| NAMES[day]).collect();
                let time = |minute: &u32| format!("{:02}:{:02}", minute / 60, minute % 60);
                format!("{} {}..{}", days.join(","), time(from), time(until))
            }
            Self::Span(start, end) => {
                let text = |at: &DateTime| at.strftime("%Y-%m-%dT%H:%M").to_string();
                format!("{}..{}", text(start), text(end))
            }
            Self::Event(start, minutes, days, count, zone) => {
                let start = start.strftime("%Y%m%dT%H%M%S");
                let zone = zone.map(|zone| format!(";TZID={zone}")).unwrap_or_default();
                format!(
                    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART{zone}:{start}\nDURATION:PT{minutes}M\n\
                     RRULE:FREQ=DAILY;INTERVAL={days};COUNT={count}\nEND:VEVENT\nEND:VCALENDAR"
                )
            }
        }
    }

    fn holds(&self, at: Timestamp, zone: &TimeZone) -> bool {
        let reading = zone.to_datetime(at);
        match self {
            Self::Window(weekdays, from, until) => {
                let minute = reading.hour() as u32 * 60 + reading.minute() as u32;
                let is_on = |date: jiff::civil::Date| {
                    weekdays >> (date.weekday().to_monday_one_offset() - 1) & 1 == 1
                };
                let today = is_on(reading.date());
                if from < until {
                    today && *from <= minute && minute < *until
                } else {
                    let yesterday = is_on(reading.date().yesterday().unwrap());
                    (today && *from <= minute) || (yesterday && minute < *until)
                }
            }
            Self::Span(start, end) => *start <= reading && reading < *end,
            Self::Event(start, minutes, days, count, own) => {
                let own = own.map(|name| TimeZone::get(name).unwrap());
                let reading = own.map_or(reading, |zone| zone.to_datetime(at));
                (0..*count).any(|n| {
                    let start = start.checked_add((n * days).days()).unwrap();
                    start <= reading && reading < start.checked_add(minutes.minutes()).unwrap()
                })
            }
        }
    }
}

trait Units {
    fn days(self) -> Span;
    fn minutes(self) -> Span;
}

impl Units for u32 {
    fn days(self) -> Span {
        i64::from(self).days()
    }

    fn minutes(self) -> Span {
        i64::from(self).minutes()
    }
}

fn entry(near: DateTime) -> impl Strategy<Value = EntryModel> {
    let reading = move || {
        (-3 * 1_440..3 * 1_440_i64).prop_map(move |minute| {
            let at = near.checked_add(minute.minutes()).unwrap();
            at.with().second(0).subsec_nanosecond(0).build().unwrap()
        })
    };
    let window = (1..128_u8, 0..1_440_u32, 1..=1_440_u32)
        .prop_filter("it has a length", |(_, from, until)| from != until)
        .prop_map(|(weekdays, from, until)| EntryModel::Window(weekdays, from, until));
    let span = (reading(), 1..2_000_u32).prop_map(|(start, minutes)| {
        EntryModel::Span(start, start.checked_add(minutes.minutes()).unwrap())
    });
    let zone = prop::option::of(prop::sample::select(&["Asia/Tokyo", "America/New_York"][..]));
    let event = (reading(), 1..2_000_u32, 1..4_u32, 1..6_u32, zone).prop_map(
        |(start, length, days, count, zone)| EntryModel::Event(start, length, days, count, zone),
    );
    prop_oneof![window, span, event]
}

#[derive(Clone, Debug)]
struct Case {
    zone: &'static str,
    rules: &'static str,
    both: bool,
    after: Timestamp,
    entries: Vec<EntryModel>,
}

fn case() -> impl Strategy<Value = Case> {
    let change = prop::sample::select(&CHANGES[..]);
    let rules = prop::sample::select(&RULES[..]);
    (change, rules, any::<bool>(), -200_000..100_000_i64).prop_flat_map(
        |((zone, change), rules, both, seconds)| {
            let change: Timestamp = change.parse().unwrap();
            let near = TimeZone::get(zone).unwrap().to_datetime(change);
            let after = Timestamp::from_second(change.as_second() + seconds).unwrap();
            prop::collection::vec(entry(near), 1..5).prop_map(move |entries| Case {
                zone,
                rules,
                both,
                after,
                entries,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_schedule_keeps_exactly_the_fires_outside_of_excluded_times(case in case()) {
        let zone = Zone::parse(case.zone).unwrap();
        let overlap = if case.both { OverlapPolicy::Both } else { OverlapPolicy::Later };
        let all = JobSchedule::parse(case.rules, &zone).unwrap().with_overlap(overlap);
        let text = case.entries.iter().map(EntryModel::text).collect::<Vec<_>>().join("\n");
        let times = ExcludedTimes::parse(&text).unwrap();
        let some = all.clone().with_excluded_times(times);
        let clock = TimeZone::get(case.zone).unwrap();
        let holds = |at: Timestamp| case.entries.iter().any(|entry| entry.holds(at, &clock));

        let fires: Vec<Timestamp> = all.upcoming(case.after).take(300).collect();
        let expected: Vec<Timestamp> = fires.iter().copied().filter(|at| !holds(*at)).collect();
        let found: Vec<Timestamp> = some.upcoming(case.after).take(expected.len()).collect();
        prop_assert_eq!(&found, &expected, "{} in {} without\n{}", case.rules, case.zone, text);
        // An exclusion is found where the model has one, and its end is the first free instant.
        for at in fires.into_iter().take(40) {
            let exclusion = some.exclusion_at(at);
            prop_assert_eq!(exclusion.is_some(), holds(at), "{}", at);
            let Some(until) = exclusion.and_then(|exclusion| exclusion.until) else { continue };
            let before = Timestamp::from_second(until.as_second() - 1).unwrap();
            prop_assert!(holds(before) && !holds(until), "{}: {}", at, until);
        }
    }
}
