//! Once: callbacks once per cluster and fire, when all items have begun the fire and when all have
//! ended it. The leader also records the ends of fires, from which jobs with a fixed delay get
//! their next fire.
//!
//! No instance waits at a barrier: the progress of all items is read from their records, which
//! never go back. The instance that wins the write of the record of calls makes the call. If that
//! instance is lost before its callback returned, and the job fails over, another instance calls
//! again under a higher token.

use sharding::ShardingItem;

use super::Context;
use crate::plan::{Plan, Step};
use crate::protocol::once::{EndedFire, OnceCall, OnceRecord, OnceStage};
use crate::{Duty, FireTime, JobConfig, Ledger};

/// Records callbacks that have returned, and calls a due callback.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    if cx.view.has_newer_calls() {
        return None;
    }
    returned(cx).or_else(|| call(cx)).or_else(|| end(cx))
}

/// Records as the leader that every item has ended the last fire of a job with a fixed delay, or
/// that the job has started. Every instance derives the next fire from this record.
///
/// Progress never goes back, so that the records of the items need no guard. The version of this
/// record makes one end of each fire.
fn end(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config().filter(|config| config.monitor_execution)?;
    config.fixed_delay()?;
    if !cx.view.fits_config() {
        return None;
    }
    let nothing = OnceRecord::default();
    let before = cx.view.once().map_or(&nothing, |once| &once.value);
    let fire = match before.ended {
        None => None,
        Some(ended) => {
            let items = (0..config.sharding_total_count).map(ShardingItem::new);
            let fires = items.map(|item| {
                let ledger = cx.view.item(item).record()?;
                ledger.last_fire.filter(|_| ledger.has_ended_after(ended.at))
            });
            // After a change of the delay the last fires of the items can differ.
            let fires: Option<Vec<_>> = fires.collect();
            fires?.into_iter().max()
        }
    };
    // A clock that was set back must not make the next fire come before its delay has passed.
    let at = FireTime(cx.present_ms()).max(fire.unwrap_or(FireTime(i64::MIN)));
    let record = OnceRecord { ended: Some(EndedFire { fire, at }), ..before.clone() };
    let reason = match fire {
        None => "the job starts with a fixed delay".to_owned(),
        Some(fire) => format!("all items have ended fire {}", fire.0),
    };
    let plan = Plan::as_leader(Duty::Once, cx, reason)?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::set_once(cx.view.once().map(|once| once.version), record));
    Some(plan)
}

fn returned(cx: &Context<'_>) -> Option<Plan> {
    let once = cx.view.once()?;
    let mine = |stage: &OnceStage| {
        let call = once.value.call(*stage).filter(|call| call.holder == *cx.me && !call.done)?;
        let local = cx.local.calls.get(stage)?;
        (local.done && local.token == call.token).then(|| (*stage, call.clone()))
    };
    let (stage, call) = OnceStage::ALL.iter().find_map(mine)?;
    let record = once.value.with(stage, OnceCall { done: true, ..call });
    let set = Step::set_once(Some(once.version), record);
    Some(Plan::as_session(Duty::Once, format!("the callback for {stage} has returned")).step(set))
}

fn call(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.monitor_execution)?;
    if !cx.settings.calls_back || !cx.view.fits_config() {
        return None;
    }
    let nothing = OnceRecord::default();
    let before = cx.view.once().map_or(&nothing, |once| &once.value);
    let due = |stage: OnceStage| Some((stage, due(cx, config, before, stage)?));
    let (stage, fire) = OnceStage::ALL.into_iter().find_map(due)?;
    let (token, holder) = (before.next_token(), cx.me.clone());
    let record = before.with(stage, OnceCall { fire, token, holder, done: false });
    let expect = cx.view.once().map(|once| once.version);
    let plan = Plan::as_owner(Duty::Once, cx, format!("all items have {stage} fire {}", fire.0))?;
    Some(plan.step(Step::set_once(expect, record)))
}

/// Returns the fire for which the callback has to be called now.
fn due(
    cx: &Context<'_>,
    config: &JobConfig,
    record: &OnceRecord,
    stage: OnceStage,
) -> Option<FireTime> {
    let reached = reached(cx, config, stage)?;
    if stage == OnceStage::Completed {
        // The callback for the end waits until the one for the beginning has returned.
        record.started.as_ref().filter(|started| started.done && started.fire >= reached)?;
    }
    match record.call(stage) {
        // The call is in progress.
        Some(last) if !last.done && cx.view.is_registered(&last.holder) => None,
        // The caller is lost: call again.
        Some(last) if !last.done && config.fails_over() => Some(reached.max(last.fire)),
        Some(last) if last.fire >= reached => None,
        Some(_) | None => Some(reached),
    }
}

