//! Schedules of several rules, compared with the fires of each rule one by one.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use trigger::{
    CronExpression, CronSchedule, ExcludedDays, FixedInterval, JobSchedule, OverlapPolicy,
    ScheduleErrorReason, ScheduleTexts, Zone,
};

/// Zones, each with a clock change: by an hour, across midnight, by half an hour, by a day.
const CHANGES: [(&str, &str); 7] = [
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/St_Johns", "2010-11-07T02:31:00Z"),
    ("America/Havana", "2026-11-01T05:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Asia/Shanghai", "2026-03-01T00:00:00Z"),
];

const EXPRESSIONS: [&str; 5] =
    ["0 0/10 * * * ?", "0 15 1 * * ?", "0 0 0 * * ?", "0 30 23,0 ? * SAT,SUN", "30 45 0/2 * * ?"];

const DAYS: [&str; 4] = ["SUN", "SAT..SUN", "2010-11-06..2010-11-07", "11-01"];

#[derive(Clone, Debug)]
enum RuleModel {
    Cron(&'static str),
    /// Seconds, and start in seconds since 1970.
    Every(u32, i64),
    /// Seconds since 1970.
    At(i64),
}

impl RuleModel {
    fn text(&self) -> String {
        let time = |second: &i64| Timestamp::from_second(*second).unwrap();
        match self {
            Self::Cron(text) => (*text).to_owned(),
            Self::Every(seconds, start) => format!("@every {seconds}s from {}", time(start)),
            Self::At(second) => format!("@at {}", time(second)),
        }
    }

    /// Returns the fires of some days from `from` on.
    fn fires(&self, from: Timestamp, zone: &Zone, overlap: OverlapPolicy) -> Vec<Timestamp> {
        let end = from.checked_add(SignedDuration::from_hours(6 * 24)).unwrap();
        let within = |fires: &mut dyn Iterator<Item = Timestamp>| -> Vec<Timestamp> {
            fires.take_while(|fire| *fire <= end).collect()
        };
        match self {
            Self::Cron(text) => {
                let expression = CronExpression::parse(text).unwrap();
                let cron = CronSchedule::new(expression, zone.clone()).with_overlap(overlap);
                within(&mut cron.upcoming(from))
            }
            Self::Every(seconds, start) => {
                let start = Timestamp::from_second(*start).unwrap();
                let interval = Duration::from_secs((*seconds).into());
                let every = FixedInterval::new(start, interval).unwrap();
                within(&mut std::iter::successors(every.next_after(from), |t| every.next_after(*t)))
            }
            Self::At(second) => vec![Timestamp::from_second(*second).unwrap()],
        }
    }
}

fn rule(near: i64) -> impl Strategy<Value = RuleModel> {
    prop_oneof![
        prop::sample::select(&EXPRESSIONS[..]).prop_map(RuleModel::Cron),
        (600..90_000_u32, -90_000..90_000_i64)
            .prop_map(move |(seconds, start)| RuleModel::Every(seconds, near + start)),
        (-90_000..90_000_i64).prop_map(move |second| RuleModel::At(near + second)),
    ]
}

#[derive(Clone, Debug)]
struct Case {
    zone: &'static str,
    rules: Vec<RuleModel>,
    overlap: OverlapPolicy,
    days: Option<&'static str>,
    /// Seconds since 1970.
    window: (Option<i64>, Option<i64>),
    after: i64,
}

fn case() -> impl Strategy<Value = Case> {
    prop::sample::select(&CHANGES[..]).prop_flat_map(|(zone, change)| {
        let change = change.parse::<Timestamp>().unwrap().as_second();
        let second = move || (-90_000..90_000_i64).prop_map(move |second| change + second);
        (
            prop::collection::vec(rule(change), 1..4),
            prop::sample::select(&[OverlapPolicy::Later, OverlapPolicy::Both][..]),
            prop::option::of(prop::sample::select(&DAYS[..])),
            (prop::option::of(second()), prop::option::of(second())),
            second(),
        )
            .prop_map(move |(rules, overlap, days, window, after)| Case {
                zone,
                rules,
                overlap,
                days,
                window,
                after,
            })
    })
}

fn expected(case: &Case, zone: &Zone) -> Vec<Timestamp> {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    // Quartz's steps begin before the clock change, so that they do not depend on `after`.
    let from = at(case.after - 3 * 86_400);
    let jiff_zone = TimeZone::get(case.zone).unwrap();
    let days = case.days.map(|days| ExcludedDays::parse(days).unwrap());
    let mut fires: Vec<Timestamp> =
        case.rules.iter().flat_map(|rule| rule.fires(from, zone, case.overlap)).collect();
    fires.retain(|fire| {
        let day = fire.to_zoned(jiff_zone.clone()).date();
        *fire > at(case.after)
            && days.as_ref().is_none_or(|days| !days.contains(day))
            && case.window.0.is_none_or(|first| *fire >= at(first))
            && case.window.1.is_none_or(|last| *fire <= at(last))
    });
    fires.sort_unstable();
    fires.dedup();
    fires.truncate(20);
    fires
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn fires_are_those_of_the_rules(case in case()) {
        let zone = Zone::parse(case.zone).unwrap();
        let texts: Vec<String> = case.rules.iter().map(RuleModel::text).collect();
        let time = |second: i64| Timestamp::from_second(second).unwrap();
        let mut schedule =
            JobSchedule::parse(&texts.join(" ; "), &zone).unwrap().with_overlap(case.overlap);
        if let Some(days) = case.days {
            schedule = schedule.with_excluded_days(ExcludedDays::parse(days).unwrap());
        }
        if let Some(first) = case.window.0 {
            schedule = schedule.with_not_before(time(first));
        }
        if let Some(last) = case.window.1 {
            schedule = schedule.with_not_after(time(last));
        }
        let expected = expected(&case, &zone);
        let fires: Vec<Timestamp> =
            schedule.upcoming(time(case.after)).take(expected.len()).collect();
        prop_assert_eq!(&fires, &expected);
        // Each instant between two fires has the same next fire.
        for pair in expected.windows(2) {
            let between = (pair[0].as_second() + pair[1].as_second()) / 2;
            prop_assert_eq!(schedule.next_after(time(between)), Some(pair[1]));
        }
    }
}

fn texts(cron: &str) -> ScheduleTexts<'_> {
    let mut texts = ScheduleTexts::default();
    texts.cron = Some(cron);
    texts
}

