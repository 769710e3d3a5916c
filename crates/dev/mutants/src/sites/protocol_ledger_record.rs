//! Sites of `crates/coordination/src/protocol/ledger/record.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    pub(crate) fn parameter_bytes(&self) -> usize {
"#,
    to: r#"    pub(crate) fn parameter_bytes(&self) -> usize {
        if mutant::is(Mutant::ParametersWeighNothing) {
            return 0;
        }
"#,
}];
