//! Sweep beside Java instances: they write no records, so that their runs are inferred from marks.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::inference::InterruptedRun;
use crate::duty::sweep::{self, LostRun, REASON, fails_over, guarded};
use crate::duty::takeover::AtOnce;
use crate::duty::{Context, Duty};
use crate::plan::{Plan, Step};
use crate::view::items::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{JobConfig, Ledger};

/// Finds runs whose holder is gone, as the plain sweep does, and what Java instances left behind when they were lost.
///
/// A write can prove by marks that a holder is gone only where it is known which marks the run has. Elsewhere reads confirm
/// first that instance and mark are absent: ids are never used again, so "absent now" means "gone for good".
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let plan = match cx.view.has_java_leader() {
        // A Java leader reads no records, so each owner sweeps its own items.
        true => Plan::as_instance(Duty::Sweep, cx, REASON),
        false => Plan::as_leader(Duty::Sweep, cx, REASON)?,
    };
    let is_wanted = |item, view: &ItemView, ledger: &Ledger| {
        // An item that a Java leader has given to a Java instance is run by that instance.
        let owned_by_java = cx.view.java_owner(view).is_some();
        fails_over(config, item) && !owned_by_java && super::can_be_queued(cx, ledger)
    };
    let lost = sweep::lost_runs(cx, is_wanted).map(LeftBehind::Run);
    let ended = orphans_ended_by_java(cx, is_wanted).map(LeftBehind::Run);
    let of_java =
        left_by_java(cx, config).map(|(item, view, left)| LeftBehind::Java(item, view, left));
    let mut ours: Vec<_> = lost.chain(ended).collect();
    ours.sort_by_key(LeftBehind::item);
    let found = ours.into_iter().chain(of_java).filter(|left| is_swept_here(cx, left.view()));
    let found: Vec<_> = cx.within_one_plan(found, LeftBehind::record_bytes).collect();
    // Java instances take over from the queue, one after the other: beside them every run waits there.
    let runs = found.iter().filter_map(|left| match left {
        LeftBehind::Run(run) => Some(run).filter(|run| run.is_found_now()),
        LeftBehind::Java(..) => None,
    });
    let at_once = if cx.view.takes_turns() { None } else { AtOnce::of(cx, runs) };
    let plan = guarded(plan, cx, at_once.as_ref())?;
    let plan = found.into_iter().fold(plan, |plan, left| match left {
        LeftBehind::Run(run) => give_up_or_take(plan, cx, &run, at_once.as_ref()),
        LeftBehind::Java(item, view, LeftByJava::Run(run)) => orphan(plan, item, view, &run),
        LeftBehind::Java(item, view, LeftByJava::Takeover(taker)) => {
            queue_again(plan, item, view, taker)
        }
        LeftBehind::Java(item, view, LeftByJava::Marks) => remove_marks(plan, cx, item, view),
    });
    plan.if_any()
}

/// Returns true if this instance sweeps the item: the leader sweeps all, and under a Java leader each instance its own items and
/// those of lost owners.
fn is_swept_here(cx: &Context<'_>, view: &ItemView) -> bool {
    if !cx.view.has_java_leader() {
        return true;
    }
    let owner = view.owner.as_ref().map(|owner| &owner.value);
    owner.is_some_and(|owner| owner == cx.me || !cx.view.is_registered(owner))
}

/// A run or a mark of an instance that is gone.
enum LeftBehind<'a> {
    Run(LostRun<'a>),
    Java(ShardingItem, &'a ItemView, LeftByJava<'a>),
}

impl LeftBehind<'_> {
    fn item(&self) -> ShardingItem {
        match self {
            Self::Run(run) => run.item,
            Self::Java(item, ..) => *item,
        }
    }

    fn view(&self) -> &ItemView {
        match self {
            Self::Run(run) => run.view,
            Self::Java(_, view, _) => view,
        }
    }

    /// Returns the bytes of the record that parameters take: the record keeps them, whatever else changes.
    fn record_bytes(&self) -> usize {
        self.view().ledger.as_ref().map_or(0, |ledger| ledger.value.parameter_bytes())
    }
}

/// Returns orphaned runs that are out of the queue although no instance of this project took them: a Java instance has taken
/// each over and ended it.
fn orphans_ended_by_java<'a>(
    cx: &Context<'a>,
    is_wanted: impl Fn(ShardingItem, &ItemView, &Ledger) -> bool,
) -> impl Iterator<Item = LostRun<'a>> {
    let orphans = cx.view.items_with(Attention::Orphaned);
    orphans.filter_map(move |(item, view)| {
        let ledger = view.ledger.as_ref()?;
        let ended = is_wanted(item, view, &ledger.value) && is_ended_by_java(cx, item, view);
        ended.then_some(LostRun { item, view, ledger, holder: None, is_wanted: false })
    })
}

