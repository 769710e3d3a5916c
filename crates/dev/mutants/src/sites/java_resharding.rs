//! Sites of `crates/coordination/src/java/resharding.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if leaves && mixed {
"#,
        to: r#"    if leaves && mixed && !mutant::is(Mutant::AssignedBeforeGoing) {
"#,
    },
    Site {
        from: r#"    if target.reason == PENDING && !moves.change(&target) && !ends {
"#,
        to: r#"    if target.reason == PENDING && !moves.change(&target) && !ends && !mutant::is(Mutant::FollowedForNothing) {
"#,
    },
    Site {
        from: r#"    moves.steps.extend(ends.then(Step::end_announcement));
"#,
        to: r#"    let cleared = ends && !mutant::is(Mutant::AnnouncementStays);
    moves.steps.extend(cleared.then(Step::end_announcement));
"#,
    },
    Site {
        from: r#"        if cx.local.java.may_have_run_fires(cx.view) {
"#,
        to: r#"        if cx.local.java.may_have_run_fires(cx.view) && !mutant::is(Mutant::DueBesideJava) {
"#,
    },
    Site {
        from: r#"    let concerned = target.reason != PENDING || moves_from_java();
    let announced = cx.view.is_necessary();
"#,
        to: r#"    let from_java = moves_from_java() && !mutant::is(Mutant::FollowedUnannounced);
    let concerned = target.reason != PENDING || from_java;
    let announced = cx.view.is_necessary() || mutant::is(Mutant::MovesUnannounced);
"#,
    },
    Site {
        from: r#"    let rest = cx.view.is_mixed() && moves.is_partial;
"#,
        to: r#"    let rest = cx.view.is_mixed() && moves.is_partial && !mutant::is(Mutant::AnnouncementEndsEarly);
"#,
    },
    Site {
        from: r#"    cx.view.is_mixed() && !over && under_java()
"#,
        to: r#"    let patient = !over || mutant::is(Mutant::JavaRunsAwaitedForEver);
    let waits = under_java() && !mutant::is(Mutant::JavaRunsUnawaited);
    cx.view.is_mixed() && patient && waits
"#,
    },
    Site {
        from: r#"    cx.view.is_mixed() && cx.local.java.near_fire.is_some()
"#,
        to: r#"    cx.view.is_mixed() && cx.local.java.near_fire.is_some() && !mutant::is(Mutant::MovedAtFires)
"#,
    },
    Site {
        from: r#"        if interrupted(self.0, item).is_some() {
"#,
        to: r#"        if interrupted(self.0, item).is_some() && !mutant::is(Mutant::BornBesideInterrupted) {
"#,
    },
    Site {
        from: r#"        if postponed && was_java { accounted } else { last }
"#,
        to: r#"        if postponed && was_java && !mutant::is(Mutant::BornHeldBack) { accounted } else { last }
"#,
    },
    Site {
        from: r#"        if leaves_java && shown.marks.shows_run() {
"#,
        to: r#"        if leaves_java && shown.marks.shows_run() && !mutant::is(Mutant::JavaRunMoved) {
"#,
    },
    Site {
        from: r#"    last >= Some(postponed) && !shown.is_of(owner) && cx.view.is_java(owner)
"#,
        to: r#"    let again = last >= Some(postponed) && !shown.is_of(owner) && cx.view.is_java(owner);
    again && !mutant::is(Mutant::HeldBackRunTwice)
"#,
    },
];
