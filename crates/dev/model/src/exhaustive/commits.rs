//! Plans reach the registry: in time or late, heard of or not.

use std::sync::Arc;

use coordination::Reply;
use coordination::internals::{Flight, LayoutEncoding as _};
use reg_center::{Conflict, Revision};

use super::judge::Transition;
use super::label::{Draft, Label};
use super::print::{Print, print_of};
use super::scope::session;
use super::state::{Process, State};
use super::world::{Commit, Trial, World};

impl World {
    /// A plan reaches the registry, its confirming reads included.
    pub(super) fn attempts(
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
        let label =
            |refused| Label::Commit { process: p, plan: Arc::clone(flight), stale, refused };
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
        let key = print_of(&(state.registry.print, process.print, print, live));
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

    pub(super) fn landings(
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
        flight
            .plan
            .nodes_to_confirm()
            .iter()
            .any(|node| state.registry.get(&self.path(node)).is_some())
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
            state
                .processes
                .iter()
                .any(|other| other.standing.has_session() && self.id(other.index, other.life) == id)
        };
        let transition = Transition {
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
