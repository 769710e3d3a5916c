//! The group of the job: its share of the permits and the starts, and its place in the line.
//!
//! The transaction of a claim creates the node of a free permit and replaces the record of the last
//! starts, as for the limits of a job. It also checks the version of the limits.
//!
//! A job whose runs the group stops joins the line: one ephemeral node, whose last write decides
//! the order. Free permits are dealt along the line, one to each job in turn. A job that has begun
//! runs goes to the end of the line.

use super::permits::Permits;
use super::{Context, claim, misfire, starts, takeover};
use crate::plan::{Plan, Step};
use crate::view::group::{GroupView, PlaceInLine};
use crate::{Duty, GroupLimits, GroupName, GroupPermit, Ledger};

/// The runs of the group that a plan can still begin, by the view.
pub(crate) struct GroupShare<'a> {
    /// `None` if the job is in no group.
    name: Option<&'a GroupName>,
    /// `None` if the group or its limits are not known. Then no run begins, and the job does not
    /// wait in the line.
    known: Option<&'a GroupView>,
    limits: GroupLimits,
    permits: Permits,
    /// Number of runs that may begin now; `None` if the group does not limit them.
    left: Option<u32>,
    /// The group has stopped a run.
    is_short: bool,
}

impl<'a> GroupShare<'a> {
    pub(crate) fn of(cx: &Context<'a>) -> Self {
        let name = cx.view.config().and_then(|config| config.group.as_ref());
        let known = cx.view.group().filter(|group| group.limits().is_some());
        let limits = known.and_then(GroupView::limits).unwrap_or_default();
        let shown = known.iter().flat_map(|group| group.permits().map(|(number, _)| number));
        let own = cx.local.runs.iter().filter_map(|(_, run)| run.group_permit.as_ref());
        let own = own.filter(|permit| Some(&permit.group) == name).map(|permit| permit.number);
        let permits = Permits::beside(cx, limits.cluster_concurrency, shown.chain(own));
        let starts = starts_left(cx, known, limits);
        let free = [permits.left(), starts].into_iter().flatten().min();
        let left = match (name, known) {
            (None, _) => None,
            (Some(_), None) => Some(0),
            (Some(_), Some(_)) if cx.assumes_full_group => Some(0),
            (Some(_), Some(group)) => free.map(|free| {
                let (others, ahead) = group.others_in_line(&cx.view.layout().job());
                dealt(free, others, ahead)
            }),
        };
        Self { name, known, limits, permits, left, is_short: false }
    }

    /// Returns true if the job is in a group.
    pub(crate) fn exists(&self) -> bool {
        self.name.is_some()
    }

    /// Returns true if the limits of the group let no further run begin now.
    pub(crate) fn is_full(&self) -> bool {
        self.known.is_some() && self.left == Some(0)
    }

    /// Returns the record of a run that begins, with a permit if the group limits its runs. `None`
    /// if the run waits.
    pub(crate) fn grant(&mut self, begun: Ledger) -> Option<Ledger> {
        let Some(group) = self.name else { return Some(begun) };
        if let Some(left) = self.left {
            self.left = left.checked_sub(1);
            if self.left.is_none() {
                (self.left, self.is_short) = (Some(0), true);
                return None;
            }
        }
        let Some(limit) = self.limits.cluster_concurrency else { return Some(begun) };
        let number = self.permits.next_free(limit);
        Some(begun.with_group_permit(GroupPermit { group: group.clone(), number }))
    }

    /// Returns these steps of a plan, with the checks and the writes of the group's nodes.
    pub(crate) fn recorded(self, cx: &Context<'_>, mut steps: Vec<Step>) -> Vec<Step> {
        let (Some(name), Some(group)) = (self.name, self.known) else { return steps };
        let job = cx.view.layout().job();
        let begun = starts::begun(&steps);
        if begun > 0 {
            steps.push(Step::group_limits_unchanged(name, group.limits_version()));
            if let Some(rate) = self.limits.start_rate {
                let log = cx.view.group_starts_with(group, begun, rate, cx.present_ms());
                steps.push(Step::set_group_starts(name, group.starts_version(), log));
            }
        }
        let place = group.place_of(&job).filter(|_| !cx.assumes_full_group);
        let in_line = match (place.map(|place| place.version), self.is_short) {
            (None, true) => Some(Step::join_line(name, job, cx.me.clone())),
            (Some(version), true) if begun > 0 => {
                Some(Step::rejoin_line(name, job, version, cx.me.clone()))
            }
            (Some(version), false) if begun > 0 => Some(Step::leave_line(name, job, version)),
            (None, false) | (Some(_), _) => None,
        };
        steps.extend(in_line);
        steps
    }
}

