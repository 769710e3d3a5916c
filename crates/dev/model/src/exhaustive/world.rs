//! The explored system: views, observations and wanted plans of its coordinators.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coordination::internals::{Flight, Incarnation, Memory, SharedCoordinator, ViewQueries as _};
use coordination::{Command, Duty, Identity, JobView, Layout, NodeKind, encode_config};
use promises::Breach;
use reg_center::{Change, Conflict, NodePath};
use sharding::InstanceId;

use super::cache::Cache;
use super::fingerprint::{Fingerprint, fingerprint_of};
use super::registry::{Entry, Registry, Written};
use super::scope::{Scope, instance, server, session};
use super::settle::Guard;
use super::state::{Process, State, Status, fingerprint_of_flight};

/// A plan that a coordinator wants now.
#[derive(Clone, Debug)]
pub(super) struct WantedPlan {
    pub(super) flight: Arc<Flight>,
    pub(super) fingerprint: Fingerprint,
}

/// A process after an event or a reply, with the commands that follow.
#[derive(Debug)]
pub(super) struct Handled {
    pub(super) process: Arc<Process>,
    pub(super) commands: Vec<Command>,
}

/// Outcome of a plan that reaches the registry.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) outcome: Result<Commit, Conflict>,
    /// The process after the reply with this outcome.
    pub(super) handled: Handled,
}

/// A committed plan: the registry after it.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) registry: Arc<Registry>,
    pub(super) written: Written,
    pub(super) breach: Option<Breach>,
}

impl WantedPlan {
    fn new(flight: Flight) -> Self {
        let fingerprint = fingerprint_of_flight(&flight);
        Self { flight: Arc::new(flight), fingerprint }
    }
}

/// Result of an observation of the view by a process.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// The process after the observation.
    pub(super) process: Arc<Process>,
    /// Runs that the process starts and callbacks that it calls, because the view shows them as its
    /// own.
    pub(super) starts: Vec<Command>,
    /// Plans that its duties decide then.
    pub(super) wanted_plans: Vec<WantedPlan>,
}

pub(super) struct World {
    pub(super) scope: Scope,
    pub(super) layout: Layout,
    incarnations: Vec<Vec<Incarnation>>,
    views: Cache<JobView>,
    observations: Cache<Observation>,
    pub(super) trials: Cache<Trial>,
    pub(super) handled_events: Cache<Handled>,
    torn: Cache<Vec<WantedPlan>>,
    /// Guards of plans, by the fingerprint of the plan.
    pub(super) guards: Cache<Vec<Guard>>,
}

thread_local! {
    static COORDINATOR: RefCell<Option<(Fingerprint, SharedCoordinator)>> = const { RefCell::new(None) };
}

impl World {
    pub(super) fn new(scope: Scope) -> Self {
        let layout = Layout::new(&scope.config().job_name);
        let incarnations = (0..scope.processes).map(|p| {
            let identity = Identity { job: scope.config().job_name, server: server(p) };
            let incarnation = |number| Incarnation {
                me: instance(p, number),
                session: session(p, number),
                calls_back: scope.calls_back,
                identity: identity.clone(),
            };
            (1..=scope.expiries + 1).map(incarnation).collect()
        });
        Self {
            incarnations: incarnations.collect(),
            scope,
            layout,
            views: Cache::new(16),
            observations: Cache::new(19),
            trials: Cache::new(18),
            handled_events: Cache::new(18),
            torn: Cache::new(17),
            guards: Cache::new(14),
        }
    }

    fn incarnation(&self, process: usize, incarnation: u8) -> &Incarnation {
        &self.incarnations[process][usize::from(incarnation) - 1]
    }

    /// Returns the instance id of an incarnation of a process.
    pub(super) fn id(&self, process: usize, incarnation: u8) -> &InstanceId {
        &self.incarnation(process, incarnation).me
    }

    pub(super) fn path(&self, kind: &NodeKind) -> NodePath {
        self.layout.path(kind)
    }

