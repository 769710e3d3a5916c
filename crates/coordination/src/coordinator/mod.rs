//! The coordinator records events, observes the view, then asks each duty for a plan.

mod decide;
mod follow;
mod observe;
mod record;
mod reply;
mod reporting;
pub(crate) mod shared;
mod starting;
mod unmonitored;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Limits, Revision, SessionId, Version};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use crate::duty::settings::{Settings, items_per_plan};
use crate::duty::takeover::ORPHAN_PATIENCE;
use crate::gap::Lookup;
use crate::java::memory::waits_for_turn;
use crate::local::{Local, Phase};
use crate::plan::{Plan, Step};
use crate::view::{ConfigCheck, JobView};
use crate::wire::Layout;
use crate::{
    Command, Dialect, Duty, Event, FencingToken, FireTime, JobConfig, JobName, Ledger, Now, Outage,
    ScheduleLookup, ServerIp, ServerState, Ticket,
};
use crate::{Following, Versioned};

/// Time that a duty waits for the view to show its commit, or the cause of its conflict.
const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// Time that the leader waits for the view to show all owners that it has committed. A view that
/// shows only some of them would make the leader take a moved item for one that stays.
const ASSIGNMENT_WAIT: Duration = Duration::from_secs(5);
/// Time that a duty waits after a commit with an unknown outcome, or that could not be sent.
const RETRY_WAIT: Duration = Duration::from_millis(250);
/// Time that a duty waits after the registry rejected its transaction as too large.
const REFUSED_WAIT: Duration = Duration::from_secs(30);

/// The job and the server that a coordinator acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The job.
    pub job: JobName,
    /// The host that operators know this process by.
    pub server: ServerIp,
}

/// State of an instance, for people and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Active, draining or left.
    pub phase: Phase,
    /// The id of its current incarnation; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// True if it is registered.
    pub registered: bool,
    /// True if it is registered, its server is enabled, and it is not leaving.
    pub available: bool,
    /// True if this process or its server is paused, so that it starts no runs.
    pub paused: bool,
    /// The leader of the job, if there is one.
    pub leader: Option<InstanceId>,
    /// True if this instance is the leader.
    pub leads: bool,
    /// The items that it owns, including pending items that will move to another instance.
    pub owned: Vec<ShardingItem>,
    /// The items of its local runs with their tokens. A run stays until its end is recorded.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// The condition that it waits for, if any.
    pub waiting_for: Option<&'static str>,
    /// The start of that wait, on the monotonic clock.
    pub waiting_since: Option<Duration>,
    /// Lead of its clock over the registry's, in milliseconds, if that exceeds `max_time_diff`.
    /// The instance then misses its fires.
    pub clock_differs_by: Option<i64>,
}

