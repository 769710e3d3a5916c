//! One timer for all jobs of a scheduler: hands each job its fire times as they come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coordination::FireTime;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::select;
use tokio::sync::mpsc;
use trigger::{Jitter, Schedule, TimerQueue};

use crate::config_check::{SharedSchedule, Timing};
use crate::seams::Seams;

/// The longest sleep. The wall clock can be set, and stands still for a machine that is suspended: so often it is
/// looked at, whatever the schedule says.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// Where a timer is told what to do. It ends when the last of these is gone.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    instructions: mpsc::UnboundedSender<Instruction>,
    next_key: Arc<AtomicU64>,
}

/// A job's place in the timer; dropping it takes the job out.
#[derive(Debug)]
pub(crate) struct JobTimer {
    key: Key,
    instructions: mpsc::UnboundedSender<Instruction>,
    fires: mpsc::UnboundedSender<FireTime>,
}

type Key = u64;

enum Instruction {
    Set { key: Key, pace: Pace, since: Since, fires: mpsc::UnboundedSender<FireTime> },
    Remove(Key),
}

/// From when on fires count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    /// Those that begin after it: whoever joins before a fire has begun takes part in it.
    Joined(Timestamp),
    /// Those whose time comes after it: then another configuration has come into force.
    Changed(Timestamp),
}

impl Since {
    /// Returns when another configuration has come into force.
    pub(crate) fn changed_at(self) -> Option<Timestamp> {
        match self {
            Self::Joined(_) => None,
            Self::Changed(at) => Some(at),
        }
    }
}

/// When fires begin: at the times of a schedule, or somewhat later.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    schedule: SharedSchedule,
    jitter: Option<Jitter>,
}

impl Pace {
    pub(crate) fn of(timing: Timing) -> Self {
        Self { schedule: timing.schedule, jitter: timing.jitter }
    }

    fn start(&self, fire: Timestamp) -> Timestamp {
        self.jitter.map_or(fire, |jitter| jitter.start(&*self.schedule, fire))
    }

    /// Returns the first fire that counts.
    fn first(&self, since: Since) -> Option<Timestamp> {
        match (since, self.jitter) {
            (Since::Joined(at), Some(jitter)) => jitter.next_to_start(&*self.schedule, at),
            (Since::Joined(at), None) | (Since::Changed(at), _) => self.schedule.next_after(at),
        }
    }

    /// Returns the last fire that has begun by `now`. `due` has. Fires begin in the order of their times, each before the time
    /// of the next one.
    fn last_begun(&self, due: Timestamp, now: Timestamp) -> Timestamp {
        let last = last_fire(&*self.schedule, due, now);
        if last == due || self.start(last) <= now {
            return last;
        }
        let before = last.saturating_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MIN);
        last_fire(&*self.schedule, due, before)
    }
}

impl Timer {
    /// Starts the timer's task.
    pub(crate) fn start(seams: &Seams) -> Self {
        let (instructions, inbox) = mpsc::unbounded_channel();
        let wheel = Wheel {
            seams: seams.clone(),
            inbox,
            queue: TimerQueue::new(),
            jobs: BTreeMap::new(),
            looked_at: Timestamp::MIN,
        };
        seams.spawn.spawn(Box::pin(wheel.run()));
        Self { instructions, next_key: Arc::default() }
    }

    /// Makes room for a job, whose fires go to `fires`.
    pub(crate) fn place(&self, fires: mpsc::UnboundedSender<FireTime>) -> JobTimer {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        JobTimer { key, instructions: self.instructions.clone(), fires }
    }
}

impl JobTimer {
    /// Fires at this pace from then on, or not at all. Of fires that have begun already, the latest. One whose time has come by the
    /// pace before, and that has yet to begin, does so at once.
    pub(crate) fn fire_by(&self, pace: Option<Pace>, since: Since) {
        let (key, fires) = (self.key, self.fires.clone());
        self.tell(match pace {
            Some(pace) => Instruction::Set { key, pace, since, fires },
            None => Instruction::Remove(key),
        });
    }

    /// The timer is gone only if the runtime is, and then there is nobody left to fire for.
    fn tell(&self, instruction: Instruction) {
        let _ = self.instructions.send(instruction);
    }
}

impl Drop for JobTimer {
    fn drop(&mut self) {
        self.tell(Instruction::Remove(self.key));
    }
}

/// The timer's own state, in its task.
struct Wheel {
    seams: Seams,
    inbox: mpsc::UnboundedReceiver<Instruction>,
    queue: TimerQueue<Key>,
    jobs: BTreeMap<Key, Entry>,
    /// What the wall clock showed when it was looked at last.
    looked_at: Timestamp,
}

struct Entry {
    pace: Pace,
    fires: mpsc::UnboundedSender<FireTime>,
    since: Since,
    /// The next fire, by its time; the queue has its beginning.
    next: Option<Timestamp>,
}

