//! The events that are possible in a state.

use std::sync::Arc;

use coordination::internals::ViewQueries as _;
use coordination::{Duty, Event, OnceStage, Outcome, Phase, Slot};

use super::label::{Draft, Label, Move};
use super::operator;
use super::scope::fire_time;
use super::state::{Process, State, Status, fingerprint_of_flight};
use super::world::World;

impl World {
    /// Returns all possible moves. If all of them are optional, the state is quiescent, and a
    /// violation of the properties of quiescent states is one more move.
    pub(super) fn moves(&self, state: &State) -> Vec<Move> {
        if state.breach.is_some() {
            return Vec::new();
        }
        let mut drafts = Vec::new();
        for process in &state.processes {
            self.moves_of(state, process, &mut drafts);
        }
        operator::drafts(self, state, &mut drafts);
        let moves = drafts.into_iter().flat_map(|draft| self.settled(state, draft));
        let mut moves: Vec<Move> = moves.filter(|m| m.next != *state).collect();
        if moves.iter().all(|m| m.optional)
            && let Some(breach) = super::quiescence::breach(self, state)
        {
            let next = State { breach: Some(breach), ..state.clone() };
            moves.push(Move { label: Label::Rest, optional: false, kept: Vec::new(), next });
        }
        moves
    }

    fn moves_of(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        match process.status {
            Status::Up => {
                let observation = self.observation(&state.registry, process);
                if observation.starts.is_empty() {
                    for candidate in &observation.wanted_plans {
                        self.attempts(
                            state,
                            process,
                            &candidate.flight,
                            candidate.fingerprint,
                            false,
                            drafts,
                        );
                    }
                } else {
                    let mut next = state.clone();
                    next.processes[p] = Arc::clone(&observation.process);
                    self.execute_commands(&mut next, p, &observation.starts);
                    drafts.push(Draft::new(Label::Observe(p), next));
                }
                for flight in process.memory.flights.values() {
                    let fingerprint = fingerprint_of_flight(flight);
                    self.attempts(state, process, flight, fingerprint, true, drafts);
                }
                for candidate in self.torn_sweeps(&state.registry, process).iter() {
                    if !process.memory.flights.contains_key(&Duty::Sweep) {
                        self.attempts(
                            state,
                            process,
                            &candidate.flight,
                            candidate.fingerprint,
                            true,
                            drafts,
                        );
                    }
                }
                self.late_commits(state, process, drafts);
                if process.memory.leave_requested && process.memory.local.phase == Phase::Active {
                    drafts.push(Draft::new(
                        Label::Drain(p),
                        self.deliver_event(state, p, Event::Drain),
                    ));
                }
                self.callbacks(state, process, drafts);
                self.faults(state, process, drafts);
            }
            Status::Zombie => {
                drafts.push(self.reconnection(state, process));
                self.crash(state, process, Status::Dead, drafts);
            }
            Status::Crashed => drafts.push(self.expiry(state, process, Status::Dead)),
            Status::Left => self.late_commits(state, process, drafts),
            Status::Dead => {}
        }
        if process.status.works() {
            self.fires_and_run_ends(state, process, drafts);
        }
    }

    fn late_commits(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        for (index, flight) in process.in_doubt.iter().enumerate() {
            self.late_commit(state, process, index, flight, drafts);
        }
    }

    /// Adds fires and ends of runs, which do not depend on the session.
    fn fires_and_run_ends(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        if process.fires < self.scope.fires {
            let at = fire_time(process.fires);
            // Gaps influence no decision and would multiply the states.
            let fire = Event::Fire { at, next: None, missed: Vec::new() };
            let mut next = self.deliver_event(state, p, fire);
            let fired = Process { fires: process.fires + 1, ..Process::clone(&next.processes[p]) };
            next.processes[p] = Arc::new(fired.sealed());
            drafts.push(Draft::new(Label::Fire { process: p, fire: process.fires }, next));
        }
        let me = self.id(p, process.incarnation);
        for (key, run) in process.memory.local.runs.iter().filter(|(_, run)| run.outcome.is_none())
        {
            let interrupted = process.status == Status::Zombie
                || run.holder != *me
                || process.memory.local.phase == Phase::Draining;
            let outcomes = [Outcome::Succeeded]
                .into_iter()
                .chain(interrupted.then_some(Outcome::Interrupted))
                .chain(run.cancelling.then_some(Outcome::Cancelled));
            for outcome in outcomes {
                let (token, slot) = (run.public_token(), Slot::of(key));
                let mut next = self.deliver_event(
                    state,
                    p,
                    Event::ItemFinished {
                        item: slot.item,
                        slot: slot.number,
                        token,
                        outcome,
                        reason: None,
                    },
                );
                if outcome == Outcome::Succeeded {
                    self.write_effect(&mut next, slot, token);
                }
                drafts.push(Draft::new(Label::Finish { process: p, slot, outcome }, next));
            }
        }
    }

    /// Adds returns of callbacks.
    fn callbacks(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        let local = &process.memory.local;
        for (stage, call) in local.calls.iter().filter(|(_, call)| !call.done) {
            let returned = Event::OnceReturned { stage: *stage, token: call.token };
            let mut next = self.deliver_event(state, p, returned);
            if *stage == OnceStage::Started {
                let fire = self
                    .view(&state.registry)
                    .once()
                    .and_then(|once| once.value.call(*stage).map(|call| call.fire));
                let number = (0..self.scope.fires).find(|number| Some(fire_time(*number)) == fire);
                next.calls.started = next.calls.started.max(number.map_or(0, |number| number + 1));
            }
            drafts.push(Draft::new(Label::Return { process: p, stage: *stage }, next));
        }
    }
}