/// Decides for one job on one instance: no clock, no IO, no randomness, no logging, no failure.
///
/// The shell feeds events and executes the commands. Extra calls are harmless.
///
/// # Examples
/// ```
/// use coordination::{
///     Command, Coordinator, Event, Identity, JobConfig, JobName, Layout, Now, ServerIp,
///     encode_config,
/// };
/// use reg_center::{Change, Node, Revision, SessionId, Stat, Version};
/// use sharding::{InstanceId, StrategyRegistry};
///
/// let identity = Identity { job: JobName::new("report")?, server: ServerIp::new("10.0.0.1")? };
/// let mut coordinator = Coordinator::new(identity, StrategyRegistry::default());
/// let now = Now { wall_ms: 0, registry_ms: None, mono: std::time::Duration::ZERO };
/// let mut commands = Vec::new();
/// let incarnation = InstanceId::new("10.0.0.1@-@7-k3f9");
/// coordinator.handle(now, Event::Connected { session: SessionId(1), incarnation }, &mut commands);
/// let config = Node {
///     path: Layout::new(&JobName::new("report")?).config_path(),
///     data: encode_config(&JobConfig::new(JobName::new("report")?, 3)).into(),
///     stat: Stat {
///         version: Version(0),
///         created: Revision(1),
///         modified: Revision(1),
///         modified_at: None,
///         owner: None,
///     },
/// };
/// let snapshot = vec![Change::Init, Change::Entry(config), Change::Ready];
/// coordinator.handle(now, Event::Registry(snapshot), &mut commands);
/// // The job has a configuration, and this instance is not registered yet.
/// assert!(matches!(commands.last(), Some(Command::Commit { .. })));
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Debug)]
pub struct Coordinator {
    identity: Identity,
    strategies: StrategyRegistry,
    layout: Layout,
    view: JobView,
    local: Local,
    /// Items to examine: their record or local run has changed, or a claim of theirs waits to
    /// start.
    dirty_items: BTreeSet<ShardingItem>,
    session: Option<SessionId>,
    me: Option<InstanceId>,
    connected: bool,
    /// The last outage of the registry connection, including a present one.
    outage: Option<Outage>,
    /// Boxed, because a node of the map reserves space for eleven values.
    in_flight: BTreeMap<Duty, Box<InFlight>>,
    /// Assignments whose commit has an unknown outcome.
    in_doubt: Vec<AssignmentInDoubt>,
    next_ticket: u64,
    next_reconcile: Option<Duration>,
    /// Start of the time in which a narrow watch would have sufficed, while all items are followed.
    calm_since: Option<Duration>,
    settings: Settings,
    /// The condition that this instance waits for, and the start of the wait.
    waiting: Option<(&'static str, Duration)>,
    reported: AlreadyReported,
}

/// The facts that were reported last, so that each fact is reported once.
#[derive(Debug, Default)]
struct AlreadyReported {
    config: Option<Arc<JobConfig>>,
    config_fault: Option<String>,
    strategy_fault: Option<String>,
    leads: Option<Version>,
    left: bool,
    /// Lead of this clock over the registry's, in milliseconds, if that exceeds the bound.
    clock_differs_by: Option<i64>,
    leave_requested: bool,
    /// Orphaned runs have waited so long that any instance may take them over.
    patience_over: bool,
    /// The last fire of each item that this process reported as noted.
    noted: BTreeMap<ShardingItem, FireTime>,
    /// The last fire of each item that this process reported as skipped, because the item was
    /// disabled.
    skipped: BTreeMap<ShardingItem, FireTime>,
    /// The requests in the registry that this process reported as dropped.
    dropped: BTreeSet<String>,
}

/// A plan from its decision until the view shows its effect.
#[derive(Debug)]
struct InFlight {
    ticket: Ticket,
    plan: Plan,
    /// The configuration in force at the decision. Runs that this plan claims use it.
    config: Option<Versioned<Arc<JobConfig>>>,
    /// The records that it replaces. Kept, because the view may show the new ones before the reply.
    replaced: BTreeMap<ShardingItem, Ledger>,
    stage: Stage,
}

impl InFlight {
    /// Returns true if no reply has come yet.
    fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// Returns a plan that is sent now.
    fn new(
        ticket: Ticket,
        plan: Plan,
        config: Option<Versioned<Arc<JobConfig>>>,
        view: &JobView,
    ) -> Self {
        let replaced = plan.steps.iter().filter_map(|step| replaced_by(step, view)).collect();
        Self { ticket, plan, config, replaced, stage: Stage::Sent }
    }
}

/// Returns the record that a step replaces if it takes effect.
fn replaced_by(step: &Step, view: &JobView) -> Option<(ShardingItem, Ledger)> {
    let (item, _) = step.ledger()?;
    let ledger = view.item(item).ledger.as_ref()?;
    (Some(ledger.version) == step.expected()).then(|| (item, ledger.value.clone()))
}

/// An assignment of this leader whose commit has an unknown outcome.
///
/// An assignment writes nothing for items that stay, so no guard covers them. The next decision
/// therefore waits until the view shows all of this assignment or none, at most `ASSIGNMENT_WAIT`.
#[derive(Debug)]
struct AssignmentInDoubt {
    plan: Plan,
    /// The time since which the view shows a newer assignment record, but not all owners.
    shown_since: Option<Duration>,
}

impl AssignmentInDoubt {
    /// Returns true if the view shows a newer version than the one that this assignment replaces.
    fn is_shown(&self, view: &JobView) -> bool {
        self.plan.assignment().is_some_and(|(expect, _)| expect < view.assignment_version())
    }

    /// Returns true if the view shows the record of this assignment.
    fn is_recorded_in(&self, view: &JobView) -> bool {
        let shown = view.assignment().map(|assignment| &assignment.value);
        self.plan.assignment().is_some_and(|(_, record)| Some(record) == shown)
    }

