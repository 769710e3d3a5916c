//! Sites of `crates/lite/src/output.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let (seq, left_out) = window.add(text.len() + LINE_OVERHEAD);
"#,
        to: r#"        let (seq, left_out) = window.add(text.len() + LINE_OVERHEAD);
        let left_out = left_out.filter(|_| !mutant::is(Mutant::OutputUnbounded));
"#,
    },
    Site {
        from: r#"        if window.is_over {
"#,
        to: r#"        if window.is_over && !mutant::is(Mutant::LateLineKept) {
"#,
    },
    Site {
        from: r#"        if self.is_kept() {
            self.run.masks"#,
        to: r#"        if self.is_kept() && !mutant::is(Mutant::SecretUnmasked) {
            self.run.masks"#,
    },
];
