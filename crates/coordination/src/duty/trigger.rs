//! Manual trigger: an operator's request is noticed, and passed on to all instances.

use super::{Context, Duty};
use crate::plan::{Plan, Step};

/// Accepts a request that an operator left at this instance, once it is clear which items that means; passes a request
/// of this process on to all instances.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let left_here = cx.view.trigger_of(cx.me).filter(|_| cx.view.fits_config());
    if let Some(version) = left_here {
        let step = Step::AcceptTrigger { instance: cx.me.clone(), version };
        return Some(Plan::as_session(Duty::Trigger, "triggered by an operator").step(step));
    }
    if !cx.local.trigger_wanted {
        return None;
    }
    let untriggered = cx.view.instances().filter(|id| cx.view.trigger_of(id).is_none());
    let steps = untriggered.filter_map(|id| {
        let version = cx.view.instance_version(id)?;
        Some(Step::RequestTrigger { instance: id.clone(), version })
    });
    Plan::as_instance(Duty::Trigger, cx, "asked to trigger the job").steps(steps).if_any()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check};
    use super::*;

    #[test]
    fn a_request_reaches_every_instance_and_is_accepted_by_each() {
        let wanted = |scene: Scene| scene.local(|local| local.trigger_wanted = true);
        let rows = vec![
            ("nobody asked", Scene::cluster(2, 2), "nothing"),
            (
                "left at me",
                Scene::cluster(2, 2).triggered(1),
                "trigger: triggered by an operator\n  accept the trigger",
            ),
            (
                "left at me before anything is assigned",
                Scene::job(2).member(1).triggered(1),
                "nothing",
            ),
            ("left at somebody else", Scene::cluster(2, 2).triggered(2), "nothing"),
        ];
        check(Duty::Trigger, rows);
        let all =
            "trigger: asked to trigger the job\n  trigger 10.0.0.1@-@1\n  trigger 10.0.0.2@-@2";
        assert_eq!(wanted(Scene::cluster(2, 2)).wants(Duty::Trigger), all);
    }
}
