//! Findings of a diagnosis.

use std::fmt;

use coordination::{GroupName, JobName, NodeKind, OperatorStep};
use reg_center::{NodePath, Stat};
use serde::{Serialize, Serializer};

use crate::JobSnapshot;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Harmless, but worth knowing.
    Info,
    /// May do harm, or may disappear without a fix.
    Warning,
    /// Prevents runs now.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)*) => {
        /// Kind of a finding. The text of each is stable, for programs; `docs/operations.md` lists
        /// them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingCode {
            $($(#[$doc])* $variant,)*
        }

        impl FindingCode {
            /// All codes, in the order of their checks.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable text of the code.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
    /// A job that could not be read.
    Unread => "unread",
    /// Nodes of a job without a configuration.
    NoConfig => "no-config",
    /// A configuration that cannot be read.
    BadConfig => "bad-config",
    /// A configuration that makes Java instances fail.
    ConfigHarmsJava => "config-harms-java",
    /// A node in another dialect than the configuration.
    MixedEncoding => "mixed-encoding",
    /// A node of an instance that no session owns (A18).
    LeftoverInstance => "ghost-instance",
    /// An instance whose server has no record.
    NoServerRecord => "no-server-record",
    /// A server without a live instance.
    DeadServer => "dead-server",
    /// An address that Java mistakes for another one, or does not react to.
    AddressHarmsJava => "address-harms-java",
    /// Servers with live instances that are paused, or all of them disabled.
    HeldBack => "held-back",
    /// No instance leads.
    NoLeader => "no-leader",
    /// A leader whose server is disabled.
    LeaderDisabled => "leader-disabled",
    /// A mark of a run whose holder is gone (A3, A5, A6, A7).
    OrphanedRunMark => "run-of-nobody",
    /// A mark of a run that is older than the instance that it names (A4).
    RunOfEarlierIncarnation => "run-of-earlier-life",
    /// A mark that its live holder did not remove at the end of a run (A8).
    RunKept => "run-kept",
    /// A mark of a takeover whose instance is gone (A6).
    OrphanedTakeoverMark => "takeover-of-nobody",
    /// An entry of the failover queue that must not be run (A22).
    StaleQueueEntry => "stale-queue-entry",
    /// A mark of a run by a live instance, without a run in the item's record.
    RunNotRecorded => "run-not-recorded",
    /// An item whose orphaned run waits for a takeover.
    Orphan => "orphan",
    /// A manual request whose instance is gone, or that no instance reads.
    OrphanedTrigger => "trigger-of-nobody",
    /// Items without a live owner (A1, A15).
    Unassigned => "unassigned",
    /// Owners of items that the job no longer has.
    SurplusItems => "surplus-items",
    /// Items whose last run failed.
    Failing => "failing",
    /// A damaged record of an item.
    BadRecord => "bad-record",
    /// A record of a format version that this program cannot read.
    NewerRecord => "newer-record",
    /// A record that has settled a future fire.
    FutureFire => "future-fire",
    /// The flag that requests resharding.
    Necessary => "resharding-asked-for",
    /// The flag that resharding is in progress (A10, A11).
    Processing => "resharding-stuck",
    /// Limits of a group that cannot be read.
    GroupLimitsUnreadable => "group-limits-unreadable",
    /// A permit of a group without a run that would return it.
    OrphanedGroupPermit => "orphaned-group-permit",
    /// A place in the line of a group that no instance leaves.
    StaleGroupPlace => "stale-group-place",
    /// A node in the wrong place.
    StrayNode => "stray-node",
    /// Nodes of ElasticJob 1.x.
    Version1 => "version-1",
    /// A node that cannot be read.
    Anomaly => "anomaly",
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FindingCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A problem that a diagnosis has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Finding {
    /// Job name; empty if the finding is about a group, and about none of its jobs.
    pub job: String,
    /// Group of jobs; `None` for a finding about a job alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind of the finding.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub code: FindingCode,
    /// Severity.
    pub severity: Severity,
    /// Known Java fault that causes it, such as `A18`; see `docs/interop.md`.
    pub fault: Option<&'static str>,
    /// Path of the affected node, if the finding is about one.
    pub node: Option<String>,
    /// Consequence, and what to do.
    pub text: String,
    /// Guarded repair, if there is one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub fix: Option<Fix>,
}

impl Finding {
    pub(super) fn about(job: &str, code: FindingCode, severity: Severity, text: String) -> Self {
        Self {
            job: job.to_owned(),
            group: None,
            code,
            severity,
            fault: None,
            node: None,
            text,
            fix: None,
        }
    }

    /// Returns true if the finding is about a job, or about the limits or nodes of its group that
    /// belong to no job.
    ///
    /// `group` is the group that the configuration of the job names.
    #[must_use]
    pub fn concerns(&self, job: &JobName, group: Option<&GroupName>) -> bool {
        let is_of_group = || self.group.as_deref() == group.map(GroupName::as_str);
        self.job == job.as_str() || (self.job.is_empty() && is_of_group())
    }

    pub(super) fn of(
        job: &JobSnapshot,
        code: FindingCode,
        severity: Severity,
        text: impl Into<String>,
    ) -> Self {
        Self::about(job.job().as_str(), code, severity, text.into())
    }

    pub(super) fn at(self, job: &JobSnapshot, node: &NodeKind) -> Self {
        self.at_path(&job.view().layout().path(node))
    }

    pub(super) fn at_path(self, path: &NodePath) -> Self {
        Self { node: Some(path.to_string()), ..self }
    }

    pub(super) fn with_java_fault(self, fault: &'static str) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Adds a repair; `subject` is the node whose change makes it void.
    pub(super) fn with_fix(
        self,
        job: &JobSnapshot,
        subject: &NodeKind,
        steps: Vec<OperatorStep>,
    ) -> Self {
        let stat = job.node(subject).map(|node| node.stat);
        self.with_fix_at(subject.clone(), stat, steps)
    }

    pub(super) fn with_fix_at(
        self,
        subject: NodeKind,
        stat: Option<Stat>,
        steps: Vec<OperatorStep>,
    ) -> Self {
        Self { fix: Some(Fix { subject, stat, steps }), ..self }
    }
}

impl fmt::Display for Finding {
    /// Writes one line: severity, code, job, node, text and fix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.severity, self.code)?;
        if let Some(fault) = self.fault {
            write!(f, " ({fault})")?;
        }
        match &self.node {
            Some(node) => write!(f, " {node}: {}", self.text)?,
            None => write!(f, " {}: {}", self.job, self.text)?,
        }
        match &self.fix {
            Some(fix) => write!(f, "; fix: {fix}"),
            None => Ok(()),
        }
    }
}

/// Repair of a finding by one guarded transaction. Its text is the dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The affected node. If it has changed since, the fix is void.
    pub(super) subject: NodeKind,
    pub(super) stat: Option<Stat>,
    pub(super) steps: Vec<OperatorStep>,
}

impl Fix {
    /// Returns the steps of the transaction.
    #[must_use]
    pub fn steps(&self) -> &[OperatorStep] {
        &self.steps
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.steps.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

impl Serialize for Fix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.steps.iter().map(ToString::to_string))
    }
}
