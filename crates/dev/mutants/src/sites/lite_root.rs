//! Sites of `crates/lite/src/lib.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod job_record;
"#,
    to: r#"mod job_record;
#[cfg(test)]
#[path = "../../coordination/tests/script/left_out.rs"]
mod left_out;
"#,
}];
