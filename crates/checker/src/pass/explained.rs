//! P5: every fire that was not run was noted or reported. S3.

use std::collections::BTreeSet;

use super::Findings;
use super::accounting::{Account, latest};
use super::targets::DATING_MS;
use crate::Property::S3;
use crate::docs::{Config, Ledger, State};
use crate::replay::trace::{Change, ConfigFrom, Spot};

/// The metric of fires that have neither a run nor a note nor a report.
const UNEXPLAINED: &str = "fires unexplained";

/// Last fire that needs nothing more.
#[derive(Clone, Copy)]
struct Settled {
    fire: i64,
    /// When the record said so first.
    at: u64,
    /// The record names no fire: no instance has ever seen one of the job.
    is_first: bool,
}

impl Account<'_> {
    /// Walks through the changes of the record: what it passes over was noted or reported. An explanation may come at any time,
    /// so that this holds during chaos as well.
    ///
    /// A record names two schedules: the one in force when the former fire was settled, and the one in force now. Fires of a
    /// schedule that came and went in between are counted only.
    pub(super) fn explain(&self, findings: &mut Findings) {
        findings.count(UNEXPLAINED, 0);
        // None while the item is not in force.
        let (mut settled, mut seen): (Option<Settled>, Option<i64>) = (None, None);
        for Change { spot, after, .. } in &self.trace.changes {
            let wall = self.facts.wall_of(spot.mt);
            let ledger = after.filter(|ledger| ledger.state != State::Retired);
            let next = ledger.map(|ledger| latest(&ledger));
            if let Some(before) = settled {
                let until = next.unwrap_or(wall.saturating_sub(DATING_MS));
                for fire in self.targets.owed_between(before.fire, until) {
                    self.explained(*spot, before, *fire, findings);
                }
            }
            let Some(next) = next else {
                settled = None;
                continue;
            };
            let is_first = next == i64::MIN;
            let born = wall.saturating_add(DATING_MS);
            settled = match settled {
                None => Some(Settled { fire: next.max(born), at: spot.mt, is_first }),
                Some(_) if seen == Some(next) => settled,
                Some(before) => {
                    Some(Settled { fire: next.max(before.fire), at: spot.mt, is_first })
                }
            };
            seen = Some(next);
        }
    }

    fn explained(&self, spot: Spot, before: Settled, fire: i64, findings: &mut Findings) {
        let due = self.facts.mt_of(fire);
        if !self.is_owed(due) {
            return;
        }
        let is_named = |mt| self.targets.is_one_schedule(due, mt);
        if !is_named(before.at) && (before.is_first || !is_named(spot.mt)) {
            findings.count("fires of schedules that no record names", 1);
            return;
        }
        let holds = self.was_noted_itself(fire) || self.reported.has(fire) || self.is_kept(fire);
        findings.count(UNEXPLAINED, u64::from(!holds));
        let subject = (self.name, Some(self.item));
        findings.expect(holds, S3, subject, &[self.record_at(due), spot], || {
            format!(
                "fire {fire} is unexplained: it was neither run nor noted, no instance reports it as missed or in a gap, and the \
                 record does not keep it for a report"
            )
        });
    }

    /// Returns true if the configuration wants a record of the item's fire, and does not change about that time.
    fn is_owed(&self, due: u64) -> bool {
        let slack = DATING_MS.unsigned_abs() * 1_000_000;
        let (from, until) = (due.saturating_sub(slack), due.saturating_add(slack));
        let first = self.job.configs.partition_point(|config| config.mt <= from).saturating_sub(1);
        let about = self.job.configs[first..].iter().take_while(|config| config.mt <= until);
        let wants = |config: &Config| config.monitor && self.item < config.total;
        let is_wanted = |from: &ConfigFrom| from.config.as_deref().is_some_and(wants);
        self.targets.is_one_schedule(from, until) && about.into_iter().all(is_wanted)
    }

    /// Returns true if the last record keeps the fire in a gap, and at most one claim came after the one that found it: the
    /// instance that found it may have been lost before it reported it.
    fn is_kept(&self, fire: i64) -> bool {
        let has_it = |ledger: &Ledger| ledger.has_in_gap(fire);
        let kept = self.trace.changes.iter().rev().filter_map(|change| change.after.as_ref());
        let tokens: BTreeSet<_> =
            kept.take_while(|ledger| has_it(ledger)).map(|ledger| ledger.token).collect();
        (1..=2).contains(&tokens.len())
    }

    /// Each fire that is noted is the last of the noted ones for a moment.
    fn was_noted_itself(&self, fire: i64) -> bool {
        let is_last = |ledger: &Ledger| ledger.misfire.is_some_and(|noted| noted.last == fire);
        self.trace.changes.iter().any(|change| change.after.as_ref().is_some_and(is_last))
    }
}
