//! Sites of `crates/coordination/src/duty/misfire.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let notes = config.catch_up.is_none() && config.fixed_delay().is_none();
"#,
        to: r#"    let notes = config.catch_up.is_none()
        && (config.fixed_delay().is_none() || mutant::is(Mutant::DelayedFireNoted));
"#,
    },
    Site {
        from: r#"    let noted = if notes { note(cx, config) } else { None };
    noted.or_else(|| run(cx, config))
"#,
        to: r#"    let noted =
        if notes && !mutant::is(Mutant::MisfireUnnoted) { note(cx, config) } else { None };
    noted.or_else(|| run(cx, config).filter(|_| !mutant::is(Mutant::MisfireUnplayed)))
"#,
    },
    Site {
        from: r#"                Some(noted.yielding_to(fire, cx.now.wall_ms))
"#,
        to: r#"                if mutant::is(Mutant::OverlapNotCancelled) {
                    return Some(noted);
                }
                Some(noted.yielding_to(fire, cx.now.wall_ms))
"#,
    },
    Site {
        from: r#"                let skips = ledger.is_idle() && own.view.is_disabled();
"#,
        to: r#"                let skips = ledger.is_idle()
                    && own.view.is_disabled()
                    && !mutant::is(Mutant::DisabledFireQueued);
"#,
    },
    Site {
        from: r#"    config.queue_limit().is_some() && !ledger.queued.is_empty()
"#,
        to: r#"    let queues = config.queue_limit().is_some() || mutant::is(Mutant::QueueOutlivesPolicy);
    queues && !ledger.queued.is_empty() && !mutant::is(Mutant::QueueMerged)
"#,
    },
    Site {
        from: r#"        let claimed_anyway = !is_queued && due.is_some_and(will_be_claimed);
        if own.view.is_disabled() || claimed_anyway || !own.is_free(cx.local) {
"#,
        to: r#"        let claimed_anyway = !is_queued
            && due.is_some_and(will_be_claimed)
            && !mutant::is(Mutant::ReplayBesideDue);
        let disabled = own.view.is_disabled() && !mutant::is(Mutant::DisabledUnnoticed);
        if disabled || claimed_anyway || !own.is_free(cx.local) {
"#,
    },
];
