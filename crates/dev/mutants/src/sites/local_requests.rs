//! Sites of `crates/coordination/src/local/requests.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    pub(crate) fn put_in_doubt(&mut self) {
"#,
    to: r#"    pub(crate) fn put_in_doubt(&mut self) {
        if mutant::is(Mutant::RequestSentAgain) {
            return;
        }
"#,
}];
