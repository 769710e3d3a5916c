//! Sites of `crates/coordination/src/duty/resharding/target.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    let membership_matters = !config.static_sharding;
"#,
        to: r#"    let membership_matters = !config.static_sharding || mutant::is(Mutant::StaticMoved);
"#,
    },
    Site {
        from: r#"        (other_members, "the available instances changed"),
        (other_total, "the number of items changed"),
        (other_strategy, "the strategy changed"),
        (other_placement, "the placement rules or attributes changed"),
        (asked_for, "resharding was requested"),
"#,
        to: r#"        (other_members, "the available instances changed", Mutant::AssignedForFewer),
        (other_total, "the number of items changed", Mutant::AssignedForOtherTotal),
        (other_strategy, "the strategy changed", Mutant::AssignedByOtherStrategy),
        (
            other_placement,
            "the placement rules or attributes changed",
            Mutant::AssignedByOtherPlacement,
        ),
        (asked_for, "resharding was requested", Mutant::AssignedUnasked),
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
        from: r#"    if pending.next_owners().any(is_away) {
"#,
        to: r#"    if pending.next_owners().any(is_away) && !mutant::is(Mutant::FollowersStray) {
"#,
    },
    Site {
        from: r#"    let owners = strategy.assign(input);
"#,
        to: r#"    let owners = strategy.assign(input);
    if mutant::is(Mutant::StrategyTrusted) {
        return Ok(owners);
    }
"#,
    },
];
