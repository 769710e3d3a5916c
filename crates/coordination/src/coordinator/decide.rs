//! Deciding: asks every duty in turn; at most one plan per duty is in flight.

use std::collections::BTreeSet;
use std::time::Duration;

use reg_center::{NodePath, SessionId};
use sharding::InstanceId;

use super::Coordinator;
use super::in_flight::InFlight;
use super::in_flight::Stage;
use crate::duty::{self, Context, resharding};
use crate::invariant::{self, Decision};
use crate::local::Phase;
use crate::local::requests::RequestWay;
use crate::plan::Plan;
use crate::{Command, JobEvent, Now, Ticket, shortened};
use crate::{Duty, java};

impl Coordinator {
    pub(super) fn decide(&mut self, now: Now, out: &mut Vec<Command>) {
        self.schedule_reconcile(now);
        let (Some(me), Some(session)) = (self.me.clone(), self.session) else { return };
        if !self.may_decide() {
            return;
        }
        let shows_enough = self.shows_enough();
        let mixed = java::is_involved(&self.view, &self.local);
        let plan = if mixed { java::plan } else { duty::plan };
        for duty in Duty::ALL {
            let under_way = self.in_flight.get(&duty);
            // After a conflict the duty may plan again, but not the same plan: the view that led to
            // it has not changed, so it would conflict again.
            let refused = under_way.filter(|flight| matches!(flight.stage, Stage::Refused { .. }));
            if under_way.is_some() && refused.is_none() {
                continue;
            }
            if duty == Duty::Resharding && self.is_assignment_torn() {
                continue;
            }
            // Such a plan would omit items that a narrow watch does not show.
            if duty.names_all_own_items() && !shows_enough {
                continue;
            }
            let plan = plan(duty, &self.context(now, &me));
            let repeats = |flight: &InFlight, plan: &Plan| flight.plan.repeats(plan);
            let again = |plan: &Plan| refused.is_some_and(|flight| repeats(flight, plan));
            if let Some(plan) = plan.filter(|plan| !again(plan)) {
                // From now on a reply can start these runs without another decision.
                self.local.claims.in_flight |= plan.runs_of(&me).next().is_some();
                self.send(session, plan, out);
            }
        }
        self.report_strategy(now, &me, out);
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
            strategies: &self.strategies,
            settings: &self.settings,
        }
    }

    fn send(&mut self, session: SessionId, plan: Plan, out: &mut Vec<Command>) {
        if let Some(me) = &self.me {
            let (view, local) = (&self.view, &self.local);
            let decision = Decision { plan: &plan, view, local, me };
            debug_assert_eq!(invariant::broken(&decision), None, "{plan}");
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let nodes = plan.nodes_to_confirm();
        let confirm_absent: BTreeSet<NodePath> =
            nodes.iter().map(|node| self.layout.path(node)).collect();
        out.push(Command::Commit {
            ticket,
            duty: plan.duty,
            reason: plan.reason.clone(),
            txn: self.layout.encode(&plan, session),
            confirm_absent: confirm_absent.into_iter().collect(),
        });
        for id in plan.requests_left() {
            if let Some(wanted) = self.local.requests.wanted.get_mut(id) {
                wanted.way = RequestWay::Sent;
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
            Stage::Landed { revision, until } => {
                // A stale view can look as if the plan had taken effect, so compare revisions too.
                let behind = revision.is_some_and(|landed| view.revision() < landed);
                let removed =
                    |item| view.item(item).marks.marked_at().is_none_or(|at| Some(at) >= revision);
                let unmarked = || flight.plan.unmarked_items().all(removed);
                let is_visible = flight.plan.is_visible_in(view) && unmarked();
                (behind || !is_visible) && now.mono < until
            }
            Stage::Refused { until } | Stage::Held { until } => now.mono < until,
        });
        self.settle_assignments(now);
        self.local.claims.in_flight = self.in_flight.values().any(|flight| {
            flight.plan.may_begin_runs() && !matches!(flight.stage, Stage::Refused { .. })
        });
    }

    /// Forgets assignments in doubt that the view shows completely, or whose wait has ended.
    fn settle_assignments(&mut self, now: Now) {
        let view = &self.view;
        let written = self.in_doubt.iter().filter(|assignment| assignment.is_recorded_in(view));
        let mut whole = written.map(|assignment| assignment.plan.is_visible_in(view)).peekable();
        let is_whole = whole.peek().is_some() && whole.all(|whole| whole);
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

    /// Schedules the next decision that happens without any change, at the configured interval.
    fn schedule_reconcile(&mut self, now: Now) {
        let minutes = self.view.config().map_or(0, |config| config.reconcile_interval_minutes);
        let interval = Duration::from_secs(60 * u64::from(minutes));
        let due = self.next_reconcile.is_none_or(|at| at <= now.mono);
        if minutes == 0 {
            self.next_reconcile = None;
        } else if due {
            self.next_reconcile = Some(now.mono + interval);
        }
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
