//! Manual trigger: a manual request stays in the registry until the record of each item holds it.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::{Context, backfill, parameter_bytes};
use crate::Versioned;
use crate::local::requests::RequestProgress;
use crate::plan::{Plan, Step};
use crate::protocol::run_request::Triggered;
use crate::protocol::trigger_record::TriggerRecord;
use crate::{Dialect, Duty, FireTime, JobConfig, ManualRequest};

/// Stores the requests of this process in the registry, accepts a request to this instance, passes
/// requests on to the items as the leader, and removes handled requests.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    hand_over(cx).or_else(|| backfill::plan(cx)).or_else(|| clear(cx))
}

/// Stores requests in the registry, or passes them on from there to the items.
pub(crate) fn hand_over(cx: &Context<'_>) -> Option<Plan> {
    store(cx).or_else(|| accept(cx)).or_else(|| pass_on(cx))
}

/// Stores a request in the registry. Only a registered instance does: no other instance removes its
/// requests, so that it can retry until its view shows the request.
pub(crate) fn store(cx: &Context<'_>) -> Option<Plan> {
    let mut requests = cx.local.requests.wanted.iter();
    let (id, wanted) = requests.find(|(_, wanted)| wanted.progress != RequestProgress::InDoubt)?;
    if !cx.view.is_registered(cx.me) {
        return None;
    }
    let (by, parameter) = (cx.me.to_string(), wanted.parameter.clone());
    let record = TriggerRecord { parameter, ..TriggerRecord::new(by, wanted.at, None) };
    let step = Step::set_request(id.clone(), None, record);
    Some(Plan::as_instance(Duty::Trigger, cx, "this process requested a run").step(step))
}

/// Accepts a request to this instance and stores it as a request for the items that it owns now.
/// Without monitoring the instance runs them by itself.
fn accept(cx: &Context<'_>) -> Option<Plan> {
    let triggered = cx.view.run_request_of(cx.me)?;
    if !cx.view.fits_config() {
        return None;
    }
    let accepted = acceptance(cx, &triggered);
    if !cx.view.config()?.monitor_execution {
        return Some(accepted);
    }
    let (id, at) = identity_of(cx, &triggered);
    let all = cx.view.items().map(|(item, _)| item);
    let mine = all.filter(|item| cx.view.is_meant_for(*item, cx.me)).collect();
    let record = TriggerRecord::new(cx.me.to_string(), at, Some(mine));
    // The items are those of the present assignment, so the plan conflicts if they move.
    let same_assignment = Step::assignment_unchanged(cx.view.assignment_version()?);
    Some(accepted.step(same_assignment).step(Step::set_request(id, None, record)))
}

/// Begins a plan that accepts a request to this instance.
pub(crate) fn acceptance(cx: &Context<'_>, triggered: &Triggered) -> Plan {
    let step = Step::accept_run_request(
        cx.view.dialect(),
        cx.me.clone(),
        triggered.version,
        cx.settings.attributes.clone(),
    );
    Plan::as_session(Duty::Trigger, "triggered by an operator").step(step)
}

/// Returns the id of an accepted request, and the time that identifies its runs.
pub(crate) fn identity_of(cx: &Context<'_>, triggered: &Triggered) -> (String, FireTime) {
    let id = format!("{}-node-{}", cx.me, triggered.number);
    (id, FireTime::of_request(cx.now.wall_ms))
}

/// Returns the requests that are not handled yet, the oldest first.
pub(crate) fn waiting<'a>(cx: &Context<'a>) -> Vec<(&'a str, &'a Versioned<TriggerRecord>)> {
    let mut waiting: Vec<_> = cx.view.triggers().filter(|(_, t)| !t.value.is_handled()).collect();
    waiting.sort_by_key(|(id, trigger)| (trigger.value.at, *id));
    waiting
}

/// Passes on the oldest request that can make progress. Items that still hold an earlier request
/// get this one later.
fn pass_on(cx: &Context<'_>) -> Option<Plan> {
    if !cx.view.fits_config() {
        return None;
    }
    let config = cx.view.config()?;
    waiting(cx).into_iter().find_map(|(id, trigger)| {
        if config.monitor_execution {
            pass_to_items(cx, config, id, trigger)
        } else {
            pass_to_instances(cx, id, trigger)
        }
    })
}

