//! Sites of `crates/operations/src/act/removal.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        Removal::UnlessAlive if !instances.is_empty() => {
"#,
    to: r#"        Removal::UnlessAlive
            if !instances.is_empty() && !mutant::is(Mutant::LiveJobRemoved) =>
        {
"#,
}];
