//! Coexistence with Java instances in one namespace. Only these modules know how Java instances
//! behave.
//!
//! The duties decide as if no Java instance existed. While [`is_involved`] returns true, [`plan`]
//! decides instead: it replaces the duties whose rules differ, and [`constrain`] adds guards and
//! marks to the plans of all duties. `docs/java-coexistence.md` explains the rules.

mod cleanup;
mod config_check;
mod constrain;
mod election;
mod facts;
mod handing_on;
pub(crate) mod inference;
pub(crate) mod memory;
pub(crate) mod nodes;
pub(crate) mod records;
mod resharding;
pub(crate) mod settings;
mod steps;
mod sweep;
mod takeover;
mod trigger;
mod turn;

use crate::Duty;
use crate::duty::{self, Context};
use crate::local::Local;
use crate::plan::Plan;
use crate::view::JobView;

pub(crate) use self::trigger::clears_requests_of;

/// Plans one duty, if anything is to be done.
type Planner = fn(Duty, &Context<'_>) -> Option<Plan>;

/// Returns the planner of all duties.
pub(crate) fn planner(view: &JobView, local: &Local) -> Planner {
    if is_involved(view, local) { plan } else { duty::plan }
}

/// Returns true if Java instances take part, have left nodes behind, or are remembered, or if the
/// job uses the dialect of 3.x, whose marks outlast sessions.
fn is_involved(view: &JobView, local: &Local) -> bool {
    view.has_traces_of_java() || !local.java.is_empty()
}

/// Plans a duty in a namespace with Java instances.
fn plan(duty: Duty, cx: &Context<'_>) -> Option<Plan> {
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
        | Duty::Once => duty::plan(duty, cx),
    };
    Some(constrain::constrain(plan?, cx))
}