/// Writes the request into the records of its items.
fn pass_to_items(
    cx: &Context<'_>,
    config: &JobConfig,
    id: &str,
    trigger: &Versioned<TriggerRecord>,
) -> Option<Plan> {
    let wanted = wanted_items(&trigger.value, config.sharding_total_count);
    let (at, parameter) = (trigger.value.at, trigger.value.parameter.clone());
    // Every record would hold the parameter, and their total size is limited.
    if parameter.as_ref().is_some_and(|text| !text.fits_items(wanted.len())) {
        let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for too many items")?;
        return Some(plan.step(drop_request(id, trigger)));
    }
    let request = ManualRequest { id: id.into(), at, parameter, past_fire: None };
    let changes = wanted.iter().filter_map(|item| {
        let ledger = cx.view.item(*item).ledger.as_ref()?;
        let next = ledger.value.with_request(request.clone())?;
        Some((*item, Step::set_ledger(*item, Some(ledger.version), next)))
    });
    let bytes_of = |(_, step): &(ShardingItem, Step)| parameter_bytes(std::slice::from_ref(step));
    let (done, steps): (BTreeSet<_>, Vec<_>) = cx.within_one_plan(changes, bytes_of).unzip();
    // All items still hold an earlier request, so this one waits.
    if done.is_empty() && !wanted.is_empty() {
        return None;
    }
    let rest = wanted.difference(&done).copied().collect();
    let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for the items")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .steps(steps)
        .step(passed_on(id, trigger, rest));
    Some(plan)
}

/// Returns the items of the job that have yet to get a request.
fn wanted_items(request: &TriggerRecord, total_count: u32) -> BTreeSet<ShardingItem> {
    let Some(items) = &request.items else {
        return (0..total_count).map(ShardingItem::new).collect();
    };
    // The job may have had more items when the request was made.
    items.iter().copied().filter(|item| item.index() < total_count).collect()
}

fn pass_to_instances(
    cx: &Context<'_>,
    id: &str,
    trigger: &Versioned<TriggerRecord>,
) -> Option<Plan> {
    let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for the instances")?;
    if let Some(dropped) = dropped(id, trigger) {
        return Some(plan.step(dropped));
    }
    let requests = cx.view.instances().flat_map(|instance| ask(cx, instance));
    Some(plan.steps(requests).step(passed_on(id, trigger, BTreeSet::new())))
}

