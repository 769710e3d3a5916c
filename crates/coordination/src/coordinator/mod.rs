//! The coordinator records events, observes the view, then asks each duty for a plan.

mod decide;
mod follow;
mod in_flight;
mod observe;
mod reconcile;
mod record;
mod reply;
mod reporting;
pub(crate) mod shared;
mod starting;
mod status;
mod unmonitored;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reg_center::{Limits, SessionId};
use sharding::{InstanceAttributes, InstanceId, ShardingItem, StrategyRegistry};

use self::in_flight::{AssignmentInDoubt, InFlight, Stage};
use self::reconcile::Reconcile;
use self::reporting::AlreadyReported;
pub use self::status::Status;
use crate::Following;
use crate::duty::expiry::IdleServers;
use crate::duty::settings::{Settings, items_per_plan};
use crate::duty::takeover::ORPHAN_PATIENCE;
use crate::gap::Lookup;
use crate::local::Local;
use crate::view::{ConfigCheck, JobView};
use crate::wire::Layout;
use crate::{
    Command, Dialect, Duty, Event, FireTime, JobName, Now, Outage, ScheduleLookup, ServerIp,
};

/// Time that a duty waits for the view to show its commit, or the cause of its conflict.
const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// Time that a duty waits after a commit with an unknown outcome, or that could not be sent.
const RETRY_WAIT: Duration = Duration::from_millis(250);
/// Time that a duty waits after the registry rejected its transaction as too large.
const TOO_LARGE_WAIT: Duration = Duration::from_secs(30);

/// The job and the server that a coordinator acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The job.
    pub job: JobName,
    /// The host that operators know this process by.
    pub server: ServerIp,
}

/// Decides for one job on one instance: no clock, no IO, no randomness, no logging, no failure.
///
/// The driver feeds events and executes the commands. Extra calls are harmless.
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
    idle_servers: IdleServers,
    /// Items to examine: their record or local run has changed, or a claim of the item waits to
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
    reconcile: Reconcile,
    /// Time at which the next run may begin, if the job has reached its start rate.
    starts_again: Option<Duration>,
    /// Start of the time in which a narrow watch would have sufficed, while all items are followed.
    calm_since: Option<Duration>,
    settings: Settings,
    /// The condition that this instance waits for, and the start of the wait.
    waiting: Option<(&'static str, Duration)>,
    reported: AlreadyReported,
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
            idle_servers: IdleServers::default(),
            dirty_items: BTreeSet::new(),
            session: None,
            me: None,
            connected: false,
            outage: None,
            in_flight: BTreeMap::new(),
            in_doubt: Vec::new(),
            next_ticket: 0,
            reconcile: Reconcile::default(),
            starts_again: None,
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

    /// States weight, zone and labels of the instance, which strategies and the rules of jobs use.
    #[must_use]
    pub fn placed_by(mut self, attributes: InstanceAttributes) -> Self {
        self.settings.attributes = attributes;
        self
    }

    /// Writes and reads the job's nodes in another dialect than that of ElasticJob 2.1.5.
    #[must_use]
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.layout = self.layout.speaking(dialect);
        self.view = self.view.speaking(dialect);
        self
    }

    /// Adds a check for stored configurations that the driver cannot schedule.
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
        self.reconcile(now, out);
        self.decide(now, out);
        self.follow(now, out);
        self.note_wait(now);
        self.starts_again = self.starts_again_at(now);
    }

    /// Returns the latest time for the next call, on the monotonic clock. Without another event,
    /// the driver sends [`Event::Wake`] then.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let retries = self.in_flight.values().filter_map(|flight| match flight.stage {
            Stage::Sent => None,
            Stage::Committed { until, .. }
            | Stage::Conflicted { until }
            | Stage::BackingOff { until } => Some(until),
        });
        // Only a busy instance waits for the end of the patience: an idle one takes over at once.
        let waits = !self.local.runs.is_empty() && !self.reported.patience_over;
        let since = if waits { self.local.orphans_since } else { None };
        let patience = since.map(|since| since + ORPHAN_PATIENCE);
        let in_doubt = self.in_doubt.iter().filter_map(AssignmentInDoubt::ends);
        let java = self.local.java.next_wake();
        let idle = self.idle_servers.next_wake();
        let waits = retries.chain(self.reconcile.next).chain(patience).chain(java).chain(in_doubt);
        let waits = waits.chain(idle).chain(self.starts_again);
        waits.chain(self.local.fires.delay_ends).min()
    }

    /// Returns the exclusive lower bound of the fires that any item may have missed, if the job
    /// catches up: the earliest last fire, or the first fire that a new item owes.
    ///
    /// The driver looks up the scheduled fires after it for the next [`Event::Fire`]. Items of
    /// other instances count, because such an item may move here before the fire after the next
    /// one.
    #[must_use]
    pub fn catch_up_since(&self) -> Option<FireTime> {
        self.view.config()?.catch_up?;
        self.view.owes_after()
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
}
