//! The coordinator: records what happened, then asks each duty what it wants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Change, Conflict, ConflictReason, NodePath, Revision, SessionId, Version};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use crate::duty::{Context, Duty, resharding};
use crate::layout::{Layout, NodeKind};
use crate::local::{Local, LocalRun, Phase, Request};
use crate::plan::{Plan, Step};
use crate::view::{ConfigState, JobView};
use crate::{
    Command, Event, FencingToken, FireTime, InterruptReason, JobConfig, JobEvent, JobName, Ledger,
    MissReason, Now, Outcome, Reply, ServerIp, StartItem, Ticket,
};

/// How long a duty waits for the view to show what it has committed, or what stood against it, before it looks again.
const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// How long a duty waits after a commit whose outcome nobody knows, or that could not be sent.
const RETRY_WAIT: Duration = Duration::from_millis(250);
/// How long a duty waits after the registry refused its transaction for its size.
const REFUSED_WAIT: Duration = Duration::from_secs(30);

/// Which job, on which server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The job.
    pub job: JobName,
    /// The host that operators know this process by.
    pub server: ServerIp,
}

/// Where an instance stands, for people and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether it takes part.
    pub phase: Phase,
    /// The id of its current life; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// Whether it is registered and its server enabled.
    pub available: bool,
    /// Whether runs are held back here.
    pub paused: bool,
    /// Who leads.
    pub leader: Option<InstanceId>,
    /// Whether this instance leads.
    pub leads: bool,
    /// The items that it owns.
    pub owned: Vec<ShardingItem>,
    /// The items that it runs, or has run without the registry knowing yet, with their tokens.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// What it waits for, if for anything.
    pub waiting_for: Option<&'static str>,
}

/// Everything that one instance decides for one job: no clock, no IO, no randomness, no logging; it never fails.
///
/// The shell feeds events and does what the commands say. Extra calls are harmless.
///
/// # Examples
/// ```
/// use coordination::{Command, Coordinator, Event, Identity, JobName, Now, ServerIp};
/// use reg_center::{Change, SessionId};
/// use sharding::{InstanceId, StrategyRegistry};
///
/// let identity = Identity { job: JobName::new("report")?, server: ServerIp::new("10.0.0.1")? };
/// let mut coordinator = Coordinator::new(identity, StrategyRegistry::default());
/// let now = Now { wall_ms: 0, mono: std::time::Duration::ZERO };
/// let mut commands = Vec::new();
/// let incarnation = InstanceId::new("10.0.0.1@-@7-k3f9");
/// coordinator.handle(now, Event::Connected { session: SessionId(1), incarnation }, &mut commands);
/// coordinator.handle(now, Event::Registry(Change::Init), &mut commands);
/// coordinator.handle(now, Event::Registry(Change::Ready), &mut commands);
/// // The registry is empty, so this instance wants to register.
/// assert!(matches!(&commands[..], [Command::Commit { .. }]));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Debug)]
pub struct Coordinator {
    identity: Identity,
    strategies: StrategyRegistry,
    layout: Layout,
    view: JobView,
    local: Local,
    session: Option<SessionId>,
    me: Option<InstanceId>,
    connected: bool,
    in_flight: BTreeMap<Duty, InFlight>,
    next_ticket: u64,
    /// Counts the changes of the view, so that a duty can wait for the next one.
    changes: u64,
    next_reconcile: Option<Duration>,
    told: Told,
}

/// What was said last, so that everything is said once.
#[derive(Debug, Default)]
struct Told {
    config: Option<Arc<JobConfig>>,
    config_fault: Option<String>,
    strategy_fault: Option<String>,
    leads: Option<Version>,
    left: bool,
    leave_requested: bool,
}

/// A plan between the decision and the moment at which the view shows its effect.
#[derive(Debug)]
struct InFlight {
    ticket: Ticket,
    plan: Plan,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// No reply yet.
    Sent,
    /// Committed; over when the view has caught up, or at this time.
    Landed { revision: Option<Revision>, seen: u64, until: Duration },
    /// Not committed; over at this time, or as soon as the duty wants something else: the same again would only be
    /// refused again.
    Refused { until: Duration },
    /// Over at this time, whatever the view does.
    Held { until: Duration },
}

