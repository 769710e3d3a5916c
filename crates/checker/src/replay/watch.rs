//! What must come to pass once faults have healed: each thing that is not yet as it should be has a clock. L1, L2, L3,
//! L7, and S9 in the long run.

use std::collections::BTreeMap;

use crate::Property::{self, L1, L2, L3, L7, S9};
use crate::docs::State;
use crate::names::{Name, Names};
use crate::options::Bounds;
use crate::replay::Replay;
use crate::replay::job::{Item, Job, Server};
use crate::replay::nodes::JobIndex;
use crate::violation::Subject;

/// Something that should not stay as it is. The text completes "item 3 …" or "the job …".
type Wait = (Property, Option<u32>, &'static str);

/// Since when, and by which record.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// On the clock that goes with the wait: orphans wait while somebody is idle, everything else all the time.
    at: u64,
    record: usize,
}

/// How long somebody was idle, in all.
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

const ORPHAN: &str = "waits to be taken over while somebody is idle";

#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// From when on promises about progress count.
    from: Option<u64>,
    waits: BTreeMap<(JobIndex, Wait), Since>,
    idle: BTreeMap<JobIndex, IdleClock>,
}

impl Watch {
    pub(crate) fn healed(&mut self, mt: u64) {
        self.from = Some(mt);
    }

    /// Another fault: everything has time anew.
    pub(crate) fn disturbed(&mut self, mt: u64) {
        if self.from.is_some() {
            self.from = Some(mt);
            self.waits.clear();
        }
    }
}

impl Replay {
    /// Looks at what a job waits for, after something changed.
    pub(super) fn look(&mut self, job: JobIndex) {
        if self.watch.from.is_none() {
            return;
        }
        let now = waits(&self.jobs[job], &self.names, |sid| self.sessions.is_closed(sid));
        let idle = is_anybody_idle(&self.jobs[job], &self.names);
        self.watch.idle.entry(job).or_default().set(self.spot.mt, idle);
        let over: Vec<_> = self
            .watch
            .waits
            .iter()
            .filter(|((of, wait), _)| *of == job && !now.contains(wait))
            .map(|(key, since)| (*key, *since))
            .collect();
        for (key, since) in over {
            self.watch.waits.remove(&key);
            self.judge_wait(key, since);
        }
        for wait in now {
            let since = Since { at: self.clock_of((job, wait)), record: self.spot.record };
            self.watch.waits.entry((job, wait)).or_insert(since);
        }
    }

    /// Returns what the clock shows that goes with a wait.
    fn clock_of(&self, (job, (_, _, what)): (JobIndex, Wait)) -> u64 {
        let mt = self.spot.mt;
        let idle = || self.watch.idle.get(&job).map_or(0, |clock| clock.at(mt));
        if what == ORPHAN { idle() } else { mt }
    }

    /// Judges what is still waited for at the end.
    pub(super) fn end(&mut self) {
        let waits: Vec<_> = self.watch.waits.iter().map(|(key, since)| (*key, *since)).collect();
        if self.watch.from.is_some() {
            [L1, L2, L3, L7, S9].into_iter().for_each(|property| self.tally.judged(property));
        }
        self.watch.waits.clear();
        waits.into_iter().for_each(|(key, since)| self.judge_wait(key, since));
    }

