//! What is seen of Java instances: they claim nothing and write no records, so that what they have run, and what they
//! have left unfinished, can only be read off their marks.

use std::collections::BTreeMap;
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use crate::FireTime;
use crate::view::JobView;

/// A run whose mark has vanished this long before its instance did has ended; one whose mark has vanished later was
/// interrupted, because both go with the session and are told apart from each other.
const GRACE: Duration = Duration::from_millis(500);

/// A run of a Java instance.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ForeignRun {
    owner: InstanceId,
    fire: FireTime,
    /// When its mark vanished, on the monotonic clock.
    ended: Option<Duration>,
}

/// A run that a Java instance has left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    pub(crate) owner: InstanceId,
    pub(crate) fire: FireTime,
}

/// What one instance has seen of the Java instances of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// The last fire of each item that came while a Java instance had it.
    accounted: BTreeMap<ShardingItem, FireTime>,
    runs: BTreeMap<ShardingItem, ForeignRun>,
    interrupted: BTreeMap<ShardingItem, Interrupted>,
}

impl Foreign {
    /// Returns the last fire of an item that came while a Java instance had it.
    pub(crate) fn accounted(&self, item: ShardingItem) -> Option<FireTime> {
        self.accounted.get(&item).copied()
    }

    /// Returns true if a Java instance has had an item as long as this instance has been looking.
    pub(crate) fn is_known(&self) -> bool {
        !self.accounted.is_empty()
    }

    /// Returns true if a Java instance has left a run of the item unfinished.
    pub(crate) fn has_interrupted(&self, item: ShardingItem) -> bool {
        self.interrupted.contains_key(&item)
    }

    /// Returns the runs that Java instances have left unfinished.
    pub(crate) fn interrupted(&self) -> impl Iterator<Item = (ShardingItem, &Interrupted)> {
        self.interrupted.iter().map(|(item, run)| (*item, run))
    }

    /// Notes a scheduled fire: items of Java instances are run by them, unless all items are about to be assigned anew.
    pub(crate) fn fire(&mut self, view: &JobView, at: FireTime) {
        if !view.is_mixed() || view.awaits_foreign_resharding() {
            return;
        }
        let of_java = view.items().filter(|(_, item)| view.java_owner(item).is_some());
        self.accounted.extend(of_java.map(|(item, _)| (item, at)));
    }

    /// Notes which runs of Java instances begin, end, and vanish with their instance. `fire` is the last one that came.
    ///
    /// A Java instance marks all its items when it begins a fire, and takes the marks away when the last of them has
    /// ended: nobody can tell which of them it had finished before.
    pub(crate) fn observe(&mut self, view: &JobView, fire: Option<FireTime>, now: Duration) {
        if view.is_mixed() {
            self.observe_marks(view, fire);
        } else if self.runs.is_empty()
            && self.interrupted.is_empty()
            && !view.may_have_lasting_marks()
        {
            return;
        }
        let Self { runs, interrupted, accounted } = self;
        for (item, run) in runs.iter_mut().filter(|(_, run)| run.ended.is_none()) {
            run.ended = (!view.item(*item).running).then_some(now);
        }
        // Marks that last tell of runs that ended with their instance before anybody of ours looked.
        for (item, shown) in view.items().filter(|(_, shown)| !shown.alive) {
            let holder = shown.lasting.as_ref().filter(|holder| !view.is_registered(holder));
            let idle = shown.ledger.as_ref().is_none_or(|ledger| ledger.value.is_idle());
            if let (Some(owner), Some(fire), true) = (holder, fire, idle) {
                let fire = accounted.get(&item).copied().unwrap_or(fire);
                interrupted.entry(item).or_insert(Interrupted { owner: owner.clone(), fire });
            }
        }
        runs.retain(|item, run| {
            let lately = run.ended.is_none_or(|ended| now <= ended + GRACE);
            if lately && !view.is_registered(&run.owner) {
                let lost = Interrupted { owner: run.owner.clone(), fire: run.fire };
                interrupted.insert(*item, lost);
                return false;
            }
            lately
        });
        interrupted.retain(|item, run| {
            let ledger = view.item(*item).ledger.as_ref().map(|ledger| &ledger.value);
            ledger.is_none_or(|ledger| ledger.is_idle() && ledger.last_fire < Some(run.fire))
        });
    }

    fn observe_marks(&mut self, view: &JobView, fire: Option<FireTime>) {
        for (item, shown) in view.items().filter(|(_, shown)| shown.running) {
            let ours = shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy());
            let owner = view.java_owner(shown).filter(|_| !ours);
            let (Some(owner), Some(fire)) = (owner, fire) else { continue };
            let accounted = self.accounted.entry(item).or_insert(fire);
            *accounted = fire.max(*accounted);
            let known = self.runs.get(&item).is_some_and(|run| run.ended.is_none());
            if !known {
                let run = ForeignRun { owner: owner.clone(), fire, ended: None };
                self.runs.insert(item, run);
            }
        }
    }
}
