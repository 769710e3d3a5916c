//! One coordinator that plays many instances in turn: their memory is loaded and unloaded.
//!
//! The exhaustive model explores millions of states with several instances each. It stores only the
//! memory of each instance, and loads it into one coordinator for each event. The module is a child
//! of `coordinator` because it needs the private fields.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reg_center::SessionId;
use sharding::{InstanceId, StrategyRegistry};

use super::in_flight::InFlight;
use super::reporting::AlreadyReported;
use super::{Coordinator, Identity};
use crate::local::Local;
use crate::plan::Plan;
use crate::view::JobView;
use crate::{Command, Event, JobConfig, Now, Reply, Ticket};
use crate::{Duty, Versioned};

/// Time of every event. The exhaustive model has no clock; the end of a wait is one of its events.
pub const NOW: Now =
    Now { wall_ms: 1_000_000, registry_ms: None, mono: Duration::from_secs(1_000) };

/// A plan in flight, with the configuration by which it was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The plan.
    pub plan: Plan,
    /// The configuration, or `None` if none was stored.
    pub config: Option<Versioned<Arc<JobConfig>>>,
}

/// State of a coordinator between two events, except its view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The local state of the instance.
    pub local: Local,
    /// The plans in flight.
    pub flights: BTreeMap<Duty, Arc<Flight>>,
    /// Set once the coordinator has reported a request to leave.
    pub leave_requested: bool,
}

/// Identity of an instance for one session.
#[derive(Clone, Debug)]
pub struct Incarnation {
    /// The job and the server.
    pub identity: Identity,
    /// The instance id.
    pub me: InstanceId,
    /// The session that owns the ephemeral nodes of the instance.
    pub session: SessionId,
    /// Set if the instance can call once-per-cluster callbacks.
    pub calls_back: bool,
}

/// A coordinator into which the memory of one instance at a time is loaded.
#[derive(Debug)]
pub struct SharedCoordinator(Coordinator);

impl SharedCoordinator {
    /// Creates a coordinator without the memory of an instance.
    pub fn new(identity: Identity) -> Self {
        Self(Coordinator::new(identity, StrategyRegistry::default()))
    }

    /// Replaces the view.
    pub fn set_view(&mut self, view: JobView) {
        self.0.view = view;
    }

    /// Loads the memory of a connected instance.
    pub fn load(&mut self, incarnation: &Incarnation, memory: &Memory) {
        let Memory { local, flights, leave_requested } = memory.clone();
        let reported = AlreadyReported {
            config: self.0.view.config().cloned(),
            leads: self.0.view.term_of(&incarnation.me),
            leave_requested,
            ..AlreadyReported::default()
        };
        let coordinator = &mut self.0;
        let in_flight = flights.into_iter().map(|(duty, flight)| {
            let Flight { plan, config } = Arc::unwrap_or_clone(flight);
            (duty, Box::new(InFlight::new(ticket(duty), plan, config, &coordinator.view)))
        });
        coordinator.in_flight = in_flight.collect();
        coordinator.identity = incarnation.identity.clone();
        coordinator.settings.calls_back = incarnation.calls_back;
        coordinator.me = Some(incarnation.me.clone());
        coordinator.session = Some(incarnation.session);
        coordinator.connected = true;
        coordinator.local = local;
        coordinator.reported = reported;
        // Views of the model always show a complete assignment.
        coordinator.in_doubt = Vec::new();
        coordinator.mark_all_dirty();
    }

    /// Unloads the memory of the instance.
    pub fn unload(&mut self) -> Memory {
        let coordinator = &mut self.0;
        let flights: BTreeMap<_, _> = std::mem::take(&mut coordinator.in_flight)
            .into_iter()
            .map(|(duty, flight)| (duty, Arc::new(Flight::from(*flight))))
            .collect();
        let mut local = std::mem::take(&mut coordinator.local);
        local.claims.in_flight = flights.values().any(|flight| flight.plan.may_begin_runs());
        Memory { local, flights, leave_requested: coordinator.reported.leave_requested }
    }

    /// Records an event, but neither observes the view nor decides.
    pub fn record(&mut self, event: Event) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.record(NOW, event, &mut out);
        out
    }

    /// Records the reply to the plan of a duty, which is free again afterwards.
    pub fn replied(&mut self, duty: Duty, reply: Reply) -> Vec<Command> {
        let out = self.record(Event::Replied { ticket: ticket(duty), reply });
        self.0.in_flight.remove(&duty);
        out
    }

    /// Observes the view and returns the commands that follow from it.
    pub fn observe(&mut self) -> Vec<Command> {
        let mut out = Vec::new();
        self.0.observe(NOW, &mut out);
        out
    }

    /// Returns the plans that the free duties decide. The memory of the instance does not change.
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
        Self { plan: Arc::unwrap_or_clone(plan), config }
    }
}

fn ticket(duty: Duty) -> Ticket {
    Ticket(duty as u64)
}
