//! The view: a typed mirror of one job's subtree of the registry, kept by the feed.

pub(crate) mod followed;
pub(crate) mod items;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use reg_center::{Change, Node, NodePath, Revision, SessionId, Version};
use sharding::{Assignment, InstanceId, ShardingItem, StrategyRegistry};

use crate::duty::resharding;
use crate::java::latch::{self, Latch};
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::shortened;
use crate::view::followed::Followed;
use crate::view::items::{ItemView, Items, Sign};
use crate::wire::{self, Layout, NodeKind};
use crate::{
    ConfigError, Dialect, FireTime, InvalidConfig, JobConfig, OnceStage, ServerIp, server_of,
};

/// A value with the version of the node that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Versioned<T> {
    /// What the node holds.
    pub value: T,
    /// The node's version, to guard writes that rely on the value.
    pub version: Version,
}

/// The stored configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState {
    /// There is none (any more).
    Absent,
    /// It can be used.
    Valid(Versioned<Arc<JobConfig>>),
    /// It cannot be used.
    Invalid {
        /// What is wrong with it.
        reason: String,
        /// Which document it is.
        version: Version,
        /// What stays in force until it is repaired, with the version of the document that cannot be used.
        last_good: Option<Versioned<Arc<JobConfig>>>,
    },
}

impl ConfigState {
    /// Returns the state after `next` was read: if it cannot be used, what was in force stays in force.
    fn replaced_by(&self, next: Self) -> Self {
        let Self::Invalid { reason, version, last_good: None } = next else { return next };
        let good = match self {
            Self::Absent => None,
            Self::Valid(config) => Some(&config.value),
            Self::Invalid { last_good, .. } => last_good.as_ref().map(|config| &config.value),
        };
        let last_good = good.map(|good| Versioned { value: Arc::clone(good), version });
        Self::Invalid { reason, version, last_good }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct InstanceView {
    version: Version,
    created: Revision,
    session: SessionId,
    foreign: bool,
}

/// An operator's wish that an instance runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Triggered {
    /// The version of the node that says so.
    pub(crate) version: Version,
    /// Tells this wish from all others of the instance.
    pub(crate) number: u64,
}

impl InstanceView {
    fn read(layout: &Layout, id: &InstanceId, node: &Node) -> Result<Self, String> {
        if server_of(id).is_none() {
            return Err("the name is no instance id such as 10.0.0.7@-@4123".into());
        }
        let session =
            node.stat.owner.ok_or("the node outlives any instance: it is not ephemeral")?;
        let (version, created) = (node.stat.version, node.stat.created);
        Ok(Self { version, created, session, foreign: layout.is_of_java(&node.data) })
    }
}

/// What operators want of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerState {
    /// It takes part.
    #[default]
    Enabled,
    /// Its instances keep their items and start no runs.
    Paused,
    /// Its instances have no items.
    Disabled,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enabled => "enabled",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        })
    }
}

impl ServerState {
    /// Reads the data of a server node. What nobody here knows is what it is for Java instances: enabled in 2.1.5, and in 3.x,
    /// where they run nothing on such a server, disabled.
    pub(crate) fn read(dialect: Dialect, data: &[u8]) -> Result<Self, (Self, String)> {
        let lenient = dialect == Dialect::V2;
        match data {
            data if data == wire::DISABLED.as_bytes() => Ok(Self::Disabled),
            data if data == wire::PAUSED.as_bytes() => Ok(Self::Paused),
            data if lenient || data == wire::ENABLED.as_bytes() => Ok(Self::Enabled),
            data => {
                let found = shortened(&String::from_utf8_lossy(data));
                let reason = format!(
                    "the server holds {found:?}, neither ENABLED, DISABLED nor PAUSED: it counts as disabled, as for Java"
                );
                Err((Self::Disabled, reason))
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ServerView {
    state: ServerState,
    version: Version,
}

/// A node that holds what it should not. It is ignored, and reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Which node.
    pub path: NodePath,
    /// What is wrong with it.
    pub reason: String,
}

/// What only the shell can check of a configuration: the grammar of its schedule.
pub type ConfigCheck = fn(&JobConfig) -> Result<(), InvalidConfig>;

/// A check, which makes no difference between views.
#[derive(Clone, Copy)]
struct Check(ConfigCheck);

impl PartialEq for Check {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Check {}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

/// Everything that one instance knows about one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    layout: Layout,
    check: Check,
    /// The items that it shows; of the others it knows nothing.
    followed: Followed,
    /// Those that the next snapshot will show.
    follows_next: Followed,
    config: ConfigState,
    /// When its document was written, by the registry's clock.
    config_written_at: Option<FireTime>,
    instances: BTreeMap<InstanceId, InstanceView>,
    /// Nodes of Java instances of 2.1.5 that outlive them: an operator's request has come too late.
    ghosts: BTreeMap<InstanceId, Version>,
    draining: BTreeSet<InstanceId>,
    names: BTreeMap<InstanceId, String>,
    triggered: BTreeMap<InstanceId, Triggered>,
    triggers: BTreeMap<String, Versioned<TriggerRecord>>,
    once: Option<Versioned<OnceRecord>>,
    /// What Java instances count for their own once-per-cluster callbacks.
    counted: BTreeSet<(OnceStage, ShardingItem)>,
    servers: BTreeMap<ServerIp, ServerView>,
    leader: Option<Versioned<InstanceId>>,
    /// Who stands in line at the latches, and since when.
    latches: BTreeMap<(Latch, String), Revision>,
    term: Option<Versioned<InstanceId>>,
    servers_added: Option<Version>,
    request: Option<Version>,
    assignment: Option<Versioned<AssignmentRecord>>,
    necessary: bool,
    processing: bool,
    failover_root: bool,
    items: Items,
    /// Items that have a node, whatever is below it.
    item_nodes: BTreeSet<ShardingItem>,
    /// Nodes of items that nobody here knows.
    strange: BTreeSet<(ShardingItem, String)>,
    revision: Revision,
    /// A snapshot that is still incomplete; it replaces everything at its end.
    incoming: Option<Box<JobView>>,
    synced: bool,
}

impl JobView {
    /// Returns the view of somebody who has seen nothing yet.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobName, JobView, Layout};
    /// use reg_center::Change;
    ///
    /// let mut view = JobView::new(Layout::new(&JobName::new("report")?));
    /// assert!(!view.is_synced());
    /// for change in [Change::Init, Change::Ready] {
    ///     assert!(view.apply(change).is_ok());
    /// }
    /// assert!(view.is_synced() && view.config().is_none());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            check: Check(|_| Ok(())),
            followed: Followed::All,
            follows_next: Followed::All,
            config: ConfigState::Absent,
            config_written_at: None,
            instances: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            draining: BTreeSet::new(),
            names: BTreeMap::new(),
            triggered: BTreeMap::new(),
            triggers: BTreeMap::new(),
            once: None,
            counted: BTreeSet::new(),
            servers: BTreeMap::new(),
            leader: None,
            latches: BTreeMap::new(),
            term: None,
            servers_added: None,
            request: None,
            assignment: None,
            necessary: false,
            failover_root: false,
            processing: false,
            items: Items::default(),
            item_nodes: BTreeSet::new(),
            strange: BTreeSet::new(),
            revision: Revision::default(),
            incoming: None,
            synced: false,
        }
    }

    /// Makes the shell's check part of reading a configuration.
    #[must_use]
    pub fn checked_by(self, check: ConfigCheck) -> Self {
        Self { check: Check(check), ..self }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.layout.dialect()
    }

    /// Reads the nodes in another dialect.
    #[must_use]
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { layout: self.layout.speaking(dialect), ..self }
    }

