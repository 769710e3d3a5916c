//! Sites of `crates/coordination/src/coordinator/decide.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let shows_enough = self.shows_enough();
"#,
        to: r#"        let shows_enough = self.shows_enough() || mutant::is(Mutant::NamedByAPart);
"#,
    },
    Site {
        from: r#"            if self.repeats_conflict(&plan) {
"#,
        to: r#"            if self.repeats_conflict(&plan) && !mutant::is(Mutant::RefusalRepeated) {
"#,
    },
    Site {
        from: r#"        self.connected && self.view.is_synced() && !left && !self.has_namesake()
"#,
        to: r#"        let synced = self.view.is_synced() || mutant::is(Mutant::DecidedUnsynced);
        let connected = self.connected || mutant::is(Mutant::DecidedDisconnected);
        connected && synced && !left && !self.has_namesake()
"#,
    },
    Site {
        from: r#"            debug_assert_eq!(invariant::broken(&decision), None, "{plan}");
"#,
        to: r#"            // The judge that the table names must detect the mutant, not this assertion.
            let broken = invariant::broken(&decision).filter(|_| !crate::mutant::is_any_active());
            debug_assert_eq!(broken, None, "{plan}");
"#,
    },
    Site {
        from: r#"                !shows_commit(view, &flight.plan, revision) && now.mono < until
"#,
        to: r#"                let waits = !shows_commit(view, &flight.plan, revision) && now.mono < until;
                waits && !mutant::is(Mutant::CommitForgotten)
"#,
    },
    Site {
        from: r#"        self.in_doubt.iter().any(|assignment| assignment.shown_since.is_some())
"#,
        to: r#"        let torn = self.in_doubt.iter().any(|assignment| assignment.shown_since.is_some());
        torn && !mutant::is(Mutant::TornAssignmentTrusted)
"#,
    },
];
