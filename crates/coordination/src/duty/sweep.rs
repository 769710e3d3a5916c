//! Sweep: runs whose holder is gone are found by the leader, which takes its part of them over; the others wait for somebody.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::takeover::AtOnce;
use super::{Context, Duty};
use crate::java::foreign::Interrupted;
use crate::plan::{Plan, Step};
use crate::view::Versioned;
use crate::view::items::{ItemView, Sign};
use crate::wire::NodeKind;
use crate::{FailureReason, Ledger, LedgerState, Run};

/// Finds runs whose holder is gone: takes its part over at once, if it is to have one, and queues the others; without failover or
/// beyond the number of items it records that they were interrupted.
///
/// A holder is gone when neither its instance nor its mark at the item exists: an operator can take the instance away
/// while its session lives and its code runs. The view shows both as gone, and may be behind; but record and mark are
/// written together, so that a write which finds the record as it was read, and no mark, comes after the end of that
/// session ([ADR 21](../../../../docs/adr/0021-a-sweep-checks-marks-as-it-writes.md)). Beside Java instances, and where it is
/// not known which marks the run has, reads confirm that both are gone before anything is written: as ids are never used
/// again and a holder registered before it claimed, "absent now" means "gone for good".
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let foreign_leader = cx.view.has_foreign_leader();
    let plan = match foreign_leader {
        // A Java leader looks at no records: each owner sweeps its own items.
        true => Plan::as_instance(Duty::Sweep, cx, REASON),
        false => Plan::as_leader(Duty::Sweep, cx, REASON)?,
    };
    let is_mine = |view: &ItemView| {
        let owner = view.owner.as_ref().map(|owner| &owner.value);
        let abandoned = |owner: &InstanceId| owner == cx.me || !cx.view.is_registered(owner);
        let everybodys = !foreign_leader;
        everybodys || owner.is_some_and(abandoned)
    };
    let has_schedule = config.cron.is_some();
    let in_force = |item: ShardingItem| item.index() < config.sharding_total_count;
    // Mostly everybody who runs something is there.
    let gone = |holder: &InstanceId| !cx.view.is_registered(holder);
    let held = cx.view.holders().filter(|(holder, _)| gone(holder)).flat_map(|(_, items)| items);
    let orphans = cx.view.items_with(Sign::Orphan).map(|(item, _)| item);
    let items: BTreeSet<ShardingItem> = held.copied().chain(orphans).collect();
    let items = items.into_iter().map(|item| (item, cx.view.item(item)));
    let items = items.filter(|(_, view)| is_mine(view));
    let abandoned = items.filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        // What a Java leader has given to a Java instance since is that one's to do.
        let ours = cx.view.java_owner(view).is_none();
        let wanted = config.fails_over() && in_force(item) && ours;
        let wanted = wanted && can_be_queued(cx, &ledger.value);
        match &ledger.value.state {
            LedgerState::Running(run) if gone(&run.holder) && cx.view.is_unmarked(view) => {
                Some((item, view, LeftBehind::Ours { ledger, run: Some(run), wanted }))
            }
            LedgerState::Orphan(_) if !wanted => {
                Some((item, view, LeftBehind::Ours { ledger, run: None, wanted }))
            }
            LedgerState::Orphan(_) if is_ended_by_java(cx, item, view) => {
                Some((item, view, LeftBehind::Ours { ledger, run: None, wanted: false }))
            }
            LedgerState::Running(_)
            | LedgerState::Orphan(_)
            | LedgerState::Idle
            | LedgerState::Retired => None,
        }
    });
    // Of some runs of Java instances nothing in the registry tells; all others have left a mark that lasts.
    let marked = cx.view.items_with(Sign::Named).map(|(item, _)| item);
    let maybe_of_java: BTreeSet<_> = marked.chain(cx.local.foreign.lost_items()).collect();
    let maybe_of_java = maybe_of_java.into_iter().map(|item| (item, cx.view.item(item)));
    let of_java = maybe_of_java.filter(|(_, view)| is_mine(view)).filter_map(|(item, view)| {
        let fails_over = config.fails_over() && in_force(item);
        let left = left_by_java(cx, item, view, fails_over, has_schedule)?;
        Some((item, view, LeftBehind::Java(left)))
    });
    // Whatever is written of an item, its record goes on holding what its request says.
    let told = |(_, view, _): &(ShardingItem, &ItemView, LeftBehind<'_>)| {
        view.ledger.as_ref().map_or(0, |ledger| ledger.value.parameter_bytes())
    };
    let all: Vec<_> = cx.within_one_plan(abandoned.chain(of_java), told).collect();
    let found = all.iter().filter(|(_, _, left)| left.waits());
    let at_once = AtOnce::of(cx, found.map(|(item, view, _)| (*item, *view)));
    let plan = match at_once {
        Some(_) => plan.starting(cx)?.steps(AtOnce::nothing_was_ever_queued(cx)),
        None => plan.step(Step::config_unchanged(cx.view.config_version()?)),
    };
    let mended = all.into_iter().fold(plan, |plan, (item, view, left)| match left {
        LeftBehind::Ours { ledger, run, wanted } => {
            let taken = at_once.as_ref().and_then(|mine| mine.take(cx, item, view, ledger));
            let plan = match run {
                Some(run) => unless_held(plan, cx, item, view, ledger, run, taken.is_some()),
                None => plan,
            };
            match taken {
                Some(taken) => plan.steps(left_behind(item, view)).steps(taken),
                None => give_up(plan, item, view, ledger, wanted, cx.now.wall_ms),
            }
        }
        LeftBehind::Java(LeftByJava::Run(run)) => orphan_of_java(plan, item, view, &run),
        LeftBehind::Java(LeftByJava::Takeover(taker)) => queue_again(plan, item, view, taker),
        LeftBehind::Java(LeftByJava::Marks) => mend(plan, cx, item, view),
    });
    mended.if_any()
}