    /// Takes a change of the feed. A node that cannot be read is skipped and reported.
    ///
    /// # Errors
    /// [`Anomaly`]: the node holds what it should not. The view goes on without what it holds.
    pub fn apply(&mut self, change: Change) -> Result<(), Anomaly> {
        match change {
            Change::Init => {
                let incoming = self.anew();
                self.incoming = Some(Box::new(incoming));
                Ok(())
            }
            Change::Ready => {
                if let Some(incoming) = self.incoming.take() {
                    let revision = self.revision.max(incoming.revision);
                    let config = self.config.replaced_by(incoming.config.clone());
                    let follows_next = std::mem::take(&mut self.follows_next);
                    *self = Self { synced: true, revision, config, follows_next, ..*incoming };
                }
                Ok(())
            }
            Change::Entry(node) | Change::Put(node) => {
                let view = self.newest();
                view.revision = view.revision.max(node.stat.modified);
                view.put(&node).map_err(|reason| Anomaly { path: node.path.clone(), reason })
            }
            Change::Gone { path, revision } => {
                let view = self.newest();
                view.revision = view.revision.max(revision.unwrap_or_default());
                view.remove(&path);
                Ok(())
            }
        }
    }

    /// Returns a view that shows nothing yet of what is followed from now on.
    fn anew(&self) -> Self {
        let (followed, follows_next) = (self.follows_next.clone(), self.follows_next.clone());
        Self { followed, follows_next, ..Self::new(self.layout.clone()).checked_by(self.check.0) }
    }

    /// Returns the view that changes go to: the incomplete snapshot, if there is one.
    fn newest(&mut self) -> &mut Self {
        if self.incoming.is_none() {
            return self;
        }
        self.incoming.as_mut().expect("it was found present in the line above")
    }

    /// From the next snapshot on only these items are followed: whoever asks for that begins a feed anew.
    pub(crate) fn follow(&mut self, followed: Followed) {
        self.follows_next = followed;
    }

    /// Returns the items that were asked for: those that it shows, or will show from the next snapshot on.
    pub(crate) fn follows_next(&self) -> &Followed {
        &self.follows_next
    }

    /// Returns the items that it shows.
    pub(crate) fn followed(&self) -> &Followed {
        &self.followed
    }

    /// Returns what a node is for, unless it is of an item that is not followed: a feed may tell of more than was asked for.
    fn parse(&self, path: &NodePath) -> Option<NodeKind> {
        let kind = self.layout.parse(path)?;
        kind.followed_item().is_none_or(|item| self.followed.has(item)).then_some(kind)
    }

