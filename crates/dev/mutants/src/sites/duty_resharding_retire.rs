//! Sites of `crates/coordination/src/duty/resharding/retire.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    if view.is_busy() {
"#,
    to: r#"    if view.is_busy() && !mutant::is(Mutant::BusyRetired) {
"#,
}];
