//! Commits of plans: at once or late, with a reply or with an unknown outcome.

use std::sync::Arc;

use coordination::Reply;
use coordination::internals::{Flight, LayoutEncoding as _};
use reg_center::{Conflict, Revision};

use super::fingerprint::{Fingerprint, fingerprint_of};
use super::judge::Transition;
use super::label::{Draft, Label};
use super::scope::session;
use super::state::{Process, State};
use super::world::{Commit, Trial, World};

impl World {
    /// Adds the possible outcomes of a commit of a plan, with its confirming reads.
    pub(super) fn attempts(
        &self,
        state: &State,
        process: &Arc<Process>,
        flight: &Arc<Flight>,
        fingerprint: Fingerprint,
        stale: bool,
        drafts: &mut Vec<Draft>,
    ) {
        let p = process.index;
        let used = Some((p, flight.plan.duty));
        let label =
            |conflict| Label::Commit { process: p, plan: Arc::clone(flight), stale, conflict };
        let lost = state.spent.lost_replies < self.scope.lost_replies;
        if self.holder_is_seen(state, flight) {
            let next = self.deliver_reply(state, p, flight, Reply::HolderAlive);
            drafts.push(Draft { used, ..Draft::new(label(true), next) });
            return;
        }
        let trial = self.trial(state, process, flight, fingerprint);
        match &trial.outcome {
            Ok(commit) => {
                let mut next = self.apply_handled(state, p, &trial.handled);
                next.apply(commit);
                let written = commit.written.clone();
                drafts.push(Draft { used, written, ..Draft::new(label(false), next) });
                if lost {
                    let mut next = self.deliver_reply(state, p, flight, Reply::Unknown);
                    next.apply(commit);
                    next.spent.lost_replies += 1;
                    let label = Label::CommitWithoutReply { process: p, plan: Arc::clone(flight) };
                    let written = commit.written.clone();
                    drafts.push(Draft { used, written, ..Draft::new(label, next).optional() });
                }
            }
            Err(_) => {
                let next = self.apply_handled(state, p, &trial.handled);
                drafts.push(Draft { used, ..Draft::new(label(true), next) });
            }
        }
        if lost {
            let mut next = self.deliver_reply(state, p, flight, Reply::Unknown);
            next.spent.lost_replies += 1;
            let mut sender = Process::clone(&next.processes[p]);
            sender.in_doubt.push(Arc::clone(flight));
            next.processes[p] = Arc::new(sender.sealed());
            let label = Label::LoseReply { process: p, plan: Arc::clone(flight) };
            drafts.push(Draft { used, ..Draft::new(label, next).optional() });
        }
    }

    /// Returns the cached outcome of a plan that reaches the registry now.
    fn trial(
        &self,
        state: &State,
        process: &Arc<Process>,
        flight: &Arc<Flight>,
        fingerprint: Fingerprint,
    ) -> Arc<Trial> {
        let live =
            state.processes.iter().map(|other| (other.incarnation, other.status.has_session()));
        let live: Vec<_> = live.collect();
        let key =
            fingerprint_of(&(state.registry.fingerprint, process.fingerprint, fingerprint, live));
        self.trials.get_or(key, || {
            let outcome = self.commit(state, process, flight);
            let reply = match &outcome {
                Ok(_) => Reply::Committed(Some(Revision(1))),
                Err(conflict) => Reply::Conflict(*conflict),
            };
            let handled = self.handle_reply(process, &state.registry, flight, reply);
            Trial { outcome, handled }
        })
    }

    /// Adds both ends of a plan in doubt: it is executed, or it is lost.
    pub(super) fn late_commit(
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
            sender.in_doubt.remove(index);
            next.processes[p] = Arc::new(sender.sealed());
            next
        };
        drafts.push(Draft::new(Label::LoseRequest(p), without(state)));
        if let Ok(commit) = self.commit(state, process, flight) {
            let label = Label::CommitLate { process: p, plan: Arc::clone(flight) };
            let mut next = without(state);
            next.apply(&commit);
            drafts.push(Draft { written: commit.written, ..Draft::new(label, next) });
        }
    }

    /// Returns true if a confirming read finds the node of a holder or its mark.
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
        let (p, incarnation) = (process.index, process.incarnation);
        let session = session(p, incarnation);
        let txn = self.layout.encode(&flight.plan, session);
        let (registry, written) = state.registry.commit(&self.layout, session, &txn)?;
        let is_alive = |id: &sharding::InstanceId| {
            state.processes.iter().any(|other| {
                other.status.has_session() && self.id(other.index, other.incarnation) == id
            })
        };
        let transition = Transition {
            before: &self.view(&state.registry),
            after: &self.view(&registry),
            actor: process,
            me: self.id(p, incarnation),
            is_alive: &is_alive,
        };
        let breach = transition.breach();
        Ok(Commit { registry: Arc::new(registry), written, breach })
    }
}
