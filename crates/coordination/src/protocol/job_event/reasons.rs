//! Reasons of missed fires and dropped requests, outages, and differences of clocks.

use std::fmt;

use crate::{FireTime, Now};

/// A time without a connection to the registry, by the wall clock of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outage {
    /// Loss of the connection, in milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Return of the connection, in milliseconds since 1970 UTC. `None` while it is lost.
    pub until_ms: Option<i64>,
}

impl Outage {
    pub(crate) fn beginning(now: Now) -> Self {
        Self { from_ms: now.wall_ms, until_ms: None }
    }

    pub(crate) fn ended(self, now: Now) -> Self {
        Self { until_ms: Some(now.wall_ms), ..self }
    }

    /// Returns true if the outage had not ended at a time.
    pub(crate) fn reaches(&self, time: FireTime) -> bool {
        self.until_ms.is_none_or(|until| until > time.0)
    }
}

/// `since 2024-02-29T12:00:00Z`, or `from 2024-02-29T12:00:00Z to 2024-02-29T12:00:24Z`.
impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = FireTime(self.from_ms);
        match self.until_ms {
            None => write!(f, "since {from}"),
            Some(until) => write!(f, "from {from} to {}", FireTime(until)),
        }
    }
}

/// Reason why a fire is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissReason {
    /// The next fire came before this one could be claimed, because the item had no assignment or
    /// another owner.
    Superseded,
    /// The next fire came before the registry could be reached again.
    RegistryUnreachable(Outage),
    /// The item was busy, and the job does not replay misfires.
    StillRunning,
    /// The item was busy, and as many fires as the job's `overlap` allows were queued behind its
    /// run until the next fire came.
    QueueFull,
    /// The item waited for a limit of the job or its group until the next fire came.
    LimitReached,
    /// The item is disabled.
    ItemDisabled,
    /// The job has fewer items now.
    ItemRetired,
    /// The request has a parameter, and a Java instance owns the item: it cannot take one.
    ParameterNotCarried,
    /// This instance or its server is paused.
    Paused,
    /// The server of this instance is disabled.
    ServerDisabled,
    /// This instance's clock differs too much from the registry's.
    ClockDiffers,
    /// This instance is leaving.
    Leaving,
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superseded => "the next fire came first",
            Self::RegistryUnreachable(outage) => {
                return write!(f, "the registry could not be reached {outage}");
            }
            Self::StillRunning => "the item was still running",
            Self::QueueFull => "the queue of the item was full",
            Self::LimitReached => "a limit of the job or its group was reached",
            Self::ItemDisabled => "the item is disabled",
            Self::ItemRetired => "the item is retired",
            Self::ParameterNotCarried => {
                "the Java instance that owns the item cannot take a parameter"
            }
            Self::Paused => "the instance is paused",
            Self::ServerDisabled => "the server is disabled",
            Self::ClockDiffers => "the clock differs too much from the registry's",
            Self::Leaving => "the instance is leaving",
        })
    }
}

/// Reason why a manual request is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// This instance is leaving and had not sent the request. No item runs for it.
    Leaving,
    /// The session ended, or this instance began to leave, while the request was being sent. Its
    /// outcome is unknown, and items may run for it. The author repeats it if no item does.
    InDoubt,
    /// The request has a parameter that cannot reach the runs: the job is not monitored, or a Java
    /// instance leads. No item runs for it.
    ParameterNotCarried,
    /// The parameter is too long for this number of items: all records together would hold more
    /// than [`MAX_REQUEST_BYTES`](crate::MAX_REQUEST_BYTES). No item runs for it.
    ParameterTooLarge,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "the instance is leaving",
            Self::InDoubt => "its outcome is unknown: it may have reached the registry",
            Self::ParameterNotCarried => {
                "its parameter cannot reach the runs: the job is not monitored, or a Java instance \
                 leads"
            }
            Self::ParameterTooLarge => {
                "its parameter is too long for this number of items: together they hold at most \
                 16 MiB of parameters"
            }
        })
    }
}

/// Difference between the clocks of an instance and the registry, in milliseconds: positive if the
/// instance's clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference(pub i64);

impl fmt::Display for ClockDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, way) = (self.0.unsigned_abs(), if self.0 < 0 { "behind" } else { "ahead of" });
        let (seconds, rest) = (ms / 1_000, ms % 1_000);
        write!(f, "this instance's clock is {seconds}.{rest:03} s {way} the registry's")
    }
}
