//! Execution of the coordinator's commands, one match arm per command.

use std::sync::Arc;

use coordination::{Command, Duty, FencingToken, FireTime, InterruptReason, OnceStage, StartItem};
use reg_center::Scope;
use tracing::Instrument;

use super::Driver;
use crate::commit::Commit;
use crate::once_listener::Call;
use crate::shutdown::Shutdown;

impl Driver {
    pub(super) fn run_command(&mut self, command: Command) {
        match command {
            Command::Commit { ticket, duty, reason, txn, confirm_absent } => {
                let txn = txn.labelled(duty.as_str());
                self.commit(duty, &reason, Commit { ticket, txn, confirm_absent });
            }
            Command::Start(items) => self.start(items),
            Command::Cancel(cancel) => self.executor.cancel(&cancel),
            Command::CallOnce { stage, fire, token } => self.call_once(stage, fire, token),
            Command::Interrupt(reason) => self.interrupt(reason),
            Command::Schedule(config) => self.schedule(config),
            Command::Emit(event) => self.record(event),
            Command::Follow(scope) => self.state.follow = Some(scope),
            Command::Read(scope) => self.read(scope),
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

    /// Reads the job's nodes, unless an earlier read still waits for its turn.
    fn read(&mut self, scope: Scope) {
        if std::mem::replace(&mut self.state.reading, true) {
            return;
        }
        let read = self.read_turns.clone().read(scope, self.seams.clone(), self.answers.clone());
        self.seams.spawn.spawn(Box::pin(read.instrument(self.state.span.clone())));
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
        // An item that was claimed before the shutdown and starts after the shutdown's deadline
        // gets no extra time.
        if let Some(step) = self.state.shutdown.as_ref().and_then(Shutdown::last_step) {
            self.take_step(step);
        }
        // The operating system may have stopped this process beyond the end of its lease. Another
        // instance may then take over the runs that began above.
        let lease = self.state.session.and_then(|s| self.seams.registry.lease_remaining(s));
        if lease.is_none() {
            self.interrupt(InterruptReason::LeaseExpired);
        }
    }

    fn interrupt(&self, reason: InterruptReason) {
        tracing::warn!(%reason, "interrupting all runs");
        // No grace: another instance may take these runs over.
        self.executor.abandon_all();
    }

    fn call_once(&self, stage: OnceStage, fire: FireTime, token: FencingToken) {
        let Some(listener) = self.once_listener.clone() else { return };
        let guard = self.guard.clone().zip(self.coordinator.instance().cloned());
        let call = Call { listener, job: self.job.clone(), stage, fire, token, guard };
        let task = call.run(self.answers.clone());
        self.seams.spawn.spawn(Box::pin(task.instrument(self.state.span.clone())));
    }
}
