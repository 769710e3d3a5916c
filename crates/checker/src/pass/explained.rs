//! P5: every fire that was not run was noted or reported. S3.

use super::Findings;
use super::accounting::{Account, latest};
use super::targets::DATING_MS;
use crate::Property::S3;
use crate::docs::{Ledger, State};
use crate::replay::trace::{Change, Spot};

/// The metric of fires that have neither a run nor a note nor a report.
const UNEXPLAINED: &str = "fires unexplained";

/// The last fire that needs nothing more.
#[derive(Clone, Copy)]
struct Settled {
    fire: i64,
    /// When the record said so first.
    at: u64,
    /// The record names no fire: no instance has ever seen one of the job.
    is_first: bool,
}

impl Account<'_> {
    /// Walks through the changes of the record: what it passes over was noted or reported. Nothing here depends on how long
    /// anything takes, so that it holds during chaos as well.
    ///
    /// The record names two schedules: the one in force when the former fire was settled, and the one in force now. A schedule
    /// that came and went in between is named nowhere, and its fires are only counted.
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
        let last = self.trace.changes.last().and_then(|change| change.after);
        let is_kept = last.is_some_and(|ledger| ledger.has_in_gap(fire));
        let holds = is_kept || self.was_noted_itself(fire) || self.reported.has(fire);
        findings.count(UNEXPLAINED, u64::from(!holds));
        let subject = (self.name, Some(self.item));
        findings.expect(holds, S3, subject, &[self.record_at(due), spot], || {
            format!(
                "fire {fire} is unexplained: it was neither run nor noted, no instance reports it as missed or in a gap, and the \
                 record does not keep it for a report"
            )
        });
    }

    /// Returns true if the configuration wanted a record of the item's fire, give or take how far instances may disagree about the
    /// time of a change.
    fn is_owed(&self, due: u64) -> bool {
        let slack = DATING_MS.unsigned_abs() * 1_000_000;
        let (from, until) = (due.saturating_sub(slack), due.saturating_add(slack));
        let first = self.job.configs.partition_point(|config| config.mt <= from).saturating_sub(1);
        let meant = self.job.configs[first..].iter().take_while(|config| config.mt <= until);
        let wants = |config: &crate::docs::Config| config.monitor && self.item < config.total;
        meant.into_iter().all(|from| from.config.as_ref().is_some_and(|config| wants(config)))
    }

    /// Each fire that is noted is the last of the noted ones for a moment.
    fn was_noted_itself(&self, fire: i64) -> bool {
        let is_last = |ledger: &Ledger| ledger.misfire.is_some_and(|noted| noted.last == fire);
        self.trace.changes.iter().any(|change| change.after.as_ref().is_some_and(is_last))
    }
}
