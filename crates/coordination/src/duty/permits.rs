//! Permits: places of runs among all runs of the job at the same time, on all instances.
//!
//! A permit is a numbered ephemeral node. The transaction of a claim creates it, so that two runs
//! never have the same one, and the release deletes it. If the session of the holder is lost, the
//! registry deletes it.

use std::collections::BTreeSet;

use sharding::stable_hash;

use super::Context;
use crate::Ledger;

/// The permits that a plan can still take, by the view.
pub(crate) struct Permits {
    /// `None` if the job does not limit its runs.
    limit: Option<u32>,
    /// Number of permits that are free.
    left: u32,
    taken: BTreeSet<u32>,
    /// The next number to look at.
    next: u32,
}

impl Permits {
    pub(crate) fn of(cx: &Context<'_>) -> Self {
        let limit = cx.view.config().and_then(|config| config.cluster_concurrency);
        let shown = cx.view.permits().map(|(number, _)| number);
        let own = cx.local.runs.iter().filter_map(|(_, run)| run.permit);
        Self::beside(cx, limit, shown.chain(own))
    }

    /// Returns the permits that are free beside those that are taken.
    pub(super) fn beside(
        cx: &Context<'_>,
        limit: Option<u32>,
        taken: impl Iterator<Item = u32>,
    ) -> Self {
        let Some(limit) = limit else {
            return Self { limit, left: 0, taken: BTreeSet::new(), next: 0 };
        };
        let taken: BTreeSet<u32> = taken.collect();
        // After the limit was lowered, permits beyond it count until their runs have ended.
        let held = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        // Instances begin at different numbers, so that their claims seldom conflict.
        let start = stable_hash([cx.me.as_str()]).checked_rem(u64::from(limit));
        let next = start.and_then(|start| u32::try_from(start).ok()).unwrap_or(0);
        Self { limit: Some(limit), left: limit.saturating_sub(held), taken, next }
    }

    pub(crate) fn are_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns the record of a run that begins, with a permit if the run needs one. `None` if no
    /// permit is free: the run waits.
    pub(crate) fn grant(&mut self, begun: Ledger) -> Option<Ledger> {
        let Some(limit) = self.limit else { return Some(begun) };
        self.left = self.left.checked_sub(1)?;
        Some(begun.with_permit(self.next_free(limit)))
    }

    /// Returns the number of permits that are free; `None` without a limit.
    pub(super) fn left(&self) -> Option<u32> {
        self.limit.map(|_| self.left)
    }

    /// Takes the next free number. At least one number below the limit must be free.
    pub(super) fn next_free(&mut self, limit: u32) -> u32 {
        while self.taken.contains(&self.next) {
            self.advance(limit);
        }
        let permit = self.next;
        self.advance(limit);
        permit
    }

    fn advance(&mut self, limit: u32) {
        self.next = if self.next + 1 < limit { self.next + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, item, running_by};
    use crate::wire::NodeKind;
    use crate::{Duty, JobConfig, Ledger, Outcome};

    fn limited(scene: Scene, max: u32) -> Scene {
        scene.configure(|config: &mut JobConfig| config.cluster_concurrency = Some(max))
    }

    fn claimed(items: &[(u32, u32)]) -> String {
        let steps = items.iter().map(|(item, permit)| {
            format!(
                "\n  set ledger/{item}: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/{item}/running: 10.0.0.1@-@1\n  create coordination/permits/{permit}: {item} 10.0.0.1@-@1"
            )
        });
        format!("claim: fire 200 is due{}", steps.collect::<String>())
    }

    #[test]
    fn claims_take_free_permits_and_the_other_items_wait() {
        let due = |max| limited(Scene::cluster(3, 1), max).due(200);
        let taken = |scene: Scene, n| scene.marked(&NodeKind::Permit(n));
        let two = claimed(&[(0, 0), (1, 1)]);
        let (rest, first) = (claimed(&[(0, 1)]), claimed(&[(0, 0)]));
        let rows = vec![
            ("permits for two of three items", due(2), &*two),
            ("one of two permits is taken", taken(due(2), 0), &*rest),
            ("all permits are taken", taken(taken(due(2), 0), 1), "nothing"),
            ("limit was lowered below the permits in use", taken(taken(due(2), 4), 5), "nothing"),
            ("limit was lowered, and one run has ended", taken(due(2), 4), &*first),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn longest_waiting_item_gets_the_next_permit() {
        let behind = Ledger::new(Some(crate::FireTime(50)));
        let scene = limited(Scene::cluster(3, 1), 1).ledger(2, behind).due(200);
        let expected = claimed(&[(2, 0)]);
        assert_eq!(scene.wants(Duty::Claim), expected);
    }

    #[test]
    fn takeover_needs_a_permit() {
        let orphan = running_by(2).orphan().unwrap();
        let lost = |max| limited(Scene::cluster(1, 1), max).ledger(0, orphan.clone());
        let taken_over = "takeover: orphaned runs wait\n  set ledger/0: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  create sharding/0/failover: 10.0.0.1@-@1\n  create coordination/permits/0: 0 10.0.0.1@-@1";
        let rows = vec![
            ("a permit is free", lost(1), taken_over),
            ("no permit is free", lost(1).marked(&NodeKind::Permit(0)), "nothing"),
        ];
        check(Duty::Takeover, rows);
    }

    #[test]
    fn end_of_run_returns_its_permit() {
        let holds = |outcome| {
            let ledger = running_by(1).with_permit(0);
            let scene = limited(Scene::cluster(1, 1), 2).ledger(0, ledger.clone());
            let scene = scene.marked_in_session(&NodeKind::Running(item(0)));
            let scene = scene.marked_in_session(&NodeKind::Permit(0));
            scene.run_here(0, Some(outcome)).local(|local| {
                local.runs.change(item(0), |run| run.permit = Some(0));
            })
        };
        let done = "release: runs have ended\n  set ledger/0: idle, last succeeded\n  delete sharding/0/running\n  delete coordination/permits/0";
        let orphaned = "release: runs have ended\n  set ledger/0: orphan NORMAL for 200 by 10.0.0.1@-@1, token 1\n  delete sharding/0/running\n  delete coordination/permits/0\n  create leader/failover/items/0";
        let rows = vec![
            ("run succeeded", holds(Outcome::Succeeded), done),
            ("run was cut short", holds(Outcome::Interrupted), orphaned),
        ];
        check(Duty::Release, rows);
    }
}
