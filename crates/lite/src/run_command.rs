//! Carrying out what a coordinator asks for: one arm per command.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Command, Duty, Event, FireTime, InterruptReason, JobConfig, JobEvent, Layout, MissReason,
    StartItem,
};
use tracing::Instrument;

use crate::clock_check::ClockCheck;
use crate::commit::Commit;
use crate::config_check::schedule_of;
use crate::driver::Driver;

impl Driver {
    pub(crate) fn run_command(&mut self, command: Command) {
        match command {
            Command::Commit { ticket, duty, reason, txn, confirm_absent } => {
                self.commit(duty, &reason, Commit { ticket, txn, confirm_absent });
            }
            Command::Start(items) => self.start(items),
            Command::Interrupt(reason) => self.interrupt(reason),
            Command::Schedule(config) => self.schedule(config),
            Command::Emit(event) => self.record(event),
            Command::LeaveRequested => self.begin_shutdown(self.patience.leave_deadline, None),
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
        for item in items {
            self.executor.start(item, &self.state.span);
        }
        // A process that has slept through the end of its lease must not begin what it claimed before.
        let lease = self.state.session.and_then(|s| self.seams.registry.lease_remaining(s));
        if lease.is_none() {
            self.interrupt(InterruptReason::LeaseExpired);
        }
    }

    fn interrupt(&self, reason: InterruptReason) {
        tracing::warn!(%reason, "interrupting all runs");
        self.executor.abandon_all();
    }

    /// A configuration whose schedule makes no sense leaves the last good schedule in force.
    fn schedule(&mut self, config: Arc<JobConfig>) {
        match schedule_of(&config) {
            Ok(schedule) => {
                self.state.schedule_fault = None;
                self.state.schedule.clone_from(&schedule);
                self.timer.fire_by(schedule);
            }
            Err(fault) => {
                self.record(JobEvent::ConfigRejected { reason: fault.to_string() });
                self.state.schedule_fault = Some(fault);
            }
        }
        self.state.config = Some(config);
    }

    /// A fire is due. Where the clock is to be checked, it is handed on when the registry has said what time it is.
    pub(crate) fn fired(&mut self, at: FireTime) {
        let bound = self.state.config.as_ref().and_then(|config| config.max_time_diff_seconds);
        let Some(bound) = bound else { return self.feed(Event::Fire { at }) };
        let check = ClockCheck {
            seams: self.seams.clone(),
            probe: Layout::new(&self.job).system_time(),
            bound: Duration::from_secs(bound.into()),
            fire: at,
        };
        self.seams.spawn.spawn(Box::pin(check.run(self.answers.clone())));
    }

    pub(crate) fn clock_differs(&self, fire: FireTime) {
        let reason = MissReason::ClockDiffers;
        self.record(JobEvent::Missed { item: None, fire, reason });
    }
}
