//! Sites of `crates/coordination/src/runs.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        if self.may_be_unmarked && is_later_run {
            return MarkSet::default();
        }
"#,
    to: r#"        if mutant::is(Mutant::FencedMarksStay) {
            return MarkSet::default();
        }
        if self.may_be_unmarked && is_later_run && !mutant::is(Mutant::LaterRunsMarksRemoved) {
            return MarkSet::default();
        }
"#,
}];
