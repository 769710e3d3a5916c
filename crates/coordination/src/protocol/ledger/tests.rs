//! Tests of the transitions of a record.

use reg_center::Version;
use sharding::InstanceId;

use super::*;
use crate::{CancelRequest, FireTime, Gap, RequestParameter};

fn by(id: &str) -> Claimant {
    Claimant { holder: InstanceId::new(id), config: Version(0), now_ms: 7 }
}

fn me() -> Claimant {
    by("10.0.0.1@-@1")
}

fn other() -> Claimant {
    by("10.0.0.2@-@2")
}

fn request() -> ManualRequest {
    ManualRequest { id: "r".into(), at: FireTime(9_999), parameter: None, past_fire: None }
}

fn idle() -> Ledger {
    Ledger::new(Some(FireTime(100)))
}

fn running() -> Ledger {
    idle().claim(&me(), FireTime(200), None).unwrap()
}

fn orphan() -> Ledger {
    running().orphan().unwrap()
}

fn retired() -> Ledger {
    idle().retire().unwrap()
}

fn cancel(ledger: &Ledger) -> Option<Ledger> {
    let request = CancelRequest::new(ledger.token, "anna", "wrong month", 7)?;
    ledger.with_cancel_request(request)
}

#[test]
fn each_transition_is_allowed_in_its_states_only() {
    type Step = fn(&Ledger) -> Option<Ledger>;
    let steps: [(&str, Step, [bool; 4]); 15] = [
        ("claim", |l| l.claim(&other(), FireTime(300), None), [true, false, false, false]),
        ("request", |l| l.with_request(request()), [true, true, true, false]),
        (
            "claim for a request",
            |l| l.with_request(request())?.answer(&other()),
            [true, false, false, false],
        ),
        ("request to cancel", cancel, [false, true, true, false]),
        ("orphan a run to be cancelled", |l| cancel(l)?.orphan(), [false; 4]),
        ("take such a run over", |l| cancel(l)?.take_over(&other()), [false; 4]),
        ("disable", |l| l.with_disabled(true), [true; 4]),
        ("complete", |l| l.complete(Outcome::Succeeded, 0), [false, true, false, false]),
        ("orphan", Ledger::orphan, [false, true, false, false]),
        ("take over", |l| l.take_over(&other()), [false, false, true, false]),
        ("abandon", |l| l.abandon(0), [false, true, true, false]),
        ("note misfire", |l| l.note_misfire(FireTime(300), None), [false, true, true, false]),
        ("skip", |l| l.skip_disabled(FireTime(300), None), [true, false, false, false]),
        ("retire", Ledger::retire, [true, false, false, false]),
        ("revive", |l| l.revive(None), [false, false, false, true]),
    ];
    let states =
        [("idle", idle()), ("running", running()), ("orphan", orphan()), ("retired", retired())];
    for (step, apply, allowed) in steps {
        for ((state, ledger), expected) in states.iter().zip(allowed) {
            assert_eq!(apply(ledger).is_some(), expected, "{step} from {state}");
        }
    }
}

#[test]
fn settle_back_needs_an_item_without_a_run() {
    let ahead = |ledger: &Ledger| {
        let run = ledger.claim(&me(), FireTime(9_000), Some(FireTime(9_100))).unwrap();
        run.complete(Outcome::Succeeded, 0).unwrap()
    };
    let present = FireTime(500);
    let once = ahead(&idle()).settle_back(present).unwrap();
    assert_eq!((once.last_fire, once.previous_fire), (Some(present), Some(FireTime(100))));
    assert_eq!((once.next_fire, once.token), (None, ahead(&idle()).token));
    assert_eq!(once.settle_back(present), None, "no settled fire is later");
    assert!(once.claim(&other(), FireTime(600), None).is_some());
    assert_eq!(once.claim(&other(), present, None), None, "it may have been run before");
    let noted = |fires: &[i64]| {
        let note = |ledger: Ledger, fire: &i64| ledger.note_misfire(FireTime(*fire), None).unwrap();
        let noted = fires.iter().fold(running(), note);
        noted.complete(Outcome::Succeeded, 0).unwrap()
    };
    let kept = noted(&[300, 9_000]).settle_back(present).unwrap().misfire.unwrap();
    assert_eq!((kept.first, kept.last), (FireTime(300), present));
    assert_eq!(noted(&[9_000]).settle_back(present).unwrap().misfire, None);
    for busy in [running(), orphan()] {
        assert_eq!(busy.settle_back(FireTime(150)), None, "{busy:?}");
    }
    assert!(ahead(&idle()).retire().unwrap().settle_back(present).is_some());
    let skipped = idle().skip_disabled(FireTime(9_000), None).unwrap();
    assert_eq!(
        skipped.settle_back(present).unwrap().outcome,
        None,
        "that fire is no longer settled"
    );
}

