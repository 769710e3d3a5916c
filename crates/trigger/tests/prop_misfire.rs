//! Laws of misfire decisions: every fire gets exactly one verdict, and the correct one.

use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use trigger::{
    CronExpression, CronSchedule, FireCount, FireRange, FireVerdict, FixedInterval, MisfirePolicy,
    Schedule, Situation, SkipReason, Upcoming, Zone, decide,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn every(seconds: u64) -> FixedInterval {
    FixedInterval::new(at(0), Duration::from_secs(seconds)).unwrap()
}

fn policy() -> impl Strategy<Value = MisfirePolicy> {
    prop_oneof![
        Just(MisfirePolicy::RunOnceAfterwards),
        Just(MisfirePolicy::Skip),
        (0..400_u64, 0..30_u32).prop_map(|(window, max)| MisfirePolicy::CatchUp {
            window: Duration::from_secs(window),
            max
        }),
    ]
}

/// Returns the fires with their verdicts, one by one.
fn by_fire(
    schedule: &dyn Schedule,
    verdicts: &[(FireRange, FireVerdict)],
) -> Vec<(Timestamp, FireVerdict)> {
    let each = |(range, verdict): &(FireRange, FireVerdict)| {
        let verdict = *verdict;
        let fires: Vec<_> = range.fires(schedule).map(|fire| (fire, verdict)).collect();
        assert_eq!((fires[0].0, fires[fires.len() - 1].0), (range.first, range.last));
        assert_eq!(range.count, FireCount::Exactly(fires.len() as u64));
        fires
    };
    verdicts.iter().flat_map(each).collect()
}

/// Returns the expected verdict on a single fire; `newer` is the number of newer misfires.
fn expected(
    situation: &Situation<'_>,
    fire: Timestamp,
    any_misfire: bool,
    newer: u64,
) -> FireVerdict {
    let age = situation.now.duration_since(fire);
    let was_pending = situation.pending.is_some_and(|pending| fire <= pending.last);
    let threshold = situation.threshold.max(Duration::from_millis(1));
    let is_misfire = was_pending || age >= threshold.try_into().unwrap();
    match (situation.policy, situation.is_running) {
        (MisfirePolicy::Skip, true) => FireVerdict::Skip(SkipReason::ItemRunning),
        (_, true) => FireVerdict::Wait,
        (MisfirePolicy::RunOnceAfterwards, false) if any_misfire => FireVerdict::RunOnce,
        _ if !is_misfire => FireVerdict::Run,
        (MisfirePolicy::CatchUp { window, max }, _) => {
            if age > window.try_into().unwrap() {
                FireVerdict::Skip(SkipReason::OutOfWindow)
            } else if newer >= max.into() {
                FireVerdict::Skip(SkipReason::OverMax)
            } else {
                FireVerdict::CatchUp
            }
        }
        _ => FireVerdict::Skip(SkipReason::Late),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_fire_gets_its_expected_verdict(
        interval in 1..40_u64,
        policy in policy(),
        threshold in 0..30_u64,
        pending_since in prop::option::of(0..200_i64),
        handled in 0..300_i64,
        now in 0..600_000_i64,
        is_running in any::<bool>(),
    ) {
        let schedule = every(interval);
        let last_handled = at(200 + handled);
        let pending = pending_since.and_then(|since| FireRange::between(&schedule, at(since), last_handled));
        let situation = Situation::new(&schedule, policy, last_handled, Timestamp::from_millisecond(200_000 + now).unwrap()).with(|it| { it.threshold = Duration::from_secs(threshold); it.is_running = is_running; it.pending = pending; });
        let decision = decide(&situation);

        let first_after = pending.map_or(last_handled, |pending| pending.first.checked_sub(Duration::from_nanos(1)).unwrap());
        let until = situation.now.max(pending.map_or(Timestamp::MIN, |pending| pending.last));
        let fires: Vec<_> = Upcoming::new(&schedule, first_after).take_while(|fire| *fire <= until).collect();
        let late = |fire: &Timestamp| {
            let threshold = situation.threshold.max(Duration::from_millis(1));
            pending.is_some_and(|pending| *fire <= pending.last)
                || situation.now.duration_since(*fire) >= threshold.try_into().unwrap()
        };
        let misfires = fires.iter().filter(|fire| late(fire)).count() as u64;
        let wanted: Vec<_> = (1..)
            .zip(&fires)
            .map(|(number, fire)| {
                let newer = misfires.saturating_sub(number);
                (*fire, expected(&situation, *fire, misfires > 0, newer))
            })
            .collect();
        prop_assert_eq!(by_fire(&schedule, decision.verdicts()), wanted, "{}", decision);

        let newest = fires.last().map_or(last_handled, |fire| last_handled.max(*fire));
        prop_assert_eq!(decision.last_handled(), newest);
        prop_assert!(decision.verdicts().len() <= 4);
        prop_assert_eq!(decision, decide(&situation));
    }

    /// Successive decisions together name every fire once. Only waiting fires are named again.
    #[test]
    fn successive_decisions_lose_no_fire(
        policy in policy(),
        steps in prop::collection::vec((0..90_i64, any::<bool>()), 1..30),
    ) {
        let schedule = every(10);
        let (mut now, mut last_handled, mut pending) = (0, at(0), None);
        let mut settled = Vec::new();
        for (pause, is_running) in steps {
            now += pause;
            let situation = Situation::new(&schedule, policy, last_handled, at(now)).with(|it| { it.is_running = is_running; it.pending = pending; });
            let decision = decide(&situation);
            (last_handled, pending) = (decision.last_handled(), decision.pending());
            settled.extend(by_fire(&schedule, decision.verdicts()).into_iter().filter(|(_, verdict)| *verdict != FireVerdict::Wait));
        }
        let waiting = pending.into_iter().flat_map(|range| range.fires(&schedule).collect::<Vec<_>>());
        let named: Vec<_> = settled.iter().map(|(fire, _)| *fire).chain(waiting).collect();
        let all: Vec<_> = Upcoming::new(&schedule, at(0)).take_while(|fire| *fire <= at(now)).collect();
        prop_assert_eq!(named, all);
    }
}

#[test]
fn decisions_agree_with_the_documented_timelines() {
    let catch_up = MisfirePolicy::CatchUp { window: Duration::from_secs(25), max: 2 };
    let cases = [
        ("on time", MisfirePolicy::RunOnceAfterwards, 0, 10, false, "run 10"),
        ("late by less than the threshold", MisfirePolicy::Skip, 0, 14, false, "run 10"),
        ("late", MisfirePolicy::Skip, 0, 15, false, "skip (late) 10"),
        ("nothing due", catch_up, 10, 19, false, "nothing is due"),
        ("the clock went back", catch_up, 100, 19, false, "nothing is due"),
        ("item running", MisfirePolicy::RunOnceAfterwards, 0, 20, true, "wait 10..=20 (2 fires)"),
        (
            "item running, fires skipped",
            MisfirePolicy::Skip,
            0,
            20,
            true,
            "skip (item running) 10..=20 (2 fires)",
        ),
        (
            "process down",
            MisfirePolicy::RunOnceAfterwards,
            0,
            33,
            false,
            "run once for 10..=30 (3 fires)",
        ),
        (
            "process down, fires caught up",
            catch_up,
            0,
            43,
            false,
            "skip (out of window) 10, catch up 20..=30 (2 fires), run 40",
        ),
        (
            "process down, more fires than the window",
            catch_up,
            0,
            46,
            false,
            "skip (out of window) 10..=20 (2 fires), catch up 30..=40 (2 fires)",
        ),
    ];
    for (case, policy, last_handled, now, is_running, expected) in cases {
        let schedule = every(10);
        let situation = Situation::new(&schedule, policy, at(last_handled), at(now))
            .with(|it| it.is_running = is_running);
        let shown =
            decide(&situation).to_string().replace("1970-01-01T00:00:", "").replace('Z', "");
        assert_eq!(shown, expected, "{case}");
    }
}

#[test]
fn pending_fires_run_once_even_after_a_short_wait() {
    let schedule = every(10);
    let busy = Situation::new(&schedule, MisfirePolicy::RunOnceAfterwards, at(0), at(10))
        .with(|it| it.is_running = true);
    let decision = decide(&busy);
    let idle = Situation::new(&schedule, busy.policy, decision.last_handled(), at(11))
        .with(|it| it.pending = decision.pending());
    assert_eq!(decide(&idle).to_string(), "run once for 1970-01-01T00:00:10Z");
}

/// Ten years of a schedule of every second: the first and last fires are exact, and the count stops
/// at the limit.
#[test]
fn long_outages_are_decided_quickly() {
    let expression = CronExpression::parse("* * * * * ?").unwrap();
    let schedule = CronSchedule::new(expression, Zone::utc());
    let now = at(320_000_000);
    let limit = FireCount::AtLeast(FireRange::COUNT_LIMIT.into());
    let decide_with =
        |policy| decide(&Situation::new(&schedule, policy, at(0), now)).verdicts().to_vec();

    let all = FireRange { first: at(1), last: now, count: limit };
    assert_eq!(decide_with(MisfirePolicy::RunOnceAfterwards), [(all, FireVerdict::RunOnce)]);

    let window = Duration::from_secs(300_000_000);
    let verdicts = decide_with(MisfirePolicy::CatchUp { window, max: 3 });
    let range = |first, last, count| FireRange { first: at(first), last: at(last), count };
    assert_eq!(
        verdicts,
        [
            (range(1, 19_999_999, limit), FireVerdict::Skip(SkipReason::OutOfWindow)),
            (range(20_000_000, 319_999_992, limit), FireVerdict::Skip(SkipReason::OverMax)),
            (range(319_999_993, 319_999_995, FireCount::Exactly(3)), FireVerdict::CatchUp),
            (range(319_999_996, 320_000_000, FireCount::Exactly(5)), FireVerdict::Run),
        ]
    );
}

#[test]
fn extreme_values_give_a_decision() {
    let schedule = every(10);
    for policy in [
        MisfirePolicy::Skip,
        MisfirePolicy::CatchUp { window: Duration::MAX, max: u32::MAX },
        MisfirePolicy::CatchUp { window: Duration::ZERO, max: 0 },
    ] {
        for (last_handled, now) in
            [(Timestamp::MIN, at(95)), (Timestamp::MAX, at(95)), (Timestamp::MIN, Timestamp::MIN)]
        {
            for threshold in [Duration::ZERO, Duration::MAX] {
                let situation = Situation::new(&schedule, policy, last_handled, now)
                    .with(|it| it.threshold = threshold);
                let named = by_fire(&schedule, decide(&situation).verdicts()).len();
                assert_eq!(named, if last_handled < now { 10 } else { 0 }, "{situation:?}");
            }
        }
    }
}

/// Limits may lie in the first pass of an overlap, from where cron skips a part of the second pass.
/// No fire may be lost.
#[test]
fn no_fire_is_lost_in_an_overlap() {
    let expression = CronExpression::parse("0 0/10 * * * ?").unwrap();
    let schedule = CronSchedule::new(expression, Zone::parse("America/New_York").unwrap());
    let last_handled: Timestamp = "2026-11-01T00:30:00-04:00".parse().unwrap();
    let now: Timestamp = "2026-11-01T02:35:00-05:00".parse().unwrap();
    let all: Vec<_> = schedule.upcoming(last_handled).take_while(|fire| *fire <= now).collect();
    assert_eq!(all.len(), 12);
    for minutes in 0..200 {
        let limit = Duration::from_secs(60 * minutes);
        for (policy, threshold) in [
            (MisfirePolicy::Skip, limit),
            (MisfirePolicy::RunOnceAfterwards, limit),
            (MisfirePolicy::CatchUp { window: limit, max: 100 }, Duration::ZERO),
            (MisfirePolicy::CatchUp { window: Duration::MAX, max: 3 }, limit),
        ] {
            let situation = Situation::new(&schedule, policy, last_handled, now)
                .with(|it| it.threshold = threshold);
            let named = by_fire(&schedule, decide(&situation).verdicts());
            let named: Vec<_> = named.into_iter().map(|(fire, _)| fire).collect();
            assert_eq!(named, all, "{policy:?}, {threshold:?}");
        }
    }
}
