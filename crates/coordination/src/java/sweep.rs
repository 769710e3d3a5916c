//! Sweep beside Java instances. They write no records, so that their runs are inferred from marks.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::inference::InterruptedRun;
use crate::duty::Context;
use crate::duty::sweep::{self, LostRun, REASON, fails_over, guarded};
use crate::duty::takeover::AtOnce;
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{Duty, JobConfig, Ledger};

/// Finds runs whose holder is gone, as the plain sweep does, and runs and marks of lost Java
/// instances.
///
/// A write can prove by marks that a holder is gone only where it is known which marks the run has.
/// Elsewhere reads confirm first that instance and mark are absent: ids are never used again, so
/// "absent now" means "gone for good".
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let plan = as_sweeper(cx)?;
    let found = left_behind(cx, config);
    let found_now: Vec<_> = cx.within_one_plan(found, LeftBehind::record_bytes).collect();
    let share = at_once(cx, &found_now);
    let guarded_plan = guarded(plan, cx, share.as_ref())?;
    let swept = |plan, left: &LeftBehind<'_>| left.sweep(plan, cx, share.as_ref());
    found_now.iter().fold(guarded_plan, swept).if_any()
}

/// Begins a sweep. A Java leader reads no records, so under it each owner sweeps its own items.
fn as_sweeper(cx: &Context<'_>) -> Option<Plan> {
    if cx.view.has_java_leader() {
        return Some(Plan::as_instance(Duty::Sweep, cx, REASON));
    }
    Plan::as_leader(Duty::Sweep, cx, REASON)
}

/// Returns the runs and marks of lost instances that this instance sweeps.
fn left_behind<'a>(cx: &Context<'a>, config: &JobConfig) -> impl Iterator<Item = LeftBehind<'a>> {
    let is_wanted = |item, view: &ItemView, ledger: &Ledger| {
        if !ledger.may_continue() {
            return false;
        }
        // An item that a Java leader has given to a Java instance is run by that instance.
        let owned_by_java = cx.view.java_owner(view).is_some();
        fails_over(config, item) && !owned_by_java && cx.view.can_be_queued(ledger)
    };
    let mut recorded: Vec<_> = sweep::lost_runs(cx, is_wanted).collect();
    recorded.extend(orphans_ended_by_java(cx, is_wanted));
    recorded.sort_by_key(|run| run.item);
    let runs = recorded.into_iter().map(LeftBehind::Run);
    let of_java =
        left_by_java(cx, config).map(|(item, view, left)| LeftBehind::Java(item, view, left));
    runs.chain(of_java).filter(|left| is_swept_here(cx, left.view()))
}

/// Returns this instance's share of the runs that it takes over at once. Java instances take over
/// from the queue, one after the other: beside them every run waits there.
fn at_once(cx: &Context<'_>, found: &[LeftBehind<'_>]) -> Option<AtOnce> {
    if cx.view.takes_turns() {
        return None;
    }
    let runs = found.iter().filter_map(LeftBehind::run);
    AtOnce::of(cx, runs.filter(|run| run.is_found_now()))
}

/// Returns true if this instance sweeps the item. A Rust leader sweeps all items. Under a Java
/// leader each Rust instance sweeps its own items and those of lost owners.
fn is_swept_here(cx: &Context<'_>, view: &ItemView) -> bool {
    if !cx.view.has_java_leader() {
        return true;
    }
    let owner = view.owner_id();
    owner.is_some_and(|owner| owner == cx.me || !cx.view.is_registered(owner))
}

/// A run or a mark of an instance that is gone.
enum LeftBehind<'a> {
    Run(LostRun<'a>),
    Java(ShardingItem, &'a ItemView, LeftByJava<'a>),
}

impl<'a> LeftBehind<'a> {
    fn run(&self) -> Option<&LostRun<'a>> {
        match self {
            Self::Run(run) => Some(run),
            Self::Java(..) => None,
        }
    }

    fn view(&self) -> &ItemView {
        match self {
            Self::Run(run) => run.view,
            Self::Java(_, view, _) => view,
        }
    }

    /// Returns the size of the parameters in the record, in bytes. The swept record keeps them.
    fn record_bytes(&self) -> usize {
        self.view().ledger.as_ref().map_or(0, |ledger| ledger.value.parameter_bytes())
    }

    /// Adds the steps that sweep the run or the marks.
    fn sweep(&self, plan: Plan, cx: &Context<'_>, share: Option<&AtOnce>) -> Plan {
        match self {
            Self::Run(run) => take_or_queue(plan, cx, run, share),
            Self::Java(item, view, LeftByJava::Run(run)) => orphan(plan, *item, view, run),
            Self::Java(item, view, LeftByJava::Takeover(taker)) => {
                queue_again(plan, *item, view, taker)
            }
            Self::Java(item, view, LeftByJava::Marks) => remove_marks(plan, cx, *item, view),
        }
    }
}

