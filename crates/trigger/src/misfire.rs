//! What becomes of fires that could not run when they were due.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::schedule::{Schedule, Upcoming};

/// What a job does about fires that met a still running item or were late, for example because the
/// process was down.
///
/// A fire that is late by less than the [threshold](Situation::threshold) is just late, not a
/// misfire: it runs. In the timelines the schedule fires each 10 seconds; `23-26` is a run from
/// second 23 to second 26.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisfirePolicy {
    /// All misfires together run once, as soon as it is possible (`misfire=true` of ElasticJob,
    /// `FIRE_ONCE_NOW` of Quartz). The run stands for the newest of them and names them all.
    ///
    /// ```text
    /// item busy:  0   10   20   30   40      process down:  0   10   20   30   40
    /// fires       |    |    |    |    |      fires          |    |    |    |    |
    /// runs        [0------23]                up             [0-3]    (down)  [..
    ///                        [23-26] [30..   runs                            [33-36][40..
    ///             the run at 23 stands for   the run at 33 stands for
    ///             the fires of 10 and 20     the fires of 10, 20 and 30
    /// ```
    #[default]
    RunOnceAfterwards,
    /// Misfires never run (`misfire=false` of ElasticJob, `DO_NOTHING` of Quartz).
    ///
    /// ```text
    /// item busy:  0   10   20   30   40      process down:  0   10   20   30   40
    /// fires       |    |    |    |    |      fires          |    |    |    |    |
    /// runs        [0------23]    [30-33]     up             [0-3]    (down)  [..
    ///             10 and 20 are skipped      runs                             [40-43]
    ///                                        10, 20 and, if the threshold is up to 3 s, 30
    ///                                        are skipped
    /// ```
    Skip,
    /// Each misfire runs, oldest first, unless it is older than `window` or there are more than
    /// `max`: then the oldest ones are skipped.
    ///
    /// ```text
    /// window 25 s, max 2; up again at 43, threshold 5 s:
    /// fires       0   10   20   30   40   50
    ///             |    |    |    |    |    |
    /// up          [0-3]    (down)      [..
    /// runs                             [43-44][44-45][45-46][50-51]
    ///                                   20     30     40     50
    /// 10 is skipped: it is older than 25 s. 20 and 30 catch up, 40 is just late.
    /// ```
    CatchUp {
        /// How old, at the time of the decision, a fire may be to be run.
        window: Duration,
        /// How many misfires are run in one go; at most [`FireRange::COUNT_LIMIT`] count.
        max: u32,
    },
}

/// Consecutive fires of a schedule, by name: the first, the last, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FireRange {
    /// The first fire time.
    pub first: Timestamp,
    /// The last fire time; the same as `first` if there is one.
    pub last: Timestamp,
    /// How many fire times there are from the first to the last.
    pub count: FireCount,
}

/// How many fires there are in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FireCount {
    /// They were counted.
    Exactly(u64),
    /// There are at least so many; counting stopped. First and last are exact all the same.
    AtLeast(u64),
}

impl fmt::Display for FireCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FireCount::Exactly(count) => write!(f, "{count}"),
            FireCount::AtLeast(count) => write!(f, "at least {count}"),
        }
    }
}

impl FireRange {
    /// How far fires are counted, so that even a schedule of every second that was not looked at
    /// for years takes milliseconds: 100000, which is more than the seconds of a day.
    pub const COUNT_LIMIT: u32 = 100_000;

    /// The fires of `schedule` after `after` and up to `until`, the latter included.
    #[must_use]
    pub fn between(
        schedule: &dyn Schedule,
        after: Timestamp,
        until: Timestamp,
    ) -> Option<FireRange> {
        let mut fires = Upcoming::new(schedule, after).take_while(|fire| *fire <= until);
        let first = fires.next()?;
        let (mut last, mut count) = (first, 1);
        for fire in fires {
            if count == u64::from(Self::COUNT_LIMIT) {
                let count = FireCount::AtLeast(count);
                return Some(FireRange { first, last: last_fire(schedule, last, until), count });
            }
            (last, count) = (fire, count + 1);
        }
        Some(FireRange { first, last, count: FireCount::Exactly(count) })
    }

    /// The fire times in the range, in order; `schedule` is the one that the range is of.
    pub fn fires<'a>(
        &self,
        schedule: &'a dyn Schedule,
    ) -> impl Iterator<Item = Timestamp> + use<'a> {
        let last = self.last;
        Upcoming::new(schedule, just_before(self.first)).take_while(move |fire| *fire <= last)
    }

    /// This range and a later one as one.
    fn followed_by(self, later: Option<FireRange>) -> FireRange {
        use FireCount::{AtLeast, Exactly};
        let Some(later) = later else { return self };
        let count = match (self.count, later.count) {
            (Exactly(one), Exactly(other)) => Exactly(one.saturating_add(other)),
            (Exactly(one) | AtLeast(one), Exactly(other) | AtLeast(other)) => {
                AtLeast(one.saturating_add(other))
            }
        };
        FireRange { first: self.first, last: later.last, count }
    }
}

