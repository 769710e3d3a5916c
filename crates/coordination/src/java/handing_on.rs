//! Manual requests in the convention of ElasticJob: a request goes to an instance, which runs all
//! of its items.
//!
//! Java instances read no ledger records, so that there is no other way to send them a request. A
//! busy Java instance drops the request. During an announced resharding it runs the items that it
//! has afterwards. So a Rust leader sends a request only when neither is the case, and keeps it
//! until then.

use std::collections::BTreeMap;

use sharding::{InstanceId, ShardingItem};

use crate::duty::Context;
use crate::duty::trigger::ask;
use crate::plan::{Plan, Step};
use crate::wire::NodeKind;
use crate::{Duty, JobConfig, Ledger, Versioned};

/// Hands on requests in the records of items that Java instances own. A request that cannot be sent
/// yet stays in the record, and a Rust instance runs it if it becomes the owner before.
///
/// One transaction clears the record and sends the request, so that no item runs twice for it. The
/// transaction conflicts if items were resharded, a resharding is announced, or the Java instance
/// has begun a run.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config().filter(|config| config.monitor_execution)?;
    if !cx.view.is_mixed() || cx.view.is_resharding_announced() {
        return None;
    }
    let asked = askable(cx, config);
    let most = cx.settings.items_per_plan;
    let items = asked.values().flatten().copied().chain(dropped(cx).take(most));
    let dropped = items.filter_map(|(item, ledger)| {
        let next = ledger.value.drop_request()?;
        Some(Step::set_ledger(item, Some(ledger.version), next))
    });
    let requests = asked.iter().flat_map(|(instance, items)| {
        // A Java instance marks all items of a fire, so that checking one is enough.
        let idle = items.first().map(|(item, _)| Step::absent(NodeKind::Running(*item)));
        idle.into_iter().chain(ask(cx, instance))
    });
    Plan::as_leader(Duty::Trigger, cx, "requests for items of Java instances")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::assignment_unchanged(cx.view.assignment_version()?))
        .step(Step::absent(NodeKind::Necessary))
        .steps(dropped)
        .steps(requests)
        .if_any()
}

type Waiting<'a> = Vec<(ShardingItem, &'a Versioned<Ledger>)>;

/// Returns items of Java instances whose request is dropped. Either the item is disabled, and no
/// operator expects a run when it is enabled again, or the request has a parameter, which a Java
/// instance cannot receive.
fn dropped<'a>(cx: &Context<'a>) -> impl Iterator<Item = (ShardingItem, &'a Versioned<Ledger>)> {
    let view = cx.view;
    view.restless_items().filter_map(move |(item, shown)| {
        view.java_owner(shown)?;
        let ledger = shown.ledger.as_ref()?;
        let stays = cx.view.next_owner(item).is_none();
        let dropped = ledger.value.disabled || (has_parameter(&ledger.value) && stays);
        (dropped && ledger.value.is_idle()).then_some((item, ledger))
    })
}

/// Returns the Java instances that can receive a request now, with their items for which one waits.
/// Pending and disabled items are left out.
fn askable<'a>(cx: &Context<'a>, config: &JobConfig) -> BTreeMap<&'a InstanceId, Waiting<'a>> {
    let mut by_owner: BTreeMap<_, Waiting<'_>> = BTreeMap::new();
    let items = cx.view.restless_items().filter(|(item, _)| config.has_item(*item));
    let waiting = items.filter_map(|(item, view)| {
        let owner = cx.view.java_owner(view)?;
        let ledger = view.ledger.as_ref()?;
        let stays = cx.view.next_owner(item).is_none() && !view.is_disabled();
        (stays && can_be_handed_on(&ledger.value)).then_some((item, owner, ledger))
    });
    for (item, owner, ledger) in waiting.take(cx.settings.items_per_plan) {
        by_owner.entry(owner).or_default().push((item, ledger));
    }
    by_owner.retain(|owner, _| can_be_asked(cx, owner));
    by_owner
}

/// Returns true if a request waits that a Java instance can receive.
fn can_be_handed_on(ledger: &Ledger) -> bool {
    let waits = ledger.request.as_ref().is_some_and(|request| !request.needs_record());
    ledger.is_idle() && waits
}

/// Returns true if the waiting request has a parameter.
fn has_parameter(ledger: &Ledger) -> bool {
    ledger.request.as_ref().is_some_and(|request| request.parameter.is_some())
}

