//! Claim: before an item runs, its owner writes itself and the fire into the ledger record.

use super::misfire::is_queued;
use super::{Context, parameter_bytes};
use crate::duty::limits::Limits;
use crate::duty::own_item::OwnItem;
use crate::duty::own_item::change_items;
use crate::local::fires::Due;
use crate::plan::Plan;
use crate::view::item::Attention;
use crate::{Duty, FireTime, JobConfig, Ledger};
use sharding::ShardingItem;
use std::collections::BTreeSet;

/// Claims due and free items: for the scheduled fire first, then for manual requests.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.monitor_execution)?;
    scheduled(cx, config).or_else(|| add_slots(cx, config)).or_else(|| requested(cx, config))
}

/// Claims items for the due fire, which stays due until the next one: an item that gets this owner
/// in between runs late rather than not at all. A job that catches up runs earlier missed fires
/// first.
fn scheduled(cx: &Context<'_>, config: &JobConfig) -> Option<Plan> {
    let due = cx.local.fires.due.as_ref()?;
    let by = cx.claimant()?;
    let follows = cx.next_of(due);
    let next = |own: &OwnItem<'_>| {
        let ledger = &*own.ledger;
        if waits_for_next(config, due, ledger) || cx.view.awaits_end(ledger) {
            return None;
        }
        // The record notes the skipped fire, so that it does not become a gap.
        if own.view.is_disabled() {
            return ledger.skip_disabled(due.at, follows);
        }
        if is_queued(config, ledger) {
            return None;
        }
        // If misfires are noted, the claim of the due fire stands for them, too.
        if ledger.misfire.is_none()
            && let Some((fire, next)) = first_missed(config, due, ledger)
        {
            return ledger.catch_up(&by, fire, Some(next));
        }
        ledger.claim(&by, due.at, follows)
    };
    let items = cx.in_free_slots(config, cx.claimable_for(due.at));
    claim(cx, &format!("fire {} is due", due.at.0), items, next)
}

/// Returns the items that only a limit keeps from a claim for this fire now.
pub(crate) fn held_back(cx: &Context<'_>, fire: FireTime) -> BTreeSet<ShardingItem> {
    let Some(config) = cx.startable().filter(|_| Limits::of(cx).are_reached()) else {
        return BTreeSet::new();
    };
    let free = cx.in_free_slots(config, cx.claimable_for(fire));
    let may_begin = free.filter(|own| own.is_free(cx.local) && !own.view.is_disabled());
    may_begin.map(|own| own.item).collect()
}

/// Gives items a further slot for the due fire or for noted fires if none of their slots is free,
/// and the job allows more.
fn add_slots(cx: &Context<'_>, config: &JobConfig) -> Option<Plan> {
    if config.slots() == 1 {
        return None;
    }
    let due = cx.local.fires.due.as_ref().map(|due| due.at);
    let for_due = due.into_iter().flat_map(|at| cx.claimable_for(at));
    let noted = cx.claimable_with(Attention::Misfired);
    let for_noted = noted.filter(|own| due.is_none_or(|at| own.ledger.has_settled(at)));
    let added = for_due.chain(for_noted).filter_map(|own| own.with_further_slot(cx, config));
    let steps = cx.within_one_plan(added, |steps| parameter_bytes(steps)).flatten();
    Plan::as_owner(Duty::Claim, cx, "fires meet busy slots")?.steps(steps).if_any()
}

/// Returns true if an item does not claim the due fire, because the earlier fires that it missed
/// are unknown. The next fire event lists them with this fire; a claim now would skip them.
pub(super) fn waits_for_next(config: &JobConfig, due: &Due, ledger: &Ledger) -> bool {
    let catches_up = config.catch_up.is_some() && ledger.owes_after().is_some();
    catches_up && due.missed.is_none()
}

/// Returns the first fire that an item has to catch up, and the fire after it.
fn first_missed(config: &JobConfig, due: &Due, ledger: &Ledger) -> Option<(FireTime, FireTime)> {
    config.catch_up?;
    due.missed_after(ledger.owes_after()?)
}

