//! What is seen of Java instances: they claim nothing and write no records, so that what they have run, and what they
//! have left unfinished, can only be read off their marks.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use crate::local::Due;
use crate::view::JobView;
use crate::view::items::ItemView;
use crate::{FireTime, LedgerState, Now, Run};

/// A run whose mark has vanished this long before its instance did has ended; one whose mark has vanished later was
/// interrupted, because both go with the session and are told apart from each other. So nobody knows before what has become
/// of a run.
const GRACE: Duration = Duration::from_millis(500);

/// How late a Java instance may be for a fire, and how far behind in what it sees of the registry.
const LAG: Duration = Duration::from_millis(250);

/// How often a Java instance that holds a fire back looks whether it still has to.
const POLL: Duration = Duration::from_millis(100);

/// A run of a Java instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct JavaRun {
    /// Who runs the item: it has it, or has taken it over.
    owner: InstanceId,
    taken_over: bool,
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

impl JavaRun {
    /// Returns true if its mark is there: that it was taken over stands from before its beginning until after its end.
    fn is_shown(&self, shown: &ItemView) -> bool {
        match self.taken_over {
            true => shown.failover.as_ref() == Some(&self.owner),
            false => shown.running,
        }
    }
}

/// A run that a Java instance has left unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InterruptedRun {
    pub(crate) owner: InstanceId,
    pub(crate) fire: FireTime,
    taken_over: bool,
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
pub(crate) struct Inference {
    /// The last fire of each item that came while a Java instance had it.
    accounted: BTreeMap<ShardingItem, FireTime>,
    /// A fire that came while items were about to be assigned anew: whose it is shows afterwards.
    held_back: Option<FireTime>,
    /// A fire that was held back, and until when Java instances may not have seen that items are assigned, on the monotonic clock.
    let_go: Option<(FireTime, Duration)>,
    /// Of the items for which the last fire counts as run: by whom, and what was accounted for before.
    before_fire: BTreeMap<ShardingItem, (InstanceId, Option<FireTime>)>,
    /// How many fires have come while Java instances took part.
    fires: u64,
    runs: BTreeMap<ShardingItem, JavaRun>,
    /// Runs whose mark has gone with the session: nothing in the registry tells of them.
    lost: BTreeMap<ShardingItem, InterruptedRun>,
}

