//! Sites of `crates/job-history/src/verify/judge.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    (first != last).then(|| {
"#,
        to: r#"    (first != last && !mutant::is(Mutant::RunTwiceUnnoticed)).then(|| {
"#,
    },
    Site {
        from: r#"        if let Some(run) = run.filter(|run| !is_queued(run)) {
"#,
        to: r#"        let stands = |run: &&FireRecord| {
            !is_queued(run) || mutant::is(Mutant::QueuedFireExplainedByNextRun)
        };
        if let Some(run) = run.filter(stands) {
"#,
    },
    Site {
        from: r#"        if self.may_be_on_its_way(fire_ms, item) {
"#,
        to: r#"        if self.may_be_on_its_way(fire_ms, item) && !mutant::is(Mutant::YoungFireUnexplained) {
"#,
    },
    Site {
        from: r#"        let is_last = self.registry.last_fire_ms.is_some_and(|last| last <= fire_ms);
"#,
        to: r#"        let is_last = self.registry.last_fire_ms.is_some_and(|last| last <= fire_ms)
            && !mutant::is(Mutant::LimitUnexplained);
"#,
    },
];
