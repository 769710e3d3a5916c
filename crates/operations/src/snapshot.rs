//! One job as it stood at one moment: everything that the pure parts of this crate look at.

use std::collections::BTreeMap;

use coordination::{
    Anomaly, AuditLog, AuditRecord, ConfigState, Dialect, ItemView, JobConfig, JobName, JobView,
    Layout, NodeKind, ServerIp, TemplateRecord, Versioned, decode_template, server_of,
};
use reg_center::{Change, Node, NodePath, Revision};
use sharding::{InstanceId, ShardingItem};

use crate::validate;

/// One job as it stood at one moment of the registry. What the snapshot does not show was not there.
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
    nodes: BTreeMap<NodePath, Node>,
    view: JobView,
    anomalies: Vec<Anomaly>,
    audit: Result<Option<Versioned<AuditLog>>, String>,
}

impl JobSnapshot {
    /// Makes a snapshot of a job's nodes, its root among them.
    #[must_use]
    pub fn of_nodes(job: &JobName, nodes: Vec<Node>) -> Self {
        let layout = Layout::new(job);
        let dialect = layout.dialect_of(nodes.iter());
        let layout = layout.speaking(dialect);
        let mut view = JobView::new(layout.clone()).checked_by(validate::readable_schedule);
        let entries = nodes.iter().cloned().map(Change::Entry);
        let changes = std::iter::once(Change::Init).chain(entries).chain([Change::Ready]);
        let anomalies = changes.filter_map(|change| view.apply(change).err()).collect();
        let nodes: BTreeMap<_, _> = nodes.into_iter().map(|n| (n.path.clone(), n)).collect();
        let audit = nodes.get(&layout.path(&NodeKind::Audit));
        let audit = audit.map(|node| layout.read_audit(node)).transpose();
        Self { job: job.clone(), nodes, view, anomalies, audit }
    }

    /// Returns the job's name.
    #[must_use]
    pub fn job(&self) -> &JobName {
        &self.job
    }

    /// Returns true if there is a node of the job at all.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns true if a configuration is stored, whether or not it can be used. What has none is no job, but what is left
    /// of one, or something else.
    #[must_use]
    pub fn has_config(&self) -> bool {
        *self.view.config_state() != ConfigState::Absent
    }

    /// Returns in which dialect the job's nodes are.
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

    /// Returns what is wrong with the stored configuration.
    #[must_use]
    pub fn config_fault(&self) -> Option<&str> {
        match self.view.config_state() {
            ConfigState::Invalid { reason, .. } => Some(reason),
            ConfigState::Absent | ConfigState::Valid(_) => None,
        }
    }

    /// Returns the revision of the stored configuration, which a change of it has to name.
    #[must_use]
    pub fn config_revision(&self) -> Option<Revision> {
        self.node(&NodeKind::Config).map(|node| node.stat.modified)
    }

    /// Returns the template that the job was made from, or what is wrong with its record; `None` for a job that the code of
    /// its instances has registered.
    #[must_use]
    pub fn template(&self) -> Option<Result<TemplateRecord, String>> {
        self.node(&NodeKind::Template).map(|node| decode_template(&node.data))
    }

    /// Returns a node.
    #[must_use]
    pub fn node(&self, kind: &NodeKind) -> Option<&Node> {
        self.nodes.get(&self.view.layout().path(kind))
    }

