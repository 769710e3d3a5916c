//! One job as of one moment, which the pure parts of this crate work on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use coordination::{
    Anomaly, AuditLog, AuditRecord, ConfigState, Dialect, FormerConfigs, GroupName, ItemView,
    JobConfig, JobName, JobView, Layout, NodeKind, RecordError, ServerIp, TemplateRecord,
    Versioned, decode_template, server_of,
};
use reg_center::{Change, Node, NodePath, Revision, Version};
use sharding::{InstanceId, ShardingItem};
use trigger::JobSchedule;

use crate::attention::Readiness;
use crate::nodes::Nodes;
use crate::slots::{known_items, runner};
use crate::tally::{ItemFacts, Tally};
use crate::{Error, Result, validate};

/// One job as of one moment of the registry. A node that the snapshot lacks did not exist then.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::JobSnapshot;
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// assert!(!nothing.exists() && nothing.instances().is_empty());
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug)]
pub struct JobSnapshot {
    job: JobName,
    nodes: Nodes,
    view: JobView,
    anomalies: Vec<Anomaly>,
    config_version: Option<Version>,
    schedule: Option<Arc<JobSchedule>>,
    /// Instances that can run items.
    readiness: BTreeMap<InstanceId, Readiness>,
    tally: Tally,
    audit: Result<Option<Versioned<AuditLog>>, RecordError>,
    /// Decoded at its first use, because few readers need it and it can be large.
    former_configs: OnceLock<Arc<Result<FormerConfigs, RecordError>>>,
}

impl JobSnapshot {
    /// Returns the servers that have a record or an instance of the job.
    #[must_use]
    pub fn known_servers(&self) -> BTreeSet<ServerIp> {
        let recorded = self.view().servers().map(|(ip, _)| ip.clone());
        recorded.chain(self.view().instances().filter_map(server_of)).collect()
    }

    /// Builds a snapshot from a job's nodes, including its root.
    #[must_use]
    pub fn of_nodes(job: &JobName, nodes: Vec<Node>) -> Self {
        let mut stored = Nodes::new(Layout::new(job).root());
        nodes.into_iter().for_each(|node| stored.insert(node));
        Self::of_stored(job, stored)
    }

    /// Builds a snapshot from all nodes of a job.
    pub(crate) fn of_stored(job: &JobName, nodes: Nodes) -> Self {
        let layout = Layout::new(job);
        // The nodes of items do not show the dialect.
        let dialect = layout.dialect_of(nodes.others());
        let mut view =
            JobView::new(layout.speaking(dialect)).checked_by(validate::readable_schedule);
        let entries = nodes.iter().map(Change::Entry);
        let changes = std::iter::once(Change::Init).chain(entries).chain([Change::Ready]);
        let mut anomalies: Vec<_> = changes.filter_map(|change| view.apply(change).err()).collect();
        anomalies.sort_by(|a, b| a.path.cmp(&b.path));
        let mut snapshot = Self {
            job: job.clone(),
            nodes,
            view,
            anomalies,
            config_version: None,
            schedule: None,
            readiness: BTreeMap::new(),
            tally: Tally::default(),
            audit: Ok(None),
            former_configs: OnceLock::new(),
        };
        snapshot.config_version = snapshot.node(&NodeKind::Config).map(|node| node.stat.version);
        let schedule = snapshot.config().map(validate::schedule_of).and_then(Result::ok);
        snapshot.schedule = schedule.flatten().map(Arc::new);
        snapshot.readiness = snapshot.compute_readiness();
        snapshot.tally = Tally::of(&snapshot);
        snapshot.read_audit();
        snapshot
    }

