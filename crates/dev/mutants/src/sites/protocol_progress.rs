//! Sites of `crates/coordination/src/protocol/progress.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        record.is_held(&self.holder, self.token)
"#,
    to: r#"        record.is_held(&self.holder, self.token) || mutant::is(Mutant::RunWritesUnheld)
"#,
}];
