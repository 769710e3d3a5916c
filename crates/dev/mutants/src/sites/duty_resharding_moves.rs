//! Sites of `crates/coordination/src/duty/resharding/moves.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let last = last_fire(cx);
"#,
        to: r#"        let last = last_fire(cx).filter(|_| !mutant::is(Mutant::BornBefore));
"#,
    },
    Site {
        from: r#"    let in_future = last.0 > cx.horizon_ms();
"#,
        to: r#"    let in_future = last.0 > cx.horizon_ms() && !mutant::is(Mutant::BornInFuture);
"#,
    },
    Site {
        from: r#"        Self { last, next }
"#,
        to: r#"        Self { last, next: next.filter(|_| !mutant::is(Mutant::BornOwingNothing)) }
"#,
    },
    Site {
        from: r#"    if view.unreadable {
"#,
        to: r#"    if view.unreadable && !mutant::is(Mutant::UnreadableMoved) {
"#,
    },
    Site {
        from: r#"    if (first_record.is_none() && runs) || (!stays && further_runs) {
"#,
        to: r#"    let runs = runs && !mutant::is(Mutant::BusyMoved);
    let further_runs = further_runs && !mutant::is(Mutant::FurtherRunMoved);
    if (first_record.is_none() && runs) || (!stays && further_runs) {
"#,
    },
    Site {
        from: r#"    Some([record, owner_step].into_iter().chain(idle_slots).collect())
"#,
        to: r#"    let idle_slots = idle_slots.filter(|_| !mutant::is(Mutant::FurtherRecordsUnchecked));
    let mut steps: Vec<_> = [record, owner_step].into_iter().chain(idle_slots).collect();
    if stays && mutant::is(Mutant::OwnersKeptUnchecked) {
        steps.remove(1);
    }
    Some(steps)
"#,
    },
];
