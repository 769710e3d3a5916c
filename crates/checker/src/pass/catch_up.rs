//! Catch-up: fires that no instance ran in time each get a run, within a window and a maximum
//! number. S3, L0.

use super::Findings;
use super::accounting::Account;
use crate::Property::{L0, S3};
use crate::docs::{CatchUp, Run, Source};
use crate::replay::trace::{Claim, Spot};
use crate::slot::Slot;

impl Account<'_> {
    /// Judges that a catch-up run is for a fire within the window and among the last `max`.
    pub(super) fn within_window(&self, claim: &Claim, findings: &mut Findings) {
        let alone = claim.source == Source::Misfire && claim.span.0 == claim.span.1;
        if !alone {
            return;
        }
        let Some(policy) = self.policy(claim.spot.mt) else { return };
        let (Some(process), epsilon) =
            (self.facts.replay.sessions.process_of(claim.session), self.facts.bounds.epsilon)
        else {
            return;
        };
        // A fire that was noted before the job had a catch-up policy is run, however old it is.
        if self.was_noted(claim.fire) {
            return;
        }
        let before = claim.spot.mt.saturating_sub(epsilon);
        let by = self.facts.wall_of(before);
        let Some(due) = self.targets.last(by).filter(|due| *due > claim.fire) else { return };
        if !self.facts.health.is_calm(process, before, claim.spot.mt) {
            return;
        }
        let within = self.is_within(policy, claim.fire, due);
        findings.expect(within, S3, (self.name, Some(Slot::first(self.item))), &[claim.spot], || {
            let CatchUp { window_seconds, max } = policy;
            format!(
                "fire {} was caught up with although {due} was due; valid are the last {max} in {window_seconds} s",
                claim.fire
            )
        });
    }

    /// Judges that a fire that was passed over lay outside of the window, or that its claimant was
    /// disturbed.
    pub(super) fn caught_up(
        &self,
        spot: Spot,
        session: i64,
        run: Option<Run>,
        fire: i64,
        findings: &mut Findings,
    ) {
        // A disabled item skips the fires that it missed.
        let Some(run) = run else { return };
        let epsilon = self.facts.bounds.epsilon;
        let due = match run.source {
            Source::Normal => run.fire,
            Source::Misfire => {
                let now = self.facts.wall_of(spot.mt.saturating_add(epsilon));
                self.targets.last(now).unwrap_or(run.fire)
            }
            Source::Failover | Source::Manual | Source::Backfill => return,
        };
        let since = self.facts.mt_of(due).saturating_sub(epsilon);
        let before = self.policy(since);
        let Some(policy) = self.policy(spot.mt).filter(|policy| before == Some(*policy)) else {
            return;
        };
        let Some(process) = self.facts.replay.sessions.process_of(session) else { return };
        if !self.facts.health.is_calm(process, since.min(spot.mt), spot.mt) {
            return;
        }
        let owed = self.is_within(policy, fire, due) && self.targets.are_certain(fire, due);
        findings.expect(!owed, L0, (self.name, Some(Slot::first(self.item))), &[spot], || {
            let CatchUp { window_seconds, max } = policy;
            format!(
                "fire {fire} was passed over when {due} was due; the last {max} in {window_seconds} s are caught up with"
            )
        });
    }

    /// Judges the last fire of a schedule that has ended, if no record accounts for it: no instance
    /// that joined within the window could claim it.
    pub(super) fn last_fire(&self, spot: Spot, fire: i64, findings: &mut Findings) {
        let due = self.facts.mt_of(fire);
        let Some(policy) = self.policy(self.facts.end) else { return };
        let config = self.job.configs.iter().rev().find(|from| from.mt <= due);
        let has_ended = config.is_some_and(|from| {
            let same = self.job.configs.last().is_some_and(|last| last.mt == from.mt);
            same && from.schedule.as_ref().is_some_and(|schedule| schedule.has_ended_by(fire))
        });
        if !has_ended {
            return;
        }
        let window = u64::try_from(policy.window_seconds).unwrap_or(0);
        let until = due.saturating_add(window.saturating_mul(1_000_000_000)).min(self.facts.end);
        let able = self.facts.able_joiner(self.job, self.trace, due, until);
        findings.expect(able.is_none(), L0, (self.name, Some(Slot::first(self.item))), &[spot], || {
            format!(
                "fire {fire}, the last one of the schedule, was not caught up with, although {}",
                self.describe(able)
            )
        });
    }

    /// Returns the catch-up policy that was in force at a time.
    fn policy(&self, mt: u64) -> Option<CatchUp> {
        let from = self.job.configs.iter().rev().find(|from| from.mt <= mt)?;
        from.config.as_ref()?.catch_up
    }

    fn is_within(&self, policy: CatchUp, fire: i64, due: i64) -> bool {
        let window = policy.window_seconds.saturating_mul(1_000);
        // The fire itself, and the fires between it and the due one.
        let later = self.targets.between(fire, due).len() + 1;
        fire >= due.saturating_sub(window) && later <= policy.max
    }
}
