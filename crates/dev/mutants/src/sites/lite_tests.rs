//! Sites of `crates/lite/tests/it.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod keys;
"#,
    to: r#"mod keys;
#[path = "../../coordination/tests/script/left_out.rs"]
mod left_out;
"#,
}];
