//! Sites of `crates/coordination/src/duty/settings.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"pub(crate) fn items_per_plan(limits: Limits) -> usize {
"#,
    to: r#"pub(crate) fn items_per_plan(limits: Limits) -> usize {
    if mutant::is(Mutant::RoomIgnored) {
        return MAX_ITEMS_PER_PLAN;
    }
"#,
}];
