//! State of one job at a revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cron::Schedule;
use crate::docs::{Assignment, Backfill, Config, Ledger, StartRate, Starts, State};
use crate::names::{Name, Names};
use crate::placement::Attributes;
use crate::slot::Slot;

/// Configuration in force: the stored one, or the last usable one.
#[derive(Clone, Debug)]
pub(crate) struct InForce {
    /// Version of the node, whether or not its document is usable.
    pub(crate) version: i32,
    pub(crate) readable: bool,
    pub(crate) config: Option<Arc<Config>>,
    pub(crate) schedule: Option<Arc<Schedule>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub(crate) session: i64,
    /// Time of the registration.
    pub(crate) since: u64,
}

/// State of a server, as set by operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Enabled,
    Disabled,
    /// Instances of the server keep their items and start nothing.
    Paused,
}

/// Version of the term, and the session that began it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) version: i32,
    pub(crate) session: i64,
}

/// State of one slot of an item.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotState {
    pub(crate) ledger: Option<Ledger>,
    /// The record exists and cannot be read.
    pub(crate) unreadable: bool,
    /// Session that claimed the running or orphaned run.
    pub(crate) claimed_in: Option<i64>,
    /// Index of that claim in the trace.
    pub(crate) claim: Option<usize>,
    pub(crate) running: bool,
    pub(crate) failover: bool,
    pub(crate) queued: bool,
}

impl SlotState {
    pub(crate) fn is_busy(&self) -> bool {
        self.ledger.is_some_and(|ledger| ledger.is_busy())
    }

    /// Returns the record, if its run is in progress.
    pub(crate) fn running_ledger(&self) -> Option<Ledger> {
        self.ledger.filter(|ledger| ledger.state == State::Running)
    }

    /// Returns true if the slot is idle by its record, and not marked as running.
    fn is_free(&self) -> bool {
        self.ledger.is_some_and(|ledger| ledger.state == State::Idle) && !self.running
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Item {
    pub(crate) owner: Option<Name>,
    /// The first slot, whose record has the fires of the item.
    pub(crate) first: SlotState,
    /// The further slots by their numbers.
    pub(crate) further: BTreeMap<u32, SlotState>,
    /// Fires that claims of all slots stand for, first to last; the ranges never overlap.
    pub(crate) covered: BTreeMap<i64, i64>,
    pub(crate) misfire: bool,
    pub(crate) disabled: bool,
    /// Time at which an operator enabled the item again.
    pub(crate) enabled_at: Option<u64>,
    /// Time at which the last fire advanced, by a claim or a skip.
    pub(crate) advanced_at: Option<u64>,
}

impl Item {
    /// Returns all slots with their numbers, in ascending order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (u32, &SlotState)> {
        let further = self.further.iter().map(|(number, slot)| (*number, slot));
        std::iter::once((0, &self.first)).chain(further)
    }

    /// Returns true if a slot has an unfinished run.
    pub(crate) fn is_busy(&self) -> bool {
        self.slots().any(|(_, slot)| slot.is_busy())
    }

    /// Returns the number of unfinished runs.
    pub(crate) fn runs(&self) -> usize {
        self.slots().filter(|(_, slot)| slot.is_busy()).count()
    }

    /// Returns true if a run can begin in a slot that has a record, where the item may have up to
    /// `most` runs.
    pub(crate) fn has_free_slot(&self, most: usize) -> bool {
        let mut slots = self.slots().take_while(|(number, _)| (*number as usize) < most);
        self.runs() < most && slots.any(|(_, slot)| slot.is_free())
    }

    /// Returns true if the item may get one slot more, where it may have up to `most` runs.
    pub(crate) fn may_get_slot(&self, most: usize) -> bool {
        let mut further = (1..most).filter_map(|number| u32::try_from(number).ok());
        let is_known = |slot: &SlotState| slot.ledger.is_some() || slot.unreadable;
        let is_missing = |number: u32| !self.further.get(&number).is_some_and(is_known);
        self.runs() < most && further.any(is_missing)
    }

    /// Returns the number of the last further slot that has a record.
    pub(crate) fn last_slot(&self) -> u32 {
        let recorded = self.further.iter().rev().find(|(_, slot)| slot.ledger.is_some());
        recorded.map_or(0, |(number, _)| *number)
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.first.ledger.is_some_and(|ledger| ledger.state == State::Retired)
    }
}

/// State of one job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) config: Option<InForce>,
    /// Earlier usable configurations.
    pub(crate) configs_before: Vec<Arc<Config>>,
    pub(crate) instances: BTreeMap<Name, Instance>,
    pub(crate) servers: BTreeMap<Name, Server>,
    /// Attributes of the instances, also of those that are gone.
    pub(crate) attributes: BTreeMap<Name, Attributes>,
    /// Instances whose attributes a manual request has overwritten for a while. A view that was
    /// read meanwhile lacks them.
    pub(crate) overwritten: BTreeSet<Name>,
    pub(crate) draining: BTreeSet<Name>,
    /// Permits that exist.
    pub(crate) permits: BTreeSet<u32>,
    /// The last starts, in a job with a start rate.
    pub(crate) starts: Starts,
    /// The job's group may stop its runs.
    pub(crate) group_may_stop: bool,
    /// A group has a permit of the job without a run.
    pub(crate) leaks_group_permit: bool,
    /// Stable names of the instances that have one.
    pub(crate) names: BTreeMap<Name, Name>,
    pub(crate) leader: Option<Name>,
    pub(crate) term: Option<Term>,
    pub(crate) request: Option<i32>,
    pub(crate) assignment: Option<Assignment>,
    /// The assignment record exists and cannot be read.
    pub(crate) assignment_unreadable: bool,
    /// Backfills of the log, oldest first.
    pub(crate) backfills: Vec<Backfill>,
    pub(crate) items: BTreeMap<u32, Item>,
}

