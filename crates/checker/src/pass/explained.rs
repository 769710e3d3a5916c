//! P5: each fire that was not run was noted or reported. S3.

use std::collections::BTreeSet;

use super::Findings;
use super::accounting::{Account, latest};
use super::targets::DATING_MS;
use crate::Property::S3;
use crate::docs::{Config, Ledger, Source, State};
use crate::replay::trace::{Change, ConfigFrom, Spot};
use crate::slot::Slot;

/// Metric of fires without a run, a note or a report.
const UNEXPLAINED: &str = "fires unexplained";

/// Last fire that is accounted for.
#[derive(Clone, Copy)]
struct Settled {
    fire: i64,
    /// Time of the first record that named the fire.
    at: u64,
    /// The record names no fire yet: no instance has seen a fire of the job.
    is_first: bool,
}

impl Account<'_> {
    /// Judges the changes of the record: each fire that it passes over was noted or reported.
    ///
    /// A report may come at any time, so that this holds during faults as well.
    /// A record names two schedules: the one in force at the former fire, and the present one.
    /// Fires of a schedule between the two are counted only.
    pub(super) fn judge_explanations(&self, findings: &mut Findings) {
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
            let created = wall.saturating_add(DATING_MS);
            settled = match settled {
                None => Some(Settled { fire: next.max(created), at: spot.mt, is_first }),
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
        let subject = (self.name, Some(Slot::first(self.item)));
        findings.expect(holds, S3, subject, &[self.record_at(due), spot], || {
            format!(
                "fire {fire} is unexplained: it was neither run nor noted, no instance reports it as missed or in a gap, and the \
                 record does not keep it for a report"
            )
        });
    }

    /// Returns true if the configuration wants a record of the fire and does not change around that
    /// time.
    fn is_owed(&self, due: u64) -> bool {
        let slack = DATING_MS.unsigned_abs() * 1_000_000;
        let (from, until) = (due.saturating_sub(slack), due.saturating_add(slack));
        let first = self.job.configs.partition_point(|config| config.mt <= from).saturating_sub(1);
        let about = self.job.configs[first..].iter().take_while(|config| config.mt <= until);
        let wants = |config: &Config| config.monitor && self.item < config.total;
        let is_wanted = |from: &ConfigFrom| from.config.as_deref().is_some_and(wants);
        self.targets.is_one_schedule(from, until) && about.into_iter().all(is_wanted)
    }

    /// Returns true if the last record keeps the fire in a gap, and at most one claim came after
    /// the one that found the gap. Claims whose holder was lost before it could report the gap do
    /// not count: a takeover follows each of them.
    ///
    /// The instance that found the gap may have been lost before it reported it.
    fn is_kept(&self, fire: i64) -> bool {
        let has_it = |ledger: &Option<Ledger>| ledger.is_some_and(|l| l.has_in_gap(fire));
        let changes = self.trace.changes.iter().rev().filter(|change| change.after.is_some());
        let first = Slot::first(self.item);
        let (mut claims, mut taken_over) = (BTreeSet::new(), BTreeSet::new());
        for change in changes.take_while(|change| has_it(&change.after)) {
            let Some(ledger) = change.after else { continue };
            claims.insert((first, ledger.token));
            if ledger.run.is_some_and(|run| run.source == Source::Failover) {
                taken_over.insert((first, ledger.token.saturating_sub(1)));
            }
            // The token of the first slot stands for the change that found the gap.
            claims.extend(change.beside.filter(|_| has_it(&change.before)).map(|it| (it.0, it.1)));
        }
        let further = Slot { number: 1, ..first }..=Slot { number: u32::MAX, ..first };
        for (slot, changes) in self.job.further.range(further) {
            let taken = changes
                .iter()
                .filter_map(|change| change.after)
                .filter(|ledger| ledger.run.is_some_and(|run| run.source == Source::Failover));
            taken_over.extend(taken.map(|ledger| (*slot, ledger.token.saturating_sub(1))));
        }
        !claims.is_empty() && claims.difference(&taken_over).count() <= 2
    }

    /// Returns true if the fire was noted. Each noted fire is for a moment the last one in the
    /// note.
    fn was_noted_itself(&self, fire: i64) -> bool {
        let is_last = |ledger: &Ledger| ledger.misfire.is_some_and(|noted| noted.last == fire);
        self.trace.changes.iter().any(|change| change.after.as_ref().is_some_and(is_last))
    }
}
