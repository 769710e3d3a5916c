//! What a replay has learnt and later passes need.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cron::Schedule;
use crate::docs::{Config, Ledger, Outcome, Source};
use crate::names::Name;
use crate::replay::job::Server;
use crate::replay::nodes::JobIndex;

/// A place in the merged history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) record: usize,
    pub(crate) mt: u64,
    pub(crate) zxid: Option<i64>,
}

/// A claim that the registry committed.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) spot: Spot,
    pub(crate) job: JobIndex,
    pub(crate) item: u32,
    pub(crate) fire: i64,
    pub(crate) source: Source,
    /// The fires that it stands for, first and last.
    pub(crate) span: (i64, i64),
    pub(crate) token: u64,
    pub(crate) holder: Name,
    pub(crate) session: i64,
    /// The version of the configuration that it names, or else the one that was in force.
    pub(crate) config: i32,
    /// The claim whose run this one takes over.
    pub(crate) takes_over: Option<usize>,
    pub(crate) end: Option<ClaimEnd>,
}

/// How the record of a run was closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimEnd {
    pub(crate) spot: Spot,
    pub(crate) how: Ending,
    /// By the session that had claimed it.
    pub(crate) by_holder: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done(Option<Outcome>),
    Orphaned,
    /// The leader has found it without a holder, and taken it over with the same write.
    TakenAtOnce,
}

/// An item's record changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) spot: Spot,
    /// The session that wrote.
    pub(crate) session: i64,
    pub(crate) before: Option<Ledger>,
    pub(crate) after: Option<Ledger>,
}

/// Whether a fire of an item could be claimed, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Claimable(Name),
    /// A run blocks it; whoever notes fires that meet the run, if somebody can.
    Busy(Option<Name>),
    Blocked(&'static str),
}

/// A configuration came into force.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFrom {
    pub(crate) mt: u64,
    pub(crate) version: i32,
    /// What is stored can be used; else the last one that could stays in force, by what each instance has seen itself.
    pub(crate) readable: bool,
    pub(crate) config: Option<Arc<Config>>,
    pub(crate) schedule: Option<Arc<Schedule>>,
}

/// An instance was registered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    pub(crate) instance: Name,
    pub(crate) session: i64,
    pub(crate) from: u64,
    pub(crate) until: Option<u64>,
}

/// What happened to one item.
#[derive(Clone, Debug, Default)]
pub(crate) struct ItemTrace {
    pub(crate) changes: Vec<Change>,
    pub(crate) standings: Vec<(u64, Standing)>,
}

/// What happened to one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobTrace {
    pub(crate) items: BTreeMap<u32, ItemTrace>,
    pub(crate) configs: Vec<ConfigFrom>,
    pub(crate) memberships: Vec<Membership>,
    pub(crate) leaderships: Vec<Membership>,
    /// What operators want of each server, and since when.
    pub(crate) servers: BTreeMap<Name, Vec<(u64, Option<Server>)>>,
    pub(crate) reshardings: u64,
    pub(crate) terms: u64,
    pub(crate) retired: u64,
}

impl JobTrace {
    /// Returns what instances go by while the configuration at a place is stored: that one, if it can be used, else any
    /// that they may have seen before.
    pub(crate) fn configs_meant(&self, place: usize) -> &[ConfigFrom] {
        let first = if self.configs[place].readable { place } else { 0 };
        &self.configs[first..=place]
    }

    /// Returns true if a server was there and enabled all the time from one moment to another, ends included.
    pub(crate) fn was_enabled(&self, server: Name, from: u64, until: u64) -> bool {
        let Some(states) = self.servers.get(&server) else { return false };
        let first = states.partition_point(|(mt, _)| *mt <= from);
        let meanwhile = states[first..].iter().take_while(|(mt, _)| *mt <= until);
        let before = first.checked_sub(1).map(|place| &states[place]);
        before.is_some_and(|(_, state)| *state == Some(Server::Enabled))
            && meanwhile.into_iter().all(|(_, state)| *state == Some(Server::Enabled))
    }
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) jobs: Vec<JobTrace>,
    pub(crate) claims: Vec<Claim>,
}

impl Trace {
    pub(crate) fn job(&mut self, job: JobIndex) -> &mut JobTrace {
        if self.jobs.len() <= job {
            self.jobs.resize_with(job + 1, JobTrace::default);
        }
        &mut self.jobs[job]
    }
}
