//! Sites of `crates/coordination/src/coordinator/record.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"                let told = !by_a_part;
"#,
        to: r#"                let told = !by_a_part || mutant::is(Mutant::MissedByAPart);
"#,
    },
    Site {
        from: r#"            self.me = Some(incarnation);
"#,
        to: r#"            let same = self.me.take().filter(|_| mutant::is(Mutant::IdsReused));
            self.me = Some(same.unwrap_or(incarnation));
"#,
    },
    Site {
        from: r#"        self.local.lease = false;
"#,
        to: r#"        self.local.lease = false;
        if mutant::is(Mutant::RunsGoOn) {
            return;
        }
"#,
    },
    Site {
        from: r#"        let last = self.local.last_request;
"#,
        to: r#"        let last = self.local.last_request.filter(|_| !mutant::is(Mutant::RequestsAlike));
"#,
    },
    Site {
        from: r#"        if self.clock_differs_by(now).is_some() {
"#,
        to: r#"        if self.clock_differs_by(now).is_some() && !mutant::is(Mutant::WrongClockFires) {
"#,
    },
    Site {
        from: r#"        if is_early {
"#,
        to: r#"        if is_early && !mutant::is(Mutant::EarlyFiresTaken) {
"#,
    },
    Site {
        from: r#"        if self.local.last_fire_seen >= Some(at) {
"#,
        to: r#"        if self.local.last_fire_seen >= Some(at) && !mutant::is(Mutant::FiredTwice) {
"#,
    },
    Site {
        from: r#"            (MissReason::Superseded, Some(outage)) => MissReason::RegistryUnreachable(outage),
"#,
        to: r#"            (MissReason::Superseded, Some(outage)) if !mutant::is(Mutant::OutageUnnamed) => {
                MissReason::RegistryUnreachable(outage)
            }
"#,
    },
    Site {
        from: r#"        let waits = self.view.is_java_assigning();
"#,
        to: r#"        let waits = self.view.is_java_assigning() && !mutant::is(Mutant::UnclaimedBesideFlags);
"#,
    },
    Site {
        from: r#"            let reason = if disabled {
"#,
        to: r#"            let reason = if disabled && !mutant::is(Mutant::UnclaimedDisabled) {
"#,
    },
    Site {
        from: r#"            } else if self.local.runs.has(item) {
"#,
        to: r#"            } else if self.local.runs.has(item) && !mutant::is(Mutant::UnclaimedBesideRun) {
"#,
    },
    Site {
        from: r#"        may && unmonitored
"#,
        to: r#"        (may || mutant::is(Mutant::UnclaimedUnavailable)) && unmonitored
"#,
    },
    Site {
        from: r#"        let run = self.local.runs.get(item).filter(|run| run.token == token);
"#,
        to: r#"        let any = mutant::is(Mutant::FormerEndTaken);
        let run = self.local.runs.get(item).filter(|run| run.token == token || any);
"#,
    },
];
