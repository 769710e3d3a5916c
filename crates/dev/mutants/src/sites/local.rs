//! Sites of `crates/coordination/src/local.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > last);
"#,
        to: r#"        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > last);
        if mutant::is(Mutant::CaughtUpBackwards) {
            return Some((later.next_back()?, self.at));
        }
"#,
    },
    Site {
        from: r#"        self.before = self.before.max(before);
"#,
        to: r#"        self.before = self.before.max(before);
        if mutant::is(Mutant::EarlierClaimForgotten) {
            self.configs.clear();
        }
"#,
    },
    Site {
        from: r#"        !self.runs.is_empty()
            || self.is_claiming
            || !self.maybe_claimed.is_empty()
            || !self.calls.is_empty()
"#,
        to: r#"        (!self.runs.is_empty() && !mutant::is(Mutant::LeaveBusy))
            || (self.is_claiming && !mutant::is(Mutant::LeaveClaiming))
            || (!self.maybe_claimed.is_empty() && !mutant::is(Mutant::LeaveInDoubt))
            || (!self.calls.is_empty() && !mutant::is(Mutant::LeaveCalling))
"#,
    },
    Site {
        from: r#"        let again = self.started.get(&item) >= Some(&ledger.token);
"#,
        to: r#"        let again = self.started.get(&item) >= Some(&ledger.token);
        let again = again && !mutant::is(Mutant::StartedAgain);
"#,
    },
    Site {
        from: r#"        if self.runs.has(item) {
"#,
        to: r#"        if self.runs.has(item) && !mutant::is(Mutant::BegunBesideRun) {
"#,
    },
    Site {
        from: r#"    pub(crate) fn put_requests_in_doubt(&mut self) {
"#,
        to: r#"    pub(crate) fn put_requests_in_doubt(&mut self) {
        if mutant::is(Mutant::RequestSentAgain) {
            return;
        }
"#,
    },
];
