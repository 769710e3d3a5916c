//! Sites of `crates/coordination/src/duty/context.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        self.view.followed().is_all()
"#,
        to: r#"        self.view.followed().is_all() || mutant::is(Mutant::DecidedByAPart)
"#,
    },
    Site {
        from: r#"    pub(crate) fn present_ms(&self) -> i64 {
"#,
        to: r#"    pub(crate) fn present_ms(&self) -> i64 {
        if mutant::is(Mutant::GapsByOwnClock) {
            return self.now.wall_ms;
        }
"#,
    },
];