fn can_be_asked(cx: &Context<'_>, instance: &InstanceId) -> bool {
    let runs = cx.view.items_of(instance).any(|(_, view)| view.marks.shows_run());
    !runs && cx.view.run_request_of(instance).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, check, id, idle, item};
    use crate::{Dialect, FireTime, ManualRequest};

    /// Instance 1 leads and owns item 0, a Java instance owns items 1 and 2, and a request waits
    /// for items 0 and 1.
    fn asked_in(dialect: Dialect) -> Scene {
        let request =
            ManualRequest { id: "r".into(), at: FireTime(555), parameter: None, past_fire: None };
        let waits = idle().with_request(request).unwrap();
        let scene = Scene::cluster_in(dialect, 3, 1).java(4).owned(1, 4).owned(2, 4);
        scene.ledger(0, waits.clone()).ledger(1, waits)
    }

    fn asked() -> Scene {
        asked_in(Dialect::V2)
    }

    #[test]
    fn request_goes_to_java_instance_that_can_run_it() {
        let passed = |request| {
            format!(
                "trigger: requests for items of Java instances\n  set ledger/1: idle\n  {request}"
            )
        };
        let (passed, passed_in_3) =
            (passed("set instances/10.0.0.4@-@4: run now"), passed("create trigger/10.0.0.4@-@4"));
        let moving = || {
            let mut record = asked().plan_record();
            record.pending.insert(item(1), &id(1));
            asked().assigned(record)
        };
        let disabled = || {
            let request = ManualRequest {
                id: "r".into(),
                at: FireTime(555),
                parameter: None,
                past_fire: None,
            };
            let ledger = idle().with_request(request).and_then(|l| l.with_disabled(true)).unwrap();
            asked().ledger(1, ledger).marked(&NodeKind::ItemDisabled(item(1)))
        };
        let runs = |i| asked().marked_in_session(&NodeKind::Running(item(i)));
        let rows = [
            ("Java instance is idle", asked(), &*passed),
            ("Java instance of 3.x is idle", asked_in(Dialect::V3), &*passed_in_3),
            ("item runs", runs(1), "nothing"),
            ("Java instance runs another item", runs(2), "nothing"),
            ("Java instance has a request already", asked().triggered(4), "nothing"),
            ("resharding is announced", asked().marked(&NodeKind::Necessary), "nothing"),
            ("item is pending", moving(), "nothing"),
            (
                "item is disabled, but its record is not yet",
                asked().marked(&NodeKind::ItemDisabled(item(1))),
                "nothing",
            ),
            (
                "item and record are disabled",
                disabled(),
                "trigger: requests for items of Java instances\n  set ledger/1: idle, disabled",
            ),
            (
                "item is beyond the number of items",
                asked().configure(|config| config.sharding_total_count = 1),
                "nothing",
            ),
            ("another instance leads", asked().member(2).led_by(2), "nothing"),
            (
                "no request waits for an item of a Java instance",
                asked().ledger(1, idle()),
                "nothing",
            ),
        ];
        check(Duty::Trigger, rows.into());
    }

    /// Without its parameter a run might do something that no operator requested.
    #[test]
    fn request_with_parameter_is_not_sent_to_java_instance() {
        let parameter = crate::RequestParameter::new("february").ok();
        let request =
            ManualRequest { id: "r".into(), at: FireTime(555), parameter, past_fire: None };
        let scene = || asked().ledger(1, idle().with_request(request.clone()).unwrap());
        let moving = || {
            let mut record = scene().plan_record();
            record.pending.insert(item(1), &id(1));
            scene().assigned(record)
        };
        let dropped = "trigger: requests for items of Java instances\n  set ledger/1: idle";
        let rows = [
            ("a Java instance owns the item", scene(), dropped),
            ("item is pending for a Rust instance", moving(), "nothing"),
            ("item has moved to a Rust instance", scene().owned(1, 1), "nothing"),
        ];
        check(Duty::Trigger, rows.into());
    }

    #[test]
    fn handing_on_conflicts_when_java_instance_or_assignment_changed() {
        type Change = fn(Scene) -> Scene;
        let rows: [(&str, Dialect, Change); 5] = [
            ("Java instance has begun a run", Dialect::V2, |scene| {
                scene.marked_in_session(&NodeKind::Running(item(1)))
            }),
            ("resharding is announced", Dialect::V2, |scene| scene.marked(&NodeKind::Necessary)),
            ("items were resharded", Dialect::V2, |scene| {
                let record = scene.plan_record();
                scene.assigned(record)
            }),
            ("Java instance is gone", Dialect::V2, |scene| scene.gone(4)),
            ("Java instance of 3.x is gone", Dialect::V3, |scene| scene.gone(4)),
        ];
        for (case, dialect, change) in rows {
            let scene = asked_in(dialect);
            let plan = scene.plan(Duty::Trigger).unwrap();
            assert!(scene.would_commit(&plan), "{case}: {plan}");
            assert!(!change(scene).would_commit(&plan), "{case}: {plan}");
        }
    }
}