impl Coordinator {
    /// Returns the coordinator of one job on one server, not connected yet.
    #[must_use]
    pub fn new(identity: Identity, strategies: StrategyRegistry) -> Self {
        let layout = Layout::new(&identity.job);
        Self {
            view: JobView::new(layout.clone()),
            layout,
            identity,
            strategies,
            local: Local::default(),
            session: None,
            me: None,
            connected: false,
            in_flight: BTreeMap::new(),
            next_ticket: 0,
            changes: 0,
            next_reconcile: None,
            told: Told::default(),
        }
    }

    /// Feeds one event and appends to `out` what must now be done, in order.
    pub fn handle(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
        self.record(now, event, out);
        self.observe(out);
        self.decide(now, out);
    }

    /// Returns when to call again with [`Event::Wake`] if nothing else happens, on the monotonic clock.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let retries = self.in_flight.values().filter_map(|flight| match flight.stage {
            Stage::Sent => None,
            Stage::Landed { until, .. } | Stage::Refused { until } | Stage::Held { until } => {
                Some(until)
            }
        });
        retries.chain(self.next_reconcile).min()
    }

    /// Returns the mirror of the job's subtree.
    #[must_use]
    pub fn view(&self) -> &JobView {
        &self.view
    }

    /// Returns the id of the current life.
    #[must_use]
    pub fn instance(&self) -> Option<&InstanceId> {
        self.me.as_ref()
    }

    /// Returns where this instance stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let me = self.me.as_ref();
        Status {
            phase: self.local.phase,
            instance: self.me.clone(),
            available: me.is_some_and(|me| self.view.is_available(me)),
            paused: self.local.paused,
            leader: self.view.leader().cloned(),
            leads: me.is_some_and(|me| self.view.term_of(me).is_some()),
            owned: me.map_or_else(Vec::new, |me| self.view.items_of(me).map(|(i, _)| i).collect()),
            running: self.local.runs.iter().map(|(item, run)| (*item, run.token)).collect(),
            waiting_for: self.waiting_for(),
        }
    }

    fn waiting_for(&self) -> Option<&'static str> {
        let me = self.me.as_ref();
        let available = me.is_some_and(|me| self.view.is_available(me));
        let pending = self.view.assignment().is_some_and(|a| !a.value.pending.is_empty());
        let rows = [
            (self.local.phase == Phase::Left, None),
            (!self.connected, Some("a connection to the registry")),
            (!self.view.is_synced(), Some("the first snapshot of the job")),
            (self.view.config().is_none(), Some("a usable configuration")),
            (self.local.phase == Phase::Draining, Some("the end of the runs in progress")),
            (!available, Some("registration, or its server being enabled")),
            (self.view.leader().is_none(), Some("a leader")),
            (self.view.assignment().is_none(), Some("the first assignment")),
            (pending, Some("the end of runs of items that are to move")),
        ];
        rows.into_iter().find_map(|(holds, what)| holds.then_some(what)).flatten()
    }

    // ---- record: one line per event, changing only what this instance knows ----

    fn record(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
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
        let claimed = Ledger::new(None).claim(me, fire, crate::RunSource::Normal)?;
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

    // ---- replies ----

    fn replied(&mut self, now: Now, ticket: Ticket, reply: Reply, out: &mut Vec<Command>) {
        let flight = self.in_flight.iter_mut().find(|(_, flight)| flight.ticket == ticket);
        let Some((_, flight)) = flight else { return };
        let seen = self.changes;
        flight.stage = match reply {
            Reply::Committed(revision) => {
                Stage::Landed { revision, seen, until: now.mono + SETTLE_WAIT }
            }
            Reply::Conflict(_) | Reply::HolderAlive => {
                Stage::Refused { until: now.mono + SETTLE_WAIT }
            }
            Reply::Unknown | Reply::NotExecuted => Stage::Held { until: now.mono + RETRY_WAIT },
            Reply::TooLarge => Stage::Held { until: now.mono + REFUSED_WAIT },
        };
        let plan = flight.plan.clone();
        match reply {
            Reply::Committed(_) => self.committed(now, &plan, out),
            Reply::Conflict(conflict) => self.conflicted(&plan, conflict),
            Reply::TooLarge => {
                out.push(Command::Emit(JobEvent::CommitRefused { reason: plan.to_string() }));
            }
            Reply::HolderAlive | Reply::Unknown | Reply::NotExecuted => {}
        }
    }

    fn committed(&mut self, now: Now, plan: &Plan, out: &mut Vec<Command>) {
        if let Some(me) = self.me.clone() {
            self.start_runs(plan.runs_of(&me), out);
        }
        for step in &plan.steps {
            self.take_effect(now, step, out);
        }
    }

    /// Notes what a committed step means beyond the registry.
    fn take_effect(&mut self, now: Now, step: &Step, out: &mut Vec<Command>) {
        if let Step::AcceptTrigger { .. } = step {
            self.accept_request(FireTime(now.wall_ms));
        } else if let Step::RequestTrigger(_) = step {
            self.local.trigger_wanted = false;
        } else if let Step::SetAssignment { record, .. } = step {
            let reason = self.in_flight.get(&Duty::Resharding).map(|f| f.plan.reason.clone());
            out.push(Command::Emit(JobEvent::Resharded {
                moved: self.moved_by_last_resharding(),
                deferred: record.pending.len(),
                instances: record.members.len(),
                reason: reason.unwrap_or_default(),
            }));
        } else if let Step::SetLedger { item, ledger, .. } = step {
            self.tell_of(*item, ledger, out);
        }
    }

    /// Tells of the record that this instance has just written for an item.
    fn tell_of(&self, item: ShardingItem, written: &Ledger, out: &mut Vec<Command>) {
        let before = self.view.item(item).ledger.as_ref().map(|ledger| &ledger.value);
        let lost =
            before.and_then(Ledger::running).filter(|run| Some(&run.holder) != self.me.as_ref());
        if let Some(run) = lost
            && written.running().is_none()
            && !self.local.runs.contains_key(&item)
        {
            out.push(Command::Emit(JobEvent::Orphaned {
                item,
                fire: run.fire,
                holder: run.holder.clone(),
                failover: written.is_busy(),
            }));
        }
        if written.misfire != before.and_then(|ledger| ledger.misfire)
            && let Some(waiting) = written.misfire
        {
            out.push(Command::Emit(JobEvent::MisfireNoted { item, waiting }));
        }
        if written.outcome == Some(Outcome::Disabled)
            && let Some(fire) = written.last_fire
        {
            let reason = MissReason::ItemDisabled;
            out.push(Command::Emit(JobEvent::Missed { item: Some(item), fire, reason }));
        }
    }

    fn moved_by_last_resharding(&self) -> usize {
        let plan = self.in_flight.get(&Duty::Resharding).map(|flight| &flight.plan);
        let is_move = |step: &&Step| matches!(step, Step::SetOwner { .. });
        plan.map_or(0, |plan| plan.steps.iter().filter(is_move).count())
    }

    /// A mark that is gone need not be taken away: somebody else has done it.
    fn conflicted(&mut self, plan: &Plan, conflict: Conflict) {
        if conflict.reason != ConflictReason::Absent {
            return;
        }
        let Some(step) = plan.steps.get(conflict.index) else { return };
        if let Step::UnmarkRunning(item) = step
            && let Some(run) = self.local.runs.get_mut(item)
        {
            run.shows_running = false;
        } else if let Step::UnmarkFailover(item) = step
            && let Some(run) = self.local.runs.get_mut(item)
        {
            run.shows_failover = false;
        }
    }

    fn accept_request(&mut self, at: FireTime) {
        let Some(me) = self.me.as_ref().filter(|_| self.local.is_active()) else { return };
        let items = self.view.items_of(me).map(|(item, _)| item).collect();
        self.local.request = Some(Request { at, items });
    }

    // ---- observe: what the view shows now, compared with what was known before ----

    fn observe(&mut self, out: &mut Vec<Command>) {
        self.observe_config(out);
        self.observe_membership(out);
        self.observe_leadership(out);
        self.observe_runs(out);
        self.observe_request(out);
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

    fn observe_request(&mut self, _out: &mut Vec<Command>) {
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

    fn start_runs<'a>(
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

    fn start_item(&self, item: ShardingItem, ledger: &Ledger) -> Option<StartItem> {
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

    // ---- decide: every duty in turn, at most one plan of each under way ----

    fn decide(&mut self, now: Now, out: &mut Vec<Command>) {
        self.schedule_reconcile(now);
        self.end_waits(now);
        let (Some(me), Some(session)) = (self.me.clone(), self.session) else { return };
        if !self.connected || !self.view.is_synced() || self.local.phase == Phase::Left {
            return;
        }
        for (duty, plan_of) in Duty::ALL {
            let under_way = self.in_flight.get(&duty);
            let refused = under_way.filter(|flight| matches!(flight.stage, Stage::Refused { .. }));
            if under_way.is_some() && refused.is_none() {
                continue;
            }
            let plan = plan_of(&self.context(now, &me));
            let again = |plan: &Plan| refused.is_some_and(|flight| flight.plan.steps == plan.steps);
            if let Some(plan) = plan.filter(|plan| !again(plan)) {
                self.send(session, plan, out);
            }
        }
        self.report_strategy(now, &me, out);
    }

    fn context<'a>(&'a self, now: Now, me: &'a InstanceId) -> Context<'a> {
        Context {
            now,
            me,
            server: &self.identity.server,
            view: &self.view,
            local: &self.local,
            strategies: &self.strategies,
        }
    }

    fn send(&mut self, session: SessionId, plan: Plan, out: &mut Vec<Command>) {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let gone = plan.confirm_gone.iter();
        let confirm_absent: Vec<NodePath> =
            gone.map(|id| self.layout.path(&NodeKind::Instance(id.clone()))).collect();
        out.push(Command::Commit {
            ticket,
            duty: plan.duty,
            reason: plan.reason.clone(),
            txn: self.layout.encode(&plan, session),
            confirm_absent,
        });
        self.in_flight.insert(plan.duty, InFlight { ticket, plan, stage: Stage::Sent });
    }

    fn end_waits(&mut self, now: Now) {
        let (changes, revision) = (self.changes, self.view.revision());
        self.in_flight.retain(|_, flight| match flight.stage {
            Stage::Sent => true,
            Stage::Landed { revision: Some(landed), until, .. } => {
                revision < landed && now.mono < until
            }
            Stage::Landed { revision: None, seen, until } => changes == seen && now.mono < until,
            Stage::Refused { until } | Stage::Held { until } => now.mono < until,
        });
    }

    /// Everything is looked at again from time to time, whether something happened or not.
    fn schedule_reconcile(&mut self, now: Now) {
        let minutes = self.view.config().map_or(0, |config| config.reconcile_interval_minutes);
        let interval = Duration::from_secs(60 * u64::from(minutes));
        let due = self.next_reconcile.is_none_or(|at| at <= now.mono);
        if minutes == 0 {
            self.next_reconcile = None;
        } else if due {
            self.next_reconcile = Some(now.mono + interval);
        }
    }

    fn report_strategy(&mut self, now: Now, me: &InstanceId, out: &mut Vec<Command>) {
        let fault = resharding::strategy_failure(&self.context(now, me));
        if let Some(reason) = fault.clone().filter(|_| self.told.strategy_fault != fault) {
            out.push(Command::Emit(JobEvent::StrategyFailed { reason }));
        }
        self.told.strategy_fault = fault;
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
