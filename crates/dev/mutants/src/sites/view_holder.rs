//! Sites of `crates/coordination/src/view/holder.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if self.is_registered(holder) {
"#,
        to: r#"        if self.is_registered(holder) && !mutant::is(Mutant::SweepIgnoresInstances) {
"#,
    },
    Site {
        from: r#"        if self.is_unmarked(item) { HolderState::Gone } else { HolderState::Unknown }
"#,
        to: r#"        if self.is_unmarked(item) || mutant::is(Mutant::SweepIgnoresMarks) { HolderState::Gone } else { HolderState::Unknown }
"#,
    },
];