/// What somebody who is gone has left at an item.
enum LeftBehind<'a> {
    /// A run of ours, in progress, or an orphan already if `run` is `None`; somebody takes it over if that is `wanted`.
    Ours { ledger: &'a Versioned<Ledger>, run: Option<&'a Run>, wanted: bool },
    /// Something of a Java instance's.
    Java(LeftByJava<'a>),
}

impl LeftBehind<'_> {
    /// Returns true if it is a run that somebody takes over.
    fn waits(&self) -> bool {
        matches!(self, Self::Ours { run: Some(_), wanted: true, .. })
    }
}

/// Returns true if whoever takes the run of an item out of the queue can be told what its request says. Java instances cannot.
pub(super) fn can_be_queued(cx: &Context<'_>, ledger: &Ledger) -> bool {
    let told = ledger.run().is_some_and(|run| run.parameter.is_some());
    !told || !cx.view.is_mixed()
}

/// Returns true if an orphan is out of the queue, and nothing tells of who has taken it: a Java instance has, and has ended it.
/// One whose marks have just gone may have been lost with them.
fn is_ended_by_java(cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> bool {
    let foreign = &cx.local.foreign;
    let decided = !foreign.is_undecided(item) && foreign.lost_taker(cx.view, item).is_none();
    let out_of_queue = !view.queued && view.failover.is_none() && cx.view.is_unmarked(view);
    let by_java = cx.view.is_mixed();
    by_java && out_of_queue && decided
}

/// What a Java instance that is gone has left at an item.
enum LeftByJava<'a> {
    /// A run of what it had.
    Run(Interrupted),
    /// A run of what it had taken over, and that still waits for somebody.
    Takeover(&'a InstanceId),
    /// Marks that tell of nothing that is still to be done.
    Marks,
}

fn left_by_java<'a>(
    cx: &Context<'a>,
    item: ShardingItem,
    view: &ItemView,
    fails_over: bool,
    has_schedule: bool,
) -> Option<LeftByJava<'a>> {
    if let Some(run) = cx.interrupted(item).filter(|_| fails_over) {
        return Some(LeftByJava::Run(run));
    }
    let ours = cx.view.java_owner(view).is_none();
    let taker = cx.local.foreign.lost_taker(cx.view, item).filter(|_| fails_over && ours);
    // Among ours alone an orphan is taken over in the queue or not, and only marks can stand in the way.
    let in_the_way = cx.view.is_mixed() || cx.view.may_have_lasting_marks();
    if let Some(taker) = taker.filter(|_| in_the_way) {
        return Some(LeftByJava::Takeover(taker));
    }
    has_leftovers(cx, view, fails_over, has_schedule).then_some(LeftByJava::Marks)
}

