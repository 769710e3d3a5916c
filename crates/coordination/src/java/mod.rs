//! Coexistence with Java instances in one namespace. Only these modules know how Java instances
//! behave.
//!
//! The duties decide as if no Java instance existed. While [`is_involved`] returns true, [`plan`]
//! decides instead: it replaces the duties whose rules differ, and [`constrain`] adds guards and
//! marks to the plans of all duties. `docs/java-coexistence.md` explains the rules.

mod cleanup;
mod constrain;
mod election;
pub(crate) mod facts;
mod handing_on;
pub(crate) mod inference;
mod memory;
mod records;
mod resharding;
mod steps;
mod sweep;
mod takeover;
mod trigger;
mod turn;

use sharding::ShardingItem;

use self::inference::InterruptedRun;
use crate::Ledger;
use crate::duty::{Context, Duty, PlanOf};
use crate::local::Local;
use crate::plan::Plan;
use crate::view::JobView;

pub(crate) use self::memory::{JavaMemory, Surroundings, waits_for_turn};
pub(crate) use self::records::record_of;
pub(crate) use self::resharding::is_requested;
pub(crate) use self::trigger::handles_requests_of;

/// Returns true if Java instances take part, have left nodes behind, or are remembered, or if the
/// job uses the dialect of 3.x, whose marks outlast sessions.
pub(crate) fn is_involved(view: &JobView, local: &Local) -> bool {
    view.has_traces_of_java() || !local.java.is_empty()
}

/// Plans a duty in a namespace with Java instances.
pub(crate) fn plan(duty: Duty, plain: PlanOf, cx: &Context<'_>) -> Option<Plan> {
    let plan = match duty {
        Duty::Election => election::plan(cx),
        Duty::Sweep => sweep::plan(cx),
        Duty::Takeover => takeover::plan(cx),
        Duty::Resharding => resharding::plan(cx),
        Duty::Trigger => trigger::plan(cx),
        Duty::Cleanup => cleanup::plan(cx),
        Duty::Membership
        | Duty::Claim
        | Duty::Misfire
        | Duty::Release
        | Duty::Disabling
        | Duty::Once => plain(cx),
    };
    Some(constrain::constrain(plan?, cx))
}

/// Returns true if every possible taker of the item's run can receive the parameter of its request.
/// Java instances cannot.
pub(crate) fn can_be_queued(cx: &Context<'_>, ledger: &Ledger) -> bool {
    let has_parameter = ledger.run().is_some_and(|run| run.parameter.is_some());
    !has_parameter || !cx.view.is_mixed()
}

/// Returns true if Java instances may have run fires: they write no records, so that records alone
/// prove no gap.
pub(crate) fn runs_fires(cx: &Context<'_>) -> bool {
    cx.view.is_mixed() || cx.local.java.inference.is_known()
}

/// Returns the run of an item that a Java instance has left unfinished.
fn interrupted(cx: &Context<'_>, item: ShardingItem) -> Option<InterruptedRun> {
    cx.local.java.inference.interrupted(cx.view, item, cx.local.fires.last_seen)
}
