//! The group of the job: its limits, the permits of its runs, and the jobs that wait.

use std::collections::BTreeMap;

use reg_center::{Node, Revision, SessionId, Version};
use sharding::InstanceId;

use super::JobView;
use super::apply::{is_newer, readable};
use crate::wire::{self, GroupNode, NodeKind};
use crate::{
    FireTime, GroupLimits, GroupName, JobName, MaxTimeDiff, PermitHolder, StartLog, StartRate,
    Versioned,
};

/// A permit of a group that a run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPermitView {
    /// Session that owns the node.
    pub session: Option<SessionId>,
    /// Time at which the run took the permit, in milliseconds since 1970 UTC, if the registry
    /// knows it.
    pub since_ms: Option<i64>,
    /// The run; `None` if the node has other data.
    pub holder: Option<PermitHolder>,
}

/// The place of a job in the line of the jobs that wait for the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceInLine {
    /// Revision at which the job took this place. The smallest one comes first.
    pub since: Revision,
    /// Time at which the job took this place, in milliseconds since 1970 UTC, if the registry knows
    /// it.
    pub since_ms: Option<i64>,
    /// Version of the node.
    pub version: Version,
    /// Session that owns the node.
    pub session: Option<SessionId>,
    /// The instance that waits for the job; `None` if the node has other data.
    pub by: Option<InstanceId>,
}

/// The view of one group of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupView {
    name: GroupName,
    /// `None` inside if the record cannot be read.
    pub(super) limits: Option<Versioned<Option<GroupLimits>>>,
    pub(super) permits: BTreeMap<u32, GroupPermitView>,
    pub(super) starts: Option<Versioned<StartLog>>,
    /// A later version wrote the record of the last starts.
    newer_starts: bool,
    pub(super) line: BTreeMap<JobName, PlaceInLine>,
}

impl GroupView {
    /// Returns the view of a group without nodes.
    #[must_use]
    pub fn new(name: GroupName) -> Self {
        let (permits, line) = (BTreeMap::new(), BTreeMap::new());
        Self { name, limits: None, permits, starts: None, newer_starts: false, line }
    }

    /// Returns the name of the group.
    #[must_use]
    pub fn name(&self) -> &GroupName {
        &self.name
    }

    /// Returns the limits. A group without stored limits has none. `None` if the record cannot be
    /// read: the jobs of the group then start no runs.
    #[must_use]
    pub fn limits(&self) -> Option<GroupLimits> {
        self.limits.as_ref().map_or(Some(GroupLimits::NONE), |limits| limits.value)
    }

    /// Returns the version of the stored limits.
    #[must_use]
    pub fn limits_version(&self) -> Option<Version> {
        self.limits.as_ref().map(|limits| limits.version)
    }

    /// Returns the permits that runs have, with their numbers, ascending.
    pub fn permits(&self) -> impl ExactSizeIterator<Item = (u32, &GroupPermitView)> {
        self.permits.iter().map(|(number, permit)| (*number, permit))
    }

    /// Returns a permit, if a run has it.
    pub(crate) fn permit(&self, number: u32) -> Option<&GroupPermitView> {
        self.permits.get(&number)
    }

    /// Returns the jobs that wait, the one that has waited longest first.
    #[must_use]
    pub fn line(&self) -> Vec<(&JobName, &PlaceInLine)> {
        let mut line: Vec<_> = self.line.iter().collect();
        line.sort_by_key(|(_, place)| place.since);
        line
    }

    /// Returns the place of a job in the line.
    #[must_use]
    pub fn place_of(&self, job: &JobName) -> Option<&PlaceInLine> {
        self.line.get(job)
    }

    /// Returns the number of other jobs that wait, and of those among them that come before `job`.
    pub(crate) fn others_in_line(&self, job: &JobName) -> (u32, u32) {
        let own = self.place_of(job).map(|place| place.since);
        let others = || self.line.iter().filter(|(other, _)| *other != job);
        let ahead = others().filter(|(_, place)| own.is_none_or(|own| place.since < own));
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (count(others().count()), count(ahead.count()))
    }

    /// Returns the rate and the time, in milliseconds since 1970 UTC, at which the next run may
    /// begin, if the group has reached its rate. `now_ms` is the present time.
    #[must_use]
    pub fn starts_again_at(&self, now_ms: i64) -> Option<(StartRate, i64)> {
        let rate = self.limits()?.start_rate?;
        let horizon_ms = MaxTimeDiff::Default.horizon_ms(now_ms);
        let free_at = self.starts()?.counting(rate, now_ms, horizon_ms).free_at(rate)?;
        Some((rate, free_at))
    }

    /// Returns the last starts.
    pub(crate) fn starts(&self) -> Option<&StartLog> {
        self.starts.as_ref().map(|starts| &starts.value)
    }

    /// Returns the version of the record of the last starts.
    pub(crate) fn starts_version(&self) -> Option<Version> {
        self.starts.as_ref().map(|starts| starts.version)
    }

    /// Returns true if a later version wrote the record of the last starts.
    pub(crate) fn has_newer_starts(&self) -> bool {
        self.newer_starts
    }

