//! Observation of fires and marks: which runs of Java instances begin, end, and are interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::{GRACE, Inference, InterruptedRun, JavaRun, is_open, orphan};
use crate::local::fires::Due;
use crate::view::JobView;
use crate::view::item::ItemView;
use crate::{FireTime, Now};

/// Maximum lateness of a Java instance for a fire, and maximum delay of its view.
const LAG: Duration = Duration::from_millis(250);

/// Interval at which a Java instance that postpones a fire reads the announcement again.
const POLL: Duration = Duration::from_millis(100);

impl Inference {
    /// Notes a scheduled fire. Java instances run it for their items, unless a resharding is
    /// announced.
    pub(crate) fn fire(&mut self, view: &JobView, at: FireTime, now: Now) {
        self.resumed = None;
        self.tentative.clear();
        if !view.is_mixed() {
            return;
        }
        self.fires += 1;
        // Java instances postpone this fire until the announcement ends.
        if view.is_resharding_announced() {
            self.postponed = Some(at);
            return;
        }
        if view.config().is_some_and(|config| config.monitor_execution) {
            self.tentative = self.not_begun(view, now);
        }
        self.account(view, at);
    }

    /// Takes the last fire back from Java instances that have shown no mark since. A Java instance
    /// that is late for the fire may see an announcement right after it first, and postpones the
    /// fire.
    fn withdraw_last_fire(&mut self, at: FireTime, now: Now) {
        if now.wall_ms - at.0 >= lag_ms() {
            return;
        }
        for (item, before) in std::mem::take(&mut self.tentative).into_values().flatten() {
            match before {
                Some(before) => self.accounted.insert(item, before),
                None => self.accounted.remove(&item),
            };
            self.postponed = Some(at);
        }
    }

    /// Returns the Java instances that have no mark at a fire, and had none until lately: their
    /// marks may be seen before the fire. Their items come with the fires accounted for so far.
    fn not_begun(
        &self,
        view: &JobView,
        now: Now,
    ) -> BTreeMap<InstanceId, Vec<(ShardingItem, Option<FireTime>)>> {
        let lately = |ended: Duration| now.mono < ended + LAG;
        let has_mark = |run: &&JavaRun| !run.taken_over && run.ended.is_none_or(lately);
        let begun: BTreeSet<_> =
            self.runs.values().filter(has_mark).map(|run| &run.owner).collect();
        let mut others: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (item, shown) in view.items() {
            let owner = view.java_owner(shown).filter(|owner| !begun.contains(owner));
            if let Some(owner) = owner {
                others.entry(owner.clone()).or_default().push((item, self.accounted(item)));
            }
        }
        others
    }

    fn account(&mut self, view: &JobView, at: FireTime) {
        let of_java = view.items().filter(|(_, item)| view.java_owner(item).is_some());
        self.accounted.extend(of_java.map(|(item, _)| (item, at)));
    }

    /// Notes which runs of Java instances begin, end, and vanish with their instance. `fire` is the
    /// last fire seen.
    ///
    /// A Java instance marks all its items when it begins a fire, and removes the marks when the
    /// last of them has ended. So it is unknown which items it had ended before.
    pub(crate) fn observe(&mut self, view: &JobView, fire: Option<FireTime>, now: Now) {
        self.resumed = self.resumed.filter(|(_, until)| now.mono < *until);
        if view.is_mixed() {
            self.observe_marks(view, fire);
            if view.is_resharding_announced()
                && let Some(at) = fire
            {
                self.withdraw_last_fire(at, now);
            }
        } else if self.runs.is_empty() && self.lost.is_empty() && self.postponed.is_none() {
            return;
        }
        if !view.is_resharding_announced()
            && let Some(at) = self.postponed.take()
        {
            self.account(view, at);
            // A Java instance sees the end of the announcement after one poll and the delay of its
            // view.
            self.resumed = Some((at, now.mono + LAG + POLL));
        }
        self.observe_ends(view, now);
        self.forget_lost(view);
    }

    /// Notes which marks have vanished, and which of them vanished with their instances.
    fn observe_ends(&mut self, view: &JobView, now: Now) {
        let Self { runs, lost, .. } = self;
        for (item, run) in runs.iter_mut().filter(|(_, run)| run.ended.is_none()) {
            run.ended = (!run.is_shown(view.item(*item))).then_some(now.mono);
        }
        runs.retain(|item, run| {
            let just_now = |ended| now.mono < ended + GRACE;
            let lately = run.ended.is_none_or(just_now);
            let gone = !view.is_registered(&run.owner);
            if lately && gone && !run.lasting {
                let (owner, fire, taken_over) = (run.owner.clone(), run.fire, run.taken_over);
                lost.insert(*item, InterruptedRun { owner, fire, taken_over });
            }
            lately && !gone
        });
    }