/// Puts an orphan back into the queue that a Java instance took out of it and did not end, unless somebody has taken it over
/// since.
fn queue_again(plan: Plan, item: ShardingItem, view: &ItemView, taker: &InstanceId) -> Plan {
    plan.confirm_gone(taker, mark_of_session(item, view))
        .step(Step::absent(NodeKind::Failover(item)))
        .step(Step::ledger_as_shown(item, view))
        .steps(left_behind(item, view))
        .step_if(!view.queued, || Step::queue(item))
}

/// Returns true if marks tell of runs that nobody has to take over, by instances that are gone. Java leaves them if failover
/// was turned off meanwhile, or whoever had taken the item over was lost as well; as long as they are there Java runs the
/// item no more, and its leaders assign nothing.
fn has_leftovers(cx: &Context<'_>, view: &ItemView, fails_over: bool, has_schedule: bool) -> bool {
    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
    // Until the first fire nobody here knows what has to be taken over. Without a schedule there is none, and nobody waits.
    let unclear = fails_over && view.failover.is_none() && cx.local.last_fire_seen.is_none();
    let unclear = unclear && has_schedule;
    idle && !view.alive && !unclear && leftovers(cx, view).any()
}

/// The marks at an item whose holder is gone.
#[derive(Clone, Copy)]
struct Leftovers<'a> {
    running: Option<&'a InstanceId>,
    failovering: Option<&'a InstanceId>,
}

impl Leftovers<'_> {
    fn any(&self) -> bool {
        self.running.is_some() || self.failovering.is_some()
    }
}

fn leftovers<'a>(cx: &Context<'_>, view: &'a ItemView) -> Leftovers<'a> {
    let gone = |holder: &&InstanceId| !cx.view.is_registered(holder);
    let running = view.lasting.as_ref().filter(gone);
    let taken = view.failover.is_some() || (view.running && running.is_none());
    let failovering = view.failovering.as_ref().filter(gone).filter(|_| !taken);
    Leftovers { running, failovering }
}

