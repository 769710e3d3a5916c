//! The coordinator: records what happened, observes what is new, then asks each duty what it wants.

mod decide;
mod follow;
mod java;
mod observe;
mod record;
mod reply;
pub(crate) mod seat;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reg_center::{Limits, Revision, SessionId, Version};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use crate::duty::takeover::ORPHAN_PATIENCE;
use crate::duty::{Duty, MAX_ITEMS_PER_PLAN, items_per_plan};
use crate::gap::Lookup;
use crate::local::{Local, Phase};
use crate::plan::{Plan, Step};
use crate::view::followed::Following;
use crate::view::{ConfigCheck, JobView, Versioned};
use crate::wire::Layout;
use crate::{
    Command, Dialect, Event, FencingToken, FireTime, JobConfig, JobName, Ledger, Now, Outage,
    ScheduleLookup, ServerIp, ServerState, Ticket,
};

/// How long a duty waits for the view to show what it has committed, or what stood against it, before it looks again.
const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// How long the leader waits for the view to show all owners that it has committed: by a view that shows some of them it
/// would take an item for one that stays where it is.
const ASSIGNMENT_WAIT: Duration = Duration::from_secs(5);
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

/// What an instance is told about itself once, before it takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How many items one transaction takes.
    pub(crate) items_per_plan: usize,
    /// The name that static sharding knows this instance by, in all its lives.
    pub(crate) stable_name: Option<String>,
    /// Whether once-per-cluster callbacks can be called here.
    pub(crate) calls_back: bool,
    pub(crate) following: Following,
    pub(crate) lookup: Lookup,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            items_per_plan: MAX_ITEMS_PER_PLAN,
            stable_name: None,
            calls_back: false,
            following: Following::default(),
            lookup: Lookup::default(),
        }
    }
}

/// Where an instance stands, for people and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether it takes part.
    pub phase: Phase,
    /// The id of its current life; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// Whether it is registered.
    pub registered: bool,
    /// Whether it is registered, its server enabled, and it is not leaving.
    pub available: bool,
    /// Whether runs are held back here.
    pub paused: bool,
    /// Who leads.
    pub leader: Option<InstanceId>,
    /// Whether this instance leads.
    pub leads: bool,
    /// The items that it owns, those that are to move to somebody else included.
    pub owned: Vec<ShardingItem>,
    /// The items that it runs, or has run without the registry knowing yet, with their tokens.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// What it waits for, if for anything.
    pub waiting_for: Option<&'static str>,
    /// Since when it has waited for that, on the monotonic clock.
    pub waiting_since: Option<Duration>,
    /// How far its clock is ahead of the registry's, in milliseconds, if that is beyond `max_time_diff`: it misses its fires.
    pub clock_differs_by: Option<i64>,
}

/// Everything that one instance decides for one job: no clock, no IO, no randomness, no logging; it never fails.
///
/// The shell feeds events and does what the commands say. Extra calls are harmless.
///
/// # Examples
/// ```
/// use coordination::{
///     Command, Coordinator, Event, Identity, JobConfig, JobName, Layout, Now, ServerIp, encode_config,
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
/// // The job has a configuration and nobody is there, so this instance wants to register.
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
    /// Items whose record, or whose run here, has changed since they were looked at, or that wait to be started.
    stirred: BTreeSet<ShardingItem>,
    session: Option<SessionId>,
    me: Option<InstanceId>,
    connected: bool,
    /// The last time without a connection, the present one included.
    outage: Option<Outage>,
    /// Boxed, because the map keeps room for eleven while nothing is under way.
    in_flight: BTreeMap<Duty, Box<InFlight>>,
    /// Assignments of which nobody has said whether they were written.
    unsure: Vec<UnsureAssignment>,
    next_ticket: u64,
    next_reconcile: Option<Duration>,
    /// Since when nothing was out of the ordinary, while all items are followed.
    calm_since: Option<Duration>,
    settings: Settings,
    /// What it waits for, and since when.
    waiting: Option<(&'static str, Duration)>,
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
    /// How far this clock is ahead of the registry's, in milliseconds, if that is beyond the bound.
    clock_differs_by: Option<i64>,
    leave_requested: bool,
    /// Orphans have waited long enough for anybody to take them: nothing new comes of waiting.
    patience_over: bool,
    /// The last fire of each item that this process reported as noted.
    noted: BTreeMap<ShardingItem, FireTime>,
    /// The last fire of each item that this process reported as skipped, because the item was disabled.
    skipped: BTreeMap<ShardingItem, FireTime>,
    /// The marks, and when they were made, that were said to be left behind by Java instances that live.
    leftovers: BTreeSet<(ShardingItem, Option<Revision>)>,
    /// The marks that were said to be of Java instances which run an item beside this one.
    overwritten: BTreeSet<(ShardingItem, Option<Revision>)>,
    /// That Java instances count items which ours do not, and that callbacks wait for items of Java instances.
    counted: bool,
    silent: bool,
    /// The requests in the registry that were said to be dropped.
    dropped: BTreeSet<String>,
}

