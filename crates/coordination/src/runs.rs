//! The runs on this instance. An index finds the ended ones without a scan of the active ones.

use std::collections::{BTreeMap, BTreeSet};

use reg_center::{SessionId, Version};
use sharding::{InstanceId, ShardingItem};

use crate::plan::Step;
use crate::protocol::ledger::is_scheduled;
use crate::view::items::ItemView;
use crate::{FailureReason, FencingToken, FireTime, Outcome, RunSource};

/// A run on this instance, from its claim until the view shows that its end is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalRun {
    /// The incarnation that claimed it. After a lost session it is a former one.
    pub holder: InstanceId,
    pub token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    /// The outcome; `None` while the job's code runs.
    pub outcome: Option<Outcome>,
    /// The reason why it did not succeed.
    pub(crate) failure: Option<FailureReason>,
    /// The version of the record that its claim replaced; `None` once the view has shown a later
    /// version.
    pub(crate) unseen_after: Option<Version>,
    /// True if its `running` mark may exist. The other `shows_` fields do the same for their marks.
    pub(crate) shows_running: bool,
    pub(crate) shows_failover: bool,
    /// True if its `running` mark outlives the session. Its `alive` mark then shows the session.
    pub(crate) lasting: bool,
    pub(crate) shows_alive: bool,
    pub(crate) shows_failovering: bool,
}

impl LocalRun {
    /// Returns true if it is for a scheduled fire, including after a takeover.
    pub(crate) fn is_scheduled(&self) -> bool {
        is_scheduled(self.source, self.fire)
    }

    /// Returns an active run without marks.
    pub(crate) fn unmarked(
        holder: InstanceId,
        token: FencingToken,
        fire: FireTime,
        source: RunSource,
    ) -> Self {
        Self {
            holder,
            token,
            fire,
            source,
            outcome: None,
            failure: None,
            unseen_after: None,
            shows_running: false,
            shows_failover: false,
            lasting: false,
            shows_alive: false,
            shows_failovering: false,
        }
    }
}

/// The marks in the view that belong to one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnMarks {
    running: bool,
    alive: bool,
    failover: bool,
    failovering: bool,
}

impl OwnMarks {
    /// Returns the marks of `run` at its item.
    ///
    /// Another instance may have marked the item since the run was fenced. So a mark counts only if
    /// it names the run's holder or belongs to this `session`.
    pub(crate) fn of(run: &LocalRun, item: &ItemView, session: Option<SessionId>) -> Self {
        let by_run = |name: Option<&InstanceId>| name == Some(&run.holder);
        let lasting = by_run(item.marks.lasting_holder());
        let in_session = item.marks.session().is_some() && item.marks.session() == session;
        let marked = if run.lasting { lasting } else { in_session };
        Self {
            running: run.shows_running && item.marks.shows_run() && marked,
            alive: run.shows_alive && item.marks.alive && lasting,
            failover: run.shows_failover && by_run(item.marks.failover.as_ref()),
            failovering: run.shows_failovering && by_run(item.marks.failovering.as_ref()),
        }
    }

    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }

    /// Returns the steps that remove these marks.
    pub(crate) fn removal(self, item: ShardingItem) -> impl Iterator<Item = Step> {
        let running = self.running.then_some(Step::unmark_running(item));
        let alive = self.alive.then_some(Step::unmark_alive(item));
        let failover = self.failover.then_some(Step::unmark_failover(item));
        let failovering = self.failovering.then_some(Step::unmark_failovering(item));
        [running, alive, failover, failovering].into_iter().flatten()
    }
}

/// The runs on this instance, at most one per item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Runs {
    all: BTreeMap<ShardingItem, LocalRun>,
    /// The items whose run has ended and whose end is not recorded yet.
    ended: BTreeSet<ShardingItem>,
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn has(&self, item: ShardingItem) -> bool {
        self.all.contains_key(&item)
    }

    pub fn get(&self, item: ShardingItem) -> Option<&LocalRun> {
        self.all.get(&item)
    }

    /// Returns all runs, in ascending order of their items.
    pub fn iter(&self) -> impl Iterator<Item = (ShardingItem, &LocalRun)> {
        self.all.iter().map(|(item, run)| (*item, run))
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = ShardingItem> {
        self.all.keys().copied()
    }

    /// Returns the ended runs, in ascending order of their items.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (ShardingItem, &LocalRun)> {
        self.ended.iter().filter_map(|item| Some((*item, self.all.get(item)?)))
    }

    /// Returns true if at least one run has not ended.
    pub(crate) fn any_active(&self) -> bool {
        self.all.len() > self.ended.len()
    }

    /// Adds a run in place of the former run of its item.
    pub(crate) fn insert(&mut self, item: ShardingItem, run: LocalRun) {
        self.note_end(item, &run);
        self.all.insert(item, run);
    }

    /// Changes the run of an item, if there is one.
    pub(crate) fn change(&mut self, item: ShardingItem, change: impl FnOnce(&mut LocalRun)) {
        if let Some(mut run) = self.all.remove(&item) {
            change(&mut run);
            self.insert(item, run);
        }
    }

    /// Changes all runs except for their outcomes, so that the index of ended runs stays valid.
    pub(crate) fn change_all(&mut self, change: impl Fn(&mut LocalRun)) {
        for run in self.all.values_mut() {
            let outcome = run.outcome;
            change(run);
            run.outcome = outcome;
        }
    }

    /// Removes the run of an item.
    pub(crate) fn remove(&mut self, item: ShardingItem) {
        self.all.remove(&item);
        self.ended.remove(&item);
    }

    fn note_end(&mut self, item: ShardingItem, run: &LocalRun) {
        match run.outcome {
            Some(_) => self.ended.insert(item),
            None => self.ended.remove(&item),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn run(outcome: Option<Outcome>) -> LocalRun {
        let (holder, source) = (InstanceId::new("a"), RunSource::Normal);
        let run = LocalRun::unmarked(holder, FencingToken(1), FireTime(1), source);
        LocalRun { outcome, shows_running: true, ..run }
    }

    proptest! {
        #[test]
        fn runs_match_plain_map(acts in vec((0..4_u32, 0..5_u8), 0..40)) {
            let (mut runs, mut plain) = (Runs::default(), BTreeMap::new());
            for (item, act) in acts {
                let item = ShardingItem::new(item);
                let outcome = (act % 2 == 1).then_some(Outcome::Failed);
                match act {
                    0 | 1 => {
                        runs.insert(item, run(outcome));
                        plain.insert(item, run(outcome));
                    }
                    2 | 3 => {
                        runs.change(item, |run| run.outcome = outcome);
                        plain.entry(item).and_modify(|run| run.outcome = outcome);
                    }
                    _ => {
                        runs.remove(item);
                        plain.remove(&item);
                        runs.change_all(|run| run.shows_running = false);
                        plain.values_mut().for_each(|run| run.shows_running = false);
                    }
                }
                let all = || plain.iter().map(|(item, run)| (*item, run));
                prop_assert!(runs.iter().eq(all()));
                prop_assert!(runs.items().eq(plain.keys().copied()));
                prop_assert!(runs.ended().eq(all().filter(|(_, run)| run.outcome.is_some())));
                prop_assert_eq!(runs.any_active(), all().any(|(_, run)| run.outcome.is_none()));
                prop_assert_eq!((runs.get(item), runs.has(item)), (plain.get(&item), plain.contains_key(&item)));
                prop_assert_eq!(runs.is_empty(), plain.is_empty());
            }
        }
    }
}
