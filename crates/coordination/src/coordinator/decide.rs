//! Deciding: asks every duty in turn; at most one plan per duty is in flight.

use std::collections::BTreeSet;

use reg_center::{NodePath, Revision, SessionId};
use sharding::InstanceId;

use super::Coordinator;
use super::in_flight::{InFlight, Stage};
use crate::duty::{Context, resharding};
use crate::invariant::{self, Decision};
use crate::local::Phase;
use crate::local::requests::RequestProgress;
use crate::plan::Plan;
use crate::view::JobView;
use crate::{Command, JobEvent, Now, Ticket, shortened};
use crate::{Duty, java};

impl Coordinator {
    pub(super) fn decide(&mut self, now: Now, out: &mut Vec<Command>) {
        let (Some(me), Some(session)) = (self.me.clone(), self.session) else { return };
        if !self.may_decide() {
            return;
        }
        let shows_enough = self.shows_enough();
        let plan = java::planner(&self.view, &self.local);
        for duty in Duty::ALL {
            if !self.may_plan(duty, shows_enough) {
                continue;
            }
            let Some(plan) = plan(duty, &self.context(now, &me)) else { continue };
            if self.repeats_conflict(&plan) {
                continue;
            }
            // From now on a reply can start these runs without another decision.
            self.local.claims.in_flight |= plan.runs_of(&me).next().is_some();
            self.send(now, session, plan, out);
        }
        self.report_strategy(now, &me, out);
    }

    /// Returns true if the duty waits for no earlier plan, and the view suffices for a new one.
    fn may_plan(&self, duty: Duty, shows_enough: bool) -> bool {
        let waits = self.in_flight.get(&duty).is_some_and(|flight| !has_conflicted(flight));
        // Such a plan would omit items that a narrow watch does not show.
        let sees_too_little = duty.needs_all_own_items() && !shows_enough;
        let is_torn = duty == Duty::Resharding && self.is_assignment_torn();
        !waits && !sees_too_little && !is_torn
    }

    /// Returns true if the duty's last plan has conflicted, and the new plan is the same. The view
    /// that led to it has not changed, so the plan would conflict again.
    fn repeats_conflict(&self, plan: &Plan) -> bool {
        self.in_flight.get(&plan.duty).is_some_and(|conflicted| conflicted.plan.repeats(plan))
    }

    /// Returns true if decisions can rely on the view.
    ///
    /// The session is connected, the snapshot is complete, and no other session has registered the
    /// id of this instance.
    fn may_decide(&self) -> bool {
        let left = self.local.phase == Phase::Left;
        self.connected && self.view.is_synced() && !left && !self.has_namesake()
    }

