//! Requests to run in the convention of ElasticJob: an instance is asked, and runs all items that it has.
//!
//! Java instances look at no records, so that this is the only way to ask them. One that is running when it sees the request
//! drops it, and one that is told that items will be assigned anew runs what it has afterwards. So our leader asks a Java
//! instance when neither is the case, and keeps what it cannot ask for yet.

use std::collections::BTreeMap;

use sharding::{InstanceId, ShardingItem};

use crate::duty::trigger::ask;
use crate::duty::{Context, Duty};
use crate::plan::{Plan, Step};
use crate::view::Versioned;
use crate::wire::NodeKind;
use crate::{JobConfig, Ledger};

/// Hands on what was asked for items that Java instances have: their records are read by nobody there. What cannot be asked
/// for yet stays in the record, and is run by ours if the item comes back before.
///
/// The record is emptied and the instance asked in one transaction, so that nothing runs twice for one request. It fails if
/// items are assigned anew, or will be, or the instance has begun to run.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config().filter(|config| config.monitor_execution)?;
    let told = cx.view.is_resharding_announced();
    if !cx.view.is_mixed() || told {
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
        // It marks all items of a fire, so that one tells.
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

/// Returns items of Java instances whose request is dropped: they are disabled, and nobody expects them to run when they are
/// enabled again; or the request has a parameter, which a Java instance cannot be told.
fn dropped<'a>(cx: &Context<'a>) -> impl Iterator<Item = (ShardingItem, &'a Versioned<Ledger>)> {
    let view = cx.view;
    view.restless_items().filter_map(move |(item, shown)| {
        view.java_owner(shown)?;
        let ledger = shown.ledger.as_ref()?;
        let stays = cx.view.next_owner(item).is_none();
        let dropped = ledger.value.disabled || (is_told(&ledger.value) && stays);
        (dropped && ledger.value.is_idle()).then_some((item, ledger))
    })
}

/// Returns the Java instances that can be asked now, with those of their items for which a request waits. Items that are to
/// move are left out, and those that operators have disabled.
fn askable<'a>(cx: &Context<'a>, config: &JobConfig) -> BTreeMap<&'a InstanceId, Waiting<'a>> {
    let mut by_owner: BTreeMap<_, Waiting<'_>> = BTreeMap::new();
    let in_force = |item: ShardingItem| item.index() < config.sharding_total_count;
    let items = cx.view.restless_items().filter(|(item, _)| in_force(*item));
    let waiting = items.filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        let waits = ledger.value.is_idle() && ledger.value.request.is_some();
        let waits = waits && !is_told(&ledger.value);
        let stays = cx.view.next_owner(item).is_none() && !view.is_disabled();
        Some((item, cx.view.java_owner(view)?, ledger)).filter(|_| waits && stays)
    });
    for (item, owner, ledger) in waiting.take(cx.settings.items_per_plan) {
        by_owner.entry(owner).or_default().push((item, ledger));
    }
    by_owner.retain(|owner, _| can_be_asked(cx, owner));
    by_owner
}

/// Returns true if the request that waits has a parameter.
fn is_told(ledger: &Ledger) -> bool {
    ledger.request.as_ref().is_some_and(|request| request.parameter.is_some())
}

fn can_be_asked(cx: &Context<'_>, instance: &InstanceId) -> bool {
    let runs = cx.view.items_of(instance).any(|(_, view)| view.running);
    !runs && cx.view.trigger_of(instance).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, check, id, idle, item};
    use crate::{Dialect, FireTime, ManualRequest};

    /// Item 0 is of instance 1, which leads, items 1 and 2 of a Java instance; a request waits for items 0 and 1.
    fn asked_in(dialect: Dialect) -> Scene {
        let request = ManualRequest { id: "r".into(), at: FireTime(555), parameter: None };
        let waits = idle().with_request(request).unwrap();
        let scene = Scene::cluster_in(dialect, 3, 1).java(4).owned(1, 4).owned(2, 4);
        scene.ledger(0, waits.clone()).ledger(1, waits)
    }

    fn asked() -> Scene {
        asked_in(Dialect::V2)
    }

    #[test]
    fn java_instances_are_asked_when_they_can_run_what_is_asked_for() {
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
            let request = ManualRequest { id: "r".into(), at: FireTime(555), parameter: None };
            let ledger = idle().with_request(request).and_then(|l| l.with_disabled(true)).unwrap();
            asked().ledger(1, ledger).marked(&NodeKind::ItemDisabled(item(1)))
        };
        let runs = |i| asked().marked_in_session(&NodeKind::Running(item(i)));
        let rows = [
            ("it is idle", asked(), &*passed),
            ("in 3.x", asked_in(Dialect::V3), &*passed_in_3),
            ("it runs", runs(1), "nothing"),
            ("it runs something else", runs(2), "nothing"),
            ("it was asked before", asked().triggered(4), "nothing"),
            ("items are about to move", asked().marked(&NodeKind::Necessary), "nothing"),
            ("its item is to move", moving(), "nothing"),
            ("its item is disabled", asked().marked(&NodeKind::ItemDisabled(item(1))), "nothing"),
            (
                "its item is disabled, and its record says so",
                disabled(),
                "trigger: requests for items of Java instances\n  set ledger/1: idle, disabled",
            ),
            (
                "there are fewer items now",
                asked().configure(|config| config.sharding_total_count = 1),
                "nothing",
            ),
            ("somebody else leads", asked().member(2).led_by(2), "nothing"),
            ("nobody waits", asked().ledger(1, idle()), "nothing"),
        ];
        check(Duty::Trigger, rows.into());
    }

    /// It might do what nobody asked for.
    #[test]
    fn java_instances_are_not_asked_for_what_they_cannot_be_told() {
        let parameter = crate::RequestParameter::new("february").ok();
        let request = ManualRequest { id: "r".into(), at: FireTime(555), parameter };
        let scene = || asked().ledger(1, idle().with_request(request.clone()).unwrap());
        let moving = || {
            let mut record = scene().plan_record();
            record.pending.insert(item(1), &id(1));
            scene().assigned(record)
        };
        let dropped = "trigger: requests for items of Java instances\n  set ledger/1: idle";
        let rows = [
            ("it has the item", scene(), dropped),
            ("the item is to move to one of ours", moving(), "nothing"),
            ("it is no longer there", scene().owned(1, 1), "nothing"),
        ];
        check(Duty::Trigger, rows.into());
    }

    #[test]
    fn what_has_changed_meanwhile_is_looked_at_again() {
        type Change = fn(Scene) -> Scene;
        let rows: [(&str, Dialect, Change); 5] = [
            ("it has begun", Dialect::V2, |scene| {
                scene.marked_in_session(&NodeKind::Running(item(1)))
            }),
            ("items are about to be assigned anew", Dialect::V2, |scene| {
                scene.marked(&NodeKind::Necessary)
            }),
            ("items were assigned anew", Dialect::V2, |scene| {
                let record = scene.plan_record();
                scene.assigned(record)
            }),
            ("it is gone", Dialect::V2, |scene| scene.gone(4)),
            ("it is gone, in 3.x", Dialect::V3, |scene| scene.gone(4)),
        ];
        for (case, dialect, change) in rows {
            let scene = asked_in(dialect);
            let plan = scene.plan(Duty::Trigger).unwrap();
            assert!(scene.would_commit(&plan), "{case}: {plan}");
            assert!(!change(scene).would_commit(&plan), "{case}: {plan}");
        }
    }
}