#[test]
fn start_in_the_first_pass_of_an_overlap_loses_no_fire() {
    let zone = Zone::parse("America/New_York").unwrap();
    let schedule = JobSchedule::parse("0 15 1 * * ?", &zone).unwrap();
    // 01:20, before the clocks go back from 02:00 to 01:00.
    let after: Timestamp = "2026-11-01T05:20:00Z".parse().unwrap();
    assert_eq!(schedule.next_after(after), Some("2026-11-01T06:15:00Z".parse().unwrap()));
}

#[test]
fn times_without_offset_are_on_the_wall_clock() {
    let rows = [
        ("Asia/Shanghai", "2026-12-24T09:00:00", Some("2026-12-24T01:00:00Z")),
        ("Asia/Shanghai", "2026-12-24T09:00:00Z", Some("2026-12-24T09:00:00Z")),
        ("Asia/Shanghai", "2026-12-24T09:00:00+01:00", Some("2026-12-24T08:00:00Z")),
        ("America/New_York", "2026-11-01T01:30", Some("2026-11-01T06:30:00Z")),
        ("America/New_York", "2026-03-08T02:30:00", None),
    ];
    for (zone, time, expected) in rows {
        let zone = Zone::parse(zone).unwrap();
        let schedule = JobSchedule::parse(&format!("@at {time}"), &zone);
        let fire = schedule.as_ref().ok().and_then(|s| s.next_after(Timestamp::UNIX_EPOCH));
        assert_eq!(fire, expected.map(|at| at.parse().unwrap()), "{time}: {schedule:?}");
        if expected.is_none() {
            let reason = schedule.unwrap_err().reason;
            assert_eq!(reason, ScheduleErrorReason::SkippedTime { zone }, "{time}");
        }
    }
}

#[test]
fn invalid_rules_are_named() {
    use ScheduleErrorReason::{Interval, MissingRule, NotAlone, Time, TooMany, UnknownRule};
    let many = vec!["@every 1s"; JobSchedule::MAX_RULES + 1].join(";");
    let rows = [
        ("", "", MissingRule),
        ("0 0 12 * * ?;", "", MissingRule),
        ("@daily", "@daily", UnknownRule),
        ("@every", "@every", Interval),
        ("@every 90", "@every 90", Interval),
        ("@every 0s", "@every 0s", Interval),
        ("@every -5s", "@every -5s", Interval),
        ("@every 1500ms", "@every 1500ms", Interval),
        ("@every 8785h", "@every 8785h", Interval),
        ("@every 1s from noon", "@every 1s from noon", Time),
        ("@every 1s; @at", "@at", Time),
        ("@at 1969-12-31T23:59:59Z", "@at 1969-12-31T23:59:59Z", Time),
        ("@at 2127-01-01T00:00:00Z", "@at 2127-01-01T00:00:00Z", Time),
        ("@at 2026-01-01T00:00:00.5Z", "@at 2026-01-01T00:00:00.5Z", Time),
        ("@at 2026-01-01T00:00:00.5", "@at 2026-01-01T00:00:00.5", Time),
        ("@after", "@after", Interval),
        ("@after 0s", "@after 0s", Interval),
        ("@after 90", "@after 90", Interval),
        ("@after 5m; @every 1h", "@after 5m; @every 1h", NotAlone),
        ("0 0 12 * * ?; @after 5m", "0 0 12 * * ?; @after 5m", NotAlone),
        (&many, "101 rules", TooMany),
    ];
    for (text, rule, reason) in rows {
        let error = JobSchedule::parse(text, &Zone::utc()).unwrap_err();
        assert_eq!((error.rule.as_str(), error.reason), (rule, reason), "{text}");
    }
    let error = JobSchedule::parse("@every 5", &Zone::utc()).unwrap_err().to_string();
    assert_eq!(
        error,
        "`@every 5` has no interval of 1s to 8784h in whole seconds; valid are Quartz expressions \
         (`0 0/5 * * * ?`), intervals (`@every 90s`, `@every 6h from 2026-01-01T01:00:00`) and \
         times (`@at 2026-12-24T09:00:00`), separated by semicolons, or one delay after the end of \
         runs (`@after 5m`)"
    );
    let error = JobSchedule::parse("@every 5s; 0 0 25 * * ?", &Zone::utc()).unwrap_err();
    assert!(matches!(error.reason, ScheduleErrorReason::Cron(_)), "{error}");
}

