//! Inference of the runs of Java instances. They claim nothing and write no records, so that their
//! ended and unfinished runs can only be inferred from their marks.
//!
//! | file | content |
//! |---|---|
//! | `observe` | fires, and marks that begin and vanish |
//! | `leftover` | marks of runs that their instances cannot be running any more |

mod leftover;
mod observe;

use std::collections::BTreeMap;
use std::time::Duration;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use crate::view::JobView;
use crate::view::item::ItemView;
use crate::{FireTime, LedgerState, Run};

pub(crate) use self::observe::near_fire;

/// Minimum time between the end of a run's mark and that of its instance by which the run counts as
/// ended. If the mark vanishes later, the session took both, and the run was interrupted. Within
/// this time the outcome is unknown.
const GRACE: Duration = Duration::from_millis(500);

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
        if self.taken_over {
            shown.marks.failover.as_ref() == Some(&self.owner)
        } else {
            shown.marks.shows_run()
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

/// Observations of one instance about the Java instances of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Inference {
    /// The last fire of each item that came while a Java instance owned it.
    accounted: BTreeMap<ShardingItem, FireTime>,
    /// A fire that came during an announced resharding. The assignment shows afterwards whose it
    /// is.
    postponed: Option<FireTime>,
    /// A postponed fire after the end of the announcement, and the time on the monotonic clock
    /// until which Java instances may not have seen that end.
    resumed: Option<(FireTime, Duration)>,
    /// Java instances that have shown no mark since the last fire, with their items and the fires
    /// accounted for before. The last fire may be taken back from them.
    tentative: BTreeMap<InstanceId, Vec<(ShardingItem, Option<FireTime>)>>,
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
    pub(crate) fn postponed(&self) -> Option<FireTime> {
        self.postponed
    }

    /// Returns a fire that Java instances postpone, or have postponed and may not have begun yet.
    pub(crate) fn may_still_begin(&self) -> Option<FireTime> {
        let resumed = self.resumed.map(|(fire, _)| fire);
        self.postponed.or(resumed)
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
        let orphan = orphan(shown)?;
        if shown.marks.failover.is_some() {
            return None;
        }
        if view.may_have_lasting_marks() {
            return view.left_unfinished_by(shown).filter(|taker| **taker != orphan.holder);
        }
        let lost = self.lost.get(&item)?;
        (lost.taken_over && !shown.queued).then_some(&lost.owner)
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
        let resumed = self.resumed.map(|(_, until)| until);
        ended.chain(resumed).min()
    }
}

/// Returns the orphaned run of an item, as its record shows it.
fn orphan(shown: &ItemView) -> Option<&Run> {
    match &shown.record()?.state {
        LedgerState::Orphan(run) => Some(run),
        LedgerState::Idle | LedgerState::Running(_) | LedgerState::Retired => None,
    }
}

/// Returns true if the record of an item shows neither a run in progress nor an end for this fire.
fn is_open(view: &JobView, item: ShardingItem, fire: FireTime) -> bool {
    let ledger = view.item(item).record();
    ledger.is_none_or(|ledger| ledger.is_idle() && ledger.last_fire < Some(fire))
}
