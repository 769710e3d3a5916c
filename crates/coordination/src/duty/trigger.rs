//! Manual trigger: an operator's request waits in the registry until each item has it in its record.

use std::collections::BTreeSet;

use sharding::{InstanceId, ShardingItem};

use super::handing_on::{self, ask};
use super::{Context, Duty, OwnItem, bytes_told};
use crate::local::RequestWay;
use crate::plan::{Plan, Step};
use crate::protocol::trigger_record::TriggerRecord;
use crate::view::{Triggered, Versioned};
use crate::{FireTime, JobConfig, ManualRequest};

/// Leaves what this process was asked for; accepts what was left at this instance; passes requests on to the items as
/// the leader; takes away what everybody has seen.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let own = leave(cx).or_else(|| accept(cx)).or_else(|| pass_on(cx));
    own.or_else(|| handing_on::plan(cx)).or_else(|| clear(cx))
}

fn fits(cx: &Context<'_>) -> bool {
    cx.view.fits_config()
}

/// Only a registered instance leaves requests: while it is there nobody else takes them away, so that it can send them
/// again until it sees them (simulation seeds 1001032, 1058471).
fn leave(cx: &Context<'_>) -> Option<Plan> {
    let mut wanted = cx.local.wanted_triggers.iter();
    let (id, wanted) = wanted.find(|(_, wanted)| wanted.way != RequestWay::InDoubt)?;
    if !cx.view.is_registered(cx.me) {
        return None;
    }
    let (by, parameter) = (cx.me.to_string(), wanted.parameter.clone());
    let record = TriggerRecord { by, at: wanted.at, items: None, parameter };
    let step = Step::set_request(id.clone(), None, record);
    Some(Plan::as_instance(Duty::Trigger, cx, "asked to trigger the job").step(step))
}

/// The convention of ElasticJob names an instance: that means the items that it has now. Without monitoring it runs them
/// by itself; else they become a request of their own, or, where a Java leader would not pass that on, requests in the
/// items' records.
fn accept(cx: &Context<'_>) -> Option<Plan> {
    let Triggered { version, number } = cx.view.trigger_of(cx.me)?;
    let foreign_leader = cx.view.has_foreign_leader();
    let config = cx.view.config().filter(|_| foreign_leader || fits(cx))?;
    let accepted = Step::accept_run_request(cx.view.dialect(), cx.me.clone(), version);
    let plan = Plan::as_session(Duty::Trigger, "triggered by an operator").step(accepted);
    if !config.monitor_execution {
        return Some(plan);
    }
    let (id, at) = (format!("{}-node-{number}", cx.me), FireTime::of_request(cx.now.wall_ms));
    if foreign_leader {
        let request = ManualRequest { id: id.into(), at, parameter: None };
        let next = |own: &OwnItem<'_>| own.ledger.with_request(request.clone());
        let steps = cx.claimable_items().filter_map(|own| Some(own.change_to(next(&own)?)));
        return Some(plan.steps(cx.within_one_plan(steps, |steps| bytes_told(steps)).flatten()));
    }
    let mine = cx.view.items().map(|(item, _)| item).filter(|i| cx.view.is_meant_for(*i, cx.me));
    let (by, items) = (cx.me.to_string(), Some(mine.collect()));
    let record = TriggerRecord { by, at, items, parameter: None };
    let plan = plan.step(Step::assignment_unchanged(cx.view.assignment_version()?));
    Some(plan.step(Step::set_request(id, None, record)))
}

/// Takes the oldest request that has something to go on with. Items that still have an earlier one get theirs later.
fn pass_on(cx: &Context<'_>) -> Option<Plan> {
    let mut waiting: Vec<_> = cx.view.triggers().filter(|(_, t)| !t.value.is_handled()).collect();
    waiting.sort_by_key(|(id, trigger)| (trigger.value.at, *id));
    if cx.view.has_foreign_leader() {
        return waiting.into_iter().find_map(|(id, trigger)| pass_as_java_does(cx, id, trigger));
    }
    let config = cx.view.config().filter(|_| fits(cx))?;
    waiting.into_iter().find_map(|(id, trigger)| match config.monitor_execution {
        true => pass_to_items(cx, config, id, trigger),
        false => pass_to_instances(cx, id, trigger),
    })
}