impl Inference {
    /// Returns true if nothing of Java instances is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        let no_fire = self.accounted.is_empty() && self.may_still_begin().is_none();
        no_fire && self.runs.is_empty() && self.lost.is_empty()
    }

    /// Returns the last fire of an item that came while a Java instance had it.
    pub(crate) fn accounted(&self, item: ShardingItem) -> Option<FireTime> {
        self.accounted.get(&item).copied()
    }

    /// Returns the fire that came while items were about to be assigned anew, as long as they are.
    pub(crate) fn held_back(&self) -> Option<FireTime> {
        self.held_back
    }

    /// Returns a fire that Java instances hold back, or have been told to hold back no more but perhaps not seen that yet.
    pub(crate) fn may_still_begin(&self) -> Option<FireTime> {
        let let_go = self.let_go.map(|(fire, _)| fire);
        self.held_back.or(let_go)
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
    ) -> Option<InterruptedRun> {
        let shown = view.item(item);
        let left = || {
            let owner = view.left_unfinished_by(shown)?.clone();
            Some(InterruptedRun { owner, fire: self.accounted(item).or(fire)?, taken_over: false })
        };
        let run = self.lost.get(&item).cloned().or_else(left)?;
        let open = is_open(view, item, run.fire);
        let taken = shown.failover.is_some();
        (open && !taken).then_some(run)
    }

    /// Returns the items with runs whose mark has gone with the session.
    pub(crate) fn lost_items(&self) -> impl Iterator<Item = ShardingItem> {
        self.lost.keys().copied()
    }

    /// Returns the Java instance that is gone and has not ended what it has taken over, of an item whose record still waits
    /// for somebody: it took the item out of the queue, and nobody else will put it back.
    pub(crate) fn lost_taker<'a>(
        &'a self,
        view: &'a JobView,
        item: ShardingItem,
    ) -> Option<&'a InstanceId> {
        let shown = view.item(item);
        let orphan = orphan(shown).filter(|_| shown.failover.is_none())?;
        if view.may_have_lasting_marks() {
            return view.left_unfinished_by(shown).filter(|taker| **taker != orphan.holder);
        }
        let lost = self.lost.get(&item).filter(|run| run.taken_over && !shown.queued);
        lost.map(|run| &run.owner)
    }

    /// Returns true if a Java instance has taken an item over, and nobody knows yet whether it has ended it.
    pub(crate) fn is_undecided(&self, item: ShardingItem) -> bool {
        let waits = |run: &JavaRun| run.taken_over && !run.lasting;
        self.runs.get(&item).is_some_and(waits)
    }

    /// Returns when the next one is decided, on the monotonic clock.
    pub(crate) fn next_decision(&self) -> Option<Duration> {
        let taken_over = self.runs.values().filter(|run| run.taken_over && !run.lasting);
        let ended = taken_over.filter_map(|run| Some(run.ended? + GRACE));
        let let_go = self.let_go.map(|(_, until)| until);
        ended.chain(let_go).min()
    }

    /// Returns the marks that living Java instances have left behind.
    ///
    /// A Java instance runs one fire at a time, marks its items when it begins, and never begins an item that has a mark: a
    /// mark for an earlier fire than that of another one, or of an earlier life with the same id, is there for good. Marks of
    /// one fire may be seen before and after the fire itself, so that two fires tell for certain.
    pub(crate) fn leftovers(&self, view: &JobView) -> Vec<Leftover> {
        let own = |run: &JavaRun| run.ended.is_none() && !run.taken_over;
        let standing = || self.runs.iter().filter(move |(_, run)| own(run));
        let leftover = |(item, run): (&ShardingItem, &JavaRun)| {
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
        self.let_go = None;
        self.before_fire.clear();
        if !view.is_mixed() {
            return;
        }
        self.fires += 1;
        if view.is_resharding_announced() {
            self.held_back = Some(at);
            return;
        }
        let of_java = view.items().filter_map(|(item, shown)| {
            Some((item, (view.java_owner(shown)?.clone(), self.accounted(item))))
        });
        let monitored = view.config().is_some_and(|config| config.monitor_execution);
        self.before_fire = of_java.filter(|_| monitored).collect();
        self.account(view, at);
    }

    /// What is announced right after a fire a Java instance may see before it gets to it, and hold it back. It marks all its items
    /// when it begins: if it has shown no mark since, the fire does not count as run.
    fn doubt_last_fire(&mut self, at: FireTime, now: Now) {
        if now.wall_ms - at.0 >= lag_ms() {
            return;
        }
        for (item, (owner, before)) in std::mem::take(&mut self.before_fire) {
            if self.may_have_begun(&owner, at, now) {
                continue;
            }
            match before {
                Some(before) => self.accounted.insert(item, before),
                None => self.accounted.remove(&item),
            };
            self.held_back = Some(at);
        }
    }

    /// Returns true if an instance shows a run, or did lately. Marks of a fire may be seen before the fire itself.
    fn may_have_begun(&self, owner: &InstanceId, fire: FireTime, now: Now) -> bool {
        let lately = |ended: Duration| now.mono < ended + LAG;
        let begun = |run: &JavaRun| run.fire == fire || run.ended.is_none_or(lately);
        self.runs.values().any(|run| run.owner == *owner && !run.taken_over && begun(run))
    }

    fn account(&mut self, view: &JobView, at: FireTime) {
        let of_java = view.items().filter(|(_, item)| view.java_owner(item).is_some());
        self.accounted.extend(of_java.map(|(item, _)| (item, at)));
    }

    /// Notes which runs of Java instances begin, end, and vanish with their instance. `fire` is the last one that came.
    ///
    /// A Java instance marks all its items when it begins a fire, and takes the marks away when the last of them has
    /// ended: nobody can tell which of them it had finished before.
    pub(crate) fn observe(&mut self, view: &JobView, fire: Option<FireTime>, now: Now) {
        self.let_go = self.let_go.filter(|(_, until)| now.mono < *until);
        if view.is_mixed() {
            self.observe_marks(view, fire);
            if let Some(at) = fire.filter(|_| view.is_resharding_announced()) {
                self.doubt_last_fire(at, now);
            }
        } else if self.runs.is_empty() && self.lost.is_empty() && self.held_back.is_none() {
            return;
        }
        if !view.is_resharding_announced()
            && let Some(at) = self.held_back.take()
        {
            self.account(view, at);
            self.let_go = Some((at, now.mono + LAG + POLL));
        }
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
        lost.retain(|item, run| {
            let shown = view.item(*item);
            let waits = run.taken_over && orphan(shown).is_some() && !shown.queued;
            let open = is_open(view, *item, run.fire) || waits;
            // Its own mark may go after the node of its instance.
            let taken = shown.failover.as_ref().is_some_and(|taker| *taker != run.owner);
            open && !taken
        });
    }

    fn observe_marks(&mut self, view: &JobView, fire: Option<FireTime>) {
        let marked = |shown: &ItemView| shown.running || shown.failover.is_some();
        for (item, shown) in view.restless_items().filter(|(_, shown)| marked(shown)) {
            if shown.failover.is_some() {
                self.observe_takeover(view, item, shown, fire);
                continue;
            }
            if !shown.running {
                continue;
            }
            let ours = shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy());
            let owner = view.java_owner(shown);
            let owner = owner.filter(|_| !ours);
            let (Some(owner), Some(fire)) = (owner, fire) else { continue };
            let accounted = self.accounted.entry(item).or_insert(fire);
            *accounted = fire.max(*accounted);
            let marked_at = shown.marked_at;
            let same = |run: &JavaRun| run.ended.is_none() && run.marked_at == marked_at;
            if !self.runs.get(&item).is_some_and(same) {
                let (owner, lasting) = (owner.clone(), shown.lasting.is_some());
                let (fires, ended, taken_over) = (self.fires, None, false);
                let run = JavaRun { owner, taken_over, fire, lasting, marked_at, fires, ended };
                self.runs.insert(item, run);
            }
        }
    }

    /// Notes who runs what it has taken over, for which fire: that of the record that waits for somebody, or, where a Java
    /// instance had left it unfinished, the last one that came while it had the item.
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
            let (owner, fires, marked_at) = (taker.clone(), self.fires, shown.marked_at);
            let (taken_over, lasting, ended) = (true, view.may_have_lasting_marks(), None);
            let run = JavaRun { owner, taken_over, fire, lasting, marked_at, fires, ended };
            self.runs.insert(item, run);
        }
    }
}

