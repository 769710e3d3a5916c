//! Sites of `crates/coordination/src/view/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        Some(begun.unwrap_or_else(|| ended.next(delay)))
"#,
    to: r#"        let begun = begun.filter(|_| !mutant::is(Mutant::BegunFireReplaced));
        Some(begun.unwrap_or_else(|| ended.next(delay)))
"#,
}];