/// Returns the number of runs that may begin by the rate of the group; `None` without a rate.
fn starts_left(cx: &Context<'_>, group: Option<&GroupView>, limits: GroupLimits) -> Option<u32> {
    let (group, rate) = (group?, limits.start_rate?);
    let counting = cx.view.counting_group_starts(group, rate, cx.present_ms());
    // A later version may count in another way, and its record must not be replaced.
    let max = if group.has_newer_starts() { 0 } else { rate.max };
    Some(max.saturating_sub(counting.total()))
}

/// Returns the number of free places of a job, if they are dealt along the line one by one:
/// `others` jobs wait, and `ahead` of them come before this job.
fn dealt(free: u32, others: u32, ahead: u32) -> u32 {
    let rest = free.saturating_sub(ahead);
    rest.div_ceil(others.saturating_add(1))
}

/// Leaves the line of the group if no run of this instance waits for it any more. Otherwise the job
/// would keep a place that other jobs could use.
pub(crate) fn leave_line(cx: &Context<'_>) -> Option<Plan> {
    let group = cx.view.followed_group()?;
    let job = cx.view.layout().job();
    let is_own = |place: &&PlaceInLine| place.session.is_some() && place.session == cx.session;
    let place = group.place_of(&job).filter(is_own)?;
    // A claim on its way leaves the line by itself.
    if cx.local.claims.in_flight || waits_for(cx, group) {
        return None;
    }
    let plan = Plan::as_session(Duty::Release, "no run waits for the group");
    plan.step(Step::leave_line(group.name(), job, place.version)).if_any()
}

