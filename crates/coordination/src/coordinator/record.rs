//! Recording: applies each event to the view or to the local state, one match arm per event. A
//! reply and an unmonitored fire can also start runs.

use reg_center::{Change, SessionId};
use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::local::Phase;
use crate::local::fires::Due;
use crate::local::requests::{RequestProgress, WantedTrigger};
use crate::run_marks::Mark;
use crate::runs::LocalRun;
use crate::wire::NodeKind;
use crate::{
    Command, DropReason, Event, FailureReason, FencingToken, FireTime, InterruptReason, JobEvent,
    MissReason, Now, OnceStage, Outage, Outcome, RequestParameter, Slot,
};
use crate::{server_of, shortened};

/// Tolerance for a fire ahead of the instance's clock, in milliseconds.
const EARLY_MS: i64 = 1_000;

impl Coordinator {
    pub(super) fn record(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Connected { session, incarnation } => {
                self.connect(now, session, incarnation, out);
            }
            Event::Suspended => self.suspend(now, out),
            Event::LeaseExpired => self.interrupt(InterruptReason::LeaseExpired, out),
            Event::Lost => self.lose(now, out),
            Event::Registry(changes) => self.apply(changes, out),
            Event::Read(nodes) => self.compare(now, nodes, out),
            Event::Fire { at, next, missed } => {
                // Under a narrow watch, the missed fires were looked up by some of the items only.
                let is_complete = self.catch_up_since().is_none() || self.view.followed().is_all();
                self.fire(now, Due { at, next, missed: is_complete.then_some(missed) }, out);
            }
            Event::TriggerRequested { parameter } => self.want_trigger(now, parameter, out),
            Event::OnceReturned { stage, token } => self.returned(stage, token),
            Event::Replied { ticket, reply } => self.replied(now, ticket, reply, out),
            Event::ItemFinished { item, slot, token, outcome, reason } => {
                let slot = Slot { item, number: slot };
                self.finish(slot, token, (outcome, reason), out);
            }
            Event::Waits(waiting) => self.local.waiting = waiting,
            Event::Paused => self.local.paused = true,
            Event::Resumed => self.local.paused = false,
            Event::Drain => self.drain(now, out),
            Event::Wake => {}
        }
    }

    fn connect(
        &mut self,
        now: Now,
        session: SessionId,
        incarnation: InstanceId,
        out: &mut Vec<Command>,
    ) {
        if !self.connected
            && let Some(open) = self.outage
        {
            let outage = open.ended(now);
            self.outage = Some(outage);
            out.push(Command::Emit(if self.session == Some(session) {
                JobEvent::Reconnected { outage }
            } else {
                JobEvent::SessionStarted { instance: incarnation.clone(), outage }
            }));
        }
        if self.session != Some(session) {
            // Replies to commits of the former session never arrive.
            self.session = Some(session);
            self.me = Some(incarnation);
            self.in_flight.clear();
            self.in_doubt.clear();
            self.local.session.begin();
            self.local.requests.put_in_doubt();
            self.mark_all_dirty();
        }
        self.connected = true;
        self.local.session.lease = true;
    }

    fn suspend(&mut self, now: Now, out: &mut Vec<Command>) {
        if self.disconnect(now) {
            out.push(Command::Emit(JobEvent::Suspended));
        }
    }

    /// Records the start of an outage of the registry. Returns false if one has already started.
    fn disconnect(&mut self, now: Now) -> bool {
        let was_connected = std::mem::take(&mut self.connected);
        if was_connected {
            self.outage = Some(Outage::beginning(now));
        }
        was_connected
    }

    fn interrupt(&mut self, reason: InterruptReason, out: &mut Vec<Command>) {
        self.local.session.lease = false;
        if self.local.runs.any_active() {
            out.push(Command::Interrupt(reason));
        }
    }

    fn lose(&mut self, now: Now, out: &mut Vec<Command>) {
        self.interrupt(InterruptReason::SessionLost, out);
        self.disconnect(now);
        if self.session.take().is_some()
            && let Some(instance) = self.me.clone()
        {
            out.push(Command::Emit(JobEvent::SessionLost { instance }));
        }
        self.in_flight.clear();
        self.local.lose_session();
    }

    fn apply(&mut self, changes: Vec<Change>, out: &mut Vec<Command>) {
        for change in changes {
            let kind = change.path().and_then(|path| self.layout.parse(path));
            let item = kind.as_ref().and_then(|kind| self.changed_item(kind));
            if let Some(NodeKind::Instance(id)) = &kind
                && let Some(ip) = server_of(id)
            {
                if matches!(change, Change::Gone { .. }) {
                    self.idle_servers.gone(&ip);
                } else {
                    self.idle_servers.seen(&ip);
                }
            }
            if let (Some(NodeKind::Running(item)), Change::Gone { .. }) = (&kind, &change) {
                let last_fire = self.local.fires.last_seen;
                self.local.java.inference.observe_vanishing_mark(&self.view, *item, last_fire);
            }
            let all = change == Change::Ready;
            if let Err(anomaly) = self.view.apply_to(kind, change) {
                let path = anomaly.path.to_string();
                out.push(Command::Emit(JobEvent::Anomaly {
                    path,
                    reason: shortened(&anomaly.reason),
                }));
            }
            self.dirty_items.extend(item);
            // A new snapshot can differ from the former view without a change for each item.
            if all {
                self.mark_all_dirty();
            }
        }
    }

    /// Returns the item whose record changes, or whose mark changes while it has a local run.
    fn changed_item(&self, node: &NodeKind) -> Option<ShardingItem> {
        if let NodeKind::Ledger(item) = node {
            return Some(*item);
        }
        let (_, item) = Mark::of_node(node)?;
        self.local.runs.has(item).then_some(item)
    }

    /// Marks all items dirty whose record or local run may need an action.
    pub(super) fn mark_all_dirty(&mut self) {
        self.dirty_items.extend(self.view.restless_slots().map(|(key, _)| key));
        self.dirty_items.extend(self.local.runs.items());
    }

    /// Records a manual request of this process under a unique id, or reports it as dropped.
    fn want_trigger(
        &mut self,
        now: Now,
        parameter: Option<RequestParameter>,
        out: &mut Vec<Command>,
    ) {
        let at = self.time_of_request(now);
        let me = self.me.as_ref().map_or(self.identity.server.as_str(), InstanceId::as_str);
        let id = format!("{me}-{}", at.0);
        let refused = match &parameter {
            _ if !self.local.is_active() => Some(DropReason::Leaving),
            Some(_) if !self.view.carries_parameters() => Some(DropReason::ParameterNotCarried),
            Some(parameter) if self.is_too_large(parameter) => Some(DropReason::ParameterTooLarge),
            Some(_) | None => None,
        };
        if let Some(reason) = refused {
            out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            return;
        }
        let wanted = WantedTrigger::new(at, parameter);
        self.local.requests.wanted.insert(id, wanted);
    }

    /// Returns a time that is later than that of each former request, even if the clock was set
    /// back. Otherwise two requests could have the same id. Times of requests are odd, so the next
    /// one is two milliseconds later.
    fn time_of_request(&mut self, now: Now) -> FireTime {
        let by_clock = FireTime::of_request(now.wall_ms);
        let last = self.local.requests.last_at;
        let at = last.map_or(by_clock, |FireTime(last)| by_clock.max(FireTime(last + 2)));
        self.local.requests.last_at = Some(at);
        at
    }

    fn returned(&mut self, stage: OnceStage, token: FencingToken) {
        if let Some(call) = self.local.calls.get_mut(&stage).filter(|call| call.token == token) {
            call.done = true;
        }
    }

    fn fire(&mut self, now: Now, due: Due, out: &mut Vec<Command>) {
        let at = due.at;
        if self.clock_differs_by(now).is_some() {
            return self.miss_by_clock(at, out);
        }
        // The clock was set back after the timer had fired: the timer fires again at the right
        // time.
        let is_early = at.0 > now.wall_ms.saturating_add(EARLY_MS);
        if is_early {
            return;
        }
        // The same fire again, with a newer lookup of missed fires.
        if let Some(known) = self.local.fires.due.as_mut().filter(|known| known.at == at) {
            *known = due;
            return;
        }
        if self.local.fires.last_seen >= Some(at) {
            return;
        }
        self.report_unclaimed(now, MissReason::Superseded, out);
        self.report_unstarted(MissReason::Superseded, out);
        self.local.java.inference.fire(&self.view, at, now);
        self.local.fires.last_seen = Some(at);
        let reason = match self.local.phase {
            Phase::Active if self.is_paused() => MissReason::Paused,
            Phase::Active if self.is_disabled() => MissReason::ServerDisabled,
            Phase::Active => {
                self.local.fires.due = Some(due);
                self.run_unmonitored(now, at, out);
                return;
            }
            Phase::Draining | Phase::Left => MissReason::Leaving,
        };
        self.miss_with_all_items(at, reason, out);
    }

    /// Returns true if an operator has disabled this instance's server.
    pub(super) fn is_disabled(&self) -> bool {
        let server = &self.identity.server;
        self.view.server_version(server).is_some() && !self.view.is_enabled(server)
    }

    fn finish(
        &mut self,
        slot: Slot,
        token: FencingToken,
        (outcome, reason): (Outcome, Option<FailureReason>),
        out: &mut Vec<Command>,
    ) {
        let (key, item) = (slot.key(), slot.item);
        let run = self.local.runs.get(key).filter(|run| run.public_token() == token);
        let Some(&LocalRun { fire, source, token: claimed, .. }) = run else { return };
        let failure = if outcome == Outcome::Succeeded { None } else { reason };
        self.local.runs.change(key, |run| {
            run.outcome = Some(outcome);
            run.failure = failure;
        });
        self.dirty_items.insert(key);
        // A run without monitoring has no record that could show its end later.
        if claimed.is_none() {
            self.local.runs.remove(key);
            let settled = JobEvent::Settled { item, fire, source, token, outcome };
            out.push(Command::Emit(settled));
        }
    }

    fn drain(&mut self, now: Now, out: &mut Vec<Command>) {
        if self.local.phase == Phase::Active {
            self.report_unclaimed(now, MissReason::Leaving, out);
            self.report_unstarted(MissReason::Leaving, out);
            self.local.phase = Phase::Draining;
            self.local.requests.unmonitored = None;
            for (id, wanted) in std::mem::take(&mut self.local.requests.wanted) {
                let reason = match wanted.progress {
                    RequestProgress::Unsent => DropReason::Leaving,
                    RequestProgress::Sent | RequestProgress::InDoubt => DropReason::InDoubt,
                };
                out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            }
        }
    }
}
