//! Takeover: the instances with the least to do run orphaned runs again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::sweep::LostRun;
use super::{Context, Duty, parameter_bytes};
use crate::plan::{Plan, Step};
use crate::view::Versioned;
use crate::view::items::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{Claimant, JobConfig, Ledger, RunSource, ServerState, server_of};

/// How long orphaned runs are left to the instances with the least to do. Then every instance takes a share.
pub(crate) const ORPHAN_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) const UNFINISHED: &str = "items were left unfinished";

/// Takes orphaned runs over: claim and takeover are one write.
///
/// The instances with the least to do share the orphaned runs, each by its own view. Runs that wait all the same, because every
/// instance is busy or one only seems idle, are shared among all instances after [`ORPHAN_PATIENCE`].
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    take(cx, |_| true, |orphans| share(cx, orphans))
}

/// Takes those of the orphaned runs over that `share` chooses, by their places among so many.
pub(crate) fn take(
    cx: &Context<'_>,
    may_be_taken: impl Fn(&ItemView) -> bool,
    share: impl Fn(usize) -> Option<Range<usize>>,
) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.fails_over())?;
    let by = cx.claimant()?;
    let orphans = waiting(cx, config).filter(|(_, view, _)| may_be_taken(view));
    let orphans: Vec<_> = orphans.collect();
    if orphans.is_empty() {
        return None;
    }
    let taken = orphans[share(orphans.len())?].iter();
    let taken = taken.filter_map(|(item, view, ledger)| take_over(cx, &by, *item, view, ledger));
    let steps = cx.within_one_plan(taken, |steps| parameter_bytes(steps)).flatten();
    Plan::as_starter(Duty::Takeover, cx, UNFINISHED)?.steps(steps).if_any()
}

/// Returns the orphaned runs that can be taken over. Marks of the former run go with its session, and block the item until then.
fn waiting<'a>(
    cx: &Context<'a>,
    config: &JobConfig,
) -> impl Iterator<Item = (ShardingItem, &'a ItemView, &'a Versioned<Ledger>)> {
    let total = config.sharding_total_count;
    let unmarked = |view: &ItemView| !view.running && view.failover.is_none() && !view.alive;
    let in_force = move |item: ShardingItem| item.index() < total;
    let orphans = cx.view.items_with(Attention::Orphaned);
    let orphans = orphans.filter_map(|(item, view)| Some((item, view, view.ledger.as_ref()?)));
    orphans
        .filter(move |(item, view, _)| in_force(*item) && unmarked(view) && !runs_here(cx, *item))
}

/// Returns true if code of a former incarnation may still run the item in this process.
fn runs_here(cx: &Context<'_>, item: ShardingItem) -> bool {
    cx.local.runs.has(item)
}

/// The share of lost runs that the leader takes over in the sweep that finds them, instead of leaving them to an instance that
/// has to see them first.
pub(crate) struct AtOnce {
    by: Claimant,
    /// In ascending order.
    share: Vec<ShardingItem>,
}

impl AtOnce {
    /// Returns this instance's share of the runs that are found now, if it takes any.
    pub(crate) fn of<'r, 'a: 'r>(
        cx: &Context<'_>,
        found: impl Iterator<Item = &'r LostRun<'a>>,
    ) -> Option<Self> {
        // In a stale view the former run was an orphan, or taken over, once.
        let unmarked = |view: &ItemView| !view.queued && view.failover.is_none();
        let found = found.filter(|run| unmarked(run.view) && !runs_here(cx, run.item));
        let found: Vec<_> = found.map(|run| run.item).collect();
        // Most of the time nothing is lost, and the loads of the others need not be looked at.
        if found.is_empty() {
            return None;
        }
        cx.startable().filter(|config| config.fails_over())?;
        let share = found[share(cx, found.len())?].to_vec();
        Some(Self { by: cx.claimant()?, share })
    }

    /// Returns the check that the queue never had an entry, where the view shows none: an instance that the view does not
    /// show yet may have queued a run, and takes it in its turn.
    ///
    /// Otherwise each item is checked. Without even the queue's node that would take three round trips instead of one.
    pub(crate) fn nothing_was_ever_queued(cx: &Context<'_>) -> Option<Step> {
        (!cx.view.has_failover_root()).then_some(Step::absent(NodeKind::FailoverRoot))
    }

    /// Returns the steps that take the run over, if it is in the share.
    pub(crate) fn take(&self, cx: &Context<'_>, run: &LostRun<'_>) -> Option<Vec<Step>> {
        self.share.binary_search(&run.item).ok()?;
        let mut steps = take_over(cx, &self.by, run.item, run.view, run.ledger)?;
        if cx.view.has_failover_root() {
            steps.insert(0, Step::absent(NodeKind::QueuedItem(run.item)));
        }
        Some(steps)
    }
}

fn take_over(
    cx: &Context<'_>,
    by: &Claimant,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
) -> Option<Vec<Step>> {
    // A run in progress is given up and claimed again in one write.
    let given_up = ledger.value.orphan();
    let next = given_up.as_ref().unwrap_or(&ledger.value).take_over(by)?;
    let mut steps = vec![
        Step::set_ledger(item, Some(ledger.version), next),
        Step::mark_running(item, cx.me.clone()),
        Step::mark_failover(item, cx.me.clone()),
    ];
    steps.extend(view.queued.then_some(Step::dequeue(item)));
    Some(steps)
}

