//! Sites of `crates/coordination/src/duty/resharding/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    if target.reason == PENDING && !moves.change(&target) {
"#,
        to: r#"    if target.reason == PENDING && !moves.change(&target) && !mutant::is(Mutant::FollowedForNothing) {
"#,
    },
    Site {
        from: r#"    if cx.local.session.awaits_time {
"#,
        to: r#"    if cx.local.session.awaits_time && !mutant::is(Mutant::TimeUnawaited) {
"#,
    },
];
