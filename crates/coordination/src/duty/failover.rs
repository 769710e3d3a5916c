//! Failover: runs whose holder is gone are found by the leader and taken over by whoever is idle.

use std::time::Duration;

use sharding::{InstanceId, ShardingItem};

use super::{Context, Duty};
use crate::foreign::Interrupted;
use crate::layout::NodeKind;
use crate::local::LocalRun;
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Step};
use crate::view::{ItemView, Versioned};
use crate::{Ledger, LedgerState, Run, RunSource};

/// Finds runs whose holder is gone: queues them, or, without failover or beyond the number of items, records that they
/// were interrupted.
///
/// A holder is gone when neither its instance nor its mark at the item exists: an operator can take the instance away
/// while its session lives and its code runs. The record was read before; that both are gone is confirmed after, by
/// reads. As ids are never used again and a holder registered before it claimed, "absent now" means "gone for good".
pub(crate) fn sweep(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let foreign_leader = cx.view.has_foreign_leader();
    let plan = match foreign_leader {
        // A Java leader looks at no records: each owner sweeps its own items.
        true => Plan::as_instance(Duty::Sweep, cx, REASON),
        false => Plan::as_leader(Duty::Sweep, cx, REASON)?,
    };
    let plan = plan.step(Step::ConfigIs(cx.view.config_version()?));
    let is_mine = |view: &ItemView| {
        !foreign_leader || view.owner.as_ref().is_some_and(|owner| owner.value == *cx.me)
    };
    let in_force = |item: ShardingItem| item.index() < config.sharding_total_count;
    let items = cx.view.items().filter(|(_, view)| is_mine(view));
    let abandoned = items.filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        // What a Java leader has given to a Java instance since is that one's to do.
        let ours = cx.view.java_owner(view).is_none() || mutant::is(Mutant::JavaItemsTakenOver);
        let wanted = config.fails_over() && in_force(item) && ours;
        match &ledger.value.state {
            LedgerState::Running(run)
                if (!cx.view.is_registered(&run.holder)
                    || mutant::is(Mutant::SweepIgnoresInstances))
                    && (cx.view.is_unmarked(view) || mutant::is(Mutant::SweepIgnoresMarks)) =>
            {
                Some((item, view, ledger, Some(run), wanted))
            }
            LedgerState::Orphan(_) if !wanted && !mutant::is(Mutant::OrphansStay) => {
                Some((item, view, ledger, None, wanted))
            }
            // Out of the queue without a record: a Java instance has taken it over, and has ended it.
            LedgerState::Orphan(_)
                if cx.view.is_mixed()
                    && !mutant::is(Mutant::JavaTakeoversForgotten)
                    && !view.queued
                    && cx.view.is_unmarked(view)
                    && !view.failover =>
            {
                Some((item, view, ledger, None, false))
            }
            LedgerState::Running(_)
            | LedgerState::Orphan(_)
            | LedgerState::Idle
            | LedgerState::Retired => None,
        }
    });
    let most = cx.settings.items_per_plan;
    let swept: Vec<_> = abandoned.take(most).collect();
    let room = most - swept.len();
    let plan = swept.into_iter().fold(plan, |plan, (item, view, ledger, run, wanted)| {
        give_up(plan, item, view, ledger, run, wanted, cx.now.wall_ms)
    });
    let foreign = cx.local.foreign.interrupted().filter(|(item, _)| {
        config.fails_over()
            && in_force(*item)
            && is_mine(cx.view.item(*item))
            && !mutant::is(Mutant::JavaRunsForgotten)
    });
    foreign
        .take(room)
        .fold(plan, |plan, (item, run)| orphan_of_java(plan, item, cx.view.item(item), run))
        .if_any()
}

const REASON: &str = "runs without a holder";

/// Makes an orphan of a run that a Java instance has left unfinished. Its mark is gone with its session.
fn orphan_of_java(plan: Plan, item: ShardingItem, view: &ItemView, run: &Interrupted) -> Plan {
    let known = view.ledger.as_ref();
    let fresh = Ledger::new(None);
    let ledger = known.map_or(&fresh, |ledger| &ledger.value);
    let next = ledger.orphan_of(&run.owner, run.fire).filter(|_| !view.unreadable);
    let Some(next) = next else { return plan };
    let expect = known.map(|ledger| ledger.version);
    plan.confirm_gone(&run.owner, mark_of_session(item, view))
        .step(Step::SetLedger { item, expect, ledger: next })
        .steps(left_behind(item, view))
        .step_if(!view.queued, || Step::QueueItem(item))
}