impl Entry {
    fn fire(&self, fire: Timestamp) {
        let _ = self.fires.send(FireTime(fire.as_millisecond()));
    }

    /// Returns when the next fire begins.
    fn start(&self) -> Option<Timestamp> {
        self.next.map(|next| self.pace.start(next))
    }

    /// Finds the next fire anew by a clock that was set back. A change by the clock as it was is not before the time that it shows now.
    fn look_again(&mut self, now: Timestamp) {
        if let Since::Changed(at) = &mut self.since {
            *at = now.min(*at);
        }
        let next = self.pace.first(Since::Joined(now));
        self.next = match (next, self.since) {
            (Some(next), Since::Changed(at)) if next <= at => self.pace.first(self.since),
            (next, Since::Changed(_) | Since::Joined(_)) => next,
        };
    }
}

impl Wheel {
    async fn run(mut self) {
        loop {
            let wake = self.wake();
            let instruction = select! {
                biased;
                instruction = self.inbox.recv() => instruction.map(Some),
                () = wake => Some(None),
            };
            let Some(instruction) = instruction else { return };
            // What is due fires by the schedule that it was due by, also if a new one has just come.
            self.fire_due();
            if let Some(instruction) = instruction {
                self.obey(instruction);
            }
        }
    }

    /// Waits until it is time to look again: for the next fire as exactly as the clock can.
    fn wake(&self) -> BoxFuture<'static, ()> {
        let clock = &self.seams.clock;
        let (wall, mono) = (clock.wall(), clock.monotonic());
        let next = self.queue.next_wake().map(|due| until(wall, due));
        match next {
            Some(pause) => clock.alarm(mono + pause.min(LONGEST_SLEEP)),
            None => clock.sleep_until(mono + LONGEST_SLEEP),
        }
    }

    fn fire_due(&mut self) {
        let now = self.seams.clock.wall();
        if now < self.looked_at {
            self.look_again(now);
        }
        self.looked_at = now;
        while let Some((key, _)) = self.queue.pop_due(now) {
            let Some(entry) = self.jobs.get_mut(&key) else { continue };
            let Some(due) = entry.next else { continue };
            let fire = entry.pace.last_begun(due, now);
            entry.fire(fire);
            entry.next = entry.pace.schedule.next_after(fire);
            if let Some(start) = entry.start() {
                self.queue.set(key, start);
            }
        }
    }

    /// The clock was set back: what was next by the clock as it was can be far away by now. Fires that come twice are
    /// known by their times; whoever has taken note of one does not do so again.
    fn look_again(&mut self, now: Timestamp) {
        for (key, entry) in &mut self.jobs {
            entry.look_again(now);
            if let Some(start) = entry.start() {
                self.queue.set(*key, start);
            }
        }
    }

    fn obey(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Set { key, pace, since, fires } => {
                self.remove(key);
                let next = pace.first(since);
                let entry = Entry { pace, fires, since, next };
                if let Some(start) = entry.start() {
                    self.queue.set(key, start);
                }
                self.jobs.insert(key, entry);
            }
            Instruction::Remove(key) => self.remove(key),
        }
    }

    /// Takes a job out. A fire whose time has come, and that has yet to begin, does so now.
    fn remove(&mut self, key: Key) {
        self.queue.remove(&key);
        let Some(entry) = self.jobs.remove(&key) else { return };
        if let Some(pending) = entry.next.filter(|next| *next <= self.looked_at) {
            entry.fire(pending);
        }
    }
}

/// Returns the last fire time that is not after `now`. `due` is one.
///
/// A process that was paused fires once for the latest time it slept through; the ledger of each item shows which
/// fires lie between that one and the last one before. The search goes back in doubling steps, so that a pause of a
/// year costs no more than one of a minute.
fn last_fire(schedule: &dyn Schedule, due: Timestamp, now: Timestamp) -> Timestamp {
    let mut back = SignedDuration::from_secs(1);
    let mut last = loop {
        let from = now.saturating_sub(back).unwrap_or(Timestamp::MIN);
        if from <= due {
            break due;
        }
        match schedule.next_after(from) {
            Some(fire) if fire <= now => break fire,
            Some(_) | None => back = back.saturating_mul(2),
        }
    };
    while let Some(next) = schedule.next_after(last).filter(|next| *next <= now) {
        last = next;
    }
    last
}

