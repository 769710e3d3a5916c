//! The timer queue agrees with a sorted list.

use jiff::Timestamp;
use proptest::prelude::*;
use trigger::TimerQueue;

#[derive(Clone, Debug)]
enum Step {
    Set(u8, i64),
    Remove(u8),
    PopDue(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..20_u8, 0..50_i64).prop_map(|(key, second)| Step::Set(key, second)),
        1 => (0..20_u8).prop_map(Step::Remove),
        2 => (0..50_i64).prop_map(Step::PopDue),
    ]
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_queue_agrees_with_a_sorted_list(steps in prop::collection::vec(step(), 0..80)) {
        let mut queue = TimerQueue::default();
        let mut list: Vec<(Timestamp, u8)> = Vec::new();
        let remove = |list: &mut Vec<(Timestamp, u8)>, key: u8| {
            list.iter().position(|(_, known)| *known == key).map(|place| list.remove(place).0)
        };
        for step in steps {
            match step {
                Step::Set(key, second) => {
                    prop_assert_eq!(queue.set(key, at(second)), remove(&mut list, key));
                    list.push((at(second), key));
                    list.sort();
                }
                Step::Remove(key) => prop_assert_eq!(queue.remove(&key), remove(&mut list, key)),
                Step::PopDue(now) => {
                    let due = list.first().is_some_and(|(due, _)| *due <= at(now));
                    let expected = due.then(|| list.remove(0)).map(|(due, key)| (key, due));
                    prop_assert_eq!(queue.pop_due(at(now)), expected);
                }
            }
            prop_assert_eq!(queue.len(), list.len());
            prop_assert_eq!(queue.is_empty(), list.is_empty());
            prop_assert_eq!(queue.next_wake(), list.first().map(|(due, _)| *due));
            for (due, key) in &list {
                prop_assert_eq!(queue.get(key), Some(*due));
            }
        }
    }
}

/// Thousands of keys come out in order of time and then of key.
#[test]
fn thousands_of_keys_come_out_in_order() {
    const KEYS: i64 = 20_000;
    let mut queue = TimerQueue::new();
    for key in 0..KEYS {
        queue.set(key, at(key * 7_919 % 1_000));
    }
    let popped: Vec<_> = std::iter::from_fn(|| queue.pop_due(at(1_000))).collect();
    assert_eq!(popped.len(), 20_000);
    assert!(popped.is_sorted_by_key(|(key, due)| (*due, *key)));
}
