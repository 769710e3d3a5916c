//! Sites of `crates/coordination/src/protocol/ledger/endings.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
"#,
        to: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
        let token = token.filter(|_| !mutant::is(Mutant::TokensGoBack));
"#,
    },
    Site {
        from: r#"            runs: self.runs.with_run(outcome),
"#,
        to: r#"            runs: if mutant::is(Mutant::EndUncounted) {
                self.runs
            } else if mutant::is(Mutant::EndCountedTwice) {
                self.runs.with_run(outcome).with_run(outcome)
            } else {
                self.runs.with_run(outcome)
            },
"#,
    },
];