/// Returns the steps that request a run of an instance's items; none if it has a request already,
/// or is gone.
pub(crate) fn ask(cx: &Context<'_>, instance: &InstanceId) -> Vec<Step> {
    let Some(version) = cx.view.instance_version(instance) else { return Vec::new() };
    if cx.view.run_request_of(instance).is_some() {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let dialect = cx.view.dialect();
    if dialect == Dialect::V3 {
        // The request is a node of its own, which would stay if the instance were gone.
        steps.push(Step::instance_registered(instance.clone()));
    }
    steps.push(Step::ask_to_run(dialect, instance.clone(), version));
    steps
}

/// Returns the step that writes which items have yet to get a request. A request without such items
/// is handled.
pub(crate) fn passed_on(
    id: &str,
    trigger: &Versioned<TriggerRecord>,
    rest: BTreeSet<ShardingItem>,
) -> Step {
    let parameter = if rest.is_empty() { None } else { trigger.value.parameter.clone() };
    let record = TriggerRecord { items: Some(rest), parameter, ..trigger.value.clone() };
    Step::set_request(id.to_owned(), Some(trigger.version), record)
}

/// Returns the step that drops a request with a parameter. Requests to instances carry no
/// parameter, and a run without it might do something that no operator requested.
pub(crate) fn dropped(id: &str, trigger: &Versioned<TriggerRecord>) -> Option<Step> {
    trigger.value.parameter.as_ref()?;
    Some(drop_request(id, trigger))
}

fn drop_request(id: &str, trigger: &Versioned<TriggerRecord>) -> Step {
    let record = TriggerRecord { items: Some(BTreeSet::new()), ..trigger.value.clone() };
    Step::set_request(id.to_owned(), Some(trigger.version), record)
}

/// Removes handled requests of this instance, so that an author always knows whether its request
/// arrived. The leader removes handled requests whose authors are gone.
fn clear(cx: &Context<'_>) -> Option<Plan> {
    clear_of(cx, |by| removes_requests_of(cx, by))
}

/// Removes handled requests of the authors that the filter lets through.
pub(crate) fn clear_of(cx: &Context<'_>, is_mine: impl Fn(&str) -> bool) -> Option<Plan> {
    let handled = cx.view.triggers().filter(|(_, trigger)| trigger.value.is_handled());
    let mine = handled.filter(|(_, trigger)| is_mine(&trigger.value.by));
    let fitting = mine.take(cx.settings.items_per_plan);
    let steps = fitting.map(|(id, trigger)| Step::clear_request(id.to_owned(), trigger.version));
    Plan::as_session(Duty::Trigger, "handled requests").steps(steps).if_any()
}

/// Returns true if this instance removes the handled requests of an author, and reports the dropped
/// ones.
pub(crate) fn removes_requests_of(cx: &Context<'_>, by: &str) -> bool {
    let leads = cx.view.term_of(cx.me).is_some();
    let is_registered = cx.view.instances().any(|id| id.as_str() == by);
    by == cx.me.as_str() || (leads && !is_registered)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, idle, item, running_by};
    use super::*;
    use crate::local::requests::WantedTrigger;
    use crate::plan::{Data, StepOp};

    const STORE: &str =
        "trigger: this process requested a run\n  create coordination/triggers/r: all items";

    fn request(items: Option<&[u32]>, by: u32) -> TriggerRecord {
        let items = items.map(|items| items.iter().map(|i| item(*i)).collect());
        TriggerRecord::new(id(by).to_string(), FireTime(555), items)
    }

    fn waits(at: i64) -> ManualRequest {
        ManualRequest { id: "earlier".into(), at: FireTime(at), parameter: None, past_fire: None }
    }

    #[test]
    fn request_is_stored_accepted_passed_on_and_removed() {
        let two = || Scene::cluster(2, 2);
        let wants = |scene: Scene, progress| {
            let wanted = WantedTrigger { progress, ..WantedTrigger::new(FireTime(555), None) };
            scene.local(|local| local.requests.wanted.extend([("r".into(), wanted)]))
        };
        let rows = vec![
            ("no request", two(), "nothing"),
            ("request of a former incarnation", wants(two(), RequestProgress::InDoubt), "nothing"),
            (
                "request, and the instance is not registered",
                wants(Scene::job(2), RequestProgress::Unsent),
                "nothing",
            ),
            ("request of this process", wants(two(), RequestProgress::Unsent), STORE),
            (
                "request of this process was sent and is not shown",
                wants(two(), RequestProgress::Sent),
                STORE,
            ),
            (
                "request to this instance, as Java sends it",
                two().triggered(1),
                "trigger: triggered by an operator\n  set instances/10.0.0.1@-@1\n  create coordination/triggers/10.0.0.1@-@1-node-1: 1 items left",
            ),
            (
                "request to this instance before any assignment",
                Scene::job(2).member(1).triggered(1),
                "nothing",
            ),
            ("request to another instance", two().triggered(2), "nothing"),
            (
                "request for all items",
                two().trigger("r", request(None, 1)),
                "trigger: an operator's request for the items\n  set ledger/0: idle, asked for at 555\n  set ledger/1: idle, asked for at 555\n  set coordination/triggers/r: passed on",
            ),
            (
                "request for an item that runs",
                two().trigger("r", request(Some(&[1, 9]), 1)).ledger(1, running_by(2)),
                "trigger: an operator's request for the items\n  set ledger/1: running NORMAL for 200 by 10.0.0.2@-@2, token 1, asked for at 555\n  set coordination/triggers/r: passed on",
            ),
            (
                "one item has an earlier request",
                two()
                    .trigger("r", request(None, 1))
                    .ledger(0, idle().with_request(waits(333)).unwrap()),
                "trigger: an operator's request for the items\n  set ledger/1: idle, asked for at 555\n  set coordination/triggers/r: 1 items left",
            ),
            (
                "only item has an earlier request",
                two()
                    .trigger("r", request(Some(&[0]), 1))
                    .ledger(0, idle().with_request(waits(333)).unwrap()),
                "nothing",
            ),
            ("another instance leads", two().trigger("r", request(None, 1)).led_by(2), "nothing"),
            (
                "handled request of this instance",
                two().trigger("r", request(Some(&[]), 1)).led_by(2),
                "trigger: handled requests\n  delete coordination/triggers/r",
            ),
            (
                "handled request of a registered instance",
                two().trigger("r", request(Some(&[]), 2)),
                "nothing",
            ),
            (
                "handled request of a lost instance",
                two().trigger("r", request(Some(&[]), 7)),
                "trigger: handled requests\n  delete coordination/triggers/r",
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
        }
        check(
            Duty::Trigger,
            vec![(
                "handled request of a lost instance",
                two().trigger("r", request(Some(&[]), 7)),
                "trigger: handled requests\n  delete coordination/triggers/r",
            )],
        );
    }

    fn request_with_parameter(items: Option<&[u32]>, by: u32) -> TriggerRecord {
        let parameter = crate::RequestParameter::new("february").ok();
        TriggerRecord { parameter, ..request(items, by) }
    }

    /// Returns the request as this plan leaves it.
    fn left_in_request(scene: &Scene) -> Option<TriggerRecord> {
        let steps = scene.plan(Duty::Trigger)?.steps;
        steps.into_iter().find_map(|step| {
            let (StepOp::Create(_, data) | StepOp::Put(_, data)) = step.op else { return None };
            let Data::Request(record) = data else { return None };
            Some(record)
        })
    }

    #[test]
    fn parameter_stays_in_request_until_all_items_have_it() {
        let two = || Scene::cluster(2, 2);
        let one_has_an_earlier_one = two().ledger(0, idle().with_request(waits(333)).unwrap());
        let rows = [
            (
                "all items get it",
                two(),
                Some(TriggerRecord { parameter: None, ..request_with_parameter(Some(&[]), 1) }),
            ),
            (
                "one item gets it later",
                one_has_an_earlier_one,
                Some(request_with_parameter(Some(&[0]), 1)),
            ),
            ("the job has none of the items", Scene::cluster(1, 2), None),
        ];
        for (case, scene, expected) in rows {
            let items: Option<&[u32]> = if expected.is_none() { Some(&[7]) } else { None };
            let scene = scene.trigger("r", request_with_parameter(items, 1));
            let expected = expected.unwrap_or_else(|| request(Some(&[]), 1));
            assert_eq!(left_in_request(&scene), Some(expected), "{case}");
            let plan = scene.wants(Duty::Trigger);
            assert!(!plan.contains("dropped"), "{case}: {plan}");
        }
    }

    #[test]
    fn request_with_parameter_is_dropped_without_records() {
        let unmonitored = Scene::cluster(2, 2)
            .configure(|config| (config.monitor_execution, config.failover) = (false, false));
        let led_by_java = Scene::job(2).member(1).member(2).java(4).led_by_java(4);
        let rows = [
            ("job is not monitored", unmonitored, "an operator's request for the instances"),
            ("a Java instance leads", led_by_java, "an operator's request, under a Java leader"),
        ];
        for (case, scene, reason) in rows {
            let scene = scene.owned(0, 1).owned(1, 2).trigger("r", request_with_parameter(None, 1));
            let expected = format!("trigger: {reason}\n  set coordination/triggers/r: dropped");
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
            assert_eq!(
                left_in_request(&scene),
                Some(request_with_parameter(Some(&[]), 1)),
                "{case}"
            );
        }
    }

    #[test]
    fn request_above_parameter_limit_is_dropped() {
        let long = "x".repeat(crate::MAX_REQUEST_PARAMETER_BYTES);
        let parameter = crate::RequestParameter::new(&long).ok();
        let most = u32::try_from(crate::MAX_REQUEST_BYTES / long.len()).unwrap();
        let some = |items: Option<u32>| TriggerRecord {
            items: items.map(|some| (0..some).map(item).collect()),
            parameter: parameter.clone(),
            ..request(None, 1)
        };
        let dropped = "trigger: an operator's request for too many items\n  set coordination/triggers/r: dropped";
        let rows = [
            ("all items, as many as the limit allows", most, None, "nothing"),
            ("all items, one above the limit", most + 1, None, dropped),
            ("some items, as many as the limit allows", most + 1, Some(most), "nothing"),
            ("some items, one above the limit", most + 2, Some(most + 1), dropped),
        ];
        for (case, total, items, expected) in rows {
            // Item 0 has an earlier request, and the other items have no record, so that no request
            // is passed on.
            let earlier = idle().with_request(waits(333)).unwrap();
            let scene = Scene::cluster(1, 1).ledger(0, earlier);
            let scene = scene.configure(|config| config.sharding_total_count = total);
            let mut record = scene.plan_record();
            record.total_count = total;
            let scene = scene.assigned(record).trigger("r", some(items));
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
        }
    }

    #[test]
    fn without_monitoring_request_goes_to_every_instance() {
        let scene = Scene::cluster(2, 2)
            .configure(|config| (config.monitor_execution, config.failover) = (false, false))
            .trigger("r", request(None, 1));
        let expected = "trigger: an operator's request for the instances\n  set instances/10.0.0.1@-@1: run now\n  set instances/10.0.0.2@-@2: run now\n  set coordination/triggers/r: passed on";
        assert_eq!(scene.wants(Duty::Trigger), expected);
    }
}
