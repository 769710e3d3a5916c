//! Execution of the coordinator's commands, one match arm per command.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Command, Duty, Event, FencingToken, FireTime, InterruptReason, JobConfig, JobEvent, Layout,
    MaxTimeDiff, MissReason, OnceStage, StartItem,
};
use jiff::Timestamp;
use tracing::Instrument;

use crate::clock_check::{ClockCheck, ClockVerdict, FRESH, TRUSTED};
use crate::commit::Commit;
use crate::config_check::{Timing, timing_of};
use crate::context::timestamp;
use crate::driver::Driver;
use crate::once_listener::Call;
use crate::shutdown::Shutdown;
use crate::timer::{Pace, Since};

impl Driver {
    pub(crate) fn run_command(&mut self, command: Command) {
        match command {
            Command::Commit { ticket, duty, reason, txn, confirm_absent } => {
                let txn = txn.labelled(duty.as_str());
                self.commit(duty, &reason, Commit { ticket, txn, confirm_absent });
            }
            Command::Start(items) => self.start(items),
            Command::CallOnce { stage, fire, token } => self.call_once(stage, fire, token),
            Command::Interrupt(reason) => self.interrupt(reason),
            Command::Schedule(config) => self.schedule(config),
            Command::Emit(event) => self.record(event),
            Command::Follow(scope) => self.state.follow = Some(scope),
            Command::LeaveRequested => self.begin_shutdown(self.limits.leave_deadline, None),
            Command::Left => self.state.over = true,
        }
    }

    fn commit(&self, duty: Duty, reason: &str, commit: Commit) {
        let span = tracing::debug_span!("duty", %duty);
        let n_ops = commit.txn.ops().len();
        span.in_scope(|| tracing::debug!(reason, n_ops, "committing"));
        let (registry, answers) = (Arc::clone(&self.seams.registry), self.answers.clone());
        let task = async move { commit.run(&*registry, answers).await };
        self.seams.spawn.spawn(Box::pin(task.instrument(span)));
    }

    fn start(&mut self, items: Vec<StartItem>) {
        let now = self.seams.clock.wall();
        for item in items {
            let (number, run) = self.executor.start(item, now, &self.state.span);
            if let Some(shutdown) = &mut self.state.shutdown {
                shutdown.expect(number, run);
            }
        }
        self.update_runs();
        // An item that was claimed before the shutdown and starts after its deadline gets no extra
        // time.
        if let Some(step) = self.state.shutdown.as_ref().and_then(Shutdown::last_step) {
            self.take_step(step);
        }
        // A process that was paused beyond the end of its lease must not start items that it
        // claimed before.
        let lease = self.state.session.and_then(|s| self.seams.registry.lease_remaining(s));
        if lease.is_none() {
            self.interrupt(InterruptReason::LeaseExpired);
        }
    }

    fn interrupt(&self, reason: InterruptReason) {
        tracing::warn!(%reason, "interrupting all runs");
        self.executor.abandon_all();
    }

    /// Applies the schedule of a configuration. If it is invalid, the last valid schedule stays in
    /// force.
    fn schedule(&mut self, config: Arc<JobConfig>) {
        let now = self.seams.clock.wall();
        match timing_of(&config, &self.default_zone) {
            Ok(timing) => {
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

    /// Handles a due fire. If the registry's time is not known well enough, the fire waits for the
    /// registry's answer.
    ///
    /// Only one check is in progress at a time, and later fires wait for it too: a later fire must
    /// not overtake an earlier one, because the earlier one would be lost.
    pub(crate) fn fired(&mut self, at: FireTime) {
        let is_under_way = !self.state.unchecked_fires.is_empty();
        if is_under_way {
            return self.state.unchecked_fires.push(at);
        }
        match self.needed_check() {
            None => self.fire(at),
            Some(check) => {
                self.state.unchecked_fires.push(at);
                self.state.clock_asked = Some(self.seams.clock.monotonic());
                self.seams.spawn.spawn(Box::pin(check.run(self.answers.clone())));
            }
        }
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
        is_needed.then(|| {
            let probe = Layout::new(&self.job).system_time();
            ClockCheck { seams: self.seams.clone(), probe, bound }
        })
    }

    fn has_asked_lately(&self) -> bool {
        let now = self.seams.clock.monotonic();
        self.state.clock_asked.is_some_and(|asked| now.saturating_sub(asked) < TRUSTED)
    }

    fn fire(&mut self, at: FireTime) {
        // A fire of the former schedule can start after the change. Fires of the new schedule
        // before the change are never due. A change in the future was stored before the clock was
        // set back.
        let changed = self.state.changed_at.filter(|at| *at <= self.seams.clock.wall());
        let after = timestamp(at).max(changed.unwrap_or(Timestamp::MIN));
        let next = self.next_fire_after(after);
        let next = next.map(|next| FireTime(next.as_millisecond()));
        self.feed(Event::Fire { at, next, missed: self.missed_before(at) });
    }

    /// Returns the missed fires that a job with catch-up may still run before a fire. They are the
    /// latest fires within its window that an item of this instance has not accounted for.
    fn missed_before(&self, at: FireTime) -> Vec<FireTime> {
        let policy = self.state.config.as_ref().and_then(|config| config.catch_up);
        let (Some(policy), Some(Timing { schedule, .. })) = (policy, &self.state.timing) else {
            return Vec::new();
        };
        let Some(since) = self.coordinator.catch_up_since() else { return Vec::new() };
        // The window includes a fire exactly at its start.
        let window = i64::from(policy.window_seconds).saturating_mul(1_000) + 1;
        let from = timestamp(since.max(FireTime(at.0.saturating_sub(window))));
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

    fn call_once(&self, stage: OnceStage, fire: FireTime, token: FencingToken) {
        let Some(listener) = self.listener.clone() else { return };
        let guard = self.guard.clone().zip(self.coordinator.instance().cloned());
        let call = Call { listener, job: self.job.clone(), stage, fire, token, guard };
        let task = call.run(self.answers.clone());
        self.seams.spawn.spawn(Box::pin(task.instrument(self.state.span.clone())));
    }

    pub(crate) fn clock_checked(&mut self, verdict: ClockVerdict) {
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
    pub(crate) fn miss_unchecked_fires(&mut self, reason: MissReason) {
        for fire in std::mem::take(&mut self.state.unchecked_fires) {
            self.record(JobEvent::Missed { item: None, fire, reason });
        }
    }
}
