//! What is under way after something has happened.
//!
//! A plan that waits between its decision and its commit matters only from the moment on at which its process would
//! not decide it any more: until then, deciding it later comes to the same. So a state holds no plan that its process
//! wants anyway; whatever a duty wants can be committed at once. When something happens after which a duty no longer
//! wants what it wanted before, both continuations are explored: the old plan was under way already, or it was not.
//!
//! Nothing is lost by that. Take any history in which a plan is decided in state `a` and committed in state `b`, and
//! the last state `j` between them in which its duty wants exactly that plan. The history with the plan decided in `j`
//! has the same effects, because a plan under way does nothing but keep its duty busy, and this one is explored: at
//! `j` the plan is kept, or committed at once if `j` is `b`.

use std::sync::Arc;

use coordination::internals::{Data, Flight, LayoutEncoding as _, Memory, StepOp, Triggered};
use coordination::{Duty, NodeKind, Reply};
use reg_center::{Expect, NodePath, Op, SessionId};

use super::label::{Draft, Move};
use super::print::print_of;
use super::registry::{Registry, STALE, Written};
use super::scope::{is_permanent, session};
use super::state::{Process, Standing, State, print_of_flight};
use super::world::World;

/// What a plan expects of a node and, once it is disappointed, will be for good.
#[derive(Debug)]
pub(super) struct Guard {
    path: NodePath,
    /// It has not been written since.
    as_it_was: bool,
    /// It is there: a life is not over.
    there: bool,
    /// It has not been created: it will stay.
    not_yet: bool,
}

impl World {
    /// Returns all continuations of a draft.
    pub(super) fn settled(&self, before: &State, draft: Draft) -> Vec<Move> {
        let Draft { label, optional, mut next, written, used } = draft;
        let make =
            |kept: Vec<(usize, Duty)>, next| Move { label: label.clone(), optional, kept, next };
        if next.breach.is_some() {
            return vec![make(Vec::new(), next)];
        }
        for p in 0..next.processes.len() {
            self.age(&mut next, p, &written);
        }
        let waiting = self.still_possible(before, &next, &written, used);
        let subsets = 0..1_usize << waiting.len();
        let moves = subsets.map(|subset| {
            let chosen = waiting.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            let kept: Vec<_> = chosen.map(|(_, kept)| kept).collect();
            let labels = kept.iter().map(|(p, flight)| (*p, flight.plan.duty)).collect();
            make(labels, self.with(&next, &kept))
        });
        moves.collect()
    }

    /// Adds plans that are under way, and lets everybody look at the registry.
    fn with(&self, state: &State, kept: &[&(usize, Arc<Flight>)]) -> State {
        let mut next = state.clone();
        for (p, flight) in kept {
            let mut process = Process::clone(&next.processes[*p]);
            process.memory.flights.insert(flight.plan.duty, Arc::clone(flight));
            let me = self.id(*p, process.life);
            process.memory.local.is_claiming |= flight.plan.runs_of(me).next().is_some();
            next.processes[*p] = Arc::new(process.sealed());
        }
        for process in &mut next.processes {
            let outlook = self.outlook(&next.registry, process);
            // A look that starts nothing changes nothing that anybody else can see: it may as well come at once.
            if outlook.starts.is_empty() {
                *process = Arc::clone(&outlook.process);
                set_adrift_if_left(process);
            }
        }
        next
    }

    /// Returns the plans that were wanted before, are not wanted any more, and could still be executed.
    fn still_possible(
        &self,
        before: &State,
        next: &State,
        written: &Written,
        used: Option<(usize, Duty)>,
    ) -> Vec<(usize, Arc<Flight>)> {
        let mut found = Vec::new();
        for (was, is) in before.processes.iter().zip(&next.processes) {
            let p = was.index;
            let same_life = is.standing == Standing::Up && was.life == is.life;
            if was.standing != Standing::Up || !same_life {
                continue;
            }
            let unchanged =
                was.print() == is.print() && before.registry.print == next.registry.print;
            if unchanged {
                continue;
            }
            let outlook = self.outlook(&before.registry, was);
            if !outlook.starts.is_empty() {
                continue;
            }
            let now = self.outlook(&next.registry, is);
            for wish in &outlook.wishes {
                let duty = wish.flight.plan.duty;
                let wanted = now.wishes.iter().any(|other| other.print == wish.print);
                let mut flight = Arc::clone(&wish.flight);
                if used == Some((p, duty)) || wanted || is.memory.flights.contains_key(&duty) {
                    continue;
                }
                age_flight(&mut flight, written);
                if !self.is_doomed(&flight, session(p, is.life), &next.registry, written) {
                    found.push((p, flight));
                }
            }
        }
        found
    }

