//! Observing: what the view shows now, compared with what was known before.

use std::sync::Arc;

use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::duty::Duty;
use crate::local::{LocalRun, Phase};
use crate::view::ConfigState;
use crate::{Command, FencingToken, JobEvent, Ledger, Outcome, StartItem};

impl Coordinator {
    pub(super) fn observe(&mut self, out: &mut Vec<Command>) {
        self.observe_config(out);
        self.observe_membership(out);
        self.observe_leadership(out);
        self.observe_runs(out);
        self.observe_request();
    }

    fn observe_config(&mut self, out: &mut Vec<Command>) {
        if !self.view.is_synced() {
            return;
        }
        let fault = match self.view.config_state() {
            ConfigState::Valid(config) => {
                if self.told.config.as_ref() != Some(&config.value) {
                    self.told.config = Some(Arc::clone(&config.value));
                    out.push(Command::Schedule(Arc::clone(&config.value)));
                }
                None
            }
            ConfigState::Absent => Some("there is no stored configuration".to_owned()),
            ConfigState::Invalid { reason } => Some(reason.clone()),
        };
        if let Some(reason) = fault.clone().filter(|_| self.told.config_fault != fault) {
            out.push(Command::Emit(JobEvent::ConfigRejected { reason }));
        }
        self.told.config_fault = fault;
    }

    fn observe_membership(&mut self, out: &mut Vec<Command>) {
        let Some(me) = self.me.clone() else { return };
        let registered = self.connected && self.view.is_registered(&me);
        if registered && !self.local.was_registered {
            self.local.was_registered = true;
            out.push(Command::Emit(JobEvent::Joined { instance: me }));
        } else if self.connected
            && self.view.is_synced()
            && !registered
            && self.local.was_registered
        {
            self.observe_deregistration(me, out);
        }
        let gone = self.local.phase == Phase::Draining
            && self.local.runs.is_empty()
            && (!self.connected || !registered)
            && !self.in_flight.contains_key(&Duty::Membership);
        if gone && !self.told.left {
            self.leave(out);
        }
    }

    /// The session lives, so somebody has taken the node away: this instance as it left, or an operator.
    fn observe_deregistration(&mut self, me: InstanceId, out: &mut Vec<Command>) {
        if self.local.phase == Phase::Draining {
            out.push(Command::Emit(JobEvent::Left { instance: me }));
            self.local.was_registered = false;
        } else if !self.told.leave_requested {
            self.told.leave_requested = true;
            out.push(Command::LeaveRequested);
        }
    }

    fn leave(&mut self, out: &mut Vec<Command>) {
        self.told.left = true;
        self.local.phase = Phase::Left;
        out.push(Command::Left);
    }

    fn observe_leadership(&mut self, out: &mut Vec<Command>) {
        let leads = self.me.as_ref().and_then(|me| self.view.term_of(me));
        if leads == self.told.leads {
            return;
        }
        self.told.leads = leads;
        out.push(Command::Emit(match leads {
            Some(term) => JobEvent::BecameLeader { term: u64::from(term.0) },
            None => JobEvent::LostLeadership,
        }));
    }

    /// Starts runs that the registry shows as ours, although no reply said so; forgets those whose end is recorded.
    fn observe_runs(&mut self, out: &mut Vec<Command>) {
        self.forget_settled_runs(out);
        let Some(me) = self.me.clone().filter(|_| self.connected && self.local.lease) else {
            return;
        };
        let ours: Vec<_> = self
            .view
            .items()
            .filter_map(|(item, view)| Some((item, &view.ledger.as_ref()?.value)))
            .filter(|(_, ledger)| ledger.running().is_some_and(|run| run.holder == me))
            .map(|(item, ledger)| (item, ledger.clone()))
            .collect();
        self.start_runs(ours.iter().map(|(item, ledger)| (*item, ledger)), out);
    }

    fn forget_settled_runs(&mut self, out: &mut Vec<Command>) {
        let view = &self.view;
        self.local.runs.retain(|item, run| {
            let ledger = view.item(*item).ledger.as_ref().map(|ledger| &ledger.value);
            let caught_up = ledger.is_some_and(|ledger| ledger.token >= run.token);
            let held = ledger.is_some_and(|ledger| ledger.is_held(&run.holder, run.token));
            let Some(outcome) = run.outcome else { return true };
            if run.token == FencingToken(0) || !caught_up || held {
                return true;
            }
            out.push(Command::Emit(ending(*item, run, outcome, ledger)));
            false
        });
    }

    /// A request is over for items that are disabled or somebody else's by now.
    fn observe_request(&mut self) {
        let Some(me) = &self.me else { return };
        let view = &self.view;
        let mine = |item: &ShardingItem| {
            let item_view = view.item(*item);
            item_view.owner.as_ref().is_some_and(|owner| owner.value == *me) && !item_view.disabled
        };
        if let Some(request) = &mut self.local.request {
            request.items.retain(mine);
        }
        if self.local.request.as_ref().is_some_and(|request| request.items.is_empty()) {
            self.local.request = None;
        }
    }

    pub(super) fn start_runs<'a>(
        &mut self,
        claimed: impl Iterator<Item = (ShardingItem, &'a Ledger)>,
        out: &mut Vec<Command>,
    ) {
        let mut starts = Vec::new();
        for (item, ledger) in claimed {
            let Some(start) = self.start_item(item, ledger) else { continue };
            if self.local.begin(item, ledger) {
                let StartItem { fire, source, token, .. } = start;
                out.push(Command::Emit(JobEvent::Claimed { item, fire, source, token }));
                starts.push(start);
            }
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    pub(super) fn start_item(&self, item: ShardingItem, ledger: &Ledger) -> Option<StartItem> {
        let run = ledger.running()?;
        Some(StartItem {
            item,
            token: ledger.token,
            fire: run.fire,
            source: run.source,
            merged: run.merged,
            holder: run.holder.clone(),
            config: Arc::clone(self.told.config.as_ref()?),
            config_version: self.view.config_version().unwrap_or_default(),
        })
    }
}

/// Tells how a run ended, by what the registry shows: recorded as ours, or taken away from us before.
fn ending(
    item: ShardingItem,
    run: &LocalRun,
    outcome: Outcome,
    ledger: Option<&Ledger>,
) -> JobEvent {
    let LocalRun { token, fire, source, .. } = *run;
    let recorded = ledger.is_some_and(|ledger| {
        ledger.token == token && ledger.outcome == Some(outcome) && !ledger.is_busy()
    });
    let handed_over =
        outcome == Outcome::Interrupted && ledger.is_some_and(|ledger| ledger.token == token);
    if recorded || handed_over {
        JobEvent::Settled { item, fire, source, token, outcome }
    } else {
        JobEvent::Fenced { item, token }
    }
}
