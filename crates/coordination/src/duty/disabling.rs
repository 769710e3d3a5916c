//! Disabling: the leader copies the operators' disabling of items into the ledger records, where no
//! claim can miss it.

use super::{Context, parameter_bytes};
use crate::Duty;
use crate::plan::{Plan, Step};
use crate::view::item::Attention;

/// Copies the presence of the items' `disabled` nodes into their records. A claim from a stale view
/// conflicts, because it expects the former record.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let changed = cx.view.items_with(Attention::DisablingChanged).filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        let next = ledger.value.with_disabled(view.disabled)?;
        let set = Step::set_ledger(item, Some(ledger.version), next);
        Some([Step::item_disabled(item, view.disabled), set])
    });
    let steps = cx.within_one_plan(changed, |steps| parameter_bytes(steps)).flatten();
    Plan::as_leader(Duty::Disabling, cx, "operators disabled or enabled items")?
        .steps(steps)
        .if_any()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, idle, item, running_by};
    use super::*;
    use crate::wire::NodeKind;

    #[test]
    fn leader_copies_disabling_into_records() {
        let disabled = |scene: Scene| scene.marked(&NodeKind::ItemDisabled(item(0)));
        let flagged = idle().with_disabled(true).unwrap();
        let rows = vec![
            ("no item is disabled", Scene::cluster(2, 1), "nothing"),
            (
                "item is disabled",
                disabled(Scene::cluster(2, 1)),
                "disabling: operators disabled or enabled items\n  set ledger/0: idle, disabled",
            ),
            (
                "record is disabled already",
                disabled(Scene::cluster(2, 1)).ledger(0, flagged.clone()),
                "nothing",
            ),
            (
                "item is enabled again",
                Scene::cluster(2, 1).ledger(0, flagged),
                "disabling: operators disabled or enabled items\n  set ledger/0: idle",
            ),
            (
                "item runs",
                disabled(Scene::cluster(2, 1).ledger(0, running_by(1))),
                "disabling: operators disabled or enabled items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, disabled",
            ),
            ("another instance leads", disabled(Scene::cluster(2, 2).led_by(2)), "nothing"),
        ];
        check(Duty::Disabling, rows);
    }
}
