//! Misfire: the owner notes fires that meet a busy item. One run stands for them once the item is
//! free. In a job with `overlap = cancel` the note also requests the cancellation of the run. With
//! `overlap = queue` each noted fire gets a run of its own. With `overlap = parallel` an item is
//! busy if all of its slots are.

use super::Context;
use super::claim::waits_for_next;
use crate::Duty;
use crate::duty::own_item::OwnItem;
use crate::duty::own_item::change_items;
use crate::local::fires::Due;
use crate::plan::Plan;
use crate::view::item::Attention;
use crate::{JobConfig, Ledger, Overlap};

/// Notes a due fire in the records of busy items, and runs noted fires of free items.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.startable().filter(|config| config.monitor_execution && config.misfire)?;
    // A job that catches up runs each missed fire by itself and finds it by the item's last fire,
    // so it notes none. With a fixed delay no later fire comes, so that the due one can wait.
    let notes = config.catch_up.is_none() && config.fixed_delay().is_none();
    let noted = if notes { note(cx, config) } else { None };
    noted.or_else(|| run(cx, config))
}

fn note(cx: &Context<'_>, config: &JobConfig) -> Option<Plan> {
    let due = cx.local.fires.due.as_ref()?;
    let (fire, follows) = (due.at, cx.next_of(due));
    let next = |own: &OwnItem<'_>| {
        let ledger = &own.ledger;
        match config.overlap {
            None | Some(Overlap::Parallel(_)) => ledger.note_misfire(fire, follows),
            // One write notes the fire and cancels the run, so that no failure comes in between.
            Some(Overlap::Cancel) => {
                let noted = ledger.note_misfire(fire, follows)?;
                Some(noted.yielding_to(fire, cx.now.wall_ms))
            }
            Some(Overlap::Queue(max)) => {
                // A disabled item skips the fire.
                let skips = ledger.is_idle() && own.view.is_disabled();
                if skips { None } else { ledger.queue(fire, follows, max) }
            }
        }
    };
    let reason = format!("fire {} met busy items", fire.0);
    let items = cx.in_free_slots(config, cx.restless_accounted_items(fire));
    change_items(Duty::Misfire, cx, &reason, items, next)
}

/// Returns true if each fire that the item notes gets a run of its own. They come before the due
/// fire, which joins the queue.
pub(super) fn is_queued(config: &JobConfig, ledger: &Ledger) -> bool {
    config.queue_limit().is_some() && !ledger.queued.is_empty()
}

