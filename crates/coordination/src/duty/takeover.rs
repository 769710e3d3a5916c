//! Takeover: what nobody finishes is run again, by those who have the least to do.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::latch::{Turn, ending, leave, turn};
use super::{Context, Duty, bytes_told};
use crate::java::latch::Latch;
use crate::plan::{Plan, Step};
use crate::view::Versioned;
use crate::view::items::{ItemView, Sign};
use crate::wire::NodeKind;
use crate::{Claimant, JobConfig, Ledger, RunSource, ServerState, server_of};

/// How long orphans are left to those who have the least to do before anybody takes a share of them.
pub(crate) const ORPHAN_PATIENCE: Duration = Duration::from_secs(1);

/// Takes orphans over: claim and takeover are one write.
///
/// Those who have the least to do share the orphans among them, each by what it sees. What waits all the same, because
/// everybody has a slow item, or somebody only seems to be idle, is shared among all after a while.
///
/// Java instances take from the queue in two steps, one instance at a time: so do ours, where there are any. What is not in
/// it then a Java instance has taken, and may have ended.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let Some(plan) = take_share(cx) else { return leave(cx, Duty::Takeover, Latch::Failover) };
    match turn(cx, Latch::Failover) {
        Turn::Free => Some(plan),
        Turn::Mine(leave) => Some(ending(plan, leave)),
        Turn::Join(join) => {
            let plan = Plan::as_instance(Duty::Takeover, cx, UNFINISHED);
            Some(plan.step(join))
        }
        Turn::Rejoin(steps) => {
            Some(Plan::as_instance(Duty::Takeover, cx, "others came before").steps(steps))
        }
        Turn::Wait => None,
        // It is not safe to do without: the others come first, once more.
        Turn::Impatient(_) => leave(cx, Duty::Takeover, Latch::Failover),
    }
}

const UNFINISHED: &str = "items were left unfinished";

fn take_share(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.fails_over())?;
    let by = cx.claimant()?;
    let orphans: Vec<_> = waiting(cx, config).collect();
    let share = match orphans.len() {
        0 => None,
        waiting if cx.view.is_mixed() => one(cx, waiting),
        waiting => share(cx, waiting),
    }?;
    let taken = orphans[share].iter().filter_map(|(item, view, ledger)| {
        steps_to_take_over(cx, config, &by, *item, view, ledger)
    });
    let steps = cx.within_one_plan(taken, |steps| bytes_told(steps)).flatten();
    Plan::as_starter(Duty::Takeover, cx, UNFINISHED)?.steps(steps).if_any()
}

/// Returns the orphans that can be taken over.
fn waiting<'a>(
    cx: &Context<'a>,
    config: &JobConfig,
) -> impl Iterator<Item = (ShardingItem, &'a ItemView, &'a Versioned<Ledger>)> {
    let total = config.sharding_total_count;
    let queued = |view: &ItemView| view.queued || !cx.view.is_mixed();
    // What is still shown of the former run goes with its session: wait until it has.
    let unmarked = |view: &ItemView| !view.running && view.failover.is_none() && !view.alive;
    let in_force = move |item: ShardingItem| item.index() < total;
    let orphans = cx.view.items_with(Sign::Orphan);
    let orphans = orphans.filter_map(|(item, view)| Some((item, view, view.ledger.as_ref()?)));
    orphans.filter(move |(item, view, _)| {
        in_force(*item) && queued(view) && unmarked(view) && !runs_here(cx, *item)
    })
}

/// Returns true if code of a former life may still run the item here.
fn runs_here(cx: &Context<'_>, item: ShardingItem) -> bool {
    cx.local.runs.has(item)
}

/// What a leader takes over as soon as it finds that its holder is gone, instead of leaving it to wait for somebody who has to be
/// told of it first: its part of what it finds.
pub(super) struct AtOnce<'a> {
    config: &'a JobConfig,
    by: Claimant,
    /// In ascending order.
    part: Vec<ShardingItem>,
}

