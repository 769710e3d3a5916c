//! Sites of `crates/coordination/src/local/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        !self.runs.is_empty()
            || self.claims.in_flight
            || !self.claims.unstarted.is_empty()
            || !self.calls.is_empty()
"#,
        to: r#"        (!self.runs.is_empty() && !mutant::is(Mutant::LeaveBusy))
            || (self.claims.in_flight && !mutant::is(Mutant::LeaveClaiming))
            || (!self.claims.unstarted.is_empty() && !mutant::is(Mutant::LeaveInDoubt))
            || (!self.calls.is_empty() && !mutant::is(Mutant::LeaveCalling))
"#,
    },
    Site {
        from: r#"        let again = self.claims.has_started(item, ledger.token);
"#,
        to: r#"        let again = self.claims.has_started(item, ledger.token);
        let again = again && !mutant::is(Mutant::StartedAgain);
"#,
    },
    Site {
        from: r#"        if self.runs.has(item) {
"#,
        to: r#"        if self.runs.has(item) && !mutant::is(Mutant::BegunBesideRun) {
"#,
    },
];
