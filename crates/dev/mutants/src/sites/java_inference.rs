//! Sites of `crates/coordination/src/java/inference/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.postponed.or(resumed)
"#,
        to: r#"        self.postponed.or(resumed.filter(|_| !mutant::is(Mutant::HeldBackFollowedAtOnce)))
"#,
    },
    Site {
        from: r#"        let open = is_open(view, item, run.fire);
        let taken = shown.marks.failover.is_some();
"#,
        to: r#"        let open = is_open(view, item, run.fire) || mutant::is(Mutant::SettledRunsInterrupted);
        let taken = shown.marks.failover.is_some() && !mutant::is(Mutant::JavaTakeoversIgnored);
"#,
    },
    Site {
        from: r#"        self.runs.get(&item).is_some_and(waits)
"#,
        to: r#"        self.runs.get(&item).is_some_and(waits) && !mutant::is(Mutant::TakeoversDecidedEarly)
"#,
    },
    Site {
        from: r#"        ended.chain(resumed).min()
"#,
        to: r#"        ended.chain(resumed).min().filter(|_| !mutant::is(Mutant::TakeoversUnwatched))
"#,
    },
];
