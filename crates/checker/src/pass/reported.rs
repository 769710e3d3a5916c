//! What instances have reported about fires that were not run.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Fact, Record};

/// The fires of one item that instances have reported as not run.
#[derive(Debug, Default)]
pub(super) struct Reported {
    missed: BTreeSet<i64>,
    /// From the first to before the last.
    gaps: Vec<(i64, i64)>,
}

impl Reported {
    /// Returns what was reported of each item of a job.
    pub(super) fn of(records: &[Record], wanted: &str) -> BTreeMap<u32, Self> {
        let mut items: BTreeMap<u32, Self> = BTreeMap::new();
        for record in records {
            match &record.fact {
                Fact::Missed { job, item: Some(item), fire, .. } if job == wanted => {
                    items.entry(*item).or_default().missed.insert(*fire);
                }
                Fact::Gap { job, item, first, until } if job == wanted => {
                    items.entry(*item).or_default().gaps.push((*first, *until));
                }
                _ => {}
            }
        }
        items
    }

    pub(super) fn has(&self, fire: i64) -> bool {
        self.missed.contains(&fire)
            || self.gaps.iter().any(|(first, until)| (*first..*until).contains(&fire))
    }
}
