//! Sites of `crates/coordination/src/run_marks.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"            Mark::Running => running,
            Mark::Alive => in_session(view.alive_session),
"#,
    to: r#"            Mark::Running => {
                running || (view.shows_run() && mutant::is(Mutant::OthersMarksRemoved))
            }
            Mark::Alive => {
                in_session(view.alive_session)
                    || (view.alive && mutant::is(Mutant::OthersMarksRemoved))
            }
"#,
}];
