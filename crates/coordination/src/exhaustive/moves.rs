//! Everything that can happen in a state.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Conflict, Revision};
use sharding::ShardingItem;

use super::acts;
use super::print::{Print, hash_of, print_of};
use super::registry::{Registry, Written};
use super::rule::Breach;
use super::scope::{Act, fire_time, session};
use super::state::{Process, Standing, State, print_of_flight};
use super::world::{Commit, Told, Trial, World};
use crate::coordinator::seat::{Flight, NOW, Seat};
use crate::duty::Duty;
use crate::local::Phase;
use crate::{Command, Event, FencingToken, FireTime, JobEvent, OnceStage, Outcome, Reply, RunSource, StartItem};

/// Something that happens, for people who read a trace.
#[derive(Clone, PartialEq)]
pub(super) enum Label {
    /// A process starts what the registry shows as its own.
    Observe(usize),
    /// A plan is committed, or refused.
    Commit { process: usize, plan: Arc<Flight>, stale: bool, refused: bool },
    /// The same, and the reply is lost.
    CommitUnheard { process: usize, plan: Arc<Flight> },
    /// The reply is lost, and the plan may be executed later.
    SetAdrift { process: usize, plan: Arc<Flight> },
    Land { process: usize, plan: Arc<Flight> },
    Vanish(usize),
    Fire { process: usize, fire: u8 },
    Finish { process: usize, item: ShardingItem, outcome: Outcome },
    Crash(usize),
    /// A session is over.
    Expire(usize),
    /// A process learns that its session is over and begins another life.
    Reconnect(usize),
    Drain(usize),
    /// Orphans have waited for an idle taker for long enough.
    Patience(usize),
    /// A callback that happens once per cluster has returned.
    Return { process: usize, stage: OnceStage },
    Operator(Act),
    /// Nothing is left to do.
    Rest,
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |flight: &Flight| flight.plan.to_string().replace('\n', "; ");
        match self {
            Self::Observe(p) => write!(f, "{p} starts what is its own"),
            Self::Commit { process, plan, stale, refused } => {
                let how = if *stale { ", decided earlier" } else { "" };
                let refused = if *refused { ": refused" } else { "" };
                write!(f, "{process} commits{how}{refused} [{}]", first(plan))
            }
            Self::CommitUnheard { process, plan } => {
                write!(f, "{process} commits and does not hear of it [{}]", first(plan))
            }
            Self::SetAdrift { process, plan } => {
                write!(f, "{process} has sent and hears nothing [{}]", first(plan))
            }
            Self::Land { process, plan } => write!(f, "what {process} sent is executed [{}]", first(plan)),
            Self::Vanish(p) => write!(f, "what {p} sent is lost"),
            Self::Fire { process, fire } => write!(f, "fire {} comes at {process}", fire_time(*fire)),
            Self::Finish { process, item, outcome } => write!(f, "item {item} ends at {process}: {outcome}"),
            Self::Crash(p) => write!(f, "{p} crashes"),
            Self::Expire(p) => write!(f, "the session of {p} expires"),
            Self::Reconnect(p) => write!(f, "{p} learns of it and begins another life"),
            Self::Drain(p) => write!(f, "{p} begins to leave"),
            Self::Patience(p) => write!(f, "{p} has waited for an idle taker for long enough"),
            Self::Return { process, stage } => write!(f, "the callback for {stage} returns at {process}"),
            Self::Operator(act) => write!(f, "an operator does {act:?}"),
            Self::Rest => f.write_str("nothing is left to do"),
        }
    }
}

/// Something that can happen, and what comes of it.
#[derive(Clone)]
pub(super) struct Move {
    pub(super) label: Label,
    /// It need not happen: faults and operators.
    pub(super) optional: bool,
    /// Plans that were decided before and are under way from now on.
    pub(super) kept: Vec<(usize, Duty)>,
    pub(super) next: State,
}

impl PartialEq for Move {
    fn eq(&self, other: &Self) -> bool {
        (&self.label, &self.kept) == (&other.label, &other.kept)
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.label)?;
        self.kept.iter().try_for_each(|(p, duty)| write!(f, " ({p} has {duty} under way)"))
    }
}

/// What happened, before it is settled what is under way afterwards.
pub(super) struct Draft {
    pub(super) label: Label,
    pub(super) optional: bool,
    pub(super) next: State,
    pub(super) written: Written,
    /// The plan that was used up.
    pub(super) used: Option<(usize, Duty)>,
}

