//! Replays the stored seeds of every target.

use crate::seeds;

use std::panic::catch_unwind;

use fuzz::TARGETS;
use rustix::time::{ClockId, clock_gettime};
use seeds::seeds;

#[test]
fn every_seed_keeps_the_property_of_its_target() {
    let mut broken = Vec::new();
    for target in TARGETS {
        for (file, bytes) in seeds(target.name) {
            if catch_unwind(|| (target.run)(&bytes)).is_err() {
                broken.push(file);
            }
        }
    }
    assert!(broken.is_empty(), "the panics above come from {broken:?}");
}

#[test]
fn seed_folders_equal_the_targets() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    let mut targets = TARGETS.map(|target| target.name);
    names.sort();
    targets.sort();
    assert_eq!(names, targets);
}

/// Measured by the CPU time of this thread, because the machine may be loaded.
#[test]
fn searches_without_a_result_end_quickly() {
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        u128::from(time.tv_sec.unsigned_abs()) * 1_000_000
            + u128::from(time.tv_nsec.unsigned_abs()) / 1_000
    };
    let never = [
        "0 0 0 30 2 ?",
        "0 0 0 31 2,4,6,9,11 ?",
        "59 59 23 29 2 ? 2001-2003",
        "0 0 0 L-30 2 ? 2100",
    ];
    let late = ["0 0 0 29 2 ? 2096", "59 59 23 31 12 ? 2126"];
    for text in never.into_iter().chain(late) {
        let expression = trigger::CronExpression::parse(text).unwrap();
        let zone = trigger::Zone::parse("America/New_York").unwrap();
        let schedule = trigger::CronSchedule::new(expression, zone);
        let before = spent();
        let next = schedule.next_after(jiff::Timestamp::UNIX_EPOCH);
        let microseconds = spent() - before;
        assert_eq!(next.is_none(), never.contains(&text), "{text}: {next:?}");
        // The bound is 10 ms in an optimized program; this one is not optimized.
        assert!(microseconds < 100_000, "{text} took {microseconds} µs");
    }
}
