//! Sites of `crates/coordination/src/gap/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    pub(crate) fn is_among(&self, gaps: &[Self]) -> bool {
"#,
        to: r#"    pub(crate) fn is_among(&self, gaps: &[Self]) -> bool {
        if mutant::is(Mutant::GapsReportedByEnd) {
            return gaps.iter().any(|gap| gap.until >= self.until);
        }
"#,
    },
    Site {
        from: r#"        if self.until <= present {
"#,
        to: r#"        if self.until <= present || mutant::is(Mutant::FutureGapsKept) {
"#,
    },
];