/// `2026-01-01T00:00:10Z..=2026-01-01T00:00:30Z (3 fires)`.
impl fmt::Display for FireRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            FireCount::Exactly(1) => write!(f, "{}", self.first),
            FireCount::Exactly(_) | FireCount::AtLeast(_) => {
                write!(f, "{}..={} ({} fires)", self.first, self.last, self.count)
            }
        }
    }
}

/// Everything that a misfire decision depends on.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use jiff::Timestamp;
/// # use trigger::{FixedInterval, MisfirePolicy, Situation};
/// # let start = Timestamp::UNIX_EPOCH;
/// # let schedule = FixedInterval::new(start, Duration::from_secs(10))?;
/// # let now = Timestamp::from_second(43)?;
/// let situation = Situation {
///     is_running: true,
///     ..Situation::new(&schedule, MisfirePolicy::Skip, start, now)
/// };
/// assert_eq!(situation.threshold, Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// When the job fires.
    pub schedule: &'a dyn Schedule,
    /// What the job does about misfires.
    pub policy: MisfirePolicy,
    /// A fire that is late by this or more is a misfire. At least
    /// [`MIN_THRESHOLD`](Situation::MIN_THRESHOLD) counts, or nothing would be on time.
    pub threshold: Duration,
    /// The last fire about which a decision was made: fires up to it are settled or pending. For a
    /// new job, the instant from which on it shall fire.
    pub last_handled: Timestamp,
    /// The present time.
    pub now: Timestamp,
    /// Whether the item is still running.
    pub is_running: bool,
    /// The fires that a former decision told to [wait](FireVerdict::Wait).
    pub pending: Option<FireRange>,
}

impl<'a> Situation<'a> {
    /// The default threshold, 5 s, that of Quartz's `RAMJobStore`.
    pub const DEFAULT_THRESHOLD: Duration = Duration::from_secs(5);

    /// The smallest threshold that counts, 1 ms, as in Quartz.
    pub const MIN_THRESHOLD: Duration = Duration::from_millis(1);

    /// The situation of an idle item of which nothing is pending, with the default threshold.
    pub fn new(
        schedule: &'a dyn Schedule,
        policy: MisfirePolicy,
        last_handled: Timestamp,
        now: Timestamp,
    ) -> Situation<'a> {
        Situation {
            schedule,
            policy,
            threshold: Self::DEFAULT_THRESHOLD,
            last_handled,
            now,
            is_running: false,
            pending: None,
        }
    }

    /// The last instant at which a fire is a misfire by now.
    fn misfired_until(&self) -> Timestamp {
        earlier(self.now, self.threshold.max(Self::MIN_THRESHOLD))
    }

    fn fires(&self, after: Timestamp, until: Timestamp) -> Option<FireRange> {
        FireRange::between(self.schedule, after, until)
    }

    /// The last of the fires `all` that is not after `instant`, or just before all of them.
    ///
    /// Ranges are split at fires only. A schedule may answer differently for an instant at which
    /// it does not fire, as cron does within an overlap, and a fire would be lost.
    fn last_fire(&self, all: FireRange, instant: Timestamp) -> Timestamp {
        let before = just_before(all.first);
        if instant < all.first {
            return before;
        }
        last_fire(self.schedule, before, instant.min(all.last))
    }

    /// What is due and was not yet decided about.
    fn due(&self) -> Option<FireRange> {
        self.fires(self.last_handled, self.now)
    }
}

/// What becomes of the fires of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FireVerdict {
    /// Each runs now, in order: they are on time or just late.
    Run,
    /// One run now stands for all of them and has the scheduled time of the last.
    RunOnce,
    /// Each runs now, in order, although it misfired.
    CatchUp,
    /// They wait for the end of the running item. Pass the range as
    /// [`pending`](Situation::pending) to the next decision.
    Wait,
    /// They never run.
    Skip(SkipReason),
}

/// Why fires never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// The item was still running ([`MisfirePolicy::Skip`]).
    ItemRunning,
    /// They were late by the threshold or more ([`MisfirePolicy::Skip`]).
    Late,
    /// They are older than the window of [`MisfirePolicy::CatchUp`].
    OutOfWindow,
    /// There are more than the maximum of [`MisfirePolicy::CatchUp`], and these are the oldest.
    OverMax,
}

