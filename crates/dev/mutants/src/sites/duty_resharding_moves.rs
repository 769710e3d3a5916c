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
        from: r#"    let in_future = last.0 > cx.max_time_diff().horizon_ms(present);
"#,
        to: r#"    let in_future =
        last.0 > cx.max_time_diff().horizon_ms(present) && !mutant::is(Mutant::BornInFuture);
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
        from: r#"            None if view.is_busy() => return None,
"#,
        to: r#"            None if view.is_busy() && !mutant::is(Mutant::BusyMoved) => return None,
"#,
    },
    Site {
        from: r#"    let kept = view.owner.as_ref().filter(|_| stays && record.is_some());
"#,
        to: r#"    let checked = stays && record.is_some() && !mutant::is(Mutant::OwnersKeptUnchecked);
    let kept = view.owner.as_ref().filter(|_| checked);
"#,
    },
];