    /// Ends what can never be executed any more, and marks what a process remembers of nodes that were written.
    fn age(&self, next: &mut State, p: usize, written: &Written) {
        let process = &next.processes[p];
        let Memory { local, flights, .. } = &process.memory;
        let holds_versions = !flights.is_empty()
            || !process.adrift.is_empty()
            || !local.maybe_claimed.is_empty()
            || local.trigger_seen.is_some();
        if !matches!(process.standing, Standing::Up | Standing::Left) || !holds_versions {
            return;
        }
        let mut aged = Process::clone(process);
        aged.memory
            .flights
            .values_mut()
            .chain(&mut aged.adrift)
            .for_each(|f| age_flight(f, written));
        let session = session(p, aged.life);
        aged.adrift.retain(|flight| !self.is_doomed(flight, session, &next.registry, written));
        let local = &mut aged.memory.local;
        for (item, doubt) in &mut local.maybe_claimed {
            if written.ledgers.contains(item) {
                doubt.before = STALE;
            }
            for config in doubt.configs.iter_mut().filter(|_| written.config) {
                config.version = STALE;
            }
            doubt.configs.dedup_by_key(|config| config.version);
        }
        if written.instances.contains(self.id(p, aged.life)) {
            let stale = Triggered { version: STALE, number: u64::from(STALE.0) };
            local.trigger_seen = local.trigger_seen.map(|_| stale);
        }
        let doomed: Vec<_> = aged
            .memory
            .flights
            .values()
            .filter(|flight| self.is_doomed(flight, session, &next.registry, written))
            .cloned()
            .collect();
        next.processes[p] = Arc::new(aged.sealed());
        for flight in doomed {
            let txn = self.layout.encode(&flight.plan, session);
            let conflict = next.registry.commit(&self.layout, session, &txn).err();
            let reply = conflict.map_or(Reply::NotExecuted, Reply::Conflict);
            *next = self.replied(next, p, &flight, reply);
        }
    }

    /// Returns true if the plan can never be executed any more: a version that it expects was written over, a life is
    /// over, or what it creates is there for good.
    fn is_doomed(
        &self,
        flight: &Flight,
        session: SessionId,
        registry: &Registry,
        written: &Written,
    ) -> bool {
        let key = print_of(&(print_of_flight(flight), session));
        let guards = self.guards.get_or(key, || {
            let txn = self.layout.encode(&flight.plan, session);
            txn.ops().iter().filter_map(|op| self.guard_of(op)).collect()
        });
        guards.iter().any(|guard| {
            let Guard { path, as_it_was, there, not_yet } = guard;
            (*as_it_was && written.contains(path))
                || (*there && registry.get(path).is_none())
                || (*not_yet && registry.get(path).is_some())
        })
    }

    fn guard_of(&self, op: &Op) -> Option<Guard> {
        let kind = self.layout.parse(op.path());
        let guard = match op {
            Op::Put { path, expect, .. }
            | Op::Check { path, expect }
            | Op::Delete { path, expect } => Guard {
                path: path.clone(),
                as_it_was: matches!(expect, Expect::Version(_)),
                there: matches!(kind, Some(NodeKind::Instance(_))),
                not_yet: false,
            },
            Op::Create { path, .. } | Op::CheckAbsent { path } => Guard {
                path: path.clone(),
                as_it_was: false,
                there: false,
                not_yet: kind.is_some_and(|kind| is_permanent(&kind)),
            },
        };
        (guard.as_it_was || guard.there || guard.not_yet).then_some(guard)
    }
}

/// Whoever has left hears no reply any more, but what it has sent may still be executed.
fn set_adrift_if_left(process: &mut Arc<Process>) {
    if process.standing == Standing::Left && !process.memory.flights.is_empty() {
        let mut left = Process::clone(process);
        left.adrift.extend(std::mem::take(&mut left.memory.flights).into_values());
        left.memory.local.is_claiming = false;
        *process = Arc::new(left.sealed());
    }
}

/// What a plan on its way would record as handled is no longer the last request, and the configuration that it was
/// decided under no longer the last one.
fn age_flight(flight: &mut Arc<Flight>, written: &Written) {
    if !written.request && !written.config {
        return;
    }
    let flight = Arc::make_mut(flight);
    if let Some(config) = flight.config.as_mut().filter(|_| written.config) {
        config.version = STALE;
    }
    for step in &mut flight.plan.steps {
        let (StepOp::Create(_, data) | StepOp::Put(_, data)) = &mut step.op else { continue };
        match data {
            Data::Assignment(record) if written.request => record.handled = STALE.0,
            Data::Ledger(ledger) if written.config => {
                ledger.config = ledger.config.map(|_| STALE);
            }
            _ => {}
        }
    }
}
