//! Sites of `crates/coordination/src/protocol/ledger/claims.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let already_claimed = self.last_fire >= Some(fire);
"#,
        to: r#"        let already_claimed = self.last_fire >= Some(fire) && !mutant::is(Mutant::FireClaimedAgain);
"#,
    },
    Site {
        from: r#"        if self.misfire.is_some() {
"#,
        to: r#"        if self.misfire.is_some() && !mutant::is(Mutant::CaughtUpBesideMisfires) {
"#,
    },
    Site {
        from: r#"        let LedgerState::Orphan(run) = &self.state else { return None };
"#,
        to: r#"        let LedgerState::Orphan(run) = &self.state else { return None };
        let parameter = run.parameter.clone().filter(|_| !mutant::is(Mutant::ParameterLost));
"#,
    },
    Site {
        from: r#"        Some(self.with_run(by, Run { holder, source, ..run.clone() }))
"#,
        to: r#"        Some(self.with_run(by, Run { holder, source, parameter, ..run.clone() }))
"#,
    },
    Site {
        from: r#"        self.is_idle() && !self.disabled
"#,
        to: r#"        self.is_idle() && (!self.disabled || mutant::is(Mutant::DisabledClaimable))
"#,
    },
    Site {
        from: r#"            token: self.token.next(),
"#,
        to: r#"            token: if mutant::is(Mutant::TokenKept) { self.token } else { self.token.next() },
"#,
    },
];