/// Returns true if a run of this instance waits for the group.
fn waits_for(cx: &Context<'_>, group: &GroupView) -> bool {
    if cx.view.group() != Some(group) {
        return false;
    }
    let full = Context { assumes_full_group: true, ..*cx };
    let joins = |plan: Option<Plan>| plan.is_some_and(|it| it.steps.iter().any(Step::joins_line));
    joins(claim::plan(&full)) || joins(misfire::plan(&full)) || joins(takeover::plan(&full))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, group, item, of_group, running_by};
    use super::*;
    use crate::wire::{self, GroupNode, NodeKind};
    use crate::{JobName, Outcome, StartLog, StartRate};

    const NOW: i64 = super::super::scene::NOW_MS;

    fn runs(max: u32) -> GroupLimits {
        GroupLimits { cluster_concurrency: Some(max), ..GroupLimits::NONE }
    }

    fn starts(max: u32) -> GroupLimits {
        let start_rate = Some(StartRate { max, period_seconds: 10 });
        GroupLimits { start_rate, ..GroupLimits::NONE }
    }

    fn due(limits: GroupLimits) -> Scene {
        Scene::cluster(3, 1).in_group(limits).due(200)
    }

    fn taken(scene: Scene, number: u32) -> Scene {
        let holder = r#"{"v":1,"job":"other","item":0,"by":"10.0.0.9@-@9","token":4}"#;
        scene.of_other(&of_group(GroupNode::Permit(number)), holder)
    }

    fn place(job: &str) -> NodeKind {
        of_group(GroupNode::Place(JobName::new(job).unwrap()))
    }

    fn waits(scene: Scene, job: &str) -> Scene {
        scene.of_other(&place(job), r#"{"v":1,"by":"10.0.0.9@-@9"}"#)
    }

    fn waits_here(scene: Scene) -> Scene {
        scene.of_session(&place("job"), r#"{"v":1,"by":"10.0.0.1@-@1"}"#)
    }

    fn claimed(items: &[(u32, u32)], rest: &str) -> String {
        let steps = items.iter().map(|(item, permit)| {
            format!(
                "\n  set ledger/{item}: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/{item}/running: 10.0.0.1@-@1\n  create job@-@groups/db/permits/{permit}: job {item} 10.0.0.1@-@1 1"
            )
        });
        format!("claim: fire 200 is due{}{rest}", steps.collect::<String>())
    }

    const HOLDER: &str = r#"{"v":1,"job":"job","item":0,"by":"10.0.0.1@-@1","token":1}"#;
    const JOIN: &str = "\n  create job@-@groups/db/waiting/job: 10.0.0.1@-@1";
    const REJOIN: &str = "\n  set job@-@groups/db/waiting/job: 10.0.0.1@-@1";
    const LEAVE: &str = "\n  delete job@-@groups/db/waiting/job";

    #[test]
    fn claims_take_permits_of_the_group_and_the_job_waits_in_line() {
        let (two, all) = (claimed(&[(0, 0), (1, 1)], JOIN), claimed(&[(0, 0), (1, 1), (2, 2)], ""));
        let (rest, none) = (claimed(&[(0, 1)], JOIN), claimed(&[], JOIN));
        let lowered = claimed(&[(0, 0)], JOIN);
        let unlimited =
            all.lines().filter(|line| !line.contains("permits")).collect::<Vec<_>>().join("\n");
        let rows = vec![
            ("permits for two of three items", due(runs(2)), &*two),
            ("permits for all items", due(runs(3)), &*all),
            ("one of two permits is taken", taken(due(runs(2)), 0), &*rest),
            ("all permits are taken", taken(due(runs(1)), 0), &*none),
            ("the job waits already", waits_here(taken(due(runs(1)), 0)), "nothing"),
            ("the limit was lowered", taken(due(runs(2)), 3), &*lowered),
            ("the group has no limits", due(GroupLimits::NONE), &*unlimited),
        ];
        check(Duty::Claim, rows);
    }

    #[test]
    fn free_permits_are_dealt_along_the_line() {
        let rows = vec![
            ("another job waits", waits(due(runs(1)), "other"), claimed(&[], JOIN)),
            (
                "another job waits, and two permits are free",
                waits(due(runs(2)), "other"),
                claimed(&[(0, 0)], JOIN),
            ),
            (
                "another job came later",
                waits(waits_here(due(runs(1))), "other"),
                claimed(&[(0, 0)], REJOIN),
            ),
            (
                "another job came first",
                waits_here(waits(due(runs(1)), "other")),
                "nothing".to_owned(),
            ),
            (
                "no other job waits",
                waits_here(due(runs(3))),
                claimed(&[(0, 0), (1, 1), (2, 2)], LEAVE),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Claim), expected, "{case}");
            scene.assert_fixpoint(case, Duty::Claim);
        }
    }

    #[test]
    fn permits_are_dealt_one_by_one() {
        for (free, others, expected) in
            [(5, 0, vec![5]), (5, 1, vec![3, 2]), (1, 2, vec![1, 0, 0]), (7, 2, vec![3, 2, 2])]
        {
            let shares: Vec<_> = (0..=others).map(|ahead| dealt(free, others, ahead)).collect();
            assert_eq!(shares, expected, "{free} permits");
            assert_eq!(shares.iter().sum::<u32>(), free);
        }
    }

    #[test]
    fn starts_of_the_group_are_counted() {
        let log =
            |starts: &[(i64, u32)]| wire::encode_starts(&StartLog { starts: starts.to_vec() });
        let stored = |scene: Scene, starts: &[(i64, u32)]| {
            scene.with_text(&of_group(GroupNode::Starts), &log(starts))
        };
        let begun = |scene: Scene, n| stored(scene, &[(NOW - 1, n)]);
        let far = NOW + 61_000;
        let start = |items: &[u32], rest: String| {
            let steps = items.iter().map(|item| {
                format!(
                    "\n  set ledger/{item}: running NORMAL for 200 by 10.0.0.1@-@1, token 1\n  create sharding/{item}/running: 10.0.0.1@-@1"
                )
            });
            format!("claim: fire 200 is due{}{rest}", steps.collect::<String>())
        };
        let first = start(&[0, 1], format!("\n  create job@-@groups/db/starts: {NOW} (2){JOIN}"));
        let more = start(&[0], format!("\n  set job@-@groups/db/starts: 999 (1), {NOW} (1){JOIN}"));
        let beside =
            start(&[0, 1], format!("\n  set job@-@groups/db/starts: {NOW} (2), {far} (3){JOIN}"));
        let rows = vec![
            ("nothing has begun", due(starts(2)), first),
            ("a start comes from a wrong clock", stored(due(starts(2)), &[(far, 3)]), beside),
            ("one of two starts is recent", begun(due(starts(2)), 1), more),
            ("the rate is reached", begun(due(starts(2)), 2), start(&[], JOIN.to_owned())),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Claim), expected, "{case}");
            scene.assert_fixpoint(case, Duty::Claim);
        }
    }

    #[test]
    fn runs_wait_while_the_group_is_unknown() {
        let unknown = Scene::cluster(3, 1).due(200).configure(|c| c.group = Some(group()));
        check(Duty::Claim, vec![("the view does not show the group", unknown, "nothing")]);
    }

    #[test]
    fn claim_conflicts_when_limits_changed() {
        let scene = due(runs(3));
        let plan = scene.plan(Duty::Claim).expect("the fire is due");
        assert!(scene.would_commit(&plan));
        let lowered = wire::encode_group_limits(&runs(1));
        let scene = scene.with_text(&of_group(GroupNode::Limits), &lowered);
        assert!(!scene.would_commit(&plan), "the limit was lowered");
    }

    /// Another instance of the job has begun a run or has joined the line meanwhile.
    #[test]
    fn claim_conflicts_when_place_in_line_changed() {
        let rows = [
            (
                "the job goes to the end of the line",
                waits(waits_here(due(runs(1))), "other"),
                REJOIN,
            ),
            ("the job leaves the line", waits_here(due(runs(3))), LEAVE),
        ];
        for (case, scene, step) in rows {
            let plan = scene.plan(Duty::Claim).expect("the fire is due");
            assert!(plan.to_string().contains(step), "{case}: {plan}");
            assert!(scene.would_commit(&plan), "{case}");
            assert!(!waits_here(scene).would_commit(&plan), "{case}");
        }
    }

    #[test]
    fn takeover_needs_a_permit_of_the_group() {
        let orphan = running_by(2).orphan().unwrap();
        let lost = |max| Scene::cluster(1, 1).in_group(runs(max)).ledger(0, orphan.clone());
        let taken_over = "takeover: orphaned runs wait\n  set ledger/0: running FAILOVER for 200 by 10.0.0.1@-@1, token 2\n  create sharding/0/running: 10.0.0.1@-@1\n  create sharding/0/failover: 10.0.0.1@-@1\n  create job@-@groups/db/permits/0: job 0 10.0.0.1@-@1 2";
        let waits = format!("takeover: orphaned runs wait{JOIN}");
        check(
            Duty::Takeover,
            vec![
                ("a permit is free", lost(1), taken_over),
                ("no permit is free", taken(lost(1), 0), &*waits),
            ],
        );
    }

    /// The leader leaves lost runs of such a job to the takeover, which takes a permit.
    #[test]
    fn sweep_starts_no_run_of_a_job_in_a_group() {
        let lost = || Scene::cluster(1, 1).ledger(0, running_by(2));
        let starts = |scene: Scene| scene.wants(Duty::Sweep).contains("create sharding/0/running");
        assert!(starts(lost()), "without a group the leader takes the run over at once");
        assert!(!starts(lost().in_group(runs(5))));
    }

    #[test]
    fn end_of_run_returns_its_permit_to_the_group() {
        let permit = GroupPermit { group: group(), number: 4 };
        let scene = Scene::cluster(1, 1)
            .in_group(runs(5))
            .ledger(0, running_by(1).with_group_permit(permit.clone()))
            .marked_in_session(&NodeKind::Running(item(0)))
            .of_session(&of_group(GroupNode::Permit(4)), HOLDER)
            .run_here(0, Some(Outcome::Succeeded))
            .local(|local| {
                local.runs.change(item(0), |run| run.group_permit = Some(permit.clone()));
            });
        let expected = "release: runs have ended\n  set ledger/0: idle, last succeeded\n  delete sharding/0/running\n  delete job@-@groups/db/permits/4";
        check(Duty::Release, vec![("the run has ended", scene, expected)]);
    }

    /// The permit is not among the nodes of the job, so that the removal of the job leaves it.
    #[test]
    fn ended_run_of_a_removed_job_returns_its_permit() {
        let permit = GroupPermit { group: group(), number: 4 };
        let ended = |seen: bool| {
            let node = of_group(GroupNode::Permit(4));
            let scene = Scene::cluster(1, 1).in_group(runs(5)).of_session(&node, HOLDER);
            scene.without(&NodeKind::Ledger(item(0))).run_here(0, Some(Outcome::Succeeded)).local(
                |local| {
                    local.runs.change(item(0), |run| {
                        run.group_permit = Some(permit.clone());
                        run.unseen_after = if seen { None } else { Some(reg_center::Version(0)) };
                    });
                },
            )
        };
        let returned = "release: runs have ended\n  delete job@-@groups/db/permits/4";
        let rows = vec![
            ("no record of the item", ended(true), returned),
            ("the claim is not shown yet", ended(false), "nothing"),
        ];
        check(Duty::Release, rows);
    }

    #[test]
    fn job_leaves_the_line_when_no_run_waits() {
        let left = format!("release: no run waits for the group{LEAVE}");
        let calm = || Scene::cluster(3, 1).in_group(runs(1));
        let other_group =
            |scene: Scene| scene.configure(|config| config.group = GroupName::new("other").ok());
        let rows = vec![
            ("a run waits", waits_here(taken(due(runs(1)), 0)), "nothing"),
            ("no fire is due", waits_here(calm()), &*left),
            ("the process is paused", waits_here(due(runs(1))).local(|l| l.paused = true), &*left),
            ("another instance waits for the job", waits(calm(), "job"), "nothing"),
            ("the job is in another group now", other_group(waits_here(due(runs(1)))), &*left),
        ];
        check(Duty::Release, rows);
    }
}
