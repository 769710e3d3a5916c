//! Manual trigger beside Java instances, which do not read the requests of Rust instances.

use std::collections::BTreeSet;

use sharding::InstanceId;

use super::handing_on;
use crate::duty::own_item::OwnItem;
use crate::duty::trigger::{
    acceptance, ask, clear_of, dropped, hand_over, identity_of, passed_on, removes_requests_of,
    store, waiting,
};
use crate::duty::{Context, backfill, parameter_bytes};
use crate::plan::Plan;
use crate::protocol::trigger_record::TriggerRecord;
use crate::{Duty, ManualRequest, Versioned};

/// Stores, accepts, passes on and removes requests as the plain duty does, and hands on requests
/// for items of Java instances.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let handed_over = if cx.view.has_java_leader() {
        store(cx).or_else(|| accept(cx)).or_else(|| pass_to_instances(cx))
    } else {
        hand_over(cx)
    };
    let handed_over = handed_over.or_else(|| handing_on::plan(cx));
    // Java instances take no past fires: a backfill waits until they are gone.
    let backfilled =
        || if cx.view.is_mixed() { backfill::withdraw(cx) } else { backfill::plan(cx) };
    handed_over.or_else(backfilled).or_else(|| clear(cx))
}

/// Accepts a request to this instance. A Java leader would not pass it on, so that the owner writes
/// it into the records of its own items.
fn accept(cx: &Context<'_>) -> Option<Plan> {
    let triggered = cx.view.run_request_of(cx.me)?;
    let config = cx.view.config()?;
    let accepted = acceptance(cx, &triggered);
    if !config.monitor_execution {
        return Some(accepted);
    }
    let (id, at) = identity_of(cx, &triggered);
    let request = ManualRequest { id: id.into(), at, parameter: None, past_fire: None };
    let job = cx.view.layout().job();
    let with_request = |own: OwnItem<'_>| {
        let next = own.ledger.with_request(request.clone())?;
        Some(own.change_to(&job, next))
    };
    let changes = cx.claimable_items().filter_map(with_request);
    let steps = cx.within_one_plan(changes, |steps| parameter_bytes(steps)).flatten();
    Some(accepted.steps(steps))
}

/// Passes a request on under a Java leader, which passes none on. The author, or the first Rust
/// instance if the author is gone, sends it to the present owners, as ElasticJob's own API does.
/// Busy Java instances drop it.
fn pass_to_instances(cx: &Context<'_>) -> Option<Plan> {
    waiting(cx).into_iter().find_map(|(id, trigger)| pass_one(cx, id, trigger))
}

fn pass_one(cx: &Context<'_>, id: &str, trigger: &Versioned<TriggerRecord>) -> Option<Plan> {
    if !handles_requests_of(cx, &trigger.value.by) || !cx.view.is_registered(cx.me) {
        return None;
    }
    let plan = Plan::as_instance(Duty::Trigger, cx, "an operator's request, under a Java leader");
    if let Some(dropped) = dropped(id, trigger) {
        return Some(plan.step(dropped));
    }
    // A request without a list of items is for the whole job.
    let has_items = |instance: &InstanceId| match &trigger.value.items {
        None => true,
        Some(wanted) => cx.view.items_of(instance).any(|(item, _)| wanted.contains(&item)),
    };
    let steps = cx.view.instances().filter(|id| has_items(id)).flat_map(|id| ask(cx, id));
    Some(plan.steps(steps).step(passed_on(id, trigger, BTreeSet::new())))
}

/// Returns true if this instance handles an author's requests under a Java leader: it is the
/// author, or the first Rust instance if the author is gone.
fn handles_requests_of(cx: &Context<'_>, by: &str) -> bool {
    let is_registered = cx.view.instances().any(|id| id.as_str() == by);
    by == cx.me.as_str() || (!is_registered && cx.view.first_rust_instance() == Some(cx.me))
}

/// Returns true if this instance removes the handled requests of an author, and reports the dropped
/// ones, whether or not a Java instance leads.
pub(crate) fn clears_requests_of(cx: &Context<'_>, by: &str) -> bool {
    let java_leads = cx.view.has_java_leader();
    removes_requests_of(cx, by) || (java_leads && handles_requests_of(cx, by))
}

fn clear(cx: &Context<'_>) -> Option<Plan> {
    clear_of(cx, |by| clears_requests_of(cx, by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FireTime;
    use crate::duty::scene::{Scene, id, item};

    fn request(items: Option<&[u32]>, by: u32) -> TriggerRecord {
        let items = items.map(|items| items.iter().map(|i| item(*i)).collect());
        TriggerRecord::new(id(by).to_string(), FireTime(555), items)
    }

    #[test]
    fn request_goes_to_owners_under_java_leader() {
        let led_by_java = || {
            let scene = Scene::job(2).member(1).member(2).java(4).led_by_java(4);
            scene.owned(0, 1).owned(1, 4)
        };
        let reason = "trigger: an operator's request, under a Java leader";
        let all = format!(
            "{reason}\n  set instances/10.0.0.1@-@1: run now\n  set instances/10.0.0.2@-@2: run now\n  set instances/10.0.0.4@-@4: run now\n  set coordination/triggers/r: passed on"
        );
        let one = format!(
            "{reason}\n  set instances/10.0.0.4@-@4: run now\n  set coordination/triggers/r: passed on"
        );
        let gone = "trigger: handled requests\n  delete coordination/triggers/r";
        let rows = [
            ("request of this instance", led_by_java().trigger("r", request(None, 1)), &*all),
            ("request for one item", led_by_java().trigger("r", request(Some(&[1]), 1)), &*one),
            (
                "request of another Rust instance",
                led_by_java().trigger("r", request(None, 2)),
                "nothing",
            ),
            ("request of a lost instance", led_by_java().trigger("r", request(None, 9)), &*all),
            (
                "request of a lost instance, and this one is not the first",
                Scene::job(2)
                    .member(1)
                    .member(0)
                    .java(4)
                    .led_by_java(4)
                    .trigger("r", request(None, 9)),
                "nothing",
            ),
            (
                "an instance has a request already",
                led_by_java().triggered(4).trigger("r", request(Some(&[1]), 1)),
                &*format!("{reason}\n  set coordination/triggers/r: passed on"),
            ),
            ("handled request", led_by_java().trigger("r", request(Some(&[]), 9)), gone),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
        }
    }
}