    /// Applies a change of the feed, and returns the kind of the changed node. The snapshot is then
    /// that of all present nodes.
    ///
    /// The cost of a change of one node does not depend on the number of items, with two
    /// exceptions: a change of an instance or a server that changes which instances can run items
    /// costs a walk over all items, and a change of the configuration a decoding of all nodes.
    pub(crate) fn apply(&mut self, change: Change) -> Option<NodeKind> {
        let path = change.path()?.clone();
        let kind = self.layout().parse(&path);
        if self.decides_reading(&path, kind.as_ref()) {
            self.store(&change);
            let none = Nodes::new(self.layout().root());
            let nodes = std::mem::replace(&mut self.nodes, none);
            *self = Self::of_stored(&self.job, nodes);
            return kind;
        }
        let item = kind.as_ref().and_then(NodeKind::item);
        let before = item.map(|item| (item, ItemFacts::of(self, item)));
        let was_registered = self.is_registration(kind.as_ref());
        self.store(&change);
        self.anomalies.retain(|anomaly| anomaly.path != path);
        if let Err(anomaly) = self.view.apply(change) {
            self.anomalies.push(anomaly);
            self.anomalies.sort_by(|a, b| a.path.cmp(&b.path));
        }
        // The fires that items can start depend on the instances, and so do lost runs.
        if item.is_none() {
            let readiness = self.compute_readiness();
            let has_registration_changed = self.is_registration(kind.as_ref()) != was_registered;
            if readiness != self.readiness || has_registration_changed {
                self.readiness = readiness;
                self.tally = Tally::of(self);
            }
        }
        if let Some((item, before)) = before {
            let after = ItemFacts::of(self, item);
            self.tally.replace(before, after);
        }
        if kind == Some(NodeKind::Audit) {
            self.read_audit();
        }
        if kind == Some(NodeKind::FormerConfigs) {
            self.former_configs = OnceLock::new();
        }
        kind
    }

    /// Returns true if the node registers an instance at present.
    fn is_registration(&self, kind: Option<&NodeKind>) -> bool {
        matches!(kind, Some(NodeKind::Instance(id)) if self.view.is_registered(id))
    }

    fn store(&mut self, change: &Change) {
        match change {
            Change::Entry(node) | Change::Put(node) => self.nodes.insert(node.clone()),
            Change::Gone { path, .. } => self.nodes.remove(path),
            Change::Init | Change::Ready => {}
        }
    }

    /// Returns true if the reading of all nodes can depend on this node: on the configuration, and
    /// without a valid one, on the nodes that show the dialect.
    ///
    /// A view keeps a former valid configuration, while a snapshot has only present ones.
    fn decides_reading(&self, path: &NodePath, kind: Option<&NodeKind>) -> bool {
        if kind == Some(&NodeKind::Config) {
            return true;
        }
        let is_valid = matches!(self.view.config_state(), ConfigState::Valid(_));
        let shows_dialect = matches!(kind, Some(NodeKind::Instance(_) | NodeKind::Server(_)))
            || *path == self.layout().root();
        !is_valid && shows_dialect
    }

    fn read_audit(&mut self) {
        let node = self.node(&NodeKind::Audit);
        let read = node.map(|node| self.view.layout().read_audit(&node)).transpose();
        self.audit = read;
    }

    /// Returns the job's name.
    #[must_use]
    pub fn job(&self) -> &JobName {
        &self.job
    }

    /// Returns true if the job has any node.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns true if a configuration is stored, whether or not it can be read.
    ///
    /// Without one, the nodes are leftovers of a removed job, or belong to another application.
    #[must_use]
    pub fn has_config(&self) -> bool {
        *self.view.config_state() != ConfigState::Absent
    }