/// Returns orphaned runs that left the queue although no Rust instance took them: a Java instance
/// has taken each over and ended it.
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

/// Returns true if a Java instance has ended an orphaned run. If the marks have just vanished, the
/// taker may have been lost, so that the run is undecided.
fn is_ended_by_java(cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> bool {
    let memory = &cx.local.java.inference;
    let decided = !memory.is_undecided(item) && memory.lost_taker(cx.view, item).is_none();
    let out_of_queue = !view.queued && view.marks.failover.is_none() && cx.view.is_unmarked(view);
    let by_java = cx.view.is_mixed();
    by_java && out_of_queue && decided
}

/// Takes the run over or gives it up, if the write or reads before it prove that its holder is
/// gone.
fn take_or_queue(plan: Plan, cx: &Context<'_>, run: &LostRun<'_>, share: Option<&AtOnce>) -> Plan {
    let taken = share.and_then(|share| share.take(cx, run));
    let proved = match run.holder {
        Some(holder) => prove_gone(plan, cx, run, holder, taken.is_some()),
        None => plan,
    };
    if let Some(taken) = taken {
        // The former marks are removed first, because the takeover creates them anew.
        return proved.steps(lasting_marks(run.item, run.view)).steps(taken);
    }
    let mut steps = Vec::new();
    for step in run.queue_or_end(cx.now.wall_ms) {
        let changes_record = step.ledger().is_some();
        steps.push(step);
        if changes_record {
            steps.extend(lasting_marks(run.item, run.view));
        }
    }
    proved.steps(steps)
}

/// Adds the proof that the holder's session has ended. A takeover creates the marks anew, which
/// conflicts while they exist.
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

/// Returns true if it is known which marks the run has: ephemeral marks, or lasting marks if the
/// configuration in force, under which the run started, makes marks last.
fn is_proved_by_marks(cx: &Context<'_>, run: &LostRun<'_>) -> bool {
    let last = cx.view.config().is_some_and(|config| cx.view.has_lasting_marks(config));
    let in_force = run.ledger.value.config == cx.view.config_version();
    let known = run.view.marks.lasting_holder().is_none() || (last && in_force);
    known && !cx.view.takes_turns()
}

/// Returns the ephemeral mark of the item's holder.
fn mark_of_session(item: ShardingItem, view: &ItemView) -> NodeKind {
    match view.marks.lasting_holder() {
        Some(_) => NodeKind::Alive(item),
        None => NodeKind::Running(item),
    }
}

/// Returns the steps that remove the lasting marks of the holder.
fn lasting_marks(item: ShardingItem, view: &ItemView) -> impl Iterator<Item = Step> + use<> {
    let running = view.marks.lasting_holder().is_some().then(|| Step::unmark_running(item));
    let failovering = view.marks.failovering.as_ref().map(|_| Step::unmark_failovering(item));
    running.into_iter().chain(failovering)
}

/// Run or marks that a lost Java instance left at an item.
enum LeftByJava<'a> {
    /// An unfinished run of one of its items.
    Run(InterruptedRun),
    /// An unfinished takeover of a run that is still orphaned.
    Takeover(&'a InstanceId),
    /// Marks of runs that no instance has to take over.
    Marks,
}

/// Returns the items with runs or marks of lost Java instances. Runs without a lasting mark are
/// known from memory only.
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
    if fails_over && let Some(run) = interrupted(cx, item) {
        return Some(LeftByJava::Run(run));
    }
    let owned_by_java = cx.view.java_owner(view).is_some();
    // Without Java instances an orphaned run is in the queue or taken over, and only marks can
    // block it.
    let may_block = cx.view.is_mixed() || cx.view.may_have_lasting_marks();
    let is_wanted = fails_over && !owned_by_java && may_block;
    if is_wanted && let Some(taker) = cx.local.java.inference.lost_taker(cx.view, item) {
        return Some(LeftByJava::Takeover(taker));
    }
    has_leftover_marks(cx, view, fails_over, config.cron.is_some()).then_some(LeftByJava::Marks)
}

