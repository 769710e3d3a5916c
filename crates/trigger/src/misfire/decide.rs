//! The misfire decision.

use jiff::Timestamp;

use crate::schedule::Schedule;

use super::decision::{FireVerdict, MisfireDecision, SkipReason};
use super::fire_range::{FireRange, earlier, just_before, last_fire};
use super::policy::MisfirePolicy;
use super::situation::Situation;

/// Decides about every pending and due fire of a schedule.
///
/// The same situation always leads to the same decision. If the clock went back before
/// [`last_handled`](Situation::last_handled), nothing is due.
///
/// # Examples
///
/// A job that fires every 10 seconds ran at second 0, and the process was down until second 33:
///
/// ```
/// use std::time::Duration;
/// use jiff::Timestamp;
/// use trigger::{FixedInterval, MisfirePolicy, Situation, decide};
///
/// let at = |second| Timestamp::from_second(second).expect("a small number");
/// let schedule = FixedInterval::new(at(0), Duration::from_secs(10))?;
/// let decide_with =
///     |policy| decide(&Situation::new(&schedule, policy, at(0), at(33))).to_string();
///
/// assert_eq!(
///     decide_with(MisfirePolicy::RunOnceAfterwards),
///     "run once for 1970-01-01T00:00:10Z..=1970-01-01T00:00:30Z (3 fires)"
/// );
/// assert_eq!(
///     decide_with(MisfirePolicy::Skip),
///     "skip (late) 1970-01-01T00:00:10Z..=1970-01-01T00:00:20Z (2 fires), \
///      run 1970-01-01T00:00:30Z"
/// );
/// let catch_up = MisfirePolicy::CatchUp { window: Duration::from_secs(3600), max: 1 };
/// assert_eq!(
///     decide_with(catch_up),
///     "skip (over maximum) 1970-01-01T00:00:10Z, catch up 1970-01-01T00:00:20Z, \
///      run 1970-01-01T00:00:30Z"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decide(situation: &Situation<'_>) -> MisfireDecision {
    let due = situation.due();
    let last_handled = due.map_or(situation.last_handled, |due| due.last);
    let all = situation.pending.map(|pending| pending.followed_by(due)).or(due);
    let verdicts = match all {
        None => Vec::new(),
        Some(all) if situation.is_running => vec![(all, while_running(situation.policy))],
        Some(all) => when_idle(situation, all),
    };
    MisfireDecision::new(verdicts, last_handled)
}

fn while_running(policy: MisfirePolicy) -> FireVerdict {
    match policy {
        MisfirePolicy::Skip => FireVerdict::Skip(SkipReason::ItemRunning),
        MisfirePolicy::RunOnceAfterwards | MisfirePolicy::CatchUp { .. } => FireVerdict::Wait,
    }
}

/// Returns the verdicts on `all` pending and due fires of an idle item.
fn when_idle(situation: &Situation<'_>, all: FireRange) -> Vec<(FireRange, FireVerdict)> {
    // A pending fire met a running item, which makes it a misfire even if the run was short.
    let pending_until = situation.pending.map_or(Timestamp::MIN, |pending| pending.last);
    let limit = situation.misfired_until().max(pending_until);
    if all.first > limit {
        return vec![(all, FireVerdict::Run)];
    }
    let (before, limit) = (just_before(all.first), situation.last_fire(all, limit));
    let mut verdicts = match situation.policy {
        MisfirePolicy::RunOnceAfterwards => return vec![(all, FireVerdict::RunOnce)],
        MisfirePolicy::Skip => {
            vec![(situation.fires(before, limit), FireVerdict::Skip(SkipReason::Late))]
        }
        MisfirePolicy::CatchUp { window, max } => {
            let too_old = just_before(earlier(situation.now, window)).min(limit);
            let window_start = situation.last_fire(all, too_old);
            let max_start = before_newest(situation.schedule, window_start, limit, max);
            let skip = FireVerdict::Skip;
            vec![
                (situation.fires(before, window_start), skip(SkipReason::OutOfWindow)),
                (situation.fires(window_start, max_start), skip(SkipReason::OverMax)),
                (situation.fires(max_start, limit), FireVerdict::CatchUp),
            ]
        }
    };
    verdicts.push((situation.fires(limit, all.last), FireVerdict::Run));
    verdicts.into_iter().filter_map(|(fires, verdict)| Some((fires?, verdict))).collect()
}

/// Returns an instant that separates the newest `max` fires up to `until` from the older ones;
/// `after` if there are fewer than `max`.
fn before_newest(
    schedule: &dyn Schedule,
    after: Timestamp,
    mut until: Timestamp,
    max: u32,
) -> Timestamp {
    for _ in 0..max.min(FireRange::COUNT_LIMIT) {
        let has_fire = schedule.next_after(after).is_some_and(|fire| fire <= until);
        if !has_fire {
            return after;
        }
        until = just_before(last_fire(schedule, after, until));
    }
    until
}
