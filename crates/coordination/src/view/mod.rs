//! The view: a typed mirror of one job's subtree of the registry, kept by the feed.

mod apply;
pub(crate) mod config;
pub(crate) mod followed;
pub(crate) mod holder;
pub(crate) mod items;
pub(crate) mod members;
mod queries;

use std::collections::{BTreeMap, BTreeSet};

use reg_center::{NodePath, Revision, Version};
use sharding::{InstanceId, ShardingItem};

use self::config::Check;
use self::followed::Followed;
use self::items::Items;
use self::members::{InstanceView, ServerView};
use crate::java::facts::JavaNodes;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::wire::Layout;
use crate::{Dialect, FireTime, ServerIp};

pub use self::config::{ConfigCheck, ConfigState};
pub use self::members::ServerState;

/// A value with the version of the node that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Versioned<T> {
    /// What the node holds.
    pub value: T,
    /// The node's version, to guard writes that rely on the value.
    pub version: Version,
}

/// An operator's wish that an instance runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triggered {
    /// The version of the node that says so.
    pub version: Version,
    /// Tells this wish from all others of the instance.
    pub number: u64,
}

/// A node that holds what it should not. It is ignored, and reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Which node.
    pub path: NodePath,
    /// What is wrong with it.
    pub reason: String,
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
    pub(crate) instances: BTreeMap<InstanceId, InstanceView>,
    draining: BTreeSet<InstanceId>,
    names: BTreeMap<InstanceId, String>,
    triggered: BTreeMap<InstanceId, Triggered>,
    triggers: BTreeMap<String, Versioned<TriggerRecord>>,
    once: Option<Versioned<OnceRecord>>,
    servers: BTreeMap<ServerIp, ServerView>,
    leader: Option<Versioned<InstanceId>>,
    term: Option<Versioned<InstanceId>>,
    servers_added: Option<Version>,
    request: Option<Version>,
    assignment: Option<Versioned<AssignmentRecord>>,
    items: Items,
    pub(crate) java: JavaNodes,
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
            draining: BTreeSet::new(),
            names: BTreeMap::new(),
            triggered: BTreeMap::new(),
            triggers: BTreeMap::new(),
            once: None,
            servers: BTreeMap::new(),
            leader: None,
            term: None,
            servers_added: None,
            request: None,
            assignment: None,
            items: Items::default(),
            java: JavaNodes::default(),
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

    /// Returns an operator's wish that the instance runs now, if there is one.
    pub(crate) fn trigger_of(&self, id: &InstanceId) -> Option<Triggered> {
        self.triggered.get(id).copied()
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

    pub(crate) fn request(&self) -> Option<Version> {
        self.request
    }

    pub(crate) fn assignment(&self) -> Option<&Versioned<AssignmentRecord>> {
        self.assignment.as_ref()
    }

    pub(crate) fn assignment_version(&self) -> Option<Version> {
        self.assignment.as_ref().map(|assignment| assignment.version)
    }
}