/// Returns the last fire that every item has begun, or ended.
fn reached(cx: &Context<'_>, config: &JobConfig, stage: OnceStage) -> Option<FireTime> {
    let items = (0..config.sharding_total_count).map(ShardingItem::new);
    let progress = items.map(|item| {
        let ledger = cx.view.item(item).record()?;
        match stage {
            OnceStage::Started => ledger.last_fire,
            // A run in a further slot is for an earlier fire, so that it is unknown up to which
            // fire all have ended.
            OnceStage::Completed if runs_beside(cx, item) => None,
            OnceStage::Completed => completed(ledger),
        }
    });
    // An item without a known fire delays the callbacks: `None` is less than any fire.
    progress.min().flatten()
}

/// Returns true if a further slot of the item has a run.
fn runs_beside(cx: &Context<'_>, item: ShardingItem) -> bool {
    cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy())
}

/// Returns the last scheduled fire that the item has ended; `None` if that is unknown.
fn completed(ledger: &Ledger) -> Option<FireTime> {
    let last = ledger.last_fire?;
    match ledger.run().filter(|run| run.is_scheduled()) {
        // Fires before the present run have ended. The run may stand for the previous fire too, as
        // its range shows.
        Some(run) if run.fire == last => ledger
            .previous_fire
            .filter(|previous| run.merged.is_none_or(|range| *previous < range.first)),
        // A run for another fire is in progress, so it is unknown up to which fire all have ended.
        Some(_) => None,
        // A noted fire up to the last one has not run yet.
        None if ledger.misfire.is_some_and(|range| range.first <= last) => None,
        None => Some(last),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, done, id, running_by};
    use super::*;
    use crate::FencingToken;
    use crate::local::LocalCall;

    /// Two items of instance 1 that have ended fire 200. Instance 1 has callbacks.
    fn finished() -> Scene {
        Scene::cluster(2, 1).calling_back().ledger(0, done(200)).ledger(1, done(200))
    }

    fn called(stage: OnceStage, fire: i64, by: u32, done: bool) -> OnceRecord {
        let call = OnceCall { fire: FireTime(fire), token: FencingToken(1), holder: id(by), done };
        OnceRecord::default().with(stage, call)
    }

    #[test]
    fn callbacks_are_called_once_per_fire_and_in_order() {
        use OnceStage::{Completed, Started};
        let both = called(Started, 200, 1, true).with(
            Completed,
            OnceCall { fire: FireTime(200), token: FencingToken(2), holder: id(1), done: true },
        );
        let (reason, call) =
            ("once: all items have started fire 200", "started 200 by 10.0.0.1@-@1");
        let first = format!("{reason}\n  create coordination/once: {call}");
        let start = format!("{reason}\n  set coordination/once: {call}");
        let start = &*start;
        let rows = [
            ("instance has no callbacks", Scene::cluster(2, 1).ledger(0, done(200)), "nothing"),
            ("all items have begun", finished(), &*first),
            (
                "one item has not begun",
                finished()
                    .ledger(1, super::super::scene::idle())
                    .once(called(Started, 100, 1, true)),
                "once: all items have completed fire 100\n  set coordination/once: started 100 by 10.0.0.1@-@1, done; completed 100 by 10.0.0.1@-@1",
            ),
            (
                "first callback has not returned",
                finished().once(called(Started, 200, 1, false)),
                "nothing",
            ),
            (
                "first callback has returned, and all items have ended",
                finished().once(called(Started, 200, 1, true)),
                "once: all items have completed fire 200\n  set coordination/once: started 200 by 10.0.0.1@-@1, done; completed 200 by 10.0.0.1@-@1",
            ),
            (
                "one item still runs",
                finished().ledger(1, running_by(1)).once(called(Started, 200, 1, true)),
                "once: all items have completed fire 100\n  set coordination/once: started 200 by 10.0.0.1@-@1, done; completed 100 by 10.0.0.1@-@1",
            ),
            ("both callbacks were called", finished().once(both), "nothing"),
            (
                "another instance calls",
                finished().member(2).once(called(Started, 200, 2, false)),
                "nothing",
            ),
            ("caller is gone", finished().once(called(Started, 200, 2, false)), start),
            (
                "caller is gone, no failover, next fire",
                finished().configure(|c| c.failover = false).once(called(Started, 100, 2, false)),
                start,
            ),
            (
                "caller is gone, no failover, same fire",
                finished().configure(|c| c.failover = false).once(called(Started, 200, 2, false)),
                "nothing",
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Once), expected, "{case}");
        }
    }

    #[test]
    fn returned_callback_is_recorded() {
        let local = LocalCall { token: FencingToken(1), done: true };
        let scene = finished()
            .once(called(OnceStage::Started, 200, 1, false))
            .local(|mine| mine.calls.extend([(OnceStage::Started, local)]));
        let expected = "once: the callback for started has returned\n  set coordination/once: started 200 by 10.0.0.1@-@1, done";
        assert_eq!(scene.wants(Duty::Once), expected);
    }
}
