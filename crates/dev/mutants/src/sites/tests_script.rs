//! Sites of `crates/coordination/tests/script/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"#![allow(dead_code, reason = "every file of stories uses another part of it")]
"#,
    to: r#"#![allow(dead_code, reason = "every file of stories uses another part of it")]

mod left_out;
"#,
}];