/// Returns the mark that goes with the session of who runs the item.
fn mark_of_session(item: ShardingItem, view: &ItemView) -> NodeKind {
    match view.lasting {
        Some(_) => NodeKind::Alive(item),
        None => NodeKind::Running(item),
    }
}

/// Takes away the marks that a holder which is gone has left behind.
fn left_behind(item: ShardingItem, view: &ItemView) -> impl Iterator<Item = Step> {
    let running = view.lasting.is_some().then_some(Step::UnmarkRunning(item));
    let failovering = view.failovering.then_some(Step::UnmarkFailovering(item));
    let left_behind = running.into_iter().chain(failovering);
    left_behind.filter(|_| !mutant::is(Mutant::LastingMarksStay))
}

fn give_up(
    plan: Plan,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
    run: Option<&Run>,
    fails_over: bool,
    now_ms: i64,
) -> Plan {
    let next = if fails_over { ledger.value.orphan() } else { ledger.value.abandon(now_ms) };
    let Some(next) = next else { return plan };
    let plan = match run {
        Some(run) => plan.confirm_gone(&run.holder, mark_of_session(item, view)),
        None => plan,
    };
    // The record and its place in the queue were written together, and may be shown apart.
    let unqueued = run.is_none() && !view.queued;
    plan.step_if(unqueued, || Step::IsAbsent(NodeKind::QueuedItem(item)))
        .step(Step::SetLedger { item, expect: Some(ledger.version), ledger: next })
        .steps(left_behind(item, view))
        .step_if(fails_over && !view.queued, || Step::QueueItem(item))
        .step_if(!fails_over && view.queued, || Step::DequeueItem(item))
}

/// How long orphans are left to idle instances before busy ones take them too.
pub(crate) const ORPHAN_PATIENCE: Duration = Duration::from_secs(1);

/// Takes one orphan over: claim and takeover are one write, and the next one follows as soon as this one has ended.
///
/// Idle instances come first. If there is none, because each has a slow item, the busy ones take over too, one orphan
/// at a time each, so that no slow item can delay somebody else's.
pub(crate) fn take_over(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable()?;
    if !config.fails_over() || !is_idle_enough(cx) {
        return None;
    }
    let by = cx.claimant()?;
    let orphans: Vec<_> = cx
        .view
        .items()
        // What is still shown of the former run goes with its session: wait until it has.
        .filter(|(_, view)| {
            mutant::is(Mutant::MarksIgnoredAtTakeover)
                || (!view.running && !view.failover && !view.alive)
        })
        .filter(|(item, _)| {
            item.index() < config.sharding_total_count || mutant::is(Mutant::RetiredTakenOver)
        })
        // Code of a former life may still run it here.
        .filter(|(item, _)| {
            mutant::is(Mutant::TakeoverBesideOwnRun) || !cx.local.runs.contains_key(item)
        })
        .filter_map(|(item, view)| {
            let ledger = view.ledger.as_ref()?;
            Some((item, view, ledger, ledger.value.take_over(&by)?))
        })
        .collect();
    // Idle instances begin at different places, so that they do not all want the same orphan.
    let (item, view, ledger, next) = orphans.get(spread(cx.me, orphans.len())?)?;
    let lasting = cx.view.has_lasting_marks(config);
    let alive = lasting && !mutant::is(Mutant::AliveUnmarked);
    let plan = Plan::as_starter(Duty::Takeover, cx, format!("item {item} was left unfinished"))?
        .step(Step::SetLedger { item: *item, expect: Some(ledger.version), ledger: next.clone() })
        .step(Step::MarkRunning { item: *item, holder: cx.me.clone(), lasting })
        .step_if(alive, || Step::MarkAlive(*item))
        .step(Step::MarkFailover { item: *item, taker: cx.me.clone() })
        .step_if(lasting, || Step::MarkFailovering { item: *item, taker: cx.me.clone() })
        .step_if(view.queued, || Step::DequeueItem(*item));
    Some(plan)
}