    /// Returns a state with a stored configuration and processes that have just connected.
    pub(super) fn beginning(&self) -> State {
        let path = self.layout.config_path();
        let config = Entry::new(&path, encode_config(&self.scope.config()).into(), None);
        let mut nodes = BTreeMap::from([(path, config)]);
        if self.scope.has_failover_queue {
            let queue = self.path(&NodeKind::FailoverRoot);
            nodes.insert(queue.clone(), Entry::new(&queue, Bytes::new(), None));
        }
        let processes = (0..self.scope.processes).map(|index| Arc::new(Process::new(index)));
        State {
            registry: Arc::new(Registry::new(nodes)),
            processes: processes.collect(),
            items: (0..self.scope.items).map(|_| Default::default()).collect(),
            slots: (0..self.scope.items * self.scope.slots).map(|_| Default::default()).collect(),
            calls: Default::default(),
            spent: Default::default(),
            breach: None,
        }
    }

    /// Returns the state at which the exploration begins.
    pub(super) fn first_state(&self) -> State {
        let mut state = self.beginning();
        if !self.scope.settled {
            return state;
        }
        let Scope { processes, items, .. } = self.scope;
        let calm =
            Self::new(Scope { calls_back: false, ..Scope::new("calm", processes, items, 0) });
        while let Some(step) = calm.moves(&state).into_iter().find(|step| !step.optional) {
            state = step.next;
        }
        state
    }

    /// Returns the up-to-date view of a registry.
    pub(super) fn view(&self, registry: &Registry) -> Arc<JobView> {
        self.views.get_or(registry.fingerprint, || registry.view(&self.layout))
    }

    /// Runs a closure with the coordinator of a process and the up-to-date view of the registry.
    pub(super) fn with_coordinator<T>(
        &self,
        process: &Process,
        registry: &Registry,
        run: impl FnOnce(&mut SharedCoordinator) -> T,
    ) -> (Memory, T) {
        let incarnation = self.incarnation(process.index, process.incarnation);
        COORDINATOR.with_borrow_mut(|coordinator| {
            let (shown, coordinator) = coordinator
                .get_or_insert_with(|| (0, SharedCoordinator::new(incarnation.identity.clone())));
            // Coordinators never change their view, so that it can be reused for the same registry.
            if *shown != registry.fingerprint {
                *shown = registry.fingerprint;
                coordinator.set_view(JobView::clone(&self.view(registry)));
            }
            coordinator.load(incarnation, &process.memory);
            let result = run(coordinator);
            (coordinator.unload(), result)
        })
    }

    /// Returns the cached observation of the registry by a process.
    pub(super) fn observation(
        &self,
        registry: &Registry,
        process: &Arc<Process>,
    ) -> Arc<Observation> {
        let key = fingerprint_of(&(registry.fingerprint, process.fingerprint()));
        self.observations.get_or(key, || {
            if process.status != Status::Up {
                let process = Arc::clone(process);
                return Observation { process, starts: Vec::new(), wanted_plans: Vec::new() };
            }
            let observation = self.observe(registry, process);
            let again = &observation.process;
            // A second observation gives the same result; the walks check this.
            if observation.starts.is_empty()
                && again.status == Status::Up
                && again.fingerprint != process.fingerprint
            {
                let key = fingerprint_of(&(registry.fingerprint, again.fingerprint()));
                self.observations.put(key, Arc::new(observation.clone()));
            }
            observation
        })
    }