#[test]
fn fixed_delay_has_no_fire_times_of_its_own() {
    let texts = texts("@after 1h 30m");
    let schedule = texts.schedule(&Zone::utc()).unwrap().unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(schedule.fixed_delay(), Some(std::time::Duration::from_secs(5_400)));
    assert_eq!(schedule.next_after(now), None);
    assert_eq!(texts.check_fires_after(&schedule, now), Ok(()));
    assert_eq!(schedule.description(), "1h 30m after the end of each run");
    let other = JobSchedule::parse("@every 1h", &Zone::utc()).unwrap();
    assert_eq!(other.fixed_delay(), None);
}

#[test]
fn texts_of_a_configuration_name_the_invalid_field() {
    type Change = fn(&mut ScheduleTexts<'static>);
    let rows: [(Change, &str, &str); 6] = [
        (|t| t.cron = Some("5 * * * *"), "cron", "\"5 * * * *\""),
        (|t| t.time_zone = Some("Shanghai"), "time_zone", "\"Shanghai\""),
        (|t| t.excluded_days = Some("FEIERTAG"), "excluded_days", "\"FEIERTAG\""),
        (|t| t.not_before = Some("tomorrow"), "not_before", "\"tomorrow\""),
        (|t| t.not_after = Some("2026-13-01T00:00"), "not_after", "\"2026-13-01T00:00\""),
        (|t| t.repeated_hour = Some("twice"), "repeated_hour", "\"twice\""),
    ];
    for (change, field, value) in rows {
        let mut texts = texts("@every 1h");
        change(&mut texts);
        let error = texts.schedule(&Zone::utc()).unwrap_err();
        assert_eq!((error.field, error.value.as_str()), (field, value));
    }
}

#[test]
fn schedule_without_a_further_fire_names_its_limits() {
    let mut texts = texts("@every 1h");
    texts.not_after = Some("2026-01-01T00:00:00Z");
    let schedule = texts.schedule(&Zone::utc()).unwrap().unwrap();
    let check = |now: &str| texts.check_fires_after(&schedule, now.parse().unwrap());
    assert_eq!(check("2025-12-31T23:59:59Z"), Ok(()));
    assert_eq!(
        check("2026-01-01T00:00:00Z").unwrap_err().to_string(),
        "cron is \"@every 1h\"; valid is rules that fire after 2026-01-01T00:00:00Z; these never \
         do, not_after being \"2026-01-01T00:00:00Z\""
    );
}

#[test]
fn texts_of_a_configuration_determine_all_parts() {
    let mut texts = texts("0 30 1 * * ?; @every 12h");
    texts.time_zone = Some("America/New_York");
    texts.excluded_days = Some("MON");
    texts.not_before = Some("2026-11-01T00:00");
    texts.not_after = Some("2026-11-03T02:00:00Z");
    texts.repeated_hour = Some("both");
    let schedule = texts.schedule(&Zone::utc()).unwrap().unwrap();
    let fires: Vec<String> =
        schedule.upcoming(Timestamp::UNIX_EPOCH).map(|fire| fire.to_string()).collect();
    assert_eq!(
        fires,
        [
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:30:00Z",
            "2026-11-01T12:00:00Z",
            "2026-11-02T00:00:00Z"
        ]
    );
    assert_eq!(
        schedule.to_string(),
        "cron 0 30 1 * * ? in America/New_York, twice in overlaps; every 43200s from \
         1970-01-01T00:00:00Z, not on MON, not before 2026-11-01T04:00:00Z, not after \
         2026-11-03T02:00:00Z"
    );
}
