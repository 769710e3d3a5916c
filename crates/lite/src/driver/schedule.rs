//! The job's schedule and its fires, which may wait for the registry's clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use coordination::{Event, FireTime, JobConfig, JobEvent, Layout, MaxTimeDiff, MissReason};
use jiff::Timestamp;

use super::Driver;
use crate::clock_check::{ClockCheck, ClockVerdict, FRESH, TRUSTED};
use crate::config_check::{Timing, timing_of};
use crate::context::timestamp;
use crate::timer::{Pace, Since};

impl Driver {
    /// Applies the schedule of a configuration. If it is invalid, the last valid schedule stays in
    /// force.
    pub(super) fn schedule(&mut self, config: Arc<JobConfig>) {
        match timing_of(&config, &self.default_zone) {
            Ok(timing) => self.set_timing(timing),
            Err(fault) => {
                self.record(JobEvent::ConfigRejected { reason: fault.to_string() });
                self.state.schedule_fault = Some(fault);
            }
        }
        if let Err(fault) = self.errors.choose(&config) {
            self.record(JobEvent::ConfigRejected { reason: fault.to_string() });
        }
        self.state.config = Some(config);
    }

    /// Puts a schedule into force. The first one also covers the fires since the job was joined.
    fn set_timing(&mut self, timing: Option<Timing>) {
        let now = self.seams.clock.wall();
        let since = self.state.fires_since.take().unwrap_or(Since::Changed(now));
        self.state.changed_at = since.changed_at();
        self.state.schedule_fault = None;
        if let Some(caveat) = timing.as_ref().and_then(|timing| timing.caveat(now)) {
            tracing::warn!(
                %caveat,
                "some fires are closer together than the jitter, their delays are shorter"
            );
        }
        self.state.timing.clone_from(&timing);
        self.timer.fire_by(timing.map(Pace::of), since);
    }

    /// Handles a due fire. If the registry's time is not known well enough, the fire waits for the
    /// registry's answer.
    ///
    /// Only one check is in progress at a time, and later fires wait for it. A later fire must not
    /// overtake an earlier one, which would then be lost.
    pub(super) fn fired(&mut self, at: FireTime) {
        let check_is_in_progress = !self.state.unchecked_fires.is_empty();
        if check_is_in_progress {
            self.state.unchecked_fires.push(at);
            return;
        }
        let Some(check) = self.needed_check() else {
            self.fire(at);
            return;
        };
        self.state.unchecked_fires.push(at);
        self.state.clock_asked = Some(self.seams.clock.monotonic());
        self.seams.spawn.spawn(Box::pin(check.run(self.answers.clone())));
    }

    /// Returns the check that must precede a fire. With `None` the coordinator compares the clocks
    /// by the known time.
    fn needed_check(&self) -> Option<ClockCheck> {
        let max_time_diff = self.state.config.as_ref()?.max_time_diff;
        let reading = self.seams.registry.clock_reading();
        let is_fresh = reading.is_some_and(|reading| reading.since_sent <= FRESH);
        let bound = match max_time_diff {
            MaxTimeDiff::Seconds(bound) => Some(Duration::from_secs(bound.into())),
            MaxTimeDiff::Default | MaxTimeDiff::Off => None,
        };
        let seems_wrong = max_time_diff.exceeded_by(self.seams.now()).is_some();
        let is_needed = (bound.is_some() && !is_fresh) || (seems_wrong && !self.has_asked_lately());
        if !is_needed {
            return None;
        }
        let probe = Layout::new(&self.job).system_time();
        Some(ClockCheck { seams: self.seams.clone(), probe, bound })
    }

    fn has_asked_lately(&self) -> bool {
        let now = self.seams.clock.monotonic();
        self.state.clock_asked.is_some_and(|asked| now.saturating_sub(asked) < TRUSTED)
    }

    fn fire(&mut self, at: FireTime) {
        let next = self.next_fire_after(self.lower_bound_of_next(at));
        let next = next.map(|next| FireTime(next.as_millisecond()));
        self.feed(Event::Fire { at, next, missed: self.missed_before(at) });
    }

    /// Returns the exclusive lower bound of the fire that follows `at`.
    ///
    /// A fire of the former schedule can start after the change. Fires of the new schedule before
    /// the change are never due.
    fn lower_bound_of_next(&self, at: FireTime) -> Timestamp {
        let fire = timestamp(at);
        match self.state.changed_at {
            // A change in the future was stored before the clock was set back.
            Some(changed) if changed <= self.seams.clock.wall() => fire.max(changed),
            Some(_) | None => fire,
        }
    }

    /// Returns the missed fires that a job with catch-up may still run before a fire. They are the
    /// latest fires within its window that an item of this instance has not accounted for.
    fn missed_before(&self, at: FireTime) -> Vec<FireTime> {
        let policy = self.state.config.as_ref().and_then(|config| config.catch_up);
        let (Some(policy), Some(Timing { schedule, .. })) = (policy, &self.state.timing) else {
            return Vec::new();
        };
        let Some(since) = self.coordinator.catch_up_since() else { return Vec::new() };
        let from = timestamp(since.max(policy.window_start(at)));
        // Only the latest fires are kept, because a long window can have many.
        let mut missed = VecDeque::new();
        let fires = std::iter::successors(schedule.next_after(from), |f| schedule.next_after(*f));
        for fire in fires.map(|fire| FireTime(fire.as_millisecond())).take_while(|f| *f < at) {
            missed.push_back(fire);
            if missed.len() > policy.max as usize {
                missed.pop_front();
            }
        }
        missed.into()
    }

    pub(super) fn clock_checked(&mut self, verdict: ClockVerdict) {
        match verdict {
            ClockVerdict::Agrees => {
                for at in std::mem::take(&mut self.state.unchecked_fires) {
                    self.fire(at);
                }
            }
            ClockVerdict::Differs => self.miss_unchecked_fires(MissReason::ClockDiffers),
        }
    }

    /// Records the waiting fires as missed, so that each fire has a record.
    pub(super) fn miss_unchecked_fires(&mut self, reason: MissReason) {
        for fire in std::mem::take(&mut self.state.unchecked_fires) {
            self.record(JobEvent::Missed { item: None, fire, reason });
        }
    }

    pub(super) fn next_fire_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.state.timing.as_ref().and_then(|timing| timing.schedule.next_after(after))
    }
}
