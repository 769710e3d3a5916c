//! Takeover: the instances with the least load take orphaned runs over.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::limits::Limits;
use super::permits::Permits;
use super::sweep::LostRun;
use super::{Context, parameter_bytes};
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{Claimant, Duty, JobConfig, Ledger, RunSource, ServerState, Versioned, server_of};

/// Time for which orphaned runs are left to the instances with the least load. Then every instance
/// takes a share.
pub(crate) const ORPHAN_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) const REASON: &str = "orphaned runs wait";

/// Takes orphaned runs over: claim and takeover are one write.
///
/// The instances with the least load share the orphaned runs, each by its own view. Runs can wait
/// all the same, because every instance is busy or one only seems idle. After [`ORPHAN_PATIENCE`]
/// all instances share them.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    take(cx, |_| true, |orphans| share(cx, orphans))
}

/// Takes over a range of the waiting orphaned runs. `share` gets their number and returns the
/// range.
pub(crate) fn take(
    cx: &Context<'_>,
    may_be_taken: impl Fn(&ItemView) -> bool,
    share: impl Fn(usize) -> Option<Range<usize>>,
) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.fails_over())?;
    let by = cx.claimant()?;
    let orphans: Vec<_> = waiting(cx, config).filter(|(_, view, _)| may_be_taken(view)).collect();
    if orphans.is_empty() {
        return None;
    }
    let mine = &orphans[share(orphans.len())?];
    let mut limits = Limits::of(cx);
    let taken = mine.iter().filter_map(|(item, view, ledger)| {
        let next = taken_over(&by, ledger)?;
        let next = limits.grant(next)?;
        Some(steps_of(cx, *item, view, ledger, next))
    });
    let steps = cx.within_one_plan(taken, |steps| parameter_bytes(steps)).flatten().collect();
    Plan::as_starter(Duty::Takeover, cx, REASON)?.steps(limits.recorded(cx, steps)).if_any()
}

/// Returns the orphaned runs that can be taken over. The marks of the former run vanish with its
/// session and block the item until then.
fn waiting<'a>(
    cx: &Context<'a>,
    config: &JobConfig,
) -> impl Iterator<Item = (ShardingItem, &'a ItemView, &'a Versioned<Ledger>)> {
    let can_be_taken = move |(item, view): &(ShardingItem, &ItemView)| {
        config.has_item(*item) && !view.marks.block_takeover() && !runs_here(cx, *item)
    };
    let orphans = cx.view.slots_with(Attention::Orphaned).filter(can_be_taken);
    let recorded = orphans.filter_map(|(item, view)| Some((item, view, view.ledger.as_ref()?)));
    // The leader ends a run whose cancellation is requested.
    recorded.filter(|(_, _, ledger)| ledger.value.may_continue())
}

/// Returns true if code of a former incarnation may still run the item in this process.
fn runs_here(cx: &Context<'_>, item: ShardingItem) -> bool {
    cx.local.runs.has(item)
}

/// Lost runs that the leader takes over in the sweep that finds them. This saves the time until
/// another instance sees them in the queue.
pub(crate) struct AtOnce {
    /// The records of the runs once they are taken over.
    share: BTreeMap<ShardingItem, Ledger>,
}

impl AtOnce {
    /// Returns this instance's share of the runs that are found now, if it takes any.
    pub(crate) fn of<'r, 'a: 'r>(
        cx: &Context<'_>,
        found: impl Iterator<Item = &'r LostRun<'a>>,
    ) -> Option<Self> {
        // A queue entry or a failover mark in a stale view may belong to an earlier takeover of the
        // item.
        let unmarked = |view: &ItemView| !view.queued && view.marks.failover.is_none();
        let free = found.filter(|run| unmarked(run.view) && !runs_here(cx, run.item));
        let free: Vec<_> = free.collect();
        // Computing the loads of the other instances is expensive, and usually no run is lost.
        if free.is_empty() {
            return None;
        }
        let config = cx.startable()?;
        // The takeover of a queued run counts it as a start, and as a run of the group.
        if !config.fails_over() || config.start_rate.is_some() || config.group.is_some() {
            return None;
        }
        let (by, mut permits) = (cx.claimant()?, Permits::of(cx));
        let mine = free[share(cx, free.len())?].iter();
        let granted =
            mine.filter_map(|run| Some((run.item, permits.grant(taken_over(&by, run.ledger)?)?)));
        let share: BTreeMap<_, _> = granted.collect();
        // A run without a permit waits in the queue, as those beyond the share do.
        (!share.is_empty()).then_some(Self { share })
    }

    /// Returns the check that the failover queue never had an entry, if the view shows no queue. An
    /// instance that the view does not show yet may have queued a run.
    ///
    /// If the queue exists, the transaction checks the entry of each item instead. Below a missing
    /// parent, each such check would cost ZooKeeper a conflict, a read of the parents and another
    /// transaction.
    pub(crate) fn nothing_was_ever_queued(cx: &Context<'_>) -> Option<Step> {
        if cx.view.has_failover_root() {
            return None;
        }
        Some(Step::absent(NodeKind::FailoverRoot))
    }

    /// Returns the steps that take the run over, if it is in the share.
    pub(crate) fn take(&self, cx: &Context<'_>, run: &LostRun<'_>) -> Option<Vec<Step>> {
        let next = self.share.get(&run.item)?.clone();
        let mut steps = steps_of(cx, run.item, run.view, run.ledger, next);
        if cx.view.has_failover_root() {
            steps.insert(0, Step::absent(NodeKind::QueuedItem(run.item)));
        }
        Some(steps)
    }
}

