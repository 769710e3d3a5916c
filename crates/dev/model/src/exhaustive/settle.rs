//! The plans that stay in flight after an event.
//!
//! A plan in flight matters only once its process would no longer decide it. Until then, deciding
//! it later has the same effect. A state therefore stores no plan that its process wants anyway:
//! each wanted plan can be committed at once. If a duty abandons a plan because of an event, both
//! continuations are explored: the plan was already in flight, or it was not.
//!
//! This reduction loses no behaviour. Take any history in which a plan is decided in state `a` and
//! committed in state `b`. Let `j` be the last state between them in which its duty wants exactly
//! this plan. The history with the decision in `j` has the same effects, because a plan in flight
//! only keeps its duty busy. That history is explored: in `j` the plan is kept, or committed at
//! once if `j` is `b`.

use std::sync::Arc;

use coordination::internals::{Data, Flight, LayoutEncoding as _, Memory, StepOp, Triggered};
use coordination::{Duty, NodeKind, Reply};
use reg_center::{Expect, NodePath, Op, SessionId};

use super::fingerprint::fingerprint_of;
use super::label::{Draft, Move};
use super::registry::{Registry, STALE, Written};
use super::scope::{is_permanent, session};
use super::state::{Process, State, Status, fingerprint_of_flight};
use super::world::World;

/// A guard of a plan that, once it fails, fails for good.
#[derive(Debug)]
pub(super) struct Guard {
    path: NodePath,
    /// Holds while the node is not written.
    expects_version: bool,
    /// Holds while the node exists. An instance never registers twice under one id.
    expects_presence: bool,
    /// Holds until the node is created, after which it is permanent.
    expects_absence: bool,
}