/// Claims items for manual requests. A request for a disabled item is dropped, because no operator
/// expects a run when the item is enabled again. It is dropped only by the flag of the record,
/// which the write guards: the operator may have removed the `disabled` node since.
fn requested(cx: &Context<'_>, config: &JobConfig) -> Option<Plan> {
    let by = cx.claimant()?;
    let next = |own: &OwnItem<'_>| {
        if !own.view.is_disabled() {
            // A scheduled fire that waits comes before a past one.
            let is_noted = config.misfire && own.ledger.misfire.is_some();
            let comes_first = is_noted && own.ledger.waiting_backfill().is_some();
            return if comes_first { None } else { own.ledger.answer(&by) };
        }
        if !own.ledger.disabled {
            return None;
        }
        own.ledger.drop_request()
    };
    // The record of the item has the request, so that its run gets the first slot.
    let items = cx.in_free_slots(config, cx.claimable_with(Attention::Requested));
    claim(cx, "a manual request waits", items.filter(OwnItem::is_in_first_slot), next)
}

fn claim<'a>(
    cx: &Context<'a>,
    reason: &str,
    items: impl Iterator<Item = OwnItem<'a>>,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let free = items.filter(|own| own.is_free(cx.local));
    change_items(Duty::Claim, cx, reason, free, next)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, idle, item, running_by};
    use super::*;
    use crate::protocol::once::{EndedFire, OnceRecord};
    use crate::wire::NodeKind;
    use crate::{CatchUp, ManualRequest, Outcome, Overlap};

    const BOTH: &str = "claim: fire 200 is due\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/0/running: 10.0.0.1@-@1\n  set ledger/2: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/2/running: 10.0.0.1@-@1";
    const SECOND: &str = "claim: fire 200 is due\n  set ledger/2: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/2/running: 10.0.0.1@-@1";

    /// Instance 1 owns items 0 and 2, instance 2 owns item 1, and fire 200 is due.
    fn due() -> Scene {
        Scene::cluster(3, 2).due(200)
    }

    #[test]
    fn owner_claims_due_free_items() {
        let done = running_by(1).complete(Outcome::Succeeded, 0).unwrap();
        let moving = |scene: Scene| {
            let mut record = scene.plan_record();
            record.pending.insert(item(0), &id(2));
            scene.assigned(record)
        };
        let rows = vec![
            ("nothing is due", Scene::cluster(3, 2), "nothing"),
            ("both items of this instance", due(), BOTH),
            ("one item has run for this fire", due().ledger(0, done), SECOND),
            ("one item runs", due().running(0, 1), SECOND),
            (
                "one item has the mark of a Java instance",
                due().marked(&NodeKind::Running(item(0))),
                SECOND,
            ),
            ("code of one item still runs in this process", due().run_here(0, None), SECOND),
            ("one item is pending for another instance", moving(due()), SECOND),
            (
                "one item is pending, and a Java leader leads",
                moving(due()).java(4).led_by_java(4),
                BOTH,
            ),
            (
                "one item is disabled",
                due().marked(&NodeKind::ItemDisabled(item(0))),
                "claim: fire 200 is due\n  set ledger/0: idle, last disabled\n  set ledger/2: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/2/running: 10.0.0.1@-@1",
            ),
            ("server disabled", due().server(1, "DISABLED"), "nothing"),
            ("process paused", due().local(|local| local.paused = true), "nothing"),
            ("server paused", due().server(1, "PAUSED"), "nothing"),
            ("lease has ended", due().local(|local| local.session.lease = false), "nothing"),
            (
                "not monitored",
                due().configure(|c| (c.monitor_execution, c.failover) = (false, false)),
                "nothing",
            ),
            (
                "number of items changed, not resharded yet",
                due().configure(|c| c.sharding_total_count = 1),
                "nothing",
            ),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn claim_merges_noted_misfires_into_next_fire() {
        let noted = running_by(1)
            .note_misfire(FireTime(300), None)
            .and_then(|l| l.complete(Outcome::Succeeded, 0))
            .unwrap();
        let scene =
            Scene::cluster(1, 1).ledger(0, noted).marked(&NodeKind::Misfire(item(0))).due(400);
        let expected = "claim: fire 400 is due\n  set ledger/0: running NORMAL for 400 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  delete sharding/0/misfire";
        check(Duty::Claim, vec![("item is free after a long run", scene, expected)]);
    }

    /// Another instance may not see yet that the items have begun a fire, and begin a later one.
    #[test]
    fn item_with_fixed_delay_waits_until_its_last_fire_has_its_end() {
        let scene = |at| {
            let ended = Some(EndedFire { fire: None, at: FireTime(at) });
            let delayed = due().configure(|config| config.cron = Some("@after 1s".into()));
            delayed.once(OnceRecord { ended, ..OnceRecord::default() })
        };
        // The last fire of each item is 100.
        let rows = vec![
            ("the end of the last fire is recorded", scene(100), BOTH),
            ("the end of the last fire is not recorded", scene(99), "nothing"),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn claim_waits_behind_queued_fires() {
        let queued = running_by(1)
            .queue(FireTime(300), None, 2)
            .and_then(|l| l.complete(Outcome::Succeeded, 0))
            .unwrap();
        let scene = |overlap| {
            let marked = Scene::cluster(1, 1).marked(&NodeKind::Misfire(item(0))).due(400);
            marked.ledger(0, queued.clone()).configure(|config| config.overlap = overlap)
        };
        let skipped =
            "claim: fire 400 is due\n  set ledger/0: idle, last disabled, queued 300..=300 (1)";
        let merged = "claim: fire 400 is due\n  set ledger/0: running NORMAL for 400 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  delete sharding/0/misfire";
        let disabled = scene(Some(Overlap::Queue(2))).marked(&NodeKind::ItemDisabled(item(0)));
        let rows = vec![
            ("the job queues fires", scene(Some(Overlap::Queue(2))), "nothing"),
            ("the job queues fires, and the item is disabled", disabled, skipped),
            ("the job queues no fires any more", scene(None), merged),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn manual_request_runs_each_item_once() {
        let with_request = |ledger: Ledger| {
            let request = ManualRequest {
                id: "r".into(),
                at: FireTime(555),
                parameter: None,
                past_fire: None,
            };
            ledger.with_request(request).unwrap()
        };
        let requested = |scene: Scene, items: &[u32]| {
            items.iter().fold(scene, |scene, i| scene.ledger(*i, with_request(idle())))
        };
        let expected = "claim: a manual request waits\n  set ledger/0: running MANUAL for 555 by 10.0.0.1@-@1, token 1\n  create sharding/0/running: 10.0.0.1@-@1";
        let rows = vec![
            ("one of two items has yet to run", requested(Scene::cluster(3, 2), &[0]), expected),
            (
                "scheduled fire comes first",
                requested(due(), &[0]),
                "claim: fire 200 is due\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, asked for at 555\n  create sharding/0/running: 10.0.0.1@-@1\n  set ledger/2: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/2/running: 10.0.0.1@-@1",
            ),
            ("no item has a request", requested(Scene::cluster(3, 2), &[]), "nothing"),
            ("item of another owner", requested(Scene::cluster(3, 2), &[1]), "nothing"),
            (
                "item runs, so the request waits",
                Scene::cluster(3, 2).ledger(0, with_request(running_by(1))),
                "nothing",
            ),
            (
                "item is disabled, but its record is not yet",
                requested(Scene::cluster(3, 2), &[0]).marked(&NodeKind::ItemDisabled(item(0))),
                "nothing",
            ),
            (
                "item and record are disabled, so the request is dropped",
                Scene::cluster(3, 2).ledger(0, with_request(idle().with_disabled(true).unwrap())),
                "claim: a manual request waits\n  set ledger/0: idle, disabled",
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Claim), expected, "{case}");
        }
    }

    #[test]
    fn catch_up_runs_each_missed_fire_oldest_first() {
        let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
        let finds = |scene: Scene, missed| {
            let due = Due { at: FireTime(500), next: None, missed };
            scene.configure(|c| c.catch_up = catch_up).local(|local| local.fires.due = Some(due))
        };
        let due = |scene, missed: &[i64]| {
            finds(scene, Some(missed.iter().copied().map(FireTime).collect()))
        };
        let claim = |source: &str, fire: i64| {
            format!(
                "claim: fire 500 is due\n  set ledger/0: running {source} for {fire} by 10.0.0.1@-@1, token 1\n  create sharding/0/running: 10.0.0.1@-@1"
            )
        };
        // The item's last fire is 100.
        let rows = [
            ("no fire was missed", due(Scene::cluster(1, 1), &[]), claim("NORMAL", 500)),
            ("earlier fires were run", due(Scene::cluster(1, 1), &[50, 100]), claim("NORMAL", 500)),
            (
                "two fires were missed",
                due(Scene::cluster(1, 1), &[100, 200, 300]),
                claim("MISFIRE", 200),
            ),
            ("missed fires are unknown", finds(Scene::cluster(1, 1), None), "nothing".to_owned()),
            (
                "missed fires are unknown, and the item has never run",
                finds(Scene::cluster(1, 1).ledger(0, Ledger::new(None)), None),
                claim("NORMAL", 500),
            ),
            ("item runs", due(Scene::cluster(1, 1).running(0, 1), &[200]), "nothing".to_owned()),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Claim), expected, "{case}");
            assert_eq!(
                scene.wants(Duty::Misfire),
                "nothing",
                "{case}: a job that catches up notes no misfires"
            );
        }
    }
}
