//! What goes wrong: crashes and sessions that expire.

use std::sync::Arc;

use coordination::{Event, Phase};

use super::label::{Draft, Label};
use super::scope::session;
use super::state::{Process, Standing, State};
use super::world::World;

impl World {
    pub(super) fn faults(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        self.crash(state, process, Standing::Crashed, drafts);
        if state.spent.expiries < self.scope.expiries {
            let mut draft = self.expiry(state, process, Standing::Zombie);
            draft.next.spent.expiries += 1;
            drafts.push(draft.optional());
        }
    }

    pub(super) fn crash(
        &self,
        state: &State,
        process: &Process,
        then: Standing,
        drafts: &mut Vec<Draft>,
    ) {
        if state.spent.crashes < self.scope.crashes {
            let p = process.index;
            let mut next = state.clone();
            next.spent.crashes += 1;
            next.processes[p] = Arc::new(dead(process, then));
            drafts.push(Draft::new(Label::Crash(p), next).optional());
        }
    }

    /// The registry ends the session of a process. What the process has under way can never be executed.
    pub(super) fn expiry(&self, state: &State, process: &Arc<Process>, then: Standing) -> Draft {
        let p = process.index;
        let mut next = state.clone();
        next.registry = Arc::new(state.registry.without_session(session(p, process.life)));
        next.processes[p] = Arc::new(match then {
            Standing::Zombie => {
                let mut zombie =
                    Process { standing: then, adrift: Vec::new(), ..Process::clone(process) };
                zombie.memory.flights.clear();
                zombie.memory.local.is_claiming = false;
                zombie.sealed()
            }
            Standing::Up | Standing::Crashed | Standing::Dead | Standing::Left => {
                dead(process, then)
            }
        });
        Draft::new(Label::Expire(p), next)
    }

    pub(super) fn reconnection(&self, state: &State, process: &Arc<Process>) -> Draft {
        let p = process.index;
        let life = process.life + 1;
        let mut next = self.told(state, p, Event::Lost);
        // Whoever was leaving has left with its session, and does not come back.
        if next.processes[p].memory.local.phase == Phase::Left {
            next.processes[p] = Arc::new(dead(process, Standing::Dead));
            return Draft::new(Label::Reconnect(p), next);
        }
        let mut reborn =
            Process { life, standing: Standing::Up, ..Process::clone(&next.processes[p]) };
        reborn.memory.leave_requested = false;
        next.processes[p] = Arc::new(reborn.sealed());
        let (session, incarnation) = (session(p, life), self.id(p, life).clone());
        let next = self.told(&next, p, Event::Connected { session, incarnation });
        Draft::new(Label::Reconnect(p), next)
    }
}

fn dead(process: &Process, standing: Standing) -> Process {
    let Process { index, life, .. } = *process;
    Process { life, standing, fires: 0, ..Process::new(index) }.sealed()
}