/// Takes leftovers away. The item's record says that no run of ours is behind them, and Java starts none beside them.
fn mend(plan: Plan, cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> Plan {
    let Leftovers { running, failovering } = leftovers(cx, view);
    let holders = running.into_iter().chain(failovering);
    let plan = holders.fold(plan, |plan, holder| plan.confirm_gone(holder, NodeKind::Alive(item)));
    plan.step(Step::ledger_as_shown(item, view))
        .step_if(view.failover.is_none(), || Step::absent(NodeKind::Failover(item)))
        .step_if(running.is_some(), || Step::unmark_running(item))
        .step_if(failovering.is_some(), || Step::unmark_failovering(item))
}

const REASON: &str = "runs without a holder";

/// Makes an orphan of a run that a Java instance has left unfinished, unless another one has taken it over meanwhile: the
/// mark that the view shows may then be of another run.
fn orphan_of_java(plan: Plan, item: ShardingItem, view: &ItemView, run: &Interrupted) -> Plan {
    let known = view.ledger.as_ref();
    let fresh = Ledger::new(None);
    let ledger = known.map_or(&fresh, |ledger| &ledger.value);
    let next = ledger.orphan_of(&run.owner, run.fire).filter(|_| !view.unreadable);
    let Some(next) = next else { return plan };
    let expect = known.map(|ledger| ledger.version);
    plan.confirm_gone(&run.owner, mark_of_session(item, view))
        .step(Step::absent(NodeKind::Failover(item)))
        .step(Step::set_ledger(item, expect, next))
        .steps(left_behind(item, view))
        .step_if(!view.queued, || Step::queue(item))
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
    let running = view.lasting.is_some().then_some(Step::unmark_running(item));
    let failovering = view.failovering.as_ref().map(|_| Step::unmark_failovering(item));
    running.into_iter().chain(failovering)
}

/// Returns true if a write can tell by marks that the holder of a run is gone. Which marks the run has is known if they are
/// those that go with the session, or if the run began with the configuration in force, by which they last.
fn is_told_by_marks(cx: &Context<'_>, view: &ItemView, ledger: &Versioned<Ledger>) -> bool {
    let last = cx.view.config().is_some_and(|config| cx.view.has_lasting_marks(config));
    let in_force = ledger.value.config == cx.view.config_version();
    let known = view.lasting.is_none() || (last && in_force);
    known && !cx.view.takes_turns()
}

/// Makes it a plan that fails while the session of a run's holder lives. If the run begins anew, its marks are made anew, which
/// fails while the former ones are there.
fn unless_held(
    plan: Plan,
    cx: &Context<'_>,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
    run: &Run,
    begins_anew: bool,
) -> Plan {
    let mark = mark_of_session(item, view);
    match is_told_by_marks(cx, view, ledger) {
        true => plan.step_if(!begins_anew, || Step::absent(mark)),
        false => plan.confirm_gone(&run.holder, mark),
    }
}

fn give_up(
    plan: Plan,
    item: ShardingItem,
    view: &ItemView,
    ledger: &Versioned<Ledger>,
    fails_over: bool,
    now_ms: i64,
) -> Plan {
    let next = if fails_over { ledger.value.orphan() } else { ledger.value.abandon(now_ms) };
    let Some(next) = next else { return plan };
    let lost = ledger.value.running().map(|run| format!("its instance {} was lost", run.holder));
    let next = next.because(lost.and_then(|text| FailureReason::new(&text)));
    // The record and its place in the queue were written together, and may be shown apart.
    let unqueued = ledger.value.running().is_none() && !view.queued;
    plan.step_if(unqueued, || Step::absent(NodeKind::QueuedItem(item)))
        .step(Step::set_ledger(item, Some(ledger.version), next))
        .steps(left_behind(item, view))
        .step_if(fails_over && !view.queued, || Step::queue(item))
        .step_if(!fails_over && view.queued, || Step::dequeue(item))
}

#[cfg(test)]
mod tests {
    use reg_center::Version;

    use super::super::scene::{Scene, by, check, done, id, idle, item, running_by};
    use super::*;
    use crate::java::latch::{Latch, name_of};
    use crate::plan::StepOp;
    use crate::wire;
    use crate::{Dialect, FireTime, JobConfig, ManualRequest, RequestParameter, RunSource};

    fn failover(i: u32) -> NodeKind {
        NodeKind::Failover(item(i))
    }

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn the_leader_finds_runs_whose_holder_is_gone() {
        let lost = || Scene::cluster(2, 2).ledger(1, running_by(3)).running(0, 1).run_here(0, None);
        let rows = vec![
            (
                "with failover it waits for a taker",
                lost(),
                "sweep: runs without a holder\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 1\n  create leader/failover/items/1",
            ),
            (
                "without failover it is recorded",
                lost().configure(|c| c.failover = false),
                "sweep: runs without a holder\n  set ledger/1: idle, last interrupted",
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
                "sweep: runs without a holder\n  set ledger/1: idle, last interrupted",
            ),
            (
                "the holder left the cluster that it was in",
                Scene::cluster(2, 2).ledger(1, running_by(2)).gone(2).run_here(0, None),
                "sweep: runs without a holder\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.2@-@2, token 1\n  create leader/failover/items/1",
            ),
            ("somebody else leads", lost().led_by(2), "nothing"),
            (
                "failover was turned off with an orphan waiting",
                Scene::cluster(2, 2)
                    .ledger(1, orphan())
                    .marked(&NodeKind::QueuedItem(item(1)))
                    .configure(|c| c.failover = false),
                "sweep: runs without a holder\n  set ledger/1: idle, last interrupted\n  delete leader/failover/items/1",
            ),
        ];
        check(Duty::Sweep, rows);
    }

    #[test]
    fn the_leader_takes_its_part_of_what_it_finds_at_once() {
        let lost = || (0..4).fold(Scene::cluster(6, 2), |scene, i| scene.ledger(i, running_by(3)));
        let busy = |scene: Scene| scene.running(5, 2);
        let second = |scene: Scene| scene.member(0).server(0, wire::ENABLED);
        let line = |scene: Scene| scene.in_line(Latch::Failover, &name_of(&id(9), 0));
        let rows: Vec<(&str, Scene, &[u32], &[u32])> = vec![
            ("both are idle", lost(), &[0, 1], &[2, 3]),
            ("the other one is busy", busy(lost()), &[0, 1, 2, 3], &[]),
            ("I am busy", lost().running(4, 1).run_here(4, None), &[], &[0, 1, 2, 3]),
            ("code of a former life runs one here", lost().run_here(1, None), &[], &[0, 1, 2, 3]),
            (
                "code that runs nothing else",
                busy(lost()).run_here(1, None).local(|local| {
                    local.runs.change_all(|run| run.source = RunSource::Failover);
                }),
                &[0, 2, 3],
                &[1],
            ),
            ("one is shown as taken over", busy(lost()).marked(&failover(1)), &[0, 2, 3], &[1]),
            (
                "one waits in the queue already",
                busy(lost()).marked(&NodeKind::QueuedItem(item(1))),
                &[0, 2, 3],
                &[1],
            ),
            ("held back", lost().local(|local| local.paused = true), &[], &[0, 1, 2, 3]),
            ("server paused", lost().server(1, "PAUSED"), &[], &[0, 1, 2, 3]),
            ("a Java instance takes part", lost().java(4), &[], &[0, 1, 2, 3]),
            ("a Java instance is about to", line(lost()), &[], &[0, 1, 2, 3]),
            ("less room", busy(lost()).items_per_plan(3), &[0, 1, 2], &[]),
            (
                "less room, and the other one comes first",
                second(busy(lost())).items_per_plan(2),
                &[1],
                &[0],
            ),
        ];
        for (case, scene, taken, left) in rows {
            let plan = scene.plan(Duty::Sweep).unwrap();
            let written = |runs: bool| {
                let of = plan.steps.iter().filter_map(move |step| {
                    let (item, ledger) = step.ledger()?;
                    (ledger.running().is_some() == runs).then_some(item.index())
                });
                of.collect::<Vec<_>>()
            };
            assert_eq!((&*written(true), &*written(false)), (taken, left), "{case}: {plan}");
            let guarded = plan.steps.iter().any(|step| matches!(step.node, NodeKind::Server(_)));
            assert_eq!(guarded, !taken.is_empty(), "{case}: {plan}");
        }
    }

    #[test]
    fn a_write_checks_that_a_holder_is_gone_or_reads_do_before_it() {
        let idle = || Scene::cluster(2, 2).ledger(1, running_by(3));
        let busy = || idle().running(0, 1).run_here(0, None);
        let lasting = || {
            let in_v3 = Scene::cluster_in(Dialect::V3, 2, 2).ledger(1, running_by(3));
            in_v3.named_mark(&NodeKind::Running(item(1)), 3)
        };
        let former = || {
            let before = Ledger { config: Some(Version(7)), ..running_by(3) };
            lasting().ledger(1, before)
        };
        let (mark, alive) = (NodeKind::Running(item(1)), NodeKind::Alive(item(1)));
        let makes = |plan: &Plan| {
            plan.steps.iter().any(|s| matches!(s.node, NodeKind::Running(_)) && s.data().is_some())
        };
        let rows = [
            ("it is taken at once", idle(), true, None, vec![]),
            ("it waits for somebody", busy(), false, Some(&mark), vec![]),
            (
                "nobody is to take it",
                busy().configure(|c| c.failover = false),
                false,
                Some(&mark),
                vec![],
            ),
            ("it is taken at once, and its mark lasts", lasting(), true, None, vec![]),
            (
                "it waits for somebody, and its mark lasts",
                lasting().running(0, 1).run_here(0, None),
                false,
                Some(&alive),
                vec![],
            ),
            (
                "it began with another configuration, by which its mark may not have lasted",
                former(),
                true,
                None,
                vec![NodeKind::Instance(id(3)), alive.clone()],
            ),
            (
                "marks last no longer",
                lasting().configure(|c| c.failover = false),
                false,
                None,
                vec![NodeKind::Instance(id(3)), alive.clone()],
            ),
            (
                "a Java instance takes part",
                idle().java(4),
                false,
                None,
                vec![NodeKind::Instance(id(3)), mark.clone()],
            ),
        ];
        for (case, scene, made, checked, read) in rows {
            let plan = scene.plan(Duty::Sweep).unwrap();
            let found = plan.steps.iter().find_map(|step| {
                let StepOp::Absent = step.op else { return None };
                let kind = &step.node;
                matches!(kind, NodeKind::Running(_) | NodeKind::Alive(_)).then_some(kind)
            });
            assert_eq!((makes(&plan), found), (made, checked), "{case}: {plan}");
            assert_eq!(plan.nodes_to_confirm(), read, "{case}: {plan}");
        }
    }

    /// A run that had been taken over leaves two marks that last, and gets four new ones.
    #[test]
    fn what_is_taken_at_once_gets_new_marks_in_the_place_of_those_that_were_left_behind() {
        let lost = running_by(3).orphan().and_then(|l| l.take_over(&by(4))).unwrap();
        let scene = Scene::cluster_in(Dialect::V3, 2, 2)
            .ledger(1, lost)
            .named_mark(&NodeKind::Running(item(1)), 4)
            .named_mark(&NodeKind::Failovering(item(1)), 4);
        let seven = "sweep: runs without a holder\n  delete sharding/1/running\n  delete sharding/1/failovering\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 3\n  create sharding/1/running: 10.0.0.1@-@1\n  create coordination/runs/1\n  create sharding/1/failover: 10.0.0.1@-@1\n  create sharding/1/failovering: 10.0.0.1@-@1";
        check(Duty::Sweep, vec![("as many as there are for an item", scene, seven)]);
    }

    #[test]
    fn a_sweep_takes_no_more_at_once_than_fits_with_what_runs_are_told() {
        let asked = |told: Option<&str>| {
            let parameter = told.map(|told| RequestParameter::new(told).unwrap());
            let request = ManualRequest { id: "r".into(), at: FireTime(555), parameter };
            idle().with_request(request).unwrap()
        };
        let answered = |told| asked(told).answer(&by(3)).unwrap();
        let longest = "x".repeat(crate::MAX_REQUEST_PARAMETER_BYTES);
        let told = Some(longest.as_str());
        let cluster = || Scene::cluster_in(Dialect::V3, 4, 2).due(200).items_per_plan(14);
        let ours = |scene: Scene, told, items: std::ops::Range<u32>| {
            items.fold(scene, |scene, i| scene.ledger(i, answered(told)))
        };
        let javas = |scene: Scene, told, items: std::ops::Range<u32>| {
            items.fold(scene, |scene, i| {
                scene.ledger(i, asked(told)).named_mark(&NodeKind::Running(item(i)), 3)
            })
        };
        let rows = [
            ("all that are told nothing", ours(cluster(), None, 0..4), 4),
            ("those of Java instances too", javas(cluster(), None, 0..4), 4),
            ("both", javas(ours(cluster(), None, 0..2), None, 2..4), 4),
            ("two that are told much", ours(cluster(), told, 0..4), 2),
            ("two of Java instances, whose requests wait", javas(cluster(), told, 0..4), 2),
            ("one of each", javas(ours(cluster(), told, 0..1), told, 1..4), 2),
            (
                "one of ours, however little there is room for",
                ours(cluster(), told, 0..4).items_per_plan(1),
                1,
            ),
            ("one of Java's", javas(cluster(), told, 0..4).items_per_plan(1), 1),
        ];
        for (case, scene, expected) in rows {
            let plan = scene.plan(Duty::Sweep).unwrap();
            let written = |step: &&Step| step.ledger().is_some();
            assert_eq!(plan.steps.iter().filter(written).count(), expected, "{case}: {plan}");
        }
    }

    #[test]
    fn beside_java_instances_a_sweep_confirms_that_every_holder_is_gone() {
        let scene = Scene::cluster(3, 2)
            .java(5)
            .ledger(0, running_by(3))
            .ledger(1, running_by(3))
            .ledger(2, running_by(4));
        let confirmed = scene.plan(Duty::Sweep).unwrap().confirm_gone;
        let nodes = |i, n| [NodeKind::Instance(id(n)), NodeKind::Running(item(i))];
        assert_eq!(confirmed, [nodes(0, 3), nodes(1, 3), nodes(2, 4)].concat());
    }

    #[test]
    fn what_java_instances_have_left_unfinished_is_queued_and_other_marks_are_taken_away() {
        let running = |i| NodeKind::Running(item(i));
        let taken = |i| NodeKind::Failovering(item(i));
        let cluster = || Scene::cluster_in(Dialect::V3, 2, 2).due(200);
        let marked = |scene: Scene| scene.named_mark(&running(1), 3);
        let off = |config: &mut JobConfig| config.failover = false;
        let hourly = |config: &mut JobConfig| config.cron = Some("0 0 * * * ?".to_owned());
        let queued = "sweep: runs without a holder\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/running\n  create leader/failover/items/1";
        let unmarked = "sweep: runs without a holder\n  delete sharding/1/running";
        let no_turn = "sweep: runs without a holder\n  delete sharding/1/failovering";
        let led_by_java =
            || Scene::job_in(Dialect::V3, 2).member(1).java(4).led_by_java(4).due(200);
        let rows = vec![
            ("A3, A7: it runs no more", marked(cluster()), queued),
            (
                "A5: its server was disabled before",
                marked(cluster().server(3, wire::DISABLED)),
                queued,
            ),
            (
                "A5: its server was removed before",
                marked(cluster().server(3, wire::ENABLED).without_server(3)),
                queued,
            ),
            ("it runs", marked(cluster().java(3)), "nothing"),
            (
                "nobody knows yet for which fire it ran",
                marked(Scene::cluster_in(Dialect::V3, 2, 2).configure(hourly)),
                "nothing",
            ),
            ("A3: nothing ever fires", marked(Scene::cluster_in(Dialect::V3, 2, 2)), unmarked),
            ("A3: failover was turned off", marked(cluster().configure(off)), unmarked),
            (
                "A3: failover was turned off before the first fire",
                marked(Scene::cluster_in(Dialect::V3, 2, 2).configure(off)),
                unmarked,
            ),
            (
                "A6: somebody has taken over and waits for the mark to go",
                marked(cluster().java(4)).marked(&NodeKind::Failover(item(1))),
                unmarked,
            ),
            ("A6: its fire is done", marked(cluster()).ledger(1, done(200)), unmarked),
            (
                "A6: whoever had taken over was lost before it began",
                cluster().named_mark(&taken(1), 3),
                "sweep: runs without a holder\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/failovering\n  create leader/failover/items/1",
            ),
            (
                "A6: somebody else has taken over since",
                cluster().java(4).named_mark(&taken(1), 3).marked(&NodeKind::Failover(item(1))),
                "nothing",
            ),
            (
                "A6: somebody else runs it since",
                cluster().java(4).named_mark(&taken(1), 3).marked_in_session(&running(1)),
                "nothing",
            ),
            (
                "A6: failover was turned off",
                cluster().configure(off).named_mark(&taken(1), 3),
                no_turn,
            ),
            (
                "out of range",
                cluster().named_mark(&running(7), 3),
                "sweep: runs without a holder\n  delete sharding/7/running",
            ),
            ("the mark names nobody", cluster().configure(off).marked(&running(1)), unmarked),
            (
                "2.1.5: a mark that no session owns",
                Scene::cluster(2, 2).due(200).marked(&running(1)),
                unmarked,
            ),
            (
                "A5: a Java instance leads",
                marked(led_by_java().owned(1, 3)),
                "sweep: runs without a holder\n  create ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/running\n  create leader/failover/items/1",
            ),
            (
                "a Java instance leads, and the item is another one's",
                marked(led_by_java().java(5).owned(1, 5)),
                "nothing",
            ),
        ];
        check(Duty::Sweep, rows);
    }

    /// Instance 4, which is Java's, has taken item 1 over, an orphan, and is lost; another Java instance is there.
    fn lost_by_its_taker(dialect: Dialect) -> Scene {
        let scene = Scene::cluster_in(dialect, 2, 2).java(4).java(5).ledger(1, orphan());
        match dialect {
            Dialect::V2 => {
                let scene = scene.named_mark(&NodeKind::Failover(item(1)), 4).observed();
                scene.without(&NodeKind::Failover(item(1))).gone(4).observed()
            }
            Dialect::V3 => {
                let scene = scene.named_mark(&NodeKind::Running(item(1)), 4).observed();
                scene.named_mark(&NodeKind::Failovering(item(1)), 4).gone(4).observed()
            }
        }
    }

    #[test]
    fn what_a_java_instance_has_taken_over_and_not_ended_is_queued_again() {
        let queued = "sweep: runs without a holder\n  create leader/failover/items/1";
        let unmarked = "sweep: runs without a holder\n  delete sharding/1/running\n  delete sharding/1/failovering\n  create leader/failover/items/1";
        let given_up = "sweep: runs without a holder\n  set ledger/1: idle, last interrupted";
        let lost = || lost_by_its_taker(Dialect::V2);
        let rows = vec![
            ("it is lost", lost(), queued),
            ("in 3.x its marks stay", lost_by_its_taker(Dialect::V3), unmarked),
            ("it is queued again", lost().marked(&NodeKind::QueuedItem(item(1))), "nothing"),
            (
                "somebody else has taken it over",
                lost().named_mark(&NodeKind::Failover(item(1)), 5),
                "nothing",
            ),
            ("no failover", lost().configure(|c| c.failover = false), given_up),
            ("somebody else leads", lost().led_by(2), "nothing"),
            (
                "its marks are gone, and it is there",
                Scene::cluster(2, 2)
                    .java(4)
                    .ledger(1, orphan())
                    .named_mark(&NodeKind::Failover(item(1)), 4)
                    .observed()
                    .without(&NodeKind::Failover(item(1)))
                    .observed(),
                "nothing",
            ),
            (
                "nobody here has seen who took it over",
                Scene::cluster(2, 2).java(5).ledger(1, orphan()).observed(),
                given_up,
            ),
        ];
        check(Duty::Sweep, rows);
    }

    #[test]
    fn what_was_taken_over_again_meanwhile_is_not_queued() {
        type Change = fn(Scene) -> Scene;
        let rows: [(&str, Change); 3] = [
            ("by one of ours", |scene| scene.ledger(1, running_by(2))),
            ("by a Java instance", |scene| scene.named_mark(&NodeKind::Failover(item(1)), 5)),
            ("nobody, and it is queued", |scene| scene.marked(&NodeKind::QueuedItem(item(1)))),
        ];
        for (case, change) in rows {
            let scene = lost_by_its_taker(Dialect::V2);
            let plan = scene.plan(Duty::Sweep).unwrap();
            let gone = [NodeKind::Instance(id(4)), NodeKind::Running(item(1))];
            assert_eq!(plan.confirm_gone, gone, "{case}");
            assert!(scene.would_commit(&plan), "{case}: {plan}");
            assert!(!change(scene).would_commit(&plan), "{case}: {plan}");
        }
    }

    /// Somebody else has taken the mark away, and the mark that is there now is of a run of ours.
    #[test]
    fn a_mark_is_not_taken_away_that_was_made_since() {
        let off = |config: &mut JobConfig| config.failover = false;
        let led_by_java =
            Scene::job_in(Dialect::V3, 2).member(1).java(4).led_by_java(4).owned(1, 1);
        let rows = [
            ("its item has a record", Scene::cluster_in(Dialect::V3, 2, 2)),
            ("its item has none yet", led_by_java),
        ];
        for (case, scene) in rows {
            let marked = scene.configure(off).named_mark(&NodeKind::Running(item(1)), 3);
            let plan = marked.plan(Duty::Sweep).unwrap();
            assert!(marked.would_commit(&plan), "{case}: {plan}");
            assert!(!marked.running(1, 1).would_commit(&plan), "{case}: {plan}");
        }
    }
}