impl Job {
    pub(crate) fn config(&self) -> Option<&Arc<Config>> {
        self.config.as_ref()?.config.as_ref()
    }

    /// Returns the configurations that a leader may decide by.
    ///
    /// If the stored one is usable, its version guards the leader's writes, so that it is the only
    /// one.
    /// Otherwise the leader uses the last usable one that it has seen, and it may have missed some.
    pub(crate) fn configs_to_lead_by(&self) -> impl Iterator<Item = &Arc<Config>> {
        let before = (!self.is_readable()).then_some(&self.configs_before);
        self.config().into_iter().chain(before.into_iter().flatten())
    }

    /// Returns true if items stay with their owners when instances join or leave.
    pub(crate) fn is_static(&self) -> bool {
        self.config().is_some_and(|config| config.static_sharding)
    }

    /// Returns true if the stored configuration is usable. Otherwise no leader assigns items.
    pub(crate) fn is_readable(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.readable)
    }

    pub(crate) fn is_monitored(&self) -> bool {
        self.config().is_some_and(|config| config.monitor)
    }

    /// Returns true if the instance is registered, on an enabled server, not leaving, and meets the
    /// required conditions.
    pub(crate) fn is_available(&self, id: Name, names: &Names) -> bool {
        let server = names.server_of(id).and_then(|server| self.servers.get(&server));
        self.instances.contains_key(&id)
            && !self.draining.contains(&id)
            && matches!(server, Some(Server::Enabled | Server::Paused))
            && self.is_admitted(id)
    }

    /// Returns true if the instance meets the required conditions of the job.
    pub(crate) fn is_admitted(&self, id: Name) -> bool {
        let Some(config) = self.config() else { return true };
        let none = Attributes::default();
        config.placement.unmet(self.attributes.get(&id).unwrap_or(&none)).is_none()
    }

    /// Returns the available instances, in ascending order of their numbers.
    pub(crate) fn available(&self, names: &Names) -> Vec<Name> {
        self.instances.keys().copied().filter(|id| self.is_available(*id, names)).collect()
    }

    pub(crate) fn server_of(&self, id: Name, names: &Names) -> Option<Server> {
        self.servers.get(&names.server_of(id)?).copied()
    }

    /// Returns true if `session` registered the instance and the instance is still registered.
    pub(crate) fn is_registered_by(&self, id: Name, session: i64) -> bool {
        self.instances.get(&id).is_some_and(|instance| instance.session == session)
    }

    /// Returns the slots of all items.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Slot, &SlotState)> {
        self.items.iter().flat_map(|(item, state)| {
            state.slots().map(|(number, slot)| (Slot { item: *item, number }, slot))
        })
    }

    pub(crate) fn slot(&self, Slot { item, number }: Slot) -> Option<&SlotState> {
        let item = self.items.get(&item)?;
        if number == 0 { Some(&item.first) } else { item.further.get(&number) }
    }

    /// Returns a slot, and adds it if it is not known.
    pub(crate) fn slot_mut(&mut self, Slot { item, number }: Slot) -> &mut SlotState {
        let item = self.items.entry(item).or_default();
        if number == 0 { &mut item.first } else { item.further.entry(number).or_default() }
    }

    pub(crate) fn pending(&self, item: u32) -> Option<Name> {
        self.assignment.as_ref()?.pending.get(&item).copied()
    }

    /// Returns true if no run can begin because of the limit of runs at the same time, because the
    /// last start has reached the start rate, or because of the group.
    pub(crate) fn is_full(&self) -> bool {
        let limit = self.config().and_then(|config| config.cluster_concurrency);
        let rate = self.config().and_then(|config| config.start_rate);
        limit.is_some_and(|limit| self.permits.len() >= limit as usize)
            || rate.is_some_and(|rate| started(&self.starts, rate) >= rate.max)
            || self.group_may_stop
    }

    /// Returns true if the assignment was made for the configured number of items.
    pub(crate) fn fits_config(&self) -> bool {
        let total = self.config().map(|config| config.total);
        total.is_some() && total == self.assignment.as_ref().map(|assignment| assignment.total)
    }
}

/// Returns the greatest number of starts in a period that ends with one of them. The last start may
/// come from a wrong clock.
pub(crate) fn started(starts: &Starts, rate: StartRate) -> u32 {
    let (mut most, mut sum, mut first) = (0, 0, 0);
    for (at, count) in starts {
        sum += count;
        while starts[first].0 <= at - rate.period_ms {
            sum -= starts[first].1;
            first += 1;
        }
        most = most.max(sum);
    }
    most
}

/// Returns the number of starts at a time.
pub(crate) fn count_at(starts: &Starts, at: i64) -> u32 {
    starts.iter().find(|(other, _)| *other == at).map_or(0, |(_, count)| *count)
}
