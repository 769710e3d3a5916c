//! The states of the exhaustive model.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use coordination::Slot;
use coordination::internals::{Flight, Memory};
use promises::Breach;
use sharding::ShardingItem;

use super::fingerprint::{Fingerprint, fingerprint_of};
use super::registry::Registry;
use super::world::Commit;

/// Status of a process and its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Status {
    /// The process works and its session is alive.
    Up,
    /// The process works, but its session has expired without its knowledge.
    Zombie,
    /// The process has died, but its session is still alive.
    Crashed,
    /// The process has died and its session has ended.
    Dead,
    /// The process has left the job. Its session stays alive for other jobs.
    Left,
}

impl Status {
    pub(super) fn works(self) -> bool {
        matches!(self, Self::Up | Self::Zombie)
    }

    pub(super) fn has_session(self) -> bool {
        matches!(self, Self::Up | Self::Crashed | Self::Left)
    }
}

/// A process: the memory of its coordinator and the plans that it has sent.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) index: usize,
    /// Number of its current incarnation, from 1.
    pub(super) incarnation: u8,
    pub(super) status: Status,
    pub(super) memory: Memory,
    /// Plans whose reply was lost and that the registry may still execute.
    pub(super) in_doubt: Vec<Arc<Flight>>,
    /// Number of fires that the process has got.
    pub(super) fires: u8,
    pub(super) fingerprint: Fingerprint,
}

impl Process {
    pub(super) fn new(index: usize) -> Self {
        let status = Status::Up;
        let mut memory = Memory::default();
        memory.local.session.lease = true;
        Self {
            index,
            incarnation: 1,
            status,
            memory,
            in_doubt: Vec::new(),
            fires: 0,
            fingerprint: 0,
        }
        .sealed()
    }

    /// Computes the fingerprint, after a change.
    pub(super) fn sealed(mut self) -> Self {
        let Self { index, incarnation, status, memory, in_doubt, fires, fingerprint: _ } = &self;
        let Memory { local, flights, leave_requested } = memory;
        let flights: Vec<_> =
            flights.values().chain(in_doubt).map(|f| fingerprint_of_flight(f)).collect();
        let key =
            (index, incarnation, status, local, leave_requested, in_doubt.len(), flights, fires);
        self.fingerprint = fingerprint_of(&key);
        self
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// Returns the fingerprint of a plan: its duty, its steps and its configuration, not its reason.
pub(super) fn fingerprint_of_flight(flight: &Flight) -> Fingerprint {
    let version = flight.config.as_ref().map(|config| config.version);
    fingerprint_of(&(flight.plan.duty, &flight.plan.steps, version))
}

/// Number of faults and operator actions so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spent {
    pub(super) crashes: u8,
    pub(super) expiries: u8,
    pub(super) lost_replies: u8,
    pub(super) operator_actions: u8,
}

/// Effects of the runs of a slot outside of the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SlotFacts {
    /// Bit set of the tokens under which its code was started.
    pub(super) started: u16,
    /// Greatest token that the resource has accepted.
    pub(super) accepted: u8,
}

/// Fires of an item outside of the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ItemFacts {
    /// Bit set of the fires for which its code was started, takeovers excluded.
    pub(super) begun: u8,
    /// Bit set of the fires that were reported as missed.
    pub(super) missed: u8,
}

/// Calls of the once-per-cluster callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Calls {
    /// Bit set of the tokens under which a callback was called.
    pub(super) tokens: u16,
    /// Number of the last fire, from 1, for which the callback for the start has returned.
    pub(super) started: u8,
}

/// A state of the whole system.
#[derive(Clone)]
pub(super) struct State {
    pub(super) registry: Arc<Registry>,
    pub(super) processes: Vec<Arc<Process>>,
    pub(super) items: Vec<ItemFacts>,
    /// The first slot of each item, then the next one of each.
    pub(super) slots: Vec<SlotFacts>,
    pub(super) calls: Calls,
    pub(super) spent: Spent,
    /// The property that the last event violated. Such a state has no successors.
    pub(super) breach: Option<Breach>,
}

impl State {
    pub(super) fn facts(&mut self, item: ShardingItem) -> &mut ItemFacts {
        let index = usize::try_from(item.index()).expect("the scope has few items");
        &mut self.items[index]
    }

    pub(super) fn slot_facts(&mut self, slot: Slot) -> &mut SlotFacts {
        let place = |number| usize::try_from(number).expect("the scope has few slots");
        &mut self.slots[place(slot.number) * self.items.len() + place(slot.item.index())]
    }

    /// Applies a commit to the registry.
    pub(super) fn apply(&mut self, commit: &Commit) {
        self.registry = Arc::clone(&commit.registry);
        self.breach = self.breach.or(commit.breach);
    }

    pub(super) fn breach(&mut self, breach: Breach) {
        self.breach.get_or_insert(breach);
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Self { registry, processes, items, slots, calls, spent, breach } = self;
        hasher.write_u64(registry.fingerprint);
        processes.iter().for_each(|process| hasher.write_u64(process.fingerprint));
        (items, slots, calls, spent, breach).hash(hasher);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.registry.fingerprint == other.registry.fingerprint
            && self
                .processes
                .iter()
                .zip(&other.processes)
                .all(|(a, b)| a.fingerprint == b.fingerprint)
            && (&self.items, &self.slots, self.calls) == (&other.items, &other.slots, other.calls)
            && (self.spent, self.breach) == (other.spent, other.breach)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(breach) = self.breach {
            writeln!(f, "VIOLATED: {breach:?}")?;
        }
        for (path, entry) in self.registry.nodes() {
            let owner = entry.owner.map_or(String::new(), |session| format!(" ({session:?})"));
            writeln!(f, "  {path} = {}{owner}", String::from_utf8_lossy(&entry.data))?;
        }
        for process in &self.processes {
            let Process { index, incarnation, status, memory, in_doubt, fires, .. } = &**process;
            let flights: Vec<_> = memory.flights.keys().collect();
            writeln!(
                f,
                "  process {index} incarnation {incarnation} {status:?} fires {fires} runs {:?} due {:?} phase {:?} in flight {flights:?} in doubt {}",
                memory.local.runs,
                memory.local.fires.due,
                memory.local.phase,
                in_doubt.len()
            )?;
        }
        write!(f, "  {:?} {:?} {:?}", self.items, self.slots, self.spent)
    }
}
