//! Observing: compares the view with what this instance knew before, and reports the differences.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sharding::InstanceId;

use super::Coordinator;
use crate::duty::takeover::ORPHAN_PATIENCE;
use crate::gap::Seen;
use crate::java;
use crate::java::memory::Surroundings;
use crate::local::fires::Due;
use crate::local::requests::RequestProgress;
use crate::local::{Local, LocalCall, Phase};
use crate::protocol::trigger_record::TriggerRecord;
use crate::view::ConfigState;
use crate::view::config::ConfigStamp;
use crate::view::item::Attention;
use crate::{
    Command, DropReason, Duty, FireTime, JobConfig, JobEvent, LONGEST_SLEEP, MaxTimeDiff,
    MissReason, Now, OnceCall, OnceStage, RequestParameter,
};
use crate::{Versioned, shortened};

impl Coordinator {
    /// Compares the view with the last known state.
    ///
    /// The clock comes first among the reasons to act: it drops a due fire that a wrong clock
    /// caused. Ended runs are forgotten before the check that the instance has left.
    pub(super) fn observe(&mut self, now: Now, out: &mut Vec<Command>) {
        self.observe_config(now, out);
        self.observe_clock(now, out);
        self.observe_java(now, out);
        self.observe_runs(out);
        self.observe_membership(out);
        self.observe_leadership(out);
        self.observe_due(now);
        self.observe_last_fire(now);
        self.observe_delay(now, out);
        self.observe_triggers(now, out);
        self.observe_drops(now, out);
        self.observe_request();
        self.observe_orphans(now);
        self.observe_servers(now);
        self.observe_calls(out);
        self.run_unmonitored_fire(now, out);
        self.run_unmonitored_request(now, out);
    }

    fn observe_config(&mut self, now: Now, out: &mut Vec<Command>) {
        if !self.view.is_synced() {
            return;
        }
        self.note_schedule(now);
        // The last valid one, even if the feed delivered it together with a later invalid one.
        if let Some(Versioned { value, .. }) = self.view.config_in_force()
            && self.reported.config.as_ref() != Some(value)
        {
            self.reported.config = Some(Arc::clone(value));
            out.push(Command::Schedule(Arc::clone(value)));
        }
        let fault = match self.view.config_state() {
            ConfigState::Valid(_) => None,
            ConfigState::Absent => Some("there is no stored configuration".to_owned()),
            ConfigState::Invalid { reason, .. } => Some(reason.clone()),
        };
        if self.reported.config_fault != fault
            && let Some(reason) = &fault
        {
            let reason = shortened(reason);
            out.push(Command::Emit(JobEvent::ConfigRejected { reason }));
        }
        self.reported.config_fault = fault;
    }

    /// Records when the present schedule came into force.
    fn note_schedule(&mut self, now: Now) {
        let Some(config) = self.view.config() else { return };
        let (Some(valid), Some(stored)) = (self.view.valid_config(), self.view.stored_config())
        else {
            return;
        };
        // The registry's date is comparable with fires only if the clocks are compared as well.
        let is_compared = config.max_time_diff != MaxTimeDiff::Off;
        let written = |stamp: ConfigStamp| stamp.written_at.filter(|_| is_compared);
        let present = FireTime(config.max_time_diff.present_ms(now));
        let schedules = &mut self.local.fires.schedules;
        if !schedules.has_noted(config, valid.version) {
            let date = written(valid).unwrap_or(present);
            let is_dated = written(valid).is_some();
            let seen = Seen { config, version: valid.version, date, is_dated };
            let horizon = config.max_time_diff.horizon_ms(present.0);
            let last_fire = self.local.fires.last_seen.filter(|fire| fire.0 <= horizon);
            schedules.note(&seen, last_fire.max(Some(FireTime(now.wall_ms))));
        }
        if stored.version != valid.version {
            schedules.note_invalid(stored.version, written(stored).unwrap_or(present));
        }
    }