    /// Takes what a node holds now. What cannot be read replaces what was known before all the same: by nothing, or by
    /// what makes whoever is responsible write the node again.
    fn put(&mut self, node: &Node) -> Result<(), String> {
        let Some(kind) = self.parse(&node.path) else { return Ok(()) };
        let version = node.stat.version;
        match kind {
            NodeKind::Config => self.put_config(node),
            NodeKind::Instance(id) => {
                let known = self.instances.get(&id).map(|known| known.foreign);
                self.remove(&node.path);
                if self.layout.is_left_behind(node) {
                    self.ghosts.insert(id, version);
                    return Ok(());
                }
                let mut instance = InstanceView::read(&self.layout, &id, node)?;
                // An operator's wish hides whose the node is.
                let asked = node.data == wire::TRIGGER.as_bytes();
                if asked {
                    instance.foreign = known.unwrap_or(false);
                }
                if self.layout.dialect() == Dialect::V2 && asked {
                    let number = u64::from(version.0);
                    self.triggered.insert(id.clone(), Triggered { version, number });
                }
                self.instances.insert(id, instance);
            }
            NodeKind::Trigger(id) => {
                if self.layout.dialect() == Dialect::V3 {
                    let number = node.stat.created.0;
                    self.triggered.insert(id, Triggered { version, number });
                }
            }
            NodeKind::Draining(id) => {
                self.draining.insert(id);
            }
            NodeKind::Server(ip) => {
                let read = ServerState::read(self.layout.dialect(), &node.data);
                let (state, fault) = match read {
                    Ok(state) => (state, Ok(())),
                    Err((state, reason)) => (state, Err(reason)),
                };
                self.servers.insert(ip, ServerView { state, version });
                return fault;
            }
            NodeKind::Name(id) => {
                self.names.remove(&id);
                self.names.insert(id, text_of(node)?.to_owned());
            }
            NodeKind::TriggerRequest(id) => {
                self.triggers.remove(&id);
                let value = wire::decode_trigger(&node.data)?;
                self.triggers.insert(id, Versioned { value, version });
            }
            NodeKind::Once => {
                let (value, fault) = readable(wire::decode_once(&node.data));
                let known = || self.once.take().map_or_else(OnceRecord::default, |o| o.value);
                let value = value.unwrap_or_else(known);
                self.once = Some(Versioned { value, version });
                return fault;
            }
            NodeKind::Leader => {
                let (value, fault) = instance_in(node);
                self.leader = Some(Versioned { value, version });
                return fault;
            }
            NodeKind::Latch(latch, name) => {
                self.latches.insert((latch, name), node.stat.created);
            }
            NodeKind::Term => {
                let (value, fault) = readable(wire::decode_term(&node.data));
                let value = value.unwrap_or_else(|| InstanceId::new(""));
                self.term = Some(Versioned { value, version });
                return fault;
            }
            NodeKind::Servers => self.servers_added = Some(version),
            NodeKind::Request => self.request = Some(version),
            NodeKind::Assignment => {
                let (value, fault) = readable(wire::decode_assignment(&node.data));
                self.assignment = Some(Versioned { value: value.unwrap_or_default(), version });
                return fault;
            }
            NodeKind::Necessary => self.necessary = true,
            NodeKind::Processing => self.processing = true,
            NodeKind::FailoverRoot => self.failover_root = true,
            NodeKind::Owner(item) => {
                let (value, fault) = instance_in(node);
                self.items.change(item, |view| view.owner = Some(Versioned { value, version }));
                return fault;
            }
            NodeKind::Ledger(item) => {
                let (value, fault) = readable(wire::decode_ledger(&node.data));
                self.items.change(item, |view| {
                    view.unreadable = value.is_none();
                    view.ledger = value.map(|value| Versioned { value, version });
                });
                return fault;
            }
            NodeKind::Running(item) => {
                let lasting = node.stat.owner.is_none().then(|| instance_in(node).0);
                self.items.change(item, |view| {
                    (view.running, view.lasting) = (true, lasting);
                    view.marked_at = Some(node.stat.created);
                    view.marked_by = node.stat.owner;
                });
            }
            NodeKind::Alive(item) => self.items.change(item, |view| view.alive = true),
            NodeKind::Failovering(item) => {
                self.items.change(item, |view| view.failovering = Some(instance_in(node).0));
            }
            NodeKind::Misfire(item) => self.items.change(item, |view| view.misfire = true),
            NodeKind::Failover(item) => {
                self.items.change(item, |view| view.failover = Some(instance_in(node).0));
            }
            NodeKind::QueuedItem(item) => self.items.change(item, |view| view.queued = true),
            NodeKind::ItemDisabled(item) => self.items.change(item, |view| view.disabled = true),
            NodeKind::Counted(stage, item) => {
                self.counted.insert((stage, item));
            }
            NodeKind::Item(item) => {
                self.item_nodes.insert(item);
            }
            NodeKind::OfItem(item, name) => {
                self.strange.insert((item, name));
            }
            NodeKind::SystemTime
            | NodeKind::Checkpoint(_)
            | NodeKind::Audit
            | NodeKind::Template => {}
        }
        Ok(())
    }

    fn put_config(&mut self, node: &Node) {
        let version = node.stat.version;
        let expected = self.layout.dialect();
        let check = |config: JobConfig| match config.java.dialect() {
            found if found != expected => Err(ConfigError::Dialect { found, expected }),
            _ => Ok((self.check.0)(&config).map(|()| config)?),
        };
        let read = match wire::decode_config(&node.data).and_then(check) {
            Ok(config) => ConfigState::Valid(Versioned { value: Arc::new(config), version }),
            Err(error) => {
                ConfigState::Invalid { reason: error.to_string(), version, last_good: None }
            }
        };
        self.config = self.config.replaced_by(read);
        self.config_written_at = node.stat.modified_at.map(FireTime::of);
    }

