//! Sites of `crates/coordination/src/protocol/ledger/run.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.is_scheduled() && self.merged.is_none()
"#,
    to: r#"        (self.is_scheduled() || mutant::is(Mutant::ManualRunCancelled))
            && (self.merged.is_none() || mutant::is(Mutant::MergedRunCancelled))
"#,
}];
