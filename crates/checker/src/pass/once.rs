//! Once-per-cluster callbacks. S13.

use std::collections::BTreeMap;

use super::{Facts, Findings};
use crate::Property::S13;
use crate::docs::{self, Ledger, State};
use crate::history::{Fact, RegOp};
use crate::replay::trace::{Change, JobTrace, Spot};
use crate::slot::Slot;

/// Job, stage and fire of a callback.
type CallId<'a> = (&'a str, String, i64);

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    let won = won(facts);
    let mut seen: BTreeMap<(&str, &str, i64, u64), Spot> = BTreeMap::new();
    for (place, record) in facts.records.iter().enumerate() {
        let Fact::Once { job, fire, stage, token } = &record.fact else { continue };
        let spot = Spot { record: place, mt: record.mt, zxid: None };
        let earlier = seen.insert((job, stage, *fire, *token), spot);
        let evidence: Vec<_> = earlier.into_iter().chain([spot]).collect();
        findings.expect(earlier.is_none(), S13, (job, None), &evidence, || {
            format!("callback {stage} was called twice for fire {fire} under token {token}")
        });
        let Some((_, _, trace)) = facts.jobs().find(|(_, name, _)| name == job) else { continue };
        if stage == "completed" {
            let id = (job.as_str(), stage.clone(), *fire);
            let decided = won.get(&id).copied().unwrap_or(spot.mt);
            let open = unfinished(facts, trace, *fire, decided);
            findings.expect(open.is_none(), S13, (job, open.map(Slot::first)), &[spot], || {
                format!(
                    "callback completed was called for fire {fire}, which this item had not ended"
                )
            });
        }
    }
}

/// Returns the time at which each callback was first won.
///
/// The number of items may change before its code is called, and before another instance repeats a
/// call whose caller was lost.
fn won<'a>(facts: &Facts<'a>) -> BTreeMap<CallId<'a>, u64> {
    let mut won = BTreeMap::new();
    for record in facts.records {
        let Fact::Reg { ops, .. } = &record.fact else { continue };
        for op in ops {
            let (RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. }) = op else {
                continue;
            };
            let job = path.strip_prefix('/').and_then(|path| path.strip_suffix(RECORD));
            let Some((job, calls)) = job.zip(docs::calls(data).ok()) else { continue };
            for (stage, call) in calls {
                won.entry((job, stage, call.fire)).or_insert(record.mt);
            }
        }
    }
    won
}

/// Path of the record of callbacks, below the job.
pub(super) const RECORD: &str = "/coordination/once";

/// Returns an item in force that had not yet begun or ended the fire.
///
/// If the number of items changed at that moment, either number may have been the one in force.
pub(super) fn unfinished(facts: &Facts<'_>, trace: &JobTrace, fire: i64, mt: u64) -> Option<u32> {
    first_open(facts, trace, mt, |ledger| is_open(ledger, fire), |ledger| runs(ledger, fire))
}

/// Returns the first item in force whose record is open, or that has a run in a further slot.
pub(super) fn first_open(
    facts: &Facts<'_>,
    trace: &JobTrace,
    mt: u64,
    is_open: impl Fn(&Ledger) -> bool,
    runs: impl Fn(&Ledger) -> bool,
) -> Option<u32> {
    let now = mt.saturating_add(facts.bounds.clock);
    let first = trace.configs.partition_point(|from| from.mt < mt).saturating_sub(1);
    let until = trace.configs.partition_point(|from| from.mt <= now);
    let meant = (first..until).flat_map(|place| trace.possible_configs(place));
    let totals = meant.filter_map(|from| Some(from.config.as_ref()?.total));
    let open = |total: u32| {
        let at = |changes: &[Change]| {
            changes.iter().rev().find(|change| change.spot.mt <= now).and_then(|it| it.after)
        };
        let of_items = trace.items.range(..total).find_map(|(item, of)| {
            at(&of.changes).is_some_and(|ledger| is_open(&ledger)).then_some(*item)
        });
        let further = trace.further.range(..Slot::first(total)).find_map(|(slot, changes)| {
            at(changes).is_some_and(|ledger| runs(&ledger)).then_some(slot.item)
        });
        of_items.into_iter().chain(further).min()
    };
    totals.map(open).min()?
}

fn is_open(ledger: &Ledger, fire: i64) -> bool {
    let begun = ledger.state == State::Retired || ledger.last >= Some(fire);
    let noted = ledger.misfire.is_some_and(|noted| (noted.first..=noted.last).contains(&fire));
    !begun || runs(ledger, fire) || noted
}

fn runs(ledger: &Ledger, fire: i64) -> bool {
    ledger.run.is_some_and(|run| {
        let (first, last) = run.span();
        (first..=last).contains(&fire)
    })
}
