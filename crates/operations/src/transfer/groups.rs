//! Export and import of the limits of groups.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use coordination::{GroupLimits, GroupName, InvalidConfig, StartRate, decode_config};
use serde::{Deserialize, Serialize};

use super::import::{ImportAct, ImportStep};
use super::{Export, ExportError, ExportedJob};
use crate::groups::label;
use crate::{GroupChange, GroupSnapshot, JobSnapshot};

/// The limits of a group of jobs in an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExportedGroup {
    /// Name of the group.
    pub group: String,
    /// Maximum number of items of all jobs of the group that run at the same time, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period, such as
    /// `10 in 1m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_rate: Option<String>,
}

impl ExportedGroup {
    fn of(group: &GroupName, limits: GroupLimits) -> Self {
        Self {
            group: group.to_string(),
            cluster_concurrency: limits.cluster_concurrency,
            start_rate: limits.start_rate.map(|rate| rate.to_string()),
        }
    }

    fn limits(&self) -> Result<(GroupName, GroupLimits), ExportError> {
        let wrong = |fault: InvalidConfig| ExportError::Group { group: self.group.clone(), fault };
        let name = GroupName::new(&self.group)?;
        let rate = |text: &str| {
            let invalid = || InvalidConfig::new("start_rate", text, StartRate::VALID);
            StartRate::parse(text).ok_or_else(invalid)
        };
        let start_rate = self.start_rate.as_deref().map(rate).transpose().map_err(wrong)?;
        let limits = GroupLimits { cluster_concurrency: self.cluster_concurrency, start_rate };
        limits.check().map_err(wrong)?;
        if limits.is_none() {
            let valid = "cluster_concurrency, start_rate, or both";
            return Err(wrong(InvalidConfig::new("limits", "none", valid)));
        }
        Ok((name, limits))
    }
}

impl Export {
    /// Adds the limits of groups. A group without limits is left out, and one whose limits cannot
    /// be read is returned with the reason.
    pub fn add_groups<'a>(
        &mut self,
        groups: impl IntoIterator<Item = &'a GroupSnapshot>,
    ) -> Vec<(String, String)> {
        let mut left_out = Vec::new();
        for group in groups {
            let name = group.view().name();
            match group.view().limits() {
                Some(GroupLimits::NONE) => {}
                Some(limits) => self.groups.push(ExportedGroup::of(name, limits)),
                None => {
                    let why = group.limits_fault().unwrap_or_default();
                    left_out.push((label(name), format!("its limits cannot be read: {why}")));
                }
            }
        }
        self.groups.sort_by(|a, b| a.group.cmp(&b.group));
        left_out
    }

    /// Keeps the jobs with these names, and of the groups those of these jobs. If all jobs are
    /// kept, all groups are.
    pub fn select(&mut self, is_meant: impl Fn(&str) -> bool) {
        let n_jobs = self.jobs.len();
        self.jobs.retain(|job| is_meant(&job.job));
        if self.jobs.len() == n_jobs {
            return;
        }
        let group = |job: &ExportedJob| decode_config(job.document.as_bytes()).ok()?.group;
        let groups: BTreeSet<_> = self.jobs.iter().filter_map(group).collect();
        self.groups.retain(|it| groups.iter().any(|group| group.as_str() == it.group));
    }

    /// Returns the limits of groups to import, each checked.
    ///
    /// # Errors
    /// [`ExportError`] names the first fault.
    pub fn limits(&self) -> Result<BTreeMap<GroupName, GroupLimits>, ExportError> {
        let mut limits = BTreeMap::new();
        for group in &self.groups {
            let (name, of_group) = group.limits()?;
            if limits.insert(name, of_group).is_some() {
                return Err(ExportError::GroupTwice { group: group.group.clone() });
            }
        }
        Ok(limits)
    }
}

/// Returns the groups that these jobs are in.
#[must_use]
pub fn groups_of<'a>(jobs: impl IntoIterator<Item = &'a JobSnapshot>) -> BTreeSet<GroupName> {
    let group = |job: &JobSnapshot| job.group().cloned();
    jobs.into_iter().filter_map(group).collect()
}

/// Plans the import of limits of groups into a namespace that has these groups.
///
/// Stored limits are replaced only if `overwrite` is set. Groups that are not among `limits` stay
/// as they are. Execute the steps before those of jobs, so that no new job of a group runs without
/// its limits.
///
/// # Examples
/// ```
/// use coordination::{GroupLimits, GroupName};
/// use operations::{GroupSnapshot, ImportAct, plan_group_import};
///
/// let limits = GroupLimits { cluster_concurrency: Some(3), start_rate: None };
/// let wanted = [(GroupName::new("database")?, limits)].into();
/// let stored = [GroupSnapshot::new(GroupName::new("search")?)];
/// let steps = plan_group_import(&wanted, &stored, false);
/// assert!(matches!(steps[0].act, ImportAct::Create { .. }));
/// assert_eq!(steps[0].to_string(), "create group database: at most 3 runs at once");
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn plan_group_import(
    limits: &BTreeMap<GroupName, GroupLimits>,
    found: &[impl Borrow<GroupSnapshot>],
    overwrite: bool,
) -> Vec<ImportStep> {
    let step = |(group, wanted): (&GroupName, &GroupLimits)| {
        let absent = GroupSnapshot::new(group.clone());
        let mut found = found.iter().map(Borrow::borrow);
        let stored = found.find(|it| it.view().name() == group).unwrap_or(&absent);
        let change = stored.change_to(*wanted);
        ImportStep::of_group(decide(stored, &change, overwrite), change)
    };
    limits.iter().map(step).collect()
}

fn decide(stored: &GroupSnapshot, change: &GroupChange, overwrite: bool) -> ImportAct {
    let changes = change.changes("unreadable");
    match change.before {
        Some(before) if before == change.after => ImportAct::Same,
        Some(GroupLimits::NONE) => ImportAct::Create { changes },
        _ if overwrite => ImportAct::Replace { changes },
        Some(_) => ImportAct::Stays { changes },
        None => {
            let fault = stored.limits_fault().unwrap_or_default();
            let reason = format!("the stored limits cannot be read, and stay: {fault}");
            ImportAct::Refused { reason }
        }
    }
}
