//! Takes the memory of a coordinator out between two events, and puts it back.
//!
//! The exhaustive model keeps thousands of coordinators that differ in little. It stores only their memory, and lends
//! it to one real coordinator for the length of an event. This file is a child of `coordinator`, to reach its fields.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reg_center::SessionId;
use sharding::{InstanceId, StrategyRegistry};

use super::{AlreadyReported, Coordinator, Identity, InFlight};
use crate::duty::Duty;
use crate::local::Local;
use crate::plan::Plan;
use crate::view::{JobView, Versioned};
use crate::{Command, Event, JobConfig, Now, Reply, Ticket};

/// Time of every event: the exhaustive model has no clock, and explores the end of a wait as an event.
pub const NOW: Now =
    Now { wall_ms: 1_000_000, registry_ms: None, mono: Duration::from_secs(1_000) };

/// A plan under way, with the configuration under which it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The plan.
    pub plan: Plan,
    /// The configuration; `None` if there was none.
    pub config: Option<Versioned<Arc<JobConfig>>>,
}

/// Memory of a coordinator between two events, apart from its view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The knowledge of the instance about itself.
    pub local: Local,
    /// The plans under way.
    pub flights: BTreeMap<Duty, Arc<Flight>>,
    /// Whether the coordinator has reported a request to leave.
    pub leave_requested: bool,
}

/// An instance that uses the seat.
#[derive(Clone, Debug)]
pub struct Sitter {
    /// The job and the server.
    pub identity: Identity,
    /// The id of its incarnation.
    pub me: InstanceId,
    /// The session of its incarnation.
    pub session: SessionId,
    /// Whether it can call once-per-cluster callbacks.
    pub calls_back: bool,
}

/// One coordinator, which is lent to one instance after the other.
#[derive(Debug)]
pub struct Seat(Coordinator);

impl Seat {
    /// Returns a coordinator that no instance uses.
    pub fn new(identity: Identity) -> Self {
        Self(Coordinator::new(identity, StrategyRegistry::default()))
    }

    /// Replaces the view.
    pub fn show(&mut self, view: JobView) {
        self.0.view = view;
    }

    /// Hands the coordinator to an instance, connected, with this memory.
    pub fn take(&mut self, sitter: &Sitter, memory: &Memory) {
        let Memory { local, flights, leave_requested } = memory.clone();
        let reported = AlreadyReported {
            config: self.0.view.config().cloned(),
            leads: self.0.view.term_of(&sitter.me),
            leave_requested,
            ..AlreadyReported::default()
        };
        let seat = &mut self.0;
        let in_flight = flights.into_iter().map(|(duty, flight)| {
            let Flight { plan, config } = Arc::unwrap_or_clone(flight);
            (duty, Box::new(InFlight::new(ticket(duty), plan, config, &seat.view)))
        });
        seat.in_flight = in_flight.collect();
        seat.identity = sitter.identity.clone();
        seat.settings.calls_back = sitter.calls_back;
        seat.me = Some(sitter.me.clone());
        seat.session = Some(sitter.session);
        seat.connected = true;
        seat.local = local;
        seat.reported = reported;
        // A view here always shows all of an assignment.
        seat.in_doubt = Vec::new();
        seat.mark_all_dirty();
    }

    /// Takes the memory out again.
    pub fn leave(&mut self) -> Memory {
        let seat = &mut self.0;
        let flights: BTreeMap<_, _> = std::mem::take(&mut seat.in_flight)
            .into_iter()
            .map(|(duty, flight)| (duty, Arc::new(Flight::from(*flight))))
            .collect();
        let mut local = std::mem::take(&mut seat.local);
        local.is_claiming = flights.values().any(|flight| flight.plan.may_begin_runs());
        Memory { local, flights, leave_requested: seat.reported.leave_requested }
    }

    /// Records an event, without observing the view or deciding.
    pub fn record(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.record(NOW, event, &mut out);
        out
    }

    /// Records the reply to the plan of a duty; the duty is free again.
    pub fn replied(&mut self, duty: Duty, reply: Reply) -> Vec<Command> {
        let out = self.record(Event::Replied { ticket: ticket(duty), reply });
        self.0.in_flight.remove(&duty);
        out
    }

    /// Observes the view.
    pub fn observe(&mut self) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.observe(NOW, &mut out);
        out
    }

    /// Returns the plans that the free duties decide, beside those under way. The memory stays as it was.
    pub fn wanted(&mut self) -> Vec<Flight> {
        let busy: Vec<Duty> = self.0.in_flight.keys().copied().collect();
        let local = self.0.local.clone();
        self.0.decide(NOW, &mut Vec::new());
        self.0.local = local;
        let wanted = self.0.in_flight.extract_if(.., |duty, _| !busy.contains(duty));
        wanted.map(|(_, flight)| Flight::from(*flight)).collect()
    }
}

impl From<InFlight> for Flight {
    fn from(InFlight { plan, config, .. }: InFlight) -> Self {
        Self { plan, config }
    }
}

fn ticket(duty: Duty) -> Ticket {
    Ticket(duty as u64)
}
