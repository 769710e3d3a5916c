//! Faults as data: kind, target and duration.

use serde::{Deserialize, Serialize};

/// A fault or an operator action, with all data needed to repeat it.
///
/// Nodes are numbered from 0, and times are in milliseconds. A fault with `for_ms` ends after that
/// time, at the latest at the end of the chaos. A process that has ended starts again after
/// `down_ms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are explained at the type")]
pub enum Fault {
    /// Kill the process (SIGKILL).
    Crash { node: u32, down_ms: u64 },
    /// Stop the process (SIGSTOP), then continue it (SIGCONT).
    Pause { node: u32, for_ms: u64 },
    /// Shut the process down gracefully.
    Leave { node: u32, down_ms: u64 },
    /// Block the messages in one or both directions.
    Partition { node: u32, way: Way, for_ms: u64 },
    /// Delay every message, in each direction.
    Slow { node: u32, delay_ms: u64, for_ms: u64 },
    /// Reset the connection.
    Reset { node: u32 },
    /// Lose the request or the reply of this share of calls, in thousandths.
    Lossy { node: u32, permille: u32, for_ms: u64 },
    /// End the session of a healthy process on the registry's side.
    Expire { node: u32 },
    /// Shift the wall clock by this many milliseconds.
    Skew { node: u32, ms: i64, for_ms: u64 },
    /// Take all servers of the registry down.
    RegistryDown { for_ms: u64 },
    /// Stop the leading server of the registry.
    RegistryFrozen { for_ms: u64 },
    /// Let the views of all processes lag.
    RegistryLag { lag_ms: u64, for_ms: u64 },
    /// An operator disables a server and enables it again.
    DisableServer { node: u32, for_ms: u64 },
    /// An operator disables an item and enables it again.
    DisableItem { item: u32, for_ms: u64 },
    /// An operator pauses the server of a process and resumes it.
    PauseJobs { node: u32, for_ms: u64 },
    /// An operator changes the number of items.
    Resize { items: u32 },
    /// An operator toggles failover.
    SwitchFailover,
    /// An operator toggles misfire.
    SwitchMisfire,
    /// An operator stores an unreadable configuration and repairs it.
    Poison { for_ms: u64 },
    /// An operator requests a run of all items now.
    Trigger,
    /// An operator deletes an instance node; the process starts again after `down_ms`.
    RemoveInstance { node: u32, down_ms: u64 },
    /// An operator deletes the leader node.
    RemoveLeader,
    /// Strike a process at one of its next writes: skip `nth` writes of the duty, or of all duties.
    AtWrite { node: u32, duty: Option<String>, nth: u32, after: bool, strike: Strike },
}

/// A fault and its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// Start of the fault, in milliseconds since the beginning of the chaos.
    pub at_ms: u64,
    /// The fault.
    pub fault: Fault,
}

/// Direction of the messages that a partition blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the process to the registry.
    Up,
    /// From the registry to the process.
    Down,
    /// Both directions.
    Both,
}

/// Effect of a fault at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as in Fault")]
pub enum Strike {
    /// Kill the process.
    Kill { down_ms: u64 },
    /// Stop the process.
    Pause { for_ms: u64 },
    /// End the session on the registry's side.
    Expire,
    /// Lose the request or its reply.
    Lose,
    /// Delay the write or its reply.
    Delay { ms: u64 },
}

impl Fault {
    /// Returns references to all durations of the fault, so that a search can shorten them.
    #[must_use]
    pub fn durations(&mut self) -> Vec<&mut u64> {
        match self {
            Self::Crash { down_ms, .. }
            | Self::Leave { down_ms, .. }
            | Self::RemoveInstance { down_ms, .. } => vec![down_ms],
            Self::Slow { delay_ms, for_ms, .. } => vec![delay_ms, for_ms],
            Self::RegistryLag { lag_ms, for_ms } => vec![lag_ms, for_ms],
            Self::Pause { for_ms, .. }
            | Self::Partition { for_ms, .. }
            | Self::Lossy { for_ms, .. }
            | Self::Skew { for_ms, .. }
            | Self::RegistryDown { for_ms }
            | Self::RegistryFrozen { for_ms }
            | Self::DisableServer { for_ms, .. }
            | Self::DisableItem { for_ms, .. }
            | Self::PauseJobs { for_ms, .. }
            | Self::Poison { for_ms } => vec![for_ms],
            Self::AtWrite { strike: Strike::Kill { down_ms: ms }, .. }
            | Self::AtWrite { strike: Strike::Pause { for_ms: ms }, .. }
            | Self::AtWrite { strike: Strike::Delay { ms }, .. } => vec![ms],
            Self::AtWrite { strike: Strike::Expire | Strike::Lose, .. }
            | Self::Reset { .. }
            | Self::Expire { .. }
            | Self::Resize { .. }
            | Self::SwitchFailover
            | Self::SwitchMisfire
            | Self::Trigger
            | Self::RemoveLeader => Vec::new(),
        }
    }
}
