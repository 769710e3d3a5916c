//! One timer for all jobs of a scheduler: sends each job its fires when they start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coordination::{FireTime, LONGEST_SLEEP};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::select;
use tokio::sync::mpsc;
use trigger::{Jitter, Schedule, TimerQueue};

use crate::config_check::{SharedSchedule, Timing};
use crate::seams::Seams;

/// Handle of the timer's task. The task ends when the last handle is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    instructions: mpsc::UnboundedSender<Instruction>,
    next_key: Arc<AtomicU64>,
}

/// Entry of a job in the timer. Dropping it removes the job.
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

/// Time from which fires count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Since {
    /// Fires that start after the instance has joined: an instance that joins before the start
    /// takes part.
    Joined(Timestamp),
    /// Fires scheduled after the time at which another configuration came into force.
    Changed(Timestamp),
}

impl Since {
    /// Returns the time at which another configuration came into force.
    pub(crate) fn changed_at(self) -> Option<Timestamp> {
        match self {
            Self::Joined(_) => None,
            Self::Changed(at) => Some(at),
        }
    }
}

/// Start times of fires: the times of a schedule, plus the jitter.
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

    /// Returns the last fire that has started by `now`; `due` has started. Fires start in the order
    /// of their scheduled times, each before the scheduled time of the next one.
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
            last_read: Timestamp::MIN,
        };
        seams.spawn.spawn(Box::pin(wheel.run()));
        Self { instructions, next_key: Arc::default() }
    }

    /// Adds a job, whose fires are sent to `fires`.
    pub(crate) fn place(&self, fires: mpsc::UnboundedSender<FireTime>) -> JobTimer {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        JobTimer { key, instructions: self.instructions.clone(), fires }
    }
}

impl JobTimer {
    /// Sets the pace of the job, or removes its fires. Of fires that have already started, only the
    /// latest is sent. A fire of the former pace whose scheduled time has passed starts at once.
    pub(crate) fn fire_by(&self, pace: Option<Pace>, since: Since) {
        let (key, fires) = (self.key, self.fires.clone());
        self.send(match pace {
            Some(pace) => Instruction::Set { key, pace, since, fires },
            None => Instruction::Remove(key),
        });
    }

    /// Sends an instruction. If the timer is gone, the runtime has ended and no fires are needed.
    fn send(&self, instruction: Instruction) {
        let _ = self.instructions.send(instruction);
    }
}

impl Drop for JobTimer {
    fn drop(&mut self) {
        self.send(Instruction::Remove(self.key));
    }
}

/// State of the timer's task.
struct Wheel {
    seams: Seams,
    inbox: mpsc::UnboundedReceiver<Instruction>,
    queue: TimerQueue<Key>,
    jobs: BTreeMap<Key, Entry>,
    /// Last reading of the wall clock.
    last_read: Timestamp,
}

struct Entry {
    pace: Pace,
    fires: mpsc::UnboundedSender<FireTime>,
    since: Since,
    /// Scheduled time of the next fire; the queue has its start.
    next: Option<Timestamp>,
}

impl Entry {
    fn fire(&self, fire: Timestamp) {
        let _ = self.fires.send(FireTime(fire.as_millisecond()));
    }

    /// Returns the start of the next fire.
    fn start(&self) -> Option<Timestamp> {
        self.next.map(|next| self.pace.start(next))
    }

    /// Computes the next fire after the clock was set back. A change that now lies in the future
    /// counts as made now.
    fn recompute_next(&mut self, now: Timestamp) {
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
            // Fires that are already due use the schedule by which they are due, even if an
            // instruction has just arrived.
            self.fire_due();
            if let Some(instruction) = instruction {
                self.apply(instruction);
            }
        }
    }

    /// Waits until the start of the next fire, as exactly as the clock can, or for the maximum
    /// sleep.
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
        if now < self.last_read {
            self.recompute_next(now);
        }
        self.last_read = now;
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

    /// Computes all next fires again, because the clock was set back and they may be far in the
    /// future now. A fire that is sent twice has the same scheduled time, by which the coordinator
    /// ignores the second one.
    fn recompute_next(&mut self, now: Timestamp) {
        for (key, entry) in &mut self.jobs {
            entry.recompute_next(now);
            if let Some(start) = entry.start() {
                self.queue.set(*key, start);
            }
        }
    }

    fn apply(&mut self, instruction: Instruction) {
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

    /// Removes a job. A fire whose scheduled time has passed but that has not started is sent now.
    fn remove(&mut self, key: Key) {
        self.queue.remove(&key);
        let Some(entry) = self.jobs.remove(&key) else { return };
        if let Some(pending) = entry.next.filter(|next| *next <= self.last_read) {
            entry.fire(pending);
        }
    }
}