    fn ends(&self) -> Option<Duration> {
        Some(self.shown_since? + ASSIGNMENT_WAIT)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// No reply yet.
    Sent,
    /// Committed. Ends when the view shows it, or at this time.
    Landed { revision: Option<Revision>, until: Duration },
    /// Not committed. Ends at this time, or as soon as the duty wants another plan: the same plan
    /// would conflict again.
    Refused { until: Duration },
    /// Ends at this time, whatever the view shows.
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
            dirty_items: BTreeSet::new(),
            session: None,
            me: None,
            connected: false,
            outage: None,
            in_flight: BTreeMap::new(),
            in_doubt: Vec::new(),
            next_ticket: 0,
            next_reconcile: None,
            calm_since: None,
            settings: Settings::default(),
            waiting: None,
            reported: AlreadyReported::default(),
        }
    }

    /// Gives the instance a name that lasts across sessions: static sharding returns its items by
    /// it.
    ///
    /// # Examples
    /// ```
    /// # use coordination::{Coordinator, Identity, JobName, ServerIp};
    /// # use sharding::StrategyRegistry;
    /// # let (job, server) = (JobName::new("report")?, ServerIp::new("10.0.0.1")?);
    /// # let identity = Identity { job, server };
    /// let coordinator = Coordinator::new(identity, StrategyRegistry::default()).named("worker-3");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.settings.stable_name = Some(name.into());
        self
    }

    /// Writes and reads the job's nodes in another dialect than that of ElasticJob 2.1.5.
    #[must_use]
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.layout = self.layout.speaking(dialect);
        self.view = self.view.speaking(dialect);
        self
    }

    /// Adds a check for stored configurations that the shell cannot schedule.
    ///
    /// If the check rejects one, the last valid configuration stays in force. An instance that
    /// never had a valid one does not register.
    #[must_use]
    pub fn checked_by(mut self, check: ConfigCheck) -> Self {
        self.view = self.view.checked_by(check);
        self
    }

    /// Sets the lookup of fires in the schedule of a configuration. Without it, gaps are found by
    /// the records alone and are not counted.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// # use coordination::{Coordinator, FireTime, Identity, JobConfig, JobName, ServerIp};
    /// # use sharding::StrategyRegistry;
    /// # let (job, server) = (JobName::new("report")?, ServerIp::new("10.0.0.1")?);
    /// # let identity = Identity { job, server };
    /// let each_second = |_: &JobConfig, after: FireTime, before: FireTime, most: usize| {
    ///     let seconds = (after.0.div_euclid(1_000) + 1..).map(|second| FireTime(second * 1_000));
    ///     seconds.take_while(|fire| *fire < before).take(most).collect()
    /// };
    /// let coordinator = Coordinator::new(identity, StrategyRegistry::default());
    /// let coordinator = coordinator.scheduled_by(Arc::new(each_second));
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn scheduled_by(mut self, lookup: ScheduleLookup) -> Self {
        self.settings.lookup = Lookup(Some(lookup));
        self
    }

    /// Keeps transactions within the limits of the registry. The default is 500 items in each.
    #[must_use]
    pub fn limited_to(mut self, limits: Limits) -> Self {
        self.settings.items_per_plan = items_per_plan(limits);
        self
    }

    /// Lets this instance call once-per-cluster callbacks.
    #[must_use]
    pub fn calling_back(mut self) -> Self {
        self.settings.calls_back = true;
        self
    }

    /// Sets the condition under which this instance narrows its watch to its own items.
    #[must_use]
    pub fn following(mut self, following: Following) -> Self {
        self.settings.following = following;
        self
    }

    /// Handles one event and appends the commands to execute to `out`, in order.
    pub fn handle(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
        self.handle_all(now, [event], out);
    }

    /// Handles events that arrived together, and decides once after them.
    ///
    /// Deciding costs much more than recording an event. The decisions can differ from those of one
    /// call per event; they are as safe.
    pub fn handle_all(
        &mut self,
        now: Now,
        events: impl IntoIterator<Item = Event>,
        out: &mut Vec<Command>,
    ) {
        for event in events {
            self.record(now, event, out);
        }
        self.end_waits(now);
        self.observe(now, out);
        self.decide(now, out);
        self.follow(now, out);
        self.note_wait(now);
    }

    fn note_wait(&mut self, now: Now) {
        let what = self.waiting_for();
        if self.waiting.map(|(what, _)| what) != what {
            self.waiting = what.map(|what| (what, now.mono));
        }
    }

    /// Returns the latest time for the next call, on the monotonic clock. Without another event,
    /// the shell sends [`Event::Wake`] then.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let retries = self.in_flight.values().filter_map(|flight| match flight.stage {
            Stage::Sent => None,
            Stage::Landed { until, .. } | Stage::Refused { until } | Stage::Held { until } => {
                Some(until)
            }
        });
        // Only a busy instance waits for the end of the patience: an idle one takes over at once.
        let waits = !self.local.runs.is_empty() && !self.reported.patience_over;
        let since = if waits { self.local.orphans_since } else { None };
        let patience = since.map(|since| since + ORPHAN_PATIENCE);
        let in_doubt = self.in_doubt.iter().filter_map(AssignmentInDoubt::ends);
        let java = self.local.java.next_wake();
        retries.chain(self.next_reconcile).chain(patience).chain(java).chain(in_doubt).min()
    }

    /// Returns the earliest last fire of all items, if the job catches up.
    ///
    /// The shell looks up the scheduled fires after it for the next [`Event::Fire`]. Items of other
    /// instances count, because such an item may move here before the fire after the next one.
    #[must_use]
    pub fn catch_up_since(&self) -> Option<FireTime> {
        self.view.config()?.catch_up?;
        self.view.last_fires().map(|(first, _)| first)
    }

    /// Returns the view of the job's subtree.
    #[must_use]
    pub fn view(&self) -> &JobView {
        &self.view
    }

    /// Returns the id of the current incarnation.
    #[must_use]
    pub fn instance(&self) -> Option<&InstanceId> {
        self.me.as_ref()
    }

    /// Returns the state of this instance.
    #[must_use]
    pub fn status(&self) -> Status {
        let me = self.me.as_ref();
        Status {
            phase: self.local.phase,
            instance: self.me.clone(),
            registered: self.is_registered(),
            available: self.is_available(),
            paused: self.is_paused(),
            leader: self.view.leader().cloned(),
            leads: me.is_some_and(|me| self.view.term_of(me).is_some()),
            owned: me.map_or_else(Vec::new, |me| self.view.items_of(me).map(|(i, _)| i).collect()),
            running: self.local.runs.iter().map(|(item, run)| (item, run.token)).collect(),
            waiting_for: self.waiting.map(|(what, _)| what),
            waiting_since: self.waiting.map(|(_, since)| since),
            clock_differs_by: self.reported.clock_differs_by,
        }
    }

    /// Returns true if another session has registered the id of this instance.
    ///
    /// Nothing is decided here until that session ends: guards could not distinguish the two.
    fn has_namesake(&self) -> bool {
        let me = self.me.as_ref().zip(self.session);
        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
    }

    /// Returns true if a long run of the item may continue here.
    ///
    /// The instance is active and not paused, and the item is enabled, owned by it and not pending.
    /// A run that works through a stream ends at its next good point if this is false.
    #[must_use]
    pub fn may_stay(&self, item: ShardingItem) -> bool {
        let stays = self.local.phase == Phase::Active && !self.is_paused();
        let enabled = self.is_available() && !self.view.item(item).is_disabled();
        let meant = self.me.as_ref().is_some_and(|me| self.view.is_meant_for(item, me));
        stays && enabled && meant && !self.view.is_resharding_announced()
    }

    fn is_registered(&self) -> bool {
        let shown = self.me.as_ref().is_some_and(|me| self.view.is_registered(me));
        shown && !self.has_namesake()
    }

    fn is_available(&self) -> bool {
        let shown = self.me.as_ref().is_some_and(|me| self.view.is_available(me));
        shown && !self.has_namesake()
    }

    /// Returns true if the program paused this process, or an operator paused its server.
    fn is_paused(&self) -> bool {
        let server = self.view.server_state(&self.identity.server);
        self.local.paused || server == Some(ServerState::Paused)
    }

    fn waiting_for(&self) -> Option<&'static str> {
        let pending = self.view.assignment().is_some_and(|a| !a.value.pending.is_empty());
        let rows = [
            (self.local.phase == Phase::Left, None),
            (!self.connected, Some("a connection to the registry")),
            (!self.view.is_synced(), Some("the first snapshot of the job")),
            (self.view.config().is_none(), Some("a usable configuration")),
            (self.local.phase == Phase::Draining, Some("the end of the runs in progress")),
            (self.has_namesake(), Some("the end of another session that has registered its id")),
            (!self.is_available(), Some("registration, or its server being enabled")),
            (
                waits_for_turn(&self.view, self.me.as_ref()),
                Some("a Java instance to leave a latch"),
            ),
            (self.view.leader().is_none(), Some("a leader")),
            (self.view.assignment().is_none(), Some("the first assignment")),
            (self.is_assignment_torn(), Some("the rest of an assignment that it may have written")),
            (pending, Some("the end of runs of items that are to move")),
        ];
        rows.into_iter().find_map(|(holds, what)| holds.then_some(what)).flatten()
    }
}