/// All items get it in their records, those of Java instances too: what waits there is then handed on to these.
fn pass_to_items(
    cx: &Context<'_>,
    config: &JobConfig,
    id: &str,
    trigger: &Versioned<TriggerRecord>,
) -> Option<Plan> {
    let all = || (0..config.sharding_total_count).map(ShardingItem::new).collect();
    let in_force = |item: &ShardingItem| item.index() < config.sharding_total_count;
    let wanted: BTreeSet<_> = trigger.value.items.clone().unwrap_or_else(all);
    let wanted: BTreeSet<_> = wanted.into_iter().filter(in_force).collect();
    let TriggerRecord { at, parameter, .. } = trigger.value.clone();
    if parameter.as_ref().is_some_and(|told| !told.can_be_told_to(wanted.len())) {
        let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for too many items")?;
        return Some(plan.step(drop_it(id, trigger)));
    }
    let request = ManualRequest { id: id.into(), at, parameter };
    let changes = wanted.iter().filter_map(|item| {
        let ledger = cx.view.item(*item).ledger.as_ref()?;
        let next = ledger.value.with_request(request.clone())?;
        let change = Step::set_ledger(*item, Some(ledger.version), next);
        Some((*item, vec![change]))
    });
    let changes: Vec<_> = cx.within_one_plan(changes, |(_, steps)| bytes_told(steps)).collect();
    if changes.is_empty() && !wanted.is_empty() {
        return None;
    }
    let done: BTreeSet<_> = changes.iter().map(|(item, _)| *item).collect();
    let rest = wanted.difference(&done).copied().collect();
    let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for the items")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .steps(changes.into_iter().flat_map(|(_, steps)| steps));
    Some(plan.step(passed_on(id, trigger, rest)))
}

fn pass_to_instances(
    cx: &Context<'_>,
    id: &str,
    trigger: &Versioned<TriggerRecord>,
) -> Option<Plan> {
    let steps = cx.view.instances().flat_map(|id| ask(cx, id));
    let plan = Plan::as_leader(Duty::Trigger, cx, "an operator's request for the instances")?;
    if let Some(dropped) = dropped(id, trigger) {
        return Some(plan.step(dropped));
    }
    Some(plan.steps(steps).step(passed_on(id, trigger, BTreeSet::new())))
}

/// A Java leader passes nothing on. So whoever has left the request does, or if that one is gone, the first of ours: in
/// ElasticJob's own convention, to the instances that have the items now. Java instances that are running drop it.
fn pass_as_java_does(
    cx: &Context<'_>,
    id: &str,
    trigger: &Versioned<TriggerRecord>,
) -> Option<Plan> {
    if !is_mine_to_handle(cx, &trigger.value.by) || !cx.view.is_registered(cx.me) {
        return None;
    }
    let has_items = |instance: &InstanceId| match &trigger.value.items {
        None => true,
        Some(wanted) => cx.view.items_of(instance).any(|(item, _)| wanted.contains(&item)),
    };
    let steps = cx.view.instances().filter(|id| has_items(id)).flat_map(|id| ask(cx, id));
    let plan = Plan::as_instance(Duty::Trigger, cx, "an operator's request, under a Java leader");
    if let Some(dropped) = dropped(id, trigger) {
        return Some(plan.step(dropped));
    }
    Some(plan.steps(steps).step(passed_on(id, trigger, BTreeSet::new())))
}

/// Under a Java leader, whoever has left a request handles it, or, once that one is gone, the first of ours.
fn is_mine_to_handle(cx: &Context<'_>, by: &str) -> bool {
    let is_there = cx.view.instances().any(|id| id.as_str() == by);
    by == cx.me.as_str() || (!is_there && cx.view.first_of_ours() == Some(cx.me))
}

fn passed_on(id: &str, trigger: &Versioned<TriggerRecord>, rest: BTreeSet<ShardingItem>) -> Step {
    let parameter = trigger.value.parameter.clone().filter(|_| !rest.is_empty());
    let record = TriggerRecord { items: Some(rest), parameter, ..trigger.value.clone() };
    Step::set_request(id.to_owned(), Some(trigger.version), record)
}

/// A request whose parameter cannot be told is dropped: to run without it might do what nobody asked for. So it is where
/// instances can only be asked in ElasticJob's own convention, which has no place for a parameter.
fn dropped(id: &str, trigger: &Versioned<TriggerRecord>) -> Option<Step> {
    trigger.value.parameter.as_ref()?;
    Some(drop_it(id, trigger))
}

fn drop_it(id: &str, trigger: &Versioned<TriggerRecord>) -> Step {
    let record = TriggerRecord { items: Some(BTreeSet::new()), ..trigger.value.clone() };
    Step::set_request(id.to_owned(), Some(trigger.version), record)
}

/// Whoever left a request takes it away once it was passed on, so that it never has to wonder whether it arrived. The
/// leader takes away what others left that are no instances (any more).
fn clear(cx: &Context<'_>) -> Option<Plan> {
    let handled = cx
        .view
        .triggers()
        .filter(|(_, trigger)| trigger.value.is_handled() && takes_away(cx, &trigger.value.by));
    let clear = |(id, trigger): (&str, &Versioned<TriggerRecord>)| {
        Step::clear_request(id.to_owned(), trigger.version)
    };
    let steps = handled.map(clear).take(cx.settings.items_per_plan);
    Plan::as_session(Duty::Trigger, "requests that were passed on").steps(steps).if_any()
}

