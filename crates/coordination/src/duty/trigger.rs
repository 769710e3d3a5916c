//! Manual trigger: an operator's request is noticed, and passed on to all instances.

use super::{Context, Duty};
use crate::plan::{Plan, Step};

/// Accepts a request that an operator left at this instance; passes a request of this process on to all instances.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    if let Some(version) = cx.view.trigger_of(cx.me) {
        let step = Step::AcceptTrigger { instance: cx.me.clone(), version };
        return Some(Plan::as_session(Duty::Trigger, "triggered by an operator").step(step));
    }
    if !cx.local.trigger_wanted {
        return None;
    }
    let steps = cx.view.instances().cloned().map(Step::RequestTrigger);
    Plan::as_instance(Duty::Trigger, cx, "asked to trigger the job").steps(steps).if_any()
}
