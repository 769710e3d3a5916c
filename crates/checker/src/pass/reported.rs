//! Reports of instances about fires that were not run.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Fact, Record};

/// Fires of one item that instances reported as not run.
#[derive(Debug, Default)]
pub(super) struct Reported {
    missed: BTreeSet<i64>,
    /// First fire, exclusive end, and true if the instance is certain about all fires in between.
    gaps: Vec<(i64, i64, bool)>,
}

impl Reported {
    /// Returns the reports about each item of a job.
    pub(super) fn of(records: &[Record], wanted: &str) -> BTreeMap<u32, Self> {
        let mut items: BTreeMap<u32, Self> = BTreeMap::new();
        for record in records {
            match &record.fact {
                Fact::Missed { job, item: Some(item), fire, .. } if job == wanted => {
                    items.entry(*item).or_default().missed.insert(*fire);
                }
                Fact::Gap { job, item, first, until, count } if job == wanted => {
                    let gap = (*first, *until, count.is_some());
                    items.entry(*item).or_default().gaps.push(gap);
                }
                _ => {}
            }
        }
        items
    }

    pub(super) fn has(&self, fire: i64) -> bool {
        self.missed.contains(&fire)
            || self.gaps.iter().any(|(first, until, _)| (*first..*until).contains(&fire))
    }

    /// Returns a reported gap that certainly contains a fire.
    pub(super) fn certain_gap_with(&self, fire: i64) -> Option<(i64, i64)> {
        let has_it = |(first, until, certain): &&(i64, i64, bool)| {
            *certain && (*first..*until).contains(&fire)
        };
        self.gaps.iter().find(has_it).map(|(first, until, _)| (*first, *until))
    }
}
