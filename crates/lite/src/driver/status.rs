//! Status of the job in this process.

use std::time::Duration;

use coordination::ConfigState;
use jiff::{SignedDuration, Timestamp};

use super::Driver;
use crate::JobStatus;
use crate::context::timestamp;

impl Driver {
    pub(super) fn status(&self) -> JobStatus {
        let status = self.coordinator.status();
        let now = self.seams.clock.wall();
        let waits = self.executor.waits(&self.job);
        JobStatus {
            job: self.job.clone(),
            phase: status.phase,
            instance: status.instance,
            registered: status.registered,
            available: status.available,
            paused: status.paused,
            leader: status.leader,
            leads: status.leads,
            owned: status.owned,
            running: status.running,
            waiting_for_place: waits.map_or_else(Vec::new, |(_, waits)| waits.items),
            waiting_for: status.waiting_for,
            waiting_since: status.waiting_since.map(|since| self.wall_at(since)),
            clock_differs_by: status.clock_differs_by.map(SignedDuration::from_millis),
            next_fire: self.next_fire_after(now).or_else(|| self.delayed_fire()),
            time_zone: self.state.timing.as_ref().map(|timing| timing.zone.name().to_owned()),
            config: self.state.config.clone(),
            config_fault: self.config_fault(),
            stopped: self.state.stop.as_ref().map(|stop| stop.reason.clone()),
        }
    }

    /// Returns the next fire of a job with a fixed delay, which may have come already.
    fn delayed_fire(&self) -> Option<Timestamp> {
        self.coordinator.view().delayed_fire().map(timestamp)
    }

    /// Converts a time of the monotonic clock to the wall clock.
    fn wall_at(&self, mono: Duration) -> Timestamp {
        let ago = self.seams.clock.monotonic().saturating_sub(mono);
        self.seams.clock.wall().saturating_sub(ago).unwrap_or(Timestamp::MIN)
    }

    fn config_fault(&self) -> Option<String> {
        match self.coordinator.view().config_state() {
            ConfigState::Invalid { reason, .. } => Some(reason.clone()),
            ConfigState::Absent | ConfigState::Valid(_) => {
                let fault = self.state.schedule_fault.as_ref().or(self.errors.fault());
                fault.map(ToString::to_string)
            }
        }
    }
}
