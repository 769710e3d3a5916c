//! Sites of `crates/coordination/tests/script/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"/// Number of log lines that a trace shows.
"#,
    to: r#"mod left_out;

/// Number of log lines that a trace shows.
"#,
}];
