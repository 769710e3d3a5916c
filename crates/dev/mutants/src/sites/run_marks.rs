//! Sites of `crates/coordination/src/run_marks.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            Mark::Running => running,
            Mark::Alive => view.alive && lasting,
"#,
    to: r#"            Mark::Running => {
                running || (view.shows_run() && mutant::is(Mutant::OthersMarksRemoved))
            }
            Mark::Alive => view.alive && (lasting || mutant::is(Mutant::OthersMarksRemoved)),
"#,
}];
