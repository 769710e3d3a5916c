//! Laws of fixed intervals and single instants, and their limits.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use trigger::{FixedInterval, Once, Schedule};

fn instant() -> impl Strategy<Value = Timestamp> {
    (-2_000_000_000_000_i64..4_000_000_000_000)
        .prop_map(|ms| Timestamp::from_millisecond(ms).unwrap())
}

/// Adds the interval to the start, one by one.
fn by_steps(start: Timestamp, interval: Duration, after: Timestamp) -> Timestamp {
    let mut at = start;
    while at <= after {
        at = at.checked_add(interval).unwrap();
    }
    at
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn intervals_are_steps_from_the_start(
        start in instant(),
        interval in 1..100_000_u64,
        distance in -200_000..200_000_i64,
    ) {
        let interval = Duration::from_millis(interval);
        let schedule = FixedInterval::new(start, interval).unwrap();
        // Few enough steps to be counted one by one.
        let steps = distance.unsigned_abs() / 1_000 + 1;
        let after = if distance < 0 {
            start.checked_sub(Duration::from_millis(distance.unsigned_abs())).unwrap()
        } else {
            start.checked_add(interval * u32::try_from(steps).unwrap() / 3).unwrap()
        };
        prop_assert_eq!(schedule.next_after(after), Some(by_steps(start, interval, after)));
    }

    #[test]
    fn a_single_instant_fires_only_after_earlier_instants(at in instant(), after in instant()) {
        prop_assert_eq!(Once::at(at).next_after(after), (after < at).then_some(at));
        prop_assert_eq!(Once::at(at).next_after(at), None);
    }
}

#[test]
fn the_minimum_interval_is_accepted_and_shorter_ones_are_rejected() {
    let shortest = FixedInterval::MIN_INTERVAL;
    let rows = [
        ("the minimum", shortest, true),
        ("below the minimum", shortest - Duration::from_nanos(1), false),
        ("zero", Duration::ZERO, false),
    ];
    for (case, interval, valid) in rows {
        let schedule = FixedInterval::new(Timestamp::UNIX_EPOCH, interval);
        assert_eq!(schedule.is_ok(), valid, "{case}");
    }
}

/// A schedule that violates the rule: it always returns the same instant.
#[derive(Debug)]
struct Stuck(Timestamp);

impl Schedule for Stuck {
    fn next_after(&self, _: Timestamp) -> Option<Timestamp> {
        Some(self.0)
    }

    fn describe(&self) -> String {
        "stuck".to_owned()
    }
}

#[test]
fn fire_times_end_if_a_schedule_does_not_advance() {
    let at = Timestamp::from_second(10).unwrap();
    let fires: Vec<_> = trigger::Upcoming::new(&Stuck(at), Timestamp::UNIX_EPOCH).take(3).collect();
    assert_eq!(fires, [at]);
}
