//! Sites of `crates/coordination/src/java/cleanup.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        cx.view.java_owner(view).is_none() && cx.local.java.inference.accounted(item).is_none()
"#,
        to: r#"        let of_rust = cx.view.java_owner(view).is_none();
        (of_rust && cx.local.java.inference.accounted(item).is_none())
            || mutant::is(Mutant::JavaMisfiresCleaned)
"#,
    },
    Site {
        from: r#"    cleanup::stale_entries(cx, |_| !mixed, may_unmark).or_else(|| leftovers(cx))
"#,
        to: r#"    let stale = cleanup::stale_entries(
        cx,
        |_| !mixed || mutant::is(Mutant::JavaQueueCleaned),
        may_unmark,
    );
    stale.filter(|_| !mutant::is(Mutant::NoCleanup)).or_else(|| leftovers(cx))
"#,
    },
    Site {
        from: r#"    if !cx.view.has_java_leader() {
"#,
        to: r#"    if !cx.view.has_java_leader() || mutant::is(Mutant::KeptByLeadersOnly) {
"#,
    },
    Site {
        from: r#"    let is_first = cx.view.first_rust_instance() == Some(cx.me);
"#,
        to: r#"    let is_first = cx.view.first_rust_instance() == Some(cx.me) || mutant::is(Mutant::KeptByAnyInstance);
"#,
    },
    Site {
        from: r#"    let to_no_instance = |item: ShardingItem| !config.fails_over() || !config.has_item(item);
"#,
        to: r#"    let to_no_instance = |item: ShardingItem| !config.fails_over() || !config.has_item(item) || mutant::is(Mutant::JavaQueueTaken);
"#,
    },
    Site {
        from: r#"    let stale = queued.filter(|(item, view)| mixed && to_no_instance(*item) && !busy(view));
"#,
        to: r#"    let queue = mixed && !mutant::is(Mutant::JavaQueueStays);
    let busy = |view: &ItemView| busy(view) && !mutant::is(Mutant::BusyDequeued);
    let stale = queued.filter(|(item, view)| queue && to_no_instance(*item) && !busy(view));
"#,
    },
    Site {
        from: r#"    let instances = cx.view.leftover_instances().map(|(id, version)| match version {
        Version(0) => "#,
        to: r#"    let instances = cx.view.leftover_instances().filter(|_| !mutant::is(Mutant::GhostsStay));
    let instances = instances.map(|(id, version)| match version {
        Version(0) if !mutant::is(Mutant::GhostsUnsealed) => "#,
    },
    Site {
        from: r#"    let may_remove = is_shown && cx.view.has_usable_config();
"#,
        to: r#"    let may_remove = is_shown && cx.view.has_usable_config() && !mutant::is(Mutant::EmptyItemsStay);
"#,
    },
];