    fn remove(&mut self, path: &NodePath) {
        match self.parse(path) {
            Some(NodeKind::Config) => self.config = ConfigState::Absent,
            Some(NodeKind::Instance(id)) => {
                self.instances.remove(&id);
                self.ghosts.remove(&id);
                if self.layout.dialect() == Dialect::V2 {
                    self.triggered.remove(&id);
                }
            }
            Some(NodeKind::Trigger(id)) => {
                if self.layout.dialect() == Dialect::V3 {
                    self.triggered.remove(&id);
                }
            }
            Some(NodeKind::Draining(id)) => {
                self.draining.remove(&id);
            }
            Some(NodeKind::Name(id)) => {
                self.names.remove(&id);
            }
            Some(NodeKind::TriggerRequest(id)) => {
                self.triggers.remove(&id);
            }
            Some(NodeKind::Once) => self.once = None,
            Some(NodeKind::Server(ip)) => {
                self.servers.remove(&ip);
            }
            Some(NodeKind::Leader) => self.leader = None,
            Some(NodeKind::Latch(latch, name)) => {
                self.latches.remove(&(latch, name));
            }
            Some(NodeKind::Term) => self.term = None,
            Some(NodeKind::Servers) => self.servers_added = None,
            Some(NodeKind::Request) => self.request = None,
            Some(NodeKind::Assignment) => self.assignment = None,
            Some(NodeKind::Necessary) => self.necessary = false,
            Some(NodeKind::Processing) => self.processing = false,
            Some(NodeKind::FailoverRoot) => self.failover_root = false,
            Some(NodeKind::Owner(item)) => self.items.change(item, |view| view.owner = None),
            Some(NodeKind::Ledger(item)) => {
                self.items.change(item, |view| (view.ledger, view.unreadable) = (None, false));
            }
            Some(NodeKind::Running(item)) => {
                self.items.change(item, |view| {
                    (view.running, view.lasting) = (false, None);
                    (view.marked_at, view.marked_by) = (None, None);
                });
            }
            Some(NodeKind::Alive(item)) => self.items.change(item, |view| view.alive = false),
            Some(NodeKind::Failovering(item)) => {
                self.items.change(item, |view| view.failovering = None)
            }
            Some(NodeKind::Misfire(item)) => self.items.change(item, |view| view.misfire = false),
            Some(NodeKind::Failover(item)) => self.items.change(item, |view| view.failover = None),
            Some(NodeKind::QueuedItem(item)) => self.items.change(item, |view| view.queued = false),
            Some(NodeKind::ItemDisabled(item)) => {
                self.items.change(item, |view| view.disabled = false)
            }
            Some(NodeKind::Counted(stage, item)) => {
                self.counted.remove(&(stage, item));
            }
            Some(NodeKind::Item(item)) => {
                self.item_nodes.remove(&item);
            }
            Some(NodeKind::OfItem(item, name)) => {
                self.strange.remove(&(item, name));
            }
            Some(
                NodeKind::SystemTime
                | NodeKind::Checkpoint(_)
                | NodeKind::Audit
                | NodeKind::Template,
            )
            | None => {}
        }
    }

    /// Returns true once a whole snapshot was seen.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// Returns the greatest revision that was seen.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the stored configuration.
    #[must_use]
    pub fn config_state(&self) -> &ConfigState {
        &self.config
    }

    /// Returns the configuration in force: the stored one, or the last one that could be used.
    #[must_use]
    pub fn config(&self) -> Option<&Arc<JobConfig>> {
        self.config_in_force().map(|config| &config.value)
    }

    /// Returns when the stored configuration was written, by the registry's clock if it has one.
    pub(crate) fn config_written_at(&self) -> Option<FireTime> {
        self.config_written_at
    }

    /// Returns the configuration in force, with the version of the stored document, to guard against its next change.
    pub(crate) fn config_in_force(&self) -> Option<&Versioned<Arc<JobConfig>>> {
        match &self.config {
            ConfigState::Absent => None,
            ConfigState::Valid(config) => Some(config),
            ConfigState::Invalid { last_good, .. } => last_good.as_ref(),
        }
    }

    pub(crate) fn config_version(&self) -> Option<Version> {
        self.config_in_force().map(|config| config.version)
    }

    /// Returns true if the instance is registered.
    #[must_use]
    pub fn is_registered(&self, id: &InstanceId) -> bool {
        self.instances.contains_key(id)
    }

    /// Returns true if the instance is registered by another session than this one: somebody else has its id.
    pub(crate) fn is_registered_elsewhere(&self, id: &InstanceId, session: SessionId) -> bool {
        self.instances.get(id).is_some_and(|instance| instance.session != session)
    }

    /// Returns the registered instances in ascending order of their ids.
    pub fn instances(&self) -> impl Iterator<Item = &InstanceId> {
        self.instances.keys()
    }

    /// Returns true if the instance is registered, its server is enabled, and it is not leaving.
    #[must_use]
    pub fn is_available(&self, id: &InstanceId) -> bool {
        self.is_registered(id)
            && !self.draining.contains(id)
            && server_of(id).is_some_and(|ip| self.is_enabled(&ip))
    }