#[test]
fn cancel_request_holds_for_its_run_only() {
    let wanted = cancel(&running()).unwrap();
    assert_eq!(cancel(&wanted), None, "one request for each run");
    let stale = CancelRequest::new(idle().token, "anna", "late", 7).unwrap();
    assert_eq!(running().with_cancel_request(stale), None, "the request names an earlier run");
    let rows = [
        (Outcome::Interrupted, Outcome::Cancelled),
        (Outcome::Cancelled, Outcome::Cancelled),
        (Outcome::Succeeded, Outcome::Succeeded),
        (Outcome::Failed, Outcome::Failed),
    ];
    for (ended, recorded) in rows {
        let done = wanted.complete(ended, 9).unwrap();
        assert_eq!(done.outcome, Some(recorded), "{ended}");
        let keeps = recorded == Outcome::Cancelled;
        assert_eq!(done.cancel_request().is_some(), keeps, "{ended}");
        let next = done.claim(&other(), FireTime(400), None).unwrap();
        assert_eq!((next.cancel.as_ref(), next.cancels()), (None, None), "{ended}");
        assert!(next.orphan().and_then(|l| l.take_over(&me())).is_some(), "{ended}");
    }
    let unwanted = running().complete(Outcome::Cancelled, 9).unwrap();
    assert_eq!(unwanted.outcome, Some(Outcome::Interrupted), "no run is cancelled without one");
    let lost = cancel(&orphan()).and_then(|l| l.abandon(9)).unwrap();
    assert_eq!(lost.outcome, Some(Outcome::Cancelled));
    let of_java = lost.orphan_of(&me().holder, FireTime(900)).unwrap();
    assert_eq!((of_java.cancels(), of_java.outcome), (None, None), "it has the same token");
}

fn gap(first: i64, until: i64, count: Option<u32>) -> Gap {
    let (first, until) = (FireTime(first), FireTime(until));
    Gap { first, until, count, config: None, changed_to: None }
}

#[test]
fn the_oldest_gaps_are_merged_if_a_record_has_too_many() {
    let record =
        |gaps: &[Gap]| gaps.iter().fold(idle(), |record, gap| record.with_gaps([*gap], &[])).gaps;
    let [a, b, c, d, e] = [0, 1_000, 2_000, 3_000, 4_000].map(|at| gap(at, at + 500, Some(2)));
    assert_eq!(record(&[a, b, c, d]), [a, b, c, d]);
    assert_eq!(record(&[a, b, c, d, e]), [gap(0, 1_500, None), c, d, e]);
    let adjacent = gap(500, 900, Some(3));
    assert_eq!(record(&[a, adjacent, c, d, e]), [gap(0, 900, Some(5)), c, d, e]);
    let merged = idle().with_gaps([gap(0, 1_500, None)], &[a, b]);
    assert_eq!(merged.with_gaps([], &[a, b]).gaps, [], "both were reported");
}

#[test]
fn settle_back_cuts_gaps_at_the_present() {
    let present = FireTime(500);
    let mut ahead = idle().skip_disabled(FireTime(9_000), None).unwrap();
    ahead.gaps = vec![gap(200, 400, Some(2)), gap(450, 9_000, Some(80)), gap(600, 9_000, Some(70))];
    let set_back = ahead.settle_back(present).unwrap();
    assert_eq!(set_back.gaps, [gap(200, 400, Some(2)), gap(450, 501, None)]);
}

