//! Sites of `crates/coordination/src/duty/resharding.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if goes && cx.view.is_mixed() {
"#,
        to: r#"    if goes && cx.view.is_mixed() && !mutant::is(Mutant::AssignedBeforeGoing) {
"#,
    },
    Site {
        from: r#"    if cx.local.awaits_time {
"#,
        to: r#"    if cx.local.awaits_time && !mutant::is(Mutant::TimeUnawaited) {
"#,
    },
    Site {
        from: r#"    let born = last_fire(cx);
"#,
        to: r#"    let born = last_fire(cx).filter(|_| !mutant::is(Mutant::BornBefore));
"#,
    },
    Site {
        from: r#"    if target.reason == FOLLOW && !changes && !ends {
"#,
        to: r#"    if target.reason == FOLLOW && !changes && !ends && !mutant::is(Mutant::FollowedForNothing) {
"#,
    },
    Site {
        from: r#"    let known = !cx.view.is_mixed() && !cx.local.foreign.is_known();
"#,
        to: r#"    let known = !cx.view.is_mixed() && !cx.local.foreign.is_known();
    let known = known || mutant::is(Mutant::DueBesideJava);
"#,
    },
    Site {
        from: r#"    let expect = cx.view.assignment_version();
"#,
        to: r#"    let expect = cx.view.assignment_version();
    let cleared = ends && !mutant::is(Mutant::AnnouncementStays);
"#,
    },
    Site {
        from: r#"        .step_if(ends, Step::end_announcement)
"#,
        to: r#"        .step_if(cleared, Step::end_announcement)
"#,
    },
    Site {
        from: r#"    let concerned = target.reason != FOLLOW || moves.from_java;
    let told = cx.view.is_necessary();
"#,
        to: r#"    let follows_from_java = moves.from_java && !mutant::is(Mutant::FollowedUnannounced);
    let concerned = target.reason != FOLLOW || follows_from_java;
    let told = cx.view.is_necessary() || mutant::is(Mutant::MovesUnannounced);
"#,
    },
    Site {
        from: r#"    !near
"#,
        to: r#"    !near || mutant::is(Mutant::MovedAtFires)
"#,
    },
    Site {
        from: r#"    let rest = cx.view.is_mixed() && moves.is_partial;
"#,
        to: r#"    let rest = cx.view.is_mixed() && moves.is_partial && !mutant::is(Mutant::AnnouncementEndsEarly);
"#,
    },
    Site {
        from: r#"    cx.view.is_mixed() && !over && moves.under_java
"#,
        to: r#"    let patient = !over || mutant::is(Mutant::JavaRunsAwaitedForEver);
    let waits = moves.under_java && !mutant::is(Mutant::JavaRunsUnawaited);
    cx.view.is_mixed() && patient && waits
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
        from: r#"    if held_back && was_java { accounted } else { last }
"#,
        to: r#"    if held_back && was_java && !mutant::is(Mutant::BornHeldBack) { accounted } else { last }
"#,
    },
    Site {
        from: r#"    let joins_count = !config.static_sharding;
"#,
        to: r#"    let joins_count = !config.static_sharding || mutant::is(Mutant::StaticMoved);
"#,
    },
    Site {
        from: r#"        (other_members, "the available instances changed"),
        (other_total, "the number of items changed"),
        (other_strategy, "the strategy changed"),
        (asked_for, "it was asked for"),
"#,
        to: r#"        (other_members, "the available instances changed", Mutant::AssignedForFewer),
        (other_total, "the number of items changed", Mutant::AssignedForOtherTotal),
        (other_strategy, "the strategy changed", Mutant::AssignedByOtherStrategy),
        (asked_for, "it was asked for", Mutant::AssignedUnasked),
"#,
    },
    Site {
        from: r#"    let reason = rows.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
"#,
        to: r#"    let mut rows = rows.into_iter().filter(|(.., left_out)| !mutant::is(*left_out));
    let reason = rows.find_map(|(holds, reason, _)| holds.then_some(reason));
"#,
    },
    Site {
        from: r#"    let stray = || strays().then_some(STRAY);
"#,
        to: r#"    let stray = || (!mutant::is(Mutant::StraysLeft) && strays()).then_some(STRAY);
"#,
    },
    Site {
        from: r#"    done && current.counts.iter().any(differs)
"#,
        to: r#"    done && current.counts.iter().any(differs) && !mutant::is(Mutant::MiscountsKept)
"#,
    },
    Site {
        from: r#"    own && is_unfinished(view, config)
"#,
        to: r#"    own && is_unfinished(view, config) && !mutant::is(Mutant::AnnouncementTakenForRequest)
"#,
    },
    Site {
        from: r#"    if pending.next_owners().any(is_away) {
"#,
        to: r#"    if pending.next_owners().any(is_away) && !mutant::is(Mutant::FollowersStray) {
"#,
    },
    Site {
        from: r#"    pending || unrecorded() || surplus()
"#,
        to: r#"    !mutant::is(Mutant::NeverFollow) && (pending || unrecorded() || surplus())
"#,
    },
    Site {
        from: r#"    view.has_usable_config()
"#,
        to: r#"    view.has_usable_config() || mutant::is(Mutant::RetiredByOlderConfig)
"#,
    },
    Site {
        from: r#"    let owners = strategy.assign(&input);
"#,
        to: r#"    let owners = strategy.assign(&input);
    if mutant::is(Mutant::StrategyTrusted) {
        return Ok(owners);
    }
"#,
    },
    Site {
        from: r#"            let interrupted = cx.interrupted(item).is_some();
"#,
        to: r#"            let interrupted =
                cx.interrupted(item).is_some() && !mutant::is(Mutant::BornBesideInterrupted);
"#,
    },
    Site {
        from: r#"    last >= Some(waits) && moves && cx.view.is_foreign(owner)
"#,
        to: r#"    let again = last >= Some(waits) && moves && cx.view.is_foreign(owner);
    again && !mutant::is(Mutant::HeldBackRunTwice)
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
        from: r#"    if of_java && !stays && view.running {
"#,
        to: r#"    if of_java && !stays && view.running && !mutant::is(Mutant::JavaRunMoved) {
"#,
    },
    Site {
        from: r#"            None if view.is_busy() => return None,
"#,
        to: r#"            None if view.is_busy() && !mutant::is(Mutant::BusyMoved) => return None,
"#,
    },
    Site {
        from: r#"    let kept = (stays && record.is_some())
"#,
        to: r#"    let kept = (stays && record.is_some() && !mutant::is(Mutant::OwnersKeptUnchecked))
"#,
    },
    Site {
        from: r#"    if view.is_busy() {
"#,
        to: r#"    if view.is_busy() && !mutant::is(Mutant::BusyRetired) {
"#,
    },
];
