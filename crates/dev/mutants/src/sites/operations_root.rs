//! Sites of `crates/operations/src/lib.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"mod item_list;
"#,
    to: r#"mod item_list;
#[cfg(test)]
#[path = "../../coordination/tests/script/left_out.rs"]
mod left_out;
"#,
}];