#[test]
fn a_fire_that_was_reported_as_missed_at_retirement_is_not_run_later() {
    let retired = idle().retire().unwrap().with_gaps([gap(1_000, 3_179, Some(3))], &[]);
    let revived = retired.revive(Some(FireTime(2_000)).max(retired.last_in_gap())).unwrap();
    assert_eq!(revived.claim(&me(), FireTime(3_000), None), None);
    assert!(revived.claim(&me(), FireTime(4_000), None).is_some());
}

#[test]
fn no_transition_lowers_the_token_or_the_last_fire() {
    let steps: [fn(&Ledger) -> Option<Ledger>; 10] = [
        |l| l.claim(&other(), FireTime(300), None),
        |l| l.with_request(request())?.answer(&other()),
        |l| l.complete(Outcome::Failed, 0),
        Ledger::orphan,
        |l| l.take_over(&other()),
        |l| l.abandon(0),
        |l| l.note_misfire(FireTime(300), None),
        |l| l.skip_disabled(FireTime(300), None),
        Ledger::retire,
        |l| l.revive(Some(FireTime(50))),
    ];
    for ledger in [idle(), running(), orphan(), retired()] {
        for step in steps {
            if let Some(next) = step(&ledger) {
                assert!(next.token >= ledger.token && next.last_fire >= ledger.last_fire);
                let claimed = next.running().map(|r| &r.holder) == Some(&other().holder);
                assert_eq!(next.token > ledger.token, claimed, "a token per claim: {next:?}");
            }
        }
    }
}

#[test]
fn a_fire_is_claimed_once() {
    let done = running().complete(Outcome::Succeeded, 0).unwrap();
    assert_eq!(done.claim(&other(), FireTime(200), None), None);
    assert_eq!(done.claim(&other(), FireTime(150), None), None, "nor an older one");
    let next = done.claim(&other(), FireTime(400), None).unwrap();
    assert_eq!(next.previous_fire, Some(FireTime(200)), "the fires in between were missed");
}

#[test]
fn misfires_are_merged_and_replayed_once_as_a_range() {
    let noted = running()
        .note_misfire(FireTime(300), None)
        .unwrap()
        .note_misfire(FireTime(400), None)
        .unwrap();
    assert_eq!(noted.note_misfire(FireTime(400), None), None, "noted once");
    let range = FireRange { first: FireTime(300), last: FireTime(400), count: 2 };
    assert_eq!(noted.misfire, Some(range));
    let replay = noted.complete(Outcome::Succeeded, 0).and_then(|l| l.replay(&me(), None)).unwrap();
    assert_eq!(replay.run().unwrap().merged, Some(range));
    assert_eq!((replay.last_fire, replay.misfire), (Some(FireTime(400)), None));
}

#[test]
fn queued_fires_run_one_by_one_and_oldest_first() {
    let queue = |it: &Ledger, fire: i64| it.queue(FireTime(fire), Some(FireTime(fire + 100)), 2);
    assert_eq!(queue(&idle(), 300), None, "no run and no queue: the fire can be claimed");
    let one = queue(&running(), 300).unwrap();
    assert_eq!(queue(&one, 300), None, "queued once");
    let two = queue(&one, 400).unwrap();
    assert_eq!((queue(&two, 500), two.is_queue_full(2)), (None, true));
    assert!(two.has_noted(FireTime(300)) && !two.has_noted(FireTime(350)));
    assert_eq!(two.misfire, FireRange::of(&[FireTime(300), FireTime(400)]));
    let done = |it: &Ledger| it.complete(Outcome::Succeeded, 0).unwrap();
    let first = done(&two).run_queued(&me(), None).unwrap();
    let run = first.running().unwrap();
    assert_eq!((run.fire, run.source, run.merged), (FireTime(300), RunSource::Misfire, None));
    assert_eq!((first.last_fire, first.previous_fire), (Some(FireTime(300)), Some(FireTime(200))));
    assert_eq!(first.next_owed().0, Some(FireTime(500)), "the fire after the queue");
    let waits = done(&first);
    let joined = queue(&waits, 500).unwrap();
    assert_eq!(joined.queued, [FireTime(400), FireTime(500)], "an idle item has a queue, too");
    let taken = first.orphan().and_then(|it| it.take_over(&other())).unwrap();
    assert_eq!(taken.queued, [FireTime(400)], "a takeover keeps the queue");
    let second = done(&taken).run_queued(&other(), None).unwrap();
    assert_eq!((second.misfire, second.queued.len()), (None, 0));
    assert_eq!(second.next_owed().0, Some(FireTime(500)));
    assert_eq!(done(&second).run_queued(&me(), None), None);
}