/// How much an instance has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    Idle,
    /// It runs nothing but takeovers.
    Takeovers,
    Busy,
}

impl Load {
    /// Returns the load that one run makes.
    fn of(source: RunSource) -> Self {
        match source {
            RunSource::Failover => Self::Takeovers,
            RunSource::Normal | RunSource::Misfire | RunSource::Manual => Self::Busy,
        }
    }

    fn here(cx: &Context<'_>) -> Self {
        let runs = cx.local.runs.iter().map(|(_, run)| Self::of(run.source));
        runs.max().unwrap_or(Self::Idle)
    }
}

/// Returns true if orphaned runs have waited for [`ORPHAN_PATIENCE`] since this instance took some.
pub(crate) fn is_impatient(cx: &Context<'_>) -> bool {
    cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono)
}

/// Returns the places of the orphaned runs that this instance takes over, of so many: as many as each other taker, and at least
/// one if it is idle or they have waited for long.
fn share(cx: &Context<'_>, orphans: usize) -> Option<Range<usize>> {
    let impatient = is_impatient(cx);
    let loads = loads(cx);
    let least = loads.values().min().filter(|least| **least < Load::Busy);
    let most = if impatient { Load::Busy } else { *least? };
    let takers: Vec<_> =
        loads.iter().filter(|(_, load)| **load <= most).map(|(id, _)| *id).collect();
    let place = takers.iter().position(|id| *id == cx.me)?;
    let (from, to) = (place * orphans / takers.len(), (place + 1) * orphans / takers.len());
    let greedy = impatient || Load::here(cx) == Load::Idle;
    let to = if greedy { to.max(from + 1) } else { to };
    (to <= orphans && from < to).then_some(from..to)
}

/// Returns the loads of the instances that could take runs over, as far as this instance sees.
fn loads<'a>(cx: &Context<'a>) -> BTreeMap<&'a InstanceId, Load> {
    let paused = |id: &InstanceId| {
        let server = server_of(id).and_then(|ip| cx.view.server_state(&ip));
        server == Some(ServerState::Paused)
    };
    let able = |id: &&InstanceId| cx.view.is_available(id) && !paused(id);
    let mut loads: BTreeMap<_, _> =
        cx.view.instances().filter(able).map(|id| (id, Load::Idle)).collect();
    let runs =
        cx.view.restless_items().filter_map(|(_, view)| view.ledger.as_ref()?.value.running());
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
    use super::super::scene::{Scene, by, check, idle, item, running_by};
    use super::*;

    use crate::local::Local;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn orphans_are_left_to_those_who_have_the_least_to_do() {
        let waiting =
            || Scene::cluster(2, 2).ledger(1, orphan()).marked(&NodeKind::QueuedItem(item(1)));
        let since = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let patient = |i, outcome| waiting().run_here(i, outcome).local(since);
        let taken = "takeover: items were left unfinished\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/1/running: 10.0.0.1@-@1\n  create sharding/1/failover: 10.0.0.1@-@1\n  delete leader/failover/items/1";
        let rows = vec![
            ("idle", waiting(), taken),
            ("whoever owns it", waiting().owned(1, 1), taken),
            ("busy", waiting().running(0, 1).run_here(0, None), "nothing"),
            ("busy, and nobody idle has come for a while", patient(0, None), taken),
            ("code of a former life still runs it here", patient(1, None), "nothing"),
            ("paused", waiting().local(|local| local.paused = true), "nothing"),
            ("server disabled", waiting().server(1, "DISABLED"), "nothing"),
            (
                "beyond the number of items",
                waiting().configure(|c| c.sharding_total_count = 1),
                "nothing",
            ),
            ("no failover", waiting().configure(|c| c.failover = false), "nothing"),
            (
                "the former run is still shown",
                waiting().marked(&NodeKind::Running(item(1))),
                "nothing",
            ),
        ];
        check(Duty::Takeover, rows);
    }

    #[test]
    fn orphans_are_shared_among_those_who_take_some() {
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
            ("both are idle", wait(), &[0, 1]),
            ("the other one is busy", wait().running(5, 2), &[0, 1, 2, 3]),
            ("the other one is held back", wait().server(2, "PAUSED"), &[0, 1, 2, 3]),
            ("the other one is going", wait().server(2, "DISABLED"), &[0, 1, 2, 3]),
            ("the other one has taken over", taken_over(wait(), 5, 2), &[0, 1, 2, 3]),
            ("I have taken over", mine(wait()), &[]),
            ("both have", taken_over(mine(wait()), 5, 2), &[0, 1]),
            ("I am busy", busy(wait()), &[]),
            ("both are", busy(wait()).running(5, 2), &[]),
            ("both are, for long", busy(wait()).running(5, 2).local(late), &[0, 1]),
            ("I am, and the other one does not take them", busy(wait()).local(late), &[0, 1]),
            ("one orphan, and idle is who sees it first", first(), &[0]),
            ("one orphan, and it is the other one's", taken_over(mine(first()), 5, 2), &[]),
            ("one orphan, and nobody takes it", mine(first()).local(late), &[0]),
            ("less room", wait().running(5, 2).items_per_plan(3), &[0, 1, 2]),
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
