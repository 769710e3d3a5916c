//! Groups of jobs: names, limits, and the permits that runs take.

use std::fmt;
use std::sync::Arc;

use sharding::{InstanceId, ShardingItem};

use super::id::node_name_fault;
use crate::wire::{GroupNode, NodeKind};
use crate::{FencingToken, InvalidConfig, InvalidName, JobName, StartRate};

/// The name of a group of jobs. The rules of [`JobName`] apply.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// Description of valid names.
    pub const VALID: &'static str =
        "a name of at most 128 bytes without \"@-@\" and \"/\", as for jobs";

    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName`] names the value and the rule that it breaks.
    ///
    /// # Examples
    /// ```
    /// use coordination::GroupName;
    ///
    /// assert_eq!(GroupName::new("database")?.as_str(), "database");
    /// assert!(GroupName::new("a/b").is_err());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        match node_name_fault(name) {
            Some(reason) => Err(InvalidName::new("group name", name, reason)),
            None => Ok(Self(Arc::from(name))),
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// The limits that all jobs of a group share. Without a limit, the jobs are not limited.
///
/// # Examples
/// ```
/// use coordination::{GroupLimits, StartRate};
///
/// let start_rate = StartRate::parse("9 in 1m");
/// let limits = GroupLimits { cluster_concurrency: Some(4), start_rate };
/// assert_eq!(limits.to_string(), "at most 4 runs at once, at most 9 starts in 1m");
/// assert!(limits.check().is_ok());
/// let error = GroupLimits { cluster_concurrency: Some(0), ..limits }.check().unwrap_err();
/// let expected = "cluster_concurrency is 0; valid is 1 to 4294967295, or none: no limit";
/// assert_eq!(error.to_string(), expected);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupLimits {
    /// Maximum number of items of all jobs of the group that run at the same time, from 1.
    pub cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period.
    pub start_rate: Option<StartRate>,
}

impl GroupLimits {
    /// No limits.
    pub const NONE: Self = Self { cluster_concurrency: None, start_rate: None };

    /// Returns true if nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Checks the limits before they are stored.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and the valid values.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        if self.cluster_concurrency == Some(0) {
            let valid = super::job_config::CLUSTER_CONCURRENCY;
            return Err(InvalidConfig::new("cluster_concurrency", 0, valid));
        }
        match self.start_rate.filter(|rate| !rate.is_valid()) {
            Some(rate) => Err(InvalidConfig::new("start_rate", rate, StartRate::VALID)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for GroupLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        let runs = |max| format!("at most {max} run{} at once", plural(max));
        let starts = |rate: StartRate| {
            let text = rate.to_string();
            let (max, period) = text.split_once(" in ").unwrap_or((&text, ""));
            format!("at most {max} start{} in {period}", plural(rate.max))
        };
        let (runs, starts) = (self.cluster_concurrency.map(runs), self.start_rate.map(starts));
        match (runs, starts) {
            (None, None) => f.write_str("no limits"),
            (Some(one), None) | (None, Some(one)) => f.write_str(&one),
            (Some(runs), Some(starts)) => write!(f, "{runs}, {starts}"),
        }
    }
}

/// A permit of a group, as the record of the run names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupPermit {
    /// The group of the job when the run was claimed.
    pub group: GroupName,
    /// Number of the permit.
    pub number: u32,
}

impl GroupPermit {
    /// Returns the node of the permit.
    pub(crate) fn into_node(self) -> NodeKind {
        NodeKind::Group(self.group, GroupNode::Permit(self.number))
    }
}

/// The run that has a permit of a group, as the node of the permit names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PermitHolder {
    /// The job.
    pub job: JobName,
    /// The item.
    pub item: ShardingItem,
    /// The instance that claimed the run.
    pub holder: InstanceId,
    /// The fencing token of the run.
    pub token: FencingToken,
}
