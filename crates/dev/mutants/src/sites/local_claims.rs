//! Sites of `crates/coordination/src/local/claims.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.before = self.before.max(before);
"#,
    to: r#"        self.before = self.before.max(before);
        if mutant::is(Mutant::EarlierClaimForgotten) {
            self.configs.clear();
        }
"#,
}];