#[test]
fn queue_ends_as_one_run_or_without_a_run() {
    let queued =
        [300, 400].iter().fold(running(), |it, fire| it.queue(FireTime(*fire), None, 2).unwrap());
    let idle = queued.complete(Outcome::Succeeded, 0).unwrap();
    let range = FireRange::of(&[FireTime(300), FireTime(400)]);
    let replayed = idle.replay(&me(), None).unwrap();
    assert_eq!((replayed.run().unwrap().merged, replayed.queued.len()), (range, 0));
    let claimed = idle.claim(&me(), FireTime(500), None).unwrap();
    assert_eq!(
        (claimed.run().unwrap().merged.map(|it| it.count), claimed.queued.len()),
        (Some(3), 0)
    );
    let noted = queued.note_misfire(FireTime(500), None).unwrap();
    assert_eq!((noted.misfire.map(|it| it.count), noted.queued.len()), (Some(3), 0));
    let joined = noted.queue(FireTime(600), None, 9).unwrap();
    assert_eq!((joined.misfire.map(|it| it.count), joined.queued.len()), (Some(4), 0));
    let retired = idle.retire().unwrap();
    assert_eq!((retired.misfire, retired.queued.len()), (None, 0));
    let disabled = idle.with_disabled(true).unwrap();
    assert_eq!(
        (disabled.queue(FireTime(500), None, 9), disabled.run_queued(&me(), None)),
        (None, None)
    );
    let cut = idle.settle_back(FireTime(350)).unwrap();
    assert_eq!(
        (cut.misfire, &*cut.queued),
        (FireRange::of(&[FireTime(300)]), &[FireTime(300)][..])
    );
    let past = idle.settle_back(FireTime(250)).unwrap();
    assert_eq!((past.misfire, past.queued.len()), (None, 0));
}

/// A disabled item can skip a later fire while noted misfires still wait.
#[test]
fn a_late_replay_does_not_lower_the_last_fire() {
    let late = running()
        .note_misfire(FireTime(300), None)
        .and_then(|l| l.complete(Outcome::Succeeded, 0))
        .and_then(|l| l.skip_disabled(FireTime(400), None))
        .and_then(|l| l.replay(&me(), None))
        .unwrap();
    assert_eq!(late.last_fire, Some(FireTime(400)));
    assert_eq!(late.run().unwrap().fire, FireTime(300));
}

#[test]
fn a_manual_request_does_not_change_the_last_fire() {
    let manual = idle().with_request(request()).and_then(|l| l.answer(&me())).unwrap();
    assert_eq!(manual.run().unwrap().fire, FireTime(9_999));
    let done = manual.complete(Outcome::Succeeded, 0).unwrap();
    assert_eq!(done.last_fire, Some(FireTime(100)));
    assert!(done.claim(&me(), FireTime(200), None).is_some());
}

#[test]
fn catching_up_runs_one_fire_and_never_drops_a_noted_one() {
    let caught = idle().catch_up(&me(), FireTime(200), Some(FireTime(300))).unwrap();
    let run = caught.running().unwrap();
    assert_eq!((run.source, run.fire, run.merged), (RunSource::Misfire, FireTime(200), None));
    let noted = running().note_misfire(FireTime(400), None).unwrap();
    let waiting = noted.complete(Outcome::Succeeded, 0).unwrap();
    assert_eq!(waiting.catch_up(&me(), FireTime(300), None), None);
}

#[test]
fn an_item_has_one_request_at_a_time_and_claims_it_once() {
    let waiting = running().with_request(request()).unwrap();
    assert_eq!(waiting.with_request(request()), None);
    let answered = waiting.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())).unwrap();
    assert_eq!(answered.request, None);
    assert_eq!(answered.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())), None);
}

