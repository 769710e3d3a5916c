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
        from: r#"    if first_record.is_none() && runs {
"#,
        to: r#"    if first_record.is_none() && runs && !mutant::is(Mutant::BusyMoved) {
"#,
    },
    Site {
        from: r#"    Some(vec![record, owner_step])
"#,
        to: r#"    let mut steps = vec![record, owner_step];
    if stays && mutant::is(Mutant::OwnersKeptUnchecked) {
        steps.pop();
    }
    Some(steps)
"#,
    },
];
