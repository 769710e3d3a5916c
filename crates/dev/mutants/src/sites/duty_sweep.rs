//! Sites of `crates/coordination/src/duty/sweep.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let plan = match foreign_leader {
"#,
        to: r#"    let plan = match foreign_leader && !mutant::is(Mutant::SweptByLeadersOnly) {
"#,
    },
    Site {
        from: r#"        let everybodys = !foreign_leader;
"#,
        to: r#"        let everybodys = !foreign_leader || mutant::is(Mutant::SweptByAnybody);
"#,
    },
    Site {
        from: r#"    let gone = |holder: &InstanceId| !cx.view.is_registered(holder);
"#,
        to: r#"    let gone = |holder: &InstanceId| {
        !cx.view.is_registered(holder) || mutant::is(Mutant::SweepIgnoresInstances)
    };
"#,
    },
    Site {
        from: r#"        let ours = cx.view.java_owner(view).is_none();
"#,
        to: r#"        let ours = cx.view.java_owner(view).is_none() || mutant::is(Mutant::JavaItemsTakenOver);
"#,
    },
    Site {
        from: r#"            LedgerState::Running(run) if gone(&run.holder) && cx.view.is_unmarked(view) => {
"#,
        to: r#"            LedgerState::Running(run)
                if gone(&run.holder)
                    && (cx.view.is_unmarked(view) || mutant::is(Mutant::SweepIgnoresMarks)) =>
            {
"#,
    },
    Site {
        from: r#"            LedgerState::Orphan(_) if !wanted => {
"#,
        to: r#"            LedgerState::Orphan(_) if !wanted && !mutant::is(Mutant::OrphansStay) => {
"#,
    },
    Site {
        from: r#"        let fails_over = config.fails_over() && in_force(item);
"#,
        to: r#"        let fails_over = config.fails_over() && in_force(item);
        let fails_over = fails_over && !mutant::is(Mutant::JavaRunsForgotten);
"#,
    },
    Site {
        from: r#"    !told || !cx.view.is_mixed()
"#,
        to: r#"    !told || !cx.view.is_mixed() || mutant::is(Mutant::UntoldQueued)
"#,
    },
    Site {
        from: r#"    let by_java = cx.view.is_mixed();
"#,
        to: r#"    let by_java = cx.view.is_mixed() && !mutant::is(Mutant::JavaTakeoversForgotten);
"#,
    },
    Site {
        from: r#"    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
"#,
        to: r#"    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
    let idle = idle || mutant::is(Mutant::MarksMendedBesideRuns);
"#,
    },
    Site {
        from: r#"    // Until the first fire nobody here knows what has to be taken over. Without a schedule there is none, and nobody waits.
"#,
        to: r#"    // Until the first fire nobody here knows what has to be taken over. Without a schedule there is none, and nobody waits.
    let fires = has_schedule || mutant::is(Mutant::MarksAwaitNoFire);
"#,
    },
    Site {
        from: r#"    let unclear = unclear && has_schedule;
    idle && !view.alive && !unclear && leftovers(cx, view).any()
"#,
        to: r#"    let unclear = unclear && fires;
    let unclear = unclear && !mutant::is(Mutant::MarksMendedEarly);
    !mutant::is(Mutant::JavaMarksStay)
        && idle
        && !view.alive
        && !unclear
        && leftovers(cx, view).any()
"#,
    },
    Site {
        from: r#"    let taken = view.failover.is_some() || (view.running && running.is_none());
"#,
        to: r#"    let taken = view.failover.is_some() || (view.running && running.is_none());
    let taken = taken && !mutant::is(Mutant::TakeoversMended);
"#,
    },
    Site {
        from: r#"    running.into_iter().chain(failovering)
"#,
        to: r#"    let left_behind = running.into_iter().chain(failovering);
    left_behind.filter(|_| !mutant::is(Mutant::LastingMarksStay))
"#,
    },
    Site {
        from: r#"    let known = view.lasting.is_none() || (last && in_force);
"#,
        to: r#"    let known =
        view.lasting.is_none() || (last && in_force) || mutant::is(Mutant::FormerMarksTrusted);
"#,
    },
];
