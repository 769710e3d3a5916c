//! Excluded times: parsing, and the fires that remain, compared with those of the checker.

use arbitrary::Unstructured;
use coordination::{JobConfig, JobName, encode_config};
use jiff::{SignedDuration, Timestamp};
use trigger::{ExcludedTimes, JobSchedule, Zone};

/// Zones with clock changes, and one without.
const ZONES: [&str; 4] = ["UTC", "America/New_York", "Australia/Lord_Howe", "GMT-03:30"];
/// Rules with fires at the ends of most windows, and between them.
const RULES: [&str; 3] = ["0 0/10 * * * ?", "30 29 0/2 * * ?; @every 13m", "@every 6h"];
/// Range of the instants in seconds: the years 2026 and 2027.
const SECONDS: std::ops::RangeInclusive<i64> = 1_767_225_600..=1_830_297_600;
/// Time in which the fires are compared.
const LOOK: SignedDuration = SignedDuration::from_hours(6);

/// Takes an instant, a zone and rules from the first bytes, and the excluded times from the rest.
pub fn run(bytes: &[u8]) {
    let Ok((after, zone, rules, text)) = input(Unstructured::new(bytes)) else { return };
    let times = match ExcludedTimes::parse(&text) {
        Ok(times) => times,
        Err(error) => {
            assert!(error.entry.chars().count() <= 80, "{error:?}");
            assert!(error.to_string().contains("valid are"), "{error}");
            return;
        }
    };
    assert_eq!(times.as_str(), text);
    let schedule = JobSchedule::parse(rules, &Zone::parse(zone).expect("the zones exist"));
    let schedule = schedule.expect("the rules are valid").with_excluded_times(times);
    let until = after.checked_add(LOOK).expect("the range is within that of jiff");
    let fires = schedule.upcoming(after).take_while(|fire| *fire <= until);
    let fires: Vec<i64> = fires
        .inspect(|fire| assert!(schedule.exclusion_at(*fire).is_none(), "{text}: {fire}"))
        .map(Timestamp::as_millisecond)
        .collect();
    if let Some(exclusion) = schedule.exclusion_at(after) {
        let end = exclusion.until.unwrap_or(Timestamp::MAX);
        assert!(after < end, "{text}: {exclusion}");
        assert!(fires.iter().all(|fire| *fire >= end.as_millisecond()), "{text}: {exclusion}");
    }
    let document = document(zone, rules, &text);
    let first = after.as_millisecond() + 1;
    // The checker evaluates fewer parts of recurrence rules.
    if let Ok(expected) = checker::fires_of_config(&document, first, until.as_millisecond()) {
        assert_eq!(fires, expected, "{rules} in {zone} after {after} without\n{text}");
    }
}

type Input = (Timestamp, &'static str, &'static str, String);

fn input(mut u: Unstructured<'_>) -> arbitrary::Result<Input> {
    let after = Timestamp::from_second(u.int_in_range(SECONDS)?);
    let after = after.expect("the range is within that of jiff");
    let (zone, rules) = (*u.choose(&ZONES)?, *u.choose(&RULES)?);
    let text = String::from_utf8_lossy(u.take_rest()).into_owned();
    Ok((after, zone, rules, text))
}

fn document(zone: &str, rules: &str, times: &str) -> String {
    let config = JobConfig::new(JobName::new("job").expect("the name is valid"), 1).with(|it| {
        it.cron = Some(rules.to_owned());
        it.time_zone = Some(zone.to_owned());
        it.excluded_times = Some(times.to_owned());
    });
    encode_config(&config)
}