/// Returns the last fire time that is not after `now`; `due` is a fire time.
///
/// A process that was paused fires once, for the latest time during the pause. The ledger record of
/// each item shows the fires between that one and the last one before. The search goes back in
/// doubling steps, so that a pause of a year costs as much as one of a minute.
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

/// Returns the time from `now` to `then`, or zero if `then` has passed.
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
            ("one missed", "0/10 * * * * ?", "12:00:10Z", "12:00:20Z", "12:00:20Z"),
            ("many missed", "* * * * * ?", "12:00:10Z", "18:31:07.9Z", "18:31:07Z"),
            ("rare", "0 0 12 * * ?", "12:00:00Z", "23:59:59Z", "12:00:00Z"),
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

    /// Returns a pace of one fire a minute with jitter, and the start times of the fires of 12:00
    /// to 12:03.
    fn with_jitter() -> (Pace, [Timestamp; 4]) {
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
    fn with_jitter_a_late_wake_fires_for_the_latest_fire_that_has_started() {
        let (pace, starts) = with_jitter();
        let before = |at: Timestamp| at.saturating_sub(SignedDuration::from_millis(1)).unwrap();
        let rows = [
            ("at its start", starts[0], "12:00:00Z"),
            ("the next one is due but not started", on("12:01:00Z"), "12:00:00Z"),
            ("just before the next one starts", before(starts[1]), "12:00:00Z"),
            ("the next one has started", starts[1], "12:01:00Z"),
            ("two later, just before it begins", before(starts[3]), "12:02:00Z"),
            ("two later", starts[3], "12:03:00Z"),
        ];
        for (case, now, expected) in rows {
            assert_eq!(pace.last_begun(on("12:00:00Z"), now), on(expected), "{case}");
        }
    }

    #[test]
    fn joining_instance_takes_part_in_a_fire_before_its_start_and_a_change_counts_from_its_time() {
        let (pace, starts) = with_jitter();
        let rows = [
            ("joined before its start", Since::Joined(on("12:00:00.001Z")), "12:00:00Z"),
            ("joined at its start", Since::Joined(starts[0]), "12:01:00Z"),
            ("changed before its start", Since::Changed(on("12:00:00.001Z")), "12:01:00Z"),
            ("changed before its scheduled time", Since::Changed(on("11:59:59.999Z")), "12:00:00Z"),
        ];
        for (case, since, expected) in rows {
            assert_eq!(pace.first(since), Some(on(expected)), "{case}");
        }
    }

    #[test]
    fn after_the_clock_was_set_back_no_fire_from_before_a_change_starts() {
        let (pace, starts) = with_jitter();
        let now = on("12:00:00.001Z");
        assert!(now < starts[0]);
        let rows = [
            ("joined", Since::Joined(on("12:00:00.001Z")), "12:00:00Z"),
            ("changed by the present clock", Since::Changed(on("12:00:00.001Z")), "12:01:00Z"),
            ("changed by the former clock", Since::Changed(on("12:02:30Z")), "12:01:00Z"),
            ("changed before", Since::Changed(on("11:59:59Z")), "12:00:00Z"),
        ];
        for (case, since, expected) in rows {
            let (fires, _inbox) = mpsc::unbounded_channel();
            let mut entry = Entry { pace: pace.clone(), fires, since, next: None };
            entry.recompute_next(now);
            assert_eq!(entry.next, Some(on(expected)), "{case}");
        }
    }

    /// A schedule that counts its calls.
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
    fn a_pause_of_a_year_costs_no_more_than_one_of_a_minute() {
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
