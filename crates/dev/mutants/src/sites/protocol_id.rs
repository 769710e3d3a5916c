//! Sites of `crates/coordination/src/protocol/id.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        Self(ms | 1)
"#,
    to: r#"        Self(if mutant::is(Mutant::EvenRequests) { ms - ms % 1_000 } else { ms | 1 })
"#,
}];
