//! Sites of `crates/operations/tests/it.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod job_action;
"#,
    to: r#"mod job_action;
#[path = "../../coordination/tests/script/left_out.rs"]
mod left_out;
"#,
}];
