//! Sessions of the job: connected, suspended, lost or closed.

use std::sync::Arc;
use std::time::Duration;

use coordination::{Event, JobName, Layout};
use reg_center::{SessionChange, SessionId};
use tracing::Span;

use super::Driver;

impl Driver {
    pub(super) fn session_changed(&mut self, change: SessionChange) {
        tracing::debug!(%change, "session changed");
        self.state.lease_ends = None;
        match change {
            SessionChange::Connected { session, .. } => self.connected(session),
            SessionChange::Suspended { session } => self.suspended(session),
            SessionChange::Lost { .. } => self.feed(Event::Lost),
            SessionChange::Closed => self.closed(),
        }
    }

    fn connected(&mut self, session: SessionId) {
        let resumed = self.state.session == Some(session);
        if resumed && self.seams.registry.clock_reading().is_none() {
            self.ask_time();
        }
        let incarnation = self.incarnations.in_session(session, &*self.seams.randomness);
        self.state.span = job_span(&self.job, incarnation.as_str());
        self.state.session = Some(session);
        self.feed(Event::Connected { session, incarnation });
    }

    /// Requests the registry's time, because the reply that carried it was lost with the
    /// connection. The registry centre stores the time of the answer.
    fn ask_time(&self) {
        let (registry, probe) =
            (Arc::clone(&self.seams.registry), Layout::new(&self.job).system_time());
        let asked = async move { registry.registry_time(&probe).await };
        drop(self.seams.detach(asked));
    }

    /// Measures the remaining lease. The session must not be used after its end.
    fn suspended(&mut self, session: SessionId) {
        let remaining = self.seams.registry.lease_remaining(session).unwrap_or(Duration::ZERO);
        self.state.lease_ends = self.seams.clock.monotonic().checked_add(remaining);
        tracing::debug!(?remaining, "lease of the session measured");
        self.feed(Event::Suspended);
    }

    fn closed(&mut self) {
        tracing::warn!("the registry centre was closed while the job was running");
        self.feed(Event::Lost);
        self.state.over = true;
    }
}

/// Returns the span of a job in one session of this process.
pub(crate) fn job_span(job: &JobName, instance: &str) -> Span {
    // A root span, because it is created inside the span of the former session.
    tracing::info_span!(parent: None, "job", %job, instance)
}
