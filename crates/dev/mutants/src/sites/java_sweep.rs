//! Sites of `crates/coordination/src/java/sweep.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if cx.view.has_java_leader() {
"#,
        to: r#"    if cx.view.has_java_leader() && !mutant::is(Mutant::SweptByLeadersOnly) {
"#,
    },
    Site {
        from: r#"        fails_over(config, item) && !owned_by_java && cx.view.can_be_queued(ledger)
"#,
        to: r#"        let owned_by_java = owned_by_java && !mutant::is(Mutant::JavaItemsTakenOver);
        fails_over(config, item) && !owned_by_java && cx.view.can_be_queued(ledger)
"#,
    },
    Site {
        from: r#"    if cx.view.takes_turns() {
"#,
        to: r#"    if cx.view.takes_turns() && !mutant::is(Mutant::TakenAtOnceBesideJava) {
"#,
    },
    Site {
        from: r#"    if !cx.view.has_java_leader() {
        return true;
"#,
        to: r#"    if !cx.view.has_java_leader() || mutant::is(Mutant::SweptByAnyInstance) {
        return true;
"#,
    },
    Site {
        from: r#"    let by_java = cx.view.is_mixed();
"#,
        to: r#"    let by_java = cx.view.is_mixed() && !mutant::is(Mutant::JavaTakeoversForgotten);
"#,
    },
    Site {
        from: r#"    let known = run.view.marks.lasting_holder().is_none() || (last && in_force);
"#,
        to: r#"    let known = run.view.marks.lasting_holder().is_none() || (last && in_force) || mutant::is(Mutant::FormerMarksTrusted);
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
        from: r#"    let fails_over = fails_over(config, item);
"#,
        to: r#"    let fails_over = fails_over(config, item) && !mutant::is(Mutant::JavaRunsForgotten);
"#,
    },
    Site {
        from: r#"    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
"#,
        to: r#"    let idle = view.ledger.as_ref().is_none_or(|l| !l.value.is_busy()) && !view.unreadable;
    let idle = idle || mutant::is(Mutant::MarksRemovedBesideRuns);
"#,
    },
    Site {
        from: r#"    let awaits_fire = cx.local.fires.last_seen.is_none() && has_schedule;
    let unclear = fails_over && view.marks.failover.is_none() && awaits_fire;
    idle && !view.marks.alive && !unclear && leftover_marks(cx, view).any()
"#,
        to: r#"    let has_schedule = has_schedule || mutant::is(Mutant::MarksAwaitNoFire);
    let awaits_fire = cx.local.fires.last_seen.is_none() && has_schedule;
    let unclear = fails_over && view.marks.failover.is_none() && awaits_fire;
    let unclear = unclear && !mutant::is(Mutant::MarksRemovedEarly);
    !mutant::is(Mutant::JavaMarksStay)
        && idle
        && !view.marks.alive
        && !unclear
        && leftover_marks(cx, view).any()
"#,
    },
    Site {
        from: r#"    let taken = view.marks.failover.is_some() || (view.marks.shows_run() && running.is_none());
"#,
        to: r#"    let taken = view.marks.failover.is_some() || (view.marks.shows_run() && running.is_none());
    let taken = taken && !mutant::is(Mutant::TakeoversRemoved);
"#,
    },
];
