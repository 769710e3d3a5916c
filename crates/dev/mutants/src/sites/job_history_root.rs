//! Sites of `crates/job-history/src/lib.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod java_rows;
"#,
    to: r#"mod java_rows;
#[cfg(test)]
#[path = "../../coordination/tests/script/left_out.rs"]
mod left_out;
"#,
}];