/// Orphans a run that a Java instance left unfinished. It conflicts if another Java instance has
/// taken the run over: the mark in the view may then belong to that takeover.
fn orphan(plan: Plan, item: ShardingItem, view: &ItemView, run: &InterruptedRun) -> Plan {
    // An unreadable record may show a run.
    if view.unreadable {
        return plan;
    }
    let known = view.ledger.as_ref();
    let fresh = Ledger::new(None);
    let ledger = known.map_or(&fresh, |ledger| &ledger.value);
    let Some(next) = ledger.orphan_of(&run.owner, run.fire) else { return plan };
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

/// Returns true if lasting marks of lost instances show runs that no instance has to take over:
/// failover was turned off, or the taker was lost as well. While the marks exist, Java instances do
/// not run the item, and Java leaders assign none.
fn has_leftover_marks(
    cx: &Context<'_>,
    view: &ItemView,
    fails_over: bool,
    has_schedule: bool,
) -> bool {
    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
    // Before the first fire it is unknown which runs must be taken over. Without a schedule there
    // is no fire to wait for.
    let awaits_fire = cx.local.fires.last_seen.is_none() && has_schedule;
    let unclear = fails_over && view.marks.failover.is_none() && awaits_fire;
    idle && !view.marks.alive && !unclear && leftover_marks(cx, view).any()
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
    let running = view.marks.lasting_holder().filter(is_gone);
    let taken = view.marks.failover.is_some() || (view.marks.shows_run() && running.is_none());
    let failovering = if taken { None } else { view.marks.failovering.as_ref().filter(is_gone) };
    LeftoverMarks { running, failovering }
}

/// Removes leftover marks. The item's record proves that they belong to no run of a Rust instance,
/// and Java instances start no run of a marked item.
fn remove_marks(plan: Plan, cx: &Context<'_>, item: ShardingItem, view: &ItemView) -> Plan {
    let LeftoverMarks { running, failovering } = leftover_marks(cx, view);
    let holders = running.into_iter().chain(failovering);
    let confirm = |plan: Plan, holder| plan.confirm_gone(holder, NodeKind::Alive(item));
    let confirmed = holders.fold(plan, confirm);
    confirmed
        .step(Step::ledger_as_shown(item, view))
        .step_if(view.marks.failover.is_none(), || Step::absent(NodeKind::Failover(item)))
        .step_if(running.is_some(), || Step::unmark_running(item))
        .step_if(failovering.is_some(), || Step::unmark_failovering(item))
}

/// Returns the run of an item that a Java instance has left unfinished.
pub(super) fn interrupted(cx: &Context<'_>, item: ShardingItem) -> Option<InterruptedRun> {
    cx.local.java.inference.interrupted(cx.view, item, cx.local.fires.last_seen)
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
    fn sweep_proves_by_marks_or_reads_that_holder_is_gone() {
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
            ("run is taken over at once", idle(), true, None, vec![]),
            ("run is queued", busy(), false, Some(&mark), vec![]),
            ("no failover", busy().configure(|c| c.failover = false), false, Some(&mark), vec![]),
            ("run with a lasting mark is taken over at once", lasting(), true, None, vec![]),
            (
                "run with a lasting mark is queued",
                lasting().running(0, 1).run_here(0, None),
                false,
                Some(&alive),
                vec![],
            ),
            (
                "run began under another configuration",
                former(),
                true,
                None,
                vec![NodeKind::Instance(id(3)), alive.clone()],
            ),
            (
                "marks do not last any more",
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

    /// A run that was a takeover leaves two lasting marks, and its takeover creates four new ones.
    #[test]
    fn takeover_in_sweep_replaces_lasting_marks() {
        let lost = running_by(3).orphan().and_then(|l| l.take_over(&by(4))).unwrap();
        let scene = Scene::cluster_in(Dialect::V3, 2, 2)
            .ledger(1, lost)
            .named_mark(&NodeKind::Running(item(1)), 4)
            .named_mark(&NodeKind::Failovering(item(1)), 4);
        let seven = "sweep: runs whose holder is gone\n  delete sharding/1/running\n  delete sharding/1/failovering\n  set ledger/1: running FAILOVER for 200 by 10.0.0.1@-@1, token 3\n  create sharding/1/running: 10.0.0.1@-@1\n  create coordination/runs/1\n  create sharding/1/failover: 10.0.0.1@-@1\n  create sharding/1/failovering: 10.0.0.1@-@1";
        check(Duty::Sweep, vec![("maximum number of operations for an item", scene, seven)]);
    }

    #[test]
    fn sweep_beside_java_instances_confirms_every_holder_is_gone() {
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
    fn unfinished_run_of_java_instance_is_queued_and_other_marks_are_removed() {
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
            ("A3, A7: instance is lost", marked(cluster()), queued),
            (
                "A5: server was disabled before",
                marked(cluster().server(3, wire::data::DISABLED)),
                queued,
            ),
            (
                "A5: server was removed before",
                marked(cluster().server(3, wire::ENABLED).without_server(3)),
                queued,
            ),
            ("instance is registered", marked(cluster().java(3)), "nothing"),
            (
                "fire of the run is unknown",
                marked(Scene::cluster_in(Dialect::V3, 2, 2).configure(hourly)),
                "nothing",
            ),
            ("A3: job has no schedule", marked(Scene::cluster_in(Dialect::V3, 2, 2)), unmarked),
            ("A3: failover was turned off", marked(cluster().configure(off)), unmarked),
            (
                "A3: failover was turned off before the first fire",
                marked(Scene::cluster_in(Dialect::V3, 2, 2).configure(off)),
                unmarked,
            ),
            (
                "A6: a taker waits until the mark is removed",
                marked(cluster().java(4)).marked(&NodeKind::Failover(item(1))),
                unmarked,
            ),
            ("A6: fire has ended", marked(cluster()).ledger(1, done(200)), unmarked),
            (
                "A6: taker was lost before its run began",
                cluster().named_mark(&taken(1), 3),
                "sweep: runs whose holder is gone\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/failovering\n  create leader/failover/items/1",
            ),
            (
                "A6: another instance has taken the run over",
                cluster().java(4).named_mark(&taken(1), 3).marked(&NodeKind::Failover(item(1))),
                "nothing",
            ),
            (
                "A6: another instance runs the item",
                cluster().java(4).named_mark(&taken(1), 3).marked_in_session(&running(1)),
                "nothing",
            ),
            (
                "A6: failover was turned off",
                cluster().configure(off).named_mark(&taken(1), 3),
                no_turn,
            ),
            (
                "item is out of range",
                cluster().named_mark(&running(7), 3),
                "sweep: runs whose holder is gone\n  delete sharding/7/running",
            ),
            ("mark names no instance", cluster().configure(off).marked(&running(1)), unmarked),
            ("2.1.5: persistent mark", Scene::cluster(2, 2).due(200).marked(&running(1)), unmarked),
            (
                "A5: a Java instance leads",
                marked(led_by_java().owned(1, 3)),
                "sweep: runs whose holder is gone\n  create ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 0\n  delete sharding/1/running\n  create leader/failover/items/1",
            ),
            (
                "a Java instance leads, and another one owns the item",
                marked(led_by_java().java(5).owned(1, 5)),
                "nothing",
            ),
        ];
        check(Duty::Sweep, rows);
    }

    /// Java instance 4 has taken the orphaned run of item 1 over and is lost. Java instance 5 is
    /// registered.
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
    fn unfinished_takeover_of_java_instance_is_queued_again() {
        let queued = "sweep: runs whose holder is gone\n  create leader/failover/items/1";
        let unmarked = "sweep: runs whose holder is gone\n  delete sharding/1/running\n  delete sharding/1/failovering\n  create leader/failover/items/1";
        let ended = "sweep: runs whose holder is gone\n  set ledger/1: idle, last interrupted";
        let lost = || lost_by_its_taker(Dialect::V2);
        let rows = vec![
            ("taker is lost", lost(), queued),
            ("taker of 3.x is lost, and its marks last", lost_by_its_taker(Dialect::V3), unmarked),
            ("run is queued already", lost().marked(&NodeKind::QueuedItem(item(1))), "nothing"),
            (
                "another instance has taken the run over",
                lost().named_mark(&NodeKind::Failover(item(1)), 5),
                "nothing",
            ),
            ("no failover", lost().configure(|c| c.failover = false), ended),
            ("another instance leads", lost().led_by(2), "nothing"),
            (
                "taker has removed its mark and is registered",
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
                "this instance has not seen the taker",
                Scene::cluster(2, 2).java(5).ledger(1, orphan()).observed(),
                ended,
            ),
        ];
        check(Duty::Sweep, rows);
    }

    #[test]
    fn requeue_conflicts_when_run_was_taken_over_again() {
        type Change = fn(Scene) -> Scene;
        let rows: [(&str, Change); 3] = [
            ("a Rust instance takes it over", |scene| scene.ledger(1, running_by(2))),
            ("a Java instance takes it over", |scene| {
                scene.named_mark(&NodeKind::Failover(item(1)), 5)
            }),
            ("another leader queues it", |scene| scene.marked(&NodeKind::QueuedItem(item(1)))),
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

    /// Another instance has removed the mark, and a Rust instance has created a new one for its
    /// run.
    #[test]
    fn mark_removal_conflicts_when_new_run_created_the_mark() {
        let off = |config: &mut JobConfig| config.failover = false;
        let led_by_java =
            Scene::job_in(Dialect::V3, 2).member(1).java(4).led_by_java(4).owned(1, 1);
        let rows = [
            ("item has a record", Scene::cluster_in(Dialect::V3, 2, 2)),
            ("item has no record yet", led_by_java),
        ];
        for (case, scene) in rows {
            let marked = scene.configure(off).named_mark(&NodeKind::Running(item(1)), 3);
            let plan = marked.plan(Duty::Sweep).unwrap();
            assert!(marked.would_commit(&plan), "{case}: {plan}");
            assert!(!marked.running(1, 1).would_commit(&plan), "{case}: {plan}");
        }
    }
}
