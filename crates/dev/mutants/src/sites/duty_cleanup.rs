//! Sites of `crates/coordination/src/duty/cleanup.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    of_ours(cx).or_else(|| of_java(cx))
"#,
        to: r#"    let plan = of_ours(cx).filter(|_| !mutant::is(Mutant::NoCleanup));
    plan.or_else(|| of_java(cx))
"#,
    },
    Site {
        from: r#"    let mixed = cx.view.is_mixed();
"#,
        to: r#"    let mixed = cx.view.is_mixed() && !mutant::is(Mutant::JavaQueueCleaned);
"#,
    },
    Site {
        from: r#"        let ours = cx.view.java_owner(view).is_none();
"#,
        to: r#"        let all_ours = mutant::is(Mutant::JavaMisfiresCleaned);
        let ours = all_ours || cx.view.java_owner(view).is_none();
"#,
    },
    Site {
        from: r#"        if cx.local.foreign.accounted(item).is_some() {
"#,
        to: r#"        if cx.local.foreign.accounted(item).is_some() && !all_ours {
"#,
    },
    Site {
        from: r#"    let to_nobody = |item: ShardingItem| !config.fails_over() || !in_force(item);
    let java = cx.view.is_mixed();
"#,
        to: r#"    let to_nobody = |item: ShardingItem| {
        !config.fails_over() || !in_force(item) || mutant::is(Mutant::JavaQueueTaken)
    };
    let java = cx.view.is_mixed() && !mutant::is(Mutant::JavaQueueStays);
"#,
    },
    Site {
        from: r#"    let busy = |view: &ItemView| view.ledger.as_ref().is_some_and(|l| l.value.is_busy());
"#,
        to: r#"    let busy = |view: &ItemView| view.ledger.as_ref().is_some_and(|l| l.value.is_busy());
    let ours = |view: &ItemView| busy(view) && !mutant::is(Mutant::BusyDequeued);
"#,
    },
    Site {
        from: r#"        cx.view.items_with(Sign::Queued).filter(|(item, v)| java && to_nobody(*item) && !busy(v));
    let ghosts = cx.view.ghosts().map(|(id, version)| match version {
        Version(0) => Step::seal_leftover_instance(id.clone()),
"#,
        to: r#"        cx.view.items_with(Sign::Queued).filter(|(item, v)| java && to_nobody(*item) && !ours(v));
    let ghosts = cx.view.ghosts().filter(|_| !mutant::is(Mutant::GhostsStay));
    let ghosts = ghosts.map(|(id, version)| match version {
        Version(0) if !mutant::is(Mutant::GhostsUnsealed) => Step::seal_leftover_instance(id.clone()),
"#,
    },
    Site {
        from: r#"    let goes = is_shown && cx.view.has_usable_config();
"#,
        to: r#"    let goes = is_shown && cx.view.has_usable_config() && !mutant::is(Mutant::EmptyItemsStay);
"#,
    },
];
