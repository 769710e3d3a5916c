//! Checks of groups of jobs: unreadable limits, and permits and places that no instance cleans up.
//!
//! The nodes of permits and places are ephemeral. An instance returns the permit of a run at its
//! end, and leaves the line once no run of it waits. So there are findings about nodes that no
//! session owns, about nodes that two readings show, and about places of jobs that cannot use them.

use coordination::{
    GroupName, GroupNode, GroupPermitView, JobName, Layout, NodeKind, OperatorStep, PermitHolder,
    PlaceInLine, Slot,
};

use super::{Finding, FindingCode, Severity};
use crate::{GroupSnapshot, JobSnapshot, Namespace};

/// Returns a job that has a node. `Err` if the job could not be read.
pub(crate) type ReadJob<'a> = dyn Fn(&JobName) -> crate::Result<Option<&'a JobSnapshot>> + 'a;

/// A group, with the jobs of its namespace, as of one reading.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) group: &'a GroupSnapshot,
    pub(crate) job: &'a ReadJob<'a>,
}

/// Examines groups of jobs.
///
/// Read the groups before the jobs: a run that begins in between is then no finding. With an
/// earlier reading of both, a fault that both readings show is reported as stuck. A permit of a
/// live session is a finding only then, because the readings of the groups and the jobs are of
/// different moments. Jobs that could not be read are not judged.
///
/// # Examples
/// ```
/// use coordination::GroupName;
/// use operations::{GroupSnapshot, Namespace, diagnose_groups};
///
/// let groups = [GroupSnapshot::new(GroupName::new("database")?)];
/// assert!(diagnose_groups(&groups, &Namespace::default(), None).is_empty());
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn diagnose_groups(
    groups: &[GroupSnapshot],
    jobs: &Namespace,
    earlier: Option<(&[GroupSnapshot], &Namespace)>,
) -> Vec<Finding> {
    let job_now = |name: &JobName| jobs.stored(name);
    let job_earlier = |name: &JobName| earlier.map_or(Ok(None), |(_, jobs)| jobs.stored(name));
    let mut findings = Vec::new();
    for group in groups {
        let earlier = earlier.and_then(|(groups, _)| {
            let group = groups.iter().find(|it| it.view().name() == group.view().name())?;
            Some(Reading { group, job: &job_earlier })
        });
        findings.extend(Reading { group, job: &job_now }.findings(earlier));
    }
    findings
}

fn about(
    group: &GroupName,
    job: Option<&JobName>,
    node: &GroupNode,
    (code, severity): (FindingCode, Severity),
    text: impl Into<String>,
) -> Finding {
    let job = job.map_or("", JobName::as_str);
    let finding = Finding::about(job, code, severity, text.into());
    let finding = Finding { group: Some(group.to_string()), ..finding };
    finding.at_path(&Layout::group_path(group, node))
}

fn unreadable_limits(group: &GroupSnapshot) -> Option<Finding> {
    let name = group.view().name();
    let fault = group.limits_fault()?;
    let text = format!(
        "{fault}; no run of the group's jobs begins until they are stored again: \
         ejob group set {name}"
    );
    let kind = (FindingCode::GroupLimitsUnreadable, Severity::Error);
    Some(about(name, None, &GroupNode::Limits, kind, text))
}

impl<'a> Reading<'a> {
    /// Examines the group, with an earlier reading of it if there is one.
    pub(crate) fn findings(&self, earlier: Option<Self>) -> Vec<Finding> {
        let limits = unreadable_limits(self.group).into_iter();
        limits.chain(self.permits(earlier)).chain(self.places(earlier)).collect()
    }

