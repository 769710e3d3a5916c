//! Observing: what the view shows now, compared with what was known before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use crate::duty::Duty;
use crate::duty::takeover::ORPHAN_PATIENCE;
use crate::duty::trigger::removes_requests_of;
use crate::gap::Seen;
use crate::java::{self, Surroundings};
use crate::local::{Due, Local, LocalCall, Phase, RequestWay, UnmonitoredRequest};
use crate::plan::{Plan, Step};
use crate::protocol::trigger_record::TriggerRecord;
use crate::runs::{LocalRun, OwnMarks};
use crate::shortened;
use crate::view::items::{Attention, ItemView};
use crate::view::{ConfigState, Versioned};
use crate::{
    Command, DropReason, FencingToken, FireTime, JobConfig, JobEvent, Ledger, MaxTimeDiff, Now,
    OnceCall, OnceStage, Outcome, RequestParameter, RunSource, StartItem,
};

/// Items with the tokens under which they may be claimed.
type SentClaims = BTreeSet<(ShardingItem, FencingToken)>;

impl Coordinator {
    pub(super) fn observe(&mut self, now: Now, out: &mut Vec<Command>) {
        self.observe_config(now, out);
        self.observe_clock(now, out);
        self.observe_java(now, out);
        self.observe_runs(out);
        self.observe_membership(out);
        self.observe_leadership(out);
        self.observe_due(now);
        self.observe_triggers(now, out);
        self.observe_drops(now, out);
        self.observe_request();
        self.observe_orphans(now);
        self.observe_calls(out);
        self.run_unmonitored_fire(out);
        self.run_unmonitored_request(out);
    }

    fn observe_config(&mut self, now: Now, out: &mut Vec<Command>) {
        if !self.view.is_synced() {
            return;
        }
        self.note_schedule(now);
        // The last one that can be used, even if the feed brought it together with a later one that cannot.
        if let Some(Versioned { value, .. }) = self.view.config_in_force()
            && self.told.config.as_ref() != Some(value)
        {
            self.told.config = Some(Arc::clone(value));
            out.push(Command::Schedule(Arc::clone(value)));
        }
        let fault = match self.view.config_state() {
            ConfigState::Valid(_) => None,
            ConfigState::Absent => Some("there is no stored configuration".to_owned()),
            ConfigState::Invalid { reason, .. } => Some(reason.clone()),
        };
        if let Some(reason) = fault.clone().filter(|_| self.told.config_fault != fault) {
            let reason = shortened(&reason);
            out.push(Command::Emit(JobEvent::ConfigRejected { reason }));
        }
        self.told.config_fault = fault;
    }

    /// Notes when the schedule in force came into force.
    fn note_schedule(&mut self, now: Now) {
        let Some(Versioned { value: config, version }) = self.view.config_in_force() else {
            return;
        };
        if self.local.schedules.has_noted(config, *version) {
            return;
        }
        let is_compared = config.max_time_diff != MaxTimeDiff::Off;
        let written = self.view.config_written_at().filter(|_| is_compared);
        let date = written.unwrap_or(FireTime(config.max_time_diff.present_ms(now)));
        let seen = Seen { config, version: *version, date, is_dated: written.is_some() };
        let horizon = self.horizon_ms(now);
        let last_fire = self.local.last_fire_seen.filter(|fire| fire.0 <= horizon);
        self.local.schedules.note(&seen, last_fire.max(Some(FireTime(now.wall_ms))));
    }

    /// Reports once that the clocks differ, and takes back a fire that came before that was known.
    fn observe_clock(&mut self, now: Now, out: &mut Vec<Command>) {
        let difference = self.clock_differs_by(now);
        match (std::mem::replace(&mut self.told.clock_differs_by, difference), difference) {
            (None, Some(ahead_ms)) => {
                out.push(Command::Emit(JobEvent::ClockDiffers { ahead_ms }));
            }
            (Some(_), None) => out.push(Command::Emit(JobEvent::ClockAgrees)),
            (None, None) | (Some(_), Some(_)) => {}
        }
        // The view can show the registration before its reply comes, which carries the registry's time.
        let registers = self.in_flight.get(&Duty::Membership).is_some_and(|f| f.is_sent());
        self.local.awaits_time = registers && now.registry_ms.is_none();
        let horizon = self.horizon_ms(now);
        let in_future = self.local.last_fire_seen.filter(|fire| fire.0 > horizon);
        let Some(fire) = in_future else { return };
        self.local.last_fire_seen = None;
        if self.local.due.take_if(|due| due.at == fire).is_some() {
            self.miss_by_clock(fire, out);
        }
    }

