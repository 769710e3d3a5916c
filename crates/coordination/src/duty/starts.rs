//! Starts per period: the runs of a job that begin within the period of its start rate.
//!
//! One record has the times of the last starts. The transaction that makes runs legal replaces it
//! under its version, so that two instances never count by the same record.

use super::Context;
use crate::StartRate;
use crate::plan::Step;
use crate::wire::NodeKind;

/// Returns the number of runs that begin with these steps, which mark their items as running.
pub(super) fn begun(steps: &[Step]) -> u32 {
    let begins = |step: &&Step| matches!(step.node, NodeKind::Running(_)) && step.is_create();
    u32::try_from(steps.iter().filter(begins).count()).unwrap_or(u32::MAX)
}

/// The last starts of the job, by the view.
pub(crate) struct Starts {
    /// The start rate, with the number of runs that may begin now. `None` if the job has none.
    left: Option<(StartRate, u32)>,
}

/// Number of runs that a plan can still begin.
pub(crate) struct Left(Option<u32>);

impl Starts {
    pub(crate) fn of(cx: &Context<'_>) -> Self {
        let Some(rate) = cx.view.config().and_then(|config| config.start_rate) else {
            return Self { left: None };
        };
        let counting = cx.view.counting_starts(rate, cx.present_ms());
        // A later version may count in another way, and its record must not be replaced.
        let max = if cx.view.has_newer_starts() { 0 } else { rate.max };
        Self { left: Some((rate, max.saturating_sub(counting.total()))) }
    }

    pub(crate) fn are_limited(&self) -> bool {
        self.left.is_some()
    }

    pub(crate) fn left(&self) -> Left {
        Left(self.left.map(|(_, left)| left))
    }

    /// Returns these steps of a plan, with the step that records the starts among them.
    pub(crate) fn recorded(self, cx: &Context<'_>, mut steps: Vec<Step>) -> Vec<Step> {
        let begun = begun(&steps);
        if let Some((rate, _)) = self.left.filter(|_| begun > 0) {
            let log = cx.view.starts_with(begun, rate, cx.present_ms());
            steps.push(Step::set_starts(cx.view.starts_version(), log));
        }
        steps
    }
}

impl Left {
    /// Returns true if a run may begin, and counts it. Otherwise the run waits.
    pub(crate) fn take(&mut self) -> bool {
        let Some(left) = &mut self.0 else { return true };
        let may_begin = *left > 0;
        *left = left.saturating_sub(1);
        may_begin
    }

    /// Returns true if no further run may begin now.
    pub(crate) fn is_none(&self) -> bool {
        self.0 == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, running_by};
    use super::*;
    use crate::{Duty, JobConfig, Ledger, ManualRequest, StartLog};

    /// The present time of scenes, in milliseconds.
    const NOW: i64 = super::super::scene::NOW_MS;

    fn rated(scene: Scene, max: u32) -> Scene {
        let rate = StartRate { max, period_seconds: 10 };
        scene.configure(move |config: &mut JobConfig| config.start_rate = Some(rate))
    }

    fn begun(scene: Scene, starts: &[(i64, u32)]) -> Scene {
        let log = StartLog { starts: starts.to_vec() };
        scene.with_text(&NodeKind::Starts, &crate::wire::encode_starts(&log))
    }

    fn claimed(items: &[u32], starts: &str) -> String {
        claimed_with("set", items, starts)
    }

    fn claimed_with(act: &str, items: &[u32], starts: &str) -> String {
        let steps = items.iter().map(|item| {
            format!(
                "\n  set ledger/{item}: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/{item}/running: 10.0.0.1@-@1"
            )
        });
        format!(
            "claim: fire 200 is due{}\n  {act} coordination/starts: {starts}",
            steps.collect::<String>()
        )
    }

    #[test]
    fn claims_record_their_starts_and_the_other_items_wait() {
        let due = |max| rated(Scene::cluster(3, 1), max).due(200);
        let first = claimed_with("create", &[0, 1], &format!("{NOW} (2)"));
        let (old, recent) = (NOW - 10_000, NOW - 9_999);
        let rest = claimed(&[0], &format!("{recent} (1), {NOW} (1)"));
        let all = claimed(&[0, 1, 2], &format!("{NOW} (3)"));
        let ahead = claimed(&[0], &format!("{} (2)", NOW + 5));
        let far = NOW + 61_000;
        let beside = claimed(&[0, 1, 2], &format!("{NOW} (3), {far} (3)"));
        let rows = vec![
            ("nothing has begun", due(2), &*first),
            ("one of two starts is recent", begun(due(2), &[(recent, 1)]), &*rest),
            ("the rate is reached", begun(due(2), &[(recent, 2)]), "nothing"),
            ("earlier starts are as old as the period", begun(due(3), &[(old, 3)]), &*all),
            ("the last start is by a faster clock", begun(due(2), &[(NOW + 5, 1)]), &*ahead),
            ("a start comes from a wrong clock", begun(due(3), &[(far, 3)]), &*beside),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn requested_runs_and_takeovers_count() {
        let orphan = running_by(2).orphan().unwrap();
        let lost = || rated(Scene::cluster(1, 1), 1).ledger(0, orphan.clone());
        let taken_over = format!(
            "takeover: orphaned runs wait\n  set ledger/0: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  create sharding/0/failover: 10.0.0.1@-@1\n  create coordination/starts: {NOW} (1)"
        );
        let full = |scene: Scene| begun(scene, &[(NOW - 1, 1)]);
        let rows = vec![
            ("a takeover counts", lost(), &*taken_over),
            ("a takeover waits", full(lost()), "nothing"),
        ];
        check(Duty::Takeover, rows);

        let request = ManualRequest {
            id: "r".into(),
            at: crate::FireTime(555),
            parameter: None,
            past_fire: None,
        };
        let asked = Ledger::new(None).with_request(request).unwrap();
        let asked = || rated(Scene::cluster(1, 1), 1).ledger(0, asked.clone());
        let answered = format!(
            "claim: a manual request waits\n  set ledger/0: running MANUAL for 555 by 10.0.0.1@-@1, token 1\n  create sharding/0/running: 10.0.0.1@-@1\n  create coordination/starts: {NOW} (1)"
        );
        let rows = vec![
            ("a requested run counts", asked(), &*answered),
            ("a requested run waits", full(asked()), "nothing"),
        ];
        check(Duty::Claim, rows);
    }

    /// The leader leaves lost runs of such a job to the takeover, which counts them.
    #[test]
    fn sweep_starts_no_run_of_a_job_with_a_start_rate() {
        let lost =
            || Scene::cluster(1, 1).ledger(0, running_by(2)).configure(|c| c.failover = true);
        let starts = |scene: Scene| scene.wants(Duty::Sweep).contains("create sharding/0/running");
        assert!(starts(lost()), "without a rate the leader takes the run over at once");
        assert!(!starts(rated(lost(), 5)));
    }
}
