//! Laws of the judgement, for random sequences of states.

use coordination::Dialect;
use job_watch::{Assessment, Memory, Seen, State, evaluate};
use proptest::prelude::*;

use super::support::{Job, Watched, at};

const ALL: &str = "late_after = \"2m\"\nmust_succeed_within = \"30m\"\nat_most = \"2m\"\n\
                   failures = 2\ninstances_at_least = 1";

/// Returns one of the states that a job can have.
fn job(kind: u8, token: u64, seconds: i64) -> Option<Job> {
    let job = Job::rust(Dialect::V2).ended(1, 1, "succeeded", -600, -590);
    let fire = seconds - seconds.rem_euclid(600);
    Some(match kind {
        0 => return None,
        1 => job.ended(0, token, "succeeded", fire, seconds),
        2 => job.ended(0, token, "failed", fire, seconds),
        3 => job.running(0, token, fire, Some("failed")),
        4 => job.running(0, token, fire, Some("succeeded")),
        5 => job.ended(0, token, "succeeded", fire, seconds).server(1, "PAUSED"),
        6 => job.ended(0, token, "succeeded", fire, seconds).disabled(0),
        7 => job.ended(0, token, "failed", fire, seconds).killed(1),
        _ => Job::java(Dialect::V3).mark(0),
    })
}

/// A kind of state, and the seconds until the next one.
fn steps() -> impl Strategy<Value = Vec<(u8, i64)>> {
    prop::collection::vec((0..9_u8, 0..900_i64), 1..12)
}

/// Observes all states, and returns the last one, its time, and the knowledge about the job.
fn after(steps: &[(u8, i64)]) -> (Watched, Option<Job>, i64) {
    let (mut watched, mut seconds, mut last) = (Watched::new(ALL), 0, None);
    for (token, (kind, wait)) in (2..).zip(steps) {
        seconds += wait;
        last = job(*kind, token, seconds);
        watched.see(last.as_ref(), seconds);
    }
    (watched, last, seconds)
}

fn judge(watched: &Watched, job: Option<&Job>, seconds: i64) -> Vec<Assessment> {
    let snapshot = job.map(Job::snapshot);
    let seen = Seen::new(snapshot.as_ref(), &watched.memory);
    evaluate(&watched.file.expectations_of("report"), seen, at(seconds))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn judgement_depends_on_its_arguments_alone(steps in steps(), later in 0..5_000_i64) {
        let (watched, job, seconds) = after(&steps);
        let first = judge(&watched, job.as_ref(), seconds + later);
        let (other, _, _) = after(&steps);
        prop_assert_eq!(&other.memory, &watched.memory);
        prop_assert_eq!(judge(&other, job.as_ref(), seconds + later), first);
    }

    #[test]
    fn violation_lasts_while_nothing_changes(steps in steps(), waits in prop::collection::vec(0..2_000_i64, 1..10)) {
        let (mut watched, job, mut seconds) = after(&steps);
        let mut before = watched.see(job.as_ref(), seconds);
        for wait in waits {
            seconds += wait;
            let now = watched.see(job.as_ref(), seconds);
            for (before, now) in before.iter().zip(&now) {
                if let State::Violated { since, .. } = &before.state {
                    let State::Violated { since: later, .. } = &now.state else {
                        panic!("{before:?} became {now:?}");
                    };
                    prop_assert_eq!(since, later);
                }
            }
            before = now;
        }
    }

    #[test]
    fn state_does_not_change_before_it_is_due(steps in steps(), wait in 0..5_000_i64) {
        let (mut watched, job, seconds) = after(&steps);
        let before = watched.see(job.as_ref(), seconds);
        let now = watched.see(job.as_ref(), seconds + wait);
        for (before, now) in before.iter().zip(&now) {
            if before.due.is_none_or(|due| due > at(seconds + wait)) {
                prop_assert_eq!(before.state.as_str(), now.state.as_str(), "{:?} {:?}", before, now);
            }
        }
    }

    #[test]
    fn violation_does_not_begin_in_the_future(steps in steps(), wait in 0..5_000_i64) {
        let (mut watched, job, seconds) = after(&steps);
        for one in watched.see(job.as_ref(), seconds + wait) {
            if let State::Violated { since, .. } = one.state {
                prop_assert!(since <= at(seconds + wait));
            }
        }
    }

    #[test]
    fn same_state_is_remembered_once(steps in steps(), n in 1..5_usize) {
        let (mut watched, job, seconds) = after(&steps);
        let before: Memory = watched.memory.clone();
        for _ in 0..n {
            watched.see(job.as_ref(), seconds);
        }
        prop_assert_eq!(watched.memory, before);
    }
}
