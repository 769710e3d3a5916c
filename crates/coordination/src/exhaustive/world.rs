//! The system that is explored: how coordinators see a state, and what they want in it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use reg_center::NodePath;

use super::cache::Cache;
use super::print::{Print, hash_of};
use super::registry::{Entry, Registry};
use super::scope::{Scope, instance, server, session};
use super::state::{Process, Standing, State, print_of_flight};
use crate::coordinator::seat::{Flight, Memory, Seat, Sitter};
use crate::layout::{Layout, NodeKind};
use crate::view::JobView;
use crate::{Command, Identity, StartItem, encode_config};

/// A plan that a coordinator wants now.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) flight: Arc<Flight>,
    pub(super) print: Print,
}

/// What a process makes of what the registry shows.
#[derive(Debug)]
pub(super) struct Outlook {
    /// The process after a look at the view.
    pub(super) process: Arc<Process>,
    /// Runs that it starts because the view shows them as its own.
    pub(super) starts: Vec<StartItem>,
    /// What its duties want then.
    pub(super) wishes: Vec<Wish>,
}

pub(super) struct World {
    pub(super) scope: Scope,
    pub(super) layout: Layout,
    views: Cache<JobView>,
    outlooks: Cache<Outlook>,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

impl World {
    pub(super) fn new(scope: Scope) -> Self {
        let layout = Layout::new(&scope.config().job_name);
        Self { scope, layout, views: Cache::new(15), outlooks: Cache::new(18) }
    }

    pub(super) fn path(&self, kind: &NodeKind) -> NodePath {
        self.layout.path(kind)
    }

    /// A stored configuration and processes that have just connected.
    pub(super) fn beginning(&self) -> State {
        let config = Entry { data: encode_config(&self.scope.config()).into(), owner: None };
        let nodes = BTreeMap::from([(self.layout.config_path(), config)]);
        let processes = (0..self.scope.processes).map(|index| Arc::new(Process::new(index)));
        State {
            registry: Arc::new(Registry::new(nodes)),
            processes: processes.collect(),
            items: (0..self.scope.items).map(|_| Default::default()).collect(),
            spent: Default::default(),
            breach: None,
        }
    }

    /// Returns the view of somebody who has seen everything.
    pub(super) fn view(&self, registry: &Registry) -> Arc<JobView> {
        self.views.get_or(registry.print, || registry.view(&self.layout, |_| false))
    }

    /// Lets the coordinator of a process do something.
    pub(super) fn seated<T>(
        &self,
        process: &Process,
        view: &JobView,
        act: impl FnOnce(&mut Seat) -> T,
    ) -> (Memory, T) {
        let identity = Identity {
            job: self.scope.config().job_name,
            server: server(process.index),
        };
        let sitter = Sitter {
            me: instance(process.index, process.life),
            session: session(process.index, process.life),
            identity,
        };
        SEAT.with_borrow_mut(|seat| {
            let seat = seat.get_or_insert_with(|| Seat::new(sitter.identity.clone()));
            seat.take(&sitter, view, &process.memory);
            let result = act(seat);
            (seat.leave(), result)
        })
    }

    /// Returns what a process makes of the registry as it is now.
    pub(super) fn outlook(&self, registry: &Registry, process: &Arc<Process>) -> Arc<Outlook> {
        let key = hash_of(&(registry.print, process.print()));
        self.outlooks.get_or(key, || match process.standing {
            Standing::Up => self.look(&self.view(registry), process),
            Standing::Zombie | Standing::Crashed | Standing::Dead | Standing::Left => {
                Outlook { process: Arc::clone(process), starts: Vec::new(), wishes: Vec::new() }
            }
        })
    }

    /// Returns what a process makes of a view.
    pub(super) fn look(&self, view: &JobView, process: &Arc<Process>) -> Outlook {
        let (memory, commands) = self.seated(process, view, Seat::observe);
        let mut observed = Process { memory, ..Process::clone(process) };
        let mut starts = Vec::new();
        for command in commands {
            match command {
                Command::Start(items) => starts.extend(items),
                Command::Left => observed.standing = Standing::Left,
                Command::Commit { .. }
                | Command::Interrupt(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested => {}
            }
        }
        let observed = Arc::new(observed.sealed());
        let (_, wanted) = self.seated(&observed, view, Seat::decide);
        let wishes = wanted.into_iter().map(|flight| {
            let print = print_of_flight(&flight);
            Wish { flight: Arc::new(flight), print }
        });
        Outlook { wishes: wishes.collect(), process: observed, starts }
    }
}