/// A plan between the decision and the moment at which the view shows its effect.
#[derive(Debug)]
struct InFlight {
    ticket: Ticket,
    plan: Plan,
    /// What was in force when it was decided: the runs that begin with it see this.
    config: Option<Versioned<Arc<JobConfig>>>,
    /// The records that it replaces, if it is committed. The view may show the next ones before the reply comes.
    replaced: BTreeMap<ShardingItem, Ledger>,
    stage: Stage,
}

impl InFlight {
    /// Returns true if no reply has come yet.
    fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// A plan that is sent now.
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

/// An assignment that this leader has sent, and perhaps written: nobody has said so. Items of which it writes nothing stay where they
/// are, and nothing checks that of them; so the view should show all of it, or none, before the next one is decided (simulation seed
/// 9035734). It has as long for that as after an assignment that was written for certain.
#[derive(Debug)]
struct UnsureAssignment {
    plan: Plan,
    /// Since when the view has shown its record, or another one in its place, but not all of it.
    shown_since: Option<Duration>,
}

impl UnsureAssignment {
    /// Returns true if the view shows that some assignment has replaced the one that this would replace.
    fn is_shown(&self, view: &JobView) -> bool {
        self.plan.assignment().is_some_and(|(expect, _)| expect < view.assignment_version())
    }

    /// Returns true if the view shows its record.
    fn is_the_one_of(&self, view: &JobView) -> bool {
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
    /// Committed; over when the view shows it, or at this time.
    Landed { revision: Option<Revision>, until: Duration },
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
            stirred: BTreeSet::new(),
            session: None,
            me: None,
            connected: false,
            outage: None,
            in_flight: BTreeMap::new(),
            unsure: Vec::new(),
            next_ticket: 0,
            next_reconcile: None,
            calm_since: None,
            settings: Settings::default(),
            waiting: None,
            told: Told::default(),
        }
    }

    /// Gives the instance a name that it has in all its lives: static sharding gives the name its items back.
    ///
    /// # Examples
    /// ```
    /// # use coordination::{Coordinator, Identity, JobName, ServerIp};
    /// # use sharding::StrategyRegistry;
    /// # let identity = Identity { job: JobName::new("report")?, server: ServerIp::new("10.0.0.1")? };
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

    /// Refuses stored configurations that the shell could not fire by, beyond what this crate checks: the last good one
    /// then stays in force, and an instance that never had one stays out.
    #[must_use]
    pub fn checked_by(mut self, check: ConfigCheck) -> Self {
        self.view = self.view.checked_by(check);
        self
    }

    /// Looks fires up in the schedules of configurations. Without it gaps are found by what the records say alone, and are not
    /// counted.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// # use coordination::{Coordinator, FireTime, Identity, JobConfig, JobName, ServerIp};
    /// # use sharding::StrategyRegistry;
    /// # let identity = Identity { job: JobName::new("report")?, server: ServerIp::new("10.0.0.1")? };
    /// let each_second = |_: &JobConfig, after: FireTime, before: FireTime, most: usize| {
    ///     let seconds = (after.0.div_euclid(1_000) + 1..).map(|second| FireTime(second * 1_000));
    ///     seconds.take_while(|fire| *fire < before).take(most).collect()
    /// };
    /// let coordinator = Coordinator::new(identity, StrategyRegistry::default()).scheduled_by(Arc::new(each_second));
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn scheduled_by(mut self, lookup: ScheduleLookup) -> Self {
        self.settings.lookup = Lookup(Some(lookup));
        self
    }