    /// Returns all nodes in the order of their paths.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> + Clone {
        self.nodes.values()
    }

    /// Returns the nodes that cannot be read.
    #[must_use]
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// Returns the last changes that operators made with this crate, oldest first.
    pub fn audit(&self) -> impl DoubleEndedIterator<Item = &AuditRecord> {
        let log = self.audit.as_ref().ok().and_then(Option::as_ref);
        log.into_iter().flat_map(|log| log.value.records())
    }

    /// Returns the log of changes with its version; what cannot be read is begun anew.
    pub(crate) fn audit_log(&self) -> (AuditLog, Option<reg_center::Version>) {
        let version = self.node(&NodeKind::Audit).map(|node| node.stat.version);
        let log = self.audit.as_ref().ok().and_then(Option::as_ref);
        (log.map(|log| log.value.clone()).unwrap_or_default(), version)
    }

    /// Returns the registered instances in ascending order.
    #[must_use]
    pub fn instances(&self) -> Vec<InstanceId> {
        self.view.instances().cloned().collect()
    }

    /// Returns the registered instances of a server. Addresses are compared as a whole.
    pub fn instances_on<'a>(&'a self, ip: &'a ServerIp) -> impl Iterator<Item = &'a InstanceId> {
        self.view.instances().filter(move |id| server_of(id).as_ref() == Some(ip))
    }

    /// Returns whether a registered instance is a Java instance; `None` while an operator's wish in its node, in 2.1.5,
    /// hides whose it is.
    #[must_use]
    pub fn is_java(&self, id: &InstanceId) -> Option<bool> {
        let hidden = self.dialect() == Dialect::V2 && self.view.is_triggered(id);
        (!hidden).then(|| self.view.is_foreign(id))
    }

    /// Returns true unless all registered instances are certainly ours.
    #[must_use]
    pub fn may_have_java(&self) -> bool {
        self.view.instances().any(|id| self.is_java(id) != Some(false))
    }

    /// Returns the instances that can be given items, in ascending order.
    #[must_use]
    pub fn available(&self) -> Vec<InstanceId> {
        self.view.instances().filter(|id| self.view.is_available(id)).cloned().collect()
    }

    /// Returns the job's items: as many as the configuration in force says; without one, those of which anything is known.
    #[must_use]
    pub fn items(&self) -> Vec<ShardingItem> {
        match self.config() {
            Some(config) => (0..config.sharding_total_count).map(ShardingItem::new).collect(),
            None => self.view.items().map(|(item, _)| item).collect(),
        }
    }

    /// Returns who owns an item.
    #[must_use]
    pub fn owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.view.item(item).owner.as_ref().map(|owner| &owner.value)
    }

    /// Returns who runs an item: who its record says, else who its mark says, else, as marks of 2.1.5 name nobody, its
    /// owner.
    #[must_use]
    pub fn runner(&self, item: ShardingItem) -> Option<&InstanceId> {
        runner(self.view.item(item))
    }

    /// Returns true if an item runs: its record or its mark says so.
    #[must_use]
    pub fn is_running(&self, item: ShardingItem) -> bool {
        let shown = self.view.item(item);
        let recorded = shown.ledger.as_ref().is_some_and(|l| l.value.running().is_some());
        recorded || shown.running
    }

    /// Returns the registered instance that marks an item as running although the item's record shows no run. Java instances
    /// write no records, so their marks do not count.
    #[must_use]
    pub fn marked_only(&self, item: ShardingItem) -> Option<&InstanceId> {
        let shown = self.view.item(item);
        let idle = shown.ledger.as_ref().is_some_and(|record| !record.value.is_busy());
        let marker = self.marker(shown).filter(|_| shown.running && idle)?;
        let is_known = self.view.is_registered(marker) && self.is_java(marker) == Some(false);
        is_known.then_some(marker)
    }

    /// Returns which instance has made the mark of an item's run: the mark names it, or goes with its session.
    fn marker<'a>(&'a self, shown: &'a ItemView) -> Option<&'a InstanceId> {
        let in_session = |id: &&InstanceId| {
            let node = self.node(&NodeKind::Instance((*id).clone()));
            shown.marked_by.is_some() && node.is_some_and(|node| node.stat.owner == shown.marked_by)
        };
        shown.lasting.as_ref().or_else(|| self.view.instances().find(in_session))
    }
}

/// Returns who runs an item; see [`JobSnapshot::runner`].
pub(crate) fn runner(shown: &ItemView) -> Option<&InstanceId> {
    let record = shown.ledger.as_ref().and_then(|ledger| ledger.value.running());
    let of_mark = || {
        let owner = shown.owner.as_ref().map(|owner| &owner.value);
        shown.running.then(|| shown.lasting.as_ref().or(owner)).flatten()
    };
    record.map(|run| &run.holder).or_else(of_mark)
}
