//! P5: each fire of each item in force is accounted for once, and each missed fire has a cause. S3,
//! L0, L5.

use super::justify::AbleOwner;
use super::reported::Reported;
use super::targets::Targets;
use super::{Facts, Findings};
use crate::Property::{L0, L5, S3};
use crate::docs::{Ledger, Outcome, Source, State};
use crate::jitter::delay_ms;
use crate::replay::trace::{Change, Claim, ItemTrace, JobTrace, Spot};
use crate::slot::Slot;

/// One item of one job, with the data to judge it by.
pub(super) struct Account<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) name: &'a str,
    pub(super) job: &'a JobTrace,
    pub(super) item: u32,
    pub(super) trace: &'a ItemTrace,
    pub(super) targets: &'a Targets,
    pub(super) reported: &'a Reported,
}

pub(super) fn pass(facts: &Facts<'_>, findings: &mut Findings) {
    for (index, name, job) in facts.jobs() {
        let configs = || job.configs.iter().filter_map(|from| from.config.as_ref());
        if configs().any(|config| !config.monitor) {
            findings.notes.push(format!("S1, S3, S5 of {name} while the job is not monitored"));
        }
        if job.configs.iter().all(|from| from.schedule.is_none()) {
            findings.notes.push(format!("the fires of {name}: the job has no schedule"));
            continue;
        }
        let targets = Targets::of(facts, name, job);
        findings.problems.extend(targets.problem.clone());
        let (reported, nothing) = (Reported::of(facts.records, name), Reported::default());
        let reported_of = |item: &u32| reported.get(item).unwrap_or(&nothing);
        for (item, trace) in &job.items {
            let (reported, item) = (reported_of(item), *item);
            let account = Account { facts, name, job, item, trace, targets: &targets, reported };
            account.judge_changes(findings);
            account.judge_explanations(findings);
        }
        let claims = facts.trace().claims.iter().filter(|claim| claim.job == index);
        for claim in claims {
            let item = claim.slot.item;
            let Some(trace) = job.items.get(&item) else { continue };
            let reported = reported_of(&item);
            let account = Account { facts, name, job, item, trace, targets: &targets, reported };
            account.claim(claim, findings);
        }
    }
}