    /// Computes the observation of the registry by a process.
    pub(super) fn observe(&self, registry: &Registry, process: &Arc<Process>) -> Observation {
        let (memory, (commands, wanted)) =
            self.with_coordinator(process, registry, |coordinator| {
                let commands = coordinator.observe();
                (commands, coordinator.wanted())
            });
        let mut observed = Process { memory, ..Process::clone(process) };
        let mut starts = Vec::new();
        for command in commands {
            match command {
                Command::Start(_) | Command::CallOnce { .. } => starts.push(command),
                Command::Left => observed.status = Status::Left,
                Command::Commit { .. }
                | Command::Follow(_)
                | Command::Read(_)
                | Command::Interrupt(_)
                | Command::Cancel(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested => {}
            }
        }
        let observed = Arc::new(observed.sealed());
        let mut wanted_plans: Vec<WantedPlan> = wanted.into_iter().map(WantedPlan::new).collect();
        for overdue in self.overdue_takeovers(registry, &observed) {
            if wanted_plans.iter().all(|other| other.fingerprint != overdue.fingerprint) {
                wanted_plans.push(overdue);
            }
        }
        Observation { wanted_plans, process: observed, starts }
    }

    /// Returns the takeovers that a process decides once orphaned runs have waited long enough.
    ///
    /// Any time can pass between two events, so that this can be the case in every state.
    fn overdue_takeovers(&self, registry: &Registry, process: &Process) -> Vec<WantedPlan> {
        let none_waits = process.memory.local.orphans_since.is_none();
        if none_waits || process.status != Status::Up {
            return Vec::new();
        }
        let mut overdue = process.clone();
        overdue.memory.local.orphans_since = Some(Duration::ZERO);
        let (_, wanted) = self.with_coordinator(&overdue, registry, SharedCoordinator::wanted);
        wanted.into_iter().filter(|flight| flight.plan.takes_over()).map(WantedPlan::new).collect()
    }

    /// Returns the sweeps that a leader wants if its view is torn.
    ///
    /// A torn view shows the claims of another instance, but neither its registration nor its
    /// marks. A snapshot is read node by node and can be torn. If an operator deletes the mark of a
    /// live run as well, nothing shows that its session is alive: ADR 21 accepts that case.
    pub(super) fn torn_sweeps(
        &self,
        registry: &Registry,
        process: &Arc<Process>,
    ) -> Arc<Vec<WantedPlan>> {
        let key = fingerprint_of(&(registry.fingerprint, process.fingerprint()));
        self.torn.get_or(key, || {
            let view = self.view(registry);
            let me = self.id(process.index, process.incarnation);
            let items = view.items().map(|(_, item)| item);
            let slots = items.chain(view.further_slots().map(|(_, slot)| slot));
            let holders = slots.filter_map(|slot| slot.ledger.as_ref()?.value.running());
            let others: BTreeSet<_> =
                holders.map(|run| &run.holder).filter(|holder| *holder != me).collect();
            let leads = view.term_of(me).is_some();
            let sweeps = leads && !self.scope.clears_marks();
            let torn = others
                .into_iter()
                .filter(|_| sweeps)
                .flat_map(|other| self.sweeps_without(registry, process, other));
            torn.collect()
        })
    }

    fn sweeps_without(
        &self,
        registry: &Registry,
        process: &Arc<Process>,
        other: &InstanceId,
    ) -> Vec<WantedPlan> {
        let node = self.path(&NodeKind::Instance(other.clone()));
        let owner = self.incarnations.iter().flatten().find(|s| s.me == *other).map(|s| s.session);
        let hidden = registry.nodes().filter(|(path, entry)| {
            let kind = self.layout.parse(path);
            let mark = matches!(kind, Some(NodeKind::Running(_) | NodeKind::Failover(_)));
            **path == node || (mark && entry.owner == owner)
        });
        let mut view = JobView::clone(&self.view(registry));
        for (path, _) in hidden {
            let gone = Change::Gone { path: path.clone(), revision: None };
            view.apply(gone).expect("no other node depends on the hidden ones");
        }
        let incarnation = self.incarnation(process.index, process.incarnation);
        let mut coordinator = SharedCoordinator::new(incarnation.identity.clone());
        coordinator.set_view(view);
        coordinator.load(incarnation, &process.memory);
        let sweeps =
            coordinator.wanted().into_iter().filter(|flight| flight.plan.duty == Duty::Sweep);
        sweeps.map(WantedPlan::new).collect()
    }
}
