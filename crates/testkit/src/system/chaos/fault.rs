//! Faults as data: what goes wrong, to whom, and for how long.

use serde::{Deserialize, Serialize};

/// A fault, or something that an operator does, with everything needed to do it again.
///
/// Nodes are counted from 0; times are in milliseconds. What lasts is undone after `for_ms`, and at the end of the
/// chaos at the latest. A process that is gone comes back after `down_ms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are explained at the type")]
pub enum Fault {
    /// SIGKILL.
    Crash { node: u32, down_ms: u64 },
    /// SIGSTOP, then SIGCONT.
    Pause { node: u32, for_ms: u64 },
    /// A graceful end.
    Leave { node: u32, down_ms: u64 },
    /// Nothing passes in one direction or in both.
    Partition { node: u32, way: Way, for_ms: u64 },
    /// Everything takes longer, each way.
    Slow { node: u32, delay_ms: u64, for_ms: u64 },
    /// The connection breaks.
    Reset { node: u32 },
    /// Of a thousand calls so many lose their request or their reply.
    Lossy { node: u32, permille: u32, for_ms: u64 },
    /// The registry ends the session of a healthy process.
    Expire { node: u32 },
    /// The wall clock is wrong by so much.
    Skew { node: u32, ms: i64, for_ms: u64 },
    /// All servers of the registry are down.
    RegistryDown { for_ms: u64 },
    /// The leading server of the registry stands still.
    RegistryFrozen { for_ms: u64 },
    /// What processes see lags.
    RegistryLag { lag_ms: u64, for_ms: u64 },
    /// An operator disables a server and enables it again.
    DisableServer { node: u32, for_ms: u64 },
    /// An operator disables an item and enables it again.
    DisableItem { item: u32, for_ms: u64 },
    /// The jobs of a process are paused and resumed.
    PauseJobs { node: u32, for_ms: u64 },
    /// An operator changes the number of items.
    Resize { items: u32 },
    /// An operator switches failover.
    SwitchFailover,
    /// An operator switches misfire.
    SwitchMisfire,
    /// An operator stores an unreadable configuration and repairs it.
    Poison { for_ms: u64 },
    /// An operator asks for a run now.
    Trigger,
    /// An operator takes an instance node away; the process is started again after `down_ms`.
    RemoveInstance { node: u32, down_ms: u64 },
    /// An operator takes the leader node away.
    RemoveLeader,
    /// Something happens to a process at one of its next writes: at the `nth` of a duty, or of all.
    AtWrite { node: u32, duty: Option<String>, nth: u32, after: bool, strike: Strike },
}

/// A fault and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// When it begins.
    pub at_ms: u64,
    /// What it is.
    pub fault: Fault,
}

/// Which direction nothing passes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the process to the registry.
    Up,
    /// From the registry to the process.
    Down,
    /// Both.
    Both,
}

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as in Fault")]
pub enum Strike {
    /// The process is killed.
    Kill { down_ms: u64 },
    /// The process is stopped.
    Pause { for_ms: u64 },
    /// The session ends on the registry's side.
    Expire,
    /// The request or the reply is lost.
    Lose,
    /// The write or its reply waits.
    Delay { ms: u64 },
}

impl Fault {
    /// Returns the durations of the fault, to be made shorter.
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
