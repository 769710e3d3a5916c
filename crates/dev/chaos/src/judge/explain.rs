//! Explanations of fires that did not run.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use crate::evidence::{Evidence, JobFacts};

/// Kinds of events that explain a fire of an item.
const EXPLAINING_EVENTS: [&str; 2] = ["missed", "misfire_noted"];
/// Kind of event and outcome of a run whose instance was lost. It explains a fire only if no
/// instance has to take the run over.
const ORPHANED: &str = "orphaned";
/// Kinds of events about an item that only its owner writes.
const OWNERS_EVENTS: [&str; 3] = ["missed", "misfire_noted", "gap"];
/// Outcomes that explain nothing. A claim alone is no explanation: if its run was lost, another
/// instance has to run or record it.
const OPEN_OUTCOMES: [&str; 2] = ["running", "unknown"];

/// Explanation of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explanation {
    Ran,
    Recorded,
}

/// A job and its item.
type Item<'a> = (&'a str, u32);

/// All records, indexed for the lookup of explanations.
#[derive(Debug, Default)]
pub(super) struct Records<'a> {
    ran: BTreeSet<(Item<'a>, i64)>,
    recorded: BTreeSet<(Item<'a>, i64)>,
    orphaned: BTreeSet<(Item<'a>, i64)>,
    /// First fire and exclusive end.
    gaps: BTreeMap<Item<'a>, Vec<(i64, i64)>>,
    /// Instances that missed a fire with all of their items.
    missed_by: BTreeMap<(&'a str, i64), Vec<&'a str>>,
    /// Observed owners of each item, by time.
    owners: BTreeMap<Item<'a>, BTreeMap<i64, &'a str>>,
}

impl<'a> Records<'a> {
    pub(super) fn new(evidence: &'a Evidence, runs: &'a [Run]) -> Self {
        let mut records = Self::default();
        for run in runs {
            let item = (run.job.as_str(), run.item);
            records.ran.insert((item, run.fire_ms));
            // A takeover proves nothing about the owner: any instance may take a run over.
            if run.source != "FAILOVER" {
                records.owners.entry(item).or_default().insert(run.began_ms, &run.instance);
            }
        }
        for row in &evidence.rows {
            let item = (row.job.as_str(), row.item);
            if row.outcome == ORPHANED {
                records.orphaned.insert((item, row.fire_ms));
            } else if !OPEN_OUTCOMES.contains(&row.outcome.as_str()) {
                records.recorded.insert((item, row.fire_ms));
            }
            if let Some(until) = row.gap_until_ms {
                records.gaps.entry(item).or_default().push((row.fire_ms, until));
            }
            if let (Some(began_ms), Some(instance)) = (row.began_ms, &row.instance)
                && row.source.as_deref() != Some("FAILOVER")
            {
                let owners = records.owners.entry(item).or_default();
                owners.entry(began_ms).or_insert(instance);
            }
        }
        for event in &evidence.events {
            let Some(fire_ms) = event.fire_ms else { continue };
            if let (Some(item), Some(instance)) = (event.item, &event.instance)
                && OWNERS_EVENTS.contains(&event.kind.as_str())
            {
                let owners = records.owners.entry((&event.job, item)).or_default();
                owners.entry(event.at_ms).or_insert(instance);
            }
            match (event.item, &event.instance) {
                (Some(item), _) if EXPLAINING_EVENTS.contains(&event.kind.as_str()) => {
                    records.recorded.insert(((&event.job, item), fire_ms));
                }
                (Some(item), _) if event.kind == ORPHANED => {
                    records.orphaned.insert(((&event.job, item), fire_ms));
                }
                (None, Some(instance)) if event.kind == "missed" => {
                    records.missed_by.entry((&event.job, fire_ms)).or_default().push(instance);
                }
                (Some(_) | None, _) => {}
            }
        }
        records
    }

    pub(super) fn explain(
        &self,
        job: &'a JobFacts,
        item: u32,
        fire_ms: i64,
    ) -> Option<Explanation> {
        let key = ((job.name.as_str(), item), fire_ms);
        if self.ran.contains(&key) {
            return Some(Explanation::Ran);
        }
        let is_recorded = self.recorded.contains(&key)
            || (self.orphaned.contains(&key) && !is_taken_over(job, item, fire_ms))
            || self.is_in_gap(key.0, fire_ms)
            || self.is_missed_by_owner(key.0, fire_ms);
        is_recorded.then_some(Explanation::Recorded)
    }

    fn is_in_gap(&self, item: Item<'a>, fire_ms: i64) -> bool {
        let mut gaps = self.gaps.get(&item).into_iter().flatten();
        gaps.any(|(first, until)| (*first..*until).contains(&fire_ms))
    }

    /// Returns true if the owner of the item missed the fire with all of its items.
    ///
    /// Histories do not contain owners. The owner is taken to be the server that ran or reported on
    /// the item last before the fire, or first after it.
    fn is_missed_by_owner(&self, item: Item<'a>, fire_ms: i64) -> bool {
        let Some(missed_by) = self.missed_by.get(&(item.0, fire_ms)) else { return false };
        let Some(owners) = self.owners.get(&item) else { return false };
        let before = owners.range(..fire_ms).next_back();
        let after = owners.range(fire_ms..).next();
        let owners = [before, after].into_iter().flatten().map(|(_, owner)| server(owner));
        owners.into_iter().any(|owner| missed_by.iter().any(|by| server(by) == owner))
    }
}

/// Returns true if an instance has to take over an orphaned run of the fire.
///
/// A run of an item that the job does not have any more is abandoned.
fn is_taken_over(job: &JobFacts, item: u32, fire_ms: i64) -> bool {
    let mut later = job.configs.iter().filter(|config| config.settled_ms > fire_ms);
    job.failover && later.all(|config| config.total > item)
}

/// Returns the server IP of an instance.
pub(super) fn server(instance: &str) -> &str {
    instance.split("@-@").next().unwrap_or(instance)
}
