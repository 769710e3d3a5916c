//! A coordinator that can be left and taken up again: what it remembers between two events comes out and goes back in.
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

/// The model has no clock: what takes long, or has taken long enough, is explored as something that happens.
pub(crate) const NOW: Now =
    Now { wall_ms: 1_000_000, registry_ms: None, mono: Duration::from_secs(1_000) };

/// A plan under way, with the configuration under which it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) plan: Plan,
    pub(crate) config: Option<Versioned<Arc<JobConfig>>>,
}

/// What a coordinator remembers between two events, apart from its view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) local: Local,
    pub(crate) flights: BTreeMap<Duty, Arc<Flight>>,
    pub(crate) leave_requested: bool,
}

/// Who sits here: the host, the life, and its session.
#[derive(Clone, Debug)]
pub(crate) struct Sitter {
    pub(crate) identity: Identity,
    pub(crate) me: InstanceId,
    pub(crate) session: SessionId,
    /// Whether it can call callbacks that happen once per cluster and fire.
    pub(crate) calls_back: bool,
}

/// One coordinator, lent to whoever sits down.
#[derive(Debug)]
pub(crate) struct Seat(Coordinator);

impl Seat {
    pub(crate) fn new(identity: Identity) -> Self {
        Self(Coordinator::new(identity, StrategyRegistry::default()))
    }

    /// Changes what the coordinator sees.
    pub(crate) fn show(&mut self, view: JobView) {
        self.0.view = view;
    }

    /// Hands the coordinator to `sitter`, connected, with this memory.
    pub(crate) fn take(&mut self, sitter: &Sitter, memory: &Memory) {
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
    pub(crate) fn leave(&mut self) -> Memory {
        let seat = &mut self.0;
        let flights: BTreeMap<_, _> = std::mem::take(&mut seat.in_flight)
            .into_iter()
            .map(|(duty, flight)| (duty, Arc::new(Flight::from(*flight))))
            .collect();
        let mut local = std::mem::take(&mut seat.local);
        local.is_claiming = flights.values().any(|flight| flight.plan.may_begin_runs());
        Memory { local, flights, leave_requested: seat.reported.leave_requested }
    }

    /// Records what happened, without looking at the view or deciding.
    pub(crate) fn record(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.record(NOW, event, &mut out);
        out
    }

    /// Records the reply to the plan of a duty; the duty is free again.
    pub(crate) fn replied(&mut self, duty: Duty, reply: Reply) -> Vec<Command> {
        let out = self.record(Event::Replied { ticket: ticket(duty), reply });
        self.0.in_flight.remove(&duty);
        out
    }

    /// Looks at the view.
    pub(crate) fn observe(&mut self) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.observe(NOW, &mut out);
        out
    }

    /// Asks every duty that is free, and returns the plans that are wanted beside those under way. What it remembers is as it was
    /// before.
    pub(crate) fn wanted(&mut self) -> Vec<Flight> {
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