impl World {
    /// Returns all continuations of a draft: one for each choice of plans that stay in flight.
    pub(super) fn settled(&self, before: &State, draft: Draft) -> Vec<Move> {
        let Draft { label, optional, mut next, written, used } = draft;
        let make =
            |kept: Vec<(usize, Duty)>, next| Move { label: label.clone(), optional, kept, next };
        if next.breach.is_some() {
            return vec![make(Vec::new(), next)];
        }
        for p in 0..next.processes.len() {
            self.mark_versions_stale(&mut next, p, &written);
        }
        let waiting = self.still_possible(before, &next, &written, used);
        let subsets = 0..1_usize << waiting.len();
        let moves = subsets.map(|subset| {
            let chosen = waiting.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0);
            let kept: Vec<_> = chosen.map(|(_, kept)| kept).collect();
            let labels = kept.iter().map(|(p, flight)| (*p, flight.plan.duty)).collect();
            make(labels, self.with_kept_plans(&next, &kept))
        });
        moves.collect()
    }

    /// Puts plans in flight, and lets every process observe the registry.
    fn with_kept_plans(&self, state: &State, kept: &[&(usize, Arc<Flight>)]) -> State {
        let mut next = state.clone();
        for (p, flight) in kept {
            let mut process = Process::clone(&next.processes[*p]);
            process.memory.flights.insert(flight.plan.duty, Arc::clone(flight));
            let me = self.id(*p, process.incarnation);
            process.memory.local.claims.in_flight |= flight.plan.runs_of(me).next().is_some();
            next.processes[*p] = Arc::new(process.sealed());
        }
        for process in &mut next.processes {
            let observation = self.observation(&next.registry, process);
            // Other processes cannot see an observation that starts nothing: it can happen at once.
            if observation.starts.is_empty() {
                *process = Arc::clone(&observation.process);
                mark_in_doubt_if_left(process);
            }
        }
        next
    }

    /// Returns the plans that were wanted before the event, are no longer, and can still be
    /// executed.
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
            let same_incarnation = is.status == Status::Up && was.incarnation == is.incarnation;
            if was.status != Status::Up || !same_incarnation {
                continue;
            }
            let unchanged = was.fingerprint() == is.fingerprint()
                && before.registry.fingerprint == next.registry.fingerprint;
            if unchanged {
                continue;
            }
            let observation = self.observation(&before.registry, was);
            if !observation.starts.is_empty() {
                continue;
            }
            let now = self.observation(&next.registry, is);
            for candidate in &observation.wanted_plans {
                let duty = candidate.flight.plan.duty;
                let wanted =
                    now.wanted_plans.iter().any(|other| other.fingerprint == candidate.fingerprint);
                let mut flight = Arc::clone(&candidate.flight);
                if used == Some((p, duty)) || wanted || is.memory.flights.contains_key(&duty) {
                    continue;
                }
                mark_flight_stale(&mut flight, written);
                if !self.cannot_commit(&flight, session(p, is.incarnation), &next.registry, written)
                {
                    found.push((p, flight));
                }
            }
        }
        found
    }

    /// Marks the versions of written nodes as stale in the memory of a process, and ends its plans
    /// that can never be executed any more.
    fn mark_versions_stale(&self, next: &mut State, p: usize, written: &Written) {
        let process = &next.processes[p];
        let Memory { local, flights, .. } = &process.memory;
        let holds_versions = !flights.is_empty()
            || !process.in_doubt.is_empty()
            || !local.claims.unstarted.is_empty()
            || local.requests.trigger_seen.is_some();
        if !matches!(process.status, Status::Up | Status::Left) || !holds_versions {
            return;
        }
        let mut updated = Process::clone(process);
        updated
            .memory
            .flights
            .values_mut()
            .chain(&mut updated.in_doubt)
            .for_each(|f| mark_flight_stale(f, written));
        let session = session(p, updated.incarnation);
        updated
            .in_doubt
            .retain(|flight| !self.cannot_commit(flight, session, &next.registry, written));
        let local = &mut updated.memory.local;
        for (item, unknown_claim) in &mut local.claims.unstarted {
            if written.ledgers.contains(item) {
                unknown_claim.before = STALE;
            }
            for config in unknown_claim.configs.iter_mut().filter(|_| written.config) {
                config.version = STALE;
            }
            unknown_claim.configs.dedup_by_key(|config| config.version);
        }
        if written.instances.contains(self.id(p, updated.incarnation)) {
            let stale = Triggered { version: STALE, number: u64::from(STALE.0) };
            local.requests.trigger_seen = local.requests.trigger_seen.map(|_| stale);
        }
        let failed: Vec<_> = updated
            .memory
            .flights
            .values()
            .filter(|flight| self.cannot_commit(flight, session, &next.registry, written))
            .cloned()
            .collect();
        next.processes[p] = Arc::new(updated.sealed());
        for flight in failed {
            let txn = self.layout.encode(&flight.plan, session);
            let conflict = next.registry.commit(&self.layout, session, &txn).err();
            let reply = conflict.map_or(Reply::NotExecuted, Reply::Conflict);
            *next = self.deliver_reply(next, p, &flight, reply);
        }
    }

    /// Returns true if the plan can never be executed any more: a version that it expects is stale,
    /// an instance is gone, or a node that it creates is permanent.
    fn cannot_commit(
        &self,
        flight: &Flight,
        session: SessionId,
        registry: &Registry,
        written: &Written,
    ) -> bool {
        let key = fingerprint_of(&(fingerprint_of_flight(flight), session));
        let guards = self.guards.get_or(key, || {
            let txn = self.layout.encode(&flight.plan, session);
            txn.ops().iter().filter_map(|op| self.guard_of(op)).collect()
        });
        guards.iter().any(|guard| {
            let Guard { path, expects_version, expects_presence, expects_absence } = guard;
            (*expects_version && written.contains(path))
                || (*expects_presence && registry.get(path).is_none())
                || (*expects_absence && registry.get(path).is_some())
        })
    }

    fn guard_of(&self, op: &Op) -> Option<Guard> {
        let kind = self.layout.parse(op.path());
        let guard = match op {
            Op::Put { path, expect, .. }
            | Op::Check { path, expect }
            | Op::Delete { path, expect } => Guard {
                path: path.clone(),
                expects_version: matches!(expect, Expect::Version(_)),
                expects_presence: matches!(kind, Some(NodeKind::Instance(_))),
                expects_absence: false,
            },
            Op::Create { path, .. } | Op::CheckAbsent { path } => Guard {
                path: path.clone(),
                expects_version: false,
                expects_presence: false,
                expects_absence: kind.is_some_and(|kind| is_permanent(&kind)),
            },
        };
        (guard.expects_version || guard.expects_presence || guard.expects_absence).then_some(guard)
    }
}

/// Puts the plans of a process that has left in doubt: it gets no reply, but they may be executed.
fn mark_in_doubt_if_left(process: &mut Arc<Process>) {
    if process.status == Status::Left && !process.memory.flights.is_empty() {
        let mut left = Process::clone(process);
        left.in_doubt.extend(std::mem::take(&mut left.memory.flights).into_values());
        left.memory.local.claims.in_flight = false;
        *process = Arc::new(left.sealed());
    }
}

/// Marks the request that a plan records as handled, and the configuration that it was decided by,
/// as stale after a put of them.
fn mark_flight_stale(flight: &mut Arc<Flight>, written: &Written) {
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
