//! Sites of `crates/coordination/src/runs.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    pub(crate) fn of(run: &LocalRun, item: &ItemView, session: Option<SessionId>) -> Self {
"#,
        to: r#"    pub(crate) fn of(run: &LocalRun, item: &ItemView, session: Option<SessionId>) -> Self {
        if mutant::is(Mutant::FencedMarksStay) {
            return Self::default();
        }
"#,
    },
    Site {
        from: r#"        let in_session = item.marked_by.is_some() && item.marked_by == session;
"#,
        to: r#"        let in_session = item.marked_by.is_some() && item.marked_by == session;
        let any = mutant::is(Mutant::OthersMarksRemoved);
"#,
    },
    Site {
        from: r#"            running: run.shows_running && item.running && marked,
            alive: run.shows_alive && item.alive && lasting,
"#,
        to: r#"            running: run.shows_running && item.running && (marked || any),
            alive: run.shows_alive && item.alive && (lasting || any),
"#,
    },
];
