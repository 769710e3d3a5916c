//! Sites of `crates/coordination/src/protocol/ledger/endings.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
"#,
    to: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
        let token = token.filter(|_| !mutant::is(Mutant::TokensGoBack));
"#,
}];