fn is_idle_enough(cx: &Context<'_>) -> bool {
    let takes_over = |run: &LocalRun| run.source == RunSource::Failover;
    let waited = cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono);
    cx.local.runs.is_empty()
        || mutant::is(Mutant::BusyTakeOver)
        || (waited
            && (!cx.local.runs.values().any(takes_over) || mutant::is(Mutant::TakeoversPileUp)))
}

/// Returns a place in a queue of `len` that differs between instances.
fn spread(me: &InstanceId, len: usize) -> Option<usize> {
    let hash = sharding::java_string_hash(me.as_str()).unsigned_abs();
    usize::try_from(hash).ok()?.checked_rem(len)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, item, running_by};
    use super::*;
    use crate::layout::NodeKind;
    use crate::local::Local;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn the_leader_finds_runs_whose_holder_is_gone() {
        let lost = || Scene::cluster(2, 2).ledger(1, running_by(3));
        let rows = vec![
            (
                "with failover it waits for a taker",
                lost(),
                "sweep: runs without a holder\n  item 1 orphan NORMAL for 200 by 10.0.0.3@-@3, token 1\n  queue 1",
            ),
            (
                "without failover it is recorded",
                lost().configure(|c| c.failover = false),
                "sweep: runs without a holder\n  item 1 idle, last interrupted",
            ),
            ("the holder lives", Scene::cluster(2, 2).running(1, 2), "nothing"),
            (
                "an operator took the holder out while its session lives",
                Scene::cluster(2, 2).running(1, 2).gone(2),
                "nothing",
            ),
            (
                "beyond the number of items",
                lost().configure(|c| c.sharding_total_count = 1),
                "sweep: runs without a holder\n  item 1 idle, last interrupted",
            ),
            (
                "the holder left the cluster that it was in",
                Scene::cluster(2, 2).ledger(1, running_by(2)).gone(2),
                "sweep: runs without a holder\n  item 1 orphan NORMAL for 200 by 10.0.0.2@-@2, token 1\n  queue 1",
            ),
            ("somebody else leads", lost().led_by(2), "nothing"),
            (
                "failover was turned off with an orphan waiting",
                Scene::cluster(2, 2)
                    .ledger(1, orphan())
                    .marked(&NodeKind::QueuedItem(item(1)))
                    .configure(|c| c.failover = false),
                "sweep: runs without a holder\n  item 1 idle, last interrupted\n  dequeue 1",
            ),
        ];
        check(Duty::Sweep, rows);
    }

    #[test]
    fn a_sweep_confirms_that_every_holder_is_gone() {
        let scene = Scene::cluster(3, 2)
            .ledger(0, running_by(3))
            .ledger(1, running_by(3))
            .ledger(2, running_by(4));
        let confirmed = scene.plan(Duty::Sweep).unwrap().confirm_gone;
        let nodes = |i, n| [NodeKind::Instance(id(n)), NodeKind::Running(item(i))];
        assert_eq!(confirmed, [nodes(0, 3), nodes(1, 3), nodes(2, 4)].concat());
    }

    #[test]
    fn an_idle_instance_takes_one_orphan_over_at_a_time() {
        let waiting =
            || Scene::cluster(2, 2).ledger(1, orphan()).marked(&NodeKind::QueuedItem(item(1)));
        let since = |local: &mut Local| local.orphans_since = Some(Duration::ZERO);
        let patient = |i, outcome| waiting().run_here(i, outcome).local(since);
        let taken = "takeover: item 1 was left unfinished\n  item 1 running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  show 1 running\n  show 1 taken over\n  dequeue 1";
        let rows = vec![
            ("idle", waiting(), taken),
            ("whoever owns it", waiting().owned(1, 1), taken),
            ("busy", waiting().running(0, 1).run_here(0, None), "nothing"),
            ("busy, and nobody idle has come for a while", patient(0, None), taken),
            (
                "busy with what it took over itself",
                patient(0, None).local(|local| {
                    local.runs.values_mut().for_each(|run| run.source = RunSource::Failover);
                }),
                "nothing",
            ),
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
}
