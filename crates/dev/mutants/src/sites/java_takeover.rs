//! Sites of `crates/coordination/src/java/takeover.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        Turn::Mine(leave) => Some(plan.step(leave)),
"#,
        to: r#"        Turn::Mine(leave) => Some(plan.step_if(!mutant::is(Mutant::TurnKept), || leave)),
        Turn::Impatient(leave) if mutant::is(Mutant::TakenOutOfTurn) => Some(plan.step(leave)),
"#,
    },
    Site {
        from: r#"        return takeover::take(cx, |view| view.queued, |orphans| one(cx, orphans));
"#,
        to: r#"        let queued = |view: &crate::view::item::ItemView| {
            view.queued || mutant::is(Mutant::TakenOutOfQueue)
        };
        return takeover::take(cx, queued, |orphans| one(cx, orphans));
"#,
    },
    Site {
        from: r#"    let takes_over = cx.local.runs.iter().any(|(_, run)| run.source == RunSource::Failover);
"#,
        to: r#"    let takes_over = cx.local.runs.iter().any(|(_, run)| run.source == RunSource::Failover);
    let takes_over = takes_over && !mutant::is(Mutant::TakeoversPileUp);
"#,
    },
];
