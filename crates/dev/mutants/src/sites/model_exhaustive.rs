//! Sites of `crates/dev/model/src/exhaustive/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod moves;
"#,
    to: r#"mod moves;
mod mutants;
"#,
}];