    /// Reports once that the clocks differ, and cancels a due fire that a wrong clock caused.
    fn observe_clock(&mut self, now: Now, out: &mut Vec<Command>) {
        let difference = self.clock_differs_by(now);
        match (std::mem::replace(&mut self.reported.clock_differs_by, difference), difference) {
            (None, Some(ahead_ms)) => {
                out.push(Command::Emit(JobEvent::ClockDiffers { ahead_ms }));
            }
            (Some(_), None) => out.push(Command::Emit(JobEvent::ClockAgrees)),
            (None, None) | (Some(_), Some(_)) => {}
        }
        // The view can show the registration before its reply, which carries the registry's time.
        let registers = self.in_flight.get(&Duty::Membership).is_some_and(|f| f.is_sent());
        self.local.session.awaits_time = registers && now.registry_ms.is_none();
        let horizon = self.horizon_ms(now);
        let in_future = self.local.fires.last_seen.filter(|fire| fire.0 > horizon);
        let Some(fire) = in_future else { return };
        self.local.fires.last_seen = None;
        // The true fire at this time may still run.
        self.local.fires.missed_by_all.take_if(|missed| missed.at == fire);
        if self.local.fires.due.take_if(|due| due.at == fire).is_some() {
            self.miss_by_clock(fire, out);
        }
    }

    /// Returns the latest credible time of a fire: a later one proves that this clock is wrong.
    fn horizon_ms(&self, now: Now) -> i64 {
        let bound = self.view.max_time_diff();
        bound.horizon_ms(bound.present_ms(now))
    }

    /// Returns the lead of this clock over the registry's, in milliseconds, if it exceeds the
    /// bound.
    pub(super) fn clock_differs_by(&self, now: Now) -> Option<i64> {
        self.view.max_time_diff().exceeded_by(now)
    }

    fn observe_java(&mut self, now: Now, out: &mut Vec<Command>) {
        let Local { java, runs, fires, .. } = &mut self.local;
        let around = Surroundings {
            now,
            me: self.me.as_ref(),
            view: &self.view,
            runs,
            due: fires.due.as_ref(),
            last_fire: fires.last_seen,
            calls_back: self.settings.calls_back,
        };
        java.observe(&around, out);
    }

    fn observe_membership(&mut self, out: &mut Vec<Command>) {
        let Some(me) = self.me.clone() else { return };
        let registered = self.connected && self.is_registered();
        if registered && !self.local.session.was_registered {
            self.local.session.was_registered = true;
            out.push(Command::Emit(JobEvent::Joined { instance: me }));
        } else if self.connected
            && self.view.is_synced()
            && !registered
            && self.local.session.was_registered
        {
            self.observe_deregistration(me, out);
        }
        if self.has_left() && !self.reported.left {
            self.leave(out);
        }
    }

    /// Returns true if a draining instance has no runs and no nodes in the registry left.
    ///
    /// A lost connection proves nothing, because the session and its nodes may live on. The end of
    /// the session does prove it, because the registry has then removed these nodes.
    fn has_left(&self) -> bool {
        let Some(me) = &self.me else { return self.local.phase == Phase::Draining };
        let leftovers = self.is_registered()
            || self.view.is_draining(me)
            || self.view.leader() == Some(me)
            || self.local.session.maybe_registered
            || self.in_flight.contains_key(&Duty::Membership);
        let idle = self.local.phase == Phase::Draining && !self.local.is_busy();
        idle && (self.session.is_none() || !leftovers)
    }

    /// Handles the removal of this instance's node by itself on leaving, or else by an operator.
    /// The session lives, so it has not expired.
    fn observe_deregistration(&mut self, me: InstanceId, out: &mut Vec<Command>) {
        if self.local.phase == Phase::Draining {
            out.push(Command::Emit(JobEvent::Left { instance: me }));
            self.local.session.was_registered = false;
        } else if !self.reported.leave_requested {
            self.reported.leave_requested = true;
            out.push(Command::LeaveRequested);
        }
    }

    fn leave(&mut self, out: &mut Vec<Command>) {
        self.reported.left = true;
        self.local.phase = Phase::Left;
        out.push(Command::Left);
    }

    fn observe_leadership(&mut self, out: &mut Vec<Command>) {
        let leads = self.me.as_ref().and_then(|me| self.view.term_of(me));
        if leads == self.reported.leads {
            return;
        }
        self.reported.leads = leads;
        out.push(Command::Emit(match leads {
            Some(term) => JobEvent::BecameLeader { term: u64::from(term.0) },
            None => JobEvent::LostLeadership,
        }));
    }

