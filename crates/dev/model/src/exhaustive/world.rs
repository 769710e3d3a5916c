//! The system that is explored: how coordinators see a state, and what they want in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coordination::internals::{Flight, Memory, Seat, Sitter, ViewQueries as _};
use coordination::{Command, Duty, Identity, JobView, Layout, NodeKind, encode_config};
use reg_center::{Change, Conflict, NodePath};
use sharding::InstanceId;

use super::cache::Cache;
use super::print::{Print, print_of};
use super::registry::{Entry, Registry, Written};
use super::rule::Breach;
use super::scope::{Scope, instance, server, session};
use super::settle::Guard;
use super::state::{Process, Standing, State, print_of_flight};

/// A plan that a coordinator wants now.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) flight: Arc<Flight>,
    pub(super) print: Print,
}

/// What becomes of a process that is told something.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) process: Arc<Process>,
    pub(super) commands: Vec<Command>,
}

/// What becomes of a plan that reaches the registry.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) outcome: Result<Commit, Conflict>,
    /// The process after the reply that says so.
    pub(super) told: Told,
}

/// What a plan makes of the registry.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub(super) registry: Arc<Registry>,
    pub(super) written: Written,
    pub(super) breach: Option<Breach>,
}

impl Wish {
    fn new(flight: Flight) -> Self {
        let print = print_of_flight(&flight);
        Self { flight: Arc::new(flight), print }
    }
}

/// What a process makes of what the registry shows.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    /// The process after a look at the view.
    pub(super) process: Arc<Process>,
    /// Runs that it starts, and callbacks that it calls, because the view shows them as its own.
    pub(super) starts: Vec<Command>,
    /// What its duties want then.
    pub(super) wishes: Vec<Wish>,
}

pub(super) struct World {
    pub(super) scope: Scope,
    pub(super) layout: Layout,
    sitters: Vec<Vec<Sitter>>,
    views: Cache<JobView>,
    outlooks: Cache<Outlook>,
    pub(super) trials: Cache<Trial>,
    pub(super) tellings: Cache<Told>,
    torn: Cache<Vec<Wish>>,
    /// What plans expect, by their fingerprints.
    pub(super) guards: Cache<Vec<Guard>>,
}

thread_local! {
    static SEAT: RefCell<Option<(Print, Seat)>> = const { RefCell::new(None) };
}

impl World {
    pub(super) fn new(scope: Scope) -> Self {
        let layout = Layout::new(&scope.config().job_name);
        let sitters = (0..scope.processes).map(|p| {
            let identity = Identity { job: scope.config().job_name, server: server(p) };
            let sitter = |life| Sitter {
                me: instance(p, life),
                session: session(p, life),
                calls_back: scope.calls_back,
                identity: identity.clone(),
            };
            (1..=scope.expiries + 1).map(sitter).collect()
        });
        Self {
            sitters: sitters.collect(),
            scope,
            layout,
            views: Cache::new(16),
            outlooks: Cache::new(19),
            trials: Cache::new(18),
            tellings: Cache::new(18),
            torn: Cache::new(17),
            guards: Cache::new(14),
        }
    }

    fn sitter(&self, process: usize, life: u8) -> &Sitter {
        &self.sitters[process][usize::from(life) - 1]
    }

    /// Returns the id of a life of a process.
    pub(super) fn id(&self, process: usize, life: u8) -> &InstanceId {
        &self.sitter(process, life).me
    }

    pub(super) fn path(&self, kind: &NodeKind) -> NodePath {
        self.layout.path(kind)
    }

    /// A stored configuration and processes that have just connected.
    pub(super) fn beginning(&self) -> State {
        let path = self.layout.config_path();
        let config = Entry::new(&path, encode_config(&self.scope.config()).into(), None);
        let mut nodes = BTreeMap::from([(path, config)]);
        if self.scope.has_waited {
            let queue = self.path(&NodeKind::FailoverRoot);
            nodes.insert(queue.clone(), Entry::new(&queue, Bytes::new(), None));
        }
        let processes = (0..self.scope.processes).map(|index| Arc::new(Process::new(index)));
        State {
            registry: Arc::new(Registry::new(nodes)),
            processes: processes.collect(),
            items: (0..self.scope.items).map(|_| Default::default()).collect(),
            calls: Default::default(),
            spent: Default::default(),
            breach: None,
        }
    }

    /// The state at which the exploration begins.
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

    /// Returns the view of somebody who has seen everything.
    pub(super) fn view(&self, registry: &Registry) -> Arc<JobView> {
        self.views.get_or(registry.print, || registry.view(&self.layout))
    }

    /// Lets the coordinator of a process do something, with what the registry shows.
    pub(super) fn seated<T>(
        &self,
        process: &Process,
        registry: &Registry,
        act: impl FnOnce(&mut Seat) -> T,
    ) -> (Memory, T) {
        let sitter = self.sitter(process.index, process.life);
        SEAT.with_borrow_mut(|seat| {
            let (shown, seat) = seat.get_or_insert_with(|| (0, Seat::new(sitter.identity.clone())));
            // Nothing that a process does changes its view, so that the last one may do.
            if *shown != registry.print {
                *shown = registry.print;
                seat.show(JobView::clone(&self.view(registry)));
            }
            seat.take(sitter, &process.memory);
            let result = act(seat);
            (seat.leave(), result)
        })
    }

