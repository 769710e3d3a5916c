//! What a diagnosis says.

use std::fmt;

use coordination::{NodeKind, OperatorStep};
use reg_center::{NodePath, Stat};
use serde::{Serialize, Serializer};

use crate::JobSnapshot;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; does no harm.
    Info,
    /// May do harm, or pass by itself.
    Warning,
    /// Keeps something from running, now.
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
        /// What was found. The text of each is stable, for programs; `docs/operations.md` has the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingCode {
            $($(#[$doc])* $variant,)*
        }

        impl FindingCode {
            /// All of them, in the order of their checks.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the text that stands for it.
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
    /// Something of the namespace could not be read.
    Unread => "unread",
    /// Nodes of a job, and no configuration.
    NoConfig => "no-config",
    /// A configuration that cannot be used.
    BadConfig => "bad-config",
    /// A configuration that Java instances fail at.
    ConfigHarmsJava => "config-harms-java",
    /// A node in another dialect than the configuration.
    MixedEncoding => "mixed-encoding",
    /// An instance's node that no session owns (A18).
    GhostInstance => "ghost-instance",
    /// An instance whose server has no record.
    NoServerRecord => "no-server-record",
    /// A server on which no instance lives.
    DeadServer => "dead-server",
    /// Addresses that Java takes for each other, or does not react to.
    AddressHarmsJava => "address-harms-java",
    /// Servers on which instances live, and which an operator has paused, or all disabled.
    HeldBack => "held-back",
    /// Nobody leads.
    NoLeader => "no-leader",
    /// A leader whose server is disabled.
    LeaderDisabled => "leader-disabled",
    /// A mark of a run whose holder is gone (A3, A5, A6, A7).
    RunOfNobody => "run-of-nobody",
    /// A mark of a run that is older than the instance which it names (A4).
    RunOfEarlierLife => "run-of-earlier-life",
    /// A mark of a run that its living holder must have left behind (A8).
    RunKept => "run-kept",
    /// A mark of a takeover whose taker is gone (A6).
    TakeoverOfNobody => "takeover-of-nobody",
    /// An entry of the failover queue that must not be run (A22).
    StaleQueueEntry => "stale-queue-entry",
    /// A mark of a run by a living instance, and no run in the item's record.
    RunNotRecorded => "run-not-recorded",
    /// An item that waits to be taken over.
    Orphan => "orphan",
    /// A wish to run now whose instance is gone, or which nobody reads.
    TriggerOfNobody => "trigger-of-nobody",
    /// Items that belong to nobody who lives (A1, A15).
    Unassigned => "unassigned",
    /// Owners of items that the job does not have.
    SurplusItems => "surplus-items",
    /// Items whose last run failed.
    Failing => "failing",
    /// A record that cannot be read.
    BadRecord => "bad-record",
    /// A record that has settled a fire of the future.
    FutureFire => "future-fire",
    /// The flag that asks for resharding.
    Necessary => "resharding-asked-for",
    /// The flag that resharding goes on (A10, A11).
    Processing => "resharding-stuck",
    /// A node that has no business where it stands.
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

/// Something that a diagnosis has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// In which job.
    pub job: String,
    /// What.
    pub code: FindingCode,
    /// How bad it is.
    pub severity: Severity,
    /// The known fault of Java's that leaves it behind, such as `A18`; see `docs/interop.md`.
    pub fault: Option<&'static str>,
    /// The node that it is about, if it is one.
    pub node: Option<String>,
    /// What it means, and what to do.
    pub text: String,
    /// What mends it, if a guarded write can.
    pub fix: Option<Fix>,
}

impl Finding {
    pub(super) fn about(job: &str, code: FindingCode, severity: Severity, text: String) -> Self {
        Self { job: job.to_owned(), code, severity, fault: None, node: None, text, fix: None }
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

    pub(super) fn left_by(self, fault: &'static str) -> Self {
        Self { fault: Some(fault), ..self }
    }

    /// Adds what mends it; `subject` is the node whose change makes the fix void.
    pub(super) fn mended_by(
        self,
        job: &JobSnapshot,
        subject: &NodeKind,
        steps: Vec<OperatorStep>,
    ) -> Self {
        let stat = job.node(subject).map(|node| node.stat);
        Self { fix: Some(Fix { subject: subject.clone(), stat, steps }), ..self }
    }
}

impl fmt::Display for Finding {
    /// One line: severity, code, job, node, text, and what would mend it.
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

/// What mends a finding: one guarded transaction. Shown, it is the dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The node that the finding is about. If it has changed since, the fix is void.
    pub(super) subject: NodeKind,
    pub(super) stat: Option<Stat>,
    pub(super) steps: Vec<OperatorStep>,
}

impl Fix {
    /// Returns what it does, step by step.
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