/// Returns true if a Java instance has ended an orphaned run. A run whose marks have just vanished may have been lost with them.
fn is_ended_by_java(cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> bool {
    let memory = &cx.local.java.inference;
    let decided = !memory.is_undecided(item) && memory.lost_taker(cx.view, item).is_none();
    let out_of_queue = !view.queued && view.failover.is_none() && cx.view.is_unmarked(view);
    let by_java = cx.view.is_mixed();
    by_java && out_of_queue && decided
}

/// Takes the run over or gives it up, if the write or reads before it prove that its holder is gone.
fn give_up_or_take(
    plan: Plan,
    cx: &Context<'_>,
    run: &LostRun<'_>,
    at_once: Option<&AtOnce>,
) -> Plan {
    let taken = at_once.and_then(|share| share.take(cx, run));
    let plan = match run.holder {
        Some(holder) => prove_gone(plan, cx, run, holder, taken.is_some()),
        None => plan,
    };
    match taken {
        // The new marks take the place of the former ones.
        Some(taken) => plan.steps(lasting_marks(run.item, run.view)).steps(taken),
        None => run.give_up(cx.now.wall_ms).into_iter().fold(plan, |plan, step| {
            let marks = step.ledger().map(|_| lasting_marks(run.item, run.view));
            plan.step(step).steps(marks.into_iter().flatten())
        }),
    }
}

/// Adds the proof that the holder's session has ended. A takeover creates the marks anew, which conflicts while they exist.
fn prove_gone(
    plan: Plan,
    cx: &Context<'_>,
    run: &LostRun<'_>,
    holder: &InstanceId,
    is_taken: bool,
) -> Plan {
    let mark = mark_of_session(run.item, run.view);
    if !is_proved_by_marks(cx, run) {
        return plan.confirm_gone(holder, mark);
    }
    plan.step_if(!is_taken, || Step::absent(mark))
}

/// Returns true if it is known which marks the run has: those that go with the session, or lasting ones if the run started under
/// the configuration in force, by which they last.
fn is_proved_by_marks(cx: &Context<'_>, run: &LostRun<'_>) -> bool {
    let last = cx.view.config().is_some_and(|config| cx.view.has_lasting_marks(config));
    let in_force = run.ledger.value.config == cx.view.config_version();
    let known = run.view.lasting.is_none() || (last && in_force);
    known && !cx.view.takes_turns()
}

/// Returns the mark that goes with the session of the item's holder.
fn mark_of_session(item: ShardingItem, view: &ItemView) -> NodeKind {
    match view.lasting {
        Some(_) => NodeKind::Alive(item),
        None => NodeKind::Running(item),
    }
}

/// Returns the steps that remove the marks which outlast the holder's session.
fn lasting_marks(item: ShardingItem, view: &ItemView) -> impl Iterator<Item = Step> + use<> {
    let running = view.lasting.is_some().then(|| Step::unmark_running(item));
    let failovering = view.failovering.as_ref().map(|_| Step::unmark_failovering(item));
    running.into_iter().chain(failovering)
}

/// What a lost Java instance left at an item.
enum LeftByJava<'a> {
    /// An unfinished run of one of its items.
    Run(InterruptedRun),
    /// An unfinished takeover, whose run still waits.
    Takeover(&'a InstanceId),
    /// Marks of runs that no instance has to take over.
    Marks,
}

/// Returns what lost Java instances left at items. Some of their runs leave no trace in the registry; all others left a lasting
/// mark.
fn left_by_java<'a>(
    cx: &Context<'a>,
    config: &JobConfig,
) -> impl Iterator<Item = (ShardingItem, &'a ItemView, LeftByJava<'a>)> {
    let marked = cx.view.items_with(Attention::LastingMark).map(|(item, _)| item);
    let items: BTreeSet<_> = marked.chain(cx.local.java.inference.lost_items()).collect();
    items.into_iter().filter_map(move |item| {
        let view = cx.view.item(item);
        Some((item, view, left_at(cx, config, item, view)?))
    })
}

fn left_at<'a>(
    cx: &Context<'a>,
    config: &JobConfig,
    item: ShardingItem,
    view: &ItemView,
) -> Option<LeftByJava<'a>> {
    let fails_over = fails_over(config, item);
    if let Some(run) = super::interrupted(cx, item).filter(|_| fails_over) {
        return Some(LeftByJava::Run(run));
    }
    let owned_by_java = cx.view.java_owner(view).is_some();
    let taker =
        cx.local.java.inference.lost_taker(cx.view, item).filter(|_| fails_over && !owned_by_java);
    // Without Java instances an orphaned run is in the queue or taken over, and only marks can block it.
    let may_block = cx.view.is_mixed() || cx.view.may_have_lasting_marks();
    if let Some(taker) = taker.filter(|_| may_block) {
        return Some(LeftByJava::Takeover(taker));
    }
    has_leftover_marks(cx, view, fails_over, config.cron.is_some()).then_some(LeftByJava::Marks)
}

