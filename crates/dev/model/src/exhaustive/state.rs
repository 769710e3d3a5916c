//! The states of the exhaustive model.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use coordination::internals::{Flight, Memory};
use sharding::ShardingItem;

use super::print::{Print, print_of};
use super::registry::Registry;
use super::rule::Breach;
use super::world::Commit;

/// How a process and its session stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// It works, and its session lives.
    Up,
    /// It works, and does not know yet that its session is over.
    Zombie,
    /// It has died, and the registry does not know yet.
    Crashed,
    /// It has died, and its session is over.
    Dead,
    /// It has left in order; its session lives on for other jobs.
    Left,
}

impl Standing {
    pub(super) fn works(self) -> bool {
        matches!(self, Self::Up | Self::Zombie)
    }

    pub(super) fn has_session(self) -> bool {
        matches!(self, Self::Up | Self::Crashed | Self::Left)
    }
}

/// A process: what its coordinator remembers, and what it has under way.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) index: usize,
    /// The number of its current life, from 1.
    pub(super) life: u8,
    pub(super) standing: Standing,
    pub(super) memory: Memory,
    /// Plans whose reply is lost and that may still be executed.
    pub(super) adrift: Vec<Arc<Flight>>,
    /// How many fires have come here.
    pub(super) fires: u8,
    pub(super) print: Print,
}

impl Process {
    pub(super) fn new(index: usize) -> Self {
        let standing = Standing::Up;
        let mut memory = Memory::default();
        memory.local.lease = true;
        Self { index, life: 1, standing, memory, adrift: Vec::new(), fires: 0, print: 0 }.sealed()
    }

    /// Takes the fingerprint, after a change.
    pub(super) fn sealed(mut self) -> Self {
        let Self { index, life, standing, memory, adrift, fires, print: _ } = &self;
        let Memory { local, flights, leave_requested } = memory;
        let flights: Vec<_> = flights.values().chain(adrift).map(|f| print_of_flight(f)).collect();
        let key = (index, life, standing, local, leave_requested, adrift.len(), flights, fires);
        self.print = print_of(&key);
        self
    }

    pub(super) fn print(&self) -> Print {
        self.print
    }
}

/// Returns what distinguishes a plan: what it does, not why.
pub(super) fn print_of_flight(flight: &Flight) -> Print {
    let version = flight.config.as_ref().map(|config| config.version);
    print_of(&(flight.plan.duty, &flight.plan.steps, version))
}

/// How much of what may go wrong has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spent {
    pub(super) crashes: u8,
    pub(super) expiries: u8,
    pub(super) lost_replies: u8,
    pub(super) acts: u8,
}

/// What became of an item outside of the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ItemFacts {
    /// The tokens under which its code was started, one bit each.
    pub(super) started: u16,
    /// The greatest token that the resource has accepted.
    pub(super) accepted: u8,
    /// The fires for which it was started for the first time, one bit each.
    pub(super) begun: u8,
    /// The fires that were reported as missed, one bit each.
    pub(super) missed: u8,
}

/// What became of the callbacks that happen once per cluster and fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Calls {
    /// The tokens under which something was called, one bit each.
    pub(super) tokens: u16,
    /// The last fire for which the first callback has returned, counted from 1.
    pub(super) started: u8,
}

/// A state of the whole system.
#[derive(Clone)]
pub(super) struct State {
    pub(super) registry: Arc<Registry>,
    pub(super) processes: Vec<Arc<Process>>,
    pub(super) items: Vec<ItemFacts>,
    pub(super) calls: Calls,
    pub(super) spent: Spent,
    /// The rule that was broken on the way here. Nothing follows.
    pub(super) breach: Option<Breach>,
}

impl State {
    pub(super) fn facts(&mut self, item: ShardingItem) -> &mut ItemFacts {
        let index = usize::try_from(item.index()).expect("there are few items");
        &mut self.items[index]
    }

    /// The registry changes.
    pub(super) fn take(&mut self, commit: &Commit) {
        self.registry = Arc::clone(&commit.registry);
        self.breach = self.breach.or(commit.breach);
    }

    pub(super) fn breach(&mut self, breach: Breach) {
        self.breach.get_or_insert(breach);
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { registry, processes, items, calls, spent, breach } = self;
        hasher.write_u64(registry.print);
        processes.iter().for_each(|process| hasher.write_u64(process.print));
        (items, calls, spent, breach).hash(hasher);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.registry.print == other.registry.print
            && self.processes.iter().zip(&other.processes).all(|(a, b)| a.print == b.print)
            && (&self.items, self.calls) == (&other.items, other.calls)
            && (self.spent, self.breach) == (other.spent, other.breach)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(breach) = self.breach {
            writeln!(f, "BROKEN: {breach:?}")?;
        }
        for (path, entry) in self.registry.nodes() {
            let owner = entry.owner.map_or(String::new(), |session| format!(" ({session:?})"));
            writeln!(f, "  {path} = {}{owner}", String::from_utf8_lossy(&entry.data))?;
        }
        for process in &self.processes {
            let Process { index, life, standing, memory, adrift, fires, .. } = &**process;
            let flights: Vec<_> = memory.flights.keys().collect();
            writeln!(
                f,
                "  process {index} life {life} {standing:?} fires {fires} runs {:?} due {:?} phase {:?} under way {flights:?} adrift {}",
                memory.local.runs,
                memory.local.due,
                memory.local.phase,
                adrift.len()
            )?;
        }
        write!(f, "  {:?} {:?}", self.items, self.spent)
    }
}
