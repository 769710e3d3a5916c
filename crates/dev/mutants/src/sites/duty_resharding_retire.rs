//! Sites of `crates/coordination/src/duty/resharding/retire.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    view.has_usable_config()
"#,
        to: r#"    view.has_usable_config() || mutant::is(Mutant::RetiredByOlderConfig)
"#,
    },
    Site {
        from: r#"    if view.is_busy() {
"#,
        to: r#"    if view.is_busy() && !mutant::is(Mutant::BusyRetired) {
"#,
    },
];
