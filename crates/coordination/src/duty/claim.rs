//! Claim: before an item runs, its record says who runs it and for which fire.

use super::{Context, Duty, OwnItem, change_items};
use crate::plan::Plan;
use crate::{Ledger, RunSource};

/// Claims what is due and free: the scheduled fire first, then an operator's request.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    cx.startable().filter(|config| config.monitor_execution)?;
    scheduled(cx).or_else(|| requested(cx))
}

/// A due fire stays due until the next one. An item that is assigned to this instance in between, because its owner
/// died or left, is thus run late rather than not at all.
fn scheduled(cx: &Context<'_>) -> Option<Plan> {
    let fire = cx.local.due?;
    let next = |own: &OwnItem<'_>| {
        if own.ledger.value.has_settled(fire) {
            return None;
        }
        if own.view.disabled {
            return own.ledger.value.skip_disabled(fire);
        }
        own.ledger.value.claim(cx.me.clone(), fire, RunSource::Normal)
    };
    claim(cx, &format!("fire {fire} is due"), next)
}

fn requested(cx: &Context<'_>) -> Option<Plan> {
    let request = cx.local.request.as_ref()?;
    let next = |own: &OwnItem<'_>| {
        if own.view.disabled || !request.items.contains(&own.item) {
            return None;
        }
        own.ledger.value.claim(cx.me.clone(), request.at, RunSource::Manual)
    };
    claim(cx, "an operator asked for it", next)
}

fn claim(
    cx: &Context<'_>,
    reason: &str,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let free = cx.claimable_items().filter(|own| own.is_free(cx.local));
    change_items(Duty::Claim, cx, reason, free, next)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, item, running_by};
    use super::*;
    use crate::layout::NodeKind;
    use crate::local::Request;
    use crate::{FireTime, Outcome};

    const BOTH: &str = "claim: fire 200 is due\n  item 0 running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  show 0 running\n  item 2 running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  show 2 running";
    const SECOND: &str = "claim: fire 200 is due\n  item 2 running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  show 2 running";

    /// Items 0 and 2 are mine, item 1 is not; fire 200 is due.
    fn due() -> Scene {
        Scene::cluster(3, 2).due(200)
    }

    #[test]
    fn what_is_due_mine_and_free_is_claimed() {
        let done = running_by(1).complete(Outcome::Succeeded).unwrap();
        let moving = |scene: Scene| {
            let mut record = scene.plan_record();
            record.pending.insert(item(0), id(2));
            scene.assigned(record)
        };
        let rows = vec![
            ("nothing is due", Scene::cluster(3, 2), "nothing"),
            ("my items", due(), BOTH),
            ("one was claimed for this fire before", due().ledger(0, done), SECOND),
            ("one runs", due().running(0, 1), SECOND),
            (
                "one is shown as running by a Java instance",
                due().marked(&NodeKind::Running(item(0))),
                SECOND,
            ),
            ("one runs here still", due().run_here(0, None), SECOND),
            ("one is to move to somebody else", moving(due()), SECOND),
            (
                "one is disabled",
                due().marked(&NodeKind::ItemDisabled(item(0))),
                "claim: fire 200 is due\n  item 0 idle, last disabled\n  item 2 running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  show 2 running",
            ),
            ("server disabled", due().server(1, "DISABLED"), "nothing"),
            ("paused", due().local(|local| local.paused = true), "nothing"),
            ("session not to be relied upon", due().local(|local| local.lease = false), "nothing"),
            (
                "not monitored",
                due().configure(|c| (c.monitor_execution, c.failover) = (false, false)),
                "nothing",
            ),
            (
                "the number of items changed: not before it is resharded",
                due().configure(|c| c.sharding_total_count = 1),
                "nothing",
            ),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn noted_misfires_are_merged_into_the_next_fire() {
        let noted = running_by(1)
            .note_misfire(FireTime(300))
            .and_then(|l| l.complete(Outcome::Succeeded))
            .unwrap();
        let scene =
            Scene::cluster(1, 1).ledger(0, noted).marked(&NodeKind::Misfire(item(0))).due(400);
        let expected = "claim: fire 400 is due\n  item 0 running NORMAL for 400 by 10.0.0.1@-@1, token 2\n  show 0 running\n  show 0 not misfired";
        check(Duty::Claim, vec![("after a long run", scene, expected)]);
    }

    #[test]
    fn a_request_runs_each_item_once_whatever_the_schedule_says() {
        let requested = |scene: Scene, items: &[u32]| {
            let items = items.iter().map(|i| item(*i)).collect();
            scene.local(|local| local.request = Some(Request { at: FireTime(555), items }))
        };
        let expected = "claim: an operator asked for it\n  item 0 running MANUAL for 555 by 10.0.0.1@-@1, token 1\n  show 0 running";
        let rows = vec![
            ("both wanted, one left", requested(Scene::cluster(3, 2), &[0]), expected),
            ("the schedule comes first", requested(due(), &[0]), BOTH),
            ("nothing left", requested(Scene::cluster(3, 2), &[]), "nothing"),
            (
                "it runs: the request waits",
                requested(Scene::cluster(3, 2).running(0, 1), &[0]),
                "nothing",
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Claim), expected, "{case}");
        }
    }
}