impl Draft {
    pub(super) fn new(label: Label, next: State) -> Self {
        Self { label, optional: false, next, written: Written::default(), used: None }
    }

    pub(super) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

impl World {
    /// Returns everything that can happen; if nothing has to, whether that is as it should be.
    pub(super) fn moves(&self, state: &State) -> Vec<Move> {
        if state.breach.is_some() {
            return Vec::new();
        }
        let _active = self.activated();
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
                for (index, flight) in process.adrift.iter().enumerate() {
                    self.landings(state, process, index, flight, drafts);
                }
                if process.memory.leave_requested && process.memory.local.phase == Phase::Active {
                    drafts.push(Draft::new(Label::Drain(p), self.told(state, p, Event::Drain)));
                }
                self.pass(state, process, drafts);
                self.faults(state, process, drafts);
            }
            Standing::Zombie => {
                drafts.push(self.reconnection(state, process));
                self.crash(state, process, Standing::Dead, drafts);
            }
            Standing::Crashed => drafts.push(self.expiry(state, process, Standing::Dead)),
            Standing::Dead | Standing::Left => {}
        }
        if process.standing.works() {
            self.work(state, process, drafts);
        }
    }

    /// Fires come and code ends, whatever the session does.
    fn work(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        if process.fires < self.scope.fires {
            let at = fire_time(process.fires);
            let next = Some(fire_time(process.fires + 1));
            let fire = Event::Fire { at, next, missed: Vec::new() };
            let mut next = self.told(state, p, fire);
            let fired = Process { fires: process.fires + 1, ..Process::clone(&next.processes[p]) };
            next.processes[p] = Arc::new(fired.sealed());
            drafts.push(Draft::new(Label::Fire { process: p, fire: process.fires }, next));
        }
        let me = self.id(p, process.life);
        for (item, run) in process.memory.local.runs.iter().filter(|(_, run)| run.outcome.is_none()) {
            let cancelled = process.standing == Standing::Zombie
                || run.holder != *me
                || process.memory.local.phase == Phase::Draining;
            let outcomes = [Outcome::Succeeded].into_iter().chain(cancelled.then_some(Outcome::Interrupted));
            for outcome in outcomes {
                let (item, token) = (*item, run.token);
                let mut next = self.told(state, p, Event::ItemFinished { item, token, outcome });
                if outcome == Outcome::Succeeded {
                    self.effect(&mut next, item, token);
                }
                drafts.push(Draft::new(Label::Finish { process: p, item, outcome }, next));
            }
        }
    }

    /// Time passes: orphans have waited long enough for an idle taker; a callback returns.
    fn pass(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        let local = &process.memory.local;
        if local.orphans_since.is_some_and(|since| since == NOW.mono) && !local.runs.is_empty() {
            let mut patient = Process::clone(process);
            patient.memory.local.orphans_since = Some(Duration::ZERO);
            let mut next = state.clone();
            next.processes[p] = Arc::new(patient.sealed());
            drafts.push(Draft::new(Label::Patience(p), next));
        }
        for (stage, call) in local.calls.iter().filter(|(_, call)| !call.done) {
            let returned = Event::OnceReturned { stage: *stage, token: call.token };
            let mut next = self.told(state, p, returned);
            if *stage == OnceStage::Started {
                let fire = self.view(&state.registry).once().and_then(|once| once.value.call(*stage).map(|call| call.fire));
                let number = (0..self.scope.fires).find(|number| Some(fire_time(*number)) == fire);
                next.calls.started = next.calls.started.max(number.map_or(0, |number| number + 1));
            }
            drafts.push(Draft::new(Label::Return { process: p, stage: *stage }, next));
        }
    }

    fn faults(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        let p = process.index;
        self.crash(state, process, Standing::Crashed, drafts);
        if state.spent.expiries < self.scope.expiries {
            let mut draft = self.expiry(state, process, Standing::Zombie);
            draft.next.spent.expiries += 1;
            drafts.push(draft.optional());
        }
    }

    fn crash(&self, state: &State, process: &Process, then: Standing, drafts: &mut Vec<Draft>) {
        if state.spent.crashes < self.scope.crashes {
            let p = process.index;
            let mut next = state.clone();
            next.spent.crashes += 1;
            next.processes[p] = Arc::new(dead(process, then));
            drafts.push(Draft::new(Label::Crash(p), next).optional());
        }
    }

    /// The registry ends the session of a process. What the process has under way can never be executed.
    fn expiry(&self, state: &State, process: &Arc<Process>, then: Standing) -> Draft {
        let p = process.index;
        let mut next = state.clone();
        next.registry = Arc::new(state.registry.without_session(session(p, process.life)));
        next.processes[p] = Arc::new(match then {
            Standing::Zombie => {
                let mut zombie = Process { standing: then, adrift: Vec::new(), ..Process::clone(process) };
                zombie.memory.flights.clear();
                zombie.memory.local.is_claiming = false;
                zombie.sealed()
            }
            Standing::Up | Standing::Crashed | Standing::Dead | Standing::Left => dead(process, then),
        });
        Draft::new(Label::Expire(p), next)
    }

    fn reconnection(&self, state: &State, process: &Arc<Process>) -> Draft {
        let p = process.index;
        let life = process.life + 1;
        let mut next = self.told(state, p, Event::Lost);
        let mut reborn = Process { life, standing: Standing::Up, ..Process::clone(&next.processes[p]) };
        reborn.memory.leave_requested = false;
        next.processes[p] = Arc::new(reborn.sealed());
        let (session, incarnation) = (session(p, life), self.id(p, life).clone());
        let next = self.told(&next, p, Event::Connected { session, incarnation });
        Draft::new(Label::Reconnect(p), next)
    }

    /// Tells a process of an event; it records the event and decides nothing yet.
    pub(super) fn told(&self, state: &State, p: usize, event: Event) -> State {
        let process = &state.processes[p];
        let key = hash_of(&(state.registry.print, process.print, print_of(&event)));
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

    fn after_telling(&self, state: &State, p: usize, told: &Told) -> State {
        let mut next = state.clone();
        next.processes[p] = Arc::clone(&told.process);
        self.obey(&mut next, p, &told.commands);
        next
    }

    /// Tells a process what became of its plan, which is no longer under way.
    pub(super) fn replied(&self, state: &State, p: usize, flight: &Arc<Flight>, reply: Reply) -> State {
        let told = self.reply_to(&state.processes[p], &state.registry, flight, reply);
        self.after_telling(state, p, &told)
    }

    fn reply_to(&self, process: &Process, registry: &Registry, flight: &Arc<Flight>, reply: Reply) -> Told {
        let duty = flight.plan.duty;
        let mut process = Process::clone(process);
        process.memory.flights.insert(duty, Arc::clone(flight));
        let me = self.id(process.index, process.life);
        process.memory.local.is_claiming |= flight.plan.runs_of(me).next().is_some();
        let replied = |seat: &mut Seat| seat.replied(duty, reply);
        let (memory, commands) = self.seated(&process, registry, replied);
        Told { process: Arc::new(Process { memory, ..process }.sealed()), commands }
    }

    fn obey(&self, next: &mut State, p: usize, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Start(starts) => self.begin(next, p, starts),
                Command::CallOnce { stage, fire, token } => self.call(next, *stage, *fire, *token),
                Command::Emit(JobEvent::Missed { item, fire, .. }) => {
                    let me = self.id(p, next.processes[p].life).clone();
                    let view = self.view(&next.registry);
                    let items: Vec<_> = match item {
                        Some(item) => vec![*item],
                        None => view.accounted_by(&me).map(|(item, _)| item).collect(),
                    };
                    for item in items {
                        let number = (0..self.scope.fires).filter(|f| fire_time(*f) == *fire);
                        number.for_each(|f| next.facts(item).missed |= 1 << f);
                    }
                }
                Command::Commit { .. }
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
    pub(super) fn begin(&self, next: &mut State, p: usize, starts: &[StartItem]) {
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
            if next.processes[p].memory.local.phase == Phase::Left {
                next.breach(Breach::Leftover);
            }
        }
    }

    /// A run writes to the resource, at the last moment at which it can: as it ends.
    fn effect(&self, next: &mut State, item: ShardingItem, token: FencingToken) {
        let holds = self.view(&next.registry).item(item).ledger.as_ref().is_some_and(|ledger| {
            ledger.value.token == token && ledger.value.is_busy()
        });
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

    /// A plan reaches the registry, its confirming reads included.
    fn attempts(
        &self,
        state: &State,
        process: &Arc<Process>,
        flight: &Arc<Flight>,
        print: Print,
        stale: bool,
        drafts: &mut Vec<Draft>,
    ) {
        let p = process.index;
        let used = Some((p, flight.plan.duty));
        let label = |refused| Label::Commit { process: p, plan: Arc::clone(flight), stale, refused };
        let lost = state.spent.lost_replies < self.scope.lost_replies;
        if self.holder_is_seen(state, flight) {
            let next = self.replied(state, p, flight, Reply::HolderAlive);
            drafts.push(Draft { used, ..Draft::new(label(true), next) });
            return;
        }
        let trial = self.trial(state, process, flight, print);
        match &trial.outcome {
            Ok(commit) => {
                let mut next = self.after_telling(state, p, &trial.told);
                next.take(commit);
                let written = commit.written.clone();
                drafts.push(Draft { used, written, ..Draft::new(label(false), next) });
                if lost {
                    let mut next = self.replied(state, p, flight, Reply::Unknown);
                    next.take(commit);
                    next.spent.lost_replies += 1;
                    let label = Label::CommitUnheard { process: p, plan: Arc::clone(flight) };
                    let written = commit.written.clone();
                    drafts.push(Draft { used, written, ..Draft::new(label, next).optional() });
                }
            }
            Err(_) => {
                let next = self.after_telling(state, p, &trial.told);
                drafts.push(Draft { used, ..Draft::new(label(true), next) });
            }
        }
        if lost {
            let mut next = self.replied(state, p, flight, Reply::Unknown);
            next.spent.lost_replies += 1;
            let mut sender = Process::clone(&next.processes[p]);
            sender.adrift.push(Arc::clone(flight));
            next.processes[p] = Arc::new(sender.sealed());
            let label = Label::SetAdrift { process: p, plan: Arc::clone(flight) };
            drafts.push(Draft { used, ..Draft::new(label, next).optional() });
        }
    }

    /// Works out what becomes of a plan.
    fn trial(
        &self,
        state: &State,
        process: &Arc<Process>,
        flight: &Arc<Flight>,
        print: Print,
    ) -> Arc<Trial> {
        let live = state.processes.iter().map(|other| (other.life, other.standing.has_session()));
        let live: Vec<_> = live.collect();
        let key = hash_of(&(state.registry.print, process.print, print, live));
        self.trials.get_or(key, || {
            let outcome = self.commit(state, process, flight);
            let reply = match &outcome {
                Ok(_) => Reply::Committed(Some(Revision(1))),
                Err(conflict) => Reply::Conflict(*conflict),
            };
            let told = self.reply_to(process, &state.registry, flight, reply);
            Trial { outcome, told }
        })
    }

    fn landings(
        &self,
        state: &State,
        process: &Arc<Process>,
        index: usize,
        flight: &Arc<Flight>,
        drafts: &mut Vec<Draft>,
    ) {
        let p = process.index;
        let without = |state: &State| {
            let mut next = state.clone();
            let mut sender = Process::clone(process);
            sender.adrift.remove(index);
            next.processes[p] = Arc::new(sender.sealed());
            next
        };
        drafts.push(Draft::new(Label::Vanish(p), without(state)));
        if let Ok(commit) = self.commit(state, process, flight) {
            let label = Label::Land { process: p, plan: Arc::clone(flight) };
            let mut next = without(state);
            next.take(&commit);
            drafts.push(Draft { written: commit.written, ..Draft::new(label, next) });
        }
    }

    /// One of the reads before a commit finds that a holder or its mark is there.
    fn holder_is_seen(&self, state: &State, flight: &Flight) -> bool {
        flight.plan.nodes_to_confirm().iter().any(|node| state.registry.get(&self.path(node)).is_some())
    }

    fn commit(
        &self,
        state: &State,
        process: &Process,
        flight: &Flight,
    ) -> Result<Commit, Conflict> {
        let (p, life) = (process.index, process.life);
        let session = session(p, life);
        let txn = self.layout.encode(&flight.plan, session);
        let (registry, written) = state.registry.commit(&self.layout, session, &txn)?;
        let lives = |id: &sharding::InstanceId| {
            state.processes.iter().any(|other| {
                other.standing.has_session() && self.id(other.index, other.life) == id
            })
        };
        let transition = super::judge::Transition {
            before: &self.view(&state.registry),
            after: &self.view(&registry),
            actor: process,
            me: self.id(p, life),
            lives: &lives,
        };
        let breach = transition.breach();
        Ok(Commit { registry: Arc::new(registry), written, breach })
    }
}

fn dead(process: &Process, standing: Standing) -> Process {
    let Process { index, life, .. } = *process;
    Process { life, standing, fires: 0, ..Process::new(index) }.sealed()
}

