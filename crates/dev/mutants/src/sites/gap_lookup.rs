//! Sites of `crates/coordination/src/gap/lookup.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let (mut before, mut end) = (policy.window_start(present), present);
"#,
    to: r#"        let (mut before, mut end) = (policy.window_start(present), present);
        if mutant::is(Mutant::LastFireBeyondWindow) {
            before = FireTime(0);
        }
"#,
}];