/// Returns the record of a run after its takeover. A run in progress is orphaned and claimed again
/// in one write.
fn taken_over(by: &Claimant, ledger: &Versioned<Ledger>) -> Option<Ledger> {
    let orphaned = ledger.value.orphan();
    orphaned.as_ref().unwrap_or(&ledger.value).take_over(by)
}

/// Returns the steps of a takeover. `next` is the record after it.
fn steps_of(
    cx: &Context<'_>,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
    next: Ledger,
) -> Vec<Step> {
    let permits: Vec<_> = Step::take_permits(&cx.view.layout().job(), item, &next).collect();
    let mut steps = vec![
        Step::set_ledger(item, Some(ledger.version), next),
        Step::mark_running(item, cx.me.clone()),
        Step::mark_failover(item, cx.me.clone()),
    ];
    steps.extend(permits);
    if view.queued {
        steps.push(Step::dequeue(item));
    }
    steps
}

/// Load of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    Idle,
    /// All of its runs are takeovers.
    Takeovers,
    Busy,
}

impl Load {
    /// Returns the load of one run.
    fn of(source: RunSource) -> Self {
        match source {
            RunSource::Failover => Self::Takeovers,
            RunSource::Normal | RunSource::Misfire | RunSource::Manual | RunSource::Backfill => {
                Self::Busy
            }
        }
    }

    fn here(cx: &Context<'_>) -> Self {
        let runs = cx.local.runs.iter().map(|(_, run)| Self::of(run.source));
        runs.max().unwrap_or(Self::Idle)
    }
}

/// Returns true if orphaned runs have waited for [`ORPHAN_PATIENCE`] since this instance last took
/// one over.
pub(crate) fn is_impatient(cx: &Context<'_>) -> bool {
    cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono)
}

/// Returns the places of the orphaned runs that this instance takes over: an equal share, and at
/// least one run if it is idle or the runs have waited for [`ORPHAN_PATIENCE`].
fn share(cx: &Context<'_>, orphans: usize) -> Option<Range<usize>> {
    let impatient = is_impatient(cx);
    let loads = loads(cx);
    let least = loads.values().min().filter(|least| **least < Load::Busy);
    // Busy instances take part only after the patience has ended.
    let most = if impatient { Load::Busy } else { *least? };
    let takers: Vec<_> =
        loads.iter().filter(|(_, load)| **load <= most).map(|(id, _)| *id).collect();
    let place = takers.iter().position(|id| *id == cx.me)?;
    let from = place * orphans / takers.len();
    let end_of_share = (place + 1) * orphans / takers.len();
    // Equal shares of few runs round down to none, and no instance would take them.
    let takes_any = impatient || Load::here(cx) == Load::Idle;
    let to = if takes_any { end_of_share.max(from + 1) } else { end_of_share };
    (to <= orphans && from < to).then_some(from..to)
}

