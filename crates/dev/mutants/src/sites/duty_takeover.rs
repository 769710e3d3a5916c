//! Sites of `crates/coordination/src/duty/takeover.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        config.has_item(*item) && !view.marks.block_takeover() && !runs_here(cx, *item)
"#,
        to: r#"        let marked = view.marks.block_takeover() && !mutant::is(Mutant::MarksIgnoredAtTakeover);
        let in_force = config.has_item(*item) || mutant::is(Mutant::RetiredTakenOver);
        in_force && !marked && !runs_here(cx, *item)
"#,
    },
    Site {
        from: r#"    cx.local.runs.has(item)
"#,
        to: r#"    cx.local.runs.has(item) && !mutant::is(Mutant::TakeoverBesideOwnRun)
"#,
    },
    Site {
        from: r#"        let unmarked = |view: &ItemView| !view.queued && view.marks.failover.is_none();
"#,
        to: r#"        let unmarked = |view: &ItemView| {
            !view.queued && view.marks.failover.is_none() || mutant::is(Mutant::TakenAtOnceBesideMarks)
        };
"#,
    },
    Site {
        from: r#"        if free.is_empty() {
"#,
        to: r#"        if free.is_empty() || mutant::is(Mutant::NothingTakenAtOnce) {
"#,
    },
    Site {
        from: r#"        if !config.fails_over() || config.start_rate.is_some() || config.group.is_some() {
"#,
        to: r#"        let is_rated = config.start_rate.is_some() && !mutant::is(Mutant::RatedTakenAtOnce);
        let is_grouped = config.group.is_some() && !mutant::is(Mutant::GroupedTakenAtOnce);
        if !config.fails_over() || is_rated || is_grouped {
"#,
    },
    Site {
        from: r#"        let next = limits.grant(next)?;
"#,
        to: r#"        let next = if mutant::is(Mutant::TakeoverWithoutPermit) {
            next
        } else {
            limits.grant(next)?
        };
"#,
    },
    Site {
        from: r#"    cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono)
"#,
        to: r#"    cx.local.orphans_since.is_some_and(|at| at + ORPHAN_PATIENCE <= cx.now.mono)
        || mutant::is(Mutant::BusyTakeOver)
"#,
    },
    Site {
        from: r#"    let place = takers.iter().position(|id| *id == cx.me)?;
"#,
        to: r#"    let place = takers.iter().position(|id| *id == cx.me)?;
    if mutant::is(Mutant::OrphansUnshared) {
        return Some(0..orphans);
    }
"#,
    },
];
