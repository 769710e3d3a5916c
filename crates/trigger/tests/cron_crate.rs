//! Schedules of the `cron` crate never go back in time through the adapter (feature `cron`).

use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use trigger::{CronCrateSchedule, CronExpression, CronSchedule, OverlapPolicy, Schedule, Zone};

const ZONES: [&str; 5] =
    ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Shanghai", "GMT-3"];

fn schedules(text: &str, zone: &str, overlap: OverlapPolicy) -> (CronCrateSchedule, CronSchedule) {
    let zone = Zone::parse(zone).unwrap();
    let adapted = CronCrateSchedule::new(cron::Schedule::from_str(text).unwrap(), zone.clone());
    let own = CronSchedule::new(CronExpression::parse(text).unwrap(), zone);
    (adapted.with_overlap(overlap), own.with_overlap(overlap))
}

/// Expressions with the same meaning in both dialects have the same fire times, from every quarter
/// of an hour around the clock changes of a year.
#[test]
fn fire_times_are_those_of_the_same_quartz_expression() {
    let quarters = |from: &str| {
        let from: Timestamp = from.parse().unwrap();
        (0..24 * 4).map(move |n| from.checked_add(SignedDuration::from_mins(15 * n)).unwrap())
    };
    let changes = [
        "2026-03-08T00:00:00Z",
        "2026-11-01T00:00:00Z",
        "2026-10-24T22:00:00Z",
        "2026-04-04T06:00:00Z",
    ];
    for text in
        ["0 0/7 * * * ?", "0 30 1 * * ?", "0 30 2 * * ?", "0 0 12 31 * ?", "0 0 0 1 1 ? 2030"]
    {
        for zone in ZONES {
            for overlap in [OverlapPolicy::Later, OverlapPolicy::Both] {
                let (adapted, own) = schedules(text, zone, overlap);
                for after in changes.into_iter().flat_map(quarters) {
                    let next = Schedule::next_after(&adapted, after);
                    assert!(next.is_none_or(|next| next > after), "{text} in {zone} after {after}");
                    assert_eq!(next, own.next_after(after), "{text} in {zone} after {after}");
                }
            }
        }
    }
}

#[test]
fn extreme_instants_end_the_search() {
    let (adapted, _) = schedules("0 0 12 * * ?", "America/New_York", OverlapPolicy::Later);
    let first = adapted.next_after(Timestamp::MIN).unwrap();
    assert_eq!(first.to_string(), "1970-01-01T17:00:00Z");
    assert_eq!(adapted.next_after(Timestamp::MAX), None);
    assert!(adapted.upcoming(Timestamp::MIN).take(1_000).is_sorted());
    let last = adapted.upcoming("2100-12-01T00:00:00Z".parse().unwrap()).last().unwrap();
    assert_eq!(adapted.next_after(last.checked_add(Duration::from_secs(1)).unwrap()), None);
}

#[test]
fn describe_names_the_cron_crate() {
    let (adapted, _) = schedules("0 0 12 * * ?", "Asia/Shanghai", OverlapPolicy::Later);
    assert_eq!(adapted.describe(), "cron (of the cron crate) 0 0 12 * * ? in Asia/Shanghai");
}
