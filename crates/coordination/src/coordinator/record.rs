//! Recording: one line per event, changing only what this instance knows.

use reg_center::{Change, SessionId};
use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::duty::Duty;
use crate::local::{LocalRun, Phase};
use crate::{
    Command, Event, FencingToken, FireTime, InterruptReason, JobEvent, Ledger, MissReason, Now,
    Outcome, RunSource, StartItem,
};

impl Coordinator {
    pub(super) fn record(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Connected { session, incarnation } => self.connect(session, incarnation),
            Event::Suspended => self.connected = false,
            Event::LeaseExpired => self.interrupt(InterruptReason::LeaseExpired, out),
            Event::Lost => self.lose(out),
            Event::Registry(change) => self.apply(change, out),
            Event::Fire { at } => self.fire(at, out),
            Event::TriggerRequested => self.local.trigger_wanted = self.local.is_active(),
            Event::Replied { ticket, reply } => self.replied(now, ticket, reply, out),
            Event::ItemFinished { item, token, outcome } => self.finish(item, token, outcome, out),
            Event::Paused => self.local.paused = true,
            Event::Resumed => self.local.paused = false,
            Event::Drain => self.drain(),
            Event::Wake => {}
        }
    }

    fn connect(&mut self, session: SessionId, incarnation: InstanceId) {
        if self.session != Some(session) {
            self.session = Some(session);
            self.me = Some(incarnation);
            self.in_flight.clear();
            self.local.was_registered = false;
        }
        self.connected = true;
        self.local.lease = true;
    }

    fn interrupt(&mut self, reason: InterruptReason, out: &mut Vec<Command>) {
        self.local.lease = false;
        if self.local.runs.values().any(|run| run.outcome.is_none()) {
            out.push(Command::Interrupt(reason));
        }
    }

    fn lose(&mut self, out: &mut Vec<Command>) {
        self.interrupt(InterruptReason::SessionLost, out);
        self.connected = false;
        self.session = None;
        self.in_flight.clear();
        self.local.lose_session();
    }

    fn apply(&mut self, change: Change, out: &mut Vec<Command>) {
        self.changes += 1;
        if let Err(anomaly) = self.view.apply(change) {
            let path = anomaly.path.to_string();
            out.push(Command::Emit(JobEvent::Anomaly { path, reason: anomaly.reason }));
        }
    }

    fn fire(&mut self, at: FireTime, out: &mut Vec<Command>) {
        if self.local.last_fire_seen >= Some(at) {
            return;
        }
        self.report_unclaimed(out);
        self.local.last_fire_seen = Some(at);
        let reason = match self.local.phase {
            Phase::Active if self.local.paused => MissReason::Paused,
            Phase::Active => {
                self.local.due = Some(at);
                self.run_unmonitored(at, out);
                return;
            }
            Phase::Draining | Phase::Left => MissReason::Leaving,
        };
        out.push(Command::Emit(JobEvent::Missed { item: None, fire: at, reason }));
    }

    /// Reports the items of the fire that was due until now and that nobody has claimed.
    fn report_unclaimed(&mut self, out: &mut Vec<Command>) {
        let (Some(fire), Some(me)) = (self.local.due.take(), &self.me) else { return };
        let claiming = self.in_flight.contains_key(&Duty::Claim);
        let monitored = self.view.config().is_some_and(|config| config.monitor_execution);
        let makes_up = self.view.config().is_some_and(|config| config.misfire);
        for (item, view) in self.view.items_of(me) {
            let settled = view.ledger.as_ref().is_none_or(|l| l.value.has_settled(fire));
            let reason = if view.is_busy() && !makes_up {
                MissReason::StillRunning
            } else {
                MissReason::Superseded
            };
            if monitored && !settled && !claiming {
                out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
            }
        }
    }

    /// Without monitoring nothing is claimed: the owner runs what does not run here already.
    fn run_unmonitored(&mut self, fire: FireTime, out: &mut Vec<Command>) {
        let Some(me) = &self.me else { return };
        let startable = self.connected && self.local.may_start() && self.view.is_available(me);
        let unmonitored = self.view.config().is_some_and(|config| !config.monitor_execution);
        if !startable || !unmonitored {
            return;
        }
        let items: Vec<_> =
            self.view.items_of(me).map(|(item, view)| (item, view.disabled)).collect();
        let mut starts = Vec::new();
        for (item, disabled) in items {
            let reason = if disabled {
                MissReason::ItemDisabled
            } else if self.local.runs.contains_key(&item) {
                MissReason::StillRunning
            } else {
                starts.extend(self.start_unclaimed(item, fire));
                continue;
            };
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    fn start_unclaimed(&mut self, item: ShardingItem, fire: FireTime) -> Option<StartItem> {
        let me = self.me.clone()?;
        let claimed = Ledger::new(None).claim(me, fire, RunSource::Normal)?;
        let unfenced = Ledger { token: FencingToken(0), ..claimed };
        let start = self.start_item(item, &unfenced)?;
        let run = LocalRun {
            holder: start.holder.clone(),
            token: start.token,
            fire,
            source: start.source,
            outcome: None,
            shows_running: false,
            shows_failover: false,
        };
        self.local.runs.insert(item, run);
        Some(start)
    }

    fn finish(
        &mut self,
        item: ShardingItem,
        token: FencingToken,
        outcome: Outcome,
        out: &mut Vec<Command>,
    ) {
        let Some(run) = self.local.runs.get_mut(&item).filter(|run| run.token == token) else {
            return;
        };
        run.outcome = Some(outcome);
        if token == FencingToken(0) {
            let (fire, source) = (run.fire, run.source);
            self.local.runs.remove(&item);
            let settled = JobEvent::Settled { item, fire, source, token, outcome };
            out.push(Command::Emit(settled));
        }
    }

    fn drain(&mut self) {
        if self.local.phase == Phase::Active {
            self.local.phase = Phase::Draining;
            self.local.due = None;
            self.local.request = None;
            self.local.trigger_wanted = false;
        }
    }
}
