//! Acts: everything that faults and operators can do to a run, as data.

use serde::{Deserialize, Serialize};

use super::change::Change;

/// Whom an act is meant for. Resolved when the act is due; an act that finds nobody is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The node of this number.
    Node(u8),
    /// The node that leads.
    Leader,
    /// The first node from this number on that executes an item.
    Runner(u8),
}

/// Something that a fault or an operator does. Times are virtual milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Act {
    /// The next commit of the node is not executed; nobody learns that.
    LoseRequest {
        /// Whose.
        who: Who,
    },
    /// The next commit of the node is executed; nobody learns that.
    LoseReply {
        /// Whose.
        who: Who,
    },
    /// The next commit of the node is reported as unknown, and happens later, if its session then lives.
    LateRequest {
        /// Whose.
        who: Who,
    },
    /// The next commit of the node waits.
    DelayRequest {
        /// Whose.
        who: Who,
        /// How long.
        ms: u32,
    },
    /// The connection is cut.
    Cut {
        /// Whose.
        who: Who,
        /// How long.
        ms: u32,
        /// After what time the process notices.
        notice_ms: u32,
    },
    /// What the registry tells the node comes late.
    Lag {
        /// Which node.
        who: Who,
        /// By how much.
        ms: u32,
    },
    /// The registry ends the session.
    Expire {
        /// Whose.
        who: Who,
        /// After what time the process notices.
        notice_ms: u32,
    },
    /// The process is killed.
    Crash {
        /// Which.
        who: Who,
        /// After what time another one starts on the same server.
        restart_ms: u32,
    },
    /// The process stands still: it does nothing, then everything at once.
    Freeze {
        /// Which.
        who: Who,
        /// How long.
        ms: u32,
    },
    /// Nobody reaches the registry.
    RegistryDown {
        /// How long.
        ms: u32,
        /// All sessions end meanwhile.
        expire: bool,
    },
    /// The wall clock of the node differs by this much from now on.
    Skew {
        /// Whose.
        who: Who,
        /// By how much, in milliseconds; negative is slow.
        ms: i64,
    },
    /// The last fire comes again.
    Refire {
        /// Where.
        who: Who,
    },

    /// An operator writes this to the server of the node: empty, `DISABLED` or `PAUSED`.
    Server {
        /// Whose server.
        who: Who,
        /// What.
        data: String,
    },
    /// An operator removes the server of the node.
    RemoveServer {
        /// Whose.
        who: Who,
    },
    /// An operator disables an item, or enables it.
    Item {
        /// Which.
        item: u32,
        /// Whether it is disabled.
        disabled: bool,
    },
    /// An operator changes the configuration.
    Configure {
        /// What in it.
        change: Change,
    },
    /// An operator stores something that is no configuration.
    Poison {
        /// What.
        text: String,
    },
    /// An operator takes the leader node away.
    RemoveLeader,
    /// An operator takes the instance node away.
    RemoveInstance {
        /// Whose.
        who: Who,
    },
    /// A Java instance asks for resharding.
    Necessary,
    /// Somebody triggers the job through this process.
    Trigger {
        /// Which.
        who: Who,
        /// What the runs are told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// An operator leaves a request to run some items.
    RequestRun {
        /// How many items, from the first on; `None` is all.
        items: Option<u32>,
        /// What the runs are told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// An operator triggers one instance through its node.
    TriggerNode {
        /// Whose.
        who: Who,
    },
    /// The process starts no runs for a while.
    Pause {
        /// Which.
        who: Who,
        /// How long.
        ms: u32,
    },
    /// The process leaves in order, and another one joins.
    Drain {
        /// Which.
        who: Who,
        /// After what time its runs are cancelled.
        deadline_ms: u32,
        /// For how long its session lives on, because somebody shares it.
        linger_ms: u32,
        /// How long after it has left another one starts.
        rejoin_ms: u32,
    },
}

impl Act {
    /// Returns the name of its kind, as in histories and tables of coverage.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LoseRequest { .. } => "lose_request",
            Self::LoseReply { .. } => "lose_reply",
            Self::LateRequest { .. } => "late_request",
            Self::DelayRequest { .. } => "delay_request",
            Self::Cut { .. } => "partition",
            Self::Lag { .. } => "lag",
            Self::Expire { .. } => "expire",
            Self::Crash { .. } => "crash",
            Self::Freeze { .. } => "pause",
            Self::RegistryDown { .. } => "registry_down",
            Self::Skew { .. } => "skew",
            Self::Refire { .. } => "refire",
            Self::Server { data, .. } => match data.as_str() {
                "DISABLED" => "disable_server",
                "PAUSED" => "pause_server",
                _ => "enable_server",
            },
            Self::RemoveServer { .. } => "remove_server",
            Self::Item { disabled: true, .. } => "disable_item",
            Self::Item { disabled: false, .. } => "enable_item",
            Self::Configure { change } => change.kind(),
            Self::Poison { .. } => "poison",
            Self::RemoveLeader => "remove_leader",
            Self::RemoveInstance { .. } => "remove_instance",
            Self::Necessary => "necessary",
            Self::Trigger { .. } => "trigger",
            Self::RequestRun { .. } => "request_run",
            Self::TriggerNode { .. } => "trigger_node",
            Self::Pause { .. } => "pause_job",
            Self::Drain { .. } => "drain",
        }
    }

    /// Returns whom it is meant for; `None` if it is about the registry or the job.
    #[must_use]
    pub fn who(&self) -> Option<Who> {
        match self {
            Self::LoseRequest { who }
            | Self::LoseReply { who }
            | Self::LateRequest { who }
            | Self::DelayRequest { who, .. }
            | Self::Cut { who, .. }
            | Self::Lag { who, .. }
            | Self::Expire { who, .. }
            | Self::Crash { who, .. }
            | Self::Freeze { who, .. }
            | Self::Skew { who, .. }
            | Self::Refire { who }
            | Self::Server { who, .. }
            | Self::RemoveServer { who }
            | Self::RemoveInstance { who }
            | Self::Trigger { who, .. }
            | Self::TriggerNode { who }
            | Self::Pause { who, .. }
            | Self::Drain { who, .. } => Some(*who),
            Self::RegistryDown { .. }
            | Self::Item { .. }
            | Self::Configure { .. }
            | Self::Poison { .. }
            | Self::RemoveLeader
            | Self::RequestRun { .. }
            | Self::Necessary => None,
        }
    }

    /// Makes a request tell its runs something; all other acts stay as they are.
    #[must_use]
    pub fn telling(self, text: String) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts tell nothing")]
        match self {
            Self::Trigger { who, .. } => Self::Trigger { who, parameter: Some(text) },
            Self::RequestRun { items, .. } => Self::RequestRun { items, parameter: Some(text) },
            other => other,
        }
    }

    /// Returns true for faults that begin and end.
    #[must_use]
    pub fn lasts(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Freeze { .. } | Self::RegistryDown { .. } | Self::Skew { .. }
        )
    }

    /// Returns true for what operators do; everything else is a fault.
    #[must_use]
    pub fn is_operators(&self) -> bool {
        match self {
            Self::LoseRequest { .. }
            | Self::LoseReply { .. }
            | Self::LateRequest { .. }
            | Self::DelayRequest { .. }
            | Self::Cut { .. }
            | Self::Lag { .. }
            | Self::Expire { .. }
            | Self::Crash { .. }
            | Self::Freeze { .. }
            | Self::RegistryDown { .. }
            | Self::Skew { .. }
            | Self::Refire { .. } => false,
            Self::Server { .. }
            | Self::RemoveServer { .. }
            | Self::Item { .. }
            | Self::Configure { .. }
            | Self::Poison { .. }
            | Self::RemoveLeader
            | Self::RemoveInstance { .. }
            | Self::Necessary
            | Self::Trigger { .. }
            | Self::RequestRun { .. }
            | Self::TriggerNode { .. }
            | Self::Pause { .. }
            | Self::Drain { .. } => true,
        }
    }
}
