//! Sites of `crates/coordination/src/duty/gap_judge.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let gaps = self.gaps(before, until);
"#,
        to: r#"        let noted = after.is_busy() && before.is_busy();
        let gaps = match noted && mutant::is(Mutant::NotedOverHoles) {
            true => Vec::new(),
            false => self.gaps(before, until),
        };
"#,
    },
    Site {
        from: r#"        if self.judgement.unrecorded_runs {
"#,
        to: r#"        if self.judgement.unrecorded_runs || mutant::is(Mutant::RetiredInSilence) {
"#,
    },
    Site {
        from: r#"    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
"#,
        to: r#"    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
        if mutant::is(Mutant::GapsUnrecorded) {
            return Vec::new();
        }
"#,
    },
];
