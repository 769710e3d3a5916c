//! Sites of `crates/coordination/src/duty/cleanup.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    stale_entries(cx, |_| true, |_, _| true).or_else(|| expiry::plan(cx))
"#,
    to: r#"    stale_entries(cx, |_| true, |_, _| true)
        .or_else(|| expiry::plan(cx))
        .filter(|_| !mutant::is(Mutant::NoCleanup))
"#,
}];
