//! Sites of `crates/coordination/src/coordinator/record.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"                let is_complete = self.catch_up_since().is_none() || self.view.followed().is_all();
"#,
        to: r#"                let is_complete = self.catch_up_since().is_none() || self.view.followed().is_all();
                let is_complete = is_complete || mutant::is(Mutant::MissedByAPart);
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
        from: r#"        self.local.session.lease = false;
"#,
        to: r#"        self.local.session.lease = false;
        if mutant::is(Mutant::RunsGoOn) {
            return;
        }
"#,
    },
    Site {
        from: r#"        let last = self.local.requests.last_at;
"#,
        to: r#"        let last = self.local.requests.last_at.filter(|_| !mutant::is(Mutant::RequestsAlike));
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
        from: r#"        if self.local.fires.last_seen >= Some(at) {
"#,
        to: r#"        if self.local.fires.last_seen >= Some(at) && !mutant::is(Mutant::FiredTwice) {
"#,
    },
    Site {
        from: r#"        let run = self.local.runs.get(key).filter(|run| run.public_token() == token);
"#,
        to: r#"        let any = mutant::is(Mutant::FormerEndTaken);
        let run = self.local.runs.get(key).filter(|run| run.public_token() == token || any);
"#,
    },
];