    /// Returns the context of decisions, if the view allows decisions now.
    pub(super) fn deciding_context(&self, now: Now) -> Option<Context<'_>> {
        let me = self.me.as_ref()?;
        self.may_decide().then(|| self.context(now, me))
    }

    pub(super) fn context<'a>(&'a self, now: Now, me: &'a InstanceId) -> Context<'a> {
        Context {
            now,
            me,
            session: self.session,
            server: &self.identity.server,
            view: &self.view,
            local: &self.local,
            idle_servers: &self.idle_servers,
            strategies: &self.strategies,
            settings: &self.settings,
            assumes_full_group: false,
        }
    }

    fn send(&mut self, now: Now, session: SessionId, plan: Plan, out: &mut Vec<Command>) {
        if let Some(me) = &self.me {
            let (view, local) = (&self.view, &self.local);
            let present_ms = view.max_time_diff().present_ms(now);
            let decision = Decision { plan: &plan, view, local, me, present_ms };
            debug_assert_eq!(invariant::broken(&decision), None, "{plan}");
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let nodes = plan.nodes_to_confirm();
        // Each node is read once, in the order of the paths.
        let confirm_absent: BTreeSet<NodePath> =
            nodes.iter().map(|node| self.layout.path(node)).collect();
        out.push(Command::Commit {
            ticket,
            duty: plan.duty,
            reason: plan.reason.clone(),
            txn: self.layout.encode(&plan, session),
            confirm_absent: confirm_absent.into_iter().collect(),
        });
        for id in plan.stored_requests() {
            if let Some(wanted) = self.local.requests.wanted.get_mut(id) {
                wanted.progress = RequestProgress::Sent;
            }
        }
        let config = self.view.config_in_force().cloned();
        let flight = InFlight::new(ticket, plan, config, &self.view);
        self.in_flight.insert(flight.plan.duty, Box::new(flight));
    }

    /// Forgets plans whose effect the view shows, and plans whose wait has ended.
    pub(super) fn end_waits(&mut self, now: Now) {
        let view = &self.view;
        self.in_flight.retain(|_, flight| match flight.stage {
            Stage::Sent => true,
            Stage::Committed { revision, until } => {
                !shows_commit(view, &flight.plan, revision) && now.mono < until
            }
            Stage::Conflicted { until } | Stage::BackingOff { until } => now.mono < until,
        });
        self.settle_assignments(now);
        let may_begin_runs =
            |flight: &InFlight| flight.plan.may_begin_runs() && !has_conflicted(flight);
        self.local.claims.in_flight = self.in_flight.values().any(|flight| may_begin_runs(flight));
    }

    /// Forgets assignments in doubt that the view shows completely, or whose wait has ended.
    fn settle_assignments(&mut self, now: Now) {
        let view = &self.view;
        let recorded = self.in_doubt.iter().filter(|assignment| assignment.is_recorded_in(view));
        let mut shown = recorded.map(|assignment| assignment.plan.is_visible_in(view)).peekable();
        let is_whole = shown.peek().is_some() && shown.all(|is_visible| is_visible);
        self.in_doubt.retain_mut(|assignment| {
            if !assignment.is_shown(view) {
                return true;
            }
            assignment.shown_since.get_or_insert(now.mono);
            !is_whole && assignment.ends().is_some_and(|end| now.mono < end)
        });
    }

    /// Returns true if the view shows only a part of an assignment that this leader may have
    /// written.
    pub(super) fn is_assignment_torn(&self) -> bool {
        self.in_doubt.iter().any(|assignment| assignment.shown_since.is_some())
    }

    fn report_strategy(&mut self, now: Now, me: &InstanceId, out: &mut Vec<Command>) {
        // A resharding in flight proves that the strategy has succeeded.
        if self.in_flight.contains_key(&Duty::Resharding) {
            self.reported.strategy_fault = None;
            return;
        }
        let fault = resharding::strategy_failure(&self.context(now, me));
        if self.reported.strategy_fault != fault
            && let Some(reason) = &fault
        {
            let reason = shortened(reason);
            out.push(Command::Emit(JobEvent::StrategyFailed { reason }));
        }
        self.reported.strategy_fault = fault;
    }
}

/// Returns true if the plan has conflicted, and its duty may plan again.
fn has_conflicted(flight: &InFlight) -> bool {
    matches!(flight.stage, Stage::Conflicted { .. })
}

/// Returns true if the view shows a committed plan. `committed_at` is the revision of the commit.
fn shows_commit(view: &JobView, plan: &Plan, committed_at: Option<Revision>) -> bool {
    // A stale view can look as if the plan had taken effect, so compare revisions too. Those of a
    // group are in another tree.
    let writes_job = plan.steps.iter().any(|it| !it.is_check() && !it.node.is_of_group());
    let committed_at = committed_at.filter(|_| writes_job);
    if committed_at.is_some_and(|committed_at| view.revision() < committed_at) {
        return false;
    }
    let is_unmarked =
        |item| view.item(item).marks.marked_at().is_none_or(|at| Some(at) >= committed_at);
    plan.is_visible_in(view) && plan.unmarked_items().all(is_unmarked)
}