    fn judge_wait(&mut self, (job, wait): (JobIndex, Wait), since: Since) {
        let (property, item, what) = wait;
        self.tally.judged(property);
        let waited = self.clock_of((job, wait)).saturating_sub(since.at);
        let bound = bound(property, self.bounds);
        if waited > bound {
            let subject = Subject { job: self.nodes.job_name(job).to_owned(), item };
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

/// Returns what should not stay as it is.
fn waits(job: &Job, names: &Names, is_closed: impl Fn(i64) -> bool) -> Vec<Wait> {
    let available = job.available(names);
    let Some(config) = job.config().filter(|_| !available.is_empty()) else { return Vec::new() };
    let mut waits = Vec::new();
    if job.leader.is_none_or(|leader| !available.contains(&leader)) {
        waits.push((L3, None, "nobody available leads"));
    }
    // Under static sharding nobody takes notice of who comes.
    let fixed = job.is_static();
    let requested = job.request.and_then(|version| u32::try_from(version).ok());
    let fresh = job.assignment.as_ref().is_some_and(|assignment| {
        (fixed || assignment.members == available)
            && assignment.total == config.total
            && assignment.strategy == config.strategy
            && (fixed || requested.is_none_or(|request| assignment.handled >= request))
    });
    // A strategy that nobody knows leaves the former assignment in place, and so does what cannot be read.
    let used = job.assignment.as_ref().is_none_or(|a| a.strategy == config.strategy);
    let can_assign = job.is_readable() && (used || is_built_in(&config.strategy));
    if !fresh && can_assign {
        waits.push((S9, None, "the assignment is not what would be made now"));
    }
    if job.draining.iter().any(|id| !job.instances.contains_key(id)) {
        waits.push((L7, None, "the mark of somebody who has left stays"));
    }
    for i in 0..config.total {
        let owner = job.items.get(&i).and_then(|item| item.owner);
        let busy = job.items.get(&i).is_some_and(Item::is_busy);
        let placed = owner.is_some_and(|owner| {
            available.contains(&owner) || (fixed && stays(job, owner, &available))
        });
        if can_assign && !busy && !placed {
            waits.push((L1, Some(i), "belongs to nobody available"));
        }
    }
    for (i, item) in &job.items {
        let surplus = *i >= config.total;
        let takes_over = config.fails_over() && !surplus;
        waits.extend(unfinished(item, takes_over, &is_closed).map(|text| (L2, Some(*i), text)));
        waits.extend(litter(item, surplus).map(|text| (L7, Some(*i), text)));
        let replays = config.monitor && config.misfire && !surplus;
        if replays && is_forgotten(job, *i, item, &available, names) {
            waits.push((L7, Some(*i), "has noted fires that nobody runs"));
        }
    }
    waits
}

/// Returns true if the items of somebody who is not available stay where they are: it is there, or somebody may come
/// back under its name.
fn stays(job: &Job, owner: Name, available: &[Name]) -> bool {
    let name = job.assignment.as_ref().and_then(|assignment| assignment.names.get(&owner));
    let is_back = |name: &Name| available.iter().any(|id| job.names.get(id) == Some(name));
    job.instances.contains_key(&owner) || name.is_some_and(|name| !is_back(name))
}

fn is_built_in(strategy: &str) -> bool {
    ["", "AVG_ALLOCATION", "ODEVITY", "ROUND_ROBIN", "MINIMAL_MOVEMENT"].contains(&strategy)
        || strategy.starts_with("com.dangdang.")
}

/// Returns true if somebody could take an orphan over.
fn is_anybody_idle(job: &Job, names: &Names) -> bool {
    let busy = |id: &Name| {
        job.items.values().any(|item| {
            item.ledger.is_some_and(|ledger| {
                ledger.state == State::Running && ledger.run.is_some_and(|run| run.holder == *id)
            })
        })
    };
    let enabled = |id: &Name| job.server_of(*id, names) == Some(Server::Enabled);
    job.available(names).iter().any(|id| enabled(id) && !busy(id))
}

fn unfinished(
    item: &Item,
    takes_over: bool,
    is_closed: &impl Fn(i64) -> bool,
) -> Option<&'static str> {
    match item.ledger?.state {
        State::Running if item.claimed_in.is_some_and(is_closed) => {
            Some("has a run whose holder is gone, and nobody noticed")
        }
        State::Orphan if !takes_over => Some("has an orphan that nobody will take over"),
        State::Orphan => Some(ORPHAN),
        State::Running | State::Idle | State::Retired => None,
    }
}

fn litter(item: &Item, surplus: bool) -> Option<&'static str> {
    let ledger = item.ledger?;
    let running = ledger.state == State::Running;
    if item.running && !running {
        Some("is shown as running and is not")
    } else if item.failover && !running {
        Some("is shown as taken over and is not")
    } else if item.queued && ledger.state != State::Orphan {
        Some("waits in the failover queue for nothing")
    } else if item.misfire && ledger.misfire.is_none() {
        Some("is shown as misfired and is not")
    } else if surplus && !item.is_busy() && (item.owner.is_some() || !item.is_retired()) {
        Some("is beyond the number of items and was not taken out")
    } else {
        None
    }
}

/// Returns true if fires were noted, and the owner could run them.
fn is_forgotten(job: &Job, i: u32, item: &Item, available: &[Name], names: &Names) -> bool {
    let idle = item.ledger.is_some_and(|l| {
        l.state == State::Idle && l.misfire.is_some() && !l.disabled && !item.disabled
    });
    let able = item.owner.is_some_and(|owner| {
        available.contains(&owner) && job.server_of(owner, names) == Some(Server::Enabled)
    });
    idle && able && job.pending(i).is_none()
}
