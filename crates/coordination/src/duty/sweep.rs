//! Sweep: the leader finds runs whose holder is gone, takes its share over at once, and queues the
//! rest.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::Context;
use super::takeover::AtOnce;
use crate::plan::{Plan, Step};
use crate::view::holder::HolderState;
use crate::view::item::{Attention, ItemView};
use crate::wire::NodeKind;
use crate::{Duty, FailureReason, JobConfig, Ledger, LedgerState, Versioned};

pub(crate) const REASON: &str = "runs whose holder is gone";

/// Finds runs whose holder is gone. Without failover, or beyond the number of items, they end with
/// the outcome `interrupted`; if their cancellation is requested, as `cancelled`.
///
/// The view may be stale, so the write itself proves that the holder is gone. Record and mark are
/// written together. If the record is unchanged and the mark is absent, the holder's session has
/// ended ([ADR 21](../../../../docs/adr/0021-a-sweep-checks-marks-as-it-writes.md)).
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let plan = Plan::as_leader(Duty::Sweep, cx, REASON)?;
    let is_wanted =
        |item, _: &ItemView, ledger: &Ledger| fails_over(config, item) && ledger.may_continue();
    let found = lost_runs(cx, is_wanted);
    let lost: Vec<_> = cx.within_one_plan(found, LostRun::record_bytes).collect();
    let share = AtOnce::of(cx, lost.iter().filter(|run| run.is_found_now()));
    guarded(plan, cx, share.as_ref())?
        .steps(lost.iter().flat_map(|run| run.take_or_queue(cx, share.as_ref())))
        .if_any()
}

/// Returns true if another instance takes the item's run over.
pub(crate) fn fails_over(config: &JobConfig, item: ShardingItem) -> bool {
    config.fails_over() && config.has_item(item)
}

/// Adds the guards of a sweep. If it takes runs over itself, it needs the guards of a start.
pub(crate) fn guarded(plan: Plan, cx: &Context<'_>, at_once: Option<&AtOnce>) -> Option<Plan> {
    match at_once {
        Some(_) => Some(plan.starting(cx)?.steps(AtOnce::nothing_was_ever_queued(cx))),
        None => Some(plan.step(Step::config_unchanged(cx.view.config_version()?))),
    }
}

/// A run whose holder is gone, or an orphaned run that no instance may take over.
#[derive(Clone, Copy)]
pub(crate) struct LostRun<'a> {
    pub(crate) item: ShardingItem,
    pub(crate) view: &'a ItemView,
    pub(crate) ledger: &'a Versioned<Ledger>,
    /// The lost instance; `None` if the record shows an orphaned run already.
    pub(crate) holder: Option<&'a InstanceId>,
    /// Another instance may take the run over.
    pub(crate) is_wanted: bool,
}

impl LostRun<'_> {
    /// Returns true if the run was found now and waits for a takeover.
    pub(crate) fn is_found_now(&self) -> bool {
        self.holder.is_some() && self.is_wanted
    }

    pub(crate) fn record_bytes(&self) -> usize {
        self.ledger.value.parameter_bytes()
    }

    /// Returns the steps that take the run over if it is in the share, else queue or end it.
    fn take_or_queue(&self, cx: &Context<'_>, share: Option<&AtOnce>) -> Vec<Step> {
        // No absence check here: the takeover creates the mark, which conflicts while the former
        // one exists.
        if let Some(taken) = share.and_then(|share| share.take(cx, self)) {
            return taken;
        }
        let mut steps = Vec::new();
        if self.holder.is_some() {
            steps.push(Step::absent(NodeKind::Running(self.item)));
        }
        steps.extend(self.queue_or_end(cx.now.wall_ms));
        steps
    }

    /// Returns the steps that queue the run, or record that it was interrupted if no instance takes
    /// it over.
    pub(crate) fn queue_or_end(&self, now_ms: i64) -> Vec<Step> {
        let Self { item, view, is_wanted, .. } = *self;
        let Some(next) = self.orphaned_or_ended(now_ms) else { return Vec::new() };
        let mut steps = Vec::new();
        if self.holder.is_none() && !view.queued {
            // The record and the queue entry were written together, and the view may show one of
            // them only.
            steps.push(Step::absent(NodeKind::QueuedItem(item)));
        }
        steps.push(Step::set_ledger(item, Some(self.ledger.version), next));
        if is_wanted && !view.queued {
            steps.push(Step::queue(item));
        }
        if !is_wanted && view.queued {
            steps.push(Step::dequeue(item));
        }
        steps
    }

    /// Returns the record of the run once it waits for a takeover, or was interrupted.
    fn orphaned_or_ended(&self, now_ms: i64) -> Option<Ledger> {
        let ledger = &self.ledger.value;
        let next = if self.is_wanted { ledger.orphan() } else { ledger.abandon(now_ms) };
        let lost = self.holder.map(|holder| format!("its instance {holder} was lost"));
        let reason = match ledger.cancels() {
            Some(request) => Some(request.cause(lost.as_deref())),
            None => lost,
        };
        Some(next?.because(reason.and_then(|text| FailureReason::new(&text))))
    }
}

