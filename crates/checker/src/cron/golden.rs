//! Compares this crate's cron implementation with recorded answers of Quartz 2.3.2.

use serde_json::Value;

use super::{Schedule, Texts};

/// Recorded answers of Quartz; the tests of the crate `trigger` use the same file.
const VECTORS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../trigger/testdata/quartz-cron-vectors.jsonl");

const FORTY_DAYS: i64 = 40 * 86_400_000;

/// Returns the fires after an instant.
///
/// In the first pass of a repeated hour, Quartz goes by the wall clock: it does not repeat a wall
/// clock time that it has passed.
fn next(schedule: &Schedule, start: i64, count: usize, until: i64) -> Vec<i64> {
    let second = start.div_euclid(1_000) + 1;
    let wall = |second: i64| second + schedule.offset(second).unwrap();
    let mut fires = Vec::new();
    let mut shown = wall(second);
    for fire in schedule.between(second * 1_000, until) {
        let at = wall(fire / 1_000);
        if at < shown {
            continue;
        }
        shown = at;
        fires.push(fire);
        if fires.len() == count {
            break;
        }
    }
    fires
}

#[test]
fn fires_equal_those_of_quartz() {
    let text = std::fs::read_to_string(VECTORS).unwrap();
    let (mut answered, mut refused, mut wrong) = (0, 0, Vec::new());
    for (line, row) in (1..).zip(text.lines().filter(|line| !line.trim().is_empty())) {
        let row: Value = serde_json::from_str(row).unwrap();
        let note = row["note"].as_str().unwrap_or_default();
        // The product does not support the sloppy forms that Quartz accepts, and artefacts are no
        // promise.
        let class = row["cls"].as_str().unwrap();
        if [note, class]
            .iter()
            .any(|text| text.starts_with("quirk") || text.starts_with("artefact"))
        {
            continue;
        }
        let (cron, zone) = (row["expr"].as_str().unwrap(), row["tz"].as_str().unwrap());
        let schedule = Schedule::parse(&Texts { cron, time_zone: zone, ..Texts::default() });
        if !row["valid"].as_bool().unwrap() {
            if matches!(schedule, Ok(Some(_))) {
                wrong.push(format!("{line}: {cron} was accepted"));
            }
            refused += 1;
            continue;
        }
        // The search tests every second and is slow, so that only every fourth row is checked.
        if line % 4 != 0 {
            continue;
        }
        let Ok(Some(schedule)) = schedule else {
            wrong.push(format!("{line}: {cron:?}: {schedule:?}"));
            continue;
        };
        let expected: Vec<i64> =
            row["next"].as_array().unwrap().iter().map(|fire| fire.as_i64().unwrap()).collect();
        let start = row["start"].as_i64().unwrap();
        // For the same reason fires that are far away are skipped.
        let Some(last) = expected.last().filter(|last| **last - start < FORTY_DAYS) else {
            continue;
        };
        let fires = next(&schedule, start, expected.len(), *last);
        if fires != expected {
            wrong.push(format!("{line}: {cron} in {zone}: {fires:?}, expected {expected:?}"));
        }
        answered += 1;
    }
    assert_eq!(wrong, [] as [String; 0]);
    assert!(answered > 700 && refused > 1_000, "{answered} answered, {refused} refused");
}

fn in_new_york(cron: &str, repeated_hour: &str) -> Schedule {
    let texts = Texts { cron, time_zone: "America/New_York", repeated_hour, ..Texts::default() };
    Schedule::parse(&texts).unwrap().unwrap()
}

#[test]
fn both_passes_of_a_repeated_hour_fire_if_wanted() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    for instant in ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"] {
        assert!(in_new_york("0 30 1 * * ?", "both").fires_at(at(instant)), "{instant}");
    }
}

#[test]
fn several_rules_fire_within_a_period() {
    let texts = Texts {
        cron: "0 30 0 * * ?; @every 40m from 2026-03-01T00:00:00Z ; @at 2026-03-01T09:00",
        time_zone: "Asia/Shanghai",
        excluded_days: "",
        excluded_times: "",
        not_before: "2026-02-28T16:10:00Z",
        not_after: "2026-03-01T09:20",
        repeated_hour: "",
    };
    let schedule = Schedule::parse(&texts).unwrap().unwrap();
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let fires = schedule.between(at("2026-02-28T00:00:00Z"), at("2026-03-02T00:00:00Z"));
    let expected = [
        "2026-02-28T16:30:00Z",
        "2026-03-01T00:00:00Z",
        "2026-03-01T00:40:00Z",
        "2026-03-01T01:00:00Z",
        "2026-03-01T01:20:00Z",
    ];
    assert_eq!(fires.collect::<Vec<_>>(), expected.map(at));
    let invalid =
        ["@every 0s", "@every 1500ms", "@every 9000h", "@at noon", "@daily", "@every 5s;"];
    for cron in invalid {
        assert!(Schedule::parse(&Texts { cron, ..texts }).is_err(), "{cron}");
    }
    for other in ["2026-13-01T00:00", "yesterday"] {
        assert!(Schedule::parse(&Texts { not_before: other, ..texts }).is_err(), "{other}");
        assert!(Schedule::parse(&Texts { not_after: other, ..texts }).is_err(), "{other}");
    }
    assert!(Schedule::parse(&Texts { repeated_hour: "twice", ..texts }).is_err());
}

#[test]
fn repeated_hour_fires_in_its_second_pass_and_skipped_hour_never() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let rows = [
        ("0 30 1 * * ?", "2026-11-01T05:30:00Z", false),
        ("0 30 1 * * ?", "2026-11-01T06:30:00Z", true),
        ("0 30 2 * * ?", "2026-03-08T07:30:00Z", false),
        ("0 0 3 * * ?", "2026-03-08T07:00:00Z", true),
    ];
    for (cron, instant, fires) in rows {
        let schedule = in_new_york(cron, "");
        assert_eq!(schedule.fires_at(at(instant)), fires, "{cron} at {instant}");
    }
}

#[test]
fn time_zones_are_names_or_offsets() {
    let noon = |zone| {
        let texts = Texts { cron: "0 0 12 * * ?", time_zone: zone, ..Texts::default() };
        Schedule::parse(&texts).map(|s| s.unwrap().fires_at(4 * 3_600_000))
    };
    let rows = [
        ("Asia/Shanghai", Ok(true)),
        ("GMT+8", Ok(true)),
        ("GMT+08:00", Ok(true)),
        ("GMT+0800", Ok(true)),
        ("", Ok(false)),
        ("GMT-8", Ok(false)),
    ];
    for (zone, expected) in rows {
        assert_eq!(noon(zone), expected, "{zone}");
    }
    assert!(noon("Mars").is_err() && noon("GMT+99").is_err());
}