    /// Returns what a process makes of the registry as it is now.
    pub(super) fn outlook(&self, registry: &Registry, process: &Arc<Process>) -> Arc<Outlook> {
        let key = print_of(&(registry.print, process.print()));
        self.outlooks.get_or(key, || {
            if process.standing != Standing::Up {
                let process = Arc::clone(process);
                return Outlook { process, starts: Vec::new(), wishes: Vec::new() };
            }
            let outlook = self.look(registry, process);
            let again = &outlook.process;
            // Who looks again sees the same again; the walks check it.
            if outlook.starts.is_empty()
                && again.standing == Standing::Up
                && again.print != process.print
            {
                let key = print_of(&(registry.print, again.print()));
                self.outlooks.put(key, Arc::new(outlook.clone()));
            }
            outlook
        })
    }

    /// Works it out.
    pub(super) fn look(&self, registry: &Registry, process: &Arc<Process>) -> Outlook {
        let (memory, (commands, wanted)) = self.seated(process, registry, |seat| {
            let commands = seat.observe();
            (commands, seat.wanted())
        });
        let mut observed = Process { memory, ..Process::clone(process) };
        let mut starts = Vec::new();
        for command in commands {
            match command {
                Command::Start(_) | Command::CallOnce { .. } => starts.push(command),
                Command::Left => observed.standing = Standing::Left,
                Command::Commit { .. }
                | Command::Follow(_)
                | Command::Interrupt(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested => {}
            }
        }
        let observed = Arc::new(observed.sealed());
        let mut wishes: Vec<Wish> = wanted.into_iter().map(Wish::new).collect();
        for patient in self.patient_takeovers(registry, &observed) {
            if wishes.iter().all(|other| other.print != patient.print) {
                wishes.push(patient);
            }
        }
        Outlook { wishes, process: observed, starts }
    }

    /// Returns what a process takes over if orphans have waited for long enough. Nobody knows how much time passes between two
    /// moves, so that it may be so at any of them; no state says that it is.
    fn patient_takeovers(&self, registry: &Registry, process: &Process) -> Vec<Wish> {
        let none_waits = process.memory.local.orphans_since.is_none();
        if none_waits || process.standing != Standing::Up {
            return Vec::new();
        }
        let mut patient = process.clone();
        patient.memory.local.orphans_since = Some(Duration::ZERO);
        let (_, wanted) = self.seated(&patient, registry, Seat::wanted);
        wanted.into_iter().filter(|flight| flight.plan.takes_over()).map(Wish::new).collect()
    }

    /// Returns the sweeps that a process wants if its view is torn: it shows the claims of another life, but neither
    /// its registration nor its marks. A snapshot that is read node by node can look like that.
    pub(super) fn torn_sweeps(
        &self,
        registry: &Registry,
        process: &Arc<Process>,
    ) -> Arc<Vec<Wish>> {
        let key = print_of(&(registry.print, process.print()));
        self.torn.get_or(key, || {
            let view = self.view(registry);
            let me = self.id(process.index, process.life);
            let holders =
                view.items().filter_map(|(_, item)| item.ledger.as_ref()?.value.running());
            let others: BTreeSet<_> =
                holders.map(|run| &run.holder).filter(|holder| *holder != me).collect();
            let leads = view.term_of(me).is_some();
            let torn = others
                .into_iter()
                .filter(|_| leads)
                .flat_map(|other| self.sweeps_without(registry, process, other));
            torn.collect()
        })
    }

    fn sweeps_without(
        &self,
        registry: &Registry,
        process: &Arc<Process>,
        other: &InstanceId,
    ) -> Vec<Wish> {
        let node = self.path(&NodeKind::Instance(other.clone()));
        let owner = self.sitters.iter().flatten().find(|s| s.me == *other).map(|s| s.session);
        let hidden = registry.nodes().filter(|(path, entry)| {
            let kind = self.layout.parse(path);
            let mark = matches!(kind, Some(NodeKind::Running(_) | NodeKind::Failover(_)));
            **path == node || (mark && entry.owner == owner)
        });
        let mut view = JobView::clone(&self.view(registry));
        for (path, _) in hidden {
            let gone = Change::Gone { path: path.clone(), revision: None };
            view.apply(gone).expect("nothing else depends on what is hidden");
        }
        let sitter = self.sitter(process.index, process.life);
        let mut seat = Seat::new(sitter.identity.clone());
        seat.show(view);
        seat.take(sitter, &process.memory);
        let sweeps = seat.wanted().into_iter().filter(|flight| flight.plan.duty == Duty::Sweep);
        sweeps.map(Wish::new).collect()
    }
}
