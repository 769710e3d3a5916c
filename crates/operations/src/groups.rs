//! Groups of jobs: their limits, the permits of their runs, and the jobs that wait.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;

use coordination::{
    AuditLog, AuditRecord, GroupLimits, GroupName, GroupNode, GroupView, JobName, Layout, Versioned,
};
use reg_center::{Node, Stat, Txn, TxnOutcome};

use crate::operations::{ATTEMPTS, unique_id};
use crate::{By, Error, FieldChange, JobSnapshot, Operations, Result};

/// A group of jobs as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSnapshot {
    view: GroupView,
    audit: Result<Option<Versioned<AuditLog>>, String>,
    /// The known nodes.
    stats: HashMap<GroupNode, Stat>,
    /// Why the limits cannot be read.
    limits_fault: Option<String>,
}

impl GroupSnapshot {
    /// Returns the snapshot of a group without nodes.
    #[must_use]
    pub fn new(group: GroupName) -> Self {
        let (view, stats) = (GroupView::new(group), HashMap::new());
        Self { view, audit: Ok(None), stats, limits_fault: None }
    }

    /// Builds a snapshot from the nodes of a group; those of other groups are left out.
    #[must_use]
    pub fn of_nodes(group: GroupName, nodes: &[Node]) -> Self {
        by_group(nodes).remove(&group).unwrap_or_else(|| Self::new(group))
    }

    /// Applies a node of the group. A node that cannot be read counts as absent, except for the
    /// limits: without them, [`GroupView::limits`] is `None`.
    pub(crate) fn put(&mut self, kind: GroupNode, node: &Node) {
        self.stats.insert(kind.clone(), node.stat);
        if kind == GroupNode::Audit {
            let read = Layout::read_group_audit(node);
            self.audit = read.map(Some).map_err(|error| error.to_string());
        } else if kind == GroupNode::Limits {
            self.limits_fault = self.view.put(kind, node).err();
        } else {
            drop(self.view.put(kind, node));
        }
    }

    pub(crate) fn remove(&mut self, kind: &GroupNode) {
        self.stats.remove(kind);
        if *kind == GroupNode::Audit {
            self.audit = Ok(None);
        } else if *kind == GroupNode::Limits {
            self.limits_fault = None;
        }
        self.view.remove(kind);
    }

    /// Returns true if the registry has a node of the group.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.stats.is_empty()
    }

    /// Returns the limits, the permits and the line of the group.
    #[must_use]
    pub fn view(&self) -> &GroupView {
        &self.view
    }

    /// Returns the version, the revisions and the owner of a node of the group.
    pub(crate) fn stat(&self, node: &GroupNode) -> Option<Stat> {
        self.stats.get(node).copied()
    }

    /// Returns why the limits cannot be read, if they cannot.
    pub(crate) fn limits_fault(&self) -> Option<&str> {
        self.limits_fault.as_deref()
    }

    /// Returns the last audited changes of the limits, oldest first.
    pub fn audit(&self) -> impl DoubleEndedIterator<Item = &AuditRecord> {
        let log = self.audit.as_ref().ok().and_then(Option::as_ref);
        log.into_iter().flat_map(|log| log.value.records())
    }

    /// Returns true if the group has limits, permits, waiting jobs or a node that cannot be read.
    #[must_use]
    pub fn is_used(&self) -> bool {
        let is_limited = self.view.limits() != Some(GroupLimits::NONE);
        is_limited || self.view.permits().len() > 0 || !self.view.line().is_empty()
    }

    /// Returns the change that gives the group these limits.
    #[must_use]
    pub fn change_to(&self, limits: GroupLimits) -> GroupChange {
        let (group, before) = (self.view.name().clone(), self.view.limits());
        GroupChange { group, before, after: limits, record: None }
    }

    fn has_recorded(&self, id: &str) -> bool {
        self.audit().any(|record| record.id == id)
    }
}

/// A change of the limits of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupChange {
    /// The group.
    pub group: GroupName,
    /// The limits before the change; `None` if they could not be read.
    pub before: Option<GroupLimits>,
    /// The limits after the change.
    pub after: GroupLimits,
    /// The audit record. `None` if nothing was written: the limits were as wanted, or the change is
    /// a preview.
    pub record: Option<AuditRecord>,
}

impl GroupChange {
    /// Returns true if the limits before differ from those after.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        self.before != Some(self.after)
    }

    /// Returns the limits that differ, by their names in a job file, with `none` for no limit.
    /// `unreadable` stands for limits that could not be read.
    #[must_use]
    pub fn changes(&self, unreadable: &str) -> Vec<FieldChange> {
        let runs = |limits: GroupLimits| limits.cluster_concurrency.map(|max| max.to_string());
        let rate = |limits: GroupLimits| limits.start_rate.map(|rate| rate.to_string());
        let change = |field, text: &dyn Fn(GroupLimits) -> Option<String>| {
            let shown = |limits| text(limits).unwrap_or_else(|| "none".to_owned());
            let from = self.before.map_or_else(|| unreadable.to_owned(), shown);
            FieldChange { field, from, to: shown(self.after) }
        };
        let all = [change("cluster_concurrency", &runs), change("start_rate", &rate)];
        all.into_iter().filter(|change| change.from != change.to).collect()
    }
}

