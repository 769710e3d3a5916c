//! Results of the replay that later passes need.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cron::Schedule;
use crate::docs::{Config, Ledger, Outcome, Run, Source};
use crate::names::Name;
use crate::replay::job::Server;
use crate::replay::nodes::JobIndex;
use crate::slot::Slot;

/// Position in the merged history.
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
    pub(crate) slot: Slot,
    pub(crate) fire: i64,
    pub(crate) source: Source,
    /// First and last fire that the claim stands for.
    pub(crate) span: (i64, i64),
    pub(crate) token: u64,
    pub(crate) holder: Name,
    pub(crate) session: i64,
    /// Version of the configuration that the claim names, else of the one in force.
    pub(crate) config: i32,
    /// Index of the claim whose run this one takes over.
    pub(crate) takes_over: Option<usize>,
    pub(crate) end: Option<ClaimEnd>,
}

/// End of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimEnd {
    pub(crate) spot: Spot,
    pub(crate) how: Ending,
    /// True if the session that claimed the run ended it.
    pub(crate) by_holder: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done(Option<Outcome>),
    /// The record became orphaned.
    Orphaned,
    /// The leader found the run without a holder and took it over in the same write.
    TakenAtOnce,
}

/// A change of the record of an item or of a further slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) spot: Spot,
    /// Session that wrote.
    pub(crate) session: i64,
    pub(crate) before: Option<Ledger>,
    pub(crate) after: Option<Ledger>,
    /// The run that begins in a further slot of the item with this change, and its token.
    pub(crate) beside: Option<(Slot, u64, Run)>,
}

impl Change {
    /// Returns the run that settles the last fire of the record after the change.
    pub(crate) fn run(&self) -> Option<Run> {
        let beside = self.beside.map(|(.., run)| run);
        beside.or_else(|| self.after.and_then(|ledger| ledger.run))
    }
}

/// Claimability of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimability {
    Claimable(Name),
    /// A run blocks the item. The instance notes fires that meet the run, if there is one that can.
    Busy(Option<Name>),
    Blocked(&'static str),
}

/// A configuration came into force.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFrom {
    pub(crate) mt: u64,
    pub(crate) version: i32,
    /// True if the stored document is usable. Otherwise each instance follows the last usable one
    /// that it has seen.
    pub(crate) readable: bool,
    pub(crate) config: Option<Arc<Config>>,
    pub(crate) schedule: Option<Arc<Schedule>>,
}

/// Registration of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Membership {
    pub(crate) instance: Name,
    pub(crate) session: i64,
    pub(crate) from: u64,
    pub(crate) until: Option<u64>,
}

/// History of one item.
#[derive(Clone, Debug, Default)]
pub(crate) struct ItemTrace {
    pub(crate) changes: Vec<Change>,
    pub(crate) claimability: Vec<(u64, Claimability)>,
}

/// History of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobTrace {
    pub(crate) items: BTreeMap<u32, ItemTrace>,
    /// Changes of the records of further slots.
    pub(crate) further: BTreeMap<Slot, Vec<Change>>,
    pub(crate) configs: Vec<ConfigFrom>,
    pub(crate) memberships: Vec<Membership>,
    pub(crate) leaderships: Vec<Membership>,
    /// States of each server as set by operators, with their times.
    pub(crate) servers: BTreeMap<Name, Vec<(u64, Option<Server>)>>,
    pub(crate) reshardings: u64,
    pub(crate) terms: u64,
    pub(crate) retired: u64,
}

impl JobTrace {
    /// Returns the configurations that instances may follow while the one at `place` is stored.
    ///
    /// A usable one is the only one. Otherwise they follow any that they may have seen before.
    pub(crate) fn possible_configs(&self, place: usize) -> &[ConfigFrom] {
        let first = if self.configs[place].readable { place } else { 0 };
        &self.configs[first..=place]
    }

    /// Returns true if a server existed and was enabled during a complete period, ends included.
    pub(crate) fn was_enabled(&self, server: Name, from: u64, until: u64) -> bool {
        let Some(states) = self.servers.get(&server) else { return false };
        let first = states.partition_point(|(mt, _)| *mt <= from);
        let meanwhile = states[first..].iter().take_while(|(mt, _)| *mt <= until);
        let before = first.checked_sub(1).map(|place| &states[place]);
        before.is_some_and(|(_, state)| *state == Some(Server::Enabled))
            && meanwhile.into_iter().all(|(_, state)| *state == Some(Server::Enabled))
    }
}

/// Result of the replay.
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