    /// Returns the dialect of the job's nodes.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.view.layout().dialect()
    }

    /// Returns the typed view of the job.
    #[must_use]
    pub fn view(&self) -> &JobView {
        &self.view
    }

    /// Returns the configuration in force.
    #[must_use]
    pub fn config(&self) -> Option<&JobConfig> {
        self.view.config().map(|config| &**config)
    }

    /// Returns the group of jobs that the configuration in force names.
    #[must_use]
    pub fn group(&self) -> Option<&GroupName> {
        self.config()?.group.as_ref()
    }

    /// Returns why the stored configuration cannot be read.
    #[must_use]
    pub fn config_fault(&self) -> Option<&str> {
        match self.view.config_state() {
            ConfigState::Invalid { reason, .. } => Some(reason),
            ConfigState::Absent | ConfigState::Valid(_) => None,
        }
    }

    /// Returns the revision of the stored configuration, which an update has to name.
    #[must_use]
    pub fn config_revision(&self) -> Option<Revision> {
        self.node(&NodeKind::Config).map(|node| node.stat.modified)
    }

    /// Returns the template that the job was created from, or why its record cannot be read.
    ///
    /// Returns `None` for a job that the code of its instances has registered.
    #[must_use]
    pub fn template(&self) -> Option<Result<TemplateRecord, RecordError>> {
        self.node(&NodeKind::Template).map(|node| decode_template(&node.data))
    }

    /// Returns the version of the stored configuration.
    pub(crate) fn config_version(&self) -> Option<Version> {
        self.config_version
    }

    /// Returns the schedule; `None` for a job that runs on request only.
    #[must_use]
    pub fn schedule(&self) -> Option<&JobSchedule> {
        self.schedule.as_deref()
    }

    /// Returns since which write an instance can run items; `None` if it cannot, or is a Java
    /// instance.
    pub(crate) fn readiness(&self, id: &InstanceId) -> Option<Readiness> {
        self.readiness.get(id).copied()
    }

    /// Returns the instances that can run items.
    pub(crate) fn ready(&self) -> &BTreeMap<InstanceId, Readiness> {
        &self.readiness
    }

    /// Returns the counts over the items.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the node of this kind.
    #[must_use]
    pub fn node(&self, kind: &NodeKind) -> Option<Node> {
        self.node_at(&self.view.layout().path(kind))
    }

    /// Returns the node at this path.
    pub(crate) fn node_at(&self, path: &NodePath) -> Option<Node> {
        self.nodes.get(path)
    }

    /// Returns all nodes in the order of their paths.
    ///
    /// The nodes are stored in a compact form. Each call reads and sorts them all.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node> + Clone + use<> {
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        nodes.into_iter()
    }

    /// Returns true if the snapshot has exactly these nodes.
    pub(crate) fn has_nodes(&self, nodes: &Nodes) -> bool {
        self.nodes == *nodes
    }

    /// Returns the nodes that cannot be read, in the order of their paths.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// Returns the last changes that operators made with this crate, oldest first.
    pub fn audit(&self) -> impl DoubleEndedIterator<Item = &AuditRecord> {
        let log = self.audit.as_ref().ok().and_then(Option::as_ref);
        log.into_iter().flat_map(|log| log.value.records())
    }

    /// Returns the last configurations that operators, and programs with `overwrite`, have
    /// replaced, oldest first.
    ///
    /// Replacements by Java instances are not among them.
    ///
    /// # Errors
    /// The log is damaged, or a later version wrote it.
    pub fn former_configs(&self) -> Result<&FormerConfigs, &RecordError> {
        let decode = || {
            let node = self.node(&NodeKind::FormerConfigs);
            let log = node.map(|node| self.layout().read_former_configs(&node)).transpose()?;
            Ok(log.map(|log| log.value).unwrap_or_default())
        };
        self.former_configs.get_or_init(|| Arc::new(decode())).as_ref().as_ref()
    }

    /// Returns the log of former configurations with its version; see [`log`](Self::log).
    ///
    /// # Errors
    /// [`Error::NewerRecord`].
    pub(crate) fn former_config_log(&self) -> Result<(FormerConfigs, Option<reg_center::Version>)> {
        let read = self.former_configs().cloned().map_err(Clone::clone);
        self.log(&NodeKind::FormerConfigs, read)
    }

    /// Returns the audit log with its version; see [`log`](Self::log).
    ///
    /// # Errors
    /// [`Error::NewerRecord`].
    pub(crate) fn audit_log(&self) -> Result<(AuditLog, Option<reg_center::Version>)> {
        let log = self.audit.clone();
        let log = log.map(|log| log.map(|log| log.value).unwrap_or_default());
        self.log(&NodeKind::Audit, log)
    }

    /// Returns a log to change, with the version of its node; a damaged log is replaced by an empty
    /// one.
    ///
    /// # Errors
    /// [`Error::NewerRecord`]: a later version wrote the log, which must not be overwritten.
    fn log<T: Default>(
        &self,
        kind: &NodeKind,
        read: Result<T, RecordError>,
    ) -> Result<(T, Option<reg_center::Version>)> {
        let version = self.node(kind).map(|node| node.stat.version);
        match read {
            Ok(log) => Ok((log, version)),
            Err(error) if error.is_newer() => Err(Error::newer_record(&self.job, kind, &error)),
            Err(_) => Ok((T::default(), version)),
        }
    }

    /// Returns the records that cannot be read, with the kinds of their nodes.
    pub(crate) fn record_errors(&self) -> impl Iterator<Item = (NodeKind, RecordError)> {
        // The view does not read these.
        let unread = [NodeKind::Audit, NodeKind::FormerConfigs, NodeKind::Template];
        let unread = unread.map(|kind| self.layout().path(&kind));
        let paths = self.anomalies.iter().map(|anomaly| anomaly.path.clone()).chain(unread);
        paths.filter_map(|path| {
            let error = self.layout().check_record(&self.node_at(&path)?).err()?;
            Some((self.layout().parse(&path)?, error))
        })
    }

    fn layout(&self) -> &Layout {
        self.view.layout()
    }

    /// Returns the registered instances in ascending order.
    #[must_use]
    pub fn instances(&self) -> Vec<InstanceId> {
        self.view.instances().cloned().collect()
    }

    /// Returns the registered instances of a server. Addresses have to be equal, not share a
    /// prefix.
    pub fn instances_on<'a>(&'a self, ip: &'a ServerIp) -> impl Iterator<Item = &'a InstanceId> {
        self.view.instances().filter(move |id| server_of(id).as_ref() == Some(ip))
    }

    /// Returns whether a registered instance is a Java instance.
    ///
    /// Returns `None` while a manual request in the node of the instance, in 2.1.5, hides its kind.
    #[must_use]
    pub fn is_java(&self, id: &InstanceId) -> Option<bool> {
        let hidden = self.dialect() == Dialect::V2 && self.view.is_triggered(id);
        (!hidden).then(|| self.view.is_java(id))
    }

    /// Returns true unless all registered instances are known to be Rust instances.
    #[must_use]
    pub fn may_have_java(&self) -> bool {
        self.view.instances().any(|id| self.is_java(id) != Some(false))
    }

    /// Returns the available instances in ascending order.
    #[must_use]
    pub fn available(&self) -> Vec<InstanceId> {
        self.view.instances().filter(|id| self.view.is_available(id)).cloned().collect()
    }

    /// Returns the job's items.
    ///
    /// Their number comes from the configuration in force. Without one, the items with any node are
    /// returned.
    #[must_use]
    pub fn items(&self) -> Vec<ShardingItem> {
        match self.config() {
            Some(config) => (0..config.sharding_total_count).map(ShardingItem::new).collect(),
            None => known_items(&self.view).into_iter().collect(),
        }
    }

    /// Returns the owner of an item.
    #[must_use]
    pub fn owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.view.item(item).owner.as_ref().map(|owner| &owner.value)
    }

    /// Returns the instance that runs an item, or the slot with this key.
    ///
    /// It is the holder of the record, otherwise the instance that the mark names. Marks of 2.1.5
    /// name no instance; then it is the owner of the item.
    #[must_use]
    pub fn runner(&self, key: ShardingItem) -> Option<&InstanceId> {
        runner(&self.view, key)
    }

    /// Returns the number of runs of an instance, in all slots of all items.
    #[must_use]
    pub fn runs_on(&self, id: &InstanceId) -> usize {
        self.tally.runs_on().get(id).copied().unwrap_or_default()
    }

    /// Returns the holder of the recorded run of an item, or of the slot with this key, if its
    /// session has ended: the run is not taken over yet, or no instance is alive to do so.
    #[must_use]
    pub fn lost_holder(&self, key: ShardingItem) -> Option<&InstanceId> {
        let shown = self.view.item(key);
        let run = shown.ledger.as_ref().and_then(|ledger| ledger.value.running())?;
        // The mark of 3.x outlasts its session; `alive` does not.
        let is_left_over = shown.marks.lasting_holder() == Some(&run.holder) && !shown.marks.alive;
        let is_marked = shown.marks.shows_run() && !is_left_over;
        (!self.view.is_registered(&run.holder) && !is_marked).then_some(&run.holder)
    }

    /// Returns the Rust instance that marks an item, or the slot with this key, as running although
    /// its record shows no run.
    ///
    /// Java instances write no records, so their marks do not count.
    #[must_use]
    pub fn marked_only(&self, key: ShardingItem) -> Option<&InstanceId> {
        let shown = self.view.item(key);
        let idle = shown.ledger.as_ref().is_some_and(|record| !record.value.is_busy());
        if !idle || !shown.marks.shows_run() {
            return None;
        }
        let marker = self.marker(shown)?;
        let is_known = self.view.is_registered(marker) && self.is_java(marker) == Some(false);
        is_known.then_some(marker)
    }

    /// Returns the instance that wrote the mark of a run: the mark names it, or its session owns
    /// it.
    fn marker<'a>(&'a self, shown: &'a ItemView) -> Option<&'a InstanceId> {
        let in_session = |id: &&InstanceId| {
            let node = self.node(&NodeKind::Instance((*id).clone()));
            shown.marks.session().is_some()
                && node.is_some_and(|node| node.stat.owner == shown.marks.session())
        };
        shown.marks.lasting_holder().or_else(|| self.view.instances().find(in_session))
    }
}
