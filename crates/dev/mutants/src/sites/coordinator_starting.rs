//! Sites of `crates/coordination/src/coordinator/starting.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            self.clean_items_need_no_action(&me),
"#,
        to: r#"            crate::mutant::is_any_active() || self.clean_items_need_no_action(&me),
"#,
    },
    Site {
        from: r#"            .filter(|(item, ledger)| self.needs_action(*item, ledger, &me))
"#,
        to: r#"            .filter(|(item, ledger)| self.needs_action(*item, ledger, &me))
            .filter(|_| !mutant::is(Mutant::DoubtsForgotten))
"#,
    },
    Site {
        from: r#"            let claimed_here = self.may_have_claimed(*item, ledger, &sent);
"#,
        to: r#"            let claimed_here = self.may_have_claimed(*item, ledger, &sent)
                || mutant::is(Mutant::ForeignRunStarted);
"#,
    },
    Site {
        from: r#"        held_here && !self.local.claims.has_started(item, shown.token)
"#,
        to: r#"        let again = mutant::is(Mutant::StartedAgain);
        held_here && (again || !self.local.claims.has_started(item, shown.token))
"#,
    },
    Site {
        from: r#"        held_here && ended
"#,
        to: r#"        held_here && ended && !mutant::is(Mutant::PutBackRunStays)
"#,
    },
    Site {
        from: r#"        known.find(|config| claimed.config.is_none_or(|version| version == config.version))
"#,
        to: r#"        known.find(|config| {
            mutant::is(Mutant::ConfigUnpinned)
                || claimed.config.is_none_or(|version| version == config.version)
        })
"#,
    },
    Site {
        from: r#"            let held = ledger.is_some_and(|ledger| ledger.is_held(&run.holder, token));
"#,
        to: r#"            let held = ledger.is_some_and(|ledger| ledger.is_held(&run.holder, token));
            let held = held && !mutant::is(Mutant::RunForgottenEarly);
"#,
    },
    Site {
        from: r#"        if !self.connected || !self.local.session.lease || self.is_leaving() {
"#,
        to: r#"        let lease = self.local.session.lease || mutant::is(Mutant::StartedWithoutLease);
        let leaving = self.is_leaving() && !mutant::is(Mutant::StartedLeaving);
        let connected = self.connected || mutant::is(Mutant::StartedDisconnected);
        if !connected || !lease || leaving {
"#,
    },
    Site {
        from: r#"            if is_lost || ledger.cancels().is_some() {
"#,
        to: r#"            let is_cancelled =
                ledger.cancels().is_some() && !mutant::is(Mutant::CancelledRunStarted);
            if is_lost || is_cancelled {
"#,
    },
    Site {
        from: r#"            self.local.runs.change(item, |run| run.cancelling = true);
"#,
        to: r#"            let noted = !mutant::is(Mutant::CancelledAgain);
            self.local.runs.change(item, |run| run.cancelling = noted);
"#,
    },
    Site {
        from: r#"            if !waits {
"#,
        to: r#"            if !waits || mutant::is(Mutant::WaitingClaimForgotten) {
"#,
    },
];