/// Runs noted fires: all at once, or the oldest queued one. If a fire is due for the item, its
/// claim stands for the noted fires as well, unless they are queued or it has to wait.
fn run(cx: &Context<'_>, config: &JobConfig) -> Option<Plan> {
    let by = cx.claimant()?;
    let due = cx.local.fires.due.as_ref();
    let next = |own: &OwnItem<'_>| {
        let noted = own.ledger.misfire?;
        let will_be_claimed = |due: &Due| {
            !own.ledger.has_settled(due.at) && !waits_for_next(config, due, &own.ledger)
        };
        let is_queued = is_queued(config, &own.ledger);
        let claimed_anyway = !is_queued && due.is_some_and(will_be_claimed);
        if own.view.is_disabled() || claimed_anyway || !own.is_free(cx.local) {
            return None;
        }
        let follows = due.filter(|due| due.at == noted.last).and_then(|due| cx.next_of(due));
        if is_queued {
            // Behind any but the last queued fire, the record knows the fire that follows.
            return own.ledger.run_queued(&by, follows.filter(|_| noted.count == 1));
        }
        own.ledger.replay(&by, follows)
    };
    let items = cx.in_free_slots(config, cx.claimable_with(Attention::Misfired));
    change_items(Duty::Misfire, cx, "noted misfires can run", items, next)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, by, check, idle, item, running_by, to_be_cancelled};
    use super::*;
    use crate::wire::NodeKind;
    use crate::{CatchUp, FireTime, ManualRequest, Outcome};

    #[test]
    fn fire_that_meets_busy_item_is_noted_and_run_later() {
        let met = || Scene::cluster(1, 1).running(0, 1).due(300);
        let noted = || {
            let ended = running_by(1)
                .note_misfire(FireTime(300), None)
                .and_then(|l| l.complete(Outcome::Succeeded, 0))
                .unwrap();
            Scene::cluster(1, 1).ledger(0, ended).marked(&NodeKind::Misfire(item(0)))
        };
        let note = "misfire: fire 300 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, misfired 300..=300 (1)\n  create sharding/0/misfire";
        let cancelled = "misfire: fire 300 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, misfired 300..=300 (1), to be cancelled for the overlap policy of the job\n  create sharding/0/misfire";
        let queues = |config: &mut JobConfig| config.overlap = Some(Overlap::Queue(2));
        let queued = |fires: &[i64], has_ended: bool| {
            let add = |it: Ledger, fire: &i64| it.queue(FireTime(*fire), None, 9).unwrap();
            let busy = fires.iter().fold(running_by(1), add);
            let ended = busy.complete(Outcome::Succeeded, 0).filter(|_| has_ended);
            let scene = Scene::cluster(1, 1).ledger(0, ended.unwrap_or(busy)).configure(queues);
            scene.marked(&NodeKind::Misfire(item(0)))
        };
        let one = "misfire: fire 300 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, queued 300..=300 (1)\n  create sharding/0/misfire";
        let oldest = "misfire: noted misfires can run\n  set ledger/0: running MISFIRE for 300 by 10.0.0.1@-@1, token 2, queued 400..=400 (1)\n  create sharding/0/running: 10.0.0.1@-@1";
        let cancels = |config: &mut JobConfig| config.overlap = Some(Overlap::Cancel);
        let merged = || {
            let noted = running_by(1).note_misfire(FireTime(300), None);
            let ended = noted.and_then(|it| it.complete(Outcome::Succeeded, 0));
            ended.and_then(|it| it.replay(&by(1), None)).unwrap()
        };
        let requested = || {
            let (id, at) = ("r".into(), FireTime(250));
            let request = ManualRequest { id, at, parameter: None, past_fire: None };
            idle().with_request(request).and_then(|it| it.answer(&by(1))).unwrap()
        };
        let run = "misfire: noted misfires can run\n  set ledger/0: running MISFIRE for 300 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  delete sharding/0/misfire";
        let waits = |scene: Scene| {
            let due = Due { at: FireTime(400), next: None, missed: None };
            let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
            scene.configure(|c| c.catch_up = catch_up).local(|local| local.fires.due = Some(due))
        };
        let rows = vec![
            ("item still runs", met(), note),
            ("misfires are off", met().configure(|c| c.misfire = false), "nothing"),
            ("item of another owner", Scene::cluster(2, 2).running(1, 2).due(300), "nothing"),
            ("item runs for the same fire", Scene::cluster(1, 1).running(0, 1).due(200), "nothing"),
            (
                "run of the item is orphaned",
                Scene::cluster(1, 1).ledger(0, running_by(2).orphan().unwrap()).due(300),
                "misfire: fire 300 met busy items\n  set ledger/0: orphan NORMAL for 200 by 10.0.0.2@-@2, token 1, misfired 300..=300 (1)\n  create sharding/0/misfire",
            ),
            ("item is free again", noted(), run),
            ("the job cancels overlaps", met().configure(cancels), cancelled),
            (
                "the job cancels overlaps, and the run is orphaned",
                Scene::cluster(1, 1)
                    .ledger(0, running_by(2).orphan().unwrap())
                    .due(300)
                    .configure(cancels),
                "misfire: fire 300 met busy items\n  set ledger/0: orphan NORMAL for 200 by 10.0.0.2@-@2, token 1, misfired 300..=300 (1), to be cancelled for the overlap policy of the job\n  create sharding/0/misfire",
            ),
            (
                "the job cancels overlaps, and an operator has cancelled the run",
                Scene::cluster(1, 1)
                    .ledger(0, to_be_cancelled(running_by(1)))
                    .due(300)
                    .configure(cancels),
                "misfire: fire 300 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, misfired 300..=300 (1), to be cancelled for anna\n  create sharding/0/misfire",
            ),
            (
                "the job cancels overlaps, and the run stands for noted fires",
                Scene::cluster(1, 1).ledger(0, merged()).due(400).configure(cancels),
                "misfire: fire 400 met busy items\n  set ledger/0: running MISFIRE for 300 by 10.0.0.1@-@1, token 2, misfired 400..=400 (1)\n  create sharding/0/misfire",
            ),
            (
                "the job cancels overlaps, and an operator has requested the run",
                Scene::cluster(1, 1).ledger(0, requested()).due(300).configure(cancels),
                "misfire: fire 300 met busy items\n  set ledger/0: running MANUAL for 250 by 10.0.0.1@-@1, token 1, misfired 300..=300 (1)\n  create sharding/0/misfire",
            ),
            ("the job queues fires", met().configure(queues), one),
            (
                "the queue has room",
                queued(&[300], false).due(400),
                "misfire: fire 400 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, queued 300..=400 (2)",
            ),
            ("the queue is full", queued(&[300, 400], false).due(500), "nothing"),
            ("the oldest queued fire runs", queued(&[300, 400], true), oldest),
            (
                "the oldest queued fire runs, and the last one is due",
                queued(&[300, 400], true).due(400),
                oldest,
            ),
            (
                "the only queued fire runs",
                queued(&[300], true),
                "misfire: noted misfires can run\n  set ledger/0: running MISFIRE for 300 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  delete sharding/0/misfire",
            ),
            (
                "fires are queued, and the item was disabled",
                queued(&[300], true).due(400).marked(&NodeKind::ItemDisabled(item(0))),
                "nothing",
            ),
            (
                "the job queues no fires any more",
                queued(&[300, 400], true).configure(|it| it.overlap = None),
                "misfire: noted misfires can run\n  set ledger/0: running MISFIRE for 400 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  delete sharding/0/misfire",
            ),
            (
                "the job queues no fires any more, and a fire meets the run",
                queued(&[300, 400], false).due(500).configure(|it| it.overlap = None),
                "misfire: fire 500 met busy items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, misfired 300..=500 (3)",
            ),
            ("the job queues fires since this one was noted", noted().configure(queues), run),
            (
                "the job queues fires, and a later fire is due beside noted ones",
                noted().due(400).configure(queues),
                "nothing",
            ),
            ("item is free again, and the noted fire is the due one", noted().due(300), run),
            ("a later fire is due, so its claim stands for both", noted().due(400), "nothing"),
            ("a later fire is due, and its claim waits", waits(noted()), run),
            ("item was disabled", noted().marked(&NodeKind::ItemDisabled(item(0))), "nothing"),
            ("process was paused", noted().local(|local| local.paused = true), "nothing"),
        ];
        check(Duty::Misfire, rows);
        // These plans are followed by another one: the start of the oldest fire, or a note.
        let joins = "misfire: fire 400 met busy items\n  set ledger/0: idle, last succeeded, queued 300..=400 (2)";
        let room = queued(&[300], true).due(400);
        assert_eq!(room.wants(Duty::Misfire), joins, "fires are queued, and a later one is due");
        let full = queued(&[300, 400], true).due(500);
        assert_eq!(full.wants(Duty::Misfire), oldest, "the queue is full, and a later fire is due");
    }
}