/// Returns how long it is until then; nothing if it is past.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use trigger::{CronExpression, CronSchedule, Zone};

    use super::*;

    #[test]
    fn a_late_wake_fires_once_for_the_latest_time() {
        let rows = [
            ("in time", "0/10 * * * * ?", "12:00:10Z", "12:00:10Z", "12:00:10Z"),
            ("a little late", "0/10 * * * * ?", "12:00:10Z", "12:00:10.4Z", "12:00:10Z"),
            ("one slept through", "0/10 * * * * ?", "12:00:10Z", "12:00:20Z", "12:00:20Z"),
            ("many slept through", "* * * * * ?", "12:00:10Z", "18:31:07.9Z", "18:31:07Z"),
            ("seldom", "0 0 12 * * ?", "12:00:00Z", "23:59:59Z", "12:00:00Z"),
            ("irregular", "0 0/7 13,19 * * ?", "13:00:00Z", "19:30:00Z", "19:28:00Z"),
        ];
        for (case, cron, due, now, expected) in rows {
            let schedule = CronSchedule::new(CronExpression::parse(cron).unwrap(), Zone::utc());
            assert_eq!(last_fire(&schedule, on(due), on(now)), on(expected), "{case}");
        }
    }

    fn on(time: &str) -> Timestamp {
        format!("2024-02-29T{time}").parse().unwrap()
    }

    /// Fires each minute; those of 12:00 to 12:03 begin so many milliseconds later.
    fn late() -> (Pace, [Timestamp; 4]) {
        let minutes = CronExpression::parse("0 * * * * ?").unwrap();
        let schedule: SharedSchedule = Arc::new(CronSchedule::new(minutes, Zone::utc()));
        let jitter = Jitter::new("job", Duration::from_secs(50)).unwrap();
        let pace = Pace { schedule, jitter: Some(jitter) };
        let fires = ["12:00:00Z", "12:01:00Z", "12:02:00Z", "12:03:00Z"].map(on);
        let starts = fires.map(|fire| pace.start(fire));
        let delays = fires.iter().zip(&starts).map(|(fire, start)| start.duration_since(*fire));
        assert!(delays.into_iter().all(|delay| delay.is_positive()), "{starts:?}");
        (pace, starts)
    }

    #[test]
    fn with_jitter_a_late_wake_fires_for_the_latest_that_has_begun() {
        let (pace, starts) = late();
        let before = |at: Timestamp| at.saturating_sub(SignedDuration::from_millis(1)).unwrap();
        let rows = [
            ("as it begins", starts[0], "12:00:00Z"),
            ("the next one has come, and not begun", on("12:01:00Z"), "12:00:00Z"),
            ("just before it begins", before(starts[1]), "12:00:00Z"),
            ("it has", starts[1], "12:01:00Z"),
            ("two later, just before it begins", before(starts[3]), "12:02:00Z"),
            ("two later", starts[3], "12:03:00Z"),
        ];
        for (case, now, expected) in rows {
            assert_eq!(pace.last_begun(on("12:00:00Z"), now), on(expected), "{case}");
        }
    }

    #[test]
    fn whoever_joins_takes_part_in_what_has_yet_to_begin_and_a_change_looks_ahead() {
        let (pace, starts) = late();
        let rows = [
            ("before it begins", Since::Joined(on("12:00:00.001Z")), "12:00:00Z"),
            ("as it begins", Since::Joined(starts[0]), "12:01:00Z"),
            ("changed before it begins", Since::Changed(on("12:00:00.001Z")), "12:01:00Z"),
            ("changed before its time", Since::Changed(on("11:59:59.999Z")), "12:00:00Z"),
        ];
        for (case, since, expected) in rows {
            assert_eq!(pace.first(since), Some(on(expected)), "{case}");
        }
    }

    #[test]
    fn after_the_clock_was_set_back_nothing_begins_from_before_a_change() {
        let (pace, starts) = late();
        let now = on("12:00:00.001Z");
        assert!(now < starts[0]);
        let rows = [
            ("joined", Since::Joined(on("12:00:00.001Z")), "12:00:00Z"),
            ("changed by the clock as it is now", Since::Changed(on("12:00:00.001Z")), "12:01:00Z"),
            ("changed by the clock as it was", Since::Changed(on("12:02:30Z")), "12:01:00Z"),
            ("changed before", Since::Changed(on("11:59:59Z")), "12:00:00Z"),
        ];
        for (case, since, expected) in rows {
            let (fires, _inbox) = mpsc::unbounded_channel();
            let mut entry = Entry { pace: pace.clone(), fires, since, next: None };
            entry.look_again(now);
            assert_eq!(entry.next, Some(on(expected)), "{case}");
        }
    }

    /// Counts how often it is asked.
    #[derive(Debug)]
    struct Counted {
        schedule: CronSchedule,
        asked: AtomicUsize,
    }

    impl Schedule for Counted {
        fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.schedule.next_after(after)
        }

        fn describe(&self) -> String {
            self.schedule.describe()
        }
    }

    #[test]
    fn a_year_asleep_costs_no_more_than_a_minute() {
        let every_second = CronExpression::parse("* * * * * ?").unwrap();
        let schedule = Counted {
            schedule: CronSchedule::new(every_second, Zone::utc()),
            asked: AtomicUsize::new(0),
        };
        let due: Timestamp = "2023-03-01T00:00:00Z".parse().unwrap();
        let now: Timestamp = "2024-03-01T00:00:00Z".parse().unwrap();
        assert_eq!(last_fire(&schedule, due, now), now);
        assert!(schedule.asked.into_inner() < 10);
    }
}
