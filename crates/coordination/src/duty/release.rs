//! Release: the holder records the outcome of a run as soon as it ends, with all other runs that
//! have ended by then.

use sharding::ShardingItem;

use super::group::leave_line;
use super::{Context, parameter_bytes};
use crate::Duty;
use crate::local::Phase;
use crate::plan::{Plan, Step};
use crate::runs::LocalRun;

/// Records ended runs that the registry shows as held here, and removes marks of fenced runs. A
/// draining instance also settles its claims in doubt. Leaves the line of the group.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    ended(cx).or_else(|| settle(cx)).or_else(|| leave_line(cx))
}

fn ended(cx: &Context<'_>) -> Option<Plan> {
    let runs = cx.local.runs.ended();
    let ends = runs.filter_map(|(i, run)| release(cx, i, run).or_else(|| clean_up(cx, i, run)));
    let steps = cx.within_one_plan(ends, |steps| parameter_bytes(steps)).flatten();
    Plan::as_session(Duty::Release, "runs have ended").steps(steps).if_any()
}

/// Writes the record from before each claim in doubt again, unchanged. If that succeeds, the claim
/// conflicts when it arrives, so no run begins after the instance has left.
fn settle(cx: &Context<'_>) -> Option<Plan> {
    if cx.local.phase != Phase::Draining {
        return None;
    }
    let steps = cx.local.claims.unstarted.iter().filter_map(|(item, claim)| {
        let expect = claim.before;
        let ledger = cx.view.item(*item).ledger.as_ref().filter(|l| l.version == expect)?;
        let same = ledger.value.clone();
        Some(Step::set_ledger(*item, Some(expect), same))
    });
    let plan = Plan::as_session(Duty::Release, "leaving with claims in doubt");
    plan.steps(cx.within_one_plan(steps, |step| parameter_bytes(std::slice::from_ref(step))))
        .if_any()
}

