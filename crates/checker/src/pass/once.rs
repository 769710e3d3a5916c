//! Callbacks that happen once per cluster. S13.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::Property::S13;
use crate::docs::{Ledger, State};
use crate::history::Fact;
use crate::replay::trace::{JobTrace, Spot};

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<(&str, &str, i64, u64), Spot> = BTreeMap::new();
    for (place, record) in facts.records.iter().enumerate() {
        let Fact::Once { job, fire, stage, token } = &record.fact else { continue };
        let spot = Spot { record: place, mt: record.mt, zxid: None };
        let earlier = seen.insert((job, stage, *fire, *token), spot);
        let evidence: Vec<_> = earlier.into_iter().chain([spot]).collect();
        findings.expect(earlier.is_none(), S13, (job, None), &evidence, || {
            format!("{stage} was called twice for fire {fire} under token {token}")
        });
        let Some((_, _, trace)) = facts.jobs().find(|(_, name, _)| name == job) else { continue };
        if stage == "completed" {
            let open = unfinished(facts, trace, *fire, spot.mt);
            findings.expect(open.is_none(), S13, (job, open), &[spot], || {
                format!("completed was called for fire {fire}, which this item had not ended")
            });
        }
    }
}

/// Returns an item in force that had yet to begin or to end the fire.
fn unfinished(facts: &Facts<'_>, trace: &JobTrace, fire: i64, mt: u64) -> Option<u32> {
    let now = mt.saturating_add(facts.bounds.clock);
    let config = trace.configs.iter().rev().find(|from| from.mt <= now)?.config.as_ref()?;
    let open = trace.items.range(..config.total).find(|(_, item)| {
        let record = item.changes.iter().rev().find(|change| change.spot.mt <= now);
        record.and_then(|change| change.after).is_some_and(|ledger| is_open(&ledger, fire))
    });
    open.map(|(item, _)| *item)
}

fn is_open(ledger: &Ledger, fire: i64) -> bool {
    let begun = ledger.state == State::Retired || ledger.last >= Some(fire);
    let runs = ledger.run.is_some_and(|run| {
        let (first, last) = run.span();
        (first..=last).contains(&fire)
    });
    let noted = ledger.misfire.is_some_and(|noted| (noted.first..=noted.last).contains(&fire));
    !begun || runs || noted
}
