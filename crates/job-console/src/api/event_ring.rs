//! A bounded ring of the last changes of a namespace, from which streams resume.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::str::FromStr;

use super::namespaces::DataFreshness;

/// Maximum number of kept changes.
const MAX_CHANGES: usize = 4_096;
/// Maximum number of names of jobs and groups in all kept changes together.
const MAX_NAMES: usize = 50_000;

/// Position in the changes of one process: the text is the id of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Random number of the process.
    process: u64,
    /// Number of changes until here.
    number: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.process, self.number)
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (process, number) = text.split_once('-').ok_or(())?;
        let process = u64::from_str_radix(process, 16).map_err(|_| ())?;
        Ok(Self { process, number: number.parse().map_err(|_| ())? })
    }
}

/// Everything that has changed after a position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) jobs: BTreeSet<String>,
    pub(super) groups: BTreeSet<String>,
    /// The last freshness, if it has changed.
    pub(super) freshness: Option<DataFreshness>,
}

impl Changes {
    fn names(&self) -> usize {
        self.jobs.len() + self.groups.len()
    }
}

/// The last changes of a namespace.
#[derive(Debug)]
pub(super) struct Ring {
    process: u64,
    /// Number of all changes so far.
    number: u64,
    kept: VecDeque<Changes>,
    names: usize,
}

impl Default for Ring {
    fn default() -> Self {
        // A new hasher has random keys, so its hash of nothing is random.
        let process = RandomState::new().hash_one(());
        Self { process, number: 0, kept: VecDeque::new(), names: 0 }
    }
}

impl Ring {
    /// Returns the position after the last change.
    pub(super) fn end(&self) -> Position {
        Position { process: self.process, number: self.number }
    }

    pub(super) fn push(&mut self, changes: Changes) {
        self.number += 1;
        self.names += changes.names();
        self.kept.push_back(changes);
        while self.kept.len() > MAX_CHANGES || self.names > MAX_NAMES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.names -= oldest.names();
        }
    }

    /// Returns everything after a position; `None` if it is too old or of another process.
    pub(super) fn after(&self, position: Position) -> Option<Changes> {
        let missed = self.number.checked_sub(position.number)?;
        let missed = usize::try_from(missed).ok()?;
        if position.process != self.process || missed > self.kept.len() {
            return None;
        }
        let mut all = Changes::default();
        for changes in self.kept.range(self.kept.len() - missed..) {
            all.jobs.extend(changes.jobs.iter().cloned());
            all.groups.extend(changes.groups.iter().cloned());
            all.freshness = changes.freshness.clone().or(all.freshness);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(job: &str) -> Changes {
        Changes { jobs: [job.to_owned()].into(), ..Changes::default() }
    }

    #[test]
    fn position_resumes_with_all_later_changes_merged() {
        let mut ring = Ring::default();
        ring.push(change("a"));
        let position: Position = ring.end().to_string().parse().unwrap();
        assert_eq!(ring.after(position), Some(Changes::default()));
        ring.push(change("b"));
        ring.push(change("c"));
        ring.push(change("b"));
        let groups = ["db".to_owned()].into();
        ring.push(Changes { groups, ..Changes::default() });
        let changes = ring.after(position).unwrap();
        assert_eq!(changes.jobs, ["b".to_owned(), "c".to_owned()].into());
        assert_eq!(changes.groups, ["db".to_owned()].into());
    }

    #[test]
    fn position_of_another_process_or_of_the_future_does_not_resume() {
        let (mut ring, other) = (Ring::default(), Ring::default());
        ring.push(change("a"));
        assert_eq!(ring.after(other.end()), None);
        let future = Position { number: 2, ..ring.end() };
        assert_eq!(ring.after(future), None);
        for text in ["", "x-1", "1", "1-x"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }

    #[test]
    fn ring_is_bounded_in_changes_and_names() {
        let mut ring = Ring::default();
        let start = ring.end();
        for _ in 0..MAX_CHANGES {
            ring.push(change("a"));
        }
        assert!(ring.after(start).is_some());
        ring.push(change("a"));
        assert_eq!((ring.after(start), ring.kept.len()), (None, MAX_CHANGES));
        let before = ring.end();
        let names = |from: usize| (from..=MAX_NAMES).map(|n| n.to_string()).collect();
        ring.push(Changes { jobs: names(1), groups: names(MAX_NAMES), freshness: None });
        assert_eq!((ring.after(before), ring.names), (None, 0));
    }
}
