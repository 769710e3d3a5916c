//! Liveness after healing: each wrong condition has a clock. L1, L2, L3, L7, and S9 in the long
//! run.

use std::collections::BTreeMap;

use crate::Property::{self, L1, L2, L3, L7, S9};
use crate::docs::State;
use crate::names::{Name, Names};
use crate::options::Bounds;
use crate::replay::Replay;
use crate::replay::job::{Item, Job, Server, SlotState};
use crate::replay::nodes::JobIndex;
use crate::slot::Slot;
use crate::violation::Subject;

/// A condition that must not last. The text describes the item or the job.
type Condition = (Property, Option<Slot>, &'static str);

/// Begin of a condition.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// Time on the clock of the condition: orphans count while an instance is idle, everything else
    /// all the time.
    at: u64,
    record: usize,
}

/// Total time in which at least one instance was idle.
#[derive(Clone, Copy, Debug, Default)]
struct IdleClock {
    total: u64,
    since: Option<u64>,
}

impl IdleClock {
    fn at(&self, mt: u64) -> u64 {
        self.total + self.since.map_or(0, |since| mt.saturating_sub(since))
    }

    fn set(&mut self, mt: u64, idle: bool) {
        *self = Self { total: self.at(mt), since: idle.then_some(mt) };
    }
}

const ORPHAN: &str = "is orphaned while an instance is idle";

#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Time from which on liveness promises are judged.
    from: Option<u64>,
    conditions: BTreeMap<(JobIndex, Condition), Since>,
    idle: BTreeMap<JobIndex, IdleClock>,
}

impl Watch {
    pub(crate) fn healed(&mut self, mt: u64) {
        self.from = Some(mt);
    }

    /// Restarts all clocks because of another fault.
    pub(crate) fn disturbed(&mut self, mt: u64) {
        if self.from.is_some() {
            self.from = Some(mt);
            self.conditions.clear();
        }
    }
}

impl Replay {
    /// Updates the conditions of a job after a change.
    pub(super) fn update_conditions(&mut self, job: JobIndex) {
        if self.watch.from.is_none() {
            return;
        }
        let now = conditions(&self.jobs[job], &self.names, |sid| self.sessions.is_closed(sid));
        let idle = is_an_instance_idle(&self.jobs[job], &self.names);
        self.watch.idle.entry(job).or_default().set(self.spot.mt, idle);
        let over: Vec<_> = self
            .watch
            .conditions
            .iter()
            .filter(|((of, condition), _)| *of == job && !now.contains(condition))
            .map(|(key, since)| (*key, *since))
            .collect();
        for (key, since) in over {
            self.watch.conditions.remove(&key);
            self.judge_condition(key, since);
        }
        for condition in now {
            let since = Since { at: self.clock_of((job, condition)), record: self.spot.record };
            self.watch.conditions.entry((job, condition)).or_insert(since);
        }
    }

    /// Returns the time on the clock of a condition.
    fn clock_of(&self, (job, (_, _, what)): (JobIndex, Condition)) -> u64 {
        let mt = self.spot.mt;
        let idle = || self.watch.idle.get(&job).map_or(0, |clock| clock.at(mt));
        if what == ORPHAN { idle() } else { mt }
    }

    /// Judges the conditions that last at the end.
    pub(super) fn end(&mut self) {
        let conditions: Vec<_> =
            self.watch.conditions.iter().map(|(key, since)| (*key, *since)).collect();
        if self.watch.from.is_some() {
            [L1, L2, L3, L7, S9].into_iter().for_each(|property| self.tally.judged(property));
        }
        self.watch.conditions.clear();
        conditions.into_iter().for_each(|(key, since)| self.judge_condition(key, since));
    }

    fn judge_condition(&mut self, (job, condition): (JobIndex, Condition), since: Since) {
        let (property, slot, what) = condition;
        self.tally.judged(property);
        let waited = self.clock_of((job, condition)).saturating_sub(since.at);
        let bound = bound(property, self.bounds);
        if waited > bound {
            let subject = Subject::of(self.nodes.job_name(job), slot);
            let (waited, bound) = (waited / 1_000_000, bound / 1_000_000);
            let message = format!("{what} for {waited} ms; valid is at most {bound} ms");
            self.violate(property, subject, message, since.record);
        }
    }
}

fn bound(property: Property, bounds: Bounds) -> u64 {
    let recovery = bounds.recovery();
    if property == L3 { recovery } else { recovery.saturating_add(bounds.settle) }
}