/// Returns the runs whose holder is gone, and the orphaned runs that no instance shall take over.
pub(crate) fn lost_runs<'a>(
    cx: &Context<'a>,
    is_wanted: impl Fn(ShardingItem, &ItemView, &Ledger) -> bool,
) -> impl Iterator<Item = LostRun<'a>> {
    let view = cx.view;
    // Most holders are registered, so that few items have to be looked at.
    let unregistered = view.holders().filter(|(holder, _)| !view.is_registered(holder));
    let held = unregistered.flat_map(|(_, items)| items.iter().copied());
    let orphans = view.slots_with(Attention::Orphaned).map(|(item, _)| item);
    let items: BTreeSet<ShardingItem> = held.chain(orphans).collect();
    items.into_iter().filter_map(move |item| {
        let shown = view.item(item);
        let ledger = shown.ledger.as_ref()?;
        let is_wanted = is_wanted(item, shown, &ledger.value);
        let holder = match &ledger.value.state {
            LedgerState::Running(run) => match view.holder_state(shown, &run.holder) {
                HolderState::Gone => Some(&run.holder),
                HolderState::Alive | HolderState::Unknown => return None,
            },
            LedgerState::Orphan(_) if !is_wanted => None,
            LedgerState::Orphan(_) | LedgerState::Idle | LedgerState::Retired => return None,
        };
        Some(LostRun { item, view: shown, ledger, holder, is_wanted })
    })
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, by, check, id, idle, item, running_by, to_be_cancelled};
    use super::*;
    use crate::wire::latch::name_of;

    use crate::{Dialect, FireTime, ManualRequest, RequestParameter, RunSource};
    use crate::{Latch, wire};

    fn failover(i: u32) -> NodeKind {
        NodeKind::Failover(item(i))
    }

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn leader_sweeps_runs_whose_holder_is_gone() {
        let lost = || Scene::cluster(2, 2).ledger(1, running_by(3)).running(0, 1).run_here(0, None);
        let rows = vec![
            (
                "run is orphaned and queued",
                lost(),
                "sweep: runs whose holder is gone\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.3@-@3, token 1\n  create leader/failover/items/1",
            ),
            (
                "no failover, so the run ends as interrupted",
                lost().configure(|c| c.failover = false),
                "sweep: runs whose holder is gone\n  set ledger/1: idle, last interrupted",
            ),
            ("holder is registered", Scene::cluster(2, 2).running(1, 2), "nothing"),
            (
                "an operator removed the holder, and its mark is left",
                Scene::cluster(2, 2).running(1, 2).gone(2),
                "nothing",
            ),
            (
                "item is beyond the number of items",
                lost().configure(|c| c.sharding_total_count = 1),
                "sweep: runs whose holder is gone\n  set ledger/1: idle, last interrupted",
            ),
            (
                "holder was a member and is gone",
                Scene::cluster(2, 2).ledger(1, running_by(2)).gone(2).run_here(0, None),
                "sweep: runs whose holder is gone\n  set ledger/1: orphan NORMAL for 200 by 10.0.0.2@-@2, token 1\n  create leader/failover/items/1",
            ),
            (
                "its cancellation is requested",
                lost().ledger(1, to_be_cancelled(running_by(3))),
                "sweep: runs whose holder is gone\n  set ledger/1: idle, last cancelled",
            ),
            (
                "the cancellation of an orphaned run is requested",
                Scene::cluster(2, 2)
                    .ledger(1, to_be_cancelled(orphan()))
                    .marked(&NodeKind::QueuedItem(item(1))),
                "sweep: runs whose holder is gone\n  set ledger/1: idle, last cancelled\n  delete leader/failover/items/1",
            ),
            (
                "the cancellation is requested, and the holder is registered",
                Scene::cluster(2, 2).running(1, 2).ledger(1, to_be_cancelled(running_by(2))),
                "nothing",
            ),
            ("another instance leads", lost().led_by(2), "nothing"),
            (
                "failover was turned off while a run is orphaned",
                Scene::cluster(2, 2)
                    .ledger(1, orphan())
                    .marked(&NodeKind::QueuedItem(item(1)))
                    .configure(|c| c.failover = false),
                "sweep: runs whose holder is gone\n  set ledger/1: idle, last interrupted\n  delete leader/failover/items/1",
            ),
        ];
        check(Duty::Sweep, rows);
    }

    #[test]
    fn record_of_a_cancelled_lost_run_names_author_and_reason() {
        let lost = "its instance 10.0.0.3@-@3 was lost";
        let orphaned = orphan().because(FailureReason::new(lost));
        let rows = [
            (to_be_cancelled(running_by(3)), format!("cancelled by anna: wrong month ({lost})")),
            (to_be_cancelled(orphaned), "cancelled by anna: wrong month".to_owned()),
        ];
        for (ledger, cause) in rows {
            let scene = Scene::cluster(2, 2).ledger(1, ledger);
            let plan = scene.plan(Duty::Sweep).expect("the leader ends the run");
            let (_, ended) = plan.steps.iter().find_map(Step::ledger).expect("its record is set");
            assert_eq!(ended.failure.as_ref().map(ToString::to_string), Some(cause));
        }
    }

    #[test]
    fn leader_takes_its_share_over_at_once() {
        let lost = || (0..4).fold(Scene::cluster(6, 2), |scene, i| scene.ledger(i, running_by(3)));
        let busy = |scene: Scene| scene.running(5, 2);
        let second = |scene: Scene| scene.member(0).server(0, wire::ENABLED);
        let line = |scene: Scene| scene.in_line(Latch::Failover, &name_of(&id(9), 0));
        let rows: Vec<(&str, Scene, &[u32], &[u32])> = vec![
            ("both instances are idle", lost(), &[0, 1], &[2, 3]),
            ("other instance is busy", busy(lost()), &[0, 1, 2, 3], &[]),
            ("leader is busy", lost().running(4, 1).run_here(4, None), &[], &[0, 1, 2, 3]),
            (
                "code of a former incarnation runs one item here",
                lost().run_here(1, None),
                &[],
                &[0, 1, 2, 3],
            ),
            (
                "this process still runs the code of one takeover",
                busy(lost()).run_here(1, None).local(|local| {
                    local.runs.change_all(|run| run.source = RunSource::Failover);
                }),
                &[0, 2, 3],
                &[1],
            ),
            ("one item has a failover mark", busy(lost()).marked(&failover(1)), &[0, 2, 3], &[1]),
            (
                "one item is queued already",
                busy(lost()).marked(&NodeKind::QueuedItem(item(1))),
                &[0, 2, 3],
                &[1],
            ),
            ("process is paused", lost().local(|local| local.paused = true), &[], &[0, 1, 2, 3]),
            ("server is paused", lost().server(1, "PAUSED"), &[], &[0, 1, 2, 3]),
            ("a Java instance takes part", lost().java(4), &[], &[0, 1, 2, 3]),
            ("a Java instance stands at the latch", line(lost()), &[], &[0, 1, 2, 3]),
            ("transaction takes three items", busy(lost()).items_per_plan(3), &[0, 1, 2], &[]),
            (
                "transaction takes two items, and another idle instance comes first",
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
    fn sweep_counts_request_parameters_against_transaction_size() {
        let requested = |parameter: Option<&str>| {
            let parameter = parameter.map(|text| RequestParameter::new(text).unwrap());
            let request =
                ManualRequest { id: "r".into(), at: FireTime(555), parameter, past_fire: None };
            idle().with_request(request).unwrap()
        };
        let running = |parameter| requested(parameter).answer(&by(3)).unwrap();
        let longest = "x".repeat(crate::MAX_REQUEST_PARAMETER_BYTES);
        let long = Some(longest.as_str());
        let cluster = || Scene::cluster_in(Dialect::V3, 4, 2).due(200).items_per_plan(14);
        let of_rust = |scene: Scene, parameter, items: std::ops::Range<u32>| {
            items.fold(scene, |scene, i| scene.ledger(i, running(parameter)))
        };
        let of_java = |scene: Scene, parameter, items: std::ops::Range<u32>| {
            items.fold(scene, |scene, i| {
                scene.ledger(i, requested(parameter)).named_mark(&NodeKind::Running(item(i)), 3)
            })
        };
        let rows = [
            ("runs of Rust instances without parameters", of_rust(cluster(), None, 0..4), 4),
            ("runs of Java instances without parameters", of_java(cluster(), None, 0..4), 4),
            (
                "runs of both without parameters",
                of_java(of_rust(cluster(), None, 0..2), None, 2..4),
                4,
            ),
            ("runs of Rust instances with long parameters", of_rust(cluster(), long, 0..4), 2),
            (
                "runs of Java instances, whose requests have long parameters",
                of_java(cluster(), long, 0..4),
                2,
            ),
            (
                "runs of both with long parameters",
                of_java(of_rust(cluster(), long, 0..1), long, 1..4),
                2,
            ),
            (
                "at least one run of a Rust instance",
                of_rust(cluster(), long, 0..4).items_per_plan(1),
                1,
            ),
            (
                "at least one run of a Java instance",
                of_java(cluster(), long, 0..4).items_per_plan(1),
                1,
            ),
        ];
        for (case, scene, expected) in rows {
            let plan = scene.plan(Duty::Sweep).unwrap();
            let written = |step: &&Step| step.ledger().is_some();
            assert_eq!(plan.steps.iter().filter(written).count(), expected, "{case}: {plan}");
        }
    }
}
