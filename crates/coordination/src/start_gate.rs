//! Start gate: decides if this process may claim runs, or start unmonitored ones, now.
//!
//! The guards of a claim check the nodes again. `Coordinator::start_runs` checks the connection and
//! the lease again, because a claim can commit after its session was suspended.

use sharding::InstanceId;

use crate::local::Local;
use crate::view::JobView;
use crate::{ServerIp, ServerState};

/// Reason why no run may start now, or `Open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartGate {
    Open,
    /// The instance drains, or has left.
    Leaving,
    /// This process is paused, or an operator has paused its server.
    Paused,
    /// The session's lease has ended: another instance may take the runs over.
    NoLease,
    /// The instance is not registered, or its server is disabled.
    Unavailable,
    /// A later version wrote the term or the assignment: this version cannot read who may run what.
    NewerRecord,
    /// The registry's time is unknown, so that this process cannot check its clock.
    UnknownTime,
}

impl StartGate {
    pub(crate) fn of(view: &JobView, local: &Local, me: &InstanceId, server: &ServerIp) -> Self {
        if !local.is_active() {
            Self::Leaving
        } else if local.paused || view.server_state(server) == Some(ServerState::Paused) {
            Self::Paused
        } else if !local.session.lease {
            Self::NoLease
        } else if !view.is_available(me) {
            Self::Unavailable
        } else if view.is_newer() {
            Self::NewerRecord
        } else if local.session.awaits_time {
            Self::UnknownTime
        } else {
            Self::Open
        }
    }
}
