//! The view: a typed copy of one job's subtree of the registry.
//!
//! The feed keeps it up to date.

mod apply;
pub(crate) mod config;
pub(crate) mod difference;
pub(crate) mod group;
pub(crate) mod holder;
pub(crate) mod item;
pub(crate) mod items;
pub(crate) mod marks;
pub(crate) mod members;
pub(crate) mod permits;
mod queries;
mod starts;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use reg_center::{NodePath, Revision, Version};
use sharding::{InstanceId, ShardingItem};

use self::config::{Check, ConfigView};
use self::group::GroupView;
use self::items::Items;
use self::members::{InstanceView, ServerView};
use self::permits::PermitView;
use crate::java::nodes::JavaNodes;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::followed::Followed;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::wire::Layout;
use crate::{
    BackfillLog, Dialect, FireTime, GroupName, Ledger, ServerIp, StartLog, Versioned, WaitingRuns,
};

pub use self::config::{ConfigCheck, ConfigState};
use crate::protocol::run_request::Triggered;

/// Records of the whole job that a later version of this project wrote, in a format that this
/// version cannot read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NewerRecords {
    term: bool,
    assignment: bool,
    once: bool,
    starts: bool,
}

/// A node with invalid data, to be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Path of the node.
    pub path: NodePath,
    /// Description of the fault.
    pub reason: String,
}

/// The view of one job: all that an instance knows about it.
///
/// Queries return typed values. The view may be stale, so every write that relies on it checks the
/// versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    layout: Layout,
    check: Check,
    /// Items that the view shows. It knows nothing about others.
    followed: Followed,
    /// Items that the next snapshot will show.
    follows_next: Followed,
    config: ConfigView,
    pub(crate) instances: BTreeMap<InstanceId, InstanceView>,
    draining: BTreeSet<InstanceId>,
    waiting: BTreeMap<InstanceId, Versioned<Option<WaitingRuns>>>,
    permits: BTreeMap<u32, PermitView>,
    starts: Option<Versioned<StartLog>>,
    /// The group that the view shows, if the job was in one when the feed began.
    group: Option<GroupView>,
    /// The group that the next snapshot shows.
    next_group: Option<GroupName>,
    names: BTreeMap<InstanceId, String>,
    pub(crate) run_requests: BTreeMap<InstanceId, Triggered>,
    triggers: BTreeMap<String, Versioned<TriggerRecord>>,
    once: Option<Versioned<OnceRecord>>,
    /// `None` inside if the log cannot be read.
    backfills: Option<Versioned<Option<BackfillLog>>>,
    servers: BTreeMap<ServerIp, ServerView>,
    leader: Option<Versioned<InstanceId>>,
    term: Option<Versioned<InstanceId>>,
    servers_added: Option<Version>,
    /// Undecoded, because only the leader that adds an entry reads it.
    audit: Option<Versioned<Bytes>>,
    resharding_requests: Option<Version>,
    assignment: Option<Versioned<AssignmentRecord>>,
    items: Items,
    /// The further slots of the items, each by its key.
    further_slots: Items,
    newer: NewerRecords,
    pub(crate) java: JavaNodes,
    revision: Revision,
    /// An incomplete snapshot. It replaces the whole view once it is complete.
    incoming: Option<Box<JobView>>,
    synced: bool,
}