    /// Returns the available instances in the order in which strategies see them: descending.
    pub(crate) fn available(&self) -> Vec<InstanceId> {
        let mut available: Vec<_> =
            self.instances.keys().filter(|id| self.is_available(id)).cloned().collect();
        sharding::sort_descending(&mut available);
        available
    }

    /// Returns true if the instance is leaving and takes no more items.
    #[must_use]
    pub fn is_draining(&self, id: &InstanceId) -> bool {
        self.draining.contains(id)
    }

    /// Returns the version of the instance's node.
    #[must_use]
    pub fn instance_version(&self, id: &InstanceId) -> Option<Version> {
        self.instances.get(id).map(|instance| instance.version)
    }

    /// Returns an operator's wish that the instance runs now, if there is one.
    pub(crate) fn trigger_of(&self, id: &InstanceId) -> Option<Triggered> {
        self.triggered.get(id).copied()
    }

    /// Returns true if no mark tells that the session of who runs the item lives. One that lasts tells nothing once the
    /// instance that it names is gone.
    #[must_use]
    pub fn is_unmarked(&self, view: &ItemView) -> bool {
        let left_behind = view.lasting.as_ref().is_some_and(|holder| !self.is_registered(holder));
        !view.alive && (!view.running || left_behind)
    }

    /// Returns the Java instance that is gone and has left a mark which does not go with its session: that it ran the item,
    /// or had taken it over.
    #[must_use]
    pub fn left_unfinished_by<'a>(&self, view: &'a ItemView) -> Option<&'a InstanceId> {
        let begun = view.running || view.queued;
        let taker = view.failovering.as_ref().filter(|_| !begun);
        let holder = view.lasting.as_ref().or(taker)?;
        let gone = !view.alive && !self.is_registered(holder);
        (gone && self.may_have_lasting_marks()).then_some(holder)
    }

    /// Returns true if a mark of a run outlives the session of who runs the item: Java instances of 3.x find out by it
    /// what to take over.
    pub(crate) fn has_lasting_marks(&self, config: &JobConfig) -> bool {
        self.may_have_lasting_marks() && config.fails_over()
    }

    /// Returns true if there may be such marks, under this configuration or an earlier one.
    pub(crate) fn may_have_lasting_marks(&self) -> bool {
        self.layout.dialect() == Dialect::V3
    }

    /// Returns true if the server is known and not disabled by an operator.
    #[must_use]
    pub fn is_enabled(&self, ip: &ServerIp) -> bool {
        self.servers.get(ip).is_some_and(|server| server.state != ServerState::Disabled)
    }

    /// Returns the servers that the job knows, in ascending order, and what operators want of each.
    pub fn servers(&self) -> impl Iterator<Item = (&ServerIp, ServerState)> {
        self.servers.iter().map(|(ip, server)| (ip, server.state))
    }

    /// Returns the operators' requests to run now that wait in the registry: their ids, and the items that have yet to
    /// get them, `None` for all.
    pub fn requests(&self) -> impl Iterator<Item = (&str, Option<&BTreeSet<ShardingItem>>)> {
        self.triggers().map(|(id, record)| (id, record.value.items.as_ref()))
    }

    /// Returns true if an operator's wish that the instance runs now, in ElasticJob's own convention, waits for it.
    #[must_use]
    pub fn is_triggered(&self, id: &InstanceId) -> bool {
        self.triggered.contains_key(id)
    }

    /// Returns the layout of the job's nodes.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns what operators want of a server; `None` if it is unknown.
    #[must_use]
    pub fn server_state(&self, ip: &ServerIp) -> Option<ServerState> {
        self.servers.get(ip).map(|server| server.state)
    }

    /// Returns the stable name of a registered instance, if it has one.
    pub(crate) fn name_of(&self, id: &InstanceId) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    /// Returns true if the instance has a stable name, registered or not.
    pub(crate) fn is_named(&self, id: &InstanceId) -> bool {
        self.names.contains_key(id)
    }

    /// Returns true if the instance is registered and a Java instance.
    #[must_use]
    pub fn is_foreign(&self, id: &InstanceId) -> bool {
        self.instances.get(id).is_some_and(|instance| instance.foreign)
    }

    /// Returns the registered instance of ours that comes first: under a Java leader it does what is done once.
    pub(crate) fn first_of_ours(&self) -> Option<&InstanceId> {
        self.instances().find(|id| !self.is_foreign(id))
    }

    /// Returns the owner of an item if it is registered and a Java instance.
    pub(crate) fn java_owner<'a>(&self, item: &'a ItemView) -> Option<&'a InstanceId> {
        let owner = item.owner.as_ref().map(|owner| &owner.value);
        owner.filter(|owner| self.is_foreign(owner))
    }

    /// Returns the Java instance whose mark an item has: one that begins an item which is marked already puts its own in the
    /// place of what is there.
    pub(crate) fn marked_by_java(&self, item: &ItemView) -> Option<&InstanceId> {
        let marks = |id: &InstanceId, instance: &InstanceView| {
            let by_session = item.marked_by == Some(instance.session);
            instance.foreign && (by_session || item.lasting.as_ref() == Some(id))
        };
        let marker = self.instances.iter().find(|(id, instance)| marks(id, instance));
        marker.map(|(id, _)| id).filter(|_| item.running)
    }

    /// Returns who has taken an item over if it is registered and a Java instance.
    pub(crate) fn java_taker<'a>(&self, item: &'a ItemView) -> Option<&'a InstanceId> {
        item.failover.as_ref().filter(|taker| self.is_foreign(taker))
    }

    /// Returns true if a Java instance takes part.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.instances.values().any(|instance| instance.foreign)
    }

    /// Returns true if something is done by one instance at a time: a Java instance takes part, or stands in line to.
    pub(crate) fn takes_turns(&self) -> bool {
        let is_ours = |name: &str| self.instances.keys().any(|id| latch::is_of(id, name));
        let comes = self.latches.keys().any(|(_, name)| !is_ours(name));
        self.is_mixed() || comes
    }

    /// Returns the name of an instance's node at a latch.
    pub(crate) fn latch_node_of(&self, latch: Latch, me: &InstanceId) -> Option<&str> {
        self.in_line_at(latch).map(|(name, _)| name).find(|name| latch::is_of(me, name))
    }

    pub(crate) fn has_latch_node(&self, latch: Latch, name: &str) -> bool {
        self.in_line_at(latch).any(|(known, _)| known == name)
    }

    /// Returns true if nobody has stood in line for longer than this instance.
    pub(crate) fn is_first_at(&self, latch: Latch, me: &InstanceId) -> bool {
        let first = self.in_line_at(latch).min_by_key(|(_, since)| *since);
        first.is_some_and(|(name, _)| latch::is_of(me, name))
    }

    /// Returns true if somebody has stood in line for longer than this instance and has a number that is not less: Java
    /// orders by these, and waits for this instance.
    pub(crate) fn is_out_of_order_at(&self, latch: Latch, me: &InstanceId) -> bool {
        let Some((name, since)) = self.in_line_at(latch).find(|(name, _)| latch::is_of(me, name))
        else {
            return false;
        };
        let mine = latch::number_in(name);
        let mut earlier = self.in_line_at(latch).filter(|(_, other)| *other < since);
        earlier.any(|(other, _)| latch::number_in(other).is_some_and(|n| Some(n) >= mine))
    }

    /// Returns the number that the next in line has at least.
    pub(crate) fn next_latch_number(&self, latch: Latch) -> u32 {
        let numbers = self.in_line_at(latch).filter_map(|(name, _)| latch::number_in(name));
        let greatest = numbers.max();
        greatest.map_or(0, |number| number.saturating_add(1))
    }

    fn in_line_at(&self, latch: Latch) -> impl Iterator<Item = (&str, Revision)> {
        let all = self.latches.iter().filter(move |((of, _), _)| *of == latch);
        all.map(|((_, name), since)| (name.as_str(), *since))
    }

    /// Returns the nodes of instances of 2.1.5 that outlive them, with their versions.
    pub fn ghosts(&self) -> impl Iterator<Item = (&InstanceId, Version)> {
        self.ghosts.iter().map(|(id, version)| (id, *version))
    }

    /// Returns when the node of a registered instance was made.
    #[must_use]
    pub fn registered_at(&self, id: &InstanceId) -> Option<Revision> {
        self.instances.get(id).map(|instance| instance.created)
    }

    /// Returns true if a Java instance leads: it writes owners, and nothing else of an assignment.
    #[must_use]
    pub fn has_foreign_leader(&self) -> bool {
        self.leader().is_some_and(|leader| self.is_foreign(leader))
    }

    /// Returns true if a run that an operator asks for can be told something, as far as this instance knows: it waits in the
    /// records of items, and not in the places that ElasticJob has for it.
    pub(crate) fn carries_parameters(&self) -> bool {
        !self.has_foreign_leader() && self.config().is_none_or(|config| config.monitor_execution)
    }

    /// Returns true if a Java instance has announced that items will be assigned anew: they are nobody's until then.
    #[must_use]
    pub fn awaits_foreign_resharding(&self) -> bool {
        self.necessary || self.processing
    }

    /// Returns true if a Java leader is about to assign items anew.
    pub(crate) fn is_java_assigning(&self) -> bool {
        self.has_foreign_leader() && self.awaits_foreign_resharding()
    }

    /// Returns the operators' requests that are in the registry.
    pub(crate) fn triggers(&self) -> impl Iterator<Item = (&str, &Versioned<TriggerRecord>)> {
        self.triggers.iter().map(|(id, record)| (id.as_str(), record))
    }

    pub(crate) fn trigger_request(&self, id: &str) -> Option<&Versioned<TriggerRecord>> {
        self.triggers.get(id)
    }

    pub(crate) fn once(&self) -> Option<&Versioned<OnceRecord>> {
        self.once.as_ref()
    }

    /// Returns true if Java instances count items for once-per-cluster callbacks of theirs.
    pub(crate) fn is_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Returns the version of a server's node, to guard writes of it.
    #[must_use]
    pub fn server_version(&self, ip: &ServerIp) -> Option<Version> {
        self.servers.get(ip).map(|server| server.version)
    }

    /// Returns the leader.
    #[must_use]
    pub fn leader(&self) -> Option<&InstanceId> {
        self.leader.as_ref().map(|leader| &leader.value)
    }

    pub(crate) fn leader_version(&self) -> Option<Version> {
        self.leader.as_ref().map(|leader| leader.version)
    }

    pub(crate) fn term(&self) -> Option<&Versioned<InstanceId>> {
        self.term.as_ref()
    }

    /// Returns the version of the term if `me` leads it.
    pub(crate) fn term_of(&self, me: &InstanceId) -> Option<Version> {
        let term = self.term.as_ref()?;
        (self.leader() == Some(me) && term.value == *me).then_some(term.version)
    }

    /// Returns the version of the counter of servers that were added; `None` if none was.
    pub(crate) fn servers_added(&self) -> Option<Version> {
        self.servers_added
    }

    pub(crate) fn request(&self) -> Option<Version> {
        self.request
    }

    /// Returns true if something waits to be taken over, or somebody stands in line for it, or has at any time.
    pub(crate) fn has_failover_root(&self) -> bool {
        self.failover_root
    }

    pub(crate) fn is_necessary(&self) -> bool {
        self.necessary
    }

    pub(crate) fn assignment(&self) -> Option<&Versioned<AssignmentRecord>> {
        self.assignment.as_ref()
    }

    pub(crate) fn assignment_version(&self) -> Option<Version> {
        self.assignment.as_ref().map(|assignment| assignment.version)
    }

    /// Returns what is known of an item; nothing, if it was never heard of.
    #[must_use]
    pub fn item(&self, item: ShardingItem) -> &ItemView {
        self.items.get(item).unwrap_or(ItemView::NOTHING)
    }

    /// Returns the items of which anything is known, in ascending order.
    pub fn items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(ShardingItem::new(0))
    }

    /// Returns the items that are not at rest, in ascending order: all but those that have an owner and an idle record, with
    /// nothing shown, noted, asked for or disabled.
    pub(crate) fn restless_items(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless()
    }

    /// Returns the items that have a sign, in ascending order: where none has, none is looked at.
    pub(crate) fn items_with(&self, sign: Sign) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.with(sign)
    }

    /// Returns true if an item has a sign.
    pub(crate) fn any_with(&self, sign: Sign) -> bool {
        self.items.any_with(sign)
    }

    /// Returns those who run items, by the items' records, with what they run.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&InstanceId, &BTreeSet<ShardingItem>)> {
        self.items.holders()
    }

    /// Returns the items that still need something for this fire, as far as their records tell, in ascending order: whoever asks
    /// does not look at all the others that have settled it and are at rest.
    pub(crate) fn unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.unsettled(fire)
    }

    /// Returns those of them that are not at rest.
    pub(crate) fn restless_unsettled_items(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.restless_unsettled(fire)
    }

    /// Returns true if something is known of each item of a job with so many, and of no other.
    pub(crate) fn has_exactly(&self, total_count: u32) -> bool {
        usize::try_from(total_count) == Ok(self.items.len())
            && self.items.last().is_none_or(|last| last.index() < total_count)
    }

    /// Returns true if something is known of each item of a job with so many, and of others only that they are retired.
    pub(crate) fn has_no_other(&self, total_count: u32) -> bool {
        let mut beyond = self.items_from(ShardingItem::new(total_count));
        self.n_unknown(total_count) == 0 && !beyond.any(|(_, view)| view.is_surplus())
    }

    /// Counts the items below `total_count` of which nothing is known.
    pub(crate) fn n_unknown(&self, total_count: u32) -> usize {
        let beyond = self.items_from(ShardingItem::new(total_count)).count();
        (0..total_count).count() - (self.items.len() - beyond)
    }

    /// Counts the items from `first` to `last` of which nothing is known.
    pub(crate) fn n_unknown_within(&self, first: ShardingItem, last: ShardingItem) -> usize {
        (first.index()..=last.index()).count() - self.items.n_within(first..=last)
    }

    /// Returns the first and the last of the last fires of all items.
    pub(crate) fn last_fires(&self) -> Option<(FireTime, FireTime)> {
        self.items.last_fires()
    }

    /// Returns the items from this one on of which anything is known, in ascending order.
    pub(crate) fn items_from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.items.from(first)
    }

    /// Returns true if an item is shown as waiting for somebody to take it over.
    pub(crate) fn has_queue(&self) -> bool {
        self.any_with(Sign::Queued)
    }

    /// Returns how many items an instance owns.
    pub(crate) fn count_of(&self, owner: &InstanceId) -> usize {
        self.items.n_of(owner)
    }

    /// Returns those who own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.items.owners()
    }

    /// Returns the items from this one on that have a node in ElasticJob's tree with nothing below it.
    pub(crate) fn empty_items(&self, first: ShardingItem) -> impl Iterator<Item = ShardingItem> {
        let is_empty = |item: &ShardingItem| {
            let shown = self.item(*item);
            let marked = shown.running || shown.failovering.is_some() || shown.failover.is_some();
            let kept = shown.owner.is_some() || shown.misfire || shown.disabled;
            let strange = self.strange.iter().any(|(of, _)| of == item);
            !marked && !kept && !strange
        };
        self.item_nodes.range(first..).copied().filter(is_empty)
    }

    /// Returns the items that belong to `me`, those that are to move to somebody else included.
    pub fn items_of<'a>(
        &'a self,
        me: &'a InstanceId,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        self.items.of(me)
    }

    /// Returns true if the stored configuration can be used, and so is the one in force.
    pub(crate) fn has_usable_config(&self) -> bool {
        matches!(self.config, ConfigState::Valid(_))
    }

    /// Returns the configuration that a leader may decide by. While the stored one cannot be used, instances fall back to
    /// the last good one that each of them has seen, and that may have been replaced since: it does if items were assigned
    /// by it, because then all have seen it.
    pub(crate) fn config_to_lead_by(&self) -> Option<&Arc<JobConfig>> {
        let config = self.config()?;
        let assigned_by_it = || {
            let current = &self.assignment.as_ref()?.value;
            let same = current.total_count == config.sharding_total_count;
            Some(same && current.strategy == config.strategy)
        };
        let sure = self.has_usable_config() || assigned_by_it() == Some(true);
        Some(config).filter(|_| sure)
    }

    /// Returns true if there is an assignment, made for as many items as the configuration in force has.
    pub(crate) fn fits_config(&self) -> bool {
        let total = self.config().map(|config| config.sharding_total_count);
        let assigned = self.assignment.as_ref().map(|assignment| assignment.value.total_count);
        total.is_some() && total == assigned
    }

    /// Returns where the items would be if these instances were the available ones and `config` in force: by the code by
    /// which a leader of ours decides. `now_ms` is the wall time in milliseconds since 1970 UTC, which one strategy
    /// looks at. Which of the busy items would wait is not told.
    ///
    /// # Errors
    /// What is wrong with the strategy or its answer.
    pub fn assignment_for(
        &self,
        members: &[InstanceId],
        config: &JobConfig,
        strategies: &StrategyRegistry,
        now_ms: i64,
    ) -> Result<Assignment, String> {
        let mut members = members.to_vec();
        sharding::sort_descending(&mut members);
        resharding::preview(self, strategies, config, &members, now_ms)
    }

    /// Returns who an item that has yet to move shall belong to.
    #[must_use]
    pub fn next_owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.assignment.as_ref()?.value.pending.get(item)
    }

    /// Returns true if the item belongs to `me`, or will as soon as it can move.
    pub(crate) fn is_meant_for(&self, item: ShardingItem, me: &InstanceId) -> bool {
        let owner = self.item(item).owner.as_ref().map(|owner| &owner.value);
        self.next_owner(item).or(owner) == Some(me)
    }

    /// Returns those of these items that `me` may claim: its own, except those that are to move to somebody else, and none
    /// while the assignment is for another number of items. Under a Java leader: its own, unless all are about to be
    /// assigned anew.
    pub(crate) fn claimable_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let foreign = self.has_foreign_leader();
        let fits = match foreign {
            true => !self.is_java_assigning(),
            false => self.fits_config(),
        };
        let total = self.config().filter(|_| fits).map(|c| c.sharding_total_count);
        let mine = items.filter(|(_, view)| view.is_of(me));
        mine.filter(move |(item, _)| {
            let moves = !foreign && self.next_owner(*item).is_some();
            total.is_some_and(|total| item.index() < total) && !moves
        })
    }

    /// Returns those of these items whose fires `me` accounts for: its own, and those of an owner that is gone if they are
    /// to be its own.
    pub(crate) fn accounted_by<'a>(
        &'a self,
        me: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        let total = self.config().map_or(0, |config| config.sharding_total_count);
        items.filter(move |(item, view)| match &view.owner {
            _ if item.index() >= total => false,
            Some(owner) if owner.value == *me => true,
            Some(owner) => !self.is_registered(&owner.value) && self.next_owner(*item) == Some(me),
            None => false,
        })
    }
}

