//! Inference of the runs of Java instances. They claim nothing and write no records, so that their
//! ended and unfinished runs can only be inferred from their marks.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use crate::local::fires::Due;
use crate::view::JobView;
use crate::view::item::ItemView;
use crate::{FireTime, LedgerState, Now, Run};

/// Minimum time between the end of a run's mark and that of its instance by which the run counts as
/// ended. If the mark vanishes later, the session took both, and the run was interrupted. Within
/// this time the outcome is unknown.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum lateness of a Java instance for a fire, and maximum delay of its view.
const LAG: Duration = Duration::from_millis(250);

/// Interval at which a Java instance that postpones a fire reads the announcement again.
const POLL: Duration = Duration::from_millis(100);

/// A run of a Java instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct JavaRun {
    /// The Java instance that runs the item, as its owner or as the taker of an orphaned run.
    owner: InstanceId,
    taken_over: bool,
    fire: FireTime,
    /// The mark outlasts the session, so that the mark alone shows an unfinished run.
    lasting: bool,
    /// Revision at which the mark was created.
    marked_at: Option<Revision>,
    /// Number of fires that this instance had seen when it saw the mark.
    fires: u64,
    /// Time on the monotonic clock at which the mark vanished.
    ended: Option<Duration>,
}

impl JavaRun {
    /// Returns true if the mark exists. The mark of a takeover exists from before the run's
    /// beginning until after its end.
    fn is_shown(&self, shown: &ItemView) -> bool {
        match self.taken_over {
            true => shown.marks.failover.as_ref() == Some(&self.owner),
            false => shown.marks.shows_run(),
        }
    }
}

/// A run that a lost Java instance left unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InterruptedRun {
    pub(crate) owner: InstanceId,
    pub(crate) fire: FireTime,
    taken_over: bool,
}

/// Mark of a run that its registered Java instance cannot be running any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leftover {
    pub(crate) item: ShardingItem,
    pub(crate) marked_at: Option<Revision>,
    owner: InstanceId,
    /// An earlier incarnation with the same id created the mark. Otherwise this one did, for an
    /// earlier fire than its other marks.
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

/// Observations of one instance about the Java instances of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inference {
    /// The last fire of each item that came while a Java instance owned it.
    accounted: BTreeMap<ShardingItem, FireTime>,
    /// A fire that came during an announced resharding. The assignment shows afterwards whose it
    /// is.
    held_back: Option<FireTime>,
    /// A postponed fire after the end of the announcement, and the time on the monotonic clock
    /// until which Java instances may not have seen that end.
    let_go: Option<(FireTime, Duration)>,
    /// Items for which the last fire counts as run, with their Java owner and the fire accounted
    /// for before.
    before_fire: BTreeMap<ShardingItem, (InstanceId, Option<FireTime>)>,
    /// Number of fires that came while Java instances took part.
    fires: u64,
    runs: BTreeMap<ShardingItem, JavaRun>,
    /// Runs whose marks vanished with the session, so that no node shows them.
    lost: BTreeMap<ShardingItem, InterruptedRun>,
}

