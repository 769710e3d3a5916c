//! Acts of a script as data: the faults and the operator actions of a run.

use serde::{Deserialize, Serialize};

use super::change::Change;

/// Target of an act. It is resolved when the act is due; an act without a target is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The node of this number.
    Node(u8),
    /// The node that is the leader.
    Leader,
    /// The first node, from this number on, that executes an item.
    Runner(u8),
}

/// A fault or an operator action. Times are virtual milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Act {
    /// The next commit of the node is not executed, and its outcome is unknown.
    LoseRequest {
        /// The node.
        who: Who,
    },
    /// The next commit of the node is executed, and its outcome is unknown.
    LoseReply {
        /// The node.
        who: Who,
    },
    /// The next commit of the node is reported as unknown, and executed later if its session still
    /// lives.
    LateRequest {
        /// The node.
        who: Who,
    },
    /// The next commit of the node is delayed.
    DelayRequest {
        /// The node.
        who: Who,
        /// Duration of the delay.
        ms: u32,
    },
    /// The connection to the registry is cut.
    Cut {
        /// The node.
        who: Who,
        /// Duration of the cut.
        ms: u32,
        /// Time until the process notices.
        notice_ms: u32,
    },
    /// Messages of the registry to the node are delayed.
    Lag {
        /// The node.
        who: Who,
        /// Duration of the delay.
        ms: u32,
    },
    /// The next change of the job is never delivered to the node, which a registry must not do.
    MissChange {
        /// The node.
        who: Who,
    },
    /// The registry ends the session of the node.
    Expire {
        /// The node.
        who: Who,
        /// Time until the process notices.
        notice_ms: u32,
    },
    /// The process is killed.
    Crash {
        /// The node.
        who: Who,
        /// Time until another process starts on the same server.
        restart_ms: u32,
    },
    /// The process is frozen: it does nothing, and later handles all messages at once.
    Freeze {
        /// The node.
        who: Who,
        /// Duration of the freeze.
        ms: u32,
    },
    /// The registry is down for all nodes.
    RegistryDown {
        /// Duration of the outage.
        ms: u32,
        /// True if all sessions end during the outage.
        expire: bool,
    },
    /// The wall clock of the node differs from the true time from now on.
    Skew {
        /// The node.
        who: Who,
        /// The difference in milliseconds; a negative clock is slow.
        ms: i64,
    },
    /// The last fire of the node is delivered again.
    Refire {
        /// The node.
        who: Who,
    },

    /// An operator writes this data to the server node: empty, `DISABLED` or `PAUSED`.
    Server {
        /// The node of the server.
        who: Who,
        /// The data.
        data: String,
    },
    /// An operator removes the server of the node.
    RemoveServer {
        /// The node.
        who: Who,
    },
    /// An operator disables an item, or enables it again.
    Item {
        /// Number of the item.
        item: u32,
        /// True disables, false enables.
        disabled: bool,
    },
    /// An operator changes the configuration.
    Configure {
        /// The change.
        change: Change,
    },
    /// An operator stores text that is not a valid configuration.
    Poison {
        /// The text.
        text: String,
    },
    /// An operator deletes the leader node.
    RemoveLeader,
    /// An operator deletes the instance node.
    RemoveInstance {
        /// The node.
        who: Who,
    },
    /// A Java instance requests resharding.
    Necessary,
    /// A program triggers the job through its own instance.
    Trigger {
        /// The node.
        who: Who,
        /// Parameter for the runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// An operator makes a manual request for some items.
    RequestRun {
        /// Number of items, from the first on; `None` is all items.
        items: Option<u32>,
        /// Parameter for the runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parameter: Option<String>,
    },
    /// An operator requests the cancellation of the run of an item.
    Cancel {
        /// Number of the item.
        item: u32,
        /// Time between reading the record and the write; 0 is none.
        late_ms: u32,
        /// Time after which the operator repeats the request, as if its reply were lost; 0 is no
        /// repetition.
        again_ms: u32,
    },
    /// An operator requests a backfill, unless one is in progress.
    Backfill {
        /// Number of past fires.
        fires: u8,
        /// Number of items, from the first on; `None` is all items.
        items: Option<u32>,
        /// Number of fires that may be in progress at once.
        concurrency: u8,
    },
    /// An operator cancels the backfill in progress.
    CancelBackfill,
    /// An operator triggers one instance through its node.
    TriggerNode {
        /// The node.
        who: Who,
    },
    /// The process is paused and starts no runs.
    Pause {
        /// The node.
        who: Who,
        /// Duration of the pause.
        ms: u32,
    },
    /// The process leaves gracefully, and another process joins later.
    Drain {
        /// The node.
        who: Who,
        /// Time until its runs are cancelled.
        deadline_ms: u32,
        /// Time for which its session lives on, as if other jobs shared the session.
        linger_ms: u32,
        /// Time until another process starts, after this one has left.
        rejoin_ms: u32,
    },
}

impl Act {
    /// Returns the name of the act's kind, as in histories and coverage tables.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LoseRequest { .. } => "lose_request",
            Self::LoseReply { .. } => "lose_reply",
            Self::LateRequest { .. } => "late_request",
            Self::DelayRequest { .. } => "delay_request",
            Self::Cut { .. } => "partition",
            Self::Lag { .. } => "lag",
            Self::MissChange { .. } => "miss_change",
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
            Self::Cancel { .. } => "cancel",
            Self::Backfill { .. } => "backfill",
            Self::CancelBackfill => "cancel_backfill",
            Self::TriggerNode { .. } => "trigger_node",
            Self::Pause { .. } => "pause_job",
            Self::Drain { .. } => "drain",
        }
    }

    /// Returns the target; `None` if the act concerns the registry or the job.
    #[must_use]
    pub fn who(&self) -> Option<Who> {
        match self {
            Self::LoseRequest { who }
            | Self::LoseReply { who }
            | Self::LateRequest { who }
            | Self::DelayRequest { who, .. }
            | Self::Cut { who, .. }
            | Self::Lag { who, .. }
            | Self::MissChange { who }
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
            | Self::Cancel { .. }
            | Self::Backfill { .. }
            | Self::CancelBackfill
            | Self::Necessary => None,
        }
    }

    /// Adds a parameter to a request; all other acts stay unchanged.
    #[must_use]
    pub fn with_parameter(self, text: String) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts have no parameter")]
        match self {
            Self::Trigger { who, .. } => Self::Trigger { who, parameter: Some(text) },
            Self::RequestRun { items, .. } => Self::RequestRun { items, parameter: Some(text) },
            other => other,
        }
    }

    /// Returns true for faults that have a beginning and an end.
    #[must_use]
    pub fn has_duration(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Freeze { .. } | Self::RegistryDown { .. } | Self::Skew { .. }
        )
    }

    /// Returns true for operator actions, false for faults.
    #[must_use]
    pub fn is_operator_action(&self) -> bool {
        match self {
            Self::LoseRequest { .. }
            | Self::LoseReply { .. }
            | Self::LateRequest { .. }
            | Self::DelayRequest { .. }
            | Self::Cut { .. }
            | Self::Lag { .. }
            | Self::MissChange { .. }
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
            | Self::Cancel { .. }
            | Self::Backfill { .. }
            | Self::CancelBackfill
            | Self::TriggerNode { .. }
            | Self::Pause { .. }
            | Self::Drain { .. } => true,
        }
    }
}