/// Returns true if this instance takes away what was left by `by` once it was passed on or dropped, and tells that it was
/// dropped.
pub(crate) fn takes_away(cx: &Context<'_>, by: &str) -> bool {
    let keeps = cx.view.has_foreign_leader();
    let leads = cx.view.term_of(cx.me).is_some();
    let is_there = cx.view.instances().any(|id| id.as_str() == by);
    let nobodys = leads && !is_there;
    by == cx.me.as_str() || nobodys || (keeps && is_mine_to_handle(cx, by))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, idle, item, running_by};
    use super::*;
    use crate::local::WantedTrigger;
    use crate::plan::{Data, StepOp};

    const LEAVE: &str =
        "trigger: asked to trigger the job\n  create coordination/triggers/r: all items";

    fn request(items: Option<&[u32]>, by: u32) -> TriggerRecord {
        let items = items.map(|items| items.iter().map(|i| item(*i)).collect());
        TriggerRecord { by: id(by).to_string(), at: FireTime(555), items, parameter: None }
    }

    fn waits(at: i64) -> ManualRequest {
        ManualRequest { id: "earlier".into(), at: FireTime(at), parameter: None }
    }

    #[test]
    fn a_request_is_left_accepted_passed_on_and_taken_away() {
        let two = || Scene::cluster(2, 2);
        let wants = |scene: Scene, way| {
            let wanted = WantedTrigger { way, ..WantedTrigger::new(FireTime(555), None) };
            scene.local(|local| local.wanted_triggers.extend([("r".into(), wanted)]))
        };
        let rows = vec![
            ("nobody asked", two(), "nothing"),
            ("asked here in a former life", wants(two(), RequestWay::InDoubt), "nothing"),
            ("asked here, not registered", wants(Scene::job(2), RequestWay::Here), "nothing"),
            ("asked here", wants(two(), RequestWay::Here), LEAVE),
            ("asked here, and sent", wants(two(), RequestWay::Sent), LEAVE),
            (
                "left at me as Java does",
                two().triggered(1),
                "trigger: triggered by an operator\n  set instances/10.0.0.1@-@1\n  create coordination/triggers/10.0.0.1@-@1-node-1: 1 items left",
            ),
            (
                "left at me before anything is assigned",
                Scene::job(2).member(1).triggered(1),
                "nothing",
            ),
            ("left at somebody else", two().triggered(2), "nothing"),
            (
                "for all items",
                two().trigger("r", request(None, 1)),
                "trigger: an operator's request for the items\n  set ledger/0: idle, asked for at 555\n  set ledger/1: idle, asked for at 555\n  set coordination/triggers/r: passed on",
            ),
            (
                "for one that runs",
                two().trigger("r", request(Some(&[1, 9]), 1)).ledger(1, running_by(2)),
                "trigger: an operator's request for the items\n  set ledger/1: running NORMAL for 200 by 10.0.0.2@-@2, token 1, asked for at 555\n  set coordination/triggers/r: passed on",
            ),
            (
                "one has an earlier one",
                two()
                    .trigger("r", request(None, 1))
                    .ledger(0, idle().with_request(waits(333)).unwrap()),
                "trigger: an operator's request for the items\n  set ledger/1: idle, asked for at 555\n  set coordination/triggers/r: 1 items left",
            ),
            (
                "all that is left have an earlier one",
                two()
                    .trigger("r", request(Some(&[0]), 1))
                    .ledger(0, idle().with_request(waits(333)).unwrap()),
                "nothing",
            ),
            ("somebody else leads", two().trigger("r", request(None, 1)).led_by(2), "nothing"),
            (
                "passed on: mine",
                two().trigger("r", request(Some(&[]), 1)).led_by(2),
                "trigger: requests that were passed on\n  delete coordination/triggers/r",
            ),
            (
                "passed on: another's, who is there",
                two().trigger("r", request(Some(&[]), 2)),
                "nothing",
            ),
            (
                "passed on: of somebody who is gone",
                two().trigger("r", request(Some(&[]), 7)),
                "trigger: requests that were passed on\n  delete coordination/triggers/r",
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
        }
        check(
            Duty::Trigger,
            vec![(
                "passed on",
                two().trigger("r", request(Some(&[]), 7)),
                "trigger: requests that were passed on\n  delete coordination/triggers/r",
            )],
        );
    }

    fn telling(items: Option<&[u32]>, by: u32) -> TriggerRecord {
        let parameter = crate::RequestParameter::new("february").ok();
        TriggerRecord { parameter, ..request(items, by) }
    }

    /// What remains in the request after this plan.
    fn left_in_request(scene: &Scene) -> Option<TriggerRecord> {
        let steps = scene.plan(Duty::Trigger)?.steps;
        steps.into_iter().find_map(|step| {
            let (StepOp::Create(_, data) | StepOp::Put(_, data)) = step.op else { return None };
            let Data::Request(record) = data else { return None };
            Some(record)
        })
    }

    #[test]
    fn what_runs_are_told_stays_in_the_request_until_all_items_have_it() {
        let two = || Scene::cluster(2, 2);
        let one_has_an_earlier_one = two().ledger(0, idle().with_request(waits(333)).unwrap());
        let rows = [
            (
                "all items get it",
                two(),
                Some(TriggerRecord { parameter: None, ..telling(Some(&[]), 1) }),
            ),
            ("one gets it later", one_has_an_earlier_one, Some(telling(Some(&[0]), 1))),
            ("the job has none of the items", Scene::cluster(1, 2), None),
        ];
        for (case, scene, expected) in rows {
            let items: Option<&[u32]> = if expected.is_none() { Some(&[7]) } else { None };
            let scene = scene.trigger("r", telling(items, 1));
            let expected = expected.unwrap_or_else(|| request(Some(&[]), 1));
            assert_eq!(left_in_request(&scene), Some(expected), "{case}");
            let plan = scene.wants(Duty::Trigger);
            assert!(!plan.contains("dropped"), "{case}: {plan}");
        }
    }

    #[test]
    fn a_request_that_nobody_can_be_told_is_dropped() {
        let unmonitored = Scene::cluster(2, 2)
            .configure(|config| (config.monitor_execution, config.failover) = (false, false));
        let led_by_java = Scene::job(2).member(1).member(2).java(4).led_by_java(4);
        let rows = [
            ("not monitored", unmonitored, "an operator's request for the instances"),
            ("a Java instance leads", led_by_java, "an operator's request, under a Java leader"),
        ];
        for (case, scene, reason) in rows {
            let scene = scene.owned(0, 1).owned(1, 2).trigger("r", telling(None, 1));
            let expected = format!("trigger: {reason}\n  set coordination/triggers/r: dropped");
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
            assert_eq!(left_in_request(&scene), Some(telling(Some(&[]), 1)), "{case}");
        }
    }

    #[test]
    fn a_request_that_would_tell_too_many_items_too_much_is_dropped() {
        let long = "x".repeat(crate::MAX_REQUEST_PARAMETER_BYTES);
        let parameter = crate::RequestParameter::new(&long).ok();
        let most = u32::try_from(crate::MAX_TOLD_BYTES / long.len()).unwrap();
        let some = |items: Option<u32>| TriggerRecord {
            items: items.map(|some| (0..some).map(item).collect()),
            parameter: parameter.clone(),
            ..request(None, 1)
        };
        let dropped = "trigger: an operator's request for too many items\n  set coordination/triggers/r: dropped";
        let rows = [
            ("all of as many as can be told", most, None, "nothing"),
            ("all of one more", most + 1, None, dropped),
            ("as many as can be told", most + 1, Some(most), "nothing"),
            ("one more", most + 2, Some(most + 1), dropped),
        ];
        for (case, total, items, expected) in rows {
            // The one item that has a record has an earlier request.
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
    fn without_monitoring_every_instance_is_told() {
        let scene = Scene::cluster(2, 2)
            .configure(|config| (config.monitor_execution, config.failover) = (false, false))
            .trigger("r", request(None, 1));
        let expected = "trigger: an operator's request for the instances\n  set instances/10.0.0.1@-@1: run now\n  set instances/10.0.0.2@-@2: run now\n  set coordination/triggers/r: passed on";
        assert_eq!(scene.wants(Duty::Trigger), expected);
    }

    #[test]
    fn under_a_java_leader_requests_go_to_the_instances_that_have_the_items() {
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
        let gone = "trigger: requests that were passed on\n  delete coordination/triggers/r";
        let rows = [
            ("of mine", led_by_java().trigger("r", request(None, 1)), &*all),
            ("for one item", led_by_java().trigger("r", request(Some(&[1]), 1)), &*one),
            ("of somebody else of ours", led_by_java().trigger("r", request(None, 2)), "nothing"),
            ("of somebody who is gone", led_by_java().trigger("r", request(None, 9)), &*all),
            (
                "of somebody who is gone, and I am not the first of ours",
                Scene::job(2)
                    .member(1)
                    .member(0)
                    .java(4)
                    .led_by_java(4)
                    .trigger("r", request(None, 9)),
                "nothing",
            ),
            (
                "one is asked already",
                led_by_java().triggered(4).trigger("r", request(Some(&[1]), 1)),
                &*format!("{reason}\n  set coordination/triggers/r: passed on"),
            ),
            ("passed on", led_by_java().trigger("r", request(Some(&[]), 9)), gone),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Trigger), expected, "{case}");
        }
    }
}