impl Inference {
    /// Returns true if no observation is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        let no_fire = self.accounted.is_empty() && self.may_still_begin().is_none();
        no_fire && self.runs.is_empty() && self.lost.is_empty()
    }

    /// Returns the last fire of an item that came while a Java instance owned it.
    pub(crate) fn accounted(&self, item: ShardingItem) -> Option<FireTime> {
        self.accounted.get(&item).copied()
    }

    /// Returns the fire that came during the announced resharding, until the announcement ends.
    pub(crate) fn held_back(&self) -> Option<FireTime> {
        self.held_back
    }

    /// Returns a fire that Java instances postpone, or have postponed and may not have begun yet.
    pub(crate) fn may_still_begin(&self) -> Option<FireTime> {
        let let_go = self.let_go.map(|(fire, _)| fire);
        self.held_back.or(let_go)
    }

    /// Returns true if a Java instance has owned an item at a fire that this instance saw.
    pub(crate) fn is_known(&self) -> bool {
        !self.accounted.is_empty()
    }

    /// Returns the run of an item that a lost Java instance left unfinished. `fire` is the last
    /// fire seen.
    ///
    /// A lasting mark shows the run as long as the mark exists; other marks vanished with the
    /// session. If another instance has taken the run over since, it is no longer unfinished.
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
        let taken = shown.marks.failover.is_some();
        (open && !taken).then_some(run)
    }

    /// Returns the items with runs whose marks vanished with the session.
    pub(crate) fn lost_items(&self) -> impl Iterator<Item = ShardingItem> {
        self.lost.keys().copied()
    }

    /// Returns the lost Java instance that took the item's orphaned run over and did not end it. It
    /// removed the queue entry, and no Java instance restores that entry.
    pub(crate) fn lost_taker<'a>(
        &'a self,
        view: &'a JobView,
        item: ShardingItem,
    ) -> Option<&'a InstanceId> {
        let shown = view.item(item);
        let orphan = orphan(shown).filter(|_| shown.marks.failover.is_none())?;
        if view.may_have_lasting_marks() {
            return view.left_unfinished_by(shown).filter(|taker| **taker != orphan.holder);
        }
        let lost = self.lost.get(&item).filter(|run| run.taken_over && !shown.queued);
        lost.map(|run| &run.owner)
    }

    /// Returns true if a Java instance has taken the item's run over, and it is unknown yet if the
    /// run has ended.
    pub(crate) fn is_undecided(&self, item: ShardingItem) -> bool {
        let waits = |run: &JavaRun| run.taken_over && !run.lasting;
        self.runs.get(&item).is_some_and(waits)
    }

    /// Returns the next time on the monotonic clock at which an outcome is decided.
    pub(crate) fn next_decision(&self) -> Option<Duration> {
        let taken_over = self.runs.values().filter(|run| run.taken_over && !run.lasting);
        let ended = taken_over.filter_map(|run| Some(run.ended? + GRACE));
        let let_go = self.let_go.map(|(_, until)| until);
        ended.chain(let_go).min()
    }

    /// Returns the leftover marks of registered Java instances.
    ///
    /// A Java instance runs one fire at a time, marks its items when it begins, and never begins a
    /// marked item. So a mark stays forever if it is older than another mark of its instance, or
    /// than the instance. Marks of one fire may be seen before and after the fire itself, so that
    /// only a distance of two fires is proof.
    pub(crate) fn leftovers(&self, view: &JobView) -> Vec<Leftover> {
        let own = |run: &JavaRun| run.ended.is_none() && !run.taken_over;
        let standing = || self.runs.iter().filter(move |(_, run)| own(run));
        let leftover = |(item, run): (&ShardingItem, &JavaRun)| {
            let marked_at = run.marked_at;
            let (owner, aged) = (&run.owner, run.fires + 2);
            let overtaken = standing().any(|(_, o)| o.owner == *owner && o.fires >= aged);
            let named = view.item(*item).marks.lasting_holder() == Some(&run.owner);
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

    /// Notes a scheduled fire. Java instances run it for their items, unless a resharding is
    /// announced.
    pub(crate) fn fire(&mut self, view: &JobView, at: FireTime) {
        self.let_go = None;
        self.before_fire.clear();
        if !view.is_mixed() {
            return;
        }
        self.fires += 1;
        // Java instances postpone this fire until the announcement ends.
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

    /// Takes the last fire back from Java instances that show no mark since. A Java instance that
    /// is late for the fire may see an announcement right after it first, and postpones the fire.
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

    /// Returns true if the instance has a mark, or had one until lately. Marks may be seen before
    /// their fire.
    fn may_have_begun(&self, owner: &InstanceId, fire: FireTime, now: Now) -> bool {
        let lately = |ended: Duration| now.mono < ended + LAG;
        let begun = |run: &JavaRun| run.fire == fire || run.ended.is_none_or(lately);
        self.runs.values().any(|run| run.owner == *owner && !run.taken_over && begun(run))
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
            // A Java instance sees the end of the announcement after one poll and the delay of its
            // view.
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
            // The mark of the lost taker itself may vanish after its instance node.
            let taken = shown.marks.failover.as_ref().is_some_and(|taker| *taker != run.owner);
            open && !taken
        });
    }

    fn observe_marks(&mut self, view: &JobView, fire: Option<FireTime>) {
        let marked = |shown: &ItemView| shown.marks.shows_run() || shown.marks.failover.is_some();
        for (item, shown) in view.restless_items().filter(|(_, shown)| marked(shown)) {
            if shown.marks.failover.is_some() {
                self.observe_takeover(view, item, shown, fire);
                continue;
            }
            if !shown.marks.shows_run() {
                continue;
            }
            // A busy record shows that a Rust instance runs the item, whose mark looks the same.
            let is_rust_run = shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy());
            let owner = view.java_owner(shown);
            let owner = owner.filter(|_| !is_rust_run);
            let (Some(owner), Some(fire)) = (owner, fire) else { continue };
            let accounted = self.accounted.entry(item).or_insert(fire);
            *accounted = fire.max(*accounted);
            let marked_at = shown.marks.marked_at();
            let same = |run: &JavaRun| run.ended.is_none() && run.marked_at == marked_at;
            if !self.runs.get(&item).is_some_and(same) {
                let (owner, lasting) = (owner.clone(), shown.marks.lasting_holder().is_some());
                let (fires, ended, taken_over) = (self.fires, None, false);
                let run = JavaRun { owner, taken_over, fire, lasting, marked_at, fires, ended };
                self.runs.insert(item, run);
            }
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
    let since = |fire: FireTime| now.wall_ms - fire.0;
    let is_near = |since: &i64| (-lag_ms()..lag_ms()).contains(since);
    let since = [Some(at), next].into_iter().flatten().map(since).find(is_near)?;
    u64::try_from(lag_ms() - since).ok().map(Duration::from_millis)
}

fn lag_ms() -> i64 {
    i64::try_from(LAG.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the orphaned run of an item, as its record shows it.
fn orphan(shown: &ItemView) -> Option<&Run> {
    match &shown.ledger.as_ref()?.value.state {
        LedgerState::Orphan(run) => Some(run),
        LedgerState::Idle | LedgerState::Running(_) | LedgerState::Retired => None,
    }
}

/// Returns true if the record of an item shows neither a run in progress nor an end for this fire.
fn is_open(view: &JobView, item: ShardingItem, fire: FireTime) -> bool {
    let ledger = view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
    ledger.is_none_or(|ledger| ledger.is_idle() && ledger.last_fire < Some(fire))
}