impl Account<'_> {
    /// Judges the changes of the record. Where the last fire advances, the fires in between were
    /// missed.
    fn judge_changes(&self, findings: &mut Findings) {
        // First fire that the item must account for; none while the item is not in force.
        let mut owed_from: Option<i64> = None;
        let mut last = Spot::default();
        for change in &self.trace.changes {
            let Change { spot, session, before, after, .. } = change;
            let in_force = |ledger: &Ledger| ledger.state != State::Retired;
            let Some(ledger) = after.filter(in_force) else {
                owed_from = None;
                continue;
            };
            let begins = before.filter(in_force).is_none();
            if begins {
                let created = self.facts.wall_of(spot.mt.saturating_add(self.facts.bounds.epsilon));
                owed_from = Some(ledger.last.unwrap_or(i64::MIN).max(created));
            } else if let (Some(from), Some(to)) = (owed_from, ledger.last)
                && Some(to) > before.and_then(|before| before.last)
            {
                self.advance(*change, &ledger, (from, to), findings);
                owed_from = Some(from.max(to));
            }
            let seen = |ledger: &Option<Ledger>| ledger.map(|ledger| latest(&ledger));
            if !begins && seen(after) > seen(before) {
                self.in_time(*spot, *session, latest(&ledger), findings);
            }
            last = *spot;
        }
        if let Some(from) = owed_from {
            self.judge_rest(last, from, findings);
        }
    }

    fn advance(
        &self,
        change: Change,
        ledger: &Ledger,
        (from, to): (i64, i64),
        findings: &mut Findings,
    ) {
        findings.tally.judged(S3);
        let (spot, run) = (change.spot, change.run());
        let how = match (run, ledger.outcome) {
            (Some(_), _) => "fires claimed",
            (None, Some(Outcome::Disabled)) => "fires of disabled items",
            (None, _) => "fires passed over",
        };
        findings.count(how, 1);
        let span = run.map_or((to, to), |run| run.span());
        for fire in self.targets.between(from, to) {
            if (span.0..=span.1).contains(fire) || is_noted(ledger, *fire) || self.was_noted(*fire)
            {
                findings.count("fires merged into a later run", 1);
                continue;
            }
            findings.count("fires missed", 1);
            // A new record names the first fire that it owes, by the schedule of its creation.
            let is_first = change.before.is_some_and(|before| before.last.is_none());
            if !is_first || self.targets.are_certain(from, *fire) {
                self.caught_up(spot, change.session, run, *fire, findings);
            }
            self.expect_cause(spot, *fire, "was missed", findings);
        }
    }

    /// Judges the fires after the last one that the record names. They are noted, still due, or no
    /// instance could claim them.
    fn judge_rest(&self, spot: Spot, from: i64, findings: &mut Findings) {
        let ledger = self.trace.changes.last().and_then(|change| change.after);
        for fire in self.targets.between(from, i64::MAX) {
            if ledger.is_some_and(|ledger| is_noted(&ledger, *fire)) {
                continue;
            }
            findings.count("fires open at the end", 1);
            let due = self.begins_by(*fire);
            let able_owner = self.facts.able_owner(self.job, self.trace, due, self.until(*fire));
            let subject = (self.name, Some(Slot::first(self.item)));
            findings.expect(
                able_owner.is_none(),
                S3,
                subject,
                &[spot, self.record_at(due)],
                || {
                    format!(
                        "fire {fire} is not accounted for, although {}",
                        self.describe(able_owner)
                    )
                },
            );
            if able_owner.is_none() {
                self.last_fire(spot, *fire, findings);
            }
            if able_owner.is_some() {
                // The remaining fires are open for the same reason.
                return;
            }
        }
    }

    /// Returns true if the fire was noted at any time. A run can stand for it before the last fire
    /// advances.
    pub(super) fn was_noted(&self, fire: i64) -> bool {
        self.trace.changes.iter().any(|change| change.after.is_some_and(|l| is_noted(&l, fire)))
    }

    /// Judges a fire that was passed over: from then on no instance may claim it. If that happened
    /// before the fire was due, `in_time` judges the instance that passed it over.
    fn expect_cause(&self, spot: Spot, fire: i64, what: &str, findings: &mut Findings) {
        let due = self.begins_by(fire);
        self.judge(spot, fire, (due, self.until(fire).min(spot.mt)), what, findings);
    }

    /// Judges that no instance claims, notes or skips a fire before its time, unless its clock is
    /// wrong.
    fn in_time(&self, spot: Spot, session: i64, fire: i64, findings: &mut Findings) {
        let (due, epsilon) = (self.facts.mt_of(fire), self.facts.bounds.epsilon);
        let Some(early) = due.checked_sub(spot.mt).filter(|early| *early > epsilon) else { return };
        let Some(process) = self.facts.replay.sessions.process_of(session) else { return };
        let from = spot.mt.saturating_sub(epsilon);
        let wrong = self.facts.health.is_calm(process, from, spot.mt);
        findings.expect(!wrong, L0, (self.name, Some(Slot::first(self.item))), &[spot], || {
            format!(
                "fire {fire} was claimed, noted or skipped {} ms before its time",
                early / 1_000_000
            )
        });
    }

    /// Returns the latest start of a fire: its scheduled fire time plus the jitter.
    ///
    /// The jitter is less than the time until the next fire, unless the next fire is uncertain.
    fn begins_by(&self, fire: i64) -> u64 {
        let due = self.facts.mt_of(fire);
        let from = self.job.configs.iter().rev().find(|from| from.mt <= due);
        let bound = from.and_then(|from| from.config.as_ref()?.jitter_ms);
        let Some(bound) = bound.map(u64::from) else { return due };
        let next = self.targets.next(fire).filter(|next| self.targets.are_certain(fire, next + 1));
        let room = next.and_then(|next| u64::try_from(next - fire).ok());
        let delay = delay_ms(self.name, fire, room.unwrap_or(bound).min(bound));
        due.saturating_add(delay.saturating_mul(1_000_000))
    }

    /// Returns the time until which a fire can be claimed: it stays due until the next one.
    fn until(&self, fire: i64) -> u64 {
        let next = self.targets.next(fire).map(|next| self.facts.mt_of(next));
        next.unwrap_or(self.facts.end).min(self.facts.end)
    }

    pub(super) fn describe(&self, able_owner: Option<AbleOwner>) -> String {
        let Some(AbleOwner { owner, from, until }) = able_owner else {
            return "no instance could".to_owned();
        };
        let ms = until.saturating_sub(from) / 1_000_000;
        format!("{} could have claimed it for {ms} ms", self.facts.replay.names.text(owner))
    }

    /// Judges that a claim is for a fire of the schedule, and in time unless there is a cause.
    fn claim(&self, claim: &Claim, findings: &mut Findings) {
        let (due, at) = (self.begins_by(claim.fire), claim.spot.mt);
        match claim.source {
            Source::Manual | Source::Backfill | Source::Failover => return,
            Source::Normal | Source::Misfire => {
                let subject = (self.name, Some(Slot::first(self.item)));
                let known = self.targets.is_known(claim.fire) || self.is_before_the_run(claim.fire);
                findings.expect(known, S3, subject, &[claim.spot], || {
                    format!("fire {} is not a fire of the schedule", claim.fire)
                });
            }
        }
        let gap = self.reported.certain_gap_with(claim.fire);
        let subject = (self.name, Some(Slot::first(self.item)));
        findings.expect(gap.is_none(), S3, subject, &[claim.spot], || {
            format!(
                "fire {} was run, although an instance reported it in the gap {gap:?}",
                claim.fire
            )
        });
        self.within_window(claim, findings);
        let late = at > due.saturating_add(self.facts.bounds.epsilon);
        if late && claim.source == Source::Normal {
            findings.count("fires claimed late", 1);
            self.judge(claim.spot, claim.fire, (due, at), "was claimed late", findings);
        } else {
            findings.tally.judged(L0);
        }
    }

    /// Returns true if the fire came before the history began. Such a fire can be caught up with.
    fn is_before_the_run(&self, fire: i64) -> bool {
        let begin = self.job.configs.first().map_or(0, |from| from.mt);
        fire <= self.facts.wall_of(begin)
    }

    fn judge(
        &self,
        spot: Spot,
        fire: i64,
        (due, until): (u64, u64),
        what: &str,
        findings: &mut Findings,
    ) {
        let able_owner = self.facts.able_owner(self.job, self.trace, due, until);
        let beside = |owner| self.facts.runs_another(owner, self.item, due);
        let property =
            if able_owner.is_some_and(|able_owner| beside(able_owner.owner)) { L5 } else { L0 };
        let subject = (self.name, Some(Slot::first(self.item)));
        findings.expect(
            able_owner.is_none(),
            property,
            subject,
            &[self.record_at(due), spot],
            || format!("fire {fire} {what}, although {}", self.describe(able_owner)),
        );
    }

    /// Returns the first record at or after a time, as evidence of the situation then.
    pub(super) fn record_at(&self, mt: u64) -> Spot {
        let record = self.facts.records.partition_point(|record| record.mt < mt);
        let record = record.min(self.facts.records.len().saturating_sub(1));
        Spot { record, mt, zxid: None }
    }
}

/// Returns the last fire that a record names.
pub(super) fn latest(ledger: &Ledger) -> i64 {
    let noted = ledger.misfire.map_or(i64::MIN, |noted| noted.last);
    ledger.last.unwrap_or(i64::MIN).max(noted)
}

fn is_noted(ledger: &Ledger, fire: i64) -> bool {
    ledger.misfire.is_some_and(|noted| (noted.first..=noted.last).contains(&fire))
}
