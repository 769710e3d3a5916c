//! Recording: one line per event, changing only what this instance knows.

use std::sync::Arc;

use reg_center::{Change, SessionId};
use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::duty::Duty;
use crate::local::{Due, Phase, RequestWay, WantedTrigger};
use crate::runs::LocalRun;
use crate::shortened;
use crate::wire::NodeKind;
use crate::{
    Command, DropReason, Event, FailureReason, FencingToken, FireTime, InterruptReason, JobEvent,
    MissReason, Now, OnceStage, Outage, Outcome, RequestParameter, RunSource, StartItem,
};

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
            Event::Fire { at, next, missed } => {
                // It was looked up by the items that are shown.
                let by_a_part = self.catch_up_since().is_some() && !self.view.followed().is_all();
                let told = !by_a_part;
                self.fire(now, Due { at, next, missed: told.then_some(missed) }, out);
            }
            Event::TriggerRequested { parameter } => self.want_trigger(now, parameter, out),
            Event::OnceReturned { stage, token } => self.returned(stage, token),
            Event::Replied { ticket, reply } => self.replied(now, ticket, reply, out),
            Event::ItemFinished { item, token, outcome, reason } => {
                self.finish(item, token, (outcome, reason), out);
            }
            Event::Paused => self.local.paused = true,
            Event::Resumed => self.local.paused = false,
            Event::Drain => self.drain(out),
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
        let outage = self.outage.filter(|_| !self.connected);
        if let Some(outage) = outage.map(|outage| outage.ended(now)) {
            self.outage = Some(outage);
            out.push(Command::Emit(match self.session == Some(session) {
                true => JobEvent::Reconnected { outage },
                false => JobEvent::SessionStarted { instance: incarnation.clone(), outage },
            }));
        }
        if self.session != Some(session) {
            self.session = Some(session);
            self.me = Some(incarnation);
            self.in_flight.clear();
            self.unsure.clear();
            self.local.was_registered = false;
            self.local.maybe_registered = false;
            self.local.doubt_requests();
            self.stir_all();
        }
        self.connected = true;
        self.local.lease = true;
    }

    fn suspend(&mut self, now: Now, out: &mut Vec<Command>) {
        if self.disconnect(now) {
            out.push(Command::Emit(JobEvent::Suspended));
        }
    }

    /// Notes that an outage of the registry begins. Returns false if it began before.
    fn disconnect(&mut self, now: Now) -> bool {
        let was_connected = std::mem::take(&mut self.connected);
        if was_connected {
            self.outage = Some(Outage::beginning(now));
        }
        was_connected
    }

    fn interrupt(&mut self, reason: InterruptReason, out: &mut Vec<Command>) {
        self.local.lease = false;
        if self.local.runs.any_goes_on() {
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
            let item = self.item_to_look_at(&change);
            let all = change == Change::Ready;
            if let Err(anomaly) = self.view.apply(change) {
                let path = anomaly.path.to_string();
                out.push(Command::Emit(JobEvent::Anomaly {
                    path,
                    reason: shortened(&anomaly.reason),
                }));
            }
            self.stirred.extend(item);
            if all {
                self.stir_all();
            }
        }
    }

    /// Returns the item whose record changes, or a mark of its run here.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most nodes are of no item that runs here")]
    fn item_to_look_at(&self, change: &Change) -> Option<ShardingItem> {
        let (item, is_mark) = match self.layout.parse(change.path()?)? {
            NodeKind::Ledger(item) => (item, false),
            NodeKind::Running(item)
            | NodeKind::Alive(item)
            | NodeKind::Failover(item)
            | NodeKind::Failovering(item) => (item, true),
            _ => return None,
        };
        (!is_mark || self.local.runs.has(item)).then_some(item)
    }

    /// Nothing is known any more of what has been looked at.
    pub(super) fn stir_all(&mut self) {
        self.stirred.extend(self.view.restless_items().map(|(item, _)| item));
        self.stirred.extend(self.local.runs.items());
    }

    /// Notes what this process was asked for, under an id that no other request has.
    fn want_trigger(
        &mut self,
        now: Now,
        parameter: Option<RequestParameter>,
        out: &mut Vec<Command>,
    ) {
        let at = self.time_of_request(now);
        let me = self.me.as_ref().map_or(self.identity.server.as_str(), InstanceId::as_str);
        let refused = match &parameter {
            _ if !self.local.is_active() => Some(DropReason::Leaving),
            Some(_) if !self.view.carries_parameters() => Some(DropReason::ParameterNotCarried),
            Some(told) if self.is_too_much(told) => Some(DropReason::TooMuchToTell),
            Some(_) | None => None,
        };
        if let Some(reason) = refused {
            let id = format!("{me}-{}", at.0);
            out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            return;
        }
        let wanted = WantedTrigger::new(at, parameter);
        self.local.wanted_triggers.insert(format!("{me}-{}", at.0), wanted);
    }

    /// Later than that of every request before it, though the clock was set back meanwhile (simulation seed 14123270).
    fn time_of_request(&mut self, now: Now) -> FireTime {
        let by_clock = FireTime::of_request(now.wall_ms);
        let last = self.local.last_request;
        let at = last.map_or(by_clock, |FireTime(last)| by_clock.max(FireTime(last + 2)));
        self.local.last_request = Some(at);
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
        // The clock was set back after the fire had come: the timer fires again when its time comes.
        let is_early = at.0 > now.wall_ms.saturating_add(EARLY_MS);
        if is_early {
            return;
        }
        if let Some(known) = self.local.due.as_mut().filter(|known| known.at == at) {
            *known = due;
            return;
        }
        if self.local.last_fire_seen >= Some(at) {
            return;
        }
        self.report_unclaimed(MissReason::Superseded, out);
        self.report_unstarted(MissReason::Superseded, out);
        self.local.java.inference.fire(&self.view, at);
        self.local.last_fire_seen = Some(at);
        let reason = match self.local.phase {
            Phase::Active if self.is_paused() => MissReason::Paused,
            Phase::Active if self.is_disabled() => MissReason::ServerDisabled,
            Phase::Active => {
                self.local.due = Some(due);
                self.run_unmonitored(at, out);
                return;
            }
            Phase::Draining | Phase::Left => MissReason::Leaving,
        };
        out.push(Command::Emit(JobEvent::Missed { item: None, fire: at, reason }));
    }

    /// Reports a fire that this instance misses because its clock is wrong. Nothing remembers the fire.
    pub(super) fn miss_by_clock(&mut self, fire: FireTime, out: &mut Vec<Command>) {
        let reason = MissReason::ClockDiffers;
        out.push(Command::Emit(JobEvent::Missed { item: None, fire, reason }));
    }

    /// An operator has disabled this instance's server.
    fn is_disabled(&self) -> bool {
        let server = &self.identity.server;
        self.view.server_version(server).is_some() && !self.view.is_enabled(server)
    }

    /// Returns why a fire is not run although the reason is only that the next one came first.
    fn with_outage(&self, reason: MissReason, fire: FireTime) -> MissReason {
        let outage = self.outage.filter(|outage| outage.reaches(fire));
        match (reason, outage) {
            (MissReason::Superseded, Some(outage)) => MissReason::RegistryUnreachable(outage),
            _ => reason,
        }
    }

    /// Reports the items of the fire that was due until now and that no instance has claimed.
    fn report_unclaimed(&mut self, reason: MissReason, out: &mut Vec<Command>) {
        let (Some(due), Some(me)) = (self.local.due.take(), &self.me) else { return };
        // A job that catches up runs it yet.
        if self.view.config().is_some_and(|config| config.catch_up.is_some()) {
            return;
        }
        let fire = due.at;
        let claiming = self.in_flight.contains_key(&Duty::Claim);
        let monitored = self.view.config().is_some_and(|config| config.monitor_execution);
        if !monitored || claiming {
            return;
        }
        let makes_up = self.view.config().is_some_and(|config| config.misfire);
        let reason = self.with_outage(reason, fire);
        let unsettled = self.view.accounted_by(me, self.view.unsettled_items(fire));
        for (item, view) in unsettled.filter(|(_, view)| view.ledger.is_some()) {
            // The end of a run here may not have reached the registry.
            let has_ended = self.local.runs.get(item).is_some_and(|run| run.outcome.is_some());
            let still_runs = view.is_busy() && !makes_up && !has_ended;
            let reason = if still_runs { MissReason::StillRunning } else { reason };
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        }
    }

    /// Reports the fire of a job that is not monitored for which nobody knew in time whose the items are.
    fn report_unstarted(&mut self, reason: MissReason, out: &mut Vec<Command>) {
        if let Some(fire) = self.local.unmonitored_fire.take() {
            let reason = self.with_outage(reason, fire);
            out.push(Command::Emit(JobEvent::Missed { item: None, fire, reason }));
        }
    }

    /// Without monitoring nothing is claimed: the owner runs what does not run here already. While a Java leader is about to
    /// assign items anew nobody knows whose they are: the fire waits, as it does at Java instances.
    pub(super) fn run_unmonitored(&mut self, fire: FireTime, out: &mut Vec<Command>) {
        let waits = self.view.is_java_assigning();
        if self.may_start_unclaimed() && waits {
            self.local.unmonitored_fire = Some(fire);
            return;
        }
        let Some(me) = self.me.as_ref().filter(|_| self.may_start_unclaimed()) else { return };
        let mine = self.view.claimable_by(me, self.view.items());
        let items: Vec<_> = mine.map(|(item, view)| (item, view.is_disabled())).collect();
        let mut starts = Vec::new();
        for (item, disabled) in items {
            let reason = if disabled {
                MissReason::ItemDisabled
            } else if self.local.runs.has(item) {
                MissReason::StillRunning
            } else {
                starts.extend(self.start_unclaimed(item, fire, RunSource::Normal));
                continue;
            };
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    /// Runs may start here, and they are not claimed.
    pub(super) fn may_start_unclaimed(&self) -> bool {
        let unmonitored = self.view.config().is_some_and(|config| !config.monitor_execution);
        let may = self.connected && self.local.may_start() && self.is_available();
        may && unmonitored
    }

    pub(super) fn start_unclaimed(
        &mut self,
        item: ShardingItem,
        fire: FireTime,
        source: RunSource,
    ) -> Option<StartItem> {
        let config = self.view.config_in_force()?;
        let start = StartItem {
            item,
            token: FencingToken(0),
            fire,
            source,
            merged: None,
            request_parameter: None,
            holder: self.me.clone()?,
            config: Arc::clone(&config.value),
            config_version: config.version,
        };
        let run = LocalRun::unmarked(start.holder.clone(), start.token, fire, source);
        self.local.runs.insert(item, run);
        Some(start)
    }

    fn finish(
        &mut self,
        item: ShardingItem,
        token: FencingToken,
        (outcome, reason): (Outcome, Option<FailureReason>),
        out: &mut Vec<Command>,
    ) {
        let run = self.local.runs.get(item).filter(|run| run.token == token);
        let Some(&LocalRun { fire, source, .. }) = run else { return };
        self.local.runs.change(item, |run| {
            run.outcome = Some(outcome);
            run.failure = reason.filter(|_| outcome != Outcome::Succeeded);
        });
        self.stirred.insert(item);
        if token == FencingToken(0) {
            self.local.runs.remove(item);
            let settled = JobEvent::Settled { item, fire, source, token, outcome };
            out.push(Command::Emit(settled));
        }
    }

    fn drain(&mut self, out: &mut Vec<Command>) {
        if self.local.phase == Phase::Active {
            self.report_unclaimed(MissReason::Leaving, out);
            self.report_unstarted(MissReason::Leaving, out);
            self.local.phase = Phase::Draining;
            self.local.unmonitored_request = None;
            for (id, wanted) in std::mem::take(&mut self.local.wanted_triggers) {
                let reason = match wanted.way {
                    RequestWay::Here => DropReason::Leaving,
                    RequestWay::Sent | RequestWay::InDoubt => DropReason::InDoubt,
                };
                out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            }
        }
    }
}