    /// Keeps transactions within what the registry takes. The default is 500 items each.
    #[must_use]
    pub fn limited_to(mut self, limits: Limits) -> Self {
        self.settings.items_per_plan = items_per_plan(limits);
        self
    }

    /// Makes this instance one of those that can call the once-per-cluster callbacks.
    #[must_use]
    pub fn calling_back(mut self) -> Self {
        self.settings.calls_back = true;
        self
    }

    /// Says of which jobs it follows its own items only.
    #[must_use]
    pub fn following(mut self, following: Following) -> Self {
        self.settings.following = following;
        self
    }

    /// Feeds one event and appends to `out` what must now be done, in order.
    pub fn handle(&mut self, now: Now, event: Event, out: &mut Vec<Command>) {
        self.handle_all(now, [event], out);
    }

    /// Feeds events that have come together, and decides once: looking at all items takes much longer than noting that one run
    /// has ended. Decisions can differ from those that each event by itself would have led to; they are as safe.
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

    /// Returns when to call again with [`Event::Wake`] if nothing else happens, on the monotonic clock.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        let retries = self.in_flight.values().filter_map(|flight| match flight.stage {
            Stage::Sent => None,
            Stage::Landed { until, .. } | Stage::Refused { until } | Stage::Held { until } => {
                Some(until)
            }
        });
        let patience = self.local.orphans_since.map(|since| since + ORPHAN_PATIENCE);
        let patience = patience.filter(|_| !self.local.runs.is_empty() && !self.told.patience_over);
        let unsure = self.unsure.iter().filter_map(UnsureAssignment::ends);
        let patience = patience.into_iter().chain(self.end_of_patience());
        retries.chain(self.next_reconcile).chain(patience).chain(unsure).min()
    }

    /// Returns the fire after which a job that catches up may have something left to run, if there is any: the shell
    /// looks up what the schedule has since, for the next [`Event::Fire`]. It is that of the item that is shown and the furthest
    /// behind, whoever has it: the item may come to this instance before the fire after the next one.
    #[must_use]
    pub fn catch_up_since(&self) -> Option<FireTime> {
        self.view.config()?.catch_up?;
        self.view.last_fires().map(|(first, _)| first)
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
            registered: self.is_registered(),
            available: self.is_available(),
            paused: self.is_paused(),
            leader: self.view.leader().cloned(),
            leads: me.is_some_and(|me| self.view.term_of(me).is_some()),
            owned: me.map_or_else(Vec::new, |me| self.view.items_of(me).map(|(i, _)| i).collect()),
            running: self.local.runs.iter().map(|(item, run)| (item, run.token)).collect(),
            waiting_for: self.waiting.map(|(what, _)| what),
            waiting_since: self.waiting.map(|(_, since)| since),
            clock_differs_by: self.told.clock_differs_by,
        }
    }

    /// Another session has registered the id of this life: a former life, or another process. Nothing is decided here
    /// until it is gone, because every guard would take the one for the other.
    fn has_namesake(&self) -> bool {
        let me = self.me.as_ref().zip(self.session);
        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
    }

    /// Returns true if a run of the item may go on here for as long as it likes: this instance stays and is not paused,
    /// and the item is enabled, belongs to it, and is not to move. A run that works through a stream comes to an end at its
    /// next good point where this is false; others need not care.
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

    /// This process, or an operator for its server, holds runs back.
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
            (self.stands_in_line(), Some("a Java instance to leave a latch")),
            (self.view.leader().is_none(), Some("a leader")),
            (self.view.assignment().is_none(), Some("the first assignment")),
            (self.is_assignment_torn(), Some("the rest of an assignment that it may have written")),
            (pending, Some("the end of runs of items that are to move")),
        ];
        rows.into_iter().find_map(|(holds, what)| holds.then_some(what)).flatten()
    }
}
