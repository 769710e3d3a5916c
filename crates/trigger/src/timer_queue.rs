//! One queue of timers for all jobs of a process.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

/// Keys, each with the instant at which it is due; the caller sleeps until the earliest one.
///
/// One queue serves all jobs of a process: thousands of keys need one sleeping timer, and every
/// operation takes logarithmic time in their number. The queue reads no clock; the caller passes
/// the time:
///
/// ```text
/// set(key, at) ─► next_wake() ─► caller sleeps ─► pop_due(now) until None ─► set(key, next) …
/// ```
///
/// Keys that are due at the same instant come out in the order of the keys, so that the same calls
/// give the same results on every machine.
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::TimerQueue;
///
/// let at = |seconds| Timestamp::from_second(seconds).expect("a small number");
/// let mut queue = TimerQueue::new();
/// queue.set("report", at(20));
/// queue.set("cleanup", at(10));
/// assert_eq!(queue.next_wake(), Some(at(10)));
/// assert_eq!(queue.pop_due(at(15)), Some(("cleanup", at(10))));
/// assert_eq!(queue.pop_due(at(15)), None);
/// ```
#[derive(Clone, Debug)]
pub struct TimerQueue<K> {
    /// Invariant: both hold the same pairs.
    by_key: BTreeMap<K, Timestamp>,
    by_time: BTreeSet<(Timestamp, K)>,
}

impl<K: Ord + Clone> TimerQueue<K> {
    /// Returns an empty queue.
    pub fn new() -> TimerQueue<K> {
        TimerQueue { by_key: BTreeMap::new(), by_time: BTreeSet::new() }
    }

    /// Sets the instant at which `key` is due, and returns its former instant, if it was in the
    /// queue.
    pub fn set(&mut self, key: K, at: Timestamp) -> Option<Timestamp> {
        let before = self.remove(&key);
        self.by_time.insert((at, key.clone()));
        self.by_key.insert(key, at);
        before
    }

    /// Removes `key` and returns the instant at which it was due, if it was in the queue.
    pub fn remove(&mut self, key: &K) -> Option<Timestamp> {
        let (key, at) = self.by_key.remove_entry(key)?;
        self.by_time.remove(&(at, key));
        Some(at)
    }

    /// Returns the instant at which `key` is due, if it is in the queue.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<Timestamp> {
        self.by_key.get(key).copied()
    }

    /// Returns the earliest instant at which a key is due; `None` if the queue is empty.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Removes the key that has been due for longest at `now`, and returns it with the instant at
    /// which it was due; `None` if no key is due.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(K, Timestamp)> {
        if self.next_wake()? > now {
            return None;
        }
        let (at, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some((key, at))
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Returns true if the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

impl<K: Ord + Clone> Default for TimerQueue<K> {
    fn default() -> TimerQueue<K> {
        TimerQueue::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn keys_come_out_by_time_and_then_by_key() {
        let mut queue = TimerQueue::new();
        for (key, second) in [("c", 2), ("b", 1), ("d", 1), ("a", 2)] {
            assert_eq!(queue.set(key, at(second)), None);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_due(at(2))).collect();
        assert_eq!(order, [("b", at(1)), ("d", at(1)), ("a", at(2)), ("c", at(2))]);
        assert!(queue.is_empty() && queue.next_wake().is_none());
    }

    #[test]
    fn setting_a_key_again_replaces_its_instant() {
        let mut queue = TimerQueue::new();
        queue.set("a", at(1));
        assert_eq!(queue.set("a", at(5)), Some(at(1)));
        assert_eq!(
            (queue.len(), queue.next_wake(), queue.get(&"a")),
            (1, Some(at(5)), Some(at(5)))
        );
        assert_eq!(queue.pop_due(at(4)), None);
        assert_eq!(queue.remove(&"a"), Some(at(5)));
        assert_eq!((queue.remove(&"a"), queue.get(&"a"), queue.len()), (None, None, 0));
    }
}