/// Returns the loads of the instances that could take runs over, as the view shows them.
fn loads<'a>(cx: &Context<'a>) -> BTreeMap<&'a InstanceId, Load> {
    let paused = |id: &InstanceId| {
        let server = server_of(id).and_then(|ip| cx.view.server_state(&ip));
        server == Some(ServerState::Paused)
    };
    let able = |id: &&InstanceId| cx.view.is_available(id) && !paused(id);
    let mut loads: BTreeMap<_, _> =
        cx.view.instances().filter(able).map(|id| (id, Load::Idle)).collect();
    let runs = cx.view.restless_slots().filter_map(|(_, view)| view.record()?.running());
    for run in runs {
        if let Some(load) = loads.get_mut(&run.holder) {
            *load = (*load).max(Load::of(run.source));
        }
    }
    if let Some(load) = loads.get_mut(cx.me) {
        *load = Load::here(cx);
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, by, check, idle, item, running_by, to_be_cancelled};
    use super::*;
    use crate::local::Local;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn least_loaded_instance_takes_orphaned_run_over() {
        let waiting =
            || Scene::cluster(2, 2).ledger(1, orphan()).marked(&NodeKind::QueuedItem(item(1)));
        let since = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let patient = |i, outcome| waiting().run_here(i, outcome).local(since);
        let taken = "takeover: orphaned runs wait\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/1/running: 10.0.0.1@-@1\n  create sharding/1/failover: 10.0.0.1@-@1\n  delete leader/failover/items/1";
        let rows = vec![
            ("instance is idle", waiting(), taken),
            ("another instance owns the item", waiting().owned(1, 1), taken),
            ("instance is busy", waiting().running(0, 1).run_here(0, None), "nothing"),
            ("instance is busy, and the run has waited for long", patient(0, None), taken),
            ("code of a former incarnation still runs the item here", patient(1, None), "nothing"),
            ("process is paused", waiting().local(|local| local.paused = true), "nothing"),
            ("server is disabled", waiting().server(1, "DISABLED"), "nothing"),
            (
                "item is beyond the number of items",
                waiting().configure(|c| c.sharding_total_count = 1),
                "nothing",
            ),
            (
                "its cancellation is requested",
                waiting().ledger(1, to_be_cancelled(orphan())),
                "nothing",
            ),
            ("no failover", waiting().configure(|c| c.failover = false), "nothing"),
            (
                "mark of the former run is left",
                waiting().marked(&NodeKind::Running(item(1))),
                "nothing",
            ),
        ];
        check(Duty::Takeover, rows);
    }

    #[test]
    fn takers_share_orphaned_runs() {
        let wait = || {
            let queued = |scene: Scene, i| scene.marked(&NodeKind::QueuedItem(item(i)));
            (0..4).fold(Scene::cluster(6, 2), |scene, i| queued(scene.ledger(i, orphan()), i))
        };
        let first = || {
            let served =
                |scene: Scene, i| scene.ledger(i, idle()).without(&NodeKind::QueuedItem(item(i)));
            (1..4).fold(wait(), served)
        };
        let taken_over = |scene: Scene, i, n| scene.ledger(i, orphan().take_over(&by(n)).unwrap());
        let takes_over = |local: &mut Local| {
            local.runs.change_all(|run| run.source = RunSource::Failover);
        };
        let mine = |scene: Scene| taken_over(scene, 4, 1).run_here(4, None).local(takes_over);
        let busy = |scene: Scene| scene.running(4, 1).run_here(4, None);
        let late = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let rows: Vec<(&str, Scene, &[u32])> = vec![
            ("both instances are idle", wait(), &[0, 1]),
            ("other instance is busy", wait().running(5, 2), &[0, 1, 2, 3]),
            ("server of the other instance is paused", wait().server(2, "PAUSED"), &[0, 1, 2, 3]),
            (
                "server of the other instance is disabled",
                wait().server(2, "DISABLED"),
                &[0, 1, 2, 3],
            ),
            ("other instance runs a takeover", taken_over(wait(), 5, 2), &[0, 1, 2, 3]),
            ("this instance runs a takeover", mine(wait()), &[]),
            ("both instances run takeovers", taken_over(mine(wait()), 5, 2), &[0, 1]),
            ("this instance is busy", busy(wait()), &[]),
            ("both instances are busy", busy(wait()).running(5, 2), &[]),
            ("both instances are busy for long", busy(wait()).running(5, 2).local(late), &[0, 1]),
            (
                "this instance is busy, and the idle one takes none for long",
                busy(wait()).local(late),
                &[0, 1],
            ),
            ("one orphaned run, both idle", first(), &[0]),
            ("one orphaned run, both with takeovers", taken_over(mine(first()), 5, 2), &[]),
            ("one orphaned run has waited for long", mine(first()).local(late), &[0]),
            ("transaction takes three items", wait().running(5, 2).items_per_plan(3), &[0, 1, 2]),
        ];
        for (case, scene, expected) in rows {
            let steps = scene.plan(Duty::Takeover).map_or_else(Vec::new, |plan| plan.steps);
            let taken = steps.iter().filter_map(|step| {
                let (item, _) = step.ledger()?;
                Some(item.index())
            });
            assert_eq!(taken.collect::<Vec<_>>(), expected, "{case}");
        }
    }
}