    /// Returns a job that has a configuration. `Err` if the job could not be read.
    fn job(&self, name: &JobName) -> Result<Option<&'a JobSnapshot>, ()> {
        let read = (self.job)(name).map_err(|_| ())?;
        Ok(read.filter(|job| job.has_config()))
    }

    /// Returns true if the record of the item shows the run of a permit. `None` if the job or the
    /// record could not be read.
    fn has_run(&self, permit: &PermitHolder) -> Option<bool> {
        let Some(job) = self.job(&permit.job).ok()? else { return Some(false) };
        let shown = job.view().item(permit.item);
        let ledger = shown.ledger.as_ref().map(|ledger| &ledger.value);
        let is_run = ledger.is_some_and(|it| it.running().is_some() && it.token == permit.token);
        (!shown.unreadable).then_some(is_run)
    }

    fn permits(&self, earlier: Option<Self>) -> Vec<Finding> {
        let permits = self.group.view().permits();
        permits.filter_map(|(number, permit)| self.permit(number, permit, earlier)).collect()
    }

    fn permit(
        &self,
        number: u32,
        permit: &GroupPermitView,
        earlier: Option<Self>,
    ) -> Option<Finding> {
        let (name, node) = (self.group.view().name(), GroupNode::Permit(number));
        let holder = permit.holder.as_ref();
        if holder.is_some_and(|holder| self.has_run(holder) != Some(false)) {
            return None;
        }
        let finding = |text: String| {
            let kind = (FindingCode::OrphanedGroupPermit, Severity::Error);
            about(name, holder.map(|it| &it.job), &node, kind, text)
        };
        if permit.session.is_some() {
            // A later version may have written a permit that this one cannot read.
            let holder = holder?;
            let held_earlier = earlier.is_some_and(|earlier| {
                let same = earlier.group.view().permits().any(|before| before == (number, permit));
                same && earlier.has_run(holder) == Some(false)
            });
            let text = format!(
                "{} holds the permit for item {} of {} (token {}), but the item's record shows no \
                 such run: if it does not run the item, restart it",
                holder.holder,
                Slot::of(holder.item),
                holder.job,
                holder.token
            );
            return held_earlier.then(|| finding(text));
        }
        let of_run = match holder {
            Some(it) => {
                format!(
                    "for item {} of {}, which does not run under token {}",
                    Slot::of(it.item),
                    it.job,
                    it.token
                )
            }
            None => "without a readable run".to_owned(),
        };
        let text = format!(
            "no session owns this permit {of_run}: no instance returns it, and it counts against \
             the limit of the group"
        );
        let guard = holder.map(|holder| self.record_stays(holder));
        Some(self.with_removal(finding(text), node, guard))
    }

    /// Guards the record of an item, so that the fix conflicts if a run has begun.
    fn record_stays(&self, permit: &PermitHolder) -> OperatorStep {
        let node = NodeKind::Ledger(permit.item);
        let job = self.job(&permit.job).ok().flatten();
        match job.and_then(|job| job.view().item(permit.item).ledger.as_ref()) {
            Some(ledger) => OperatorStep::Is(node, ledger.version),
            None => OperatorStep::IsAbsent(node),
        }
    }

    fn places(&self, earlier: Option<Self>) -> Vec<Finding> {
        let line = self.group.view().line();
        line.into_iter().filter_map(|(job, place)| self.place(job, place, earlier)).collect()
    }

    fn place(&self, name: &JobName, place: &PlaceInLine, earlier: Option<Self>) -> Option<Finding> {
        let (why, guard) = self.useless_place(name, place)?;
        let held_earlier = earlier.is_some_and(|earlier| {
            let before = earlier.group.view().place_of(name);
            before == Some(place) && earlier.useless_place(name, place).is_some()
        });
        let severity = if held_earlier { Severity::Error } else { Severity::Warning };
        let text = format!(
            "{why}, but it has a place in the line of the group, which keeps a share of its \
             permits and starts from other jobs"
        );
        let kind = (FindingCode::StaleGroupPlace, severity);
        let node = GroupNode::Place(name.clone());
        let finding = about(self.group.view().name(), Some(name), &node, kind, text);
        Some(self.with_removal(finding, node, guard))
    }

    /// Returns why a job has no use for a place, and the guard of that reason. `None` if the job
    /// may use the place, or could not be read.
    fn useless_place(
        &self,
        name: &JobName,
        place: &PlaceInLine,
    ) -> Option<(String, Option<OperatorStep>)> {
        let Some(job) = self.job(name).ok()? else {
            let guard = OperatorStep::IsAbsent(NodeKind::Config);
            return Some((format!("the job {name} does not exist"), Some(guard)));
        };
        let group = self.group.view().name();
        let in_force = job.config()?.group.as_ref();
        if in_force == Some(group) {
            // An instance leaves the line only by a node of its own session.
            let is_left = place.session.is_none();
            return is_left.then(|| (format!("no instance waits for {name}"), None));
        }
        let version = job.node(&NodeKind::Config)?.stat.version;
        let guard = OperatorStep::Is(NodeKind::Config, version);
        let now = in_force.map_or_else(|| "no group".to_owned(), |other| format!("group {other}"));
        Some((format!("the job {name} is in {now}"), Some(guard)))
    }

    /// Adds the removal of a node of the group as the fix of a finding.
    fn with_removal(
        &self,
        finding: Finding,
        node: GroupNode,
        guard: Option<OperatorStep>,
    ) -> Finding {
        let Some(stat) = self.group.stat(&node) else { return finding };
        let subject = NodeKind::Group(self.group.view().name().clone(), node);
        let remove = OperatorStep::Remove(subject.clone(), stat.version);
        finding.with_fix_at(subject, Some(stat), guard.into_iter().chain([remove]).collect())
    }
}
