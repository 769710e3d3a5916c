//! The end of a job: its shutdown, the last error handlers, and the final report.

use std::time::Duration;

use coordination::{Event, MissReason};
use tokio::sync::oneshot;

use super::Driver;
use crate::inbox::Inbox;
use crate::shutdown::{Shutdown, Step};
use crate::{JobStatus, ShutdownReport};

/// Final status and report of a job that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) status: JobStatus,
    pub(crate) report: ShutdownReport,
}

/// Limits of the steps of a shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShutdownLimits {
    /// Time between the cancellation of a run and the dropping of its future.
    pub(crate) grace: Duration,
    /// Deadline of a shutdown that an operator requested through the registry.
    pub(crate) leave_deadline: Duration,
}

impl Driver {
    /// Begins a shutdown, or brings the deadline of the present one forward.
    pub(super) fn begin_shutdown(
        &mut self,
        deadline: Duration,
        waiter: Option<oneshot::Sender<ShutdownReport>>,
    ) {
        let (now, grace) = (self.seams.clock.monotonic(), self.limits.grace);
        let running = self.executor.running();
        let shutdown = self
            .state
            .shutdown
            .get_or_insert_with(|| Shutdown::begin(now, deadline, grace, running));
        shutdown.bring_forward(now, deadline, grace);
        if let Some(waiter) = waiter {
            shutdown.wait(waiter);
        }
        self.feed(Event::Drain);
    }

    pub(super) fn take_step(&mut self, step: Step) {
        match step {
            Step::CancelRuns => self.executor.cancel_all(),
            Step::DropRuns => self.executor.abandon_all(),
            Step::GiveUp => self.state.over = true,
        }
    }

    /// Lets error handlers and their decisions finish in the remaining time of a shutdown; without
    /// a shutdown they get no time.
    pub(super) async fn finish_error_handlers(&mut self, inbox: &mut Inbox) {
        let now = self.seams.clock.monotonic();
        let until = self.state.shutdown.as_ref().and_then(Shutdown::gives_up_at).unwrap_or(now);
        let abort = inbox.abort.clone();
        let finished = async {
            self.errors.finish(until).await;
            for reason in inbox.left_over_stops() {
                self.state.span.clone().in_scope(|| self.stop_job(reason));
            }
            self.finish_stop(until).await;
        };
        tokio::select! {
            biased;
            () = abort.cancelled() => {}
            () = finished => {}
        }
    }

    /// Stops the remaining runs, closes the event record, and returns the final state with the
    /// callers to notify.
    pub(super) fn end(mut self) -> (Ending, Vec<oneshot::Sender<ShutdownReport>>) {
        self.executor.abandon_all();
        self.miss_unchecked_fires(MissReason::Leaving);
        let status = self.status();
        let me = self.coordinator.instance();
        let is_gone = me.is_none_or(|me| !self.coordinator.view().is_registered(me));
        // An operator may have removed the instance before the ends of its runs were recorded.
        let deregistered = is_gone && status.running.is_empty();
        let now = self.seams.clock.monotonic();
        let shutdown = self.state.shutdown.take().unwrap_or_else(|| {
            Shutdown::begin(now, Duration::ZERO, Duration::ZERO, self.executor.running())
        });
        let (report, waiters) = shutdown.end(now, self.job.clone(), deregistered);
        self.subscribers.close();
        tracing::info!(deregistered, "job ended");
        (Ending { status, report }, waiters)
    }
}