    fn max_time_diff(&self) -> MaxTimeDiff {
        self.view.config().map_or(MaxTimeDiff::Default, |config| config.max_time_diff)
    }

    /// Returns the time after which a fire can come from a wrong clock only.
    fn horizon_ms(&self, now: Now) -> i64 {
        let bound = self.max_time_diff();
        bound.horizon_ms(bound.present_ms(now))
    }

    /// Returns how far this instance's clock is ahead of the registry's, in milliseconds, if that is beyond the bound.
    pub(super) fn clock_differs_by(&self, now: Now) -> Option<i64> {
        self.max_time_diff().exceeded_by(now)
    }

    fn observe_java(&mut self, now: Now, out: &mut Vec<Command>) {
        let Local { java, runs, due, last_fire_seen, .. } = &mut self.local;
        let around = Surroundings {
            now,
            me: self.me.as_ref(),
            view: &self.view,
            runs,
            due: due.as_ref(),
            last_fire: *last_fire_seen,
            calls_back: self.settings.calls_back,
        };
        java.observe(&around, out);
    }

    fn observe_membership(&mut self, out: &mut Vec<Command>) {
        let Some(me) = self.me.clone() else { return };
        let registered = self.connected && self.is_registered();
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
        if self.has_left() && !self.told.left {
            self.leave(out);
        }
    }