impl<'a> AtOnce<'a> {
    /// Returns the part of this instance of the runs that are found now, if it takes any. Java instances take what is in the
    /// queue, one after the other: where there are any, everything waits there.
    pub(super) fn of(
        cx: &Context<'a>,
        found: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> Option<Self> {
        // What a view shows that is behind: the former run was an orphan, or taken over, once.
        let unmarked = |view: &ItemView| !view.queued && view.failover.is_none();
        let found = found.filter(|(item, view)| unmarked(view) && !runs_here(cx, *item));
        let found: Vec<_> = found.map(|(item, _)| item).collect();
        // Most of the time there is nothing, and nobody else has to be looked at.
        if found.is_empty() {
            return None;
        }
        let alone = !cx.view.takes_turns();
        let config = cx.startable().filter(|config| config.fails_over() && alone)?;
        let part = found[share(cx, found.len())?].to_vec();
        Some(Self { config, by: cx.claimant()?, part })
    }

    /// Returns the check that nothing is in the queue, where nothing ever was: a Java instance that the view does not show
    /// yet may have queued something, and then it takes its turn.
    ///
    /// Otherwise each item is checked by itself. Where not even the queue is there that would take ZooKeeper three round
    /// trips instead of one.
    pub(super) fn nothing_was_ever_queued(cx: &Context<'_>) -> Option<Step> {
        (!cx.view.has_failover_root()).then_some(Step::absent(NodeKind::FailoverRoot))
    }

    /// Returns the steps that take an item over, if it is one of those.
    pub(super) fn take(
        &self,
        cx: &Context<'_>,
        item: ShardingItem,
        view: &ItemView,
        ledger: &Versioned<Ledger>,
    ) -> Option<Vec<Step>> {
        self.part.binary_search(&item).ok()?;
        let mut steps = steps_to_take_over(cx, self.config, &self.by, item, view, ledger)?;
        if cx.view.has_failover_root() {
            steps.insert(0, Step::absent(NodeKind::QueuedItem(item)));
        }
        Some(steps)
    }
}

fn steps_to_take_over(
    cx: &Context<'_>,
    config: &JobConfig,
    by: &Claimant,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
) -> Option<Vec<Step>> {
    let me = cx.me;
    let lasting = cx.view.has_lasting_marks(config);
    // A run in progress is given up before it is begun again: both are one write.
    let given_up = ledger.value.orphan();
    let next = given_up.as_ref().unwrap_or(&ledger.value).take_over(by)?;
    let set = Step::set_ledger(item, Some(ledger.version), next);
    let mut steps = vec![set, Step::mark_running(item, me.clone(), lasting)];
    steps.extend(lasting.then_some(Step::mark_alive(item)));
    steps.push(Step::mark_failover(item, me.clone()));
    steps.extend(lasting.then(|| Step::mark_failovering(item, me.clone())));
    steps.extend(view.queued.then_some(Step::dequeue(item)));
    Some(steps)
}

/// How much an instance has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    Idle,
    /// It runs nothing but what it has taken over.
    Takeovers,
    Busy,
}

impl Load {
    /// What one run makes of an instance.
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

/// Returns true if orphans have waited for long enough since this instance has taken some.
fn is_impatient(cx: &Context<'_>) -> bool {
    cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono)
}

/// Returns the places of the orphans that this instance takes over, of so many: a part as large as that of everybody else who
/// takes some, and one at least if it is idle, or they have waited for long.
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

/// Returns what those have to do who could take something over, as far as this instance sees.
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

/// Returns the place of the one orphan that this instance takes over beside Java instances: one that is idle takes one after the
/// other, and one that is not has one at a time.
fn one(cx: &Context<'_>, orphans: usize) -> Option<Range<usize>> {
    let takes_over = cx.local.runs.iter().any(|(_, run)| run.source == RunSource::Failover);
    let may = cx.local.runs.is_empty() || (is_impatient(cx) && !takes_over);
    let place = spread(cx.me, orphans).filter(|_| may)?;
    Some(place..place + 1)
}

/// Returns a place in a queue of `len` that differs between instances.
fn spread(me: &InstanceId, len: usize) -> Option<usize> {
    let hash = sharding::java_string_hash(me.as_str()).unsigned_abs();
    usize::try_from(hash).ok()?.checked_rem(len)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, by, check, id, idle, item, running_by};
    use super::*;
    use crate::java::latch::name_of;
    use crate::local::{Local, Wait};

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

    #[test]
    fn among_java_instances_one_takes_over_at_a_time() {
        let waiting = || {
            let scene = Scene::cluster(2, 2).java(4).ledger(1, orphan());
            scene.marked(&NodeKind::QueuedItem(item(1)))
        };
        let in_line = |scene: Scene, name: &str| scene.in_line(Latch::Failover, name);
        let of_java = "_c_0e8b0a2c-3f41-4c15-9d3b-5b4b3f0c6c11-latch-0000000003";
        let mine = name_of(&id(1), 4);
        let leave = "delete leader/failover/latch/me-0000000004";
        let taken = format!(
            "takeover: items were left unfinished\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/1/running: 10.0.0.1@-@1\n  create sharding/1/failover: 10.0.0.1@-@1\n  delete leader/failover/items/1\n  {leave}"
        );
        let gone = format!("takeover: no turn is wanted any more\n  {leave}");
        let patient = |over| {
            let wait = Wait { since: Duration::ZERO, over };
            let scene = in_line(in_line(waiting(), of_java), &mine);
            scene.local(|local| local.latch_waits.extend([(Latch::Failover, wait)]))
        };
        let late = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let takes_over = |local: &mut Local| {
            local.runs.change_all(|run| run.source = RunSource::Failover);
        };
        let busy = |wait: fn(&mut Local)| {
            waiting().running(0, 1).run_here(0, None).local(takes_over).local(wait)
        };
        let rows = [
            (
                "it has yet to stand in line",
                waiting(),
                "takeover: items were left unfinished\n  create leader/failover/latch/me-0000000000",
            ),
            ("it is the first", in_line(in_line(waiting(), &mine), of_java), &*taken),
            ("Java came first", patient(false), "nothing"),
            ("Java came first and does not go: it tries again", patient(true), &*gone),
            ("Java has taken it", in_line(Scene::cluster(2, 2).java(4), &mine), &*gone),
            ("busy with what it took over", busy(|_| {}), "nothing"),
            ("busy with what it took over, for long", busy(late), "nothing"),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Takeover), expected, "{case}");
        }
    }
}