/// Makes an orphaned run of a run that a Java instance left unfinished, unless another Java instance has taken it over: the
/// mark in the view may then belong to another run.
fn orphan(plan: Plan, item: ShardingItem, view: &ItemView, run: &InterruptedRun) -> Plan {
    let known = view.ledger.as_ref();
    let fresh = Ledger::new(None);
    let ledger = known.map_or(&fresh, |ledger| &ledger.value);
    let next = ledger.orphan_of(&run.owner, run.fire).filter(|_| !view.unreadable);
    let Some(next) = next else { return plan };
    let expect = known.map(|ledger| ledger.version);
    plan.confirm_gone(&run.owner, mark_of_session(item, view))
        .step(Step::absent(NodeKind::Failover(item)))
        .step(Step::set_ledger(item, expect, next))
        .steps(lasting_marks(item, view))
        .step_if(!view.queued, || Step::queue(item))
}

/// Puts an orphaned run back into the queue: a Java instance took it out and did not end it.
fn queue_again(plan: Plan, item: ShardingItem, view: &ItemView, taker: &InstanceId) -> Plan {
    plan.confirm_gone(taker, mark_of_session(item, view))
        .step(Step::absent(NodeKind::Failover(item)))
        .step(Step::ledger_as_shown(item, view))
        .steps(lasting_marks(item, view))
        .step_if(!view.queued, || Step::queue(item))
}

/// Returns true if marks show runs of lost instances that no instance has to take over. Java instances leave them if failover was
/// turned off meanwhile, or if the taker was lost as well. While the marks exist, Java instances do not run the item and
/// Java leaders assign nothing.
fn has_leftover_marks(
    cx: &Context<'_>,
    view: &ItemView,
    fails_over: bool,
    has_schedule: bool,
) -> bool {
    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
    // Before the first fire it is unknown which runs must be taken over. Without a schedule there is no fire to wait for.
    let unclear = fails_over && view.failover.is_none() && cx.local.last_fire_seen.is_none();
    let unclear = unclear && has_schedule;
    idle && !view.alive && !unclear && leftover_marks(cx, view).any()
}

/// Marks at an item whose instances are gone.
#[derive(Clone, Copy)]
struct LeftoverMarks<'a> {
    running: Option<&'a InstanceId>,
    failovering: Option<&'a InstanceId>,
}

impl LeftoverMarks<'_> {
    fn any(&self) -> bool {
        self.running.is_some() || self.failovering.is_some()
    }
}

fn leftover_marks<'a>(cx: &Context<'_>, view: &'a ItemView) -> LeftoverMarks<'a> {
    let is_gone = |holder: &&InstanceId| !cx.view.is_registered(holder);
    let running = view.lasting.as_ref().filter(is_gone);
    let taken = view.failover.is_some() || (view.running && running.is_none());
    let failovering = view.failovering.as_ref().filter(is_gone).filter(|_| !taken);
    LeftoverMarks { running, failovering }
}

/// Removes leftover marks. The item's record proves that no run of this project is behind them, and Java instances start none
/// beside them.
fn remove_marks(plan: Plan, cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> Plan {
    let LeftoverMarks { running, failovering } = leftover_marks(cx, view);
    let holders = running.into_iter().chain(failovering);
    let plan = holders.fold(plan, |plan, holder| plan.confirm_gone(holder, NodeKind::Alive(item)));
    plan.step(Step::ledger_as_shown(item, view))
        .step_if(view.failover.is_none(), || Step::absent(NodeKind::Failover(item)))
        .step_if(running.is_some(), || Step::unmark_running(item))
        .step_if(failovering.is_some(), || Step::unmark_failovering(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::duty::scene::{Scene, by, check, done, id, item, running_by};
    use crate::plan::StepOp;
    use crate::wire;
    use reg_center::Version;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
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
        let seven = "sweep: runs whose holder is gone\n  delete sharding/1/running\n  delete sharding/1/failovering\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 3\n  create sharding/1/running: 10.0.0.1@-@1\n  create coordination/runs/1\n  create sharding/1/failover: 10.0.0.1@-@1\n  create sharding/1/failovering: 10.0.0.1@-@1";
        check(Duty::Sweep, vec![("as many as there are for an item", scene, seven)]);
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
        let queued = "sweep: runs whose holder is gone\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/running\n  create leader/failover/items/1";
        let unmarked = "sweep: runs whose holder is gone\n  delete sharding/1/running";
        let no_turn = "sweep: runs whose holder is gone\n  delete sharding/1/failovering";
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
                "sweep: runs whose holder is gone\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/failovering\n  create leader/failover/items/1",
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
                "sweep: runs whose holder is gone\n  delete sharding/7/running",
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
                "sweep: runs whose holder is gone\n  create ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/running\n  create leader/failover/items/1",
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
        let queued = "sweep: runs whose holder is gone\n  create leader/failover/items/1";
        let unmarked = "sweep: runs whose holder is gone\n  delete sharding/1/running\n  delete sharding/1/failovering\n  create leader/failover/items/1";
        let given_up = "sweep: runs whose holder is gone\n  set ledger/1: idle, last interrupted";
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