    /// Makes the fire of the assignment record due, if this instance has seen no fire yet.
    ///
    /// The former owners of its items may have had no time to claim them for that fire. A job that
    /// catches up is left out: its next fire finds this one and all earlier fires in order.
    fn observe_due(&mut self, now: Now) {
        let (Some(me), Some(assignment)) = (&self.me, self.view.assignment()) else { return };
        let runs_once =
            |config: &Arc<JobConfig>| config.monitor_execution && config.catch_up.is_none();
        let monitored = self.view.config().is_some_and(runs_once);
        let newcomer = self.local.fires.last_seen.is_none() && self.local.is_active();
        if !newcomer || !monitored || self.is_paused() {
            return;
        }
        let record = &assignment.value;
        let alone = self.is_alone();
        if !alone || !record.members.contains(me) {
            return;
        }
        let horizon = self.horizon_ms(now);
        let is_credible = |at: &FireTime| at.0 <= horizon;
        let Some(at) = record.due.filter(|at| at.0 <= now.wall_ms).filter(is_credible) else {
            return;
        };
        let next =
            self.view.config().and_then(|config| self.settings.lookup.next_after(config, at));
        self.local.fires.last_seen = Some(at);
        self.local.fires.due = Some(Due { at, next, missed: None });
    }

    /// Returns true if fires that no timer sends can become due here.
    fn may_find_fires(&self, now: Now) -> bool {
        let is_open = self.local.is_active() && !self.is_paused() && !self.is_disabled();
        let knows_time = self.clock_differs_by(now).is_none() && !self.local.session.awaits_time;
        is_open && knows_time && self.view.is_synced() && self.is_alone()
    }

    /// Makes the next fire of a job with a fixed delay due, at its time or as soon as this instance
    /// may start runs. Every instance derives it from the same record.
    fn observe_delay(&mut self, now: Now, out: &mut Vec<Command>) {
        self.local.fires.delay_ends = None;
        let Some(at) = self.view.delayed_fire() else { return };
        let is_known = self.local.fires.due.as_ref().is_some_and(|due| due.at == at);
        if is_known || !self.may_find_fires(now) {
            return;
        }
        let until = u64::try_from(at.0.saturating_sub(now.wall_ms)).unwrap_or(0);
        if until > 0 {
            let pause = Duration::from_millis(until).min(LONGEST_SLEEP);
            self.local.fires.delay_ends = Some(now.mono + pause);
            return;
        }
        self.report_unclaimed(now, MissReason::Superseded, out);
        self.local.fires.last_seen = self.local.fires.last_seen.max(Some(at));
        self.local.fires.due = Some(Due { at, next: None, missed: Some(Vec::new()) });
    }

    /// Returns true without Java instances. Beside them nothing shows whether one of them has run a
    /// fire that this instance has not seen.
    fn is_alone(&self) -> bool {
        !self.view.is_mixed()
    }

    /// Makes the last fire of a schedule that has ended due, if this instance has seen no fire yet
    /// and the fire lies within the window of the catch-up: no later fire would find it.
    ///
    /// The record of each item decides whether it owes the fire.
    fn observe_last_fire(&mut self, now: Now) {
        let has_seen_fire = self.local.fires.last_seen.is_some();
        if has_seen_fire || !self.may_find_fires(now) {
            return;
        }
        let Some(Versioned { value: config, version }) = self.view.config_in_force() else {
            return;
        };
        let Some(policy) = config.catch_up.filter(|_| config.monitor_execution) else { return };
        // A fire that jitter still delays is not missed.
        let delay = config.jitter_ms.map_or(0, i64::from);
        let present = FireTime(now.wall_ms.saturating_sub(delay));
        let known = self.local.fires.next_seen.filter(|(of, _)| of == version);
        if known.is_some_and(|(_, next)| present < next) {
            return;
        }
        let lookup = &self.settings.lookup;
        let next = lookup.next_after(config, present).unwrap_or(FireTime(i64::MAX));
        self.local.fires.next_seen = Some((*version, next));
        let has_ended = next == FireTime(i64::MAX);
        let last = lookup.last_before_end(config, policy, present).filter(|_| has_ended);
        let Some(at) = last else { return };
        // Behind a narrow watch only some of the items show which fires are missed.
        let is_complete = self.view.followed().is_all();
        let since = self.view.owes_after();
        let missed = is_complete.then(|| lookup.missed_before(config, policy, (since, at)));
        self.local.fires.last_seen = Some(at);
        self.local.fires.due = Some(Due { at, next: None, missed });
    }

