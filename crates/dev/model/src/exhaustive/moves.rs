//! Everything that can happen in a state.

use std::sync::Arc;

use coordination::internals::ViewQueries as _;
use coordination::{Duty, Event, OnceStage, Outcome, Phase};

use super::acts;
use super::label::{Draft, Label, Move};
use super::scope::fire_time;
use super::state::{Process, Standing, State, print_of_flight};
use super::world::World;

impl World {
    /// Returns everything that can happen; if nothing has to, whether that is as it should be.
    pub(super) fn moves(&self, state: &State) -> Vec<Move> {
        if state.breach.is_some() {
            return Vec::new();
        }
        let mut drafts = Vec::new();
        for process in &state.processes {
            self.moves_of(state, process, &mut drafts);
        }
        acts::drafts(self, state, &mut drafts);
        let moves = drafts.into_iter().flat_map(|draft| self.settled(state, draft));
        let mut moves: Vec<Move> = moves.filter(|m| m.next != *state).collect();
        if moves.iter().all(|m| m.optional)
            && let Some(breach) = super::quiet::breach(self, state)
        {
            let next = State { breach: Some(breach), ..state.clone() };
            moves.push(Move { label: Label::Rest, optional: false, kept: Vec::new(), next });
        }
        moves
    }

    fn moves_of(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        match process.standing {
            Standing::Up => {
                let outlook = self.outlook(&state.registry, process);
                if outlook.starts.is_empty() {
                    for wish in &outlook.wishes {
                        self.attempts(state, process, &wish.flight, wish.print, false, drafts);
                    }
                } else {
                    let mut next = state.clone();
                    next.processes[p] = Arc::clone(&outlook.process);
                    self.obey(&mut next, p, &outlook.starts);
                    drafts.push(Draft::new(Label::Observe(p), next));
                }
                for flight in process.memory.flights.values() {
                    let print = print_of_flight(flight);
                    self.attempts(state, process, flight, print, true, drafts);
                }
                for wish in self.torn_sweeps(&state.registry, process).iter() {
                    if !process.memory.flights.contains_key(&Duty::Sweep) {
                        self.attempts(state, process, &wish.flight, wish.print, true, drafts);
                    }
                }
                self.strays(state, process, drafts);
                if process.memory.leave_requested && process.memory.local.phase == Phase::Active {
                    drafts.push(Draft::new(Label::Drain(p), self.told(state, p, Event::Drain)));
                }
                self.callbacks(state, process, drafts);
                self.faults(state, process, drafts);
            }
            Standing::Zombie => {
                drafts.push(self.reconnection(state, process));
                self.crash(state, process, Standing::Dead, drafts);
            }
            Standing::Crashed => drafts.push(self.expiry(state, process, Standing::Dead)),
            Standing::Left => self.strays(state, process, drafts),
            Standing::Dead => {}
        }
        if process.standing.works() {
            self.work(state, process, drafts);
        }
    }

    fn strays(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        for (index, flight) in process.adrift.iter().enumerate() {
            self.landings(state, process, index, flight, drafts);
        }
    }

    /// Fires come and code ends, whatever the session does.
    fn work(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        if process.fires < self.scope.fires {
            let at = fire_time(process.fires);
            // Gaps change no decision, and would only multiply the states.
            let fire = Event::Fire { at, next: None, missed: Vec::new() };
            let mut next = self.told(state, p, fire);
            let fired = Process { fires: process.fires + 1, ..Process::clone(&next.processes[p]) };
            next.processes[p] = Arc::new(fired.sealed());
            drafts.push(Draft::new(Label::Fire { process: p, fire: process.fires }, next));
        }
        let me = self.id(p, process.life);
        for (item, run) in process.memory.local.runs.iter().filter(|(_, run)| run.outcome.is_none())
        {
            let cancelled = process.standing == Standing::Zombie
                || run.holder != *me
                || process.memory.local.phase == Phase::Draining;
            let outcomes =
                [Outcome::Succeeded].into_iter().chain(cancelled.then_some(Outcome::Interrupted));
            for outcome in outcomes {
                let token = run.token;
                let mut next =
                    self.told(state, p, Event::ItemFinished { item, token, outcome, reason: None });
                if outcome == Outcome::Succeeded {
                    self.effect(&mut next, item, token);
                }
                drafts.push(Draft::new(Label::Finish { process: p, item, outcome }, next));
            }
        }
    }

    /// A callback returns.
    fn callbacks(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        let local = &process.memory.local;
        for (stage, call) in local.calls.iter().filter(|(_, call)| !call.done) {
            let returned = Event::OnceReturned { stage: *stage, token: call.token };
            let mut next = self.told(state, p, returned);
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