impl fmt::Display for GroupChange {
    /// Shows the limits before and after, such as `no limits -> at most 3 runs at once`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before {
            Some(before) => write!(f, "{before} -> {}", self.after),
            None => write!(f, "unreadable -> {}", self.after),
        }
    }
}

/// An attempt to change a group, by its present nodes: the result if nothing has to be written, or
/// the transaction without the log, the record for the log, and the result of the commit.
type Attempt<T> = ControlFlow<T, (Txn, AuditRecord, T)>;

/// Texts of errors of a change of a group.
struct Failed {
    /// The action, such as `changing`.
    action: &'static str,
    /// Reason if each attempt has met a conflict.
    contended: String,
    /// Reason if the outcome is unknown.
    unknown: String,
}

impl Operations {
    /// Reads a group. A group without nodes has no limits.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Deadline`], or a registry error.
    pub async fn group(&self, group: &GroupName) -> Result<GroupSnapshot> {
        let root = Layout::group_root(group);
        let nodes = self.reader.tree(&format!("group {group}"), &root).await?;
        Ok(GroupSnapshot::of_nodes(group.clone(), &nodes))
    }

    /// Reads the groups that have nodes, in the order of their names.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Deadline`], or a registry error.
    pub async fn groups(&self) -> Result<Vec<GroupSnapshot>> {
        let nodes = self.reader.tree("the groups", &Layout::groups_root()).await?;
        Ok(by_group(&nodes).into_values().collect())
    }

    /// Reads the group of a job, for [`why_not_running_in`](crate::why_not_running_in). `None` if
    /// the job has no group.
    ///
    /// # Errors
    /// As [`group`](Self::group).
    pub async fn group_of(&self, job: &JobSnapshot) -> Result<Option<GroupSnapshot>> {
        match job.group() {
            Some(group) => Ok(Some(self.group(group).await?)),
            None => Ok(None),
        }
    }

    /// Returns the change that [`set_group`](Self::set_group) would make now. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a limit is not valid, or as [`group`](Self::group).
    pub async fn preview_set_group(
        &self,
        group: &GroupName,
        limits: GroupLimits,
    ) -> Result<GroupChange> {
        limits.check()?;
        Ok(self.group(group).await?.change_to(limits))
    }

    /// Replaces the limits of a group. [`GroupLimits::NONE`] removes them: the jobs of the group
    /// are not limited then.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a limit is not valid, [`Error::Group`] if the log of changes
    /// cannot be read, if the limits change all the time, or if the outcome is unknown, or a
    /// registry error.
    ///
    /// # Cancel safety
    /// If the future is dropped, the limits may have been stored.
    pub async fn set_group(
        &self,
        group: &GroupName,
        limits: GroupLimits,
        by: &By,
    ) -> Result<GroupChange> {
        self.replace_limits(group, limits, by, None).await
    }

    /// Executes a planned change, unless the limits have changed since.
    pub(crate) async fn change_group(&self, planned: &GroupChange, by: &By) -> Result<GroupChange> {
        self.replace_limits(&planned.group, planned.after, by, Some(planned.before)).await
    }

    async fn replace_limits(
        &self,
        group: &GroupName,
        limits: GroupLimits,
        by: &By,
        expected: Option<Option<GroupLimits>>,
    ) -> Result<GroupChange> {
        limits.check()?;
        let plan = |found: &GroupSnapshot, id: &str| {
            let change = found.change_to(limits);
            if expected.is_some_and(|expected| expected != change.before) {
                let reason = "its limits have changed since they were compared; plan again";
                return Err(Error::Group { group: group.clone(), reason: reason.to_owned() });
            }
            if !change.has_effect() {
                return Ok(Attempt::Break(change));
            }
            let record = self.record_of(id, &change, by);
            let txn = Layout::change_group(group, limits, found.view.limits_version());
            let done = GroupChange { record: Some(record.clone()), ..change };
            Ok(Attempt::Continue((txn, record, done)))
        };
        let failed = Failed {
            action: "changing",
            contended: format!("it changed during each of {ATTEMPTS} attempts; try again"),
            unknown: "it is not known whether the limits were stored; read the group".to_owned(),
        };
        self.write_group(group, plan, failed).await
    }