/// Returns how long a fire is near that is about to come, or has just come. A job that fires that often would leave no time in
/// between: it is as if there were none.
pub(crate) fn near_fire(due: &Due, now: Now) -> Option<Duration> {
    let (at, next) = (due.at, due.next);
    if next.is_some_and(|next| next.0 - at.0 < 3 * lag_ms()) {
        return None;
    }
    let since = |fire: FireTime| now.wall_ms - fire.0;
    let is_near = |since: &i64| (-lag_ms()..lag_ms()).contains(since);
    let since = [Some(at), next].into_iter().flatten().map(since).find(is_near)?;
    u64::try_from(lag_ms() - since).ok().map(Duration::from_millis)
}

fn lag_ms() -> i64 {
    i64::try_from(LAG.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the run of an item that its record says was left unfinished.
fn orphan(shown: &ItemView) -> Option<&Run> {
    match &shown.ledger.as_ref()?.value.state {
        LedgerState::Orphan(run) => Some(run),
        LedgerState::Idle | LedgerState::Running(_) | LedgerState::Retired => None,
    }
}

/// Returns true if nothing that is recorded of an item tells what has come of this fire.
fn is_open(view: &JobView, item: ShardingItem, fire: FireTime) -> bool {
    let ledger = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
    ledger.is_none_or(|ledger| ledger.is_idle() && ledger.last_fire < Some(fire))
}
