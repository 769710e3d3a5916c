//! Sites of `crates/coordination/src/protocol/ledger.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"    pub(crate) fn parameter_bytes(&self) -> usize {
"#,
        to: r#"    pub(crate) fn parameter_bytes(&self) -> usize {
        if mutant::is(Mutant::ParametersWeighNothing) {
            return 0;
        }
"#,
    },
    Site {
        from: r#"        self.last_fire.max(noted)
"#,
        to: r#"        self.last_fire.max(noted).filter(|_| !mutant::is(Mutant::SettledIgnored))
"#,
    },
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
    Site {
        from: r#"        Self { last_fire: Some(fire), previous_fire, next_fire: next, next_config: None, ..self }
"#,
        to: r#"        let fire = if mutant::is(Mutant::LastFireKept) { previous_fire } else { Some(fire) };
        Self { last_fire: fire, previous_fire, next_fire: next, next_config: None, ..self }
"#,
    },
    Site {
        from: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
"#,
        to: r#"    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
        let token = token.filter(|_| !mutant::is(Mutant::TokensGoBack));
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
        from: r#"        let free = self.request.is_none();
"#,
        to: r#"        let free = self.request.is_none() || mutant::is(Mutant::RequestReplaced);
"#,
    },
    Site {
        from: r#"            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..self.clone()
"#,
        to: r#"            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..if mutant::is(Mutant::RetiredForgotten) { Self::new(born) } else { self.clone() }
"#,
    },
];
