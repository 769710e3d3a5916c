//! Laws of fixed intervals and single instants, and the edges of both.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use trigger::{FixedInterval, Once, Schedule};

fn instant() -> impl Strategy<Value = Timestamp> {
    (-2_000_000_000_000_i64..4_000_000_000_000)
        .prop_map(|ms| Timestamp::from_millisecond(ms).unwrap())
}

/// Multiples of the interval, added up one by one from the start.
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
        // At most so many steps that they can be counted.
        let steps = distance.unsigned_abs() / 1_000 + 1;
        let after = match distance < 0 {
            true => start.checked_sub(Duration::from_millis(distance.unsigned_abs())).unwrap(),
            false => start.checked_add(interval * u32::try_from(steps).unwrap() / 3).unwrap(),
        };
        prop_assert_eq!(schedule.next_after(after), Some(by_steps(start, interval, after)));
    }

    #[test]
    fn a_single_instant_is_after_what_is_before_it(at in instant(), after in instant()) {
        prop_assert_eq!(Once::at(at).next_after(after), (after < at).then_some(at));
        prop_assert_eq!(Once::at(at).next_after(at), None);
    }
}

#[test]
fn the_shortest_interval_is_accepted_and_nothing_shorter() {
    let shortest = FixedInterval::MIN_INTERVAL;
    let rows = [
        ("the shortest", shortest, true),
        ("less", shortest - Duration::from_nanos(1), false),
        ("nothing", Duration::ZERO, false),
    ];
    for (case, interval, valid) in rows {
        let schedule = FixedInterval::new(Timestamp::UNIX_EPOCH, interval);
        assert_eq!(schedule.is_ok(), valid, "{case}");
    }
}

/// A schedule that always names the same instant, which is against the rule.
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
fn fire_times_end_where_a_schedule_repeats_itself() {
    let at = Timestamp::from_second(10).unwrap();
    let fires: Vec<_> = trigger::Upcoming::new(&Stuck(at), Timestamp::UNIX_EPOCH).take(3).collect();
    assert_eq!(fires, [at]);
}