    /// Applies the data of a node.
    ///
    /// # Errors
    /// The node has invalid data. The view stays usable without the data.
    pub fn put(&mut self, kind: GroupNode, node: &Node) -> Result<(), String> {
        let (version, session) = (node.stat.version, node.stat.owner);
        match kind {
            GroupNode::Limits => {
                let (value, fault) = readable(wire::decode_group_limits(&node.data));
                self.limits = Some(Versioned { value, version });
                fault
            }
            GroupNode::Permit(number) => {
                let (holder, fault) = readable(wire::decode_permit_holder(&node.data));
                let since_ms = written_ms(node);
                self.permits.insert(number, GroupPermitView { session, since_ms, holder });
                fault
            }
            GroupNode::Starts => {
                let decoded = wire::decode_starts(&node.data);
                self.newer_starts = is_newer(&decoded);
                let (read, fault) = readable(decoded);
                // Without any start the next claim replaces a damaged record.
                self.starts = Some(Versioned { value: read.unwrap_or_default(), version });
                fault
            }
            GroupNode::Place(job) => {
                let (by, fault) = readable(wire::decode_place(&node.data));
                let since_ms = written_ms(node);
                let since = node.stat.modified;
                self.line.insert(job, PlaceInLine { since, since_ms, version, session, by });
                fault
            }
            GroupNode::Audit => Ok(()),
        }
    }

    /// Removes a node.
    pub fn remove(&mut self, kind: &GroupNode) {
        match kind {
            GroupNode::Limits => self.limits = None,
            GroupNode::Permit(number) => drop(self.permits.remove(number)),
            GroupNode::Starts => (self.starts, self.newer_starts) = (None, false),
            GroupNode::Place(job) => drop(self.line.remove(job)),
            GroupNode::Audit => {}
        }
    }
}

/// Returns the time of the last write of a node, in milliseconds since 1970 UTC, if the registry
/// knows it.
fn written_ms(node: &Node) -> Option<i64> {
    node.stat.modified_at.map(|at| FireTime::of(at).0)
}

impl JobView {
    /// Returns an empty view that shows the nodes of this group, too.
    #[must_use]
    pub fn in_group(self, group: Option<GroupName>) -> Self {
        let next_group = group.clone();
        Self { group: group.map(GroupView::new), next_group, ..self }
    }

    /// Returns the group of the job. `None` if the job is in no group, or if the view does not show
    /// the group yet.
    #[must_use]
    pub fn group(&self) -> Option<&GroupView> {
        let group = self.config()?.group.as_ref()?;
        self.followed_group().filter(|shown| shown.name == *group)
    }

    /// Returns the group that the view shows. It differs from that of the configuration after a
    /// change.
    #[must_use]
    pub fn followed_group(&self) -> Option<&GroupView> {
        self.group.as_ref()
    }

    /// Returns the group that the next snapshot shows.
    pub(crate) fn next_group(&self) -> Option<&GroupName> {
        self.next_group.as_ref()
    }

    /// Returns true if a change of the group has been requested, and the view does not show it yet.
    pub(crate) fn is_changing_group(&self) -> bool {
        self.next_group() != self.followed_group().map(GroupView::name)
    }

    /// Shows this group from the next snapshot on. The caller opens a new feed.
    pub(crate) fn follow_group(&mut self, group: Option<GroupName>) {
        self.next_group = group;
    }

    /// Returns the group's rate and the time, in milliseconds since 1970 UTC, at which the next run
    /// of the group may begin, if the group has reached its rate. `now_ms` is the present time.
    #[must_use]
    pub fn group_starts_again_at(&self, now_ms: i64) -> Option<(StartRate, i64)> {
        let group = self.group()?;
        let rate = group.limits()?.start_rate?;
        let free_at = self.counting_group_starts(group, rate, now_ms).free_at(rate)?;
        Some((rate, free_at))
    }

    /// Returns the starts of the group that count at `now_ms`.
    pub(crate) fn counting_group_starts(
        &self,
        group: &GroupView,
        rate: StartRate,
        now_ms: i64,
    ) -> StartLog {
        let horizon_ms = self.max_time_diff().horizon_ms(now_ms);
        group.starts().map(|log| log.counting(rate, now_ms, horizon_ms)).unwrap_or_default()
    }

    /// Returns the record of the group's last starts after `count` more at `now_ms`.
    pub(crate) fn group_starts_with(
        &self,
        group: &GroupView,
        count: u32,
        rate: StartRate,
        now_ms: i64,
    ) -> StartLog {
        let horizon_ms = self.max_time_diff().horizon_ms(now_ms);
        let none = StartLog::default();
        group.starts().unwrap_or(&none).with(count, rate, now_ms, horizon_ms)
    }

    /// Returns the node of a group, if the view shows this group.
    fn group_of(&self, group: &GroupName) -> Option<&GroupView> {
        self.followed_group().filter(|shown| shown.name == *group)
    }

    /// Returns the version of a node of a group whose writes a plan waits for.
    pub(super) fn shown_group_version(
        &self,
        group: &GroupName,
        node: &GroupNode,
    ) -> Option<Option<Version>> {
        match node {
            GroupNode::Starts => Some(self.group_of(group)?.starts_version()),
            GroupNode::Place(job) => {
                let place = self.group_of(group)?.place_of(job);
                Some(place.map(|place| place.version))
            }
            GroupNode::Limits | GroupNode::Permit(_) | GroupNode::Audit => None,
        }
    }

    pub(super) fn put_of_group(&mut self, kind: NodeKind, node: &Node) -> Result<(), String> {
        match (kind, &mut self.group) {
            (NodeKind::Group(group, of), Some(shown)) if shown.name == group => shown.put(of, node),
            _ => Ok(()),
        }
    }

    pub(super) fn remove_of_group(&mut self, group: &GroupName, node: &GroupNode) {
        if let Some(shown) = self.group.as_mut().filter(|shown| shown.name == *group) {
            shown.remove(node);
        }
    }
}
