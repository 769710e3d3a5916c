//! The runs on this instance. An index finds the ended ones without a scan of the active ones.

use std::collections::{BTreeMap, BTreeSet};

use reg_center::{SessionId, Version};
use sharding::{InstanceId, ShardingItem};

use crate::run_marks::{MarkSet, RunMarks};
use crate::view::item::ItemView;
use crate::{
    FailureReason, FencingToken, FireTime, GroupPermit, Ledger, MAX_SLOTS, Outcome, Run, RunKind,
    RunSource, Slot,
};

/// A run on this instance, from its claim until the view shows that its end is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalRun {
    /// The incarnation that claimed it. After a lost session it is a former one.
    pub holder: InstanceId,
    /// Its fencing token. `None` if the job is not monitored, so that the registry has no record
    /// of the run.
    pub token: Option<FencingToken>,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    pub(crate) kind: RunKind,
    /// Its code was asked to end, because its record has a request to cancel it.
    pub cancelling: bool,
    /// The outcome; `None` while the job's code runs.
    pub outcome: Option<Outcome>,
    /// The reason why it did not succeed.
    pub(crate) failure: Option<FailureReason>,
    /// The version of the record that its claim replaced; `None` once the view has shown a later
    /// version.
    pub(crate) unseen_after: Option<Version>,
    pub(crate) marks: RunMarks,
    /// Its permit, as long as it may exist.
    pub(crate) permit: Option<u32>,
    /// Its permit of the job's group, as long as it may exist.
    pub(crate) group_permit: Option<GroupPermit>,
    /// True if its marks may be gone although the view still shows them: a commit that removes them
    /// may have succeeded, or its session has ended.
    pub(crate) may_be_unmarked: bool,
}

impl LocalRun {
    /// Returns true if it is for a scheduled fire, including after a takeover.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.kind == RunKind::Scheduled
    }

    /// Returns an active run by its record. `lasting` is true if its mark `running` outlasts the
    /// session.
    pub(crate) fn claimed(run: &Run, token: FencingToken, lasting: bool) -> Self {
        let marks = RunMarks::of_claim(run.source, lasting);
        let unmonitored = Self::unmonitored(run.holder.clone(), run.fire, run.source);
        let (permit, group_permit) = (run.permit, run.group_permit.clone());
        Self { token: Some(token), kind: run.kind, marks, permit, group_permit, ..unmonitored }
    }

    /// Returns an active run of an unmonitored job.
    pub(crate) fn unmonitored(holder: InstanceId, fire: FireTime, source: RunSource) -> Self {
        Self {
            holder,
            token: None,
            fire,
            source,
            kind: RunKind::of_first_run(source),
            cancelling: false,
            outcome: None,
            failure: None,
            unseen_after: None,
            marks: RunMarks::NONE,
            permit: None,
            group_permit: None,
            may_be_unmarked: false,
        }
    }

    /// Returns its token as commands and events show it.
    #[must_use]
    pub fn public_token(&self) -> FencingToken {
        self.token.unwrap_or(FencingToken::UNFENCED)
    }

    /// Adds this ended run to a record that lacks it, because a backup was put back.
    ///
    /// Its token and its fire are not used again. Other runs in the record stay.
    #[must_use]
    pub(crate) fn added_to(&self, record: &Ledger, outcome: Outcome, now_ms: i64) -> Ledger {
        // A run of this holder in the record is over as well: its holder runs the item no more.
        let is_same_holder = record.run().is_some_and(|shown| shown.holder == self.holder);
        let ended = if record.is_idle() || is_same_holder {
            record.with_ended_run(outcome, now_ms).because(self.failure.clone())
        } else {
            record.clone()
        };
        let is_later = self.is_scheduled() && record.last_fire < Some(self.fire);
        let settled = if is_later { ended.with_last_fire(self.fire, None) } else { ended };
        settled.with_token_at_least(self.token)
    }

    /// Records the end of the session. Other instances remove the marks that outlast it.
    pub(crate) fn lose_session(&mut self) {
        self.marks.lose_session();
        self.permit = None;
        self.group_permit = None;
        self.may_be_unmarked = true;
    }

    /// Returns those of its marks that the view shows at its item.
    ///
    /// The view has no order across nodes. If it shows a later run in progress, that run's claim
    /// has created marks of its own, and marks that may be gone count as gone: to remove them here
    /// would remove those of the later run.
    pub(crate) fn shown_marks(&self, item: &ItemView, session: Option<SessionId>) -> MarkSet {
        let in_progress = item.ledger.as_ref().and_then(|ledger| ledger.value.running());
        let is_later_run = in_progress.is_some_and(|run| run.holder != self.holder);
        if self.may_be_unmarked && is_later_run {
            return MarkSet::default();
        }
        self.marks.shown_in(&item.marks, &self.holder, session)
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

    /// Returns true if any slot of an item has a run.
    pub(crate) fn has_item(&self, item: ShardingItem) -> bool {
        (0..MAX_SLOTS).any(|number| self.has(Slot { item, number }.key()))
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
        let run = LocalRun::unmonitored(InstanceId::new("a"), FireTime(1), RunSource::Normal);
        LocalRun { outcome, marks: RunMarks::of_claim(run.source, false), ..run }
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
                        runs.change_all(LocalRun::lose_session);
                        plain.values_mut().for_each(LocalRun::lose_session);
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