/// Records the end of a run. A run that was cut short becomes an orphaned run if another instance
/// may continue it. All other runs are completed, failed, panicked and cancelled ones included.
fn release(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<Vec<Step>> {
    let (outcome, token) = (run.outcome?, run.token?);
    let view = cx.view.item(item);
    let ledger = view.ledger.as_ref().filter(|l| l.value.is_held(&run.holder, token))?;
    let hand_over = outcome.is_cut_short()
        && ledger.value.may_continue()
        && cx.view.config().is_some_and(|config| config.fails_over())
        && cx.view.can_be_queued(&ledger.value);
    let ended = if hand_over {
        ledger.value.orphan()
    } else {
        ledger.value.complete(outcome, cx.now.wall_ms)
    }?;
    // An operator may have restored an older record, whose token must not be used again.
    let next = ended
        .because(run.failure.clone())
        .with_token_at_least(cx.local.claims.started.get(&item).copied());
    let mut steps = vec![Step::set_ledger(item, Some(ledger.version), next)];
    steps.extend(run.marks.left().removal(item));
    steps.extend(run.permit.map(Step::return_permit));
    steps.extend(run.group_permit.clone().map(Step::return_group_permit));
    steps.extend((hand_over && !view.queued).then_some(Step::queue(item)));
    Some(steps)
}

/// Removes the marks of an ended run whose record no longer shows it: while they exist, no instance
/// claims the item.
///
/// The record has a greater token, or another holder, if this run was fenced. A lower token shows
/// that an operator restored an older record; it is brought up to date first, so that no token is
/// used twice.
fn clean_up(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<Vec<Step>> {
    let (outcome, token) = (run.outcome?, run.token?);
    let view = cx.view.item(item);
    let Some(ledger) = view.ledger.as_ref() else {
        // The job was removed, with all nodes of the run but the permit of the group.
        let has_begun = !view.unreadable && run.unseen_after.is_none();
        return shown_group_permit(cx, item, run).filter(|_| has_begun).map(|step| vec![step]);
    };
    let (version, shown) = (ledger.version, &ledger.value);
    let put_back = shown.token < token && run.unseen_after.is_none();
    let has_moved_on = shown.token >= token && !shown.is_held(&run.holder, token);
    if !has_moved_on && !put_back {
        return None;
    }
    let marks = run.shown_marks(view, cx.session);
    let permit = shown_permit(cx, item, run);
    let permit =
        permit.map(Step::return_permit).into_iter().chain(shown_group_permit(cx, item, run));
    let permit: Vec<_> = permit.collect();
    if !put_back && marks.is_empty() && permit.is_empty() {
        return None;
    }
    let record = if put_back {
        let next = run.added_to(shown, outcome, cx.now.wall_ms);
        Step::set_ledger(item, Some(version), next)
    } else {
        Step::ledger_unchanged(item, version)
    };
    Some([record].into_iter().chain(marks.removal(item)).chain(permit).collect())
}

/// Returns the permit of a run, if the view shows that the run still has it. Another run of this
/// session may have taken it since.
fn shown_permit(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<u32> {
    let number = run.permit?;
    let shown = cx.view.permit(number)?;
    let of_item = shown.holder.as_ref().is_some_and(|(held, _)| *held == item);
    let in_session = shown.session.is_some() && shown.session == cx.session;
    (of_item && in_session).then_some(number)
}

/// Returns the step that returns the permit of a run to the group, if the view shows that the run
/// still has it.
fn shown_group_permit(cx: &Context<'_>, item: ShardingItem, run: &LocalRun) -> Option<Step> {
    let permit = run.group_permit.clone()?;
    let group = cx.view.followed_group().filter(|shown| *shown.name() == permit.group)?;
    let shown = group.permit(permit.number)?;
    let of_run = shown.holder.as_ref().is_some_and(|held| {
        held.job == cx.view.layout().job() && held.item == item && Some(held.token) == run.token
    });
    let in_session = shown.session.is_some() && shown.session == cx.session;
    (of_run && in_session).then(|| Step::return_group_permit(permit))
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, Version};

    use super::super::scene::{Scene, check, item, running_by, to_be_cancelled};
    use super::*;
    use crate::run_marks::RunMarks;
    use crate::wire::NodeKind;
    use crate::{Dialect, Ledger, Outcome, RunSource};

    /// Item 0 of instance 1, whose run under token 1 has ended with this outcome.
    fn ended(outcome: Outcome) -> Scene {
        Scene::cluster(2, 1).running(0, 1).run_here(0, Some(outcome))
    }

    #[test]
    fn every_outcome_is_recorded() {
        let rows = vec![
            (
                "run succeeded",
                ended(Outcome::Succeeded),
                "release: runs have ended\n  set ledger/0: idle, last succeeded\n  delete sharding/0/running",
            ),
            (
                "run failed",
                ended(Outcome::Failed),
                "release: runs have ended\n  set ledger/0: idle, last failed\n  delete sharding/0/running",
            ),
            (
                "run panicked",
                ended(Outcome::Panicked),
                "release: runs have ended\n  set ledger/0: idle, last panicked\n  delete sharding/0/running",
            ),
            (
                "run was cancelled",
                ended(Outcome::Interrupted),
                "release: runs have ended\n  set ledger/0: orphan NORMAL for 200 by 10.0.0.1@-@1, token 1\n  delete sharding/0/running\n  create leader/failover/items/0",
            ),
            (
                "run was cancelled, no failover",
                ended(Outcome::Interrupted).configure(|c| c.failover = false),
                "release: runs have ended\n  set ledger/0: idle, last interrupted\n  delete sharding/0/running",
            ),
            ("run has not ended", Scene::cluster(2, 1).running(0, 1).run_here(0, None), "nothing"),
            (
                "two runs have ended",
                ended(Outcome::Succeeded).running(1, 1).run_here(1, Some(Outcome::Failed)),
                "release: runs have ended\n  set ledger/0: idle, last succeeded\n  delete sharding/0/running\n  set ledger/1: idle, last failed\n  delete sharding/1/running",
            ),
        ];
        check(Duty::Release, rows);
    }

    #[test]
    fn run_to_be_cancelled_is_not_handed_over() {
        let wanted = |outcome| {
            let ledger = to_be_cancelled(running_by(1));
            Scene::cluster(2, 1).running(0, 1).ledger(0, ledger).run_here(0, Some(outcome))
        };
        let ended = |as_what: &str| {
            format!(
                "release: runs have ended\n  set ledger/0: idle, last {as_what}\n  delete sharding/0/running"
            )
        };
        let (cancelled, succeeded) = (ended("cancelled"), ended("succeeded"));
        let rows = vec![
            ("run was cut short", wanted(Outcome::Interrupted), &*cancelled),
            ("driver cancelled the run", wanted(Outcome::Cancelled), &*cancelled),
            ("code succeeded meanwhile", wanted(Outcome::Succeeded), &*succeeded),
            (
                "no request, so another instance may continue it",
                self::ended(Outcome::Cancelled),
                "release: runs have ended\n  set ledger/0: orphan NORMAL for 200 by 10.0.0.1@-@1, token 1\n  delete sharding/0/running\n  create leader/failover/items/0",
            ),
        ];
        check(Duty::Release, rows);
    }

    #[test]
    fn failure_reason_is_recorded_with_outcome() {
        let reason = crate::FailureReason::new("no space left");
        let scene = ended(Outcome::Failed).local(|local| {
            local.runs.change(item(0), |run| run.failure = reason.clone());
        });
        let plan = scene.plan(Duty::Release).expect("the run has ended");
        let written = plan.steps.iter().find_map(|step| {
            let (_, ledger) = step.ledger()?;
            Some(ledger.failure.clone())
        });
        assert_eq!(written, Some(reason));
    }

    fn taken_over() -> Ledger {
        running_by(1).orphan().and_then(|l| l.take_over(&super::super::scene::by(2))).unwrap()
    }

    /// Item 0 ran in this process under token 1, and its record shows a takeover.
    fn fenced(dialect: Dialect) -> Scene {
        Scene::cluster_in(dialect, 2, 1).ledger(0, taken_over()).run_here(0, Some(Outcome::Failed))
    }

    #[test]
    fn fenced_run_removes_only_its_own_marks() {
        let mark = NodeKind::Running(item(0));
        let lasting = |scene: Scene| {
            let marks = RunMarks::of_claim(RunSource::Normal, true);
            scene.local(|local| local.runs.change(item(0), |run| run.marks = marks))
        };
        let removed = "release: runs have ended\n  delete sharding/0/running";
        let rows = vec![
            ("no mark is left", fenced(Dialect::V2), "nothing"),
            ("mark of this session", fenced(Dialect::V2).marked_in_session(&mark), removed),
            (
                "mark of another session",
                fenced(Dialect::V2).marked_by(&mark, 2, Lifetime::Ephemeral),
                "nothing",
            ),
            (
                "lasting mark of this instance",
                lasting(fenced(Dialect::V3)).marked_by(&mark, 1, Lifetime::Persistent),
                removed,
            ),
            (
                "lasting mark of another instance",
                lasting(fenced(Dialect::V3)).marked_by(&mark, 2, Lifetime::Persistent),
                "nothing",
            ),
            (
                "mark of this session, but its removal may have succeeded",
                fenced(Dialect::V2).marked_in_session(&mark).local(|local| {
                    local.runs.change(item(0), |run| run.may_be_unmarked = true);
                }),
                "nothing",
            ),
            (
                "lasting mark of this instance, but its session has ended",
                lasting(fenced(Dialect::V3))
                    .marked_by(&mark, 1, Lifetime::Persistent)
                    .local(|local| local.runs.change(item(0), LocalRun::lose_session)),
                "nothing",
            ),
            (
                "code of the run has not ended",
                fenced(Dialect::V2).marked_in_session(&mark).run_here(0, None),
                "nothing",
            ),
        ];
        check(Duty::Release, rows);
    }

    #[test]
    fn restored_record_is_repaired_once_view_has_shown_claim() {
        let put_back = |unseen_after| {
            let scene = Scene::cluster(2, 1).run_here(0, Some(Outcome::Failed));
            scene.local(|local| {
                local.runs.change(item(0), |run| run.unseen_after = unseen_after);
            })
        };
        let rows = vec![
            ("view is stale", put_back(Some(Version(0))), "nothing"),
            (
                "view has shown the claim",
                put_back(None),
                "release: runs have ended\n  set ledger/0: idle, last failed",
            ),
        ];
        check(Duty::Release, rows);
    }
}