/// Returns the conditions that must not last.
fn conditions(job: &Job, names: &Names, is_closed: impl Fn(i64) -> bool) -> Vec<Condition> {
    let available = job.available(names);
    if available.is_empty() {
        return Vec::new();
    }
    let Some(config) = job.config() else { return Vec::new() };
    let mut conditions = Vec::new();
    if job.leader.is_none_or(|leader| !available.contains(&leader)) {
        conditions.push((L3, None, "no available instance leads"));
    }
    // Under static sharding the leader ignores instances that join.
    let fixed = job.is_static();
    let requested = job.request.and_then(|version| u32::try_from(version).ok());
    let fresh = job.assignment.as_ref().is_some_and(|assignment| {
        (fixed || assignment.members == available)
            && assignment.total == config.total
            && assignment.strategy == config.strategy
            && (fixed || requested.is_none_or(|request| assignment.handled >= request))
    });
    // An unknown strategy or an unusable configuration leaves the former assignment in place.
    let used = job.assignment.as_ref().is_none_or(|a| a.strategy == config.strategy);
    let can_assign = job.is_readable() && (used || is_built_in(&config.strategy));
    if !fresh && can_assign {
        conditions.push((S9, None, "the assignment does not match its present inputs"));
    }
    if job.draining.iter().any(|id| !job.instances.contains_key(id)) {
        conditions.push((L7, None, "the draining mark of an instance that has left stays"));
    }
    let has_run = |permit: &u32| {
        let mut ledgers = job.slots().filter_map(|(_, slot)| slot.ledger);
        ledgers.any(|ledger| ledger.run.is_some_and(|run| run.permit == Some(*permit)))
    };
    if !job.permits.iter().all(has_run) {
        conditions.push((L7, None, "a permit without a run stays"));
    }
    if job.leaks_group_permit {
        conditions.push((L7, None, "a permit of a group without a run stays"));
    }
    for i in 0..config.total {
        let owner = job.items.get(&i).and_then(|item| item.owner);
        let busy = job.items.get(&i).is_some_and(Item::is_busy);
        let placed = owner.is_some_and(|owner| {
            available.contains(&owner) || (fixed && stays(job, owner, &available))
        });
        if can_assign && !busy && !placed {
            conditions.push((L1, Some(Slot::first(i)), "belongs to no available instance"));
        }
    }
    for (i, item) in &job.items {
        let surplus = *i >= config.total;
        let takes_over = config.is_failover_on() && !surplus;
        for (number, slot) in item.slots() {
            let place = Some(Slot { item: *i, number });
            let unfinished = unfinished(slot, takes_over, &is_closed);
            // An orphaned run waits for a permit as any other run does.
            let unfinished = unfinished.filter(|text| *text != ORPHAN || !job.is_full());
            conditions.extend(unfinished.map(|text| (L2, place, text)));
            conditions.extend(stale_mark(slot).map(|text| (L7, place, text)));
        }
        let first = Some(Slot::first(*i));
        conditions.extend(stale_item(item, surplus).map(|text| (L7, first, text)));
        let replays = config.monitor && config.misfire && !surplus && !job.is_full();
        if replays && has_unrun_misfires(job, *i, item, &available, names) {
            conditions.push((L7, first, "has noted fires that no instance runs"));
        }
    }
    conditions
}

/// Returns true if the items of an unavailable owner stay with it under static sharding.
///
/// The owner is registered, or an instance may come back under its stable name.
fn stays(job: &Job, owner: Name, available: &[Name]) -> bool {
    let name = job.assignment.as_ref().and_then(|assignment| assignment.names.get(&owner));
    let is_back = |name: &Name| available.iter().any(|id| job.names.get(id) == Some(name));
    job.instances.contains_key(&owner) || name.is_some_and(|name| !is_back(name))
}

fn is_built_in(strategy: &str) -> bool {
    ["", "AVG_ALLOCATION", "ODEVITY", "ROUND_ROBIN", "MINIMAL_MOVEMENT", "PLACEMENT"]
        .contains(&strategy)
        || strategy.starts_with("com.dangdang.")
}

/// Returns true if an instance could take over an orphaned run.
fn is_an_instance_idle(job: &Job, names: &Names) -> bool {
    let busy = |id: &Name| {
        job.slots().any(|(_, slot)| {
            let run = slot.running_ledger().and_then(|ledger| ledger.run);
            run.is_some_and(|run| run.holder == *id)
        })
    };
    let enabled = |id: &Name| job.server_of(*id, names) == Some(Server::Enabled);
    job.available(names).iter().any(|id| enabled(id) && !busy(id))
}

fn unfinished(
    slot: &SlotState,
    takes_over: bool,
    is_closed: &impl Fn(i64) -> bool,
) -> Option<&'static str> {
    match slot.ledger?.state {
        State::Running if slot.claimed_in.is_some_and(is_closed) => {
            Some("has a run whose holder is gone, and no instance has noticed")
        }
        State::Orphan if !takes_over => Some("has an orphaned run that no instance may take over"),
        State::Orphan => Some(ORPHAN),
        State::Running | State::Idle | State::Retired => None,
    }
}

fn stale_mark(slot: &SlotState) -> Option<&'static str> {
    let ledger = slot.ledger?;
    let running = ledger.state == State::Running;
    if slot.running && !running {
        Some("is marked as running and is not")
    } else if slot.failover && !running {
        Some("is marked as taken over and is not")
    } else if slot.queued && ledger.state != State::Orphan {
        Some("is in the failover queue without an orphaned run")
    } else {
        None
    }
}

fn stale_item(item: &Item, surplus: bool) -> Option<&'static str> {
    let ledger = item.first.ledger?;
    if item.misfire && ledger.misfire.is_none() {
        Some("is marked as misfired and is not")
    } else if surplus && !item.is_busy() && (item.owner.is_some() || !item.is_retired()) {
        Some("is beyond the number of items and was not retired")
    } else {
        None
    }
}

/// Returns true if fires are noted and the owner could run them.
fn has_unrun_misfires(job: &Job, i: u32, item: &Item, available: &[Name], names: &Names) -> bool {
    let noted = item.first.ledger.is_some_and(|l| {
        l.state != State::Retired && l.misfire.is_some() && !l.disabled && !item.disabled
    });
    // A mark of a run is stale by itself.
    let most = job.config().map_or(1, |config| config.slots);
    let mut slots = item.slots().take_while(|(number, _)| (*number as usize) < most);
    let is_idle = |slot: &SlotState| slot.ledger.is_some_and(|l| l.state == State::Idle);
    let may_begin = item.runs() < most && slots.any(|(_, slot)| is_idle(slot));
    let able = item.owner.is_some_and(|owner| {
        available.contains(&owner) && job.server_of(owner, names) == Some(Server::Enabled)
    });
    noted && may_begin && able && job.pending(i).is_none()
}