impl fmt::Display for FireVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FireVerdict::Run => f.write_str("run"),
            FireVerdict::RunOnce => f.write_str("run once for"),
            FireVerdict::CatchUp => f.write_str("catch up"),
            FireVerdict::Wait => f.write_str("wait"),
            FireVerdict::Skip(reason) => write!(f, "skip ({reason})"),
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::ItemRunning => "item running",
            SkipReason::Late => "late",
            SkipReason::OutOfWindow => "out of window",
            SkipReason::OverMax => "over maximum",
        })
    }
}

/// What becomes of every pending and due fire: ranges in order, each with its verdict.
///
/// The ranges leave out no fire and name none twice, so that no fire is lost in silence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct MisfireDecision {
    verdicts: Vec<(FireRange, FireVerdict)>,
    last_handled: Timestamp,
}

impl MisfireDecision {
    /// The ranges with their verdicts, oldest first; empty if nothing is due or pending.
    pub fn verdicts(&self) -> &[(FireRange, FireVerdict)] {
        &self.verdicts
    }

    /// The fires that wait for the end of the running item.
    pub fn pending(&self) -> Option<FireRange> {
        self.verdicts
            .iter()
            .find(|(_, verdict)| *verdict == FireVerdict::Wait)
            .map(|(fires, _)| *fires)
    }

    /// The fires that never run, with the reason.
    pub fn skipped(&self) -> impl Iterator<Item = (FireRange, SkipReason)> {
        self.verdicts.iter().filter_map(|(fires, verdict)| match verdict {
            FireVerdict::Skip(reason) => Some((*fires, *reason)),
            FireVerdict::Run | FireVerdict::RunOnce | FireVerdict::CatchUp | FireVerdict::Wait => {
                None
            }
        })
    }

    /// The last fire that this decision is about: the
    /// [`last_handled`](Situation::last_handled) of the next one.
    pub fn last_handled(&self) -> Timestamp {
        self.last_handled
    }
}

/// `run once for 2026-01-01T00:00:10Z..=2026-01-01T00:00:30Z (3 fires)`, or `nothing is due`.
impl fmt::Display for MisfireDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verdicts.is_empty() {
            return f.write_str("nothing is due");
        }
        for (place, (fires, verdict)) in self.verdicts.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{verdict} {fires}")?;
        }
        Ok(())
    }
}

/// Decides what becomes of every fire of a schedule that is pending or due.
///
/// The same situation always leads to the same decision. If the clock went back behind
/// [`last_handled`](Situation::last_handled), nothing is due.
///
/// # Examples
///
/// A job of every 10 seconds ran at second 0, then the process was down until second 33:
///
/// ```
/// use std::time::Duration;
/// use jiff::Timestamp;
/// use trigger::{FixedInterval, MisfirePolicy, Situation, decide};
///
/// let at = |second| Timestamp::from_second(second).expect("a small number");
/// let schedule = FixedInterval::new(at(0), Duration::from_secs(10))?;
/// let decide_with = |policy| decide(&Situation::new(&schedule, policy, at(0), at(33))).to_string();
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
    MisfireDecision { verdicts, last_handled }
}

fn while_running(policy: MisfirePolicy) -> FireVerdict {
    match policy {
        MisfirePolicy::Skip => FireVerdict::Skip(SkipReason::ItemRunning),
        MisfirePolicy::RunOnceAfterwards | MisfirePolicy::CatchUp { .. } => FireVerdict::Wait,
    }
}

/// The verdicts about `all` pending and due fires.
fn when_idle(situation: &Situation<'_>, all: FireRange) -> Vec<(FireRange, FireVerdict)> {
    // Pending fires have met a running item, which makes them misfires however short it took.
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

/// The latest instant after which, up to `until`, lie the newest `max` fires; `after` if there are
/// not so many.
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

/// The last fire up to `until`, provided that there is one after `after`.
///
/// Schedules only look forward; but a fire follows an instant, up to `until`, as long as the instant
/// is before the fire in question, so bisection finds that. What cron answers in the first pass of
/// an overlap does not mislead it: there, too, the answer passes `until` right after that fire.
fn last_fire(schedule: &dyn Schedule, after: Timestamp, until: Timestamp) -> Timestamp {
    let fire_after = |instant: i128| {
        let instant = Timestamp::from_nanosecond(instant).ok()?;
        schedule.next_after(instant).filter(|fire| *fire <= until)
    };
    let (mut low, mut high) = (after.as_nanosecond(), until.as_nanosecond());
    let mut last = fire_after(low).unwrap_or(until);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fire_after(middle) {
            Some(fire) => (low, last) = (middle, fire),
            None => high = middle,
        }
    }
    last
}

/// The instant one nanosecond earlier.
fn just_before(instant: Timestamp) -> Timestamp {
    earlier(instant, Duration::from_nanos(1))
}

/// The instant a span earlier, or the earliest of all.
fn earlier(instant: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by)
        .ok()
        .and_then(|by| instant.checked_sub(by).ok())
        .unwrap_or(Timestamp::MIN)
}