    /// Commits a repair of a group, and returns it with its audit record, or why it is void.
    ///
    /// `plan` returns the repair for the present nodes; `txn` returns its transaction.
    pub(crate) async fn repair_group<R: fmt::Display>(
        &self,
        group: &GroupName,
        by: &By,
        target: &str,
        plan: impl Fn(&GroupSnapshot) -> Result<R, &'static str>,
        txn: impl Fn(&R) -> Result<Txn>,
    ) -> Result<Result<(R, AuditRecord), &'static str>> {
        let plan = |found: &GroupSnapshot, id: &str| {
            let repair = match plan(found) {
                Ok(repair) => repair,
                Err(void) => return Ok(Attempt::Break(Err(void))),
            };
            let record = self.record(id, by, "fix", (target, &repair.to_string()));
            let txn = txn(&repair)?;
            Ok(Attempt::Continue((txn, record.clone(), Ok((repair, record)))))
        };
        let failed = Failed {
            action: "repairing",
            contended: "a precondition of the repair does not hold; examine the group again".into(),
            unknown: "it is not known whether the repair was stored; examine the group again"
                .into(),
        };
        self.write_group(group, plan, failed).await
    }

    /// Commits what `plan` returns for the present nodes and the id of the record, with the record
    /// in the log of the group. Plans again after a conflict.
    async fn write_group<T>(
        &self,
        group: &GroupName,
        plan: impl Fn(&GroupSnapshot, &str) -> Result<Attempt<T>>,
        failed: Failed,
    ) -> Result<T> {
        let id = unique_id(self.now());
        let mut sent = None;
        for _ in 0..ATTEMPTS {
            let found = self.group(group).await?;
            if let Some(done) = sent.take_if(|_| found.has_recorded(&id)) {
                return Ok(done);
            }
            let (mut txn, record, done) = match plan(&found, &id)? {
                Attempt::Break(done) => return Ok(done),
                Attempt::Continue(planned) => planned,
            };
            if self.stores_audit() {
                let (log, expect) = audited(&found, record.clone())?;
                txn = Layout::with_group_audit(txn, group, &log, expect);
            }
            match self.commit(txn.labelled("operator")).await {
                Ok(TxnOutcome::Committed(_)) => {
                    trace(group, &record);
                    return Ok(done);
                }
                Ok(TxnOutcome::Conflict(_)) => {}
                // Only this change writes the record with this id, so the next read shows whether
                // the transaction committed.
                Err(error) if error.is_unknown() && self.stores_audit() => sent = Some(done),
                Err(error) => {
                    return Err(Error::registry(format!("{} group {group}", failed.action))(error));
                }
            }
        }
        let reason = if sent.is_some() { failed.unknown } else { failed.contended };
        Err(Error::Group { group: group.clone(), reason })
    }

    fn record_of(&self, id: &str, change: &GroupChange, by: &By) -> AuditRecord {
        let act = if change.after.is_none() { "remove group" } else { "set group" };
        self.record(id, by, act, (change.group.as_str(), &change.to_string()))
    }

    fn record(&self, id: &str, by: &By, act: &str, (target, what): (&str, &str)) -> AuditRecord {
        AuditRecord {
            id: id.to_owned(),
            at_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
            act: act.to_owned(),
            target: AuditRecord::text(target),
            what: AuditRecord::text(what),
        }
    }
}

/// Returns the name of a group in reports, which name jobs otherwise.
pub(crate) fn label(group: &GroupName) -> String {
    format!("group {group}")
}

/// Returns the snapshots of the groups that have a node among these.
pub(crate) fn by_group<'a>(
    nodes: impl IntoIterator<Item = &'a Node>,
) -> BTreeMap<GroupName, GroupSnapshot> {
    let mut groups = BTreeMap::new();
    for node in nodes {
        if let Some((group, kind)) = Layout::parse_group(&node.path) {
            let new = || GroupSnapshot::new(group.clone());
            groups.entry(group.clone()).or_insert_with(new).put(kind, node);
        }
    }
    groups
}

fn audited(
    found: &GroupSnapshot,
    record: AuditRecord,
) -> Result<(AuditLog, Option<reg_center::Version>)> {
    let failed = |reason: &String| {
        let reason = format!("its log of changes cannot be read: {reason}");
        Error::Group { group: found.view.name().clone(), reason }
    };
    let known = found.audit.as_ref().map_err(failed)?;
    let expect = known.as_ref().map(|log| log.version);
    let mut log = known.as_ref().map(|log| log.value.clone()).unwrap_or_default();
    log.push(record);
    Ok((log, expect))
}

fn trace(group: &GroupName, record: &AuditRecord) {
    let AuditRecord { id, who, why, act, what, .. } = record;
    tracing::info!(%group, act, what, who, why, id, "an operator changed a group");
}

/// Returns the jobs of a group that hold permits, with their numbers, as a text.
#[must_use]
pub fn permit_holders(view: &GroupView) -> Vec<(JobName, u32)> {
    let mut counts: Vec<(JobName, u32)> = Vec::new();
    for holder in view.permits().filter_map(|(_, permit)| permit.holder.as_ref()) {
        match counts.iter_mut().find(|(job, _)| *job == holder.job) {
            Some((_, count)) => *count += 1,
            None => counts.push((holder.job.clone(), 1)),
        }
    }
    counts.sort();
    counts
}
