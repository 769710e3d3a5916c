//! Faults: crashes and expired sessions.

use std::sync::Arc;

use coordination::{Event, Phase};

use super::label::{Draft, Label};
use super::scope::session;
use super::state::{Process, State, Status};
use super::world::World;

impl World {
    pub(super) fn faults(&self, state: &State, process: &Arc<Process>, drafts: &mut Vec<Draft>) {
        self.crash(state, process, Status::Crashed, drafts);
        if state.spent.expiries < self.scope.expiries {
            let mut draft = self.expiry(state, process, Status::Zombie);
            draft.next.spent.expiries += 1;
            drafts.push(draft.optional());
        }
    }

    pub(super) fn crash(
        &self,
        state: &State,
        process: &Process,
        then: Status,
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

    /// Ends the session of a process. The registry can never execute its plans in flight.
    pub(super) fn expiry(&self, state: &State, process: &Arc<Process>, then: Status) -> Draft {
        let p = process.index;
        let mut next = state.clone();
        next.registry = Arc::new(state.registry.without_session(session(p, process.incarnation)));
        next.processes[p] = Arc::new(match then {
            Status::Zombie => {
                let mut zombie =
                    Process { status: then, in_doubt: Vec::new(), ..Process::clone(process) };
                zombie.memory.flights.clear();
                zombie.memory.local.claims.in_flight = false;
                zombie.sealed()
            }
            Status::Up | Status::Crashed | Status::Dead | Status::Left => dead(process, then),
        });
        Draft::new(Label::Expire(p), next)
    }

    pub(super) fn reconnection(&self, state: &State, process: &Arc<Process>) -> Draft {
        let p = process.index;
        let incarnation = process.incarnation + 1;
        let mut next = self.deliver_event(state, p, Event::Lost);
        // A draining process leaves with the end of its session and does not return.
        if next.processes[p].memory.local.phase == Phase::Left {
            next.processes[p] = Arc::new(dead(process, Status::Dead));
            return Draft::new(Label::Reconnect(p), next);
        }
        let mut reborn =
            Process { incarnation, status: Status::Up, ..Process::clone(&next.processes[p]) };
        reborn.memory.leave_requested = false;
        next.processes[p] = Arc::new(reborn.sealed());
        let id = self.id(p, incarnation).clone();
        let connected = Event::Connected { session: session(p, incarnation), incarnation: id };
        let next = self.deliver_event(&next, p, connected);
        Draft::new(Label::Reconnect(p), next)
    }
}

fn dead(process: &Process, status: Status) -> Process {
    let Process { index, incarnation, .. } = *process;
    Process { incarnation, status, fires: 0, ..Process::new(index) }.sealed()
}
