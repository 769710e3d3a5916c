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
        from: r#"        let in_session = item.marks.session().is_some() && item.marks.session() == session;
"#,
        to: r#"        let in_session = item.marks.session().is_some() && item.marks.session() == session;
        let any = mutant::is(Mutant::OthersMarksRemoved);
"#,
    },
    Site {
        from: r#"            running: run.shows_running && item.marks.shows_run() && marked,
            alive: run.shows_alive && item.marks.alive && lasting,
"#,
        to: r#"            running: run.shows_running && item.marks.shows_run() && (marked || any),
            alive: run.shows_alive && item.marks.alive && (lasting || any),
"#,
    },
];
