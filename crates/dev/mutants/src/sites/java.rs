//! Sites of `crates/coordination/src/java/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    !has_parameter || !cx.view.is_mixed()
"#,
    to: r#"    !has_parameter || !cx.view.is_mixed() || mutant::is(Mutant::UntoldQueued)
"#,
}];