impl JobView {
    /// Returns an empty view.
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
            config: ConfigView::ABSENT,
            instances: BTreeMap::new(),
            draining: BTreeSet::new(),
            waiting: BTreeMap::new(),
            permits: BTreeMap::new(),
            starts: None,
            group: None,
            next_group: None,
            names: BTreeMap::new(),
            run_requests: BTreeMap::new(),
            triggers: BTreeMap::new(),
            once: None,
            backfills: None,
            servers: BTreeMap::new(),
            leader: None,
            term: None,
            servers_added: None,
            audit: None,
            resharding_requests: None,
            assignment: None,
            items: Items::default(),
            further_slots: Items::default(),
            newer: NewerRecords::default(),
            java: JavaNodes::default(),
            revision: Revision::default(),
            incoming: None,
            synced: false,
        }
    }

    /// Adds the caller's check to the validation of configurations.
    #[must_use]
    pub fn checked_by(self, check: ConfigCheck) -> Self {
        Self { check: Check(check), ..self }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.layout.dialect()
    }

    /// Sets the dialect in which the view decodes nodes.
    #[must_use]
    pub fn speaking(self, dialect: Dialect) -> Self {
        Self { layout: self.layout.speaking(dialect), ..self }
    }

    /// Returns true once the view has a complete snapshot.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// Returns the greatest revision of the changes so far.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the request that the instance runs now, by ElasticJob's own API.
    pub(crate) fn run_request_of(&self, id: &InstanceId) -> Option<Triggered> {
        self.run_requests.get(id).copied()
    }

    /// Returns the manual requests in the registry: their ids, and the items that do not have the
    /// request yet, `None` for all.
    pub fn requests(&self) -> impl Iterator<Item = (&str, Option<&BTreeSet<ShardingItem>>)> {
        self.triggers().map(|(id, record)| (id, record.value.items.as_ref()))
    }

    /// Returns true if a request by ElasticJob's own API waits for the instance.
    #[must_use]
    pub fn is_triggered(&self, id: &InstanceId) -> bool {
        self.run_requests.contains_key(id)
    }

    /// Returns the layout of the job's nodes.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the manual requests in the registry with their ids.
    pub(crate) fn triggers(&self) -> impl Iterator<Item = (&str, &Versioned<TriggerRecord>)> {
        self.triggers.iter().map(|(id, record)| (id.as_str(), record))
    }

    pub(crate) fn trigger_request(&self, id: &str) -> Option<&Versioned<TriggerRecord>> {
        self.triggers.get(id)
    }

    pub(crate) fn once(&self) -> Option<&Versioned<OnceRecord>> {
        self.once.as_ref()
    }

    /// Returns the next fire of a job with a fixed delay: the delay after the last fire has ended
    /// on all items. `None` while no leader has recorded the start of the job.
    ///
    /// It stays the next one until that fire has ended, too. A change of the delay does not replace
    /// it once an item has begun it.
    #[must_use]
    pub fn delayed_fire(&self) -> Option<FireTime> {
        let delay = self.config()?.fixed_delay()?;
        let ended = self.once()?.value.ended?;
        let begun = self.latest_fire().filter(|last| *last > ended.at);
        Some(begun.unwrap_or_else(|| ended.next(delay)))
    }

    /// Returns true if the job has a fixed delay, and the item has begun or skipped a fire after
    /// the last recorded end. It begins no other fire until the end of that one is recorded.
    pub(crate) fn awaits_end(&self, ledger: &Ledger) -> bool {
        let delay = self.config().and_then(|config| config.fixed_delay());
        let ended = delay.and_then(|_| self.once()?.value.ended);
        ended.is_some_and(|ended| ledger.last_fire > Some(ended.at))
    }

    /// Returns the backfill in progress and the last ended ones; none if the log cannot be read.
    #[must_use]
    pub fn backfills(&self) -> &BackfillLog {
        self.backfill_log().map_or(BackfillLog::EMPTY, |(_, log)| log)
    }

    /// Returns the log of backfills with the version of its node, `None` inside if there is no
    /// node. `None` if the log cannot be read, so that no instance overwrites it.
    #[must_use]
    pub fn backfill_log(&self) -> Option<(Option<Version>, &BackfillLog)> {
        match &self.backfills {
            None => Some((None, BackfillLog::EMPTY)),
            Some(Versioned { value, version }) => Some((Some(*version), value.as_ref()?)),
        }
    }

    /// Returns true if a later version of this project wrote the term or the assignment, in a
    /// format that this version cannot read. This instance then neither leads nor starts runs.
    pub(crate) fn is_newer(&self) -> bool {
        self.newer.term || self.newer.assignment
    }

    /// Returns true if a later version of this project wrote the record of once-per-cluster calls,
    /// in a format that this version cannot read.
    pub(crate) fn has_newer_calls(&self) -> bool {
        self.newer.once
    }

    /// Returns the version of the counter of resharding requests.
    pub(crate) fn resharding_requests(&self) -> Option<Version> {
        self.resharding_requests
    }

    pub(crate) fn assignment(&self) -> Option<&Versioned<AssignmentRecord>> {
        self.assignment.as_ref()
    }

    pub(crate) fn assignment_version(&self) -> Option<Version> {
        self.assignment.as_ref().map(|assignment| assignment.version)
    }
}
