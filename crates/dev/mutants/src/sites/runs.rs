//! Sites of `crates/coordination/src/runs.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        self.marks.shown_in(&item.marks, &self.holder, session)
"#,
    to: r#"        if mutant::is(Mutant::FencedMarksStay) {
            return MarkSet::default();
        }
        self.marks.shown_in(&item.marks, &self.holder, session)
"#,
}];
