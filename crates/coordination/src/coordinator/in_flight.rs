//! Plans whose effect the view does not show yet.

use crate::plan::{Plan, Step};
use crate::view::JobView;
use crate::{JobConfig, Ledger, Ticket, Versioned};
use reg_center::Revision;
use sharding::ShardingItem;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Time that the leader waits for the view to show all owners that it has committed. A view that
/// shows only some of them would make the leader take a moved item for one that stays.
pub(super) const ASSIGNMENT_WAIT: Duration = Duration::from_secs(5);

/// A plan from its decision until the view shows its effect.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) plan: Arc<Plan>,
    /// The configuration in force at the decision. Runs that this plan claims use it.
    pub(super) config: Option<Versioned<Arc<JobConfig>>>,
    /// The records that it replaces. Kept, because the view may show the new ones before the reply.
    pub(super) replaced: BTreeMap<ShardingItem, Ledger>,
    pub(super) stage: Stage,
}

impl InFlight {
    /// Returns true if no reply has come yet.
    pub(super) fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// Returns a plan that is sent now.
    pub(super) fn new(
        ticket: Ticket,
        plan: Plan,
        config: Option<Versioned<Arc<JobConfig>>>,
        view: &JobView,
    ) -> Self {
        let replaced = plan.steps.iter().filter_map(|step| replaced_by(step, view)).collect();
        Self { ticket, plan: Arc::new(plan), config, replaced, stage: Stage::Sent }
    }
}

/// Returns the record that a step replaces if it takes effect.
fn replaced_by(step: &Step, view: &JobView) -> Option<(ShardingItem, Ledger)> {
    let (item, _) = step.ledger()?;
    let ledger = view.item(item).ledger.as_ref()?;
    (Some(ledger.version) == step.expected()).then(|| (item, ledger.value.clone()))
}

/// An assignment of this leader whose commit has an unknown outcome.
///
/// An assignment writes nothing for items that stay, so no guard covers them. The next decision
/// therefore waits until the view shows all of this assignment or none, at most `ASSIGNMENT_WAIT`.
#[derive(Debug)]
pub(super) struct AssignmentInDoubt {
    pub(super) plan: Arc<Plan>,
    /// The time since which the view shows a newer assignment record, but not all owners.
    pub(super) shown_since: Option<Duration>,
}

impl AssignmentInDoubt {
    /// Returns true if the view shows a newer version than the one that this assignment replaces.
    pub(super) fn is_shown(&self, view: &JobView) -> bool {
        self.plan.assignment().is_some_and(|(expect, _)| expect < view.assignment_version())
    }

    /// Returns true if the view shows the record of this assignment.
    pub(super) fn is_recorded_in(&self, view: &JobView) -> bool {
        let shown = view.assignment().map(|assignment| &assignment.value);
        self.plan.assignment().is_some_and(|(_, record)| Some(record) == shown)
    }

    pub(super) fn ends(&self) -> Option<Duration> {
        Some(self.shown_since? + ASSIGNMENT_WAIT)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// No reply yet.
    Sent,
    /// Committed. Ends when the view shows it, or at this time.
    Committed { revision: Option<Revision>, until: Duration },
    /// Not committed. Ends at this time, or as soon as the duty wants another plan: the same plan
    /// would conflict again.
    Conflicted { until: Duration },
    /// Outcome unknown, not executed, or too large. The duty plans again at this time, whatever the
    /// view shows.
    BackingOff { until: Duration },
}
