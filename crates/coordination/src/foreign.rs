//! What is seen of Java instances: they claim nothing and write no records, so that what they have run, and what they
//! have left unfinished, can only be read off their marks.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use crate::FireTime;
use crate::mutant::{self, Mutant};
use crate::view::JobView;

/// A run whose mark has vanished this long before its instance did has ended; one whose mark has vanished later was
/// interrupted, because both go with the session and are told apart from each other.
const GRACE: Duration = Duration::from_millis(500);

/// A run of a Java instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ForeignRun {
    owner: InstanceId,
    fire: FireTime,
    /// Its mark does not go with the session, and tells by itself what is left unfinished.
    lasting: bool,
    /// When its mark was made.
    marked_at: Option<Revision>,
    /// How many fires this instance had seen when it saw the mark.
    fires: u64,
    /// When its mark vanished, on the monotonic clock.
    ended: Option<Duration>,
}

/// A run that a Java instance has left unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interrupted {
    pub(crate) owner: InstanceId,
    pub(crate) fire: FireTime,
}

/// A mark by which a living Java instance shows a run that it cannot be running any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leftover {
    pub(crate) item: ShardingItem,
    pub(crate) marked_at: Option<Revision>,
    owner: InstanceId,
    /// It was made by an earlier life with the same id; else by this one, for an earlier fire than that of other marks.
    of_earlier_life: bool,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, owner, .. } = self;
        let why = match self.of_earlier_life {
            true => {
                "the mark is older than the instance, which has the id of an earlier one or has reconnected"
            }
            false => "it runs a later fire already, and runs one at a time",
        };
        write!(
            f,
            "{owner} is shown as running item {item}, but {why}; remove the node if nothing runs"
        )
    }
}

/// What one instance has seen of the Java instances of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Foreign {
    /// The last fire of each item that came while a Java instance had it.
    accounted: BTreeMap<ShardingItem, FireTime>,
    /// A fire that came while items were about to be assigned anew: whose it is shows afterwards.
    held_back: Option<FireTime>,
    /// How many fires have come while Java instances took part.
    fires: u64,
    runs: BTreeMap<ShardingItem, ForeignRun>,
    /// Runs whose mark has gone with the session: nothing in the registry tells of them.
    lost: BTreeMap<ShardingItem, Interrupted>,
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

    /// Returns the run of an item that a Java instance has left unfinished. `fire` is the last one that came.
    ///
    /// A mark that lasts, or that the item was taken over, tells of it as long as it is there; other marks have gone with
    /// the session. Where somebody has taken the item over since, the run is theirs.
    pub(crate) fn interrupted(
        &self,
        view: &JobView,
        item: ShardingItem,
        fire: Option<FireTime>,
    ) -> Option<Interrupted> {
        let shown = view.item(item);
        let left = || {
            let owner = view.left_unfinished_by(shown)?.clone();
            Some(Interrupted { owner, fire: self.accounted(item).or(fire)? })
        };
        let run = self.lost.get(&item).cloned().or_else(left)?;
        let open = is_open(view, item, run.fire) || mutant::is(Mutant::SettledRunsInterrupted);
        let taken = shown.failover && !mutant::is(Mutant::JavaTakeoversIgnored);
        (open && !taken).then_some(run)
    }

    /// Returns the marks that living Java instances have left behind.
    ///
    /// A Java instance runs one fire at a time, marks its items when it begins, and never begins an item that has a mark: a
    /// mark for an earlier fire than that of another one, or of an earlier life with the same id, is there for good. Marks of
    /// one fire may be seen before and after the fire itself, so that two fires tell for certain.
    pub(crate) fn leftovers(&self, view: &JobView) -> Vec<Leftover> {
        let standing = || self.runs.iter().filter(|(_, run)| run.ended.is_none());
        let leftover = |(item, run): (&ShardingItem, &ForeignRun)| {
            let marked_at = run.marked_at;
            let (owner, aged) = (&run.owner, run.fires + 2);
            let overtaken = standing().any(|(_, o)| o.owner == *owner && o.fires >= aged);
            let named = view.item(*item).lasting.as_ref() == Some(&run.owner);
            let older = marked_at < view.registered_at(owner) && self.fires >= aged;
            let of_earlier_life = named && older;
            let owner = owner.clone();
            (overtaken || of_earlier_life).then_some(Leftover {
                item: *item,
                marked_at,
                owner,
                of_earlier_life,
            })
        };
        standing().filter_map(leftover).collect()
    }

    /// Notes a scheduled fire: items of Java instances are run by them, unless all items are about to be assigned anew.
    pub(crate) fn fire(&mut self, view: &JobView, at: FireTime) {
        if !view.is_mixed() {
            return;
        }
        self.fires += 1;
        if view.awaits_foreign_resharding() && !mutant::is(Mutant::HeldBackAccounted) {
            self.held_back = Some(at);
            return;
        }
        self.account(view, at);
    }

    fn account(&mut self, view: &JobView, at: FireTime) {
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
        } else if self.runs.is_empty() && self.lost.is_empty() && self.held_back.is_none() {
            return;
        }
        if !view.awaits_foreign_resharding()
            && let Some(at) = self.held_back.take()
            && !mutant::is(Mutant::HeldBackForgotten)
        {
            self.account(view, at);
        }
        let Self { runs, lost, .. } = self;
        for (item, run) in runs.iter_mut().filter(|(_, run)| run.ended.is_none()) {
            run.ended = (!view.item(*item).running).then_some(now);
        }
        runs.retain(|item, run| {
            let just_now = |ended| now <= ended + GRACE && !mutant::is(Mutant::GraceForgotten);
            let lately = run.ended.is_none_or(just_now) || mutant::is(Mutant::GraceEndless);
            let gone = !view.is_registered(&run.owner);
            if lately && gone && (!run.lasting || mutant::is(Mutant::LastingRunsLost)) {
                let left = Interrupted { owner: run.owner.clone(), fire: run.fire };
                lost.insert(*item, left);
            }
            lately && !gone
        });
        let open = |item, run: &Interrupted| is_open(view, item, run.fire);
        lost.retain(|item, run| {
            open(*item, run) && !view.item(*item).failover || mutant::is(Mutant::LostRunsKept)
        });
    }

    fn observe_marks(&mut self, view: &JobView, fire: Option<FireTime>) {
        for (item, shown) in view.items().filter(|(_, shown)| shown.running) {
            let ours = shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy());
            let owner = view.java_owner(shown);
            let owner = owner.filter(|_| !ours || mutant::is(Mutant::OursTakenForJava));
            let (Some(owner), Some(fire)) = (owner, fire) else { continue };
            if !mutant::is(Mutant::JavaMarksUnaccounted) {
                let accounted = self.accounted.entry(item).or_insert(fire);
                *accounted = fire.max(*accounted);
            }
            let marked_at = shown.marked_at;
            let same = |run: &ForeignRun| run.ended.is_none() && run.marked_at == marked_at;
            if !self.runs.get(&item).is_some_and(same) {
                let (owner, lasting) = (owner.clone(), shown.lasting.is_some());
                let (fires, ended) = (self.fires, None);
                let run = ForeignRun { owner, fire, lasting, marked_at, fires, ended };
                self.runs.insert(item, run);
            }
        }
    }
}

/// Returns true if nothing that is recorded of an item tells what has come of this fire.
fn is_open(view: &JobView, item: ShardingItem, fire: FireTime) -> bool {
    let ledger = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
    ledger.is_none_or(|ledger| ledger.is_idle() && ledger.last_fire < Some(fire))
}
