//! What processes are told, and what they do outside of the registry.

use std::sync::Arc;

use coordination::internals::{Flight, Seat, ViewQueries as _};
use coordination::{
    Command, Event, FencingToken, FireTime, JobEvent, OnceStage, Phase, Reply, RunSource, StartItem,
};
use sharding::ShardingItem;

use super::print::print_of;
use super::registry::Registry;
use super::rule::Breach;
use super::scope::fire_time;
use super::state::{Process, State};
use super::world::{Told, World};

impl World {
    /// Tells a process of an event; it records the event and decides nothing yet.
    pub(super) fn told(&self, state: &State, p: usize, event: Event) -> State {
        let process = &state.processes[p];
        let key = print_of(&(state.registry.print, process.print, format!("{event:?}")));
        let told = self.tellings.get_or(key, || {
            let (memory, commands) = self.seated(process, &state.registry, |seat| {
                let lost = event == Event::Lost;
                let mut commands = seat.record(event);
                // Whoever has lost its session looks at what it saw last; nothing else comes any more.
                if lost {
                    commands.extend(seat.observe());
                }
                commands
            });
            let process = Process { memory, ..Process::clone(process) };
            Told { process: Arc::new(process.sealed()), commands }
        });
        self.after_telling(state, p, &told)
    }

    pub(super) fn after_telling(&self, state: &State, p: usize, told: &Told) -> State {
        let mut next = state.clone();
        next.processes[p] = Arc::clone(&told.process);
        self.obey(&mut next, p, &told.commands);
        next
    }

    /// Tells a process what became of its plan, which is no longer under way.
    pub(super) fn replied(
        &self,
        state: &State,
        p: usize,
        flight: &Arc<Flight>,
        reply: Reply,
    ) -> State {
        let told = self.reply_to(&state.processes[p], &state.registry, flight, reply);
        self.after_telling(state, p, &told)
    }

    pub(super) fn reply_to(
        &self,
        process: &Process,
        registry: &Registry,
        flight: &Arc<Flight>,
        reply: Reply,
    ) -> Told {
        let duty = flight.plan.duty;
        let mut process = Process::clone(process);
        process.memory.flights.insert(duty, Arc::clone(flight));
        let me = self.id(process.index, process.life);
        process.memory.local.is_claiming |= flight.plan.runs_of(me).next().is_some();
        let replied = |seat: &mut Seat| seat.replied(duty, reply);
        let (memory, commands) = self.seated(&process, registry, replied);
        Told { process: Arc::new(Process { memory, ..process }.sealed()), commands }
    }

    pub(super) fn obey(&self, next: &mut State, p: usize, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Start(starts) => self.begin(next, p, starts),
                Command::CallOnce { stage, fire, token } => self.call(next, *stage, *fire, *token),
                Command::Emit(JobEvent::Missed { item, fire, .. }) => {
                    let me = self.id(p, next.processes[p].life).clone();
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
                | Command::Interrupt(_)
                | Command::Schedule(_)
                | Command::Emit(_)
                | Command::LeaveRequested
                | Command::Left => {}
            }
        }
    }

    /// A callback is called: once under each token, and when every item has got so far.
    fn call(&self, next: &mut State, stage: OnceStage, fire: FireTime, token: FencingToken) {
        let view = self.view(&next.registry);
        let total = view.config().map_or(0, |config| config.sharding_total_count);
        let got_so_far = (0..total).all(|index| {
            let ledger = view.item(ShardingItem::new(index)).ledger.as_ref().map(|l| &l.value);
            ledger.is_some_and(|ledger| {
                let begun = ledger.last_fire >= Some(fire);
                let runs = ledger.run().is_some_and(|run| run.fire == fire);
                begun && !(stage == OnceStage::Completed && runs)
            })
        });
        let number = (0..self.scope.fires).find(|number| fire_time(*number) == fire);
        let number = number.map_or(u8::MAX, |number| number + 1);
        let in_turn = stage == OnceStage::Started || next.calls.started >= number;
        let bit = 1_u16 << token.0;
        let again = next.calls.tokens & bit != 0;
        next.calls.tokens |= bit;
        if again || !got_so_far || !in_turn {
            next.breach(Breach::Callbacks);
        }
    }

    /// A process starts runs.
    fn begin(&self, next: &mut State, p: usize, starts: &[StartItem]) {
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
            let facts = next.facts(start.item);
            facts.begun |= fire;
            let again = facts.started & bit != 0;
            facts.started |= bit;
            if again {
                next.breach(Breach::StartedTwice);
            }
            let view = self.view(&next.registry);
            let ledger = view.item(start.item).ledger.as_ref().map(|ledger| &ledger.value);
            let claim = ledger.filter(|ledger| ledger.token == start.token);
            if claim.is_some_and(|claim| claim.config != Some(start.config_version)) {
                next.breach(Breach::Configuration);
            }
            if next.processes[p].memory.local.phase == Phase::Left {
                next.breach(Breach::Leftover);
            }
        }
    }

    /// A run writes to the resource, at the last moment at which it can: as it ends.
    pub(super) fn effect(&self, next: &mut State, item: ShardingItem, token: FencingToken) {
        let holds = self
            .view(&next.registry)
            .item(item)
            .ledger
            .as_ref()
            .is_some_and(|ledger| ledger.value.token == token && ledger.value.is_busy());
        let token = u8::try_from(token.0).expect("there are few runs");
        let facts = next.facts(item);
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