    /// Observes manual requests: those that this process wrote, and the one at its instance node.
    ///
    /// A request of this process has arrived once the view shows it. A request at the instance node
    /// was accepted if it is gone, because only this instance removes it.
    fn observe_triggers(&mut self, now: Now, out: &mut Vec<Command>) {
        // Until the view shows this registration, it may be that of the former incarnation.
        let known = self.connected && self.view.is_synced() && self.is_registered();
        let view = &self.view;
        self.local.requests.wanted.retain(|id, wanted| {
            let arrived = view.trigger_request(id).is_some();
            let dropped = !arrived && known && wanted.progress == RequestProgress::InDoubt;
            if dropped {
                let (id, reason) = (id.clone(), DropReason::InDoubt);
                out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            }
            !arrived && !dropped
        });
        let Some(me) = self.me.clone() else { return };
        let seen = self.local.requests.trigger_seen;
        if let Some(triggered) = self.view.run_request_of(&me) {
            self.local.requests.trigger_seen = Some(triggered);
        } else if seen.is_some() && self.is_registered() {
            self.local.requests.trigger_seen = None;
            self.accept_unmonitored(FireTime::of_request(now.wall_ms));
        }
    }

    /// Reports dropped requests that this instance will remove from the registry.
    ///
    /// A dropped request stays there until the instance that removes it has seen it. That instance
    /// reports it, so the report does not depend on the reply to a commit.
    fn observe_drops(&mut self, now: Now, out: &mut Vec<Command>) {
        if !self.view.is_synced() {
            return;
        }
        let Some(me) = self.me.clone() else { return };
        let cx = self.context(now, &me);
        let dropped = self.view.triggers().filter(|(_, trigger)| trigger.value.was_dropped());
        let mine = dropped.filter(|(_, trigger)| java::clears_requests_of(&cx, &trigger.value.by));
        let reasons: BTreeMap<_, _> =
            mine.map(|(id, trigger)| (id.to_owned(), self.why_dropped(&trigger.value))).collect();
        let ids = reasons.keys().cloned().collect();
        let reported = std::mem::replace(&mut self.reported.dropped, ids);
        for (id, reason) in reasons {
            if !reported.contains(&id) {
                out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            }
        }
    }

    fn why_dropped(&self, record: &TriggerRecord) -> DropReason {
        if self.view.carries_parameters()
            && let Some(parameter) = &record.parameter
            && self.is_too_large(parameter)
        {
            return DropReason::ParameterTooLarge;
        }
        DropReason::ParameterNotCarried
    }

    /// Returns true if a request for all items with this parameter would exceed the size limit.
    pub(super) fn is_too_large(&self, parameter: &RequestParameter) -> bool {
        let Some(config) = self.view.config() else { return false };
        let n_items = usize::try_from(config.sharding_total_count);
        n_items.is_ok_and(|n_items| !parameter.fits_items(n_items))
    }

    fn observe_servers(&mut self, now: Now) {
        if self.connected && self.view.is_synced() {
            self.idle_servers.observe(&self.view, now.mono);
        }
    }

    fn observe_orphans(&mut self, now: Now) {
        let any = self.view.any_with(Attention::Orphaned);
        let since = self.local.orphans_since.unwrap_or(now.mono);
        self.local.orphans_since = any.then_some(since);
        self.reported.patience_over = any && since + ORPHAN_PATIENCE <= now.mono;
    }

    /// Starts each callback that the registry assigns to this instance once, and forgets callbacks
    /// whose return is recorded.
    fn observe_calls(&mut self, out: &mut Vec<Command>) {
        // Without a session the view may still show the calls of the former incarnation.
        if self.session.is_none() {
            return;
        }
        let Some(me) = self.me.clone() else { return };
        for stage in OnceStage::ALL {
            let recorded = self.view.once().and_then(|once| once.value.call(stage));
            let Some(call) = recorded.cloned() else { continue };
            let known = self.local.calls.get(&stage).map(|local| local.token);
            if call.holder == me && !call.done && known < Some(call.token) {
                let local = LocalCall { token: call.token, done: false };
                self.local.calls.insert(stage, local);
                let OnceCall { fire, token, .. } = call;
                out.push(Command::CallOnce { stage, fire, token });
            } else if known.is_some_and(|known| known < call.token)
                || (known == Some(call.token) && call.done)
            {
                self.local.calls.remove(&stage);
            }
        }
    }
}
