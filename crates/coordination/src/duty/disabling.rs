//! Disabling: the record of an item says whether operators want it not to run, so that no claim can overlook it.

use super::{Context, Duty, parameter_bytes};
use crate::plan::{Plan, Step};
use crate::view::items::Attention;

/// Makes the records say what the nodes of operators say. A claim that has not seen it fails, because it expects the
/// record as it was.
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
    fn records_follow_what_operators_say() {
        let disabled = |scene: Scene| scene.marked(&NodeKind::ItemDisabled(item(0)));
        let flagged = idle().with_disabled(true).unwrap();
        let rows = vec![
            ("nothing to say", Scene::cluster(2, 1), "nothing"),
            (
                "disabled",
                disabled(Scene::cluster(2, 1)),
                "disabling: operators disabled or enabled items\n  set ledger/0: idle, disabled",
            ),
            ("known", disabled(Scene::cluster(2, 1)).ledger(0, flagged.clone()), "nothing"),
            (
                "enabled again",
                Scene::cluster(2, 1).ledger(0, flagged),
                "disabling: operators disabled or enabled items\n  set ledger/0: idle",
            ),
            (
                "while it runs",
                disabled(Scene::cluster(2, 1).ledger(0, running_by(1))),
                "disabling: operators disabled or enabled items\n  set ledger/0: running NORMAL for 200 by 10.0.0.1@-@1, token 1, disabled",
            ),
            ("somebody else leads", disabled(Scene::cluster(2, 2).led_by(2)), "nothing"),
        ];
        check(Duty::Disabling, rows);
    }
}