#[test]
fn the_parameter_of_a_request_stays_with_its_run() {
    let parameter = RequestParameter::new("february").ok();
    let requested =
        idle().with_request(ManualRequest { parameter: parameter.clone(), ..request() });
    let parameter_of = |ledger: &Ledger| ledger.run().and_then(|run| run.parameter.clone());
    let answered = requested.and_then(|l| l.answer(&me())).unwrap();
    let noted = answered.note_misfire(FireTime(300), None).unwrap();
    let left = noted.orphan().unwrap();
    let taken = left.take_over(&other()).unwrap();
    for ledger in [&answered, &noted, &left, &taken] {
        assert_eq!(parameter_of(ledger), parameter, "{ledger:?}");
    }
    let done = taken.complete(Outcome::Succeeded, 0).unwrap();
    let next = [done.replay(&me(), None), done.claim(&me(), FireTime(400), None)];
    assert!(next.iter().flatten().all(|ledger| parameter_of(ledger).is_none()), "{next:?}");
    assert_eq!(done.parameter_bytes(), 0);
    assert_eq!(taken.parameter_bytes(), 2 * "february".len());
}

#[test]
fn a_disabled_item_claims_nothing_and_completes_its_run() {
    let noted = running().note_misfire(FireTime(300), None).unwrap();
    let disabled = noted.with_disabled(true).and_then(|l| l.with_request(request())).unwrap();
    assert!(disabled.orphan().and_then(|l| l.take_over(&other())).is_some());
    let ended = disabled.complete(Outcome::Succeeded, 0).unwrap();
    assert_eq!(ended.claim(&me(), FireTime(400), None), None);
    assert_eq!(ended.replay(&me(), None), None);
    assert_eq!(ended.answer(&me()), None);
}

#[test]
fn each_end_is_counted_by_its_outcome() {
    let outcomes = [
        (Outcome::Succeeded, (1, 0)),
        (Outcome::Failed, (1, 1)),
        (Outcome::Panicked, (1, 2)),
        (Outcome::TimedOut, (1, 3)),
        (Outcome::Interrupted, (1, 3)),
        (Outcome::Succeeded, (2, 3)),
    ];
    let mut ledger = running();
    for (fire, (outcome, expected)) in (300..).zip(outcomes) {
        ledger = ledger.complete(outcome, 0).unwrap();
        assert_eq!((ledger.runs.succeeded, ledger.runs.failed), expected, "{outcome}");
        ledger = ledger.claim(&me(), FireTime(fire), None).unwrap();
        assert_eq!((ledger.runs.succeeded, ledger.runs.failed), expected, "the claim of {fire}");
    }
    // A takeover continues the run, so that it ends once.
    let taken = ledger.orphan().and_then(|l| l.take_over(&other())).unwrap();
    let ended = taken.complete(Outcome::Succeeded, 0).unwrap();
    let back = ended.retire().and_then(|l| l.revive(None)).unwrap();
    assert_eq!((back.runs.succeeded, back.runs.failed), (3, 3));
    let cancelled = cancel(&back.claim(&me(), FireTime(999), None).unwrap()).unwrap();
    let cancelled = cancelled.complete(Outcome::Interrupted, 0).unwrap();
    assert_eq!((cancelled.outcome, cancelled.runs), (Some(Outcome::Cancelled), back.runs));
}

#[test]
fn next_owed_fire_is_the_scheduled_one_after_the_last_settled_one() {
    let claimed = idle().claim(&me(), FireTime(200), Some(FireTime(300))).unwrap();
    let done = claimed.complete(Outcome::Succeeded, 0).unwrap();
    let noted = |next| claimed.note_misfire(FireTime(300), next).unwrap();
    let rows = [
        ("a claimed fire", &done, Some(300)),
        ("a noted fire", &noted(Some(FireTime(400))), Some(400)),
        ("the record lacks the fire after a noted one", &noted(None), None),
        ("the record lacks the next fire", &idle(), None),
    ];
    for (case, ledger, expected) in rows {
        assert_eq!(ledger.next_owed().0, expected.map(FireTime), "{case}");
    }
}

#[test]
fn a_takeover_keeps_the_fire_and_raises_the_token() {
    let taken = orphan().take_over(&other()).unwrap();
    let run = taken.running().unwrap();
    assert_eq!((run.fire, run.source), (FireTime(200), RunSource::Failover));
    assert_eq!(taken.token, orphan().token.next());
}
