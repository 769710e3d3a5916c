//! Delivery of events and replies to processes, and their effects outside of the registry.

use std::sync::Arc;

use coordination::internals::{Flight, SharedCoordinator, ViewQueries as _};
use coordination::{
    Command, Event, FencingToken, FireTime, JobEvent, OnceStage, Phase, Reply, RunSource, Slot,
    StartItem,
};
use promises::Breach;
use sharding::ShardingItem;

use super::fingerprint::fingerprint_of;
use super::registry::Registry;
use super::scope::fire_time;
use super::state::{Process, State};
use super::world::{Handled, World};

impl World {
    /// Delivers an event to a process, which records it without deciding.
    pub(super) fn deliver_event(&self, state: &State, p: usize, event: Event) -> State {
        let process = &state.processes[p];
        let key = fingerprint_of(&(
            state.registry.fingerprint,
            process.fingerprint,
            format!("{event:?}"),
        ));
        let handled = self.handled_events.get_or(key, || {
            let (memory, commands) =
                self.with_coordinator(process, &state.registry, |coordinator| {
                    let lost = event == Event::Lost;
                    let mut commands = coordinator.record(event);
                    // After the end of a session no change arrives, so that the last view is final.
                    if lost {
                        commands.extend(coordinator.observe());
                    }
                    commands
                });
            let process = Process { memory, ..Process::clone(process) };
            Handled { process: Arc::new(process.sealed()), commands }
        });
        self.apply_handled(state, p, &handled)
    }

    pub(super) fn apply_handled(&self, state: &State, p: usize, handled: &Handled) -> State {
        let mut next = state.clone();
        next.processes[p] = Arc::clone(&handled.process);
        self.execute_commands(&mut next, p, &handled.commands);
        next
    }

    /// Delivers the reply to a plan, which is no longer in flight afterwards.
    pub(super) fn deliver_reply(
        &self,
        state: &State,
        p: usize,
        flight: &Arc<Flight>,
        reply: Reply,
    ) -> State {
        let handled = self.handle_reply(&state.processes[p], &state.registry, flight, reply);
        self.apply_handled(state, p, &handled)
    }

    pub(super) fn handle_reply(
        &self,
        process: &Process,
        registry: &Registry,
        flight: &Arc<Flight>,
        reply: Reply,
    ) -> Handled {
        let duty = flight.plan.duty;
        let mut process = Process::clone(process);
        process.memory.flights.insert(duty, Arc::clone(flight));
        let me = self.id(process.index, process.incarnation);
        process.memory.local.claims.in_flight |= flight.plan.runs_of(me).next().is_some();
        let replied = |coordinator: &mut SharedCoordinator| coordinator.replied(duty, reply);
        let (memory, commands) = self.with_coordinator(&process, registry, replied);
        Handled { process: Arc::new(Process { memory, ..process }.sealed()), commands }
    }

    pub(super) fn execute_commands(&self, next: &mut State, p: usize, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Start(starts) => self.start_runs(next, p, starts),
                Command::CallOnce { stage, fire, token } => {
                    self.call_callback(next, *stage, *fire, *token)
                }
                Command::Emit(JobEvent::Missed { item, fire, .. }) => {
                    let me = self.id(p, next.processes[p].incarnation).clone();
                    let view = self.view(&next.registry);
                    let items: Vec<_> = match item {
                        Some(item) => vec![*item],
                        None => {
                            view.accounted_by(&me, view.items()).map(|(item, _)| item).collect()
                        }
                    };
                    for item in items {
                        let number = (0..self.scope.fires).filter(|f| fire_time(*f) == *fire);
                        number.for_each(|f| next.facts(item).missed |= 1 << f);
                    }
                }
                Command::Commit { .. }
                | Command::Follow(_)
                | Command::Read(_)
                | Command::Interrupt(_)
                | Command::Cancel(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested
                | Command::Left => {}
            }
        }
    }

    /// Calls a callback and checks S13: once for each token, and only at its stage of the fire.
    fn call_callback(
        &self,
        next: &mut State,
        stage: OnceStage,
        fire: FireTime,
        token: FencingToken,
    ) {
        let view = self.view(&next.registry);
        let total = view.config().map_or(0, |config| config.sharding_total_count);
        let stage_reached = (0..total).all(|index| {
            let item = ShardingItem::new(index);
            let ledger = |key| view.item(key).ledger.as_ref().map(|ledger| &ledger.value);
            let begun = ledger(item).is_some_and(|ledger| ledger.last_fire >= Some(fire));
            let runs = (0..self.scope.slots).any(|number| {
                let run = ledger(Slot { item, number }.key()).and_then(|ledger| ledger.run());
                run.is_some_and(|run| run.fire == fire)
            });
            begun && !(stage == OnceStage::Completed && runs)
        });
        let number = (0..self.scope.fires).find(|number| fire_time(*number) == fire);
        let number = number.map_or(u8::MAX, |number| number + 1);
        let in_turn = stage == OnceStage::Started || next.calls.started >= number;
        let bit = 1_u16 << token.0;
        let again = next.calls.tokens & bit != 0;
        next.calls.tokens |= bit;
        if again || !stage_reached || !in_turn {
            next.breach(Breach::Callbacks);
        }
    }

    /// Starts runs of a process and checks the properties of starts.
    fn start_runs(&self, next: &mut State, p: usize, starts: &[StartItem]) {
        for start in starts {
            let bit = 1_u16 << start.token.0;
            let facts = next.facts(start.item);
            let fires = 0..self.scope.fires;
            let scheduled = matches!(start.source, RunSource::Normal | RunSource::Misfire);
            let fire = fires.into_iter().find(|fire| scheduled && fire_time(*fire) == start.fire);
            let fire = fire.map_or(0, |fire| 1 << fire);
            if facts.begun & fire != 0 {
                next.breach(Breach::FireAgain);
            }
            next.facts(start.item).begun |= fire;
            let slot = Slot { item: start.item, number: start.slot };
            let facts = next.slot_facts(slot);
            let again = facts.started & bit != 0;
            facts.started |= bit;
            if again {
                next.breach(Breach::StartedTwice);
            }
            let view = self.view(&next.registry);
            let ledger = view.item(slot.key()).ledger.as_ref().map(|ledger| &ledger.value);
            let claim = ledger.filter(|ledger| ledger.token == start.token);
            if claim.is_some_and(|claim| claim.config != Some(start.config_version)) {
                next.breach(Breach::Configuration);
            }
            if next.processes[p].memory.local.phase == Phase::Left {
                next.breach(Breach::Leftover);
            }
        }
    }

    /// Writes the effect of a run to the resource, at its end, which is the last possible time.
    pub(super) fn write_effect(&self, next: &mut State, slot: Slot, token: FencingToken) {
        let holds = self
            .view(&next.registry)
            .item(slot.key())
            .ledger
            .as_ref()
            .is_some_and(|ledger| ledger.value.token == token && ledger.value.is_busy());
        let token = u8::try_from(token.0).expect("the scope has few runs");
        let facts = next.slot_facts(slot);
        let late = token < facts.accepted;
        let refused = late && self.scope.fence;
        facts.accepted = facts.accepted.max(token);
        if late && !refused {
            next.breach(Breach::Effects);
        }
        if refused && holds {
            next.breach(Breach::Refused);
        }
    }
}