    /// Forgets the runs of lost instances that have ended or that another instance has taken over.
    fn forget_lost(&mut self, view: &JobView) {
        self.lost.retain(|item, run| {
            let shown = view.item(*item);
            let waits = run.taken_over && orphan(shown).is_some() && !shown.queued;
            let open = is_open(view, *item, run.fire) || waits;
            // The mark of the lost taker itself may vanish after its instance node.
            let taken = shown.marks.failover.as_ref().is_some_and(|taker| *taker != run.owner);
            open && !taken
        });
    }

    fn observe_marks(&mut self, view: &JobView, fire: Option<FireTime>) {
        for (item, shown) in view.restless_items() {
            if shown.marks.failover.is_some() || shown.marks.shows_run() {
                self.observe_mark(view, item, shown, fire);
            }
        }
    }

    /// Notes the run whose mark `running` vanishes with the next change of the view. The view may
    /// never have shown it: a short run begins and ends between two observations.
    pub(crate) fn observe_vanishing_mark(
        &mut self,
        view: &JobView,
        item: ShardingItem,
        fire: Option<FireTime>,
    ) {
        // The record shows that the mark was that of a Rust run, which has just ended.
        let is_rust_run = fire.is_some_and(|fire| !is_open(view, item, fire));
        if !is_rust_run {
            self.observe_mark(view, item, view.item(item), fire);
        }
    }

    /// Notes the run of an item that has, or had, a mark.
    fn observe_mark(
        &mut self,
        view: &JobView,
        item: ShardingItem,
        shown: &ItemView,
        fire: Option<FireTime>,
    ) {
        if shown.marks.failover.is_some() {
            self.observe_takeover(view, item, shown, fire);
        } else {
            self.observe_run(view, item, shown, fire);
        }
    }

    /// Notes a run of a Java instance for its own item.
    fn observe_run(
        &mut self,
        view: &JobView,
        item: ShardingItem,
        shown: &ItemView,
        fire: Option<FireTime>,
    ) {
        // A busy record shows that a Rust instance runs the item, whose mark looks the same.
        let is_rust_run = shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy());
        if is_rust_run {
            return;
        }
        let (Some(owner), Some(fire)) = (view.java_owner(shown), fire) else { return };
        let accounted = self.accounted.entry(item).or_insert(fire);
        *accounted = fire.max(*accounted);
        let marked_at = shown.marks.marked_at();
        let same = |run: &JavaRun| run.ended.is_none() && run.marked_at == marked_at;
        if !self.runs.get(&item).is_some_and(same) {
            // The owner begins all its items together.
            self.tentative.remove(owner);
            let (owner, lasting) = (owner.clone(), shown.marks.lasting_holder().is_some());
            let (fires, ended, taken_over) = (self.fires, None, false);
            let run = JavaRun { owner, taken_over, fire, lasting, marked_at, fires, ended };
            self.runs.insert(item, run);
        }
    }

    /// Notes a takeover by a Java instance, with its fire: the fire of the orphaned run, or the
    /// last fire that came while the lost Java instance owned the item.
    fn observe_takeover(
        &mut self,
        view: &JobView,
        item: ShardingItem,
        shown: &ItemView,
        fire: Option<FireTime>,
    ) {
        let Some(taker) = view.java_taker(shown) else { return };
        let left = orphan(shown).map(|run| run.fire);
        let Some(fire) = left.or(self.accounted(item)).or(fire) else { return };
        let same = |run: &JavaRun| run.taken_over && run.ended.is_none() && run.owner == *taker;
        if !self.runs.get(&item).is_some_and(same) {
            let (owner, fires, marked_at) = (taker.clone(), self.fires, shown.marks.marked_at());
            let (taken_over, lasting, ended) = (true, view.may_have_lasting_marks(), None);
            let run = JavaRun { owner, taken_over, fire, lasting, marked_at, fires, ended };
            self.runs.insert(item, run);
        }
    }
}

/// Returns how long a coming or recent fire is near; `None` if no fire is near. A job with very
/// short intervals would leave no time in between, so that its fires never count as near.
pub(crate) fn near_fire(due: &Due, now: Now) -> Option<Duration> {
    let (at, next) = (due.at, due.next);
    if next.is_some_and(|next| next.0 - at.0 < 3 * lag_ms()) {
        return None;
    }
    let is_near = |since: &i64| (-lag_ms()..lag_ms()).contains(since);
    let fires = [Some(at), next].into_iter().flatten();
    let since = fires.map(|fire| now.wall_ms - fire.0).find(is_near)?;
    u64::try_from(lag_ms() - since).ok().map(Duration::from_millis)
}

fn lag_ms() -> i64 {
    i64::try_from(LAG.as_millis()).unwrap_or(i64::MAX)
}
