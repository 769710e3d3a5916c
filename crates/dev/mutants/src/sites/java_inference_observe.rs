//! Sites of `crates/coordination/src/java/inference/observe.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if view.is_resharding_announced() {
"#,
        to: r#"        if view.is_resharding_announced() && !mutant::is(Mutant::HeldBackAccounted) {
"#,
    },
    Site {
        from: r#"        if now.wall_ms - at.0 >= lag_ms() {
"#,
        to: r#"        if now.wall_ms - at.0 >= lag_ms() || mutant::is(Mutant::LateInstancesAccounted) {
"#,
    },
    Site {
        from: r#"        let has_mark = |run: &&JavaRun| !run.taken_over && run.ended.is_none_or(lately);
"#,
        to: r#"        let has_mark = |run: &&JavaRun| !run.taken_over && run.ended.is_none_or(lately) && !mutant::is(Mutant::EarlyMarksDoubted);
"#,
    },
    Site {
        from: r#"            self.tentative.remove(owner);
"#,
        to: r#"            if !mutant::is(Mutant::BegunFiresDoubted) {
                self.tentative.remove(owner);
            }
"#,
    },
    Site {
        from: r#"        if !is_rust_run {
            self.observe_mark(view, item, view.item(item), fire);
"#,
        to: r#"        if !is_rust_run && !mutant::is(Mutant::ShortRunsUnseen) {
            self.observe_mark(view, item, view.item(item), fire);
"#,
    },
    Site {
        from: r#"            && let Some(at) = self.postponed.take()
"#,
        to: r#"            && let Some(at) = self.postponed.take()
            && !mutant::is(Mutant::HeldBackForgotten)
"#,
    },
    Site {
        from: r#"            let just_now = |ended| now.mono < ended + GRACE;
            let lately = run.ended.is_none_or(just_now);
"#,
        to: r#"            let just_now = |ended| now.mono < ended + GRACE && !mutant::is(Mutant::GraceForgotten);
            let lately = run.ended.is_none_or(just_now) || mutant::is(Mutant::GraceEndless);
"#,
    },
    Site {
        from: r#"            if lately && gone && !run.lasting {
"#,
        to: r#"            if lately && gone && (!run.lasting || mutant::is(Mutant::LastingRunsLost)) {
"#,
    },
    Site {
        from: r#"            open && !taken
"#,
        to: r#"            open && !taken || mutant::is(Mutant::LostRunsKept)
"#,
    },
    Site {
        from: r#"        if shown.marks.failover.is_some() {
"#,
        to: r#"        if shown.marks.failover.is_some() && !mutant::is(Mutant::TakersForgotten) {
"#,
    },
    Site {
        from: r#"        if is_rust_run {
"#,
        to: r#"        if is_rust_run && !mutant::is(Mutant::RustRunsTakenForJava) {
"#,
    },
    Site {
        from: r#"        let accounted = self.accounted.entry(item).or_insert(fire);
        *accounted = fire.max(*accounted);
"#,
        to: r#"        if !mutant::is(Mutant::JavaMarksUnaccounted) {
            let accounted = self.accounted.entry(item).or_insert(fire);
            *accounted = fire.max(*accounted);
        }
"#,
    },
];
