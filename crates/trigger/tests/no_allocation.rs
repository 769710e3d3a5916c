//! `next_after` allocates nothing, for any expression and any time.

use allocation_counter::measure;
use jiff::Timestamp;
use trigger::{CronExpression, CronSchedule, ExcludedDays, JobSchedule, OverlapPolicy, Zone};

const EXPRESSIONS: [&str; 10] = [
    "* * * * * ?",
    "0 0/15 9-17 ? * MON-FRI",
    "0 30 2 * * ?",
    "0 0 0 15W * ?",
    "0 0 0 L-3W * ?",
    "0 15 10 ? * 6L",
    "0 0 0 ? 2 5#5",
    "0 0 0 29 2 ?",
    "0 0 0 30 2 ?",
    "0 0 0 1 1 ? 2126",
];

#[test]
fn next_after_allocates_nothing() {
    let zone = Zone::parse("America/New_York").unwrap();
    for text in EXPRESSIONS {
        for overlap in [OverlapPolicy::Later, OverlapPolicy::Both] {
            let expression = CronExpression::parse(text).unwrap();
            let schedule = CronSchedule::new(expression, zone.clone()).with_overlap(overlap);
            let mut fires = 0;
            let allocations = measure(|| {
                for start in (0..4_000_000_000).step_by(400_000_000) {
                    let start = Timestamp::from_second(start).unwrap();
                    fires += schedule.upcoming(start).take(100).count();
                    fires += usize::from(schedule.matches(start));
                }
            });
            assert_eq!(allocations.count_total, 0, "{text}");
            assert_eq!(fires == 0, schedule.never_fires(), "{text}");
        }
    }
}

#[test]
fn schedule_of_a_job_allocates_nothing() {
    let zone = Zone::parse("America/New_York").unwrap();
    let schedule = JobSchedule::parse("0 0 9 * * ?; @every 90m; @at 2026-12-24T09:00:00", &zone)
        .unwrap()
        .with_excluded_days(ExcludedDays::parse("SAT..SUN").unwrap());
    let mut fires = 0;
    let allocations = measure(|| {
        for start in (0..4_000_000_000).step_by(400_000_000) {
            let start = Timestamp::from_second(start).unwrap();
            fires += schedule.upcoming(start).take(100).count();
        }
    });
    assert_eq!((allocations.count_total, fires), (0, 1_000));
}

/// Tests the counter itself: it must count an allocation.
#[test]
fn the_counter_counts_allocations_of_the_parser() {
    let allocations = measure(|| drop(CronExpression::parse("0 0 12 * * ?").unwrap()));
    assert!(allocations.count_total > 0);
}