    /// Nothing of this life is left, here or in the registry. A connection that is gone proves nothing: the session, and
    /// what it owns, may live on (simulation seed 690). A session that is over has taken everything along.
    fn has_left(&self) -> bool {
        let Some(me) = &self.me else { return self.local.phase == Phase::Draining };
        let leftovers = self.is_registered()
            || self.view.is_draining(me)
            || self.view.leader() == Some(me)
            || self.local.maybe_registered
            || self.in_flight.contains_key(&Duty::Membership);
        let idle = self.local.phase == Phase::Draining && !self.local.is_busy();
        idle && (self.session.is_none() || !leftovers)
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

    /// A fire that came before this instance was there is due here as well, if items were dealt out after it: whoever had
    /// them may have had no time to claim them. A job that catches up finds it with its next fire, and what came before it
    /// as well, which nobody knows here (simulation seed 158).
    fn observe_due(&mut self, now: Now) {
        let (Some(me), Some(assignment)) = (&self.me, self.view.assignment()) else { return };
        let runs_once =
            |config: &Arc<JobConfig>| config.monitor_execution && config.catch_up.is_none();
        let monitored = self.view.config().is_some_and(runs_once);
        let newcomer = self.local.last_fire_seen.is_none() && self.local.is_active();
        let (record, may) = (&assignment.value, newcomer && monitored && !self.is_paused());
        let alone = !self.view.is_mixed();
        let due = record.due.filter(|_| may && alone);
        let due = due.filter(|_| record.members.contains(me));
        let horizon = self.horizon_ms(now);
        let known = |at: &FireTime| at.0 <= horizon;
        let Some(at) = due.filter(|at| at.0 <= now.wall_ms).filter(known) else { return };
        let next =
            self.view.config().and_then(|config| self.settings.lookup.next_after(config, at));
        self.local.last_fire_seen = Some(at);
        self.local.due = Some(Due { at, next, missed: None });
    }

    /// Starts runs that the registry shows as ours, although no reply said so; forgets those whose end is recorded. Runs
    /// that this life never claimed are given up: an earlier life had the same id.
    fn observe_runs(&mut self, out: &mut Vec<Command>) {
        self.note_shown_claims();
        self.forget_settled_runs(out);
        let Some(me) = self.me.clone() else { return };
        if self.session.is_none() || self.has_namesake() {
            return;
        }
        debug_assert!(self.has_looked_at_the_others(&me), "{:?} are not all", self.stirred);
        let stirred = std::mem::take(&mut self.stirred);
        let ours: Vec<_> = stirred
            .into_iter()
            .filter_map(|item| Some((item, &self.view.item(item).ledger.as_ref()?.value)))
            .filter(|(item, ledger)| self.has_to_be_looked_at(*item, ledger, &me))
            .map(|(item, ledger)| (item, ledger.clone()))
            .collect();
        let sent = if ours.is_empty() { SentClaims::new() } else { self.sent_claims(&me) };
        for (item, ledger) in &ours {
            let ours = self.may_have_claimed(*item, ledger, &sent);
            if !ours || self.is_put_back(*item, ledger, &me) {
                self.give_up_foreign_run(*item, ledger);
            } else if let Some(config) = self.config_of_claim(*item, ledger).cloned() {
                self.start_runs(std::iter::once((*item, ledger)), &config, out);
            }
        }
        let waits = ours.iter().filter(|(item, run)| self.waits_to_be_started(*item, run, &me));
        self.stirred = waits.map(|(item, _)| *item).collect();
        self.settle_doubts(&me);
    }

    /// Returns true if there is nothing to do at the items at which nothing has changed.
    fn has_looked_at_the_others(&self, me: &InstanceId) -> bool {
        let mut others =
            self.view.restless_items().filter(|(item, _)| !self.stirred.contains(item));
        let waits = |(item, shown): (_, &ItemView)| {
            let ledger = shown.ledger.as_ref().map(|ledger| &ledger.value);
            ledger.is_some_and(|ledger| self.has_to_be_looked_at(item, ledger, me))
        };
        !others.any(waits)
    }

    /// Returns true if an item is shown as run by this life, which has not started it.
    fn waits_to_be_started(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        let ours = shown.running().is_some_and(|run| run.holder == *me);
        ours && !self.has_started(item, shown.token)
    }

    /// Returns true if an item is shown as run by this life, which runs nothing of it any more: the record of a run that has
    /// ended was put back from outside.
    fn is_put_back(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        let ours = shown.running().is_some_and(|run| run.holder == *me);
        let ended = self.has_started(item, shown.token) && !self.local.runs.has(item);
        ours && ended
    }

    fn has_started(&self, item: ShardingItem, token: FencingToken) -> bool {
        self.local.started.get(&item) >= Some(&token)
    }

    fn has_to_be_looked_at(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        self.waits_to_be_started(item, shown, me) || self.is_put_back(item, shown, me)
    }

    /// Returns true if the record may be the outcome of a claim that this life has sent.
    fn may_have_claimed(&self, item: ShardingItem, shown: &Ledger, sent: &SentClaims) -> bool {
        sent.contains(&(item, shown.token)) || self.local.maybe_claimed.contains_key(&item)
    }

    /// Returns the claims that are under way.
    fn sent_claims(&self, me: &InstanceId) -> SentClaims {
        let runs = self.in_flight.values().flat_map(|flight| flight.plan.runs_of(me));
        runs.map(|(item, ledger)| (item, ledger.token)).collect()
    }

    /// Notes a run that nobody executes as one that was interrupted here, so that its end is recorded.
    fn give_up_foreign_run(&mut self, item: ShardingItem, shown: &Ledger) {
        // The view may show the record before the marks that were written with it.
        let by_config = self.view.config().is_some_and(|c| self.view.has_lasting_marks(c));
        let lasting = by_config || self.view.item(item).lasting.is_some();
        self.local.give_up(item, shown, lasting);
    }

    /// Forgets doubts about claims that the view shows to be in vain, or begun here.
    fn settle_doubts(&mut self, me: &InstanceId) {
        let (view, started) = (&self.view, &self.local.started);
        self.local.maybe_claimed.retain(|item, doubt| {
            let Some(ledger) = view.item(*item).ledger.as_ref() else { return true };
            let ours = ledger.value.running().is_some_and(|run| run.holder == *me);
            let waits = ours && started.get(item) < Some(&ledger.value.token);
            waits || ledger.version <= doubt.before
        });
    }

    /// Returns the configuration that a claim has checked: its record names the version, and whoever claimed knew it.
    fn config_of_claim(
        &self,
        item: ShardingItem,
        claimed: &Ledger,
    ) -> Option<&Versioned<Arc<JobConfig>>> {
        let flights = self.in_flight.values().filter_map(|flight| flight.config.as_ref());
        let doubt = self.local.maybe_claimed.get(&item);
        let doubted = doubt.into_iter().flat_map(|doubt| &doubt.configs);
        let mut known = flights.chain(doubted).chain(self.view.config_in_force());
        known.find(|config| claimed.config.is_none_or(|version| version == config.version))
    }

    /// Notes which claims the view has shown: whatever the record says from then on came later.
    fn note_shown_claims(&mut self) {
        let is_later = |before: Version, item| {
            self.view.item(item).ledger.as_ref().is_some_and(|ledger| ledger.version > before)
        };
        for &item in &self.stirred {
            let before = self.local.runs.get(item).and_then(|run| run.unseen_after);
            if before.is_some_and(|before| is_later(before, item)) {
                self.local.runs.change(item, |run| run.unseen_after = None);
            }
        }
    }

    fn forget_settled_runs(&mut self, out: &mut Vec<Command>) {
        for &item in &self.stirred {
            let Some(run) = self.local.runs.get(item) else { continue };
            let Some(outcome) = run.outcome else { continue };
            let ledger = self.view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
            let caught_up = ledger.is_some_and(|ledger| ledger.token >= run.token);
            let held = ledger.is_some_and(|ledger| ledger.is_held(&run.holder, run.token));
            let marks = OwnMarks::of(run, self.view.item(item), self.session);
            if run.token == FencingToken(0) || !caught_up || held || marks.any() {
                continue;
            }
            out.push(Command::Emit(ending(item, run, outcome, ledger)));
            self.local.runs.remove(item);
        }
    }

    /// A request that was seen at this life's node and is no longer there was accepted: nobody else takes it away. One
    /// that this process has left has arrived once it is there.
    fn observe_triggers(&mut self, now: Now, out: &mut Vec<Command>) {
        // Before it shows this life, the view may be that of the life before.
        let known = self.connected && self.view.is_synced() && self.is_registered();
        let view = &self.view;
        self.local.wanted_triggers.retain(|id, wanted| {
            let arrived = view.trigger_request(id).is_some();
            let dropped = !arrived && known && wanted.way == RequestWay::InDoubt;
            if dropped {
                let (id, reason) = (id.clone(), DropReason::InDoubt);
                out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
            }
            !arrived && !dropped
        });
        let Some(me) = self.me.clone() else { return };
        let seen = self.local.trigger_seen;
        if let Some(triggered) = self.view.trigger_of(&me) {
            self.local.trigger_seen = Some(triggered);
        } else if seen.is_some() && self.is_registered() {
            self.local.trigger_seen = None;
            self.accept_unmonitored(FireTime::of_request(now.wall_ms));
        }
    }

    /// What was dropped stays in the registry until whoever takes it away has seen it. That one tells, so that whoever asked
    /// learns of it, and nothing is lost with a reply.
    fn observe_drops(&mut self, now: Now, out: &mut Vec<Command>) {
        let Some(me) = self.me.clone().filter(|_| self.view.is_synced()) else { return };
        let cx = self.context(now, &me);
        let dropped = self.view.triggers().filter(|(_, trigger)| trigger.value.was_dropped());
        let reports = |by: &str| {
            let java_leads = cx.java && cx.view.has_java_leader();
            removes_requests_of(&cx, by) || (java_leads && java::handles_requests_of(&cx, by))
        };
        let mine = dropped.filter(|(_, trigger)| reports(&trigger.value.by));
        let mine: BTreeMap<_, _> =
            mine.map(|(id, trigger)| (id.to_owned(), self.why_dropped(&trigger.value))).collect();
        let told = std::mem::replace(&mut self.told.dropped, mine.keys().cloned().collect());
        for (id, reason) in mine.into_iter().filter(|(id, _)| !told.contains(id)) {
            out.push(Command::Emit(JobEvent::RequestDropped { id, reason }));
        }
    }

    fn why_dropped(&self, record: &TriggerRecord) -> DropReason {
        let carried = self.view.carries_parameters();
        match &record.parameter {
            Some(parameter) if carried && self.is_too_much(parameter) => DropReason::TooMuchToTell,
            Some(_) | None => DropReason::ParameterNotCarried,
        }
    }

    /// A request for all items that would tell them this would fill the registry.
    pub(super) fn is_too_much(&self, parameter: &RequestParameter) -> bool {
        let items = self.view.config().map(|config| config.sharding_total_count);
        let items = items.and_then(|items| usize::try_from(items).ok());
        items.is_some_and(|items| !parameter.can_be_told_to(items))
    }

    /// With monitoring, what was accepted is a request in the registry; without, only this instance knows.
    fn accept_unmonitored(&mut self, at: FireTime) {
        let unmonitored = self.view.config().is_some_and(|config| !config.monitor_execution);
        let active = unmonitored && self.local.is_active();
        let Some(me) = self.me.as_ref().filter(|_| active) else { return };
        let view = &self.view;
        let mine = view.items().map(|(item, _)| item).filter(|item| view.is_meant_for(*item, me));
        self.local.unmonitored_request = Some(UnmonitoredRequest { at, items: mine.collect() });
    }

    /// A request is over for items that are disabled or somebody else's by now, and as soon as runs are monitored.
    fn observe_request(&mut self) {
        let monitored = self.view.config().is_some_and(|config| config.monitor_execution);
        let (Some(me), Some(request)) = (&self.me, &mut self.local.unmonitored_request) else {
            return;
        };
        let view = &self.view;
        let wanted =
            |item: &ShardingItem| view.is_meant_for(*item, me) && !view.item(*item).is_disabled();
        request.items.retain(wanted);
        if monitored || request.items.is_empty() {
            self.local.unmonitored_request = None;
        }
    }

    fn observe_orphans(&mut self, now: Now) {
        let any = self.view.any_with(Attention::Orphaned);
        let since = self.local.orphans_since.unwrap_or(now.mono);
        self.local.orphans_since = any.then_some(since);
        self.told.patience_over = any && since + ORPHAN_PATIENCE <= now.mono;
    }

    /// Calls what the registry shows as ours to call, each once; forgets calls whose return is recorded.
    fn observe_calls(&mut self, out: &mut Vec<Command>) {
        // The view may still show the calls of a life that is over.
        let Some(me) = self.me.clone().filter(|_| self.session.is_some()) else { return };
        for stage in OnceStage::ALL {
            let call = self.view.once().and_then(|once| once.value.call(stage)).cloned();
            let Some(call) = call else { continue };
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

    /// Without monitoring, a fire that came while a Java leader assigned items anew is run once it has.
    fn run_unmonitored_fire(&mut self, out: &mut Vec<Command>) {
        if let Some(fire) = self.local.unmonitored_fire
            && !self.view.is_java_assigning()
        {
            self.local.unmonitored_fire = None;
            self.run_unmonitored(fire, out);
        }
    }

    /// Without monitoring, a request is run as soon as an item does not run here.
    fn run_unmonitored_request(&mut self, out: &mut Vec<Command>) {
        let (Some(me), Some(request)) = (&self.me, &self.local.unmonitored_request) else { return };
        if !self.may_start_unclaimed() {
            return;
        }
        let free =
            |item: &ShardingItem| request.items.contains(item) && !self.local.runs.has(*item);
        let at = request.at;
        let mine = self.view.claimable_by(me, self.view.items());
        let items: Vec<_> = mine.map(|(item, _)| item).filter(free).collect();
        let mut starts = Vec::new();
        for item in items {
            starts.extend(self.start_unclaimed(item, at, RunSource::Manual));
            if let Some(request) = &mut self.local.unmonitored_request {
                request.items.remove(&item);
            }
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    /// Starts runs that this instance has claimed, each once; not if it cannot rely on its session, nor once it leaves.
    pub(super) fn start_runs<'a>(
        &mut self,
        claimed: impl Iterator<Item = (ShardingItem, &'a Ledger)>,
        config: &Versioned<Arc<JobConfig>>,
        out: &mut Vec<Command>,
    ) {
        if !self.connected || !self.local.lease || self.is_leaving() {
            return;
        }
        let lasting = self.view.has_lasting_marks(&config.value);
        let mut starts = Vec::new();
        for (item, ledger) in claimed {
            let Some(start) = start_item(item, ledger, config) else { continue };
            let unseen_after = self.unseen_claim_of(item);
            let begun = self.local.begin(item, ledger, lasting, unseen_after);
            let waits = !begun && self.local.started.get(&item) < Some(&ledger.token);
            // It begins after the other run of its item, with the configuration that it has checked (simulation seed 14083735).
            if !waits {
                self.local.maybe_claimed.remove(&item);
            }
            if begun {
                let StartItem { fire, source, token, .. } = start;
                out.push(Command::Emit(JobEvent::Claimed { item, fire, source, token }));
                starts.push(start);
            }
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    /// Returns the version that a claim of this item replaces, if the view does not show a later one.
    fn unseen_claim_of(&self, item: ShardingItem) -> Option<Version> {
        let shown = self.view.item(item).ledger.as_ref().map(|ledger| ledger.version);
        let before = self.local.maybe_claimed.get(&item).map(|doubt| doubt.before);
        before.filter(|before| shown <= Some(*before))
    }

    /// The registration is on its way out, or is out.
    fn is_leaving(&self) -> bool {
        let leaves = |plan: &Plan| plan.steps.iter().any(Step::deregisters);
        let under_way = self.in_flight.get(&Duty::Membership);
        self.local.phase == Phase::Left || under_way.is_some_and(|flight| leaves(&flight.plan))
    }
}

/// Returns what the shell shall start for a claim.
pub(super) fn start_item(
    item: ShardingItem,
    claimed: &Ledger,
    config: &Versioned<Arc<JobConfig>>,
) -> Option<StartItem> {
    let run = claimed.running()?;
    Some(StartItem {
        item,
        token: claimed.token,
        fire: run.fire,
        source: run.source,
        merged: run.merged,
        request_parameter: run.parameter.clone(),
        holder: run.holder.clone(),
        config: Arc::clone(&config.value),
        config_version: config.version,
    })
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