fn text_of(node: &Node) -> Result<&str, String> {
    std::str::from_utf8(&node.data).map_err(|error| error.to_string())
}

/// Returns the instance that a node names; what cannot be read names an instance that nobody is.
fn instance_in(node: &Node) -> (InstanceId, Result<(), String>) {
    let text = text_of(node);
    (InstanceId::new(text.as_ref().map_or("", |text| text)), text.map(drop))
}

/// Takes a value apart from what is wrong with it.
fn readable<T>(decoded: Result<T, String>) -> (Option<T>, Result<(), String>) {
    match decoded {
        Ok(value) => (Some(value), Ok(())),
        Err(reason) => (None, Err(reason)),
    }
}

impl fmt::Display for JobView {
    /// Draws the view, one fact a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.config {
            ConfigState::Absent => writeln!(f, "no configuration")?,
            ConfigState::Invalid { reason, .. } => writeln!(f, "configuration unusable: {reason}")?,
            ConfigState::Valid(config) => {
                let config = &config.value;
                let cron = config.cron.as_deref().unwrap_or("on request");
                writeln!(f, "{}: {} items, {cron}", config.job_name, config.sharding_total_count)?;
            }
        }
        for id in self.instances.keys() {
            let leads = if self.leader() == Some(id) { ", leads" } else { "" };
            let state = if self.is_available(id) { "" } else { ", not available" };
            writeln!(f, "instance {id}{leads}{state}")?;
        }
        for (item, view) in self.items() {
            let owner = view.owner.as_ref().map_or("nobody", |owner| owner.value.as_str());
            let ledger = view.ledger.as_ref().map_or("no record".into(), |l| l.value.summary());
            let disabled = if view.disabled { ", disabled" } else { "" };
            writeln!(f, "item {item} of {owner}: {ledger}{disabled}")?;
        }
        Ok(())
    }
}
